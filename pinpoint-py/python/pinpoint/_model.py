"""Commits, jobs and their outcomes. JSON in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from . import _pinpoint
from ._results import (
    ChartComparison,
    Effect,
    FunctionalComparison,
    LargestChange,
    PairwiseOutcome,
    PairwiseStatus,
    Posterior,
    Span,
    Status,
    table,
)


class Commit(NamedTuple):
    """A commit of a repository.

    Attributes
    ----------
    repository : str
        URL, or path of a local one.
    git_hash : str
        The full hash.
    merged : tuple of str
        Hashes that are merged into it: states that no branch holds.
    author, created, subject : str or None
        For people; they do not distinguish commits in a search.
    """

    repository: str
    git_hash: str
    merged: tuple[str, ...] = ()
    author: str | None = None
    created: str | None = None
    subject: str | None = None

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Commit:
        merged = tuple(document.get("merged", ()))
        names = ("author", "created", "subject")
        described = [document.get(name) for name in names]
        return cls(document["repository"], document["git_hash"], merged, *described)

    def _document(self) -> dict[str, Any]:
        return {**self._asdict(), "merged": list(self.merged)}

    def __str__(self) -> str:
        name = "+".join(revision[:12] for revision in (self.git_hash, *self.merged))
        return f"{name} {self.subject}" if self.subject else name

    def _repr_html_(self) -> str:
        return table(str(self), self._asdict().items())


class ModifiedDependency(NamedTuple):
    """A dependency held at another revision than the one its manifest names.

    Attributes
    ----------
    commit : Commit
        The revision to build with.
    named_by : str
        The repository whose manifest names it.
    """

    commit: Commit
    named_by: str


class Patch(NamedTuple):
    """A change that no commit holds.

    Attributes
    ----------
    kind : str
        ``"file"`` with ``name`` and ``sha256``; ``"gerrit"`` with ``host``,
        ``project``, ``change``, ``patchset`` and ``hash``.
    fields : tuple of (str, object)
        These, by name.
    """

    kind: Literal["file", "gerrit"]
    fields: tuple[tuple[str, str | int | None], ...]


class CombinedCommit(NamedTuple):
    """Everything that determines a build.

    Attributes
    ----------
    main : Commit
        The commit of the main repository.
    modified_deps : tuple of ModifiedDependency
        Dependencies held elsewhere, in the order in which they were entered.
    patch : Patch or None
        A change on top of it all.
    """

    main: Commit
    modified_deps: tuple[ModifiedDependency, ...] = ()
    patch: Patch | None = None

    @classmethod
    def from_json(cls, text: str) -> CombinedCommit:
        """The commit from the JSON of :meth:`to_json` or of the command line.

        Raises
        ------
        ValueError
            Any other text.
        """
        return cls._of(json.loads(_pinpoint.combined_commit(text)[0]))

    @classmethod
    def _of(cls, document: dict[str, Any]) -> CombinedCommit:
        dependencies = tuple(
            ModifiedDependency(Commit._of(held["commit"]), held["named_by"])
            for held in document.get("modified_deps", ())
        )
        patch = None
        for kind, fields in (document.get("patch") or {}).items():
            patch = Patch(kind, tuple(sorted(fields.items())))
        return cls(Commit._of(document["main"]), dependencies, patch)

    def to_json(self) -> str:
        """The commit as JSON, as the command line writes it."""
        document = {
            "main": self.main._document(),
            "modified_deps": [
                {"commit": held.commit._document(), "named_by": held.named_by}
                for held in self.modified_deps
            ],
            "patch": self.patch and {self.patch.kind: dict(self.patch.fields)},
        }
        return _pinpoint.combined_commit(json.dumps(document))[0]

    def key(self) -> int:
        """A 64-bit name: FNV-1a over every field that changes the build."""
        return _pinpoint.combined_commit(self.to_json())[1]

    def __str__(self) -> str:
        held = "".join(f", with {dependency.commit}" for dependency in self.modified_deps)
        return f"{self.main}{held}" + (", patched" if self.patch else "")

    def _repr_html_(self) -> str:
        return table(str(self), self._asdict().items())


class Culprit(NamedTuple):
    """A commit that changed the benchmark.

    Attributes
    ----------
    commit, prior : CombinedCommit
        The commit, and the nearest older state.
    blamed : Commit
        The commit to blame: of the main repository, of a merged branch, or of a
        dependency.
    probability : float or None
        Its probability; None where the strategy states none.
    effect : Effect
        Its effect on the benchmark.
    undone : bool
        The culprit lacks the commit to blame: a dependency was set back, or only the
        good end has it.
    confirmation : PairwiseOutcome or None
        The comparison with ``prior`` in further runs; only :func:`culprit` makes
        them, and not when the search or its budget has ended.
    alternatives : tuple of Commit
        The other commits that may be to blame, oldest first: they conflict with one
        another, so that they could not be measured one by one.
    rolled_by : Commit or None
        Of a commit of a dependency: the commit of the main repository whose roll brought
        it in, or took it back.
    """

    commit: CombinedCommit
    prior: CombinedCommit
    blamed: Commit
    probability: float | None
    effect: Effect
    undone: bool = False
    confirmation: PairwiseOutcome | None = None
    alternatives: tuple[Commit, ...] = ()
    rolled_by: Commit | None = None

    def _repr_html_(self) -> str:
        return table(str(self.blamed), self._asdict().items())


class Measurement(NamedTuple):
    """The measurements of a commit.

    Attributes
    ----------
    commit : CombinedCommit
        The commit.
    values : tuple of float
        The values of its runs, in their order.
    failures : int
        Runs without a value.
    """

    commit: CombinedCommit
    values: tuple[float, ...]
    failures: int


class MeasuredMetric(NamedTuple):
    """The metric that a job measured, and its source.

    Attributes
    ----------
    chart : str or None
        The metric that decided; None when all were compared.
    unit : str or None
        Its unit, where it is known.
    format : str or None
        The format of its values, such as ``"lines"`` or ``"time"``.
    source : str or None
        The source of the values: ``"standard_output"``, ``"standard_error"``,
        ``"results_file"``, ``"measured"`` (by the operating system), ``"function"``
        (returned by ``run``) or ``"task"``.
    file : str or None
        The results file.
    direction : str or None
        The better direction: ``"up"``, ``"down"`` or ``"unknown"``; None when all metrics
        were compared.
    direction_source : str or None
        The source of the direction: ``"told"``, ``"format"``, ``"unit"`` or ``"unknown"``.
    aggregate : str or None
        The aggregate of the values of one run; None when all of them count.
    """

    chart: str | None
    unit: str | None
    format: str | None
    source: str | None
    file: str | None
    direction: str | None
    direction_source: str | None
    aggregate: str | None

    @classmethod
    def _of(cls, document: dict[str, Any] | None) -> MeasuredMetric | None:
        if document is None:
            return None
        source, file = document["source"], None
        if isinstance(source, dict):
            ((source, file),) = source.items()
        return cls(
            document["chart"],
            document["unit"],
            document["format"],
            source,
            file,
            document["direction"],
            document["direction_source"],
            document["aggregate"],
        )

    def _repr_html_(self) -> str:
        return table("Metric", self._asdict().items())


class JobOutcome(NamedTuple):
    """The outcome of :func:`bisect` or :func:`culprit`.

    Attributes
    ----------
    job_id : str
        The job.
    status : str
        ``"culprit_found"``, ``"no_regression"``, ``"inconclusive"``, ``"failed"``
        or ``"canceled"``.
    reason : str or None
        The reason that the search ended before everything was decided, if it did.
    good, bad : CombinedCommit
        The ends.
    chart, unit : str or None
        The metric that decided, and its unit, where a command said so.
    culprits : tuple of Culprit
        Oldest first.
    candidates : tuple of CombinedCommit
        The remaining range, oldest first; empty when found.
    no_change : float or None
        The probability that there is no (further) change.
    runs, builds : int
        The runs and builds that it took.
    skipped : tuple of (CombinedCommit, str)
        Commits that could not be used, with the reasons.
    measurements : tuple of Measurement
        The measurements, in the order of the commits. They come from the journal of
        the job: :meth:`from_json` has none.
    verification : PairwiseOutcome or None
        The comparison of the two ends; only :func:`culprit` makes one.
    unconfirmed : tuple of Culprit
        Of :func:`culprit`, those that were found and then did not differ from their
        parents in further runs, or were not compared.
    largest_change : LargestChange or None
        The largest change that may exist although none was found.
    metric : MeasuredMetric or None
        The metric in full; None in outcomes of earlier versions.
    warnings : tuple of str
        Remarks on the metric and the runs, a sentence each.
    merge_base : CombinedCommit or None
        The common ancestor, where the good end is not part of the bad end's history. The
        search went back to it from the good end, and from there to the bad end.
    posterior : Posterior or None
        The probable places of the next change; commits are numbered from 0, the good
        end. Only for ``"adaptive"``.
    """

    job_id: str
    status: Status
    reason: str | None
    good: CombinedCommit
    bad: CombinedCommit
    chart: str | None
    unit: str | None
    culprits: tuple[Culprit, ...]
    candidates: tuple[CombinedCommit, ...]
    no_change: float | None
    runs: int
    builds: int
    skipped: tuple[tuple[CombinedCommit, str], ...]
    measurements: tuple[Measurement, ...]
    verification: PairwiseOutcome | None = None
    unconfirmed: tuple[Culprit, ...] = ()
    largest_change: LargestChange | None = None
    metric: MeasuredMetric | None = None
    warnings: tuple[str, ...] = ()
    merge_base: CombinedCommit | None = None
    posterior: Posterior | None = None

    @classmethod
    def from_json(cls, text: str) -> JobOutcome:
        """The stored outcome of a job, as ``pinpoint jobs show --output json`` shows it.

        Raises
        ------
        ValueError
            Any other text.
        """
        return _read(cls._of, text)

    @classmethod
    def _of(cls, document: dict[str, Any]) -> JobOutcome:
        state = CombinedCommit._of

        def culprit(found: dict[str, Any]) -> Culprit:
            effect = dict(found["effect"])
            interval = effect["interval"] or {}
            return Culprit(
                state(found["commit"]),
                state(found["prior"]),
                Commit._of(found["blamed"]),
                found["probability"],
                Effect(
                    effect["of"],
                    effect["estimate"],
                    interval.get("low"),
                    interval.get("high"),
                    effect["before"],
                    effect["after"],
                    _reason(effect.get("before_failure")),
                    _reason(effect.get("after_failure")),
                    effect.get("adjusted", False),
                ),
                # Older jobs lack these.
                found.get("undone", False),
                _pairs(found.get("confirmation"), document["unit"]),
                tuple(Commit._of(commit) for commit in found.get("alternatives", ())),
                Commit._of(found["rolled_by"]) if found.get("rolled_by") else None,
            )

        posterior = document.get("posterior") or document
        largest = posterior.get("largest_change")
        return cls(
            document["job_id"],
            document["status"],
            document["reason"],
            state(document["good"]),
            state(document["bad"]),
            document["chart"],
            document["unit"],
            tuple(culprit(found) for found in document["culprits"]),
            tuple(state(commit) for commit in document["candidates"]),
            posterior.get("no_change"),
            document["runs"],
            document["builds"],
            tuple((state(skip["commit"]), skip["reason"]) for skip in document["skipped"]),
            tuple(
                Measurement(state(it["commit"]), tuple(it["values"]), it["failures"])
                for it in document.get("measurements", ())
            ),
            _pairs(document.get("verification"), document["unit"]),
            tuple(culprit(found) for found in document.get("unconfirmed", ())),
            largest and LargestChange(**largest),
            MeasuredMetric._of(document.get("metric")),
            tuple(document.get("warnings", ())),
            state(document["merge_base"]) if document.get("merge_base") else None,
            _posterior(document.get("posterior")),
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("status", self.status), ("reason", self.reason)]
        for found in self.culprits:
            certain = "" if found.probability is None else f" ({found.probability:.1%})"
            rows.append(("culprit", f"{found.blamed}{certain}"))
            rows.append(("effect", found.effect))
        rows += [("candidate", commit) for commit in self.candidates[:20]]
        rows += [("metric", self.metric)] if self.metric else []
        rows += [("warning", warning) for warning in self.warnings]
        rows += [("runs", self.runs), ("builds", self.builds), ("job", self.job_id)]
        shown = [(name, str(it) if isinstance(it, CombinedCommit) else it) for name, it in rows]
        return table("Bisection", shown)


T = TypeVar("T")


def _read(of: Callable[[dict[str, Any]], T], text: str) -> T:
    """The arguments made of a stored outcome."""
    try:
        return of(json.loads(_pinpoint.outcome_document(text)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is not the outcome of a job: {error!r}") from error


def _reason(failure: dict[str, Any] | None) -> str | None:
    return None if failure is None else str(failure["reason"])


def _posterior(document: dict[str, Any] | None) -> Posterior | None:
    """The posterior of a search, whose commits are numbered from the good end."""
    if document is None:
        return None
    spans, last = [], 0
    for span in document["spans"]:
        first, last = last + 1, last + span["commits"]
        spans.append(Span(first, last, span["probability"]))
    largest = document.get("largest_change")
    return Posterior(document["no_change"], tuple(spans), largest and LargestChange(**largest))


def _side(document: dict[str, Any]) -> CombinedCommit:
    """A compared commit, without its arguments."""
    return CombinedCommit._of(document.get("commit", document))


def _pairs(document: dict[str, Any] | None, unit: str | None) -> PairwiseOutcome | None:
    """A comparison of the chart that decided, whose unit is known only to the whole."""
    document = document and document.get("comparison", document)
    if document is None:
        return None
    found = _pinpoint.pairwise_outcome(json.dumps(document))
    return found._replace(charts=tuple(chart._replace(unit=unit) for chart in found.charts))


class PairwiseJobOutcome(NamedTuple):
    """The outcome of :func:`pairwise`.

    Attributes
    ----------
    job_id : str
        The job.
    status : str
        ``"different"``, ``"same"``, ``"unknown"`` (too little to compare),
        ``"failed"`` or ``"canceled"``.
    reason : str or None
        The reason that it ended before its last pair, if it did.
    base, experiment : CombinedCommit
        The compared commits.
    charts : tuple of ChartComparison
        Every chart that both sides have, by name.
    functional : FunctionalComparison or None
        The comparison of failure rates; None without runs.
    only_base, only_experiment : tuple of str
        Charts that only one side has.
    pairs : int
        Pairs that were run; none where the builds are the same, see ``trace_reads``.
    stopped_early : bool
        It ended before the last pair because a difference was certain.
    runs, builds : int
        The runs and builds that it took.
    metric : MeasuredMetric or None
        The metric, or the format of all of them; None in outcomes of earlier versions.
    warnings : tuple of str
        Remarks on the metrics and the runs, a sentence each.
    pairs_needed : int or None
        The fewest pairs in which a change of one of so many charts could have been
        found; None where there were enough.
    base_failure, experiment_failure : str or None
        The most common reason of failing runs on each side.
    """

    job_id: str
    status: PairwiseStatus
    reason: str | None
    base: CombinedCommit
    experiment: CombinedCommit
    charts: tuple[ChartComparison, ...]
    functional: FunctionalComparison | None
    only_base: tuple[str, ...]
    only_experiment: tuple[str, ...]
    pairs: int
    stopped_early: bool
    runs: int
    builds: int
    metric: MeasuredMetric | None = None
    warnings: tuple[str, ...] = ()
    pairs_needed: int | None = None
    base_failure: str | None = None
    experiment_failure: str | None = None

    @classmethod
    def from_json(cls, text: str) -> PairwiseJobOutcome:
        """The stored outcome of a job.

        Raises
        ------
        ValueError
            Any other text.
        """
        return _read(cls._of, text)

    @classmethod
    def _of(cls, document: dict[str, Any]) -> PairwiseJobOutcome:
        # Earlier versions of this module kept the comparison as a part.
        compared = document.get("comparison", document)
        found = _pinpoint.pairwise_outcome(json.dumps(compared))
        units = document.get("units") or {it["chart"]: it.get("unit") for it in compared["charts"]}
        return cls(
            document["job_id"],
            found.status,
            found.reason,
            _side(document["base"]),
            _side(document["experiment"]),
            tuple(chart._replace(unit=units.get(chart.chart)) for chart in found.charts),
            found.functional,
            tuple(document["only_base"]),
            tuple(document["only_experiment"]),
            found.pairs,
            found.stopped_early,
            document["runs"],
            document["builds"],
            MeasuredMetric._of(document.get("metric")),
            tuple(document.get("warnings", ())),
            found.pairs_needed,
            found.base_failure,
            found.experiment_failure,
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("status", self.status), ("reason", self.reason)]
        rows += [("base", str(self.base)), ("experiment", str(self.experiment))]
        rows += [(chart.chart, chart) for chart in self.charts[:20]]
        rows += [("metric", self.metric)] if self.metric else []
        rows += [("warning", warning) for warning in self.warnings]
        rows += [("pairs", self.pairs), ("builds", self.builds), ("job", self.job_id)]
        return table("Pairwise", rows)


class JobRecord(NamedTuple):
    """A stored job.

    Attributes
    ----------
    id : str
        Its id.
    kind : str
        ``"bisection"``, ``"pairwise"`` or ``"culprit_finder"``; with the prefix
        ``"python_"`` when an earlier version of this module began it.
    state : str
        ``"pending"``, ``"running"``, ``"completed"``, ``"failed"`` or ``"canceled"``.
    created, updated : float
        Seconds since 1970.
    repository, title : str
        The searched repository, and a title for people.
    error : str or None
        The reason for its failure.
    runs, builds : int
        So far.
    """

    id: str
    kind: str
    state: Literal["pending", "running", "completed", "failed", "canceled"]
    created: float
    updated: float
    repository: str
    title: str
    error: str | None
    runs: int
    builds: int

    @classmethod
    def _of(cls, document: dict[str, Any]) -> JobRecord:
        times = {name: document[name] / 1000 for name in ("created", "updated")}
        fields = {**document, **times}
        return cls(*(fields[name] for name in cls._fields))

    @classmethod
    def from_json(cls, text: str) -> JobRecord:
        """The job from the JSON of :meth:`to_json`; otherwise ValueError."""
        try:
            document = json.loads(text)
            return cls(*(document[name] for name in cls._fields))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not a job: {error!r}") from error

    def to_json(self) -> str:
        """The job as JSON."""
        return json.dumps(self._asdict())

    def _repr_html_(self) -> str:
        return table(f"Job {self.id[:12]}", self._asdict().items())


class Progress(NamedTuple):
    """The progress of a job, reported after every build and every run.

    Attributes
    ----------
    job_id : str
        The job.
    event : str
        ``"built"``, ``"build_failed"``, ``"ran"`` (a run, or both of a pair),
        ``"run_failed"``, ``"gave_up"`` (infrastructure), ``"waiting"`` (a run waits for a
        quiet machine, see ``settle``); ``"resumed"`` before the first one when a job continues,
        and ``"finished"`` after the last.
    runs, builds : int
        So far.
    runs_to_come : int
        The least number of runs still expected.
    candidates : int
        Commits that may still be a culprit; 0 when none is looked for, and in a
        comparison of two.
    no_change : float or None
        The probability that there is no change, where the strategy states it.
    """

    job_id: str
    event: Literal[
        "resumed", "built", "build_failed", "ran", "run_failed", "gave_up", "waiting", "finished"
    ]
    runs: int
    builds: int
    runs_to_come: int
    candidates: int
    no_change: float | None
