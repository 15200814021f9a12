"""The reference of the library: signatures and docstrings of its public names, as one page."""

import inspect
import re
from collections.abc import Iterator

import clockhand
from clockhand.traces import Reading

SECTIONS = ("Args", "Attributes", "Returns", "Raises")
ENTRY = re.compile(r"^([\w*, ]+): (.*)$")


def reference() -> str:
    """Return the page."""
    version = clockhand.__version__
    lines = ["# Python reference\n", f"What `import clockhand` gives, version {version}.\n"]
    for name in sorted(clockhand.__all__, key=str.lower):
        value = getattr(clockhand, name)
        if inspect.isclass(value) or callable(value):
            lines += _entry(name, value)
    lines.append("## Reading traces\n")
    lines.append("Every function that takes traces by their paths also takes these.\n")
    lines += _described(inspect.getdoc(Reading) or "")
    return "\n".join(lines) + "\n"


def _entry(name: str, value: object) -> Iterator[str]:
    yield f"## {name}\n"
    if not isinstance(value, type):
        yield f"```python\n{_signature(name, value)}\n```\n"
    yield from _described(inspect.getdoc(value) or "")
    if isinstance(value, type):
        for own, method in inspect.getmembers(value, inspect.isroutine):
            described = inspect.getdoc(method)
            is_ours = str(getattr(method, "__module__", "")).startswith("clockhand")
            if described and is_ours and not own.startswith("_"):
                yield f"### {name}.{own}\n"
                yield f"```python\n{_signature(own, method)}\n```\n"
                yield from _described(described)


def _signature(name: str, value: object) -> str:
    """Return a signature, a parameter a line where it would be long."""
    parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    words, keyword_only = [], False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            words.append("*")
            keyword_only = True
        words.append(str(parameter.replace(annotation=inspect.Parameter.empty)))
    whole = f"{name}({', '.join(words)})"
    return whole if len(whole) <= 90 else f"{name}(\n    " + ",\n    ".join(words) + ",\n)"


def _described(text: str) -> Iterator[str]:
    """Turn a docstring into Markdown: its sections become lists."""
    text = re.sub(r":\w+:`[~.]*([^`]+)`", r"`\1`", text).replace("``", "`")
    in_section = False
    for line in text.splitlines():
        title = line.removesuffix(":")
        if line.endswith(":") and title in SECTIONS:
            yield f"\n**{title}**\n"
            in_section = True
        elif in_section and line.startswith("    "):
            inner = line[4:]
            match = ENTRY.match(inner)
            if match and not inner.startswith(" "):
                yield f"* `{match[1]}`: {match[2]}"
            else:
                yield ("  " if inner.startswith(" ") else "") + inner.strip()
        else:
            in_section = in_section and not line.strip()
            yield line
    yield ""
