"""Checks the types of the arguments of :func:`bisect`, :func:`pairwise` and
:func:`culprit`; the Rust side does the rest."""

from __future__ import annotations

import functools
import math
import operator
import os
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat, TypeVar

from ._executor import Executor

T = TypeVar("T")

# Arguments are refused where they would be ignored: those that an executor decides
# itself, and, when a job is resumed, all except those that it needs.
_NOT_WITH_EXECUTOR = {
    "run", "build", "format", "measure", "results", "aggregate", "paths", "warmup", "env",
    "cpu", "settle", "trace_reads", "allow_outside_reads", "build_jobs", "repositories",
    "cache_size",
}
# Arguments about running and reading a command, and its variables: a function has
# none of them.
_OF_RUN_COMMAND = {
    "format", "measure", "results", "aggregate", "warmup", "cpu", "trace_reads",
    "allow_outside_reads",
}
WITH_RESUME = {"run", "build", "executor", "resume", "timeout", "state_dir", "progress", "bar"}
KINDS = {"bisect": "bisection", "pairwise": "pairwise", "culprit": "culprit_finder"}


def search_of(name: str, given: set[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a new job, with their types checked."""
    ends = ("base", "experiment") if name == "pairwise" else ("good", "bad")
    good, bad = (options[end] for end in ends)
    repo, run, build, executor = (options[it] for it in ("repo", "run", "build", "executor"))
    if good is None or bad is None:
        raise TypeError(f"`{ends[0]}` and `{ends[1]}` are needed, or `resume`")
    for end in ends:
        if not isinstance(options[end], str):
            raise TypeError(f"`{end}` must be a str, not {type(options[end]).__name__}")
    if (executor is None) == (repo is None):
        raise TypeError("give either `repo`, with `run`, or an `executor`")
    if executor is not None:
        leave_out("an `executor` builds and runs itself", given & _NOT_WITH_EXECUTOR)
    elif run is None:
        raise TypeError("`run` is needed: a command, or a function")
    elif callable(run):
        ignored = given & _OF_RUN_COMMAND
        if build is None or callable(build):
            ignored |= given & {"env"}
        leave_out("`run` is a function, and these are for commands", ignored, ValueError)
    elif callable(build):
        leave_out("`build` is a function, which can't be traced", given & {"trace_reads"}, ValueError)
    if {"chart", "measure"} <= given:
        raise ValueError("`measure` names what decides: leave out `chart`")
    read = {name: reader(name, options[name]) for name, reader in _READ.items()}
    if callable(build):
        # Builds of a function belong to this job alone.
        read["env"]["PINPOINT_BUILT_FOR"] = uuid.uuid4().hex
    return {
        **read,
        "kind": KINDS[name],
        "title": f"pinpoint.{name}({good}, {bad})",
        "benchmark": _benchmark(run, executor),
        "repo": None if repo is None else os.path.abspath(repo),
        "good": good,
        "bad": bad,
        "command": ["python"] if executor or callable(run) else _command(run),
        "build": None if build is None or callable(build) else text("build", build),
        "builds": executor is not None or callable(build),
        "runs": executor is not None or callable(run),
    }


def _benchmark(run: Any, executor: Executor | None) -> str:
    """The name of a benchmark in lists of jobs: the program, the function or the executor."""
    if executor is not None:
        return type(executor).__name__
    if callable(run):
        return getattr(run, "__name__", type(run).__name__)
    words = run.split() if isinstance(run, str) else _command(run)
    return os.path.basename(words[0]) if words else ""


def leave_out(reason: str, names: set[str], error: type[Exception] = TypeError) -> None:
    if names:
        listed = " and ".join(f"`{name}`" for name in sorted(names))
        raise error(f"{reason}: leave out {listed}")


def check_executor(executor: Any) -> None:
    if executor is None:
        return
    if not isinstance(executor, Executor):
        kind = "the class itself" if isinstance(executor, type) else type(executor).__name__
        raise TypeError(f"`executor` must be an instance of a subclass of pinpoint.Executor, not {kind}")
    concurrency = executor.concurrency
    if isinstance(concurrency, bool) or not hasattr(concurrency, "__index__"):
        raise TypeError(f"`Executor.concurrency` must be an int, not {type(concurrency).__name__}")
    if concurrency < 1:
        raise ValueError(f"`Executor.concurrency` is {concurrency}: it must be 1 or more")


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a str, not {type(value).__name__}")
    return value


def _texts(name: str, values: Any) -> list[str]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"`{name}` must be a sequence of str, not {type(values).__name__}")
    found = list(values)
    for value in found:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be a sequence of str: it holds {value!r}")
    return found


def _one_of(*known: str) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        if value not in known:
            raise ValueError(f"`{name}` is {value!r}: it must be one of {', '.join(map(repr, known))}")
        return str(value)

    return read


def _optional(read: Callable[[str, Any], T]) -> Callable[[str, Any], T | None]:
    return lambda name, value: None if value is None else read(name, value)


def _count(name: str, value: Any, bits: int = 64) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an int, not {type(value).__name__}") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"`{name}` is {number}: it must lie between 0 and 2**{bits} - 1")
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) or not isinstance(value, SupportsFloat):
        raise TypeError(f"`{name}` must be a number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"`{name}` is {value}: it must be a finite number")
    return number


def _numbers(name: str, values: Any) -> list[float]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"`{name}` must be a sequence of numbers, not {type(values).__name__}")
    return [_number(f"{name}[{index}]", value) for index, value in enumerate(values)]


def _priors(name: str, priors: Any) -> str | dict[str, list[float]] | None:
    if priors == "none":
        return None
    if isinstance(priors, str):
        return _one_of("changes", "none")(name, priors)
    return {"weights": _numbers(name, priors)}


def _by_name(name: str, values: Any) -> dict[str, Any]:
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f"`{name}` must be a mapping, not {type(values).__name__}")
    found = dict(values or {})
    for key, value in found.items():
        if not isinstance(key, str) or not isinstance(value, (str, os.PathLike)):
            raise TypeError(f"`{name}` must map str to str: it holds {key!r}: {value!r}")
    return {key: os.fspath(value) for key, value in found.items()}


def _command(run: Any) -> list[str]:
    if isinstance(run, str):
        return ["sh", "-c", run]
    if not isinstance(run, Sequence):
        raise TypeError(f"`run` must be a command or a function, not {type(run).__name__}")
    words = [os.fspath(word) for word in run]
    if not words:
        raise ValueError("`run` is an empty command")
    return words


def _magnitude(name: str, magnitude: Any) -> dict[str, float]:
    if isinstance(magnitude, str):
        number = re.fullmatch(r"\s*([0-9.eE+-]+)\s*%\s*", magnitude)
        try:
            return {"percent": _number(name, float(number[1] if number else ""))}
        except ValueError:
            raise ValueError(
                f"`{name}` is {magnitude!r}: it must be a number, or a percentage as in '5%'"
            ) from None
    return {"absolute": _number(name, magnitude)}


def _milliseconds(name: str, seconds: Any) -> int:
    if not 0 < _number(name, seconds) <= 1e12:
        raise ValueError(f"`{name}` is {seconds}: it must be a number of seconds above 0, and at most 1e12")
    return max(1, round(float(seconds) * 1000))


def _directories(name: str, values: Any) -> dict[str, str]:
    return {url: os.path.abspath(path) for url, path in _by_name(name, values).items()}


_count_32 = functools.partial(_count, bits=32)
# Readers of the arguments that are passed on unchanged.
_READ: dict[str, Callable[[str, Any], Any]] = {
    "format": text,
    "measure": _optional(_one_of("wall", "user", "instructions", "memory", "auto")),
    "results": _optional(lambda name, path: os.fspath(path)),
    "aggregate": _optional(text),
    "chart": _optional(text),
    "direction": _optional(_one_of("up", "down", "unknown")),
    "magnitude": _optional(_magnitude),
    "strategy": _one_of("adaptive", "pinpoint"),
    "confidence": _number,
    "max_runs": _optional(_count),
    "max_builds": _optional(_count),
    "max_time": _optional(_milliseconds),
    "build_cost": _number,
    "priors": _optional(_priors),
    "seed": _count,
    "pairs": _count_32,
    "early_stopping": lambda name, value: bool(value),
    "skip": _texts,
    "paths": _texts,
    "warmup": _count_32,
    "env": _by_name,
    "cpu": _optional(text),
    "settle": _optional(_milliseconds),
    "trace_reads": lambda name, value: bool(value),
    "allow_outside_reads": lambda name, value: bool(value),
    "timeout": _optional(_milliseconds),
    "build_jobs": _count_32,
    "cache_size": _count,
    "repositories": _directories,
}
