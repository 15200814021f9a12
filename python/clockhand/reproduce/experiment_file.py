"""Experiments of papers as TOML files: their keys are checked; a refusal is one sentence."""

import os
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

from clockhand._engine import UsageError
from clockhand.sweep.experiment import read_content

Experiment = TypeVar("Experiment")


def read_experiment_file(
    path: str | os.PathLike[str],
    keys: Set[str],
    experiment: Callable[[Path, Mapping[str, Any]], Experiment],
    committed: str,
) -> Experiment:
    """Return what ``experiment`` makes of a file and its content.

    Args:
        path: The file.
        keys: The keys that it must have, and no others.
        experiment: May raise what a value that is missing or of another kind causes.
        committed: The paper's own file, which a refusal names for comparison.

    Raises:
        UsageError: it is not TOML, or a key is unknown, missing or of another kind.
        OSError: the file, or one that it names, cannot be read.
    """
    file = Path(path)
    content = read_content(file)
    if wrong := sorted(keys ^ set(content)):
        kind = "unknown" if wrong[0] in content else "missing"
        raise UsageError(
            f"{file}: the key {wrong[0]!r} is {kind}; the keys are {', '.join(sorted(keys))}"
        )
    try:
        return experiment(file, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{file}: a value is missing or not of its kind ({error}); compare it with {committed}"
        ) from error
