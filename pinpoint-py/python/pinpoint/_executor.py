"""Executors: they list, build and run commits in place of git and this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import SupportsFloat, Union

Number = SupportsFloat
Values = Union[Number, Sequence[Number], Mapping[str, Union[Number, Sequence[Number]]], None]


class Executor:
    """Your own builds and runs for :func:`bisect` and its like: subclass it.

    Every method may be a coroutine. The good end is run once before the search, without
    being counted. Exceptions end the job, but
    :class:`BuildFailed`, :class:`RunFailed` and :class:`Unavailable` are answers.

    Attributes
    ----------
    concurrency : int
        The most builds, runs and pairs of runs under way at once: 1 by default. Runs
        on one machine disturb each other.

    Examples
    --------
    >>> class Numbers(Executor):
    ...     def list(self, lower, higher):
    ...         return [str(number) for number in range(int(lower) + 1, int(higher))]
    ...
    ...     def run(self, commit):
    ...         return 12.0 if int(commit) >= 5 else 10.0
    """

    concurrency: int = 1

    def list(self, lower: str, higher: str, /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """The names of the commits strictly between two, oldest first, each once.

        Always the same for the same two. Empty between neighbors.
        """
        raise NotImplementedError("an Executor lists commits")

    def build(self, commit: str, /) -> object | Awaitable[object]:
        """Make a commit ready to run; may be called again when a job is resumed."""
        return None

    def run(self, commit: str, /) -> Values | Awaitable[Values]:
        """Run the benchmark once: its value, values, values by chart; None: it failed."""
        raise NotImplementedError("an Executor runs commits")
