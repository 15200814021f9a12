"""The typed stub of the native module says what the module has."""

import ast
import inspect
from pathlib import Path
from types import GetSetDescriptorType
from typing import Any

import pytest

from clockhand import _engine

STUB = ast.parse((Path(inspect.getfile(_engine)).parent / "_engine.pyi").read_text())


def stub_functions() -> list[tuple[str, ast.FunctionDef]]:
    """Functions as `name`, methods as `Class.name`."""
    found = [(node.name, node) for node in STUB.body if isinstance(node, ast.FunctionDef)]
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            methods = [member for member in node.body if isinstance(member, ast.FunctionDef)]
            found += [(f"{node.name}.{method.name}", method) for method in methods]
    return found


def native(name: str) -> Any:
    found: Any = _engine
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    return found


def is_property(function: ast.FunctionDef) -> bool:
    return any(getattr(mark, "id", None) == "property" for mark in function.decorator_list)


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of each parameter, as the stub writes them."""
    empty = inspect.Parameter.empty
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [empty] * (len(places) - len(arguments.defaults)) + [
        ast.literal_eval(default) for default in arguments.defaults
    ]
    parameters: list[tuple[str, Any, Any]] = [
        (
            argument.arg,
            inspect.Parameter.POSITIONAL_ONLY
            if argument in arguments.posonlyargs
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default,
        )
        for argument, default in zip(places, defaults, strict=True)
    ]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        value = empty if default is None else ast.literal_eval(default)
        parameters.append((argument.arg, inspect.Parameter.KEYWORD_ONLY, value))
    return parameters


def test_stub_and_module_have_the_same_names() -> None:
    described = set()
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            described.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            described.add(node.target.id)
    public = {name for name in vars(_engine) if not name.startswith("_")} | {"__version__"}
    assert described == public


def test_stub_and_module_have_the_same_members_and_bases() -> None:
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            described = {
                name.split(".")[1]
                for name, _ in stub_functions()
                if name.startswith(f"{node.name}.") and not name.endswith("__")
            }
            members = {name for name in vars(native(node.name)) if not name.startswith("_")}
            assert members == described
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            assert bases in ([], [base.__name__ for base in native(node.name).__bases__])


@pytest.mark.parametrize(("name", "function"), stub_functions())
def test_stub_and_module_have_the_same_parameters(name: str, function: ast.FunctionDef) -> None:
    owner, _, member = name.rpartition(".")
    # A class is called with what its constructor takes after the class itself.
    found = native(owner) if member == "__new__" else native(name)
    if is_property(function):
        assert isinstance(found, GetSetDescriptorType)
        return
    if isinstance(found, staticmethod):
        assert any(getattr(mark, "id", None) == "staticmethod" for mark in function.decorator_list)
        found = found.__func__
    signature = inspect.signature(found).parameters.values()
    parameters = [(parameter.name, parameter.kind, parameter.default) for parameter in signature]
    assert parameters == stub_parameters(function)[1 if member == "__new__" else 0 :]
