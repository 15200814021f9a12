"""Result rows, put in order for reading: one section per trace and setting."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from clockhand.report.parameters import Ranged, ranges_of
from clockhand.report.series import first_spellings
from clockhand.report.words import free_slug, time_unit, unique
from clockhand.studies.pages.comparison import SETTING_COLUMNS, SETTINGS, io_time_over_bound
from clockhand.study.facts import Facts, printable, trace_label
from clockhand.study.policies import (
    BASELINE,
    BOUND,
    FEASIBLE,
    called,
    end_of_bracket,
    name_of,
)
from clockhand.study.records import Fields
from clockhand.study.sampling import DRAWN_ERRORS

REQUIRED_COLUMNS = (
    "trace", "policy", "frames", "page_bytes", "device", "references", "read_references",
    "write_references", "hits", "misses", "read_misses", "write_misses", "read_ios", "write_ios",
    "clean_evictions", "dirty_evictions", "io_time_us", "energy_uj", "policy_resolved", "hit_ratio",
    "memory_share",
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """The comparable rows of one trace under one setting, which share figures.

    ``records`` are the rows in the order given, with the columns that figures add: ``label``,
    ``memory_mib``, ``memory_percent``, ``io_time`` (in ``time_unit``), ``relative_io_time`` (null
    without a baseline) and ``io_time_over_bound`` (null without a bound). Rows of the lower bound
    are in ``bounds``, one per memory size. If the other end of the bracket of the optimum is known
    too, its values are in ``io_time_feasible`` and ``relative_io_time_feasible``. Records that are
    estimates have the ends of their ranges, as ``io_time_low`` and so on. The field ``ranges`` has
    the figures of policies that differ in one parameter, and ``place`` is the label without the
    device, for what is said of one device.
    """

    slug: str
    label: str
    place: str
    trace: str
    setting: Fields
    records: list[Fields]
    bounds: list[Fields]
    baseline: str | None
    time_unit: str
    ranges: list[Ranged]

    @cached_property
    def sizes(self) -> list[int]:
        """The memory sizes in frames, ascending, each once."""
        return sorted({record["frames"] for record in self.records})

    @cached_property
    def policies(self) -> list[str]:
        """The policies as the user wrote them, in the order of the rows, each once."""
        return unique(record["policy"] for record in self.records)

    @property
    def footprint_pages(self) -> float | None:
        """The number of distinct pages of the trace, as far as the rows know it."""
        for record in self.records:
            if record["memory_share"]:
                return float(record["frames"] / record["memory_share"])
        return None


def meaning(record: Fields) -> str:
    """Return the text of a policy with its defaults, as far as the row has them."""
    return str(record["policy_resolved"] or record["policy"])


def sections(rows: pl.DataFrame, facts: Facts | None) -> list[Section]:
    """Split result rows into sections, in the order of first appearance.

    Raises:
        ValueError: a column is missing, there is no policy row, a row has no trace, or the facts
            do not describe a trace.
    """
    missing = [column for column in REQUIRED_COLUMNS if column not in rows.columns]
    if missing:
        raise ValueError(f"the result rows lack the columns {', '.join(missing)}: add them")
    names = called(rows["policy"])
    records = [
        _clean({**record, "policy": names[record["policy"]]})
        for record in rows.with_columns(io_time_over_bound(rows)).to_dicts()
    ]
    bounds = _narrowest(records, BOUND)
    # Without a bound the bracket is open, and the schedule is a row by itself.
    feasibles = _narrowest(records, FEASIBLE) if bounds else []
    ends = (BOUND, FEASIBLE) if bounds else (BOUND,)
    policy_records = [record for record in records if end_of_bracket(record["policy"]) not in ends]
    if not policy_records:
        raise ValueError("there is no policy row to report: simulate at least one policy")
    _require(records, "trace")
    for column in ("policy", "frames", "page_bytes"):
        _require(policy_records, column)
    settings = [column for column in SETTING_COLUMNS if column in rows.columns]
    groups: dict[tuple[Any, ...], list[Fields]] = {}
    for record in policy_records:
        key = (record["trace"], *(record[column] for column in settings))
        groups.setdefault(key, []).append(record)
    varying = [column for position, column in enumerate(settings, 1)
               if len({key[position] for key in groups}) > 1]  # fmt: skip
    result: list[Section] = []
    for key, spelled in groups.items():
        group = _each_series_once(spelled)
        setting = dict(zip(settings, key[1:], strict=True))
        words = {name: SETTINGS[name](setting[name]) for name in varying}
        label = " · ".join([trace_label(key[0], facts), *words.values()])
        words.pop("device", None)
        place = " · ".join([trace_label(key[0], facts), *words.values()])
        matching = [
            {**bound, FEASIBLE: _beside(bound, feasibles, key[0], setting)}
            for bound in bounds
            if _belongs(bound, key[0], setting)
        ]
        slug = free_slug(label, [section.slug for section in result])
        ranges = ranges_of([*group, *matching], key[0], facts)
        made = _section(slug, label, setting, group, matching, ranges)
        result.append(replace(made, place=place))
    return result


def _each_series_once(group: Sequence[Fields]) -> list[Fields]:
    """Return records whose policies have one name for each meaning, the first of doubles."""
    names = first_spellings(
        (record["policy"], record["frames"], record["policy_resolved"]) for record in group
    )
    once: dict[tuple[str, int], Fields] = {}
    for record in group:
        name = names[record["policy"]]
        once.setdefault((name, record["frames"]), {**record, "policy": name})
    return list(once.values())


def _narrowest(records: Sequence[Fields], end: str) -> list[Fields]:
    """Return the rows of one end of the bracket, at each place the one that says most."""
    best: dict[tuple[object, ...], Fields] = {}
    for record in records:
        if end_of_bracket(record["policy"]) != end:
            continue
        place = tuple(record.get(name) for name in ("trace", "frames", *SETTING_COLUMNS))
        other = best.get(place)
        if other is None or _says_more(record, other, end):
            best[place] = {**record, "policy": end}
    return list(best.values())


def _says_more(record: Fields, other: Fields, end: str) -> bool:
    time_us, other_us = record["io_time_us"] or 0, other["io_time_us"] or 0
    return bool(time_us > other_us if end == BOUND else time_us < other_us)


def _beside(
    bound: Fields, feasibles: Sequence[Fields], trace: str, setting: Fields
) -> float | None:
    """Return the I/O time in µs of the schedule at a bound's memory size, if there is one."""
    for feasible in feasibles:
        if feasible["frames"] == bound["frames"] and _belongs(feasible, trace, setting):
            return float(feasible["io_time_us"])
    return None


def _clean(record: Fields) -> Fields:
    """Return the record with printable texts, and null for NaN and infinities (JSON has none)."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else printable(value)
        for name, value in record.items()
    }


def _require(records: Sequence[Fields], column: str) -> None:
    for number, record in enumerate(records, 1):
        if record[column] is None:
            raise ValueError(
                f"result row {number} (policy {record['policy']}) has no {column}: fill that column"
            )


def _belongs(bound: Fields, trace: str, setting: Fields) -> bool:
    """A bound may leave settings null: it then holds for all of them."""
    if bound["trace"] != trace:
        return False
    return all(bound[name] is None or bound[name] == value for name, value in setting.items())


def _section(
    slug: str,
    label: str,
    setting: Fields,
    group: list[Fields],
    bounds: list[Fields],
    ranges: list[Ranged],
) -> Section:
    baseline = _baseline(group)
    baseline_time_us = {
        record["frames"]: record["io_time_us"] for record in group if record["policy"] == baseline
    }
    sizes = sorted({record["frames"] for record in group})
    placed_bounds = [
        {**bound, "frames": frames}
        for bound in bounds
        for frames in ([bound["frames"]] if bound["frames"] is not None else sizes)
    ]
    unit, unit_us = time_unit(record["io_time_us"] for record in group)
    shares = {record["frames"]: record["memory_share"] for record in group}

    def extended(record: Fields) -> Fields:
        frames = record["frames"]
        time_us = record["io_time_us"]
        share = shares.get(frames)
        reference_us = baseline_time_us.get(frames)
        known = time_us is not None and reference_us
        feasible_us = record.pop(FEASIBLE, None)
        if feasible_us is not None:
            record |= {
                "io_time_feasible": feasible_us / unit_us,
                "relative_io_time_feasible": feasible_us / reference_us if reference_us else None,
            }
        return {
            **record,
            **_errors(record, unit_us),
            "trace": label,
            "memory_mib": frames * setting["page_bytes"] / (1 << 20),
            "memory_percent": None if share is None else 100 * share,
            "io_time": None if time_us is None else time_us / unit_us,
            "relative_io_time": time_us / reference_us if known else None,
        }

    return Section(
        slug=slug,
        label=label,
        place=label,
        trace=group[0]["trace"],
        setting=setting,
        records=[extended(record) for record in group],
        bounds=[extended(bound) for bound in placed_bounds],
        baseline=baseline,
        time_unit=unit,
        ranges=ranges,
    )


def _errors(record: Fields, unit_us: float) -> Fields:
    """Return the ends of the error bars of estimates, in standard errors to either side."""
    if not record.get("io_time_us_standard_error"):
        return {}
    ends: Fields = {"io_time_standard_error": record["io_time_us_standard_error"] / unit_us}
    for field, column, unit in (
        ("io_time", "io_time_us", unit_us),
        ("read_ios", "read_ios", 1),
        ("write_ios", "write_ios", 1),
    ):
        value, error = record[column] / unit, record[f"{column}_standard_error"] / unit
        ends[f"{field}_low"] = max(0.0, value - DRAWN_ERRORS * error)
        ends[f"{field}_high"] = value + DRAWN_ERRORS * error
    return ends


def _baseline(group: Sequence[Fields]) -> str | None:
    """Return CLOCK as the user wrote it: with its defaults if present, else its first variant."""
    candidates = unique(
        record["policy"] for record in group if name_of(meaning(record)) == BASELINE
    )
    if BASELINE in candidates:
        return BASELINE
    return candidates[0] if candidates else None
