"""Policies of one's own: Python classes that decide which page leaves.

A class is a policy if it has ``choose_victim(self, frames)``. Its other methods are optional:
:data:`~.own_parameters.METHODS` lists them. A policy with ``hit`` gets every reference; one without
it learns of hits from the bits that they set, which ``frames`` shows.
"""

import hashlib
import inspect
import linecache
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, TypeVar

from clockhand import _engine
from clockhand.study.columns import schema
from clockhand.study.errors import UsageError
from clockhand.study.own_parameters import (
    DIGEST,
    check_methods,
    entry_of,
    parameters,
    period,
    refused,
)
from clockhand.study.policies import IN_FILE
from clockhand.study.records import Fields

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 1 << 20
"""A larger file is not a policy."""

DIGITS = 12


Class = TypeVar("Class", bound=type)
Entry = str | os.PathLike[str] | type
"""The name of a policy in Python."""


def policy(own: Class) -> Class:
    """Register a class as a policy under its own name; a decorator.

    The class can then be named wherever policies are: ``simulate(trace, policies=["Mine", "clock"],
    frames=64)``. A later class of the same name takes its place, as when a cell of a notebook is
    run again.

    Raises:
        UsageError: the class is not a policy; the sentence says what it lacks.
    """
    digest = _digest_of(own)
    if _REGISTERED.get(own.__name__) != (digest, own):
        _register(own.__name__, own, digest, f"class {own.__qualname__}")
    return own


def use_policy_library(file: str | os.PathLike[str]) -> list[str]:
    """Load a library of policies, so that they can be named without it; return their names.

    Without this, ``"libmine.so:mine"`` names the policy ``mine`` of a library.

    Args:
        file: A shared library that ``clockhand new-policy`` began.

    Raises:
        UsageError: the file is no such library, others can write to it, or the catalog has a policy
            of the same name.
    """
    return _engine.use_policy_library(os.fspath(file))


@dataclass(frozen=True)
class Conformance:
    """What trials showed of a policy.

    Attributes:
        rules: A row per rule that was tried: the rule, in how many memories and with how many
            references it was tried, and whether it was kept; the one that broke is the last.

        sentence: Which rule broke where, and what was wrong; ``None`` if all were kept.

        events: What happened last before it broke, from the oldest event on.

        raised: What the policy's own code raised, if that is how it broke.
    """

    rules: "pl.DataFrame"
    sentence: str | None
    events: list[str]
    raised: Exception | None


def check_policy(policy: str | type) -> Conformance:
    """Try the rules that every policy keeps, until one breaks.

    Args:
        policy: A class, ``FILE.py:CLASS``, ``FILE.so:NAME`` or a name of the catalog, with
            parameters if wanted.

    Raises:
        UsageError: there is no such policy, or it must know the future.
        Exception: what the policy's file raised when it was loaded.
    """
    [name] = texts_of([policy])
    checked = _engine.check_policy(name)
    broken = checked["broken"]
    rows = [{**kept, "kept": True} for kept in checked["kept"]]
    if broken is None:
        return Conformance(_rules(rows), None, [], None)
    rows.append({"rule": broken["rule"], "memories": None, "references": None, "kept": False})
    sentence = (
        f"{name} broke the rule that a policy {broken['rule']}: at reference "
        f"{broken['reference']} of {broken['trial']}, {broken['wrong']}"
    )
    raised = broken["raised"]
    return Conformance(
        _rules(rows),
        sentence,
        broken["events"],
        raised if raised is not None and raised_by(raised) is not None else None,
    )


def _rules(rows: list[Fields]) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(rows, schema=schema("check-policy"))


def texts_of(entries: Sequence[Entry]) -> list[str]:
    """Return texts as they are, paths as texts, and of each class the name that it is a policy by.

    Raises:
        UsageError: a class is not a policy, or two have the same name.
    """
    classes: dict[str, type] = {}
    for own in (entry for entry in entries if isinstance(entry, type)):
        if classes.setdefault(own.__name__, own) is not own:
            raise refused(own.__name__, "two classes have this name", "give them different ones")
        policy(own)
    return [entry.__name__ if isinstance(entry, type) else os.fspath(entry) for entry in entries]


def load(name: str) -> None:
    """Register the class of ``FILE.py:CLASS`` under this name; its file's code is run for that.

    A file that is known already is not run again unless its content has changed.

    Raises:
        UsageError: there is no such file or class, it is not Python, or no policy.
        Exception: what the file's own code raised.
    """
    path, _, word = name.partition(IN_FILE)
    file = Path(f"{path}.py" if word else name)
    source = _read(name, file)
    digest = hashlib.sha256(source).hexdigest()[:DIGITS]
    known = _LOADED.get((file.absolute(), digest))
    module = _run(name, file, source, digest) if known is None else known
    own = _class_in(name, module, word)
    if _REGISTERED.get(name) != (digest, own):
        _register(name, own, digest, f"{file}, sha256 {digest}")
    _LOADED[file.absolute(), digest] = module


_LOADED: dict[tuple[Path, str], ModuleType] = {}
_REGISTERED: dict[str, tuple[str, type]] = {}
"""The digest of the source that each name stands for, and the class."""


def is_in_python(name: str) -> bool:
    """Tell whether a policy of one's own that has been named is a class, not in a library."""
    return name in _REGISTERED


def _read(name: str, file: Path) -> bytes:
    try:
        return _engine.own_code(os.fspath(file), MOST_BYTES, "a file with a policy")
    except UsageError as error:
        raise UsageError(f"policy {name}: {error.problem}", error.remedy) from None


def _run(name: str, file: Path, source: bytes, digest: str) -> ModuleType:
    """Run a file in a module of its own; nothing is written beside it."""
    try:
        code = compile(source, str(file), "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f"{file}, line {error.lineno}" if error.lineno else str(file)
        raise refused(name, f"{place}: {error.msg}", "correct it") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise refused(
            name, f"{file} is not Python ({error})", "name a file with a policy"
        ) from None
    module = ModuleType(f"clockhand_policy_{file.stem}_{digest}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    linecache.checkcache(str(file))
    try:
        exec(code, module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        _mark(error, name, "its file raised this when it was loaded")
        raise
    except SystemExit:
        del sys.modules[module.__name__]
        raise refused(
            name,
            f"{file} ends Python when it is loaded",
            "put that below if __name__ == '__main__'",
        ) from None
    return module


def _mark(error: Exception, name: str, what: str) -> None:
    """Note whose exception it is; the traceback that is kept begins in the user's own file."""
    error.add_note(f"policy {name}: {what}")
    own = error.__traceback__.tb_next if error.__traceback__ is not None else None
    vars(error)["clockhand_policy"] = (name, own)


def raised_by(error: BaseException) -> tuple[str, TracebackType | None] | None:
    """Return the policy whose own code raised an exception, and the traceback in that code."""
    marked: tuple[str, TracebackType | None] | None = getattr(error, "clockhand_policy", None)
    return marked


def _class_in(name: str, module: ModuleType, word: str) -> type:
    found = {
        own.__name__: own
        for own in vars(module).values()
        if isinstance(own, type) and own.__module__ == module.__name__
    }
    if word in found:
        return found[word]
    policies = [known for known, own in found.items() if hasattr(own, "choose_victim")]
    there_are = f"there are: {', '.join(policies)}" if policies else "no class of it is a policy"
    what = f"{module.__file__} has no class {word!r}" if word else "it names no class"
    raise refused(name, what, f"give FILE.py:CLASS, {there_are}")


def _digest_of(own: type) -> str:
    """The digest of a class: of its source, where that is known, and of the code that it has."""
    try:
        source = inspect.getsource(own)
    except (OSError, TypeError):
        source = ""
    parts = [list(_parts(base)) for base in own.__mro__[:-1]]
    return hashlib.sha256(f"{source}\n{parts}".encode()).hexdigest()[:DIGITS]


def _parts(own: type) -> Iterator[tuple[str, object]]:
    """The attributes of a class, as far as they are the same in every process."""
    for name, value in sorted(vars(own).items()):
        code = getattr(value, "__code__", None)
        if isinstance(code, CodeType):
            defaults = getattr(value, "__defaults__", None), getattr(value, "__kwdefaults__", None)
            yield name, (_same(defaults), list(_constants(code)))
        elif not name.startswith("__"):
            yield name, _same(value)


def _constants(code: CodeType) -> Iterator[object]:
    yield code.co_code, code.co_names, code.co_varnames
    for constant in code.co_consts:
        yield list(_constants(constant)) if isinstance(constant, CodeType) else _same(constant)


def _same(value: object) -> str:
    """A text of a plain value; of others, whose text may hold an address, the name of the type."""
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | Fraction():
            return repr(value)
        case tuple() | list():
            return f"({', '.join(_same(item) for item in value)})"
        case dict():
            return f"{{{', '.join(f'{_same(key)}: {_same(it)}' for key, it in value.items())}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(_same(item) for item in value))}}}"
        case _:
            return type(value).__qualname__


def _register(name: str, own: type, digest: str, origin: str) -> None:
    if name in {entry["name"] for entry in _engine.policies()}:
        raise refused(name, "the catalog has a policy of this name", "give the class another one")
    check_methods(name, own)
    documentation = inspect.getdoc(own) if own.__doc__ else None
    summary = documentation.splitlines()[0] if documentation else "a policy of one's own"
    page = documentation or f"{name} has no documentation: give its class a docstring."
    _engine.add_policy(
        own,
        {
            "name": name,
            "summary": summary,
            "origin": origin,
            "page": "".join(f"//! {line}\n" for line in page.splitlines()),
            "parameters": [*parameters(name, own), entry_of(DIGEST, "digest", digest, [digest])],
            "sees_hits": hasattr(own, "hit"),
            "period": period(name, own),
        },
    )
    _REGISTERED[name] = digest, own
