"""Experiments of several parts: each asks one study of traces that stand for workloads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from clockhand._engine import UsageError
from clockhand.study.facts import Facts
from clockhand.sweep import Experiment, Sweep
from clockhand.sweep.experiment import experiment_of

WORKLOAD = "workload"
"""The key of a part's workloads, and the column of rows that names them."""


@dataclass(frozen=True)
class Part:
    """One study of a paper; ``workloads`` names the paper's workload of each of its traces."""

    sweep: Experiment
    workloads: tuple[str, ...]


def read_part(
    file: Path, content: Mapping[str, Any], name: str, study: str, known: tuple[str, ...]
) -> Part:
    """Read the table ``name``: the options of a study, and a trace for each known workload.

    Raises:
        UsageError: an option is not one of the study.
        ValueError: the workloads are others.
    """
    table = dict(content[name])
    workloads = tuple((str(entry["name"]), str(entry["trace"])) for entry in table.pop(WORKLOAD))
    names = [workload for workload, _ in workloads]
    if sorted(names) != sorted(known):
        raise ValueError(f"the workloads of {name} are {', '.join(known)}, each once")
    sweep = {
        "question": content["question"],
        "expected": content["expected"],
        "traces": [trace for _, trace in workloads],
        study: table,
    }
    try:
        read = experiment_of(file, sweep)
    except UsageError as error:
        raise UsageError(str(error).replace(f"[{study}]", f"[{name}]")) from None
    if len(read.traces) != len(names):
        raise ValueError(f"the workloads of {name} need a trace each, and no trace twice")
    return Part(read, tuple(names))


def short_name(trace: str) -> str:
    """Return the name of a trace's file without folders and endings."""
    return Path(trace).name.partition(".")[0]


def rows_of(part: Part, sweep: Sweep) -> pl.DataFrame:
    """Return the study's own rows, with short names of traces and the workloads they stand for."""
    workloads = dict(zip(part.sweep.traces, part.workloads, strict=True))
    return sweep.rows.select(*sweep.layout.study.schema).with_columns(
        pl.col("trace").map_elements(short_name, pl.String),
        pl.col("trace").replace_strict(workloads, return_dtype=pl.String).alias(WORKLOAD),
    )


def joined_facts(sweeps: Mapping[str, Sweep]) -> Facts:
    """Return the facts of all parts as those of one run; traces are called as in the rows."""
    parts = [sweep.facts for sweep in sweeps.values()]
    traces = [
        {**trace, "name": short_name(trace["name"])} for facts in parts for trace in facts["traces"]
    ]
    options = {
        f"{name}: {option}": value
        for name, sweep in sweeps.items()
        for option, value in sweep.facts["options"].items()
        if option != "jobs"
    }
    return cast(
        Facts,
        {
            **parts[-1],
            "options": {**options, "jobs": parts[-1]["options"]["jobs"]},
            "traces": _each_once(traces),
            "devices": _each_once(device for facts in parts for device in facts["devices"]),
            "policies": _each_once(policy for facts in parts for policy in facts["policies"]),
        },
    )


def _each_once(entries: Iterable[Any]) -> list[Any]:
    return list({entry["name"]: entry for entry in entries}.values())
