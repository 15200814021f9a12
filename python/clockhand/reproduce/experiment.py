"""The experiment of a paper: a file of sweeps, and what is asked beside them.

The file is an experiment as :mod:`clockhand.sweep` reads it. ``[part.NAME]`` are further ones, each
with the keys of an experiment, or those of the file where it has none of its own. A part may say
which of the paper's workloads its traces stand for (``traces = { WORKLOAD = TRACE }``). It may name
traces of a folder that are run if they are there (``taken_along = { FILE = FORMAT }``, where FILE
may be in a folder of it, which rows name), and the workloads that those stand for (``stands_for =
{ FILE = WORKLOAD }``). Its cells are in the dataset's ``folder``, its own name if not given. A part
that is like another (``like = NAME``) has the other's keys where it has none of its own. A part
with a table of :data:`BESIDE` asks what no sweep does.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clockhand.datasets.dataset import within
from clockhand.datasets.layout import LAYOUTS
from clockhand.measure.measured import read_measured
from clockhand.report.words import unique
from clockhand.reproduce.packaged import packaged, packaged_content
from clockhand.study.errors import UsageError
from clockhand.study.records import Fields, Record
from clockhand.sweep import Experiment
from clockhand.sweep.experiment import experiment_of, read_content
from clockhand.sweep.task import RECIPE

MAIN = "rows"
"""The name of the file's own sweep beside its parts, if it has traces."""

BESIDE = ("break_even", "gauges", "locality", "measurement", "prediction", "simulate", "window")
"""Tables that ask something beside sweeps; :mod:`clockhand.reproduce.run` has what it is."""

SHARED = ("question", "expected", "seed", "memory_budget", "dataset")
OF_PART = ("folder", "stands_for", "taken_along", "traces")

WHOLE = ", whole"
"""Suffix of the names of traces that were taken from a folder with longer captures."""


@dataclass(frozen=True)
class Part:
    """One sweep of a paper.

    Attributes:
        sweep: Its cells.
        folder: Where they are kept in the paper's dataset; empty for the dataset itself.
        workloads: The paper's workload of each trace, where traces stand for some.
        names: What rows call each of its traces.
    """

    sweep: Experiment
    folder: str
    workloads: tuple[str | None, ...]
    names: tuple[str, ...]

    def dataset(self, folder: str | os.PathLike[str] | None) -> str | os.PathLike[str]:
        """Return where its cells are kept."""
        whole = self.sweep.dataset if folder is None else folder
        return within(whole, self.folder) if self.folder else whole


@dataclass(frozen=True)
class PaperExperiment:
    """A checked experiment.

    Attributes:
        paper: The paper's short name.

        path: The file that it was read from.

        parts: Its sweeps, by name; those of one name differ in their traces.

        beside: What is asked beside them, by name: the table that asks it, and its keys.
    """

    paper: str
    path: Path
    parts: tuple[tuple[str, Part], ...]
    beside: Mapping[str, tuple[str, Record]]


def read_paper_experiment(
    paper: str, path: str | os.PathLike[str], *, traces: str | os.PathLike[str] | None = None
) -> PaperExperiment:
    """Read ``experiments/<paper>/experiment.toml`` or a file like it; no trace is opened.

    Args:
        paper: The paper's short name.
        path: The file.
        traces: A folder with other captures. A file that is called as a workload
            (``Financial.spc``) takes the place of the recipe that stands for it. A capture that
            is there takes the place of the trace that stands for its workload, since it is longer,
            and has the workload's name. Traces that a part takes along are run as well. A file that
            names no workloads takes all captures that are there.

    Raises:
        UsageError: it is not TOML, a key is unknown, missing or of another kind, it lacks what the
            paper's claims need, or the folder holds none of the experiment's traces.
        OSError: the file cannot be read.
    """
    file = Path(path)
    content = read_content(file)
    try:
        return _Reader(paper, file, content, None if traces is None else Path(traces)).read()
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{file}: a value is missing or not of its kind ({error})",
            f"compare it with experiments/{paper}/experiment.toml",
        ) from error


class _Reader:
    def __init__(self, paper: str, file: Path, content: Record, folder: Path | None) -> None:
        self._paper = paper
        self._file = file
        self._shared = {key: value for key, value in content.items() if key != "part"}
        self._parts: dict[str, Fields] = dict(content.get("part", {}))
        self._folder = folder
        self._is_taken = False

    def read(self) -> PaperExperiment:
        needs = packaged_content(self._paper, "claims.toml")["needs"]
        own = packaged_content(self._paper, "experiment.toml").get("part", {})
        if "traces" in self._shared:
            # A sweep alone is asked all that the paper's own file asks beside its sweep.
            self._parts = {MAIN: self._shared, **own, **self._parts}
        elif unknown := sorted(set(self._shared) - set(SHARED)):
            raise UsageError(
                f"{self._file}: the key {unknown[0]!r} is unknown beside [part.…]",
                "put it into a part",
            )
        # A file need not repeat what is like other parts of it.
        alike = {name: table for name, table in own.items() if "like" in table}
        self._parts = alike | self._parts
        if wrong := sorted(set(self._parts) ^ set(needs)):
            kind = "unknown" if wrong[0] in self._parts else "missing"
            raise UsageError(
                f"{self._file}: the part {wrong[0]!r} is {kind}",
                f"the parts are {', '.join(needs)}",
            )
        for name, table in self._parts.items():
            if "like" in table:
                self._parts[name] = _over(self._parts[table["like"]], table)
        for table in self._parts.values():
            if "traces_of" in table:
                table["traces"] = self._parts[table.pop("traces_of")]["traces"]
        asked = {name: _asked(name, table) for name, table in self._parts.items()}
        for name, needed in needs.items():
            self._check(name, asked[name], needed)
        parts = tuple(
            (name, part)
            for name in needs
            if asked[name] not in BESIDE
            for part in self._sweeps(name, asked[name])
        )
        if self._folder is not None and not self._is_taken:
            raise self._none_taken(parts)
        beside = {
            name: (asked[name], self._with_files(self._parts[name][asked[name]]))
            for name in needs
            if asked[name] in BESIDE
        }
        return PaperExperiment(self._paper, self._file, parts, beside)

    def _with_files(self, asked: Record) -> Fields:
        """What a measurement found in the place of its file; the package's if it is not there."""
        if "file" not in asked:
            return {**asked}
        file = self._file.parent / asked["file"]
        if not file.exists():
            file = packaged(self._paper, "experiment.toml").parent / asked["file"]
        is_table = file.suffix == ".csv"
        read = pl.read_csv(file, comment_prefix="#") if is_table else read_measured(file)
        return {**asked, "file": read}

    def _check(self, name: str, study: str, needed: Record) -> None:
        """Refuse a part without what the claims need of it."""
        for key, wanted in needed.items():
            if key == "of_no_claim":
                continue
            if key == "workloads":
                if sorted(self._parts[name]["traces"]) != sorted(wanted):
                    raise ValueError(f"the workloads of {name} are {', '.join(wanted)}, each once")
                continue
            given = self._parts[name][study][key]
            if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
                raise TypeError(f"{key} of {name}: {given!r} is not a list of texts")
            if missing := [one for one in wanted if one not in given]:
                raise ValueError(f"the {key} of {name} lack {', '.join(missing)}")

    def _sweeps(self, name: str, study: str) -> Iterator[Part]:
        """The sweep of a part, or one for each trace that it takes along and that is there."""
        table = self._parts[name]
        own = {key: value for key, value in table.items() if key not in OF_PART}
        shared = {key: value for key, value in self._shared.items() if key in SHARED}

        def sweep(**traces: object) -> Experiment:
            try:
                return experiment_of(self._file, {**shared, **own, **traces})
            except UsageError as error:
                place = f"[part.{name}.{study}]"
                problem, remedy = error.spelled({})
                raise UsageError(problem.replace(f"[{study}]", place), remedy) from None

        folder = table.get("folder", "" if name == MAIN else name)
        if "taken_along" in table:
            for file, path, trace_format in self._present(table["taken_along"]):
                self._is_taken = True
                only = sweep(traces=os.path.abspath(path), trace_format=trace_format)
                workload = table.get("stands_for", {}).get(file)
                name = ", ".join((short_name(file), *Path(file).parent.parts))
                yield Part(only, folder, (workload,), (name,))
        elif isinstance(table["traces"], dict):
            files = [self._trace(str(trace), it) for it, trace in table["traces"].items()]
            if study == "ssd" and not all(file.startswith(RECIPE) for file, _ in files):
                # Traces of drives reach farther than those that stand for them.
                own["ssd"] = {"map": "compact", **own["ssd"]}
            read = sweep(traces=[file for file, _ in files])
            if len(read.traces) != len(files):
                raise ValueError(f"the workloads of {name} need a trace each, and no trace twice")
            yield Part(read, folder, tuple(table["traces"]), tuple(name for _, name in files))
        else:
            self._is_taken = True
            taken = table["traces"] if self._folder is None else _captures(self._folder)
            read = sweep(traces=taken)
            names = tuple(map(short_name, read.traces))
            is_distinct = len(set(names)) == len(names)
            yield Part(read, folder, (), names if is_distinct else read.traces)

    def _present(self, files: Mapping[str, str]) -> list[tuple[str, Path, str]]:
        found = [(name, Path(self._folder or "") / name, kind) for name, kind in files.items()]
        return [it for it in found if self._folder and it[1].exists()]

    def _trace(self, trace: str, workload: str) -> tuple[str, str]:
        """The file of a trace, or its recipe, and what rows call it."""
        name = short_name(trace)
        if trace.startswith(RECIPE):
            if own := self._called(workload):
                self._is_taken = True
                return os.path.abspath(own), own.name
            recipe = trace.removeprefix(RECIPE)
            beside = os.path.abspath(self._file.parent / recipe)
            return f"{RECIPE}{beside if recipe.endswith('.toml') else recipe}", name
        if self._folder is not None:
            longer, own_file = self._folder / Path(trace).name, self._file.parent / trace
            if longer.exists() and not (own_file.exists() and longer.samefile(own_file)):
                self._is_taken = True
                return os.path.abspath(longer), f"{name}{WHOLE}"
        return trace, name

    def _called(self, workload: str) -> Path | None:
        """The file of the folder that is called as a workload: the paper's own, if one has it.

        Raises:
            UsageError: the folder has several.
        """
        if self._folder is None:
            return None
        wanted = f"{workload.casefold()}."
        found = [
            it for it in sorted(self._folder.iterdir()) if it.name.casefold().startswith(wanted)
        ]
        if len(found) > 1:
            raise UsageError(
                f"{self._folder} has several files for {workload} "
                f"({', '.join(it.name for it in found)})",
                "leave one there",
            )
        return found[0] if found else None

    def _none_taken(self, parts: Iterable[tuple[str, Part]]) -> UsageError:
        named = [Path(str(trace)).name for _, part in parts for trace in part.sweep.traces]
        for table in self._parts.values():
            named = list(table.get("taken_along", named))
        return UsageError(
            f"{self._folder} holds none of the traces that the experiment names "
            f"({', '.join(unique(named))})",
            "name a folder with at least one of them",
        )


def _over(other: Record, table: Record) -> Fields:
    """A part that is like another; tables are so key by key."""
    kept = {key: value for key, value in other.items() if key not in ("analysis", "folder")}
    own = {key: value for key, value in table.items() if key != "like"}
    inner = {
        key: {**kept[key], **value}
        for key, value in own.items()
        if isinstance(value, dict) and isinstance(kept.get(key), dict)
    }
    return {**kept, **own, **inner}


def _asked(name: str, table: Record) -> str:
    """The study that a part asks, or what it asks beside; a sweep alone may ask pages outside."""
    for key in table:
        if key in LAYOUTS or key in BESIDE:
            return key
    if name == MAIN or "policies" in table:
        return "pages"
    tables = ", ".join(f"[part.{name}.{study}]" for study in (*LAYOUTS, *BESIDE))
    raise ValueError(f"the part {name} asks nothing; give one of {tables}")


def _captures(folder: Path) -> list[str]:
    found = [os.path.abspath(path) for path in sorted(folder.glob("*.parquet"))]
    if not found:
        raise UsageError(f"there is no trace (*.parquet) in {folder}", "`make traces` makes some")
    return found


def short_name(trace: str) -> str:
    """Return the name of a trace's file, or of its recipe, without folders and endings."""
    return Path(trace.removeprefix(RECIPE)).name.partition(".")[0]
