"""The experiment of the SCM paper: one file, a sweep for each of its studies."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clockhand._engine import UsageError
from clockhand.reproduce.experiment_file import read_experiment_file, texts
from clockhand.reproduce.parts import Part, check_longer, read_part
from clockhand.study.toml import toml_content

SERVERS = "servers"
DESKTOP = "desktop"
MOBILE, MOBILE_TLB = "mobile", "mobile_tlb"

DESKTOP_WORKLOADS = (
    # Table 1: workload, footprint in MB, writes, reads.
    ("freecell", 9.84, 60_040, 430_135),
    ("gedit", 14.12, 132_822, 1_600_941),
    ("gqview", 7.26, 645_399, 265_286),
    ("kghostview", 16.98, 103_540, 1_442_595),
    ("xmms", 7.86, 978_242, 190_697),
)
MOBILE_WORKLOADS = (
    # Table 2, the same.
    ("facebook", 198.66, 2_045_716, 11_607_339),
    ("angrybirds", 76.94, 3_822_479, 14_368_068),
    ("youtube", 68.64, 3_162_229, 15_034_275),
    ("farmstory", 53.74, 2_101_818, 13_122_852),
    ("chrome", 259.86, 4_104_436, 16_895_563),
)
WORKLOADS = {
    SERVERS: ("web server", "proxy server"),
    DESKTOP: tuple(name for name, *_ in DESKTOP_WORKLOADS),
    MOBILE: tuple(name for name, *_ in MOBILE_WORKLOADS),
}
"""The paper's workloads, by the part that names our traces for them."""
PARTS = {
    # Part, the study that it asks, the part whose workloads it has.
    SERVERS: ("filecache", SERVERS),
    DESKTOP: ("translate", DESKTOP),
    MOBILE: ("translate", MOBILE),
    MOBILE_TLB: ("translate", MOBILE),
}
KEYS = {"question", "expected", "measured", "break_even", *PARTS}
DEVICES_JUDGED = ("hdd", "scm:ratio=1")
ADMISSIONS_JUDGED = ("always", "second-touch")
READINGS_JUDGED = ("half", "copy", "storage")
"""What inserting a block takes: the paper prints no number, and its words and Figure 2 differ."""
RATIOS_JUDGED = ("1", "10", "100")
READ, CACHED, COPIED = "ram_disk_read", "ram_disk_buffered", "memory_copy"


@dataclass(frozen=True)
class MeasuredPoint:
    """How long requests of one size took: the first percentile, the median and the 99th."""

    p1_us: float
    median_us: float
    p99_us: float


@dataclass(frozen=True)
class Measured:
    """What was measured on one machine; an operation has a point for each size in bytes.

    Attributes:
        machine: System, processor and processors.
        date: When.
        read: A read from a file system whose storage is memory.
        cached: The same from the page cache.
        copied: A copy from memory to memory.
    """

    machine: str
    date: str
    read: Mapping[int, MeasuredPoint]
    cached: Mapping[int, MeasuredPoint]
    copied: Mapping[int, MeasuredPoint]


@dataclass(frozen=True)
class ScmExperiment:
    """A checked experiment."""

    path: Path
    question: str
    expected: str
    measured: Measured
    break_even: tuple[str, ...]
    parts: Mapping[str, Part]

    @property
    def dataset(self) -> Path:
        """The folder that the cells are kept in, a folder in it for each part."""
        return self.path.parent / "datasets" / self.path.stem


def read_scm_experiment(
    path: str | os.PathLike[str], *, traces: str | os.PathLike[str] | None = None
) -> ScmExperiment:
    """Read ``experiments/scm.toml`` or a file like it; no trace is opened.

    Args:
        path: The file.
        traces: A folder with longer captures: those that are there are taken instead of the
            experiment's traces of the same name.

    Raises:
        UsageError: it is not TOML, a key is unknown, missing or of another kind, or the folder
            holds none of the experiment's traces.
        OSError: the file, or the measurement that it names, cannot be read.
    """
    longer = None if traces is None else Path(traces)
    experiment = partial(_experiment, longer=longer)
    return read_experiment_file(path, KEYS, experiment, "experiments/scm.toml")


def _experiment(file: Path, content: Mapping[str, Any], longer: Path | None) -> ScmExperiment:
    texts(content[SERVERS]["devices"], "devices of servers", DEVICES_JUDGED)
    texts(content[SERVERS]["admissions"], "admissions of servers", ADMISSIONS_JUDGED)
    texts(content[SERVERS]["insert"], "insert of servers", READINGS_JUDGED)
    texts(content[DESKTOP]["ratios"], "ratios of desktop", RATIOS_JUDGED)
    parts = {
        name: read_part(file, content, name, study, WORKLOADS[of], workloads_of=of, longer=longer)
        for name, (study, of) in PARTS.items()
    }
    check_longer(parts, longer)
    return ScmExperiment(
        path=file,
        question=str(content["question"]),
        expected=str(content["expected"]),
        measured=read_measured(file.parent / content["measured"]),
        break_even=texts(content["break_even"], "break_even", DEVICES_JUDGED),
        parts=parts,
    )


def read_measured(path: Path) -> Measured:
    """Read what ``clockhand measure --memory`` wrote on a machine where it could measure all of it.

    Raises:
        UsageError: the file does not hold it.
        OSError: the file cannot be read.
    """
    try:
        content = toml_content(path.read_text(encoding="utf-8"))["measured"]
        points = {operation: _points(content, operation) for operation in (READ, CACHED, COPIED)}
        if not (set(points[READ]) == set(points[CACHED]) == set(points[COPIED])):
            raise ValueError("the operations were not measured at the same sizes")
        if not points[READ]:
            raise ValueError(f"there is no {READ}")
        return Measured(
            machine=str(content["machine"]),
            date=str(content["date"]),
            read=points[READ],
            cached=points[CACHED],
            copied=points[COPIED],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}: this is no measurement of memory with a disk in memory ({error}); make one "
            "with `clockhand measure --memory --out FILE` as root"
        ) from error


def _points(content: Mapping[str, Any], operation: str) -> dict[int, MeasuredPoint]:
    points = {}
    for point in content["points"]:
        if point["operation"] == operation:
            times = [float(point[name]) for name in ("p1_us", "p50_us", "p99_us")]
            if not 0 < times[0] <= times[1] <= times[2] < math.inf:
                raise ValueError(f"the times of {operation} are not in order")
            points[int(point["bytes"])] = MeasuredPoint(*times)
    return points
