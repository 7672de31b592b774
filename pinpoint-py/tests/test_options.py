"""The keywords of ``bisect``, ``culprit`` and ``pairwise``: signatures, defaults and types."""

import asyncio
import inspect
import pathlib
import pydoc
import typing
from typing import Any

import pytest

import pinpoint
from pinpoint import _arguments, _options


def test_an_argument_that_does_not_exist_is_blamed_on_the_function_that_was_called() -> None:
    misspelled: dict[str, Any] = {"magnitud": 1.0}
    for function in (pinpoint.bisect, pinpoint.pairwise, pinpoint.culprit):
        with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'magnitud'"):
            function("repo", "good", "bad", **misspelled)
    with pytest.raises(TypeError, match=r"argument 'magnitud'\. Did you mean 'magnitude'\?$"):
        pinpoint.bisect("repo", "good", "bad", **misspelled)
    misspelled = {"function": 1, "options": 2}
    with pytest.raises(TypeError, match=r"^bisect_async\(\) got an unexpected keyword argument 'function'$"):
        asyncio.run(pinpoint.bisect_async("repo", "good", "bad", **misspelled))


@pytest.mark.parametrize(
    ("function", "coroutine", "options", "ends"),
    [
        (pinpoint.bisect, pinpoint.bisect_async, _options.BisectOptions, ["good", "bad"]),
        (pinpoint.culprit, pinpoint.culprit_async, _options.CulpritOptions, ["good", "bad"]),
        (pinpoint.pairwise, pinpoint.pairwise_async, _options.PairwiseOptions, ["base", "experiment"]),
    ],
)
def test_the_signature_shows_every_keyword(function: Any, coroutine: Any, options: Any, ends: Any) -> None:
    signature = inspect.signature(function)
    assert signature == inspect.signature(coroutine) and inspect.iscoroutinefunction(coroutine)
    assert pathlib.Path(inspect.getfile(function)).name == "_drive.py"
    assert list(signature.parameters)[:3] == ["repo", *ends]
    assert set(signature.parameters) == {"repo", *ends, *options.__annotations__}
    hints = typing.get_type_hints(coroutine)
    assert set(hints) == {*signature.parameters, "return"}
    assert hints["warmup"] is int and signature.parameters["warmup"].annotation == "int"
    shown = pydoc.render_doc(function, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert "direction: \"Literal['up', 'down', 'unknown'] | None\" = None" in shown
    assert "cache_size: 'int' = 10737418240" in shown and "**" not in shown


def test_every_default_passes_for_one_that_was_given() -> None:
    for name, default in _options.DEFAULTS.items():
        if name in _arguments._READ:
            _arguments._READ[name](name, default)


def test_types_of_keywords_are_checked() -> None:
    """By mypy, too, which reports an ignore that it does not need."""
    with pytest.raises(TypeError, match="`warmup` must be an int, not str"):
        pinpoint.bisect("repo", "a", "b", run="true", warmup="1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"pairwise\(\) got an unexpected keyword argument 'magnitude'$"):
        pinpoint.pairwise("repo", "a", "b", run="true", magnitude=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^culprit\(\) takes from 0 to 3 positional arguments but 4 were given"):
        pinpoint.culprit("repo", "a", "b", "true")  # type: ignore[call-arg]
