"""Bisections that run on their own: real repositories, processes and functions."""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import pinpoint
from world import COMMAND, CULPRIT, Numbers, OwnError, found, git, measured, raises, spread

@pytest.fixture
def bisect(repo: Any, tmp_path: Any) -> Any:
    """A bisection of the whole range, with its own state directory."""

    def bisect(**options: Any) -> Any:
        ends: dict[str, Any] = {} if "resume" in options else {"good": "HEAD~9", "bad": "HEAD", "repo": repo}
        if "resume" not in options:
            ends["magnitude"] = 1.0
        return pinpoint.bisect(**{**ends, "state_dir": tmp_path / "state", **options})

    return bisect


@pytest.mark.parametrize("run", [COMMAND, ["sh", "-c", COMMAND]])
def test_a_command_is_run(bisect: Any, repo: Any, run: Any) -> None:
    outcome = bisect(run=run)
    assert found(outcome) == ["Change 6"]
    assert (outcome.chart, outcome.unit) == ("time", "s")
    (culprit,) = outcome.culprits
    assert culprit.probability >= 0.95 and 1.0 < culprit.effect.estimate < 3.0
    assert culprit.prior.main.subject == "Change 5"
    assert culprit.commit.main.author == "A U Thor <author@example.org>"
    assert sum(len(it.values) + it.failures for it in outcome.measurements) == outcome.runs
    # In the order of the commits.
    order = git(repo, "rev-list", "--reverse", "HEAD").split()
    places = [order.index(it.commit.main.git_hash) for it in outcome.measurements]
    assert places == sorted(places) and outcome.posterior is not None
    assert "Change 6" in outcome._repr_html_()


def test_commits_that_touch_only_documents_are_suspected_less(bisect: Any, repo: Any, tmp_path: Any) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", repo, clone)
    (clone / "docs").mkdir()
    for number in range(20):
        (clone / "docs" / "list.txt").write_text(str(number))
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--message", f"Document {number}")
    search = {"repo": clone, "good": "HEAD~29", "run": COMMAND}
    suspected, alike = bisect(**search), bisect(**search, priors=None)
    assert found(suspected) == found(alike) == ["Change 6"]
    assert suspected.builds < alike.builds


def test_a_measure_decides_instead_of_the_output(bisect: Any) -> None:
    # One block of 300 or 360 MB, more than this process has.
    run = 'dd bs=$((3 * $(cat time)))0000000 count=1 if=/dev/zero of=/dev/null status=none; echo v: 1 s'
    outcome = bisect(run=run, measure="memory", magnitude="10%")
    assert found(outcome) == ["Change 6"]
    assert (outcome.chart, outcome.unit) == ("peak_memory", "bytes")
    metric = outcome.metric
    assert (metric.format, metric.source, metric.direction) == ("time", "measured", "down")


def test_a_measure_is_chosen_by_runs_of_both_ends(bisect: Any) -> None:
    outcome = bisect(run="true", measure="auto", good="HEAD~4", bad="HEAD~3", max_runs=6)
    assert outcome.chart in ("wall", "user", "instructions", "peak_memory")


def test_what_is_read_is_traced(bisect: Any) -> None:
    # Each commit changes the file `number`, which is not read.
    outcome = bisect(run=COMMAND, trace_reads=True)
    assert found(outcome) == ["Change 6"] and outcome.builds == 2


def test_runs_are_pinned(bisect: Any) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    pinned = f"grep -qx 'Cpus_allowed_list:[[:space:]]*{cpu}' /proc/self/status"
    assert found(bisect(run=f"{pinned} && {COMMAND}", cpu=cpu)) == ["Change 6"]


@pytest.mark.parametrize("run", [COMMAND, measured])
def test_a_run_that_waits_for_a_quiet_machine_says_so(bisect: Any, tmp_path: Any, run: Any) -> None:
    told = []

    def progress(step: Any) -> None:
        told.append(step.event)
        if step.event == "waiting":
            raise OwnError

    # One for each processor, so that all are busy regardless of other work.
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in os.sched_getaffinity(0)]
    try:
        with pytest.raises(OwnError):
            bisect(run=run, settle=3600.0, progress=progress)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert told.count("waiting") == 1
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert job.state == "pending"


def test_a_function_is_called_in_a_work_tree(bisect: Any, repo: Any) -> None:
    seen = []

    def run(checkout: Any) -> Any:
        assert checkout.path != repo and (checkout.path / ".git").exists()
        seen.append(checkout.commit.main.subject)
        return measured(checkout)

    outcome = bisect(run=run)
    assert found(outcome) == ["Change 6"]
    # Once at the good end before the search, without being counted.
    assert len(seen) == 1 + outcome.runs and {"Change 0", "Change 9"} <= set(seen)
    assert seen[0] == "Change 0" and (outcome.chart, outcome.unit) == ("value", None)
    assert (outcome.metric.chart, outcome.metric.source) == ("value", "function")


def test_coroutines_run_on_the_callers_loop(bisect: Any, repo: Any, tmp_path: Any) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()

        async def run(checkout: Any) -> Any:
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
            return measured(checkout)

        async def build(checkout: Any) -> None:
            (checkout.path / "built").touch()

        return await pinpoint.bisect_async(
            repo, "HEAD~9", "HEAD", run=run, build=build, state_dir=tmp_path / "state"
        )

    assert found(asyncio.run(main())) == ["Change 6"]


def test_it_works_where_a_loop_is_running_as_in_a_notebook(bisect: Any) -> None:
    async def main() -> Any:
        return bisect(run=measured)

    assert found(asyncio.run(main())) == ["Change 6"]


def test_what_is_built_is_there_for_the_runs(bisect: Any) -> None:
    built = []

    def build(checkout: Any) -> None:
        built.append(checkout.commit)
        (checkout.path / "binary").write_text((checkout.path / "time").read_text())

    outcome = bisect(build=build, run=COMMAND.replace("cat time", "cat binary"))
    assert found(outcome) == ["Change 6"]
    assert len(built) == len(set(built)) == outcome.builds
    outcome = bisect(build="cp time binary", run=lambda it: float((it.path / "binary").read_text()))
    assert found(outcome) == ["Change 6"]


def test_commits_that_do_not_build_are_skipped(bisect: Any) -> None:
    def build(checkout: Any) -> None:
        if (checkout.path / "number").read_text() in ("4", "5"):
            raise pinpoint.BuildFailed("the compiler says no")

    outcome = bisect(build=build, run=measured)
    assert outcome.status == "inconclusive"
    assert [it.main.subject for it in outcome.candidates] == ["Change 4", "Change 5", "Change 6"]
    assert outcome.skipped and {reason for _, reason in outcome.skipped} == {"the compiler says no"}


@pytest.mark.parametrize("failed", [None, float("nan"), [], {"value": []}])
def test_runs_that_fail_are_a_regression(bisect: Any, failed: Any) -> None:
    def run(checkout: Any) -> Any:
        return failed if int((checkout.path / "number").read_text()) >= CULPRIT else 10.0

    outcome = bisect(run=run)
    assert found(outcome) == ["Change 6"]
    assert outcome.culprits[0].effect.of == "failures"


def test_a_failed_run_may_be_raised(bisect: Any) -> None:
    def run(checkout: Any) -> Any:
        if int((checkout.path / "number").read_text()) >= CULPRIT:
            raise pinpoint.RunFailed("no answer")
        return 10.0

    assert found(bisect(run=run)) == ["Change 6"]


def test_trouble_that_passes_is_tried_again(bisect: Any, monkeypatch: Any) -> None:
    troubled: list[Any] = []

    def run(checkout: Any) -> Any:
        if not troubled:
            troubled.append(True)
            raise pinpoint.Unavailable("the bot is away")
        return measured(checkout)

    assert found(bisect(run=run)) == ["Change 6"]


def test_charts_by_name(bisect: Any) -> None:
    def run(checkout: Any) -> Any:
        return {"time": [measured(checkout), measured(checkout)], "size": 5.0}

    assert found(bisect(run=run, chart="time")) == ["Change 6"]
    assert bisect(run=run, chart="size").status == "no_regression"
    with pytest.raises(ValueError, match="which one of size, time decides"):
        bisect(run=run)


def test_the_chart_need_not_be_told_again(bisect: Any, tmp_path: Any) -> None:
    with pytest.raises(OwnError):
        bisect(run=raises, chart="time")
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert job.error == "OwnError: disk on fire"
    outcome = bisect(resume=job.id, run=lambda checkout: {"time": measured(checkout), "size": 5.0})
    assert found(outcome) == ["Change 6"]


@pytest.mark.parametrize("value", ["fast", object(), {"time": "fast"}, [None]])
def test_a_value_that_is_none_is_an_error(bisect: Any, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        bisect(run=lambda checkout: value)


async def raises_later(checkout: Any) -> None:
    await asyncio.sleep(0)
    raise OwnError("disk on fire")


@pytest.mark.parametrize("function", [raises, raises_later])
@pytest.mark.parametrize("name", ["run", "build"])
def test_exceptions_arrive_as_themselves_and_the_job_can_be_resumed(bisect: Any, tmp_path: Any, name: Any, function: Any) -> None:
    with pytest.raises(OwnError, match="disk on fire") as caught:
        bisect(**{"run": measured, name: function})
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == function.__name__
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert job.state == "failed"
    if hasattr(caught.value, "__notes__"):
        assert job.id in caught.value.__notes__[0]
    functions = {"build": lambda checkout: None} if name == "build" else {}
    assert found(bisect(resume=job.id, run=measured, **functions)) == ["Change 6"]


def test_a_job_goes_on_where_it_stopped(bisect: Any, tmp_path: Any) -> None:
    runs: list[Any] = []

    def run(checkout: Any) -> Any:
        if len(runs) == 5:
            raise OwnError
        runs.append(checkout)
        return measured(checkout)

    with pytest.raises(OwnError):
        bisect(run=run)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    # The first one is not counted.
    assert job.runs == 4
    told: list[Any] = []
    again = []

    def run_again(checkout: Any) -> Any:
        again.append(checkout)
        return measured(checkout)

    outcome = bisect(
        resume=job.id,
        run=run_again,
        progress=told.append,
    )
    assert found(outcome) == ["Change 6"]
    assert len(again) == outcome.runs - 4
    assert (told[0].event, told[0].runs, told[0].job_id) == ("resumed", 4, job.id)
    # Finished work is not repeated.
    assert bisect(resume=job.id, run=raises) == outcome
    assert pinpoint.job_outcome(job.id, state_dir=tmp_path / "state") == outcome
    assert pinpoint.JobRecord.from_json(job.to_json()) == job


def test_a_job_is_resumed_with_its_own_functions(bisect: Any, tmp_path: Any) -> None:
    with pytest.raises(OwnError):
        bisect(run=raises)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    for options in ({}, {"run": measured, "build": measured}):
        with pytest.raises(ValueError, match="begun with, and no others"):
            bisect(resume=job.id, **options)
    with pytest.raises(pinpoint.JobError, match="no job"):
        bisect(resume="ffff", run=measured)


def hangs(checkout: Any) -> Any:
    if int((checkout.path / "number").read_text()) >= CULPRIT:
        threading.Event().wait()
    return 10.0


async def hangs_later(checkout: Any) -> Any:
    if int((checkout.path / "number").read_text()) >= CULPRIT:
        await asyncio.Event().wait()
    return 10.0


@pytest.mark.parametrize("run", [hangs, hangs_later, 'test $(cat time) = 10 || sleep 600; echo "time: 1"'])
def test_a_run_that_never_returns_has_failed(bisect: Any, run: Any) -> None:
    # Long enough for the good end on a busy machine, and few commits to wait for.
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome = bisect(run=run, timeout=2.0, good="HEAD~4", bad="HEAD~3")
    assert found(outcome) == ["Change 6"]
    assert outcome.culprits[0].effect.of == "failures"
    # Only a plain function continues, and may disturb later runs.
    messages = {str(it.message) for it in warned if issubclass(it.category, RuntimeWarning)}
    left = {"the run function took longer than 2 s: it can't be ended, and may disturb later runs"}
    assert messages == (left if run is hangs else set())


def test_a_build_that_never_returns_has_failed(bisect: Any) -> None:
    def build(checkout: Any) -> None:
        if (checkout.path / "number").read_text() == "4":
            threading.Event().wait()

    with pytest.warns(RuntimeWarning, match="the build function took longer than 2 s"):
        outcome = bisect(build=build, run=measured, timeout=2.0, good="HEAD~7", bad="HEAD~5")
    assert outcome.status == "failed" and "took longer than 2 s" in outcome.reason
    with pytest.warns(RuntimeWarning), pytest.raises(pinpoint.ExecutionError, match="good end .* does not build: took"):
        bisect(build=build, run=measured, timeout=2.0, good="HEAD~5")


def test_a_timeout_of_the_functions_own_is_its_own(bisect: Any) -> None:
    def run(checkout: Any) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        bisect(run=run, timeout=60.0)


def test_progress_is_told_after_every_step(bisect: Any) -> None:
    told: list[Any] = []
    outcome = bisect(run=measured, progress=told.append)
    assert [it.event for it in told].count("ran") == outcome.runs
    assert [it.event for it in told].count("built") == outcome.builds
    assert (told[-1].runs, told[-1].builds, told[-1].runs_to_come) == (outcome.runs, outcome.builds, 0)
    assert max(it.candidates for it in told) == 9 and told[-1].job_id == outcome.job_id


def test_a_progress_function_that_raises_stops_it(bisect: Any, tmp_path: Any) -> None:
    def progress(told: Any) -> None:
        if told.runs == 2:
            raise OwnError("enough")

    with pytest.raises(OwnError, match="enough"):
        bisect(run=measured, progress=progress)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert job.state == "pending" and job.runs < 10


@pytest.mark.parametrize("module", [None, "tqdm"])
def test_a_bar_is_shown_with_and_without_tqdm(bisect: Any, capsys: Any, monkeypatch: Any, module: Any) -> None:
    if module is None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    else:
        pytest.importorskip(module)
    outcome = bisect(run=measured, bar=True)
    assert f"{outcome.runs}/" in capsys.readouterr().err


def test_cancelling_the_task_leaves_a_job_to_resume(repo: Any, tmp_path: Any) -> None:
    async def main() -> None:
        begun = asyncio.Event()
        ended = []

        async def run(checkout: Any) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append(True)
                raise

        task = asyncio.ensure_future(
            pinpoint.bisect_async(repo, "HEAD~9", "HEAD", run=run, state_dir=tmp_path / "state")
        )
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert ended == [True]

    asyncio.run(main())
    (job,) = pinpoint.jobs("pending", state_dir=tmp_path / "state")
    assert found(pinpoint.bisect(resume=job.id, run=measured, state_dir=tmp_path / "state")) == ["Change 6"]


@pytest.mark.parametrize("run", ["'echo $$ > {pid}; exec sleep 600'", "slow"])
def test_ctrl_c_stops_children_and_leaves_a_job_to_resume(repo: Any, tmp_path: Any, run: Any) -> None:
    pid = tmp_path / "pid"
    program = textwrap.dedent(
        f"""
        import pathlib, time
        import pinpoint

        def slow(checkout):
            pathlib.Path({str(pid)!r}).write_text("0\\n")
            time.sleep(600)

        try:
            pinpoint.bisect({str(repo)!r}, "HEAD~9", "HEAD", run={run.format(pid=pid)},
                            state_dir={str(tmp_path / "state")!r})
        except KeyboardInterrupt as error:
            print(type(error).__name__, error.job_id)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        while not (pid.exists() and pid.read_text().endswith("\n")):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=240)
    finally:
        child.kill()
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert output.split() == ["Interrupted", job.id] and job.state == "pending"
    if benchmark := int(pid.read_text()):
        with pytest.raises(ProcessLookupError):
            os.kill(benchmark, 0)


class LaterNumbers(Numbers):
    concurrency = 4

    async def list(self, lower: Any, higher: Any) -> Any:
        return super().list(lower, higher)

    async def build(self, commit: Any) -> None:
        if commit == "500":
            raise pinpoint.BuildFailed
        super().build(commit)

    async def run(self, commit: Any) -> Any:
        await asyncio.sleep(0)
        return super().run(commit)


@pytest.mark.parametrize("executor", [Numbers, LaterNumbers])
def test_an_executor_of_ones_own(tmp_path: Any, executor: Any) -> None:
    world = executor()
    outcome = pinpoint.bisect(
        executor=world, good="0", bad="1000", magnitude=1.0, state_dir=tmp_path / "state"
    )
    assert outcome.status == "culprit_found"
    assert outcome.culprits[0].commit.main.git_hash == "700"
    assert outcome.culprits[0].blamed.git_hash == "700" and outcome.good.main.git_hash == "0"
    assert world.most == 1 and outcome.builds < 20
    # The good end is built once, though it is asked for twice.
    assert len(world.built) == len(set(world.built)) == outcome.builds


def test_an_executor_goes_on_with_its_job(tmp_path: Any) -> None:
    class Breaking(Numbers):
        runs = 0

        def run(self, commit: Any) -> Any:
            self.runs += 1
            if self.runs == 7:
                raise OwnError
            return super().run(commit)

    options: dict[str, Any] = {"state_dir": tmp_path / "state"}
    with pytest.raises(OwnError):
        pinpoint.bisect(executor=Breaking(), good="0", bad="1000", magnitude=1.0, **options)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    with pytest.raises(ValueError, match="see to `executor`"):
        pinpoint.bisect(resume=job.id, run=measured, **options)
    outcome = pinpoint.bisect(resume=job.id, executor=Numbers(), **options)
    assert outcome.culprits[0].commit.main.git_hash == "700"


class Waiting(Numbers):
    """After the run that is not counted, one waits forever and the next one fails."""

    concurrency = 2
    runs = 0
    ended = False

    async def run(self, commit: Any) -> Any:
        self.runs += 1
        if self.runs == 1:
            return 10.0
        if self.runs == 3:
            raise OwnError
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


def test_an_exception_ends_what_goes_on_beside_it(tmp_path: Any) -> None:
    world = Waiting()
    with pytest.raises(OwnError):
        pinpoint.bisect(executor=world, good="0", bad="9", state_dir=tmp_path / "state")
    assert world.ended


@pytest.mark.parametrize("gives", [None, float("nan"), [], {}])
def test_a_good_end_that_gives_no_value_is_an_error(bisect: Any, tmp_path: Any, gives: Any) -> None:
    with pytest.raises(pinpoint.ExecutionError, match="no value at the good end .*, 3 of 3 times: the run gave"):
        bisect(run=lambda checkout: gives)
    (job,) = pinpoint.jobs(state_dir=tmp_path / "state")
    assert job.state == "failed" and "no value at the good end" in str(job.error)
    assert found(bisect(resume=job.id, run=measured)) == ["Change 6"]


def test_a_good_end_whose_runs_fail_is_an_error(bisect: Any, tmp_path: Any) -> None:
    class Failing(Numbers):
        def run(self, commit: Any) -> Any:
            raise pinpoint.RunFailed("no answer")

    def fails(checkout: Any) -> None:
        raise pinpoint.RunFailed("no answer")

    with pytest.raises(pinpoint.ExecutionError, match="good end .*no answer"):
        bisect(run=fails)
    for most in (6, None):
        with pytest.raises(pinpoint.ExecutionError, match="good end 0, .*no answer"):
            pinpoint.bisect(executor=Failing(), good="0", bad="9", max_runs=most, state_dir=tmp_path / "state")


def test_a_good_end_that_cannot_be_built_is_an_error(bisect: Any, tmp_path: Any) -> None:
    def build(checkout: Any) -> None:
        raise pinpoint.BuildFailed("the compiler says no")

    for options in ({"build": build, "run": measured}, {"build": build, "run": COMMAND}, {"build": "false", "run": measured}):
        with pytest.raises(pinpoint.ExecutionError, match="the good end .* does not build"):
            bisect(**options)
    options = {"executor": Numbers(), "good": "0", "bad": "9", "state_dir": tmp_path / "state"}
    with pytest.raises(pinpoint.ExecutionError, match="good end 0 does not build: skipped on request"):
        pinpoint.bisect(skip=["0"], **options)


@pytest.mark.parametrize("most", [6, None])
def test_a_chart_that_is_not_there_is_an_error(bisect: Any, most: Any) -> None:
    calls: list[Any] = []

    def run(checkout: Any) -> dict[str, float]:
        calls.append(checkout)
        return {"time": measured(checkout), "size": 5.0}

    with pytest.raises(pinpoint.ExecutionError, match="no chart `tiem` .* it gives `size`, `time`"):
        bisect(run=run, chart="tiem", max_runs=most)
    # Another run gives the same charts.
    assert len(calls) == 1


def test_a_good_end_that_fails_now_and_then_is_none(bisect: Any) -> None:
    good: list[Any] = []

    def run(checkout: Any) -> Any:
        if (checkout.path / "number").read_text() == "0":
            good.append(checkout)
            if len(good) in (1, 2, 4):
                return None
        return measured(checkout)

    assert bisect(run=run).status in ("culprit_found", "inconclusive")


def test_an_executor_is_not_asked_for_what_is_skipped(tmp_path: Any) -> None:
    class Recording(Numbers):
        def __init__(self) -> None:
            super().__init__()
            self.ran: set[Any] = set()

        def run(self, commit: Any) -> Any:
            self.ran.add(commit)
            return super().run(commit)

    world = Recording()
    outcome = pinpoint.bisect(
        executor=world, good="695", bad="705", magnitude=1.0, skip=["699", "700"], state_dir=tmp_path / "state"
    )
    assert [it.main.git_hash for it in outcome.candidates] == ["699", "700", "701"]
    assert {reason for _, reason in outcome.skipped} == {"skipped on request"}
    assert not world.ran & {"699", "700"}


@pytest.mark.parametrize(("concurrency", "error"), [(0, ValueError), (1.5, TypeError), (None, TypeError)])
def test_a_concurrency_that_is_none_makes_no_job(tmp_path: Any, concurrency: Any, error: Any) -> None:
    world = Numbers()
    world.concurrency = concurrency
    with pytest.raises(error, match="`Executor.concurrency`"):
        pinpoint.bisect(executor=world, good="0", bad="9", state_dir=tmp_path / "state")
    assert pinpoint.jobs(state_dir=tmp_path / "state") == []


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (None, TypeError, "must return a sequence of names .str., not None"),
        ("abc", TypeError, "not 'abc'"),
        ([1], TypeError, "not .1."),
        (["a", "b", "a"], ValueError, "'a' .* was given before"),
        (["a", "9"], ValueError, "'9' .* is an end of this range"),
        ([str(number) for number in range(1, 9)], ValueError, "lies between '0' and '9' already|is an end"),
    ],
)
def test_a_list_that_is_none_is_an_error(tmp_path: Any, names: Any, error: Any, message: Any) -> None:
    class Listing(Numbers):
        def list(self, lower: Any, higher: Any) -> Any:
            return names

        def run(self, commit: Any) -> Any:
            return (12.0 if commit > "5" else 10.0) + spread((self, commit))

    with pytest.raises(error, match=message):
        pinpoint.bisect(executor=Listing(), good="0", bad="9", magnitude=1.0, state_dir=tmp_path / "state")


@pytest.mark.parametrize("name", ["run", "build", "progress"])
def test_a_bisection_in_a_function_of_another_is_refused(bisect: Any, name: Any) -> None:
    def nested(given: Any) -> Any:
        return bisect(run=measured)

    with pytest.raises(pinpoint.PinpointError, match="has the machine to itself"):
        bisect(**{"run": measured, name: nested})
    assert found(bisect(run=measured)) == ["Change 6"]


@pytest.mark.parametrize("later", [True, False])
def test_a_cancellation_of_the_functions_own_is_passed_on(bisect: Any, later: bool) -> None:
    def now(checkout: Any) -> None:
        raise asyncio.CancelledError("mine")

    async def soon(checkout: Any) -> None:
        raise asyncio.CancelledError("mine")

    with pytest.raises(asyncio.CancelledError, match="mine"):
        bisect(run=soon if later else now)


def test_of_a_magnitude_the_absolute_value_counts(bisect: Any) -> None:
    for magnitude in (-1.0, "-5%"):
        assert found(bisect(run=measured, magnitude=magnitude)) == ["Change 6"]


def test_a_function_beside_a_build_command_that_has_variables(bisect: Any) -> None:
    outcome = bisect(
        build='cp "$FROM" binary', env={"FROM": "time"}, run=lambda it: float((it.path / "binary").read_text())
    )
    assert found(outcome) == ["Change 6"]


def submodule(path: Any, values: Any) -> Any:
    """A repository with a file ``time`` of these values, and the hashes of its commits."""
    path.mkdir()
    git(path, "init", "--quiet")
    for number, value in enumerate(values):
        (path / "time").write_text(value)
        (path / "number").write_text(str(number))
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "--message", f"Dependency {number}")
    return git(path, "rev-list", "--reverse", "HEAD").split()


def test_a_dependency_that_is_set_back_is_blamed_for_the_commit_that_it_lost(tmp_path: Any) -> None:
    dependency = tmp_path / "dependency"
    # The third commit made it fast. Setting it back to the first loses that.
    commits = submodule(dependency, ["12", "12", "10", "10"])
    path = tmp_path / "main"
    path.mkdir()
    git(path, "init", "--quiet")
    (path / ".gitmodules").write_text(f'[submodule "d"]\n\tpath = d\n\turl = {dependency}\n')
    for number in range(6):
        (path / "number").write_text(str(number))
        git(path, "add", ".gitmodules", "number")
        link = commits[3] if number < 4 else commits[0]
        git(path, "update-index", "--add", "--cacheinfo", f"160000,{link},d")
        git(path, "commit", "--quiet", "--message", f"Change {number}")

    def run(checkout: Any) -> Any:
        return float((checkout.path / "d" / "time").read_text()) + spread(checkout.path)

    outcome = pinpoint.bisect(
        path, "HEAD~5", "HEAD", run=run, magnitude=1.0, state_dir=tmp_path / "state",
        repositories={str(dependency): dependency},
    )
    assert found(outcome) == ["Dependency 2"]
    assert outcome.culprits[0].undone
    assert pinpoint.job_outcome(outcome.job_id, state_dir=tmp_path / "state") == outcome


def test_numbers_of_numpy_are_numbers(bisect: Any) -> None:
    numbers = {"seed": np.int64(1), "max_runs": np.int32(500), "confidence": np.float32(0.9), "magnitude": np.float64(1.0)}
    assert found(bisect(run=measured, **numbers)) == ["Change 6"]


def test_an_executor_that_does_nothing_says_so(tmp_path: Any) -> None:
    with pytest.raises(NotImplementedError, match="runs commits"):
        pinpoint.bisect(executor=pinpoint.Executor(), good="0", bad="9", state_dir=tmp_path / "state")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"run": None}, TypeError, "`run` is needed"),
        ({"run": []}, ValueError, "empty command"),
        ({"run": "true", "good": None}, TypeError, "`good` and `bad` are needed"),
        ({"run": "true", "repo": None}, TypeError, "either `repo`, with `run`, or an `executor`"),
        ({"executor": Numbers()}, TypeError, "either `repo`"),
        ({"executor": Numbers(), "repo": None, "run": "true"}, TypeError, "builds and runs itself"),
        ({"run": "true", "good": "HEAD", "bad": "HEAD"}, pinpoint.RepositoryError, "same"),
        ({"run": "true", "good": "nowhere"}, pinpoint.RepositoryError, "nowhere"),
        ({"run": "true", "repo": "/"}, pinpoint.RepositoryError, "repository"),
        ({"run": 5}, TypeError, "`run` must be a command or a function, not int"),
        ({"run": "true", "good": 1}, TypeError, "`good` must be a str, not int"),
        ({"run": measured, "resume": "1", "good": "HEAD"}, TypeError, "leave out `good`$"),
        ({"run": measured, "resume": "1", "chart": "a", "seed": 1}, TypeError, "leave out `chart` and `seed`"),
        ({"run": "true", "resume": "1"}, TypeError, "leave out `run`"),
        ({"executor": Numbers, "repo": None}, TypeError, "the class itself"),
        ({"executor": Numbers(), "repo": None, "warmup": 0, "env": {}}, TypeError, "leave out `env` and `warmup`"),
        ({"run": measured, "format": "lines"}, ValueError, "for commands: leave out `format`$"),
        ({"run": measured, "measure": "user"}, ValueError, "for commands: leave out `measure`$"),
        ({"run": "true", "measure": "user", "chart": "a"}, ValueError, "leave out `chart`$"),
        ({"run": "true", "measure": "user", "format": "lines"}, ValueError, r"not both.*measure=\)$"),
        ({"run": "true", "measure": "time"}, ValueError, "must be one of 'wall', 'user'"),
        ({"run": measured, "cpu": "0", "trace_reads": True}, ValueError, "leave out `cpu` and `trace_reads`$"),
        ({"run": "true", "build": raises, "trace_reads": True}, ValueError, "can't be traced: leave out `trace_reads`$"),
        ({"run": "true", "cpu": 0}, TypeError, "`cpu` must be a str, not int"),
        ({"run": "true", "cpu": "3-1"}, ValueError, "`cpu`: `3-1` is neither a processor"),
        ({"run": "true", "cpu": "0,1023"}, ValueError, r"no processor 1023 .*cpu=\)$"),
        ({"run": "true", "settle": 0}, ValueError, "`settle` is 0"),
        ({"run": measured, "results": "x", "aggregate": "max"}, ValueError, "leave out `aggregate` and `results`$"),
        ({"run": measured, "warmup": 3, "build": "true"}, ValueError, "leave out `warmup`$"),
        ({"run": measured, "env": {"A": "1"}}, ValueError, "leave out `env`$"),
        ({"run": "true", "max_runs": 1.5}, TypeError, "`max_runs` must be an int, not float"),
        ({"run": "true", "warmup": 2**32}, ValueError, "`warmup` is 4294967296"),
        ({"run": "true", "seed": None}, TypeError, "`seed` must be an int, not NoneType"),
        ({"run": "true", "confidence": "high"}, TypeError, "`confidence` must be a number, not str"),
        ({"run": "true", "skip": "t5"}, TypeError, "`skip` must be a sequence of str, not str"),
        ({"run": "true", "paths": [1]}, TypeError, "`paths` must be a sequence of str: it holds 1"),
        ({"run": "true", "env": {"A": 1}}, TypeError, "`env` must map str to str: it holds 'A': 1"),
        ({"run": "true", "repositories": ["."]}, TypeError, "`repositories` must be a mapping, not list"),
        ({"run": "true", "priors": [1, None]}, TypeError, r"`priors\[1\]` must be a number, not NoneType"),
        ({"run": "true", "priors": "files"}, ValueError, "`priors` is 'files': it must be one of 'changes'"),
        ({"run": "true", "priors": 5}, TypeError, "`priors` must be a sequence of numbers, not int"),
        ({"run": "true", "timeout": 1e300}, ValueError, "`timeout` is 1e.300"),
        ({"run": measured, "resume": 7}, TypeError, "`resume` must be a str, not int"),
        ({"run": "true", "direction": "left"}, ValueError, "`direction` is 'left'"),
        ({"run": "true", "aggregate": "guess"}, ValueError, "`aggregate`: .*guess"),
        ({"run": "true", "magnitude": "5"}, ValueError, "a number, or a percentage"),
        ({"run": "true", "magnitude": "much%"}, ValueError, "a number, or a percentage"),
        ({"run": "true", "magnitude": float("nan")}, ValueError, "finite"),
        ({"run": "true", "confidence": 2.0}, ValueError, r"it is 2 \(confidence=\)$"),
        ({"run": "true", "build_cost": -1.0}, ValueError, r"it is -1 \(build_cost=\)$"),
        ({"run": "true", "max_runs": 1}, ValueError, r"the budget allows 1: raise the budget \(max_runs=\)$"),
        ({"run": "true", "results": "../x"}, pinpoint.ExecutionError, r"not inside the work tree.*\(results=\)"),
        ({"run": ["./time"]}, pinpoint.ExecutionError, r"can't be executed.*\(as in run="),
        ({"run": 'echo "a: 1"; echo "b: 2"', "format": "lines"}, pinpoint.ExecutionError, r"\(chart=; pinpoint.pairwise "),
        ({"run": "true", "timeout": 0.0}, ValueError, "`timeout` is 0"),
        ({"run": "true", "max_time": -1.0}, ValueError, "`max_time` is -1"),
        ({"run": "true", "format": "guess"}, ValueError, "`format`: .*guess"),
        ({"run": "true", "strategy": "guess"}, ValueError, "`strategy` is 'guess'"),
        ({"run": "true", "seed": -1}, ValueError, "-1"),
        ({"run": "/no/such/program"}, pinpoint.ExecutionError, "no/such/program"),
        ({"run": "false"}, pinpoint.ExecutionError, "fail"),
        ({"build": "false", "run": "true"}, pinpoint.ExecutionError, "build"),
        ({"run": "true", "guess": 1}, TypeError, "guess"),
    ],
)
def test_what_cannot_be_done_is_refused(bisect: Any, options: Any, error: Any, message: Any) -> None:
    with pytest.raises(error, match=message):
        bisect(**options)


def test_several_at_once(bisect: Any) -> None:
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(bisect(run=measured))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found(outcome) for outcome in outcomes] == [["Change 6"]] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_can_bisect_as_its_parent_did(bisect: Any) -> None:
    assert found(bisect(run=measured)) == ["Change 6"]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if found(bisect(run=measured)) == ["Change 6"] else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
