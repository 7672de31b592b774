"""The keywords of :func:`bisect`, :func:`culprit` and :func:`pairwise`: types and defaults."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, Union, cast

from ._executor import Executor, Values
from ._model import CombinedCommit, Progress

F = TypeVar("F", bound=Callable[..., Any])


class Checkout(NamedTuple):
    """A commit in its own work tree, for ``build`` and ``run`` functions.

    Attributes
    ----------
    path : Path
        The work tree. Files built there stay for the runs.
    commit : CombinedCommit
        The commit.
    """

    path: Path
    commit: CombinedCommit


BuildFunction = Callable[[Checkout], Union[object, Awaitable[object]]]
RunFunction = Callable[[Checkout], Union[Values, Awaitable[Values]]]
Command = Union[str, Sequence[str]]


class JobOptions(TypedDict, total=False):
    """The keywords of :func:`bisect`, :func:`culprit` and :func:`pairwise` alike."""

    run: Command | RunFunction | None
    build: str | BuildFunction | None
    executor: Executor | None
    resume: str | None
    chart: str | None
    format: str
    measure: Literal["wall", "user", "instructions", "memory", "auto"] | None
    results: str | os.PathLike[str] | None
    aggregate: str | None
    direction: Literal["up", "down", "unknown"] | None
    max_time: float | None
    seed: int
    warmup: int
    env: Mapping[str, str] | None
    cpu: str | None
    settle: float | None
    trace_reads: bool
    allow_outside_reads: bool
    timeout: float | None
    build_jobs: int
    repositories: Mapping[str, str | os.PathLike[str]] | None
    cache_size: int
    state_dir: str | os.PathLike[str] | None
    progress: Callable[[Progress], object] | None
    bar: bool


class BisectOptions(JobOptions, total=False):
    """The keywords of :func:`bisect`."""

    magnitude: float | str | None
    strategy: Literal["adaptive", "pinpoint"]
    confidence: float
    max_runs: int | None
    max_builds: int | None
    build_cost: float
    priors: Literal["changes"] | Sequence[float] | None
    skip: Sequence[str]
    paths: Sequence[str]


class CulpritOptions(BisectOptions, total=False):
    """The keywords of :func:`culprit`."""

    pairs: int


class PairwiseOptions(JobOptions, total=False):
    """The keywords of :func:`pairwise`."""

    pairs: int
    early_stopping: bool


# The defaults of all keywords, in the order in which signatures show them.
DEFAULTS: dict[str, Any] = {
    **PairwiseOptions(
        run=None, build=None, executor=None, resume=None, pairs=30, early_stopping=False
    ),
    **CulpritOptions(
        chart=None, format="auto", measure=None, results=None, aggregate=None, direction=None,
        magnitude=None, strategy="adaptive", confidence=0.95, max_runs=None, max_builds=None,
        max_time=None, build_cost=1.0, priors="changes", seed=0, skip=(), paths=(), warmup=1,
        env=None, cpu=None, settle=None, trace_reads=False, allow_outside_reads=False,
        timeout=None, build_jobs=1, repositories=None, cache_size=10 << 30, state_dir=None,
        progress=None, bar=False,
    ),
}


def with_keywords(options: Any) -> Callable[[F], F]:
    """Shows these keywords, with their defaults, in place of the ``**options`` of a function."""
    hints = options.__annotations__
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=hints[name].__forward_arg__,
        )
        for name, default in DEFAULTS.items()
        if name in hints
    ]

    def show(function: F) -> F:
        signature, shown = inspect.signature(function), cast(Any, function)
        ends = list(signature.parameters.values())[:-1]
        shown.__signature__ = signature.replace(parameters=[*ends, *keywords])
        del shown.__annotations__["options"]
        # They know this module, whose names they have.
        shown.__annotations__.update(hints)
        return function

    return show


def refuse_unknown(function: Callable[..., Any], options: Mapping[str, object]) -> None:
    """Refuses a keyword that the signature does not show, as Python does, and names one like it."""
    known = inspect.signature(function).parameters
    for name in options:
        if name not in known:
            # A keyword of another function is not a typo.
            near = [] if name in DEFAULTS else difflib.get_close_matches(name, known, 1, cutoff=0.7)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
