"""Comparisons and culprit finders that run on their own, like `bisect`."""

import asyncio
from typing import Any

import pytest

import pinpoint
from world import COMMAND, Numbers, OwnError, found, measured, raises


@pytest.fixture
def culprit(repo: Any, tmp_path: Any) -> Any:
    """A culprit finder over the whole range, with its own state directory."""

    def culprit(**options: Any) -> Any:
        ends = {} if "resume" in options else {"repo": repo, "good": "HEAD~9", "bad": "HEAD"}
        return pinpoint.culprit(**{**ends, "state_dir": tmp_path / "state", **options})

    return culprit


@pytest.fixture
def pairwise(repo: Any, tmp_path: Any) -> Any:
    """A comparison of the commits 5 and 6."""

    def pairwise(**options: Any) -> Any:
        ends = {} if "resume" in options else {"repo": repo, "base": "HEAD~4", "experiment": "HEAD~3"}
        return pinpoint.pairwise(**{**ends, "state_dir": tmp_path / "state", **options})

    return pairwise


@pytest.mark.parametrize("run", [COMMAND, measured])
def test_two_commits_are_compared_in_pairs(pairwise: Any, run: Any) -> None:
    outcome = pairwise(run=run, pairs=6)
    assert (outcome.status, outcome.reason) == ("different", None)
    assert (outcome.pairs, outcome.runs, outcome.builds) == (6, 12, 2)
    assert (outcome.base.main.subject, outcome.experiment.main.subject) == ("Change 5", "Change 6")
    (chart,) = outcome.charts
    is_command = isinstance(run, str)
    assert (chart.chart, chart.unit) == (("time", "s") if is_command else ("value", None))
    assert chart.moved and chart.comparison.estimate == pytest.approx(20.0, abs=1.0)
    assert "Change 6" in outcome._repr_html_()


def test_the_runs_of_a_pair_follow_each_other(pairwise: Any) -> None:
    ran: list[Any] = []

    def run(checkout: Any) -> Any:
        ran.append(checkout.commit.main.subject)
        return measured(checkout)

    assert pairwise(run=run, pairs=8).status == "different"
    # The base is run once before, without being counted.
    assert ran.pop(0) == "Change 5"
    pairs = list(zip(ran[::2], ran[1::2], strict=True))
    assert sorted(pairs) == 4 * [("Change 5", "Change 6")] + 4 * [("Change 6", "Change 5")]


def test_a_commit_does_not_differ_from_itself(pairwise: Any) -> None:
    outcome = pairwise(run=measured, pairs=6, experiment="HEAD~4")
    assert outcome.status == "same" and outcome.base == outcome.experiment


def test_builds_that_are_the_same_are_not_run(pairwise: Any) -> None:
    # The commits 1 and 5 differ in a file that is not read.
    outcome = pairwise(run=COMMAND, pairs=6, base="HEAD~8", trace_reads=True, experiment="HEAD~4")
    assert (outcome.status, outcome.pairs, outcome.stopped_early) == ("same", 0, False)
    assert pairwise(run=COMMAND, pairs=6, trace_reads=True).status == "different"


def test_a_measure_is_chosen_for_pairs(pairwise: Any) -> None:
    outcome = pairwise(run="true", pairs=6, measure="auto")
    (chart,) = outcome.charts
    assert chart.chart in ("wall", "user", "instructions", "peak_memory")


def test_every_chart_is_compared(pairwise: Any) -> None:
    def run(checkout: Any) -> Any:
        charts = {"time": measured(checkout), "size": 5.0}
        if checkout.commit.main.subject == "Change 5":
            charts["old"] = 1.0
        return charts

    # As many as two charts need, whose p-values are adjusted.
    outcome = pairwise(run=run, pairs=8)
    assert [(it.chart, it.moved) for it in outcome.charts] == [("size", False), ("time", True)]
    assert (outcome.only_base, outcome.only_experiment) == (("old",), ())
    assert [it.chart for it in pairwise(run=run, pairs=6, chart="size").charts] == ["size"]


def test_every_chart_has_its_unit_and_direction(pairwise: Any, tmp_path: Any) -> None:
    outcome = pairwise(run=f'{COMMAND}; echo "throughput: $(cat number) ops/s"', pairs=8, format="lines")
    assert [(it.chart, it.unit, it.direction) for it in outcome.charts] == [
        ("throughput", "ops/s", "unknown"),
        ("time", "s", "down"),
    ]
    assert (outcome.metric.format, outcome.metric.source) == ("lines", "standard_output")
    assert pinpoint.PairwiseJobOutcome.from_json(stored(outcome, tmp_path)) == outcome
    outcome = pairwise(run=lambda checkout: {"time": measured(checkout), "size": 5.0}, pairs=8, direction="up")
    assert [(it.unit, it.direction) for it in outcome.charts] == [(None, "up")] * 2
    assert outcome.metric.source == "function"


def test_runs_that_fail_more_often_are_a_difference(pairwise: Any) -> None:
    def run(checkout: Any) -> Any:
        if checkout.commit.main.subject == "Change 6":
            raise pinpoint.RunFailed("no answer")
        return 10.0

    told: list[Any] = []
    outcome = pairwise(run=run, pairs=10, progress=told.append)
    assert outcome.status == "different" and outcome.functional.verdict == "different"
    assert [it.event for it in told].count("run_failed") == 10
    with pytest.raises(pinpoint.ExecutionError, match="no value at the good end .*no answer"):
        pairwise(run=run, pairs=6, base="HEAD~3", experiment="HEAD~4")


def test_a_comparison_may_end_early(pairwise: Any) -> None:
    outcome = pairwise(run=measured, pairs=30, early_stopping=True)
    assert outcome.status == "different" and outcome.stopped_early and outcome.pairs < 30


@pytest.mark.parametrize("run", [COMMAND, measured])
def test_a_culprit_is_verified(culprit: Any, run: Any, tmp_path: Any) -> None:
    outcome = culprit(run=run, pairs=6)
    assert found(outcome) == ["Change 6"] and outcome.unconfirmed == ()
    (confirmed,) = outcome.culprits
    assert outcome.verification.status == confirmed.confirmation.status == "different"
    unit, direction = ("s", "down") if isinstance(run, str) else (None, "unknown")
    for comparison in (outcome.verification, confirmed.confirmation):
        assert [(it.unit, it.direction) for it in comparison.charts] == [(unit, direction)]
    assert confirmed.probability >= 0.95
    assert sum(len(it.values) + it.failures for it in outcome.measurements) == outcome.runs
    assert pinpoint.JobOutcome.from_json(stored(outcome, tmp_path)) == outcome
    with pytest.raises(ValueError, match="not a comparison"):
        pinpoint._pinpoint.pairwise_outcome("{}")


def stored(outcome: Any, tmp_path: Any) -> str:
    """The outcome as the store keeps it."""
    import json

    text = pinpoint._pinpoint.stored_outcome(tmp_path / "state", outcome.job_id)
    return json.dumps(json.loads(text)["outcome"])


def test_ends_that_do_not_differ_are_not_searched(culprit: Any) -> None:
    outcome = culprit(run=measured, pairs=6, bad="HEAD~4")
    assert (outcome.status, outcome.builds) == ("no_regression", 2)
    assert outcome.verification.status == "same" and outcome.culprits == ()


@pytest.mark.parametrize("name", ["pairwise", "culprit"])
def test_both_go_on_where_they_stopped(name: Any, request: Any, tmp_path: Any) -> None:
    function = request.getfixturevalue(name)
    runs: list[Any] = []

    def run(checkout: Any) -> Any:
        # In the middle of the fourth pair, after a run that is not counted.
        if len(runs) == 8:
            raise OwnError
        runs.append(checkout)
        return measured(checkout)

    with pytest.raises(OwnError) as caught:
        function(run=run, pairs=6)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert (job.state, job.kind) == ("failed", "culprit_finder" if name == "culprit" else name)
    if hasattr(caught.value, "__notes__"):
        assert f"pinpoint.{name}(resume={job.id!r}" in caught.value.__notes__[0]
    others = {"bisect", "pairwise", "culprit"} - {name}
    for other in others:
        with pytest.raises(ValueError, match=f"pinpoint.{name}\\(resume="):
            getattr(pinpoint, other)(resume=job.id, run=measured, state_dir=tmp_path / "state")
    told: list[Any] = []
    again: list[Any] = []

    def run_again(checkout: Any) -> Any:
        again.append(checkout)
        return measured(checkout)

    outcome = function(resume=job.id, run=run_again, progress=told.append)
    assert outcome.status == ("different" if name == "pairwise" else "culprit_found")
    # The pair that was cut off is run again as a whole.
    assert len(again) == outcome.runs - 6
    assert (told[0].event, told[0].runs) == ("resumed", 6)
    assert (told[-1].event, told[-1].runs, told[-1].runs_to_come) == ("finished", outcome.runs, 0)
    assert function(resume=job.id, run=raises) == outcome
    assert pinpoint.job_outcome(job.id, state_dir=tmp_path / "state") == outcome


def test_cancelling_the_task_leaves_a_comparison_to_resume(repo: Any, tmp_path: Any) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def run(checkout: Any) -> None:
            begun.set()
            await asyncio.Event().wait()

        work = pinpoint.pairwise_async(repo, "HEAD~9", "HEAD", run=run, state_dir=tmp_path / "state")
        task = asyncio.ensure_future(work)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (job,) = pinpoint.jobs("pending", state_dir=tmp_path / "state")
    assert pinpoint.pairwise(resume=job.id, run=measured, state_dir=tmp_path / "state").status == "different"


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_executor_of_ones_own(tmp_path: Any, concurrency: Any) -> None:
    class Recording(Numbers):
        def __init__(self) -> None:
            super().__init__()
            self.concurrency = concurrency
            self.ran: list[Any] = []

        def run(self, commit: Any) -> Any:
            self.ran.append(commit)
            return super().run(commit)

    world = Recording()
    options: dict[str, Any] = {"state_dir": tmp_path / "state"}
    outcome = pinpoint.pairwise(executor=world, base="699", experiment="700", pairs=8, **options)
    assert outcome.status == "different" and outcome.base.main.git_hash == "699"
    if concurrency == 1:
        assert world.ran.pop(0) == "699"
        pairs = list(zip(world.ran[::2], world.ran[1::2], strict=True))
        assert set(pairs) == {("699", "700"), ("700", "699")}
    found = pinpoint.culprit(executor=world, good="600", bad="800", pairs=6, **options)
    assert [it.commit.main.git_hash for it in found.culprits] == ["700"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"run": None}, TypeError, "`run` is needed"),
        ({"run": "true", "experiment": None}, TypeError, "`base` and `experiment` are needed"),
        ({"run": "true", "base": 1}, TypeError, "`base` must be a str, not int"),
        ({"run": "true", "base": "nowhere"}, pinpoint.RepositoryError, "nowhere"),
        ({"run": "true", "pairs": 7}, ValueError, r"it is 7 \(pairs=\)$"),
        ({"run": "true", "pairs": 2**32}, ValueError, "`pairs` is 4294967296"),
        ({"run": measured, "format": "lines"}, ValueError, "leave out `format`"),
        ({"run": "true", "skip": ["HEAD"]}, TypeError, "skip"),
        ({"run": "false"}, pinpoint.ExecutionError, "fail"),
    ],
)
def test_what_cannot_be_compared_is_refused(pairwise: Any, options: Any, error: Any, message: Any) -> None:
    with pytest.raises(error, match=message):
        pairwise(**options)


def test_what_cannot_be_searched_is_refused(culprit: Any) -> None:
    with pytest.raises(ValueError, match="pairs"):
        culprit(run="true", pairs=4)
    with pytest.raises(ValueError, match=r"\(max_runs=\)$"):
        culprit(run="true", max_runs=10)
    with pytest.raises(pinpoint.RepositoryError, match="same"):
        culprit(run="true", good="HEAD")
