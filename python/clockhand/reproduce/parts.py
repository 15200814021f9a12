"""Experiments of several parts: each asks one study of traces that stand for workloads."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import polars as pl

from clockhand._engine import UsageError
from clockhand.report.words import unique
from clockhand.reproduce.claims import Claim
from clockhand.study.facts import Facts
from clockhand.sweep import Experiment, Sweep, run_sweep
from clockhand.sweep.dataset import within
from clockhand.sweep.experiment import experiment_of
from clockhand.sweep.run import SweepWatch
from clockhand.sweep.tables import Table

Rows = TypeVar("Rows")
RunFacts = TypeVar("RunFacts")

WORKLOAD = "workload"
"""The key of a part's workloads, and the column of rows that names them."""

WHOLE = ", whole"
"""What ends the names of traces that were taken from a folder with longer captures."""


@dataclass(frozen=True)
class Part:
    """One study of a paper.

    Attributes:
        sweep: Its cells.
        workloads: The paper's workload of each of its traces.
        names: What rows call each of its traces.
    """

    sweep: Experiment
    workloads: tuple[str, ...]
    names: tuple[str, ...]


def read_part(
    file: Path,
    content: Mapping[str, Any],
    name: str,
    study: str,
    known: tuple[str, ...],
    *,
    workloads_of: str | None = None,
    longer: Path | None = None,
) -> Part:
    """Read the table ``name``: the options of a study, and a trace for each known workload.

    Args:
        file: The experiment; paths in it are relative to its folder.
        content: What it holds.
        name: The table.
        study: The study that it asks.
        known: The paper's workloads.
        workloads_of: The table whose workloads it has; its own if not given.
        longer: A folder with longer captures: those that are there are taken instead of the
            experiment's traces of the same name, and called so.

    Raises:
        UsageError: an option is not one of the study.
        ValueError: the workloads are others.
    """
    of = workloads_of or name
    entries = [(str(entry["name"]), str(entry["trace"])) for entry in content[of][WORKLOAD]]
    workloads = tuple(workload for workload, _ in entries)
    if sorted(workloads) != sorted(known):
        raise ValueError(f"the workloads of {of} are {', '.join(known)}, each once")
    traces, names = zip(*(_trace(trace, longer) for _, trace in entries), strict=True)
    sweep = {
        "question": content["question"],
        "expected": content["expected"],
        "traces": list(traces),
        study: {key: value for key, value in content[name].items() if key != WORKLOAD},
    }
    try:
        read = experiment_of(file, sweep)
    except UsageError as error:
        raise UsageError(str(error).replace(f"[{study}]", f"[{name}]")) from None
    if len(read.traces) != len(workloads):
        raise ValueError(f"the workloads of {name} need a trace each, and no trace twice")
    return Part(read, workloads, names)


def _trace(trace: str, longer: Path | None) -> tuple[str, str]:
    """The file of a trace, and what rows call it."""
    name = short_name(trace)
    if longer is not None and (longer / Path(trace).name).exists():
        return os.path.abspath(longer / Path(trace).name), f"{name}{WHOLE}"
    return trace, name


def check_longer(parts: Mapping[str, Part], longer: Path | None) -> None:
    """Refuse a folder with longer captures of which no part takes one.

    Raises:
        UsageError: it holds none of the experiment's traces.
    """
    taken = (name for part in parts.values() for name in part.names)
    if longer is not None and not any(name.endswith(WHOLE) for name in taken):
        traces = (trace for part in parts.values() for trace in part.sweep.traces)
        raise none_taken(longer, (Path(str(trace)).name for trace in traces))


def none_taken(folder: str | os.PathLike[str], names: Iterable[str]) -> UsageError:
    """Return the refusal of a folder that holds none of the traces with these names."""
    return UsageError(
        f"{os.fspath(folder)} holds none of the traces that the experiment names "
        f"({', '.join(unique(names))}); name a folder with at least one of them"
    )


def short_name(trace: str) -> str:
    """Return the name of a trace's file without folders and endings."""
    return Path(trace).name.partition(".")[0]


def _rows_of(part: Part, sweep: Sweep) -> pl.DataFrame:
    """Return the study's own rows, with short names of traces and the workloads they stand for."""
    traces = part.sweep.traces
    return sweep.rows.select(*sweep.layout.study.schema).with_columns(
        pl.col("trace").replace_strict(traces, part.names, return_dtype=pl.String),
        pl.col("trace")
        .replace_strict(traces, part.workloads, return_dtype=pl.String)
        .alias(WORKLOAD),
    )


@dataclass(frozen=True)
class Judged(Generic[Rows, RunFacts]):
    """What became of a paper's claims.

    Attributes:
        claims: Every claim with a verdict, in the paper's order.
        paper_tables: The paper's tables beside ours, and figures as tables, by title.
        rows: What the claims were judged by.
        tables: The tables that are kept.
        facts: How all of it was made.
        warnings: What the readers passed over or assumed, one sentence each.
    """

    claims: list[Claim]
    paper_tables: Mapping[str, pl.DataFrame]
    rows: Rows
    tables: list[Table]
    facts: RunFacts
    warnings: list[str]


@dataclass(frozen=True)
class Swept:
    """What the cells of all parts gave.

    Attributes:
        rows: The rows of each part.
        facts: How all of them were made.
        warnings: What the readers passed over or assumed, one sentence each, and each once: two
            parts may have read the same trace.
    """

    rows: Mapping[str, pl.DataFrame]
    facts: Facts
    warnings: list[str]


def sweep_parts(
    parts: Mapping[str, Part],
    dataset: str | os.PathLike[str],
    *,
    jobs: int | None,
    watch: SweepWatch | None,
    command: str,
) -> Swept:
    """Compute the cells of all parts, each in a folder of ``dataset`` that has the part's name."""
    sweeps = {
        name: run_sweep(
            part.sweep, dataset=within(dataset, name), jobs=jobs, watch=watch, command=command
        )
        for name, part in parts.items()
    }
    return Swept(
        rows={name: _rows_of(part, sweeps[name]) for name, part in parts.items()},
        facts=_joined_facts(parts, sweeps),
        warnings=unique(warning for sweep in sweeps.values() for warning in sweep.warnings),
    )


def _joined_facts(parts: Mapping[str, Part], sweeps: Mapping[str, Sweep]) -> Facts:
    """Return the facts of all parts as those of one run; traces are called as in the rows."""
    made: list[Any] = [sweep.facts for sweep in sweeps.values()]
    names = {
        trace: name
        for part in parts.values()
        for trace, name in zip(part.sweep.traces, part.names, strict=True)
    }
    options = {
        f"{name}: {option}": value
        for name, sweep in sweeps.items()
        for option, value in sweep.facts["options"].items()
        if option != "jobs"
    }
    return cast(
        Facts,
        {
            **made[-1],
            "options": {**options, "jobs": made[-1]["options"]["jobs"]},
            **joined_lists(made, names.__getitem__, ("devices", "policies")),
        },
    )


def joined_lists(
    made: Sequence[Mapping[str, Any]], called: Callable[[str], str], kinds: Iterable[str]
) -> dict[str, list[Any]]:
    """Return what the facts of several sweeps list: traces, and ``kinds``; each name once.

    Args:
        made: The facts.
        called: What the rows call a trace.
        kinds: What else they list, such as devices.
    """
    traces = [
        {**trace, "name": called(trace["name"])} for facts in made for trace in facts["traces"]
    ]
    return {
        "traces": _each_once(traces),
        **{kind: _each_once(entry for facts in made for entry in facts[kind]) for kind in kinds},
    }


def _each_once(entries: Iterable[Any]) -> list[Any]:
    return list({entry["name"]: entry for entry in entries}.values())
