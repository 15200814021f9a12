"""Experiments of papers as TOML files: their keys are checked; a refusal is one sentence."""

import os
from collections.abc import Callable, Iterable, Mapping, Set
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


def texts(values: Any, what: str, judged: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the texts of a list.

    Args:
        values: The list.
        what: What a refusal calls it.
        judged: Texts that it must have, because claims are judged by them.

    Raises:
        TypeError: it is not a list, or something else is in it.
        ValueError: it lacks some of ``judged``.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{what}: {values!r} is not a list of texts")
    if missing := [text for text in judged if text not in values]:
        raise ValueError(f"the {what} lack {', '.join(missing)}")
    return tuple(values)
