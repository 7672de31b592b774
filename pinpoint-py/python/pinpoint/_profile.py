"""Reads profiles, and finds the differences between those of two builds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _pinpoint
from ._pinpoint import Profile
from ._results import table

Columns = dict[str, list[Any] | np.ndarray[Any, Any]]
Source = str | os.PathLike[str] | Profile
FunctionVerdict = Literal[
    "slower",
    "faster",
    "called_more_often",
    "called_less_often",
    "new",
    "gone",
    "moved",
    "uncertain",
]


class CostChange(NamedTuple):
    """A cost before and after, in the unit of the profiles; for calls, their number.

    Attributes
    ----------
    base, experiment : float
        The means over the runs of each side.
    difference : float
        The difference of the means: those of all functions add up to the whole.
    estimate : float or None
        The pseudomedian of the differences in pairs, or the shift of Hodges and Lehmann;
        None with too few runs.
    ci_low, ci_high : float or None
        Its 95 % interval.
    """

    base: float
    experiment: float
    difference: float
    estimate: float | None
    ci_low: float | None
    ci_high: float | None

    @classmethod
    def _of(cls, change: dict[str, Any]) -> CostChange:
        interval = change["interval"] or {"low": None, "high": None}
        plain = {name: change[name] for name in ("base", "experiment", "difference", "estimate")}
        return cls(**plain, ci_low=interval["low"], ci_high=interval["high"])

    def _repr_html_(self) -> str:
        return table("Change", self._asdict().items())


class FunctionChange(NamedTuple):
    """The change of a function; see :func:`explain`.

    Attributes
    ----------
    name : str
        Demangled, without hashes and suffixes of the compiler.
    module, file, package : str or None
        The base name of its program or library, its source, and the package that its
        path shows, if known.
    line : int or None
        Its first line, counted from 1.
    owner : str or None
        The owner of its code: the registrable domain of a site, the id of an extension, a package
        without its version, ``"kernel"`` or ``"runtime"``. None for the program's own.
    verdict : str
        ``"slower"``, ``"faster"``, ``"called_more_often"``, ``"called_less_often"``,
        ``"new"``, ``"gone"``; ``"moved"``: others have gained its loss, or the
        reverse; ``"uncertain"``: the difference may be chance.
    moved_with : int or None
        The place of the other function, or of the one with which all others exchange.
    own, total : CostChange
        The cost of the function itself, and including its callees.
    calls : CostChange or None
        The number of calls, where that is counted.
    share : float or None
        Its own difference as a part of the whole one.
    p_value, adjusted_p_value : float or None
        Of its own difference; adjusted for all functions that are in enough runs
        to be tested (Benjamini and Hochberg). None with too few runs, and where costs are counted.
    called_by : str or None
        The function that most often calls it.
    """

    name: str
    module: str | None
    file: str | None
    line: int | None
    package: str | None
    owner: str | None
    verdict: FunctionVerdict
    moved_with: int | None
    own: CostChange
    total: CostChange
    calls: CostChange | None
    share: float | None
    p_value: float | None
    adjusted_p_value: float | None
    called_by: str | None

    @property
    def is_certain(self) -> bool:
        """True if its difference is not chance, and has not only moved."""
        return self.verdict not in ("uncertain", "moved")

    @classmethod
    def _of(cls, change: dict[str, Any]) -> FunctionChange:
        function, verdict, calls = change["function"], change["verdict"], change["calls"]
        owner = function["owner"]
        return cls(
            **{**function, "owner": owner and owner.get("name", owner["kind"])},
            verdict=verdict["kind"],
            moved_with=verdict.get("with"),
            own=CostChange._of(change["own"]),
            total=CostChange._of(change["total"]),
            calls=calls and CostChange._of(calls),
            share=change["share"],
            p_value=change["p"],
            adjusted_p_value=change["adjusted_p"],
            called_by=change["called_by"],
        )

    def _repr_html_(self) -> str:
        return table(self.name, self._asdict().items())


class PartChange(NamedTuple):
    """The change of a thread or a category; see :class:`Explanation`.

    Attributes
    ----------
    name : str
        Of the thread, without the numbers in which those of a pool differ; or of the
        category.
    own : CostChange
        The own cost of the functions there.
    adjusted_p_value : float or None
        Adjusted for all threads or categories that are in enough runs to be tested. None with
        too few runs, and where costs are counted.
    is_certain : bool
        The difference is not chance.
    """

    name: str
    own: CostChange
    adjusted_p_value: float | None
    is_certain: bool

    @classmethod
    def _of(cls, change: dict[str, Any]) -> PartChange:
        own = CostChange._of(change["own"])
        return cls(change["name"], own, change["adjusted_p"], change["is_certain"])

    def _repr_html_(self) -> str:
        return table(self.name, self._asdict().items())


class Detectable(NamedTuple):
    """The smallest detectable difference.

    Attributes
    ----------
    smallest : float or None
        The smallest difference, in the unit of the profiles, that would have been seen in
        any function, four times out of five; None with too few runs to see any.
    runs_needed : int
        The runs of each side, or pairs, that would see half of it, or any at all.
    functions : int
        The functions tested.
    """

    smallest: float | None
    runs_needed: int
    functions: int


class Explanation(NamedTuple):
    """The differences between two builds; see :func:`explain`.

    Attributes
    ----------
    unit : str
        The unit of all costs: ``"nanoseconds"``, ``"instructions"``, ``"samples"``, …
    design : str
        ``"pairs"`` or ``"groups"``.
    base_runs, experiment_runs : int
        The profiles of each side.
    exact : bool
        Costs are counted and not sampled: any difference is one of the builds.
    tested : bool
        There are enough runs for p-values.
    whole : CostChange
        The whole cost, without idle time.
    functions : tuple of FunctionChange
        All functions with at least 0.1 % of a side: certain ones first, then by the size
        of the difference, without the cost that a new function took over from its
        callers and callees, or that a removed one left to them.
    rest : float
        The difference of all others together.
    threads : tuple of PartChange
        All threads, whose differences add up to the whole; empty where the profiles do not
        name them.
    categories : tuple of PartChange
        The categories: ``"script"``, ``"native"``, ``"rendering"``, ``"loading"``,
        ``"gc"``, ``"kernel"``, ``"third party"``, ``"idle"``. All except the last add up to
        the whole.
    path : tuple of (str, float)
        From the outermost function into the one with most of the whole difference, as
        long as one has 60 % of it, and that difference. Empty if no function is certain.
    renamed : tuple of (str, str, float)
        Functions of the base that may be others of the experiment, and the similarity of
        their callers and callees, from 0 to 1.
    detectable : Detectable or None
        The smallest detectable difference; None where costs are counted.
    """

    unit: str
    design: Literal["pairs", "groups"]
    base_runs: int
    experiment_runs: int
    exact: bool
    tested: bool
    whole: CostChange
    functions: tuple[FunctionChange, ...]
    rest: float
    threads: tuple[PartChange, ...]
    categories: tuple[PartChange, ...]
    path: tuple[tuple[str, float], ...]
    renamed: tuple[tuple[str, str, float], ...]
    detectable: Detectable | None

    @property
    def certain(self) -> tuple[FunctionChange, ...]:
        """The functions whose difference is not chance."""
        return tuple(function for function in self.functions if function.is_certain)

    @property
    def columns(self) -> Columns:
        """``functions`` as columns of shape (functions,), for a data frame.

        ``name``, ``module``, ``file``, ``line``, ``package``, ``owner``, ``verdict`` and
        ``called_by`` as lists; as arrays of float64, NaN for missing values, ``share``,
        ``p_value``, ``adjusted_p_value``, the fields of ``own`` by their names, and those of
        ``total`` and ``calls`` with ``total_`` and ``calls_`` before them.
        """
        functions = self.functions
        texts = ("name", "module", "file", "line", "package", "owner", "verdict", "called_by")
        columns: Columns = {
            field: [getattr(function, field) for function in functions] for field in texts
        }
        for field in ("share", "p_value", "adjusted_p_value"):
            values = [getattr(function, field) for function in functions]
            columns[field] = np.array(values, dtype=np.float64)
        for prefix, part in (("", "own"), ("total_", "total"), ("calls_", "calls")):
            columns |= _cost_columns(prefix, [getattr(function, part) for function in functions])
        return columns

    @property
    def thread_columns(self) -> Columns:
        """``threads`` as columns of shape (threads,), for a data frame.

        ``name`` as a list, ``is_certain`` as an array of bool; as arrays of float64, NaN for
        missing values, ``adjusted_p_value`` and the fields of ``own`` by their names.
        """
        return _part_columns(self.threads)

    @property
    def category_columns(self) -> Columns:
        """``categories`` as columns, in the same way."""
        return _part_columns(self.categories)

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Explanation:
        detectable = document["detectable"]
        plain = ("unit", "design", "base_runs", "experiment_runs", "exact", "tested")
        return cls(
            **{field: document[field] for field in plain},
            whole=CostChange._of(document["whole"]),
            functions=tuple(map(FunctionChange._of, document["functions"])),
            rest=document["rest"]["difference"],
            threads=tuple(map(PartChange._of, document["threads"])),
            categories=tuple(map(PartChange._of, document["categories"])),
            path=tuple((step["name"], step["difference"]) for step in document["path"]),
            renamed=tuple(
                (guess["base"], guess["experiment"], guess["alike"])
                for guess in document["renamed"]
            ),
            detectable=detectable and Detectable(**detectable),
        )

    def _repr_html_(self) -> str:
        rows = [("whole", f"{self.whole.difference:+.6g} {self.unit}")]
        for function in self.certain:
            rows.append((function.name, f"{function.own.difference:+.6g}, {function.verdict}"))
        return table(f"{len(self.certain)} functions certain", rows)


def _cost_columns(prefix: str, costs: Sequence[CostChange | None]) -> Columns:
    return {
        prefix + field: np.array([getattr(cost, field, None) for cost in costs], dtype=np.float64)
        for field in CostChange._fields
    }


def _part_columns(parts: Sequence[PartChange]) -> Columns:
    return {
        "name": [part.name for part in parts],
        "is_certain": np.array([part.is_certain for part in parts], dtype=np.bool_),
        "adjusted_p_value": np.array([part.adjusted_p_value for part in parts], dtype=np.float64),
        **_cost_columns("", [part.own for part in parts]),
    }


def read_profile(path: str | os.PathLike[str], window: str | None = None) -> Profile:
    """Read a profile in any format that ``pinpoint explain`` takes, plain or gzip.

    A Chrome trace, a ``.cpuprofile``, the text of ``perf script``, folded stacks, pprof,
    callgrind, the JSON of Firefox, samply, speedscope or stackprof, V8's preprocessed log,
    or the text of Austin, simpleperf or macOS's sample, recognized by its content.

    Parameters
    ----------
    path : path
        The file.
    window : str, optional
        The part of the time that counts; see :meth:`Profile.window`.

    Returns
    -------
    Profile
        Functions, stacks and samples as columns, times in nanoseconds.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a profile, or one that is cut short, without samples or symbols, of two
        units, or without such a window; with the place in it, and a remedy.
    """
    with open(path, "rb") as file:
        content = file.read()
    try:
        profile = _pinpoint.parse_profile(content)
        return profile if window is None else profile.window(window)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def explain(
    base: Source | Iterable[Source],
    experiment: Source | Iterable[Source],
    *,
    paired: bool = False,
    same: Mapping[str, str] | None = None,
    window: str | None = None,
) -> Explanation:
    """Find the functions whose cost changed between two builds, like ``pinpoint explain``.

    Functions are matched by module, name and file, without addresses, hashes and versions.
    One is certain when its p-value, adjusted for all functions, is at most 0.05, which
    needs several runs of each side; one run is enough for callgrind, which counts.

    Parameters
    ----------
    base, experiment : path, Profile, or iterable of them
        The profiles of the build before the change and after it, one of each run.
    paired : bool
        True if the first profile of the base was recorded together with the first of the
        experiment, and so on.
    same : mapping, optional
        Functions of the base that have another name in the experiment.
    window : str, optional
        The part of the time of each that counts; see :meth:`Profile.window`.

    Returns
    -------
    Explanation
        ``functions``, the certain ones first, ``whole`` and ``path``; ``columns`` for a data
        frame.

    Raises
    ------
    OSError
        A file cannot be read.
    ValueError
        A profile that cannot be read, a side without profiles, sides of different length in
        pairs, profiles in different units, a name in ``same`` that does not exist.

    Examples
    --------
    >>> import pinpoint
    >>> runs = lambda *names: [f"{name}.folded" for name in names]
    >>> pinpoint.explain(runs("a1", "a2"), runs("b1", "b2"), paired=True)  # doctest: +SKIP
    """
    document = _pinpoint.explain_profiles(
        _profiles(base, window), _profiles(experiment, window), paired, list((same or {}).items())
    )
    return Explanation._of(json.loads(document))


def _profiles(side: Source | Iterable[Source], window: str | None) -> list[Profile]:
    if isinstance(side, (str, os.PathLike, Profile)):
        side = [side]
    return [_profile(source, window) for source in side]


def _profile(source: Source, window: str | None) -> Profile:
    if not isinstance(source, Profile):
        return read_profile(source, window)
    return source if window is None else source.window(window)
