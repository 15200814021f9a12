"""Signatures and docstrings that show every keyword, also those of typed dictionaries."""

import inspect
import re
from collections.abc import Callable
from typing import Any

ENTRY = r"^    {name}:.*\n(?:        .*\n|\n(?=        ))*"
"""An entry of a section of a docstring, with its further lines."""


class _NotGiven:
    """The default of a keyword whose text says what it is if it is not given."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = _NotGiven()


def whole_signature(
    function: Callable[..., Any], keywords: tuple[type, ...], like: Callable[..., Any] | None
) -> inspect.Signature:
    """Return a function's signature with a parameter for each keyword that it takes.

    Args:
        function: The function; ``**`` in its signature stands for the keywords.
        keywords: The typed dictionaries that say which there are.
        like: A function that takes the same.
    """
    signature = inspect.signature(function)
    if like is not None:
        return inspect.signature(like).replace(return_annotation=signature.return_annotation)
    own = signature.parameters.values()
    written = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(written) == len(own):
        return signature
    named = {one.name for one in written}
    for mapping in keywords:
        for name, annotation in mapping.__annotations__.items():
            if name not in named:
                named.add(name)
                written.append(
                    inspect.Parameter(
                        name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=NOT_GIVEN,
                        annotation=annotation,
                    )
                )
    return signature.replace(parameters=written)


def whole_docstring(
    function: Callable[..., Any], keywords: tuple[type, ...], like: Callable[..., Any] | None
) -> str:
    """Return a function's docstring with an entry for each keyword; see `whole_signature`."""
    text = inspect.cleandoc(function.__doc__ or "") + "\n"
    if like is not None:
        other = inspect.cleandoc(like.__doc__ or "") + "\n"
        summary, _, rest = text.partition("\n\n")
        sections = (_section(other, "Args"), rest.strip("\n"), _section(other, "Raises"))
        return "\n\n".join([summary, *(part for part in sections if part)]) + "\n"
    entries = _entries(keywords)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            own = re.compile(ENTRY.format(name=parameter.name), re.MULTILINE)
            return own.sub(lambda _: entries, text, count=1)
    return text


def _section(text: str, title: str) -> str:
    """Return a section of a docstring with its title; nothing if there is none."""
    found = re.search(rf"^{title}:\n(?:    .*\n|\n(?=    ))*", text, re.MULTILINE)
    return found[0].strip("\n") if found else ""


def _entries(keywords: tuple[type, ...]) -> str:
    """The entries of typed dictionaries."""
    texts = (inspect.cleandoc(mapping.__doc__ or "") + "\n" for mapping in keywords)
    sections = (_section(text, "Attributes") for text in texts)
    return "".join(section.partition("\n")[2] + "\n" for section in sections if section)
