"""The experiment of the CFLRU paper: one file, a sweep for each of its three parts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clockhand.reproduce.experiment_file import read_experiment_file, texts
from clockhand.reproduce.parts import Part, check_longer, read_part

SWAP = "swap"
BUFFERS = "buffers"
KERNELS = "kernels"
PROGRAMS = ("Gqview", "Kword", "Kspread", "Acrobat reader", "Mozilla")
APPLICATIONS = ("gcc", "tar", "diff", "encoding", "file system benchmark")
PARTS = {
    # Part, the study that it asks, the paper's workloads.
    SWAP: ("pages", PROGRAMS),
    BUFFERS: ("pagecache", PROGRAMS),
    KERNELS: ("pagecache", APPLICATIONS),
}
KEYS = {"question", "expected", *PARTS}

WINDOWS = tuple(f"cflru:window_share=1/{x}" for x in range(1, 7))
"""Section 4.2: ``S/x``, where ``x`` varies from 1 to 6."""
POLICIES = ("lru", *WINDOWS, "cflru-dynamic", "min")
LINUX, STATIC, DYNAMIC = "linux24", "linux24-cflru", "linux24-cflru:dynamic=true"
READ_AHEAD, NO_READ_AHEAD = "file:3-31", "none"
PAPERS_MEMORY = "16MiB"
JUDGED = {
    # Part, key, what the claims need there.
    (SWAP, "policies"): POLICIES,
    (BUFFERS, "policies"): POLICIES,
    (KERNELS, "policies"): (LINUX, STATIC, DYNAMIC),
    (KERNELS, "read_ahead"): (READ_AHEAD, NO_READ_AHEAD),
    **{(part, "memory"): (PAPERS_MEMORY,) for part in PARTS},
}


@dataclass(frozen=True)
class CflruExperiment:
    """A checked experiment."""

    path: Path
    question: str
    expected: str
    parts: Mapping[str, Part]

    @property
    def dataset(self) -> Path:
        """The folder that the cells are kept in, a folder in it for each part."""
        return self.path.parent / "datasets" / self.path.stem


def read_cflru_experiment(
    path: str | os.PathLike[str], *, traces: str | os.PathLike[str] | None = None
) -> CflruExperiment:
    """Read ``experiments/cflru.toml`` or a file like it; no trace is opened.

    Args:
        path: The file.
        traces: A folder with longer captures: those that are there are taken instead of the
            experiment's traces of the same name.

    Raises:
        UsageError: it is not TOML, a key is unknown, missing or of another kind, or the folder
            holds none of the experiment's traces.
        OSError: the file cannot be read.
    """
    longer = None if traces is None else Path(traces)
    experiment = partial(_experiment, longer=longer)
    return read_experiment_file(path, KEYS, experiment, "experiments/cflru.toml")


def _experiment(file: Path, content: Mapping[str, Any], longer: Path | None) -> CflruExperiment:
    for (part, key), judged in JUDGED.items():
        texts(content[part][key], f"{key} of {part}", judged)
    parts = {
        name: read_part(file, content, name, *asked, longer=longer) for name, asked in PARTS.items()
    }
    check_longer(parts, longer)
    return CflruExperiment(
        path=file,
        question=str(content["question"]),
        expected=str(content["expected"]),
        parts=parts,
    )
