"""The history of values that ``pinpoint ingest`` keeps."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _pinpoint
from ._jobs import default_state_dir
from ._results import table


class TraceFrame(NamedTuple):
    """Values of traces by commit.

    Attributes
    ----------
    names : list of str
        A name for each row: the id of a trace, as in ``",os=linux,test=sort,"``; a name that
        begins with ``!`` is calculated, one with ``@`` is a formula.
    commits : ndarray of int64, shape (m,)
        The number of each column's commit, ascending.
    values : ndarray of float64, shape (n, m)
        The values, NaN where one is missing.
    """

    names: list[str]
    commits: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]

    def _repr_html_(self) -> str:
        rows = [("traces", len(self.names)), ("commits", len(self.commits))]
        present = int(np.isfinite(self.values).sum())
        return table("Values of traces", [*rows, ("values", present)])


class TraceCommit(NamedTuple):
    """A commit with its number.

    Attributes
    ----------
    number : int
        Its place on the first-parent line, from 0.
    hash : str
        Its hash in git.
    time : int
        Seconds of Unix time.
    author, subject : str
        The author, and the first line of the message.
    """

    number: int
    hash: str
    time: int
    author: str
    subject: str


class ValueSource(NamedTuple):
    """The origin of a value.

    Attributes
    ----------
    value : float
        The value.
    file : str
        The file of results that it comes from.
    links : dict of str
        The links of that file and of the value.
    """

    value: float
    file: str
    links: dict[str, str]


class PivotTable(NamedTuple):
    """Traces folded by some of their keys.

    Attributes
    ----------
    groups : list of str
        The keys and values of each row, written as an id.
    traces : list of int
        The number of traces in each.
    commits : ndarray of int64, shape (m,)
        The number of each column's commit.
    values : ndarray of float64, shape (n, m)
        The values, NaN where one is missing.
    left_out : int
        The traces without one of the keys.
    """

    groups: list[str]
    traces: list[int]
    commits: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    left_out: int


class VerticalTable(NamedTuple):
    """Ratios A/B by row and column.

    Attributes
    ----------
    rows, columns : list of str
        Their names; rows sort by their mean.
    ratios : ndarray of float64, shape (rows, columns)
        The ratios, NaN where one is missing.
    means : ndarray of float64, shape (rows,)
        The geometric mean of each row.
    direction : str
        ``"down"`` if below 1 A is better, ``"up"`` if above 1, else ``"unknown"``.
    left_out : int
        The traces without a counterpart or a positive value.
    """

    rows: list[str]
    columns: list[str]
    ratios: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    direction: str
    left_out: int


class TriedTrace(NamedTuple):
    """A value of a change under review beside the last 20 of its trace.

    Attributes
    ----------
    trace : str
        The id.
    value : float
        The value with the change.
    deviation : float
        Its distance from their median, in deviations of its side; at most 1000.
    """

    trace: str
    value: float
    deviation: float


class Traces:
    """The history of values of a dataset, as ``pinpoint ingest`` keeps it.

    Parameters
    ----------
    dataset : str
        The dataset.
    state_dir : path, optional
        The directory of the history; that of the command line unless given.

    Notes
    -----
    Each method opens the store and closes it. A key or value of a query that no trace has
    is a ``UserWarning``, which names the nearest one.

    Every method raises ``ValueError`` for a history or dataset that does not exist, for a
    query or formula that cannot be read, and for more traces than the limit; and ``JobError``
    when the store cannot be read.

    Examples
    --------
    >>> import pinpoint
    >>> traces = pinpoint.Traces()
    >>> frame = traces.query("os=linux&test=~^sort", last=100)  # doctest: +SKIP
    >>> frame.values.shape  # doctest: +SKIP
    (2, 100)
    """

    def __init__(
        self, dataset: str = "default", *, state_dir: str | os.PathLike[str] | None = None
    ) -> None:
        self.dataset = dataset
        self.state_dir = os.fspath(state_dir) if state_dir is not None else default_state_dir()
        self._reader = _pinpoint.TraceReader(self.state_dir, dataset)

    def __repr__(self) -> str:
        return f"Traces({self.dataset!r}, state_dir={self.state_dir!r})"

    def query(
        self,
        query: str = "",
        *,
        formula: str | None = None,
        commits: tuple[int, int] | None = None,
        last: int | None = None,
        limit: int = 10_000,
    ) -> TraceFrame:
        """The values of traces by commit.

        Parameters
        ----------
        query : str
            URL-encoded, as in ``"config=8888&arch=~^x&os=!Win7"``; empty: all traces.
        formula : str, optional
            A formula instead, as in ``'ave(norm(fill(filter("os=linux"))))'``.
        commits : (int, int), optional
            The numbers of the first and of the last commit. By default all.
        last : int, optional
            Instead: so many of the last commits at which any of the traces has a value.
        limit : int
            The most traces that may match.
        """
        if formula is not None and query:
            raise ValueError("give a query or a formula, not both")
        if commits is not None and last is not None:
            raise ValueError("give `commits` or `last`, not both")
        names, numbers, values, unknown = self._reader.values(query, formula, commits, last, limit)
        _warn(unknown)
        return TraceFrame(names, numbers, values)

    def count(self, query: str = "") -> int:
        """The number of traces that match."""
        survey = self._survey(query)
        _warn(survey["unknown"])
        return int(survey["count"])

    def params(self, query: str = "") -> dict[str, dict[str, int]]:
        """The keys and values of the traces that match, with the number of traces of each."""
        survey = self._survey(query)
        _warn(survey["unknown"])
        params: dict[str, dict[str, int]] = survey["params"]
        return params

    def commits(self) -> list[TraceCommit]:
        """The known commits, oldest first."""
        return [TraceCommit(*commit) for commit in json.loads(self._reader.commits())]

    def annotations(self) -> dict[int, dict[str, Any]]:
        """The annotations by number, as ``pinpoint annotate list`` shows them."""
        return dict(json.loads(self._reader.annotations()))

    def source(self, trace: str, commit: int) -> ValueSource | None:
        """The origin of a value; None where the trace has no value at this commit."""
        source = json.loads(self._reader.source(trace, commit))
        return ValueSource(**source) if source else None

    def pivot(
        self,
        by: Sequence[str],
        query: str = "",
        *,
        operation: str = "avg",
        last: int = 250,
        limit: int = 10_000,
    ) -> PivotTable:
        """Traces folded by keys, commit by commit.

        Parameters
        ----------
        by : sequence of str
            The keys of a group.
        query : str
            The traces.
        operation : {"sum", "avg", "geo", "std", "count", "min", "max"}
            The operation that folds a group.
        last, limit : int
            As of :meth:`query`.
        """
        if isinstance(by, str):
            raise TypeError("`by` must be a list of keys, not one text")
        found = json.loads(self._reader.pivot(query, list(by), operation, last, limit))
        _warn(found["unknown"])
        rows = found["rows"]
        commits = np.array(found["commits"], dtype=np.int64)
        values = np.array([row[2] for row in rows], dtype=np.float64)
        return PivotTable(
            [row[0] for row in rows],
            [row[1] for row in rows],
            commits,
            values.reshape(len(rows), len(commits)),
            found["left_out"],
        )

    def verticals(
        self,
        key: str | None = None,
        a: str | None = None,
        b: str | None = None,
        query: str = "",
        *,
        row: str = "test",
        between: tuple[int, int] | None = None,
        tried: tuple[str, str] | None = None,
        at: int | None = None,
        limit: int = 10_000,
    ) -> VerticalTable:
        """Ratios of two values of a key over all traces that are equal otherwise; or of two
        commits, or of a try and the latest values.

        Parameters
        ----------
        key, a, b : str
            The key, and the values that are compared, A over B.
        query : str
            The traces.
        row : str
            The key of the rows.
        between : (int, int), optional
            Instead of a key: the commits A and B of the same traces.
        tried : (str, str), optional
            Instead of a key: issue and patch set of a try, over the latest values.
        at : int, optional
            The values at this commit, or nearest to it; the latest unless given.
        limit : int
            The most traces that may match.
        """
        given = [it for it in (key, a, b) if it is not None]
        if len(given) not in (0, 3) or bool(given) + bool(between) + bool(tried) != 1:
            raise ValueError("give a key and two of its values, or `between`, or `tried`")
        if at is not None and not given:
            raise ValueError("`at` needs a key and two of its values")
        sides = (given[0], given[1], given[2]) if given else None
        text = self._reader.verticals(query, row, sides, between, tried, at, limit)
        found = json.loads(text)
        if not found["rows"]:
            survey = self._survey(query)
            _warn(survey["unknown"])
            # Of no traces at all, the query was the reason.
            if sides and survey["count"]:
                known = survey["params"].get(sides[0], {})
                missing = [it for it in sides[1:] if it not in known]
                _warn([f"no trace has the value `{it}` of the key `{sides[0]}`" for it in missing])
        ratios = np.array(
            [[cell["ratio"] if cell else np.nan for cell in each["cells"]] for each in found["rows"]],
            dtype=np.float64,
        )
        return VerticalTable(
            [each["name"] for each in found["rows"]],
            found["columns"],
            ratios.reshape(len(found["rows"]), len(found["columns"])),
            np.array([each["mean"] for each in found["rows"]], dtype=np.float64),
            found["direction"],
            found["left_out"],
        )

    def tries(self) -> list[tuple[str, str]]:
        """The tries: issue and patch set of each."""
        return [(it["issue"], it["patchset"]) for it in json.loads(self._reader.tries())]

    def tried(self, issue: str, patchset: str, query: str = "") -> list[TriedTrace]:
        """The values of a try beside the history, the worst first. Traces with fewer than
        four values are left out."""
        found = json.loads(self._reader.tried(issue, patchset, query))
        if not found["traces"] and not found["left_out"]:
            _warn(self._survey(query)["unknown"])
        return [TriedTrace(it["trace"], it["value"], it["deviation"]) for it in found["traces"]]

    def _survey(self, query: str) -> dict[str, Any]:
        survey: dict[str, Any] = json.loads(self._reader.survey(query))
        return survey


def _warn(messages: list[str]) -> None:
    """Warns the caller of the method that calls this."""
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=3)
