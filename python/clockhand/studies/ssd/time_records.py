"""Records for the figures of timed runs: a place is chosen, and tables become values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.words import number_text, time_text, unique
from clockhand.studies.ssd.tables import SsdTables
from clockhand.studies.ssd.waits import CAUSES, WAITS, tail
from clockhand.study.policies import name_of, settings_of
from clockhand.study.records import Fields

OPS = ("write", "read")
MOST_COURSES = 3
"""Buffers whose course over time is drawn: those with the shortest p99."""

KINDS = {
    "rate": "Requests a second that arrive",
    "trace": "Times as fast as the trace",
    "closed": "Requests on their way at any time",
}
"""Axes of load, by the word that ``--arrivals`` begins with."""


def load_of(arrivals: str) -> tuple[str, float]:
    """Return the word of arrivals and their number: ``trace`` is as fast as itself."""
    return name_of(arrivals), float((settings_of(arrivals) or ["1"])[0])


@dataclass(frozen=True)
class Place:
    """The place of a detailed comparison of buffers: a size, and arrivals."""

    pages: int
    arrivals: str


def timed_place(cells: pl.DataFrame) -> Place | None:
    """Return the middle size, and the highest load that saturates no buffer of that size.

    Args:
        cells: The rows of one trace on one drive, of whole runs or of windows.
    """
    known = cells.filter(pl.col("arrivals").is_not_null())
    if known.is_empty():
        return None
    sizes = sorted(set(known["buffer_pages"].to_list()) - {0}) or [0]
    pages = sizes[(len(sizes) - 1) // 2]
    of_size = known.filter(pl.col("buffer_pages").is_in([0, pages]))
    loads = unique(of_size["arrivals"])
    full = set(of_size.filter(pl.col("is_saturated"))["arrivals"])
    free = [load for load in loads if load not in full]
    return Place(pages, max(free, key=lambda load: load_of(load)[1]) if free else loads[0])


@dataclass(frozen=True)
class Timed:
    """The tables of timed runs of one trace on one drive at one place, each with ``policy``.

    Attributes:
        place: The size and the arrivals.

        series: The buffers, the one with the shortest p99 of writes (else of reads) first.

        loads: The rows of the size under every load.

        windows: The rows of windows, if rows are of windows.
    """

    place: Place
    series: Sequence[str]
    classes: pl.DataFrame
    moments: pl.DataFrame
    parts: pl.DataFrame
    loads: pl.DataFrame
    windows: pl.DataFrame

    def of(self, table: pl.DataFrame, op: str, policy: str | None = None) -> pl.DataFrame:
        """Return the rows of a table that are of reads or of writes, of one buffer or of all."""
        chosen = table.filter((pl.col("op") == op) & (pl.col("requests") > 0))
        return chosen if policy is None else chosen.filter(pl.col("policy") == policy)

    @property
    def ops(self) -> list[str]:
        """The operations that occur: reads, writes or both."""
        return [op for op in OPS if not self.of(self.classes, op).is_empty()]


def timed_of(run: SsdTables, cells: pl.DataFrame, names: dict[str, str]) -> Timed | None:
    """Return the tables of one trace on one drive at the place where buffers are compared.

    Args:
        run: What was run.
        cells: Its rows of that trace and drive, with the column ``policy``.
        names: What each buffer without its size is called.
    """
    place = timed_place(cells)
    if place is None:
        return None
    first = cells.row(0, named=True)
    chosen = (
        (pl.col("trace") == first["trace"])
        & (pl.col("ssd") == first["ssd"])
        & pl.col("buffer_pages").is_in([0, place.pages])
    )
    policies = cells.select("buffer", "policy").unique()

    def at(table: pl.DataFrame) -> pl.DataFrame:
        here = table.filter(chosen & (pl.col("arrivals") == place.arrivals))
        named = here.join(policies, on="buffer", how="left", maintain_order="left")
        return named.with_columns(pl.col("policy").replace_strict(names)).unique(
            maintain_order=True
        )

    tables = {name: at(getattr(run, name)) for name in ("classes", "moments", "parts")}
    loads = cells.filter(chosen).with_columns(pl.col("policy").replace_strict(names))
    whole = pl.col("window_us").is_null()
    timed = Timed(
        place, unique(tables["parts"]["policy"]), **tables, loads=loads.filter(whole),
        windows=loads.filter(~whole & (pl.col("arrivals") == place.arrivals)),
    )  # fmt: skip
    return Timed(**{**vars(timed), "series": best_first(timed)})


def best_first(timed: Timed) -> list[str]:
    """Return the buffers, the one with the shortest p99 first, of writes if there are any."""
    if not timed.ops:
        return list(timed.series)

    def p99_us(name: str) -> float:
        slow = tail(timed.of(timed.classes, timed.ops[0], name))
        return math.inf if slow is None else slow.from_us

    return sorted(timed.series, key=p99_us)


def cdf_records(timed: Timed) -> list[Fields]:
    """Return the share of requests up to each latency."""
    return [
        {"policy": policy, "op": op, "chart": "cdf", "latency_us": latency_us, "cdf_share": share}
        for op in timed.ops
        for policy in timed.series
        for latency_us, share in _distribution(timed.of(timed.classes, op, policy))
    ]


def _distribution(classes: pl.DataFrame) -> Iterator[tuple[float, float]]:
    ordered = classes.sort("most_us")
    if ordered.is_empty():
        return
    yield 0.9 * ordered["most_us"][0], 0.0
    total, seen = ordered["requests"].sum(), 0
    for most_us, requests in ordered.select("most_us", "requests").iter_rows():
        seen += requests
        yield most_us, seen / total


def tail_records(timed: Timed, cause_place: dict[str, int]) -> list[Fields]:
    """Return what the slowest requests of each buffer waited for."""
    records = []
    whole = timed.loads.filter(pl.col("arrivals") == timed.place.arrivals)
    for op in timed.ops:
        exact = dict(whole.select("policy", f"{op}_p99_us").iter_rows())
        for policy in timed.series:
            slow = tail(timed.of(timed.classes, op, policy))
            if slow is not None:
                of = {"policy": policy, "op": op, "chart": "tail"}
                text = f"({time_text(exact.get(policy) or slow.from_us)})"
                records += [
                    {**of, "cause": CAUSES[wait], "cause_place": cause_place[CAUSES[wait]],
                     "tail_share": share, "tail_text": text}
                    for wait, share in slow.shares.items()
                ]  # fmt: skip
    return records


def course_records(timed: Timed, unit_us: float, cause_place: dict[str, int]) -> list[Fields]:
    """Return the mean latency over time by what it consists of, of the best buffers."""
    records: list[Fields] = []
    for policy in timed.series[:MOST_COURSES]:
        of_policy = timed.moments.filter(pl.col("policy") == policy)
        for op in timed.ops:
            moments = of_policy.filter(pl.col("op") == op).sort("begins_us").to_dicts()
            span_us = moments[1]["begins_us"] if len(moments) > 1 else 1.0
            last = {**moments[-1], "begins_us": moments[-1]["begins_us"] + span_us}
            for moment in [*moments, last]:
                records += _at_moment(moment, unit_us, cause_place)
    return records


def _at_moment(moment: Fields, unit_us: float, cause_place: dict[str, int]) -> Iterator[Fields]:
    requests = moment["requests"]
    for wait in WAITS:
        cause = CAUSES[wait]
        yield {
            "policy": moment["policy"],
            "op": moment["op"],
            "chart": "course",
            "course_time": moment["begins_us"] / unit_us,
            "cause": cause,
            "cause_place": cause_place[cause],
            "mean_us": moment[f"{wait}_us"] / requests if requests else 0.0,
            "told_requests": number_text(requests),
            "told_moved": number_text(moment["relocations"]),
        }


def load_records(timed: Timed) -> tuple[str, list[Fields]]:
    """Return the most frequent kind of load, and each buffer's results under each of its loads."""
    kinds = [load_of(arrivals)[0] for arrivals in unique(timed.loads["arrivals"])]
    kind = max(unique(kinds), key=kinds.count) if kinds else "trace"
    if kinds.count(kind) < 2:
        return kind, []
    records = []
    for row in timed.loads.unique(["policy", "arrivals"], maintain_order=True).to_dicts():
        word, load = load_of(row["arrivals"])
        if word == kind:
            records.append(
                {
                    "policy": row["policy"],
                    "chart": "load",
                    "load": load,
                    "told_full": "yes" if row["is_saturated"] else "no",
                    **{f"load_{name}": row[name] for name in LOAD_COLUMNS},
                }
            )
    return kind, sorted(records, key=lambda record: record["load"])


LOAD_COLUMNS = ("write_p99_us", "read_p99_us", "iops")
WINDOW_COLUMNS = ("write_p99_us", "read_p99_us", "iops", "waf", "relocations")


def window_records(timed: Timed, unit_us: float) -> list[Fields]:
    """Return what each buffer does in each window."""
    return [
        {
            "policy": row["policy"],
            "chart": "window",
            "window_time": row["window_us"] / unit_us,
            **{f"window_{name}": row[name] for name in WINDOW_COLUMNS},
        }
        for row in timed.windows.unique(["policy", "window_us"], maintain_order=True).to_dicts()
    ]


def part_records(timed: Timed) -> list[Fields]:
    """Return how busy each part is with each buffer."""
    columns = timed.parts.select("policy", "part", "utilisation")
    return [{**record, "chart": "parts"} for record in columns.to_dicts()]
