"""The stub declares exactly the names of the module, and documents them.

`test.py` has mypy's stubtest compare the signatures.
"""

import ast
import inspect
import pathlib
from typing import Any

import pytest

import pinpoint
from pinpoint import _pinpoint, catapult

STUB = ast.parse(pathlib.Path(pinpoint.__file__).with_name("_pinpoint.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]


def test_every_name_is_in_the_stub() -> None:
    in_stub = {node.name for node in CLASSES + FUNCTIONS}
    assert in_stub == {name for name in dir(_pinpoint) if not name.startswith("_")}


def documented() -> Any:
    for function in FUNCTIONS:
        yield function.name, getattr(_pinpoint, function.name), function
    for stub in CLASSES:
        real = getattr(_pinpoint, stub.name)
        yield stub.name, real, stub
        for method in stub.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("__"):
                yield f"{stub.name}.{method.name}", getattr(real, method.name), method


@pytest.mark.parametrize(("name", "real", "stub"), list(documented()), ids=lambda it: it if isinstance(it, str) else "")
def test_the_documentation_is_that_of_the_stub(name: Any, real: Any, stub: Any) -> None:
    expected = ast.get_docstring(stub)
    assert expected, f"{name} has no docstring"
    assert inspect.getdoc(real) == expected


@pytest.mark.parametrize("name", pinpoint.__all__)
def test_everything_public_is_there_and_documented(name: Any) -> None:
    assert name in dir(pinpoint)
    found = getattr(pinpoint, name)
    if name != "__version__":
        assert inspect.getdoc(found)
        assert found.__module__.startswith("pinpoint"), "shown as something else's"


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        pinpoint.guess
    assert set(catapult.__all__) <= set(dir(catapult))
