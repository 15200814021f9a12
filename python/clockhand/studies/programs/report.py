"""The report of a program under the pager, and that of one program under several contenders."""

from collections.abc import Iterable, Sequence

import polars as pl

from clockhand.report.appearance import LIGHT, PAGE, SOLID, Theme, marks
from clockhand.report.canvas import Spec
from clockhand.report.course import (
    CoursePage,
    Panel,
    Series,
    TitledTable,
    bar_chart,
    line_chart,
    looks_of,
    pictures,
    rates,
)
from clockhand.report.table import plain_table
from clockhand.studies.programs.findings import (
    beside,
    busiest,
    comparable,
    comparison_findings,
    comparison_for_people,
    left_out,
    medians,
    processes_for_people,
    run_findings,
)
from clockhand.study.facts import PagedRunFacts, printable
from clockhand.study.records import Fields

OVERLINE = "a program under the pager"

MOST_PROCESSES = 4
"""The most processes with figures of their own."""

PAUSE_SECONDS = 0.25
"""A process that has had no new statistics for this long has made no fault."""

FAULTS = {
    "misses": "misses",
    "minor_faults": "minor faults",
    "write_protect_faults": "write faults",
}
TRANSFERS = {"pages_read": "pages read", "pages_written": "pages written"}


def render(
    rows: pl.DataFrame, samples: pl.DataFrame, gauges: pl.DataFrame, facts: PagedRunFacts
) -> str:
    """Return the report of a run as HTML text.

    Args:
        rows: A row per process, the first first.
        samples: Counts of each process while the program ran.
        gauges: The values by which the policy adapts, at the same moments.
        facts: How the run was made.
    """
    page = CoursePage()
    for row in busiest(rows, MOST_PROCESSES).iter_rows(named=True):
        stream = pl.col("stream") == row["stream"]
        label = printable(f"{row['name']} ({row['process']})")
        text = (
            f"{row['references']:,} references that the pager saw, under {row['policy_resolved']}"
        )
        panels = _timeline(samples.filter(stream), gauges.filter(stream), PAGE)
        page.add(f"process-{row['stream']}", label, text, panels, line_chart)
    shown = busiest(rows)
    processes = plain_table(processes_for_people(shown), {})
    tables = [TitledTable("Processes", " ".join(left_out(rows, shown)), processes)]
    counted = beside(shown)
    if not counted.is_empty():
        text = (
            "mapped or sensed: the simulator with the bits as real memory shows them, on the log "
            "of this run; it must agree. exact: with the bit of every hit of the log, which lacks "
            "the hits that the pager did not see."
        )
        content = plain_table(counted, {})
        tables.append(TitledTable("The same references in the simulator", text, content))
    tables.append(TitledTable("All counts", "", plain_table(_named(rows), {})))
    return page.rendered(OVERLINE, facts["program"], run_findings(rows, facts), tables, facts)


def render_comparison(rows: pl.DataFrame, samples: pl.DataFrame, facts: PagedRunFacts) -> str:
    """Return the report of a comparison as HTML text.

    Args:
        rows: A row per contender and run.
        samples: Counts while each contender's first run went on.
        facts: How the runs were made; its notes say what the kernel's numbers rest on.
    """
    page = CoursePage()
    known = rows.filter(pl.col("problem").is_null())
    looks = _contenders(known["policy"].unique(maintain_order=True), PAGE)
    runs = int(known["run"].max() or 1)  # type: ignore[arg-type]
    text = "One run each" if runs == 1 else f"Medians of {runs} runs; the line is their range"
    text = " · ".join([text, *_setting(facts)])
    page.add("comparison", "Side by side", text, _bars(known, looks), bar_chart)
    text = "The first run of each, from its start to its end; counts since the start."
    page.add("meanwhile", "While it ran", text, _courses(samples, looks), line_chart)
    tables = [
        TitledTable("Contenders", "", plain_table(comparison_for_people(rows), {})),
        TitledTable("All runs", "", plain_table(rows, {})),
    ]
    sentences = comparison_findings(rows)
    return page.rendered(OVERLINE, facts["program"], sentences, tables, facts)


def _setting(facts: PagedRunFacts) -> list[str]:
    """Return under what all ran: memory, swap and the device that prices it."""
    names = ("memory of each process", "swap")
    known = [(name, facts["options"].get(name)) for name in names]
    texts = [f"{name} {printable(str(value))}" for name, value in known if value]
    return [*texts, *(f"device {printable(it['name'])}" for it in facts["devices"])]


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose process numbers are names: they are neither summed nor grouped."""
    return rows.with_columns(pl.col("stream", "process").cast(pl.String))


def specifications(
    rows: pl.DataFrame, samples: pl.DataFrame, gauges: pl.DataFrame
) -> dict[str, Spec]:
    """Return each figure of a run in Vega-Lite, by its key.

    With several processes the number of the stream comes first.
    """
    drawn: dict[str, Spec] = {}
    shown = busiest(rows, MOST_PROCESSES)
    for stream in shown["stream"]:
        is_stream = pl.col("stream") == stream
        panels = _timeline(samples.filter(is_stream), gauges.filter(is_stream), LIGHT)
        prefix = f"{stream}-" if shown.height > 1 else ""
        drawn |= pictures(prefix, panels, line_chart)
    return drawn


def comparison_specifications(rows: pl.DataFrame, samples: pl.DataFrame) -> dict[str, Spec]:
    """Return each figure of a comparison in Vega-Lite, by its key."""
    known = rows.filter(pl.col("problem").is_null())
    looks = _contenders(known["policy"].unique(maintain_order=True), LIGHT)
    bars = pictures("", _bars(known, looks), bar_chart)
    return bars | pictures("while-it-ran-", _courses(samples, looks), line_chart)


GAUGES = {
    "S_R_pages": "room for pages only read", "S_W1_pages": "room for pages written once",
    "S_W2_pages": "room for pages written again", "R_pages": "only read",
    "W1_pages": "written once", "W2_pages": "written again", "R_ghosts": "only read",
    "W1_ghosts": "written once", "W2_ghosts": "written again",
    "p_pages": "room for pages seen once", "T1_pages": "seen once",
    "T2_pages": "seen more than once", "B1_ghosts": "seen once",
    "B2_ghosts": "seen more than once", "tau_pages": "room for clean pages",
    "C_pages": "clean", "D_pages": "dirty", "cold_target_pages": "room for cold pages",
}  # fmt: skip
"""What figures call the values that papers name by letters."""


def _timeline(samples: pl.DataFrame, gauges: pl.DataFrame, theme: Theme) -> list[Panel]:
    """Return the figures of one process while it ran."""
    panels = [
        Panel(
            "faults",
            "Faults per second",
            "A miss brings a page into memory; the others show the policy a read or a write of a "
            "page that is there.",
            "Faults per second",
            looks_of(list(FAULTS.values()), theme),
            _rates(samples, FAULTS),
            is_since_last=True,
        ),
        Panel(
            "transfers",
            "Pages to and from swap per second",
            "First touches and pages that were still in memory are not read.",
            "Pages per second",
            looks_of(list(TRANSFERS.values()), theme),
            _rates(samples, TRANSFERS),
            is_since_last=True,
        ),
    ]
    for key, ending, title in (
        ("areas", "_pages", "Sizes of the policy's areas"),
        ("ghosts", "_ghosts", "Pages that the policy remembers"),
    ):
        chosen = gauges.filter(pl.col("gauge").str.ends_with(ending))
        if chosen.is_empty():
            continue
        names = chosen["gauge"].unique(maintain_order=True).to_list()
        looks = looks_of([_called(name, ending) for name in names], theme)
        records = [
            {
                "series": _called(row["gauge"], ending),
                "x": row["seconds"],
                "y": row["value"],
            }
            for row in chosen.iter_rows(named=True)
        ]
        panels.append(Panel(key, title, "As they were at each sample.", "Pages", looks, records))
    return panels


def _called(gauge: str, ending: str) -> str:
    """Return a value by which a policy adapts in words, where papers have letters."""
    return GAUGES.get(gauge) or gauge.removesuffix(ending).replace("_", " ")


def _rates(samples: pl.DataFrame, names: dict[str, str]) -> list[Fields]:
    """Return changes per second between samples, each at the later one's time.

    The pager tells what it counted in steps; samples between two steps would look like pauses.
    """
    kept: list[Fields] = []
    for row in samples.sort("seconds").to_dicts():
        is_news = not kept or row["references"] != kept[-1]["references"]
        if is_news or row["seconds"] - kept[-1]["seconds"] >= PAUSE_SECONDS:
            kept.append(row)
    return rates(kept, names)


def _contenders(policies: Iterable[str], theme: Theme) -> list[Series]:
    """Return the look of each contender."""
    looks = marks([str(printable(policy)) for policy in policies], theme)
    return [Series(look.policy, look.color, look.dash) for look in looks]


def _bars(rows: pl.DataFrame, looks: Sequence[Series]) -> list[Panel]:
    """Return time, reads and writes side by side."""
    middle = {row["policy"]: row for row in medians(rows).to_dicts()}
    rows = comparable(rows).filter(pl.col("seconds").is_not_null())
    panels = []
    for name, title, caption, value_format in (
        ("seconds", "Time (s)", "From the program's start to its end; lower is better.", ",.3f"),
        ("pages_read", "Pages read from swap", "Lower is better.", ",.0f"),
        ("pages_written", "Pages written to swap", "Lower is better.", ",.0f"),
    ):
        records = [
            {
                "series": printable(policy),
                "value": middle[policy][name],
                "least": group[name].min(),
                "most": group[name].max(),
                "runs": group.height,
            }
            for (policy,), group in rows.group_by("policy", maintain_order=True)
        ]
        if rows["policy"].is_duplicated().any():
            runs = rows.select("policy", name).iter_rows()
            records += [{"series": printable(policy), "run": value} for policy, value in runs]
        bars = [Series(look.name, look.color, SOLID) for look in looks]
        panels.append(Panel(name, title, caption, title, bars, records, value_format))
    return panels


def _courses(samples: pl.DataFrame, looks: Sequence[Series]) -> list[Panel]:
    """Return what each contender had done by each moment of its first run."""
    panels = []
    for name, title, caption in (
        ("faults", "Faults", "The pager's misses and the kernel's major faults."),
        ("pages_read", "Pages read from swap", ""),
        ("pages_written", "Pages written to swap", ""),
    ):
        records = [
            {"series": printable(row["policy"]), "x": row["seconds"], "y": row[name]}
            for row in samples.iter_rows(named=True)
        ]
        panels.append(Panel(name, title, caption, title, list(looks), records))
    return panels
