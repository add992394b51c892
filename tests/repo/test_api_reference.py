"""The page of the public API is fresh, and says of every name what it is and what it raises."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

from tools import api_reference
from tools.api_reference import names_by_module


def test_the_page_is_fresh() -> None:
    text = api_reference.page()
    assert not api_reference.stale(api_reference.PAGE, text, api_reference.__file__)
    assert " at 0x" not in text, "an address, which differs from run to run"


def functions() -> Iterator[tuple[str, Any]]:
    """Public functions, and public methods and properties of public classes."""
    for module, entries in names_by_module():
        for name, value in entries:
            if isinstance(value, FunctionType):
                yield f"{module.__name__}.{name}", value
            elif isinstance(value, type):
                for member, found in vars(value).items():
                    target = getattr(found, "fget", None) or getattr(found, "__func__", found)
                    if not member.startswith("_") and isinstance(target, FunctionType):
                        yield f"{module.__name__}.{name}.{member}", target


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_raises_stands_in_its_docstring(name: str) -> None:
    raised = {
        getattr(node.exc.func, "id", "")
        for node in ast.walk(api_reference.definition(FUNCTIONS[name]))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    }
    told = inspect.getdoc(FUNCTIONS[name]) or ""
    assert [error for error in raised if error not in told] == []


def test_every_public_class_and_function_has_a_docstring() -> None:
    values = [(name, value) for _, entries in names_by_module() for name, value in entries]
    bare = [n for n, v in values if isinstance(v, type | FunctionType) and not inspect.getdoc(v)]
    assert bare == []
