"""Stand-ins for the libraries that completion does not need: they compute, print and draw.

A shell that asks which words can follow wants names of commands and options, and their help. These
stand in the modules of the command, which also import the libraries. As no command runs, anything
may stand in for them.
"""

import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LIBRARIES = ("altair", "jinja2", "numpy", "polars", "rich", "vl_convert")
NEEDED = ("clockhand._engine", "clockhand.command", "clockhand.completion", "clockhand.start")
"""The parts of our library that are there all the same, with all that is in them."""

OF_OPTIONS = (
    "clockhand",
    "clockhand.study",
    "clockhand.study.errors",
    "clockhand.study.limits",
    "clockhand.study.options",
    "clockhand.study.selections",
)
"""The modules that give commands the options that the engine declares, and the kinds of errors."""


class _Anything(ModuleType):
    """Has every attribute, can be called, indexed and joined; it is empty and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self

    def __getitem__(self, _: object) -> Any:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def _joined(self, _: object) -> Any:
        return self

    __or__ = __ror__ = __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = _joined
    __and__ = __sub__ = __rsub__ = __gt__ = __lt__ = _joined

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return (object,)


class _Finder:
    """Finds an empty module for every name under those of the libraries."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        package = name.partition(".")[0]
        part = ".".join(name.split(".")[:2])
        if package not in (*LIBRARIES, "clockhand") or part in NEEDED or name in OF_OPTIONS:
            return None
        return ModuleSpec(name, _Loader(), is_package=True)  # type: ignore[arg-type]


class _Loader:
    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return _Anything(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """There is nothing in it."""


def stand_in_for_libraries() -> None:
    """Have imports of the libraries give modules that have everything and do nothing."""
    sys.meta_path.insert(0, _Finder)
    # Typer would use rich, which is empty here, to take the markup out of descriptions.
    os.environ["TYPER_USE_RICH"] = "0"
    descriptions: Any = ModuleType("typer.rich_utils")
    descriptions.rich_render_text = str
    sys.modules[descriptions.__name__] = descriptions
