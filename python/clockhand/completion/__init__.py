"""Completion of words in a shell: how a shell asks, for which command, and what it does without."""

import os

VARIABLE = "_CLOCKHAND_COMPLETE"
"""The variable that a shell sets to ask for the words that can follow."""


def is_asked() -> bool:
    """Say whether a shell asks for words, instead of running a command."""
    return VARIABLE in os.environ


def begun_command() -> str:
    """Return the command of the words that a shell completes, or as much of it as is written."""
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return next(iter(words.split()[1:]), "")
