"""Signatures of the functions whose options the engine declares, for editors and type checkers.

``make columns`` writes ``python/clockhand/api.pyi``, and ``__init__.pyi``, which says where every
public name is; ``make lint`` fails if they are not up to date.
"""

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import clockhand
from clockhand.study.calls import Argument
from clockhand.study.options import Device, FormatOfText, Listed, Names
from clockhand.study.progress import Watching
from clockhand.traces import reading

STUB = Path(__file__).resolve().parents[1] / "python/clockhand/api.pyi"
PUBLIC = STUB.with_name("__init__.pyi")
HEAD = '''"""Functions whose options the engine declares; made by ``make columns``."""

import os
from collections.abc import Callable, Sequence
from typing import TypedDict

import polars as pl

'''
NAMED = {Device: "Device", FormatOfText: "FormatOfText", Listed: "Listed", Names: "Names"}


def stub() -> str:
    """Return the text of the stub."""
    declared = {
        name: value
        for name in sorted(clockhand.__all__)
        if _is_declared(value := getattr(clockhand, name))
    }
    functions = [value for name, value in declared.items() if name == value.__name__]
    aliases = {name: value for name, value in declared.items() if name != value.__name__}
    mappings = (reading.Part, reading.FileReading, reading.Reading)
    found = [_mapping(mapping) for mapping in mappings]
    found += [_function(function) for function in functions]
    found += [f"{name} = {of.__name__}" for name, of in aliases.items()]
    results = sorted(
        {_result(function) for function in functions if "." not in ast.unparse(_returns(function))}
    )
    imports = [
        *results,
        "from clockhand.studies.programs.run import Progress",
        "from clockhand.studies.programs.samples import Live",
        "from clockhand.study.options import Device, FormatOfText, Listed, Names",
        "from clockhand.study.progress import Watching",
        "from clockhand.traces import OneTrace, Trace, Traces",
    ]
    return _formatted(HEAD + "\n".join(imports) + "\n\n" + "\n\n".join(found) + "\n", STUB)


def public() -> str:
    """Return the text of the stub of the package: where each public name is."""
    lines = [f"from {_place(name)} import {name} as {name}" for name in sorted(clockhand.__all__)]
    return _formatted(
        '"""The public names; made by ``make columns``."""\n\n' + "\n".join(lines), PUBLIC
    )


def _place(name: str) -> str:
    value = getattr(clockhand, name)
    if _is_declared(value):
        return "clockhand.api"
    module: str = getattr(value, "__module__", "") or clockhand._PLACES[name]
    return module if module.startswith("clockhand.") else clockhand._PLACES[name]


def _formatted(text: str, stub: Path) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--select", "I,F401", "--fix"], ["format"]):
        line = [*ruff, *command, "--quiet", "--stdin-filename", str(stub), "-"]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _is_declared(value: Any) -> bool:
    return inspect.isfunction(value) and bool(getattr(value, "declared", ()))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    found = ast.parse(source).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def _returns(function: Callable[..., Any]) -> ast.expr:
    made = inspect.signature(function).return_annotation
    if inspect.isclass(made) and made.__module__.startswith("clockhand."):
        return ast.Name(made.__name__)
    returns = _definition(function).returns
    assert returns is not None
    return ast.parse(returns.value).body[0].value if isinstance(returns, ast.Constant) else returns  # type: ignore


def _result(function: Callable[..., Any]) -> str:
    name = ast.unparse(_returns(function))
    return f"from {inspect.signature(function).return_annotation.__module__} import {name}"


def _type(argument: Argument) -> str:
    """Return a type by its name, where it has one."""
    if argument.type == Watching:
        return "Watching"
    for known, name in NAMED.items():
        if argument.type in (known, known | None):
            return name if argument.type == known else f"{name} | None"
    return inspect.formatannotation(argument.type)


def _function(function: Any) -> str:
    """Return a function's definition with an argument in the place of ``**`` for each option."""
    definition = _definition(function)
    declared: Sequence[Argument] = function.declared
    definition.name = function.__name__
    definition.args.kwarg = None
    for one in declared:
        definition.args.kwonlyargs.append(ast.arg(one.keyword, ast.Name(_type(one))))
        is_required = one.default is inspect.Parameter.empty
        definition.args.kw_defaults.append(None if is_required else ast.Constant(one.default))
    definition.returns = _returns(function)
    definition.decorator_list = []
    definition.body = [
        ast.Expr(
            ast.Constant(textwrap.indent(inspect.getdoc(function) or "", "    ").strip() + "\n    ")
        )
    ]
    return ast.unparse(definition)


def _mapping(mapping: Any) -> str:
    about = textwrap.indent(inspect.getdoc(mapping) or "", "    ").strip()
    lines = [f"    {one.keyword}: {_type(one)}" for one in mapping.declared]
    return "\n".join(
        [f"class {mapping.__name__}(TypedDict, total=False):", f'    """{about}\n    """', *lines]
    )


if __name__ == "__main__":
    made = {STUB: stub(), PUBLIC: public()}
    if "--write" in sys.argv[1:]:
        for path, text in made.items():
            path.write_text(text)
    for path, text in made.items():
        if path.read_text() != text:
            sys.exit(f"{path.name} is not what the engine declares; run: make columns")
