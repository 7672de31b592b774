"""The stub says what the module has, no more and no less."""

import ast
import inspect
import pathlib

import pytest

import pinpoint
from pinpoint import _pinpoint

STUB = ast.parse(pathlib.Path(pinpoint.__file__).with_name("_pinpoint.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]


def arguments(definition):
    """Names and defaults, as written."""
    names = [argument.arg for argument in definition.args.args if argument.arg not in ("self", "cls")]
    defaults = [ast.literal_eval(default) for default in definition.args.defaults]
    return list(zip(names, [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults))


def signature(function):
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.default) for parameter in parameters if parameter.name != "self"]


def test_every_name_is_in_the_stub():
    in_stub = {node.name for node in CLASSES + FUNCTIONS} | {"__version__"}
    assert in_stub == set(pinpoint.__all__)
    assert in_stub == {name for name in dir(_pinpoint) if not name.startswith("_")} | {"__version__"}


@pytest.mark.parametrize("stub", FUNCTIONS, ids=lambda node: node.name)
def test_functions_take_what_the_stub_says(stub):
    assert arguments(stub) == signature(getattr(pinpoint, stub.name))


@pytest.mark.parametrize("stub", CLASSES, ids=lambda node: node.name)
def test_classes_have_what_the_stub_says(stub):
    real = getattr(pinpoint, stub.name)
    methods = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in dir(real) if not name.startswith("_")}
    assert {name for name in methods if not name.startswith("_")} == public
    for name, method in methods.items():
        if name == "__new__":
            assert arguments(method) == signature(real)
        elif not method.decorator_list:
            assert arguments(method) == signature(getattr(real, name))
