"""How the cells of a dataset were made: the facts of its parts, as one."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from clockhand.datasets.layout import Layout
from clockhand.study.records import Fields, Record
from clockhand.study.run import Study

FIRST_DIGITS = 8


def merged(parts: Iterable[Record], layout: Layout, cells: pl.DataFrame) -> Fields:
    """Return the facts of parts as one: lists are joined, and differing facts keep all values.

    Args:
        parts: The facts of each part.
        layout: The study.
        cells: The cells that the facts are for.
    """
    study = layout.study
    listed = sorted(parts, key=lambda fact: fact["created"])
    facts: Fields = {**listed[-1]}
    facts["command"] = " ; ".join(dict.fromkeys(fact["command"] for fact in listed))
    facts["version"] = ", ".join(dict.fromkeys(fact["version"] for fact in listed))
    seeds = {fact["seed"] for fact in listed}
    facts["seed"] = seeds.pop() if len(seeds) == 1 else None
    facts["traces"] = distinct(listed, "traces", ("name", "sha256", "page_bytes"))
    devices = ("name", "read_time_us", "write_time_us") if study.devices == "devices" else ("name",)
    facts[study.devices] = distinct(listed, study.devices, devices)
    facts[study.contenders] = resolved_contenders(listed, study, cells)
    return facts | windows_of(listed)


def resolved_contenders(
    facts: Sequence[Record], study: Study[object], cells: pl.DataFrame
) -> list[Fields]:
    """Return what the cells compare, each with the defaults of its first cell."""
    column = study.contender
    if column is None:
        return []
    pairs = cells.select(column, f"{column}_resolved").unique(
        column, keep="first", maintain_order=True
    )
    entries = {entry["name"]: entry for entry in distinct(facts, study.contenders, ("name",))}
    return [
        {**entries[name], "resolved": resolved}
        for name, resolved in pairs.iter_rows()
        if name in entries
    ]


def windows_of(facts: Sequence[Record]) -> Fields:
    """Return the windows of CFLRU that parts predict, as facts, if they do."""
    by = ("trace", "page_bytes", "device", "frames")
    windows = distinct(facts, "predicted_windows", by)
    return {"predicted_windows": windows} if windows else {}


def distinct(facts: Sequence[Record], kind: str, by: Sequence[str]) -> list[Fields]:
    """Return what lists of facts hold, of equal entries the last."""
    entries = [entry for fact in facts for entry in fact.get(kind, ())]
    return list({tuple(entry[name] for name in by): entry for entry in entries}.values())


def distinguished(cells: pl.DataFrame, facts: Fields) -> tuple[pl.DataFrame, Fields]:
    digests: dict[str, set[str]] = {}
    for name, digest in cells.select("trace", "trace_sha256").unique().iter_rows():
        digests.setdefault(name, set()).add(digest)

    def named(name: str, digest: str) -> str:
        several = len(digests.get(name, ())) > 1
        return f"{name} ({digest[:FIRST_DIGITS]})" if several else name

    for trace in facts["traces"]:
        trace["name"] = named(trace["name"], trace["sha256"])
    names = [named(*pair) for pair in cells.select("trace", "trace_sha256").iter_rows()]
    return cells.with_columns(pl.Series("trace", names, dtype=pl.String)), facts


def collected(
    kept: Sequence[Record],
    planned: Sequence[Record],
    rows: pl.DataFrame,
    digests: Mapping[str, str],
    files: Collection[str],
    layout: Layout,
) -> Fields:
    """Return what a report has to know of an experiment's rows.

    Args:
        kept: The facts of the dataset's parts.
        planned: Those of the cells that were looked at now.
        rows: The experiment's cells.
        digests: The traces, with their digests.
        files: The devices and drives that the experiment names.
        layout: The study.
    """
    study, is_read = layout.study, layout.depends_on_footprint
    by_digest: dict[str, list[Record]] = {}
    for trace in distinct(kept, "traces", ("sha256", "page_bytes")):
        by_digest.setdefault(trace["sha256"], []).append(trace)
    traces = [
        {**facts, "name": name}
        for name, digest in digests.items()
        for facts in by_digest[digest]
        if not is_read or facts["page_bytes"] in set(rows["page_bytes"])
    ]
    known = planned if is_read else [*kept, *planned]
    times = ("read_time_us", "write_time_us") if is_read else ()
    devices = distinct(known, study.devices, ("name", *times))
    return {
        "traces": traces,
        study.devices: [device for device in devices if device["name"] in files],
        study.contenders: resolved_contenders(known, study, rows),
        **windows_of(kept),
    }
