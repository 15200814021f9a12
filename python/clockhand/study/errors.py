"""Errors: what is wrong and what helps, in which everyone has options in their own spelling."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Piece = tuple[Literal["words", "option", "command"], str]
"""Words, an option by its long name in the command, or a command that Python has a function for."""


@dataclass(frozen=True)
class Text:
    """A text that refers to options by their names.

    Attributes:
        pieces: Its parts, in their order.
    """

    pieces: tuple[Piece, ...] = ()

    def __add__(self, more: "Text | str") -> "Text":
        """Return the text with more behind it."""
        return Text(self.pieces + _text(more).pieces)

    def __radd__(self, before: str) -> "Text":
        """Return the text behind words."""
        return _text(before) + self

    def __str__(self) -> str:
        """Return it as the command spells it."""
        return self.spelled({})

    def spelled(self, spellings: Mapping[Piece, str]) -> str:
        """Return it with some parts spelled in another way than the command does."""
        return "".join(
            spellings.get(piece, f"--{piece[1]}" if piece[0] == "option" else piece[1])
            for piece in self.pieces
        )


def option(name: str) -> Text:
    """Return an option in a text, by its long name in the command without the dashes."""
    return Text((("option", name),))


def _text(words: Text | str) -> Text:
    return words if isinstance(words, Text) else Text((("words", words),) if words else ())


def _sentence(problem: str, remedy: str) -> str:
    return f"{problem}; {remedy}" if remedy else problem


class ClockhandError(Exception):
    """Something could not be done; the message is one sentence that says where and what to do.

    Attributes:
        spellings: How the caller spells options and commands; as the command does if there is
            none.
    """

    __module__ = "clockhand"

    spellings: dict[Piece, str]

    def __init__(self, problem: Text | str, remedy: Text | str = "") -> None:
        super().__init__(problem, remedy)
        self.spellings = {}

    @property
    def problem(self) -> str:
        """What is wrong, and where."""
        return self.spelled(self.spellings)[0]

    @property
    def remedy(self) -> str:
        """What to do; empty if the problem says it."""
        return self.spelled(self.spellings)[1]

    @property
    def options(self) -> tuple[str, ...]:
        """The options that the problem is about."""
        pieces = dict.fromkeys(_text(self.args[0]).pieces)
        return tuple(
            self.spellings.get(piece, piece[1]) for piece in pieces if piece[0] == "option"
        )

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The parts of the problem and the remedy."""
        return _text(self.args[0]).pieces + _text(self.args[1]).pieces

    def spelled(self, spellings: Mapping[Piece, str]) -> tuple[str, str]:
        """Return problem and remedy with some parts spelled otherwise than by the command."""
        problem, remedy = self.args
        return _text(problem).spelled(spellings), _text(remedy).spelled(spellings)

    def in_command(self) -> str:
        """Return the sentence as the command spells it."""
        return _sentence(*self.spelled({}))

    def __str__(self) -> str:
        """Return the sentence in the caller's spelling."""
        return _sentence(self.problem, self.remedy)

    def __repr__(self) -> str:
        """Return the class and the sentence."""
        return f"{type(self).__name__}({str(self)!r})"


class UsageError(ClockhandError, ValueError):
    """A wrong request: an unknown name, a value out of range, a contradiction."""

    __module__ = "clockhand"
