"""One job in two hands: the command `pinpoint` and this module, on one state directory.

`test.py` builds the command, and names it in PINPOINT_COMMAND.
"""

import asyncio
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import pinpoint
from world import COMMAND, COMMAND_LINE, Numbers, OwnError, found, measured, needs_command

pytestmark = needs_command


class World:
    """A state directory, and a benchmark that waits in its fifth run until it may continue."""

    def __init__(self, repo: Any, directory: pathlib.Path) -> None:
        self.repo, self.state = repo, directory / "state"
        self.waits, self.may_go = directory / "waits", directory / "go"
        runs = directory / "runs"
        self.benchmark = (
            f"echo >> {runs}; if [ $(wc -l < {runs}) -ge 5 ] && ! [ -e {self.may_go} ]; "
            f"then echo > {self.waits}; exec sleep 600; fi; {COMMAND}"
        )
        self.started: list[subprocess.Popen[str]] = []

    def words(self, *words: Any) -> list[str]:
        assert COMMAND_LINE is not None
        return [COMMAND_LINE, *map(str, words[:1]), "--state-dir", str(self.state), *map(str, words[1:])]

    def command(self, *words: Any) -> Any:
        """The document that the command prints."""
        words = tuple(self.words(*words[:1], "--output", "json", *words[1:]))
        ended = subprocess.run(words, capture_output=True, text=True)
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout)

    def refused(self, *words: Any) -> str:
        ended = subprocess.run(self.words(*words), capture_output=True, text=True)
        assert ended.returncode != 0 and ended.stderr
        return ended.stderr

    def search(self, kind: str, *options: Any) -> list[Any]:
        """The words of a search of the whole range."""
        return [kind, "--repo", self.repo, *options, "HEAD~9", "HEAD", "--", "sh", "-c", self.benchmark]

    def begin(self, *words: Any) -> Any:
        """The job of a command, and its process, which waits in the benchmark."""
        child = subprocess.Popen(
            self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(child)
        until(self.waits.exists, child)
        (job,) = pinpoint.jobs(state_dir=self.state)
        return job, child

    def job(self) -> Any:
        (job,) = pinpoint.jobs(state_dir=self.state)
        return job

    def python(self, name: str = "bisect", **options: Any) -> Any:
        if "resume" not in options:
            ends = ("base", "experiment") if name == "pairwise" else ("good", "bad")
            options = {"repo": self.repo, **dict(zip(ends, ("HEAD~9", "HEAD"), strict=True)), **options}
        return getattr(pinpoint, name)(state_dir=self.state, **options)


def until(there: Any, child: Any = None) -> None:
    while not there():
        assert child is None or child.poll() is None, child.communicate()
        time.sleep(0.01)


@pytest.fixture
def world(repo: Any, tmp_path: Any) -> Iterator[World]:
    world = World(repo, tmp_path)
    yield world
    for child in world.started:
        child.kill()
        child.communicate()


def interrupted(world: World, name: str, **options: Any) -> Any:
    """A job that was begun here, and left after a few runs."""

    def progress(told: Any) -> None:
        if told.runs >= 2:
            raise OwnError("enough")

    with pytest.raises(OwnError, match="enough"):
        world.python(name, progress=progress, **options)
    job = world.job()
    assert job.state == "pending"
    return job


@pytest.mark.parametrize("name", ["bisect", "pairwise", "culprit"])
def test_the_command_goes_on_with_a_job_begun_here(world: World, name: str, tmp_path: Any) -> None:
    options: dict[str, Any] = {"run": COMMAND} if name == "bisect" else {"run": COMMAND, "pairs": 6}
    job = interrupted(world, name, **options)
    kind = {"bisect": "bisection", "pairwise": "pairwise", "culprit": "culprit_finder"}[name]
    (listed,) = world.command("jobs", "list", "--kind", kind)["jobs"]
    assert (listed["id"], listed["benchmark"]) == (job.id, "echo")
    assert listed["title"] == f"pinpoint.{name}(HEAD~9, HEAD)" and listed["user"] and listed["bot"]
    assert world.command("jobs", "show", job.id)["outcome"] is None
    document = world.command("jobs", "resume", job.id)
    assert document["status"] == ("different" if name == "pairwise" else "culprit_found"), document
    page = tmp_path / "report.html"
    assert world.command("jobs", "report", job.id, page)["job_id"] == job.id
    assert "time" in page.read_text()
    # And back: it is finished, here as well.
    outcome = pinpoint.job_outcome(job.id, state_dir=world.state)
    assert outcome is not None and outcome == world.python(name, resume=job.id)
    assert (outcome.status, outcome.runs, outcome.builds) == tuple(
        document[it] for it in ("status", "runs", "builds")
    )
    if isinstance(outcome, pinpoint.JobOutcome):
        assert found(outcome) == ["Change 6"] and (outcome.chart, outcome.unit) == ("time", "s")
        assert sum(len(it.values) + it.failures for it in outcome.measurements) == outcome.runs
    else:
        assert [(it.chart, it.unit) for it in outcome.charts] == [("time", "s")]


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_a_job_begun_by_the_command_goes_on_here(world: World, ended_by: Any) -> None:
    words = world.search("bisect", "--magnitude", "1.0", "--env", "INHERITED")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INHERITED", "yes")
        job, child = world.begin(*words)
        child.send_signal(ended_by)
        child.wait(timeout=240)
    assert job.kind == "bisection" and world.job().runs >= 1
    assert world.job().state == ("pending" if ended_by == signal.SIGINT else "running")
    assert pinpoint.job_outcome(job.id, state_dir=world.state) is None
    world.may_go.touch()
    with pytest.raises(ValueError, match="begun with, and no others: see to `run`"):
        world.python(resume=job.id, run=measured)
    with pytest.raises(ValueError, match="see to `executor`"):
        world.python(resume=job.id, executor=Numbers())
    with pytest.raises(ValueError, match="inherits the variable INHERITED"):
        world.python(resume=job.id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INHERITED", "yes")
        outcome = world.python(resume=job.id)
    assert found(outcome) == ["Change 6"]
    document = world.command("jobs", "resume", job.id)
    assert (document["status"], document["runs"]) == ("culprit_found", outcome.runs)
    assert pinpoint.job_outcome(job.id, state_dir=world.state) == outcome


@pytest.mark.parametrize("name", ["pairwise", "culprit"])
def test_what_the_command_found_is_read_here(world: World, name: str) -> None:
    world.may_go.touch()
    document = world.command(*world.search(name, "--pairs", "6"))
    outcome: Any = pinpoint.job_outcome(document["job_id"], state_dir=world.state)
    assert (outcome.status, outcome.runs) == (document["status"], document["runs"])
    if name == "culprit":
        (culprit,) = outcome.culprits
        assert culprit.blamed.git_hash == document["culprits"][0]["blamed"]["git_hash"]
        assert culprit.confirmation.status == outcome.verification.status == "different"
    else:
        assert outcome.experiment.main.subject == "Change 9" and outcome.charts[0].moved


def test_the_command_refuses_a_job_with_functions(world: World) -> None:
    job = interrupted(world, "pairwise", run=measured)
    assert f'pinpoint.pairwise(resume="{job.id}", …)' in world.refused("jobs", "resume", job.id)
    assert world.command("jobs", "list", "--kind", "pairwise")["jobs"][0]["benchmark"] == "measured"
    assert world.python("pairwise", resume=job.id, run=measured).status == "different"
    assert world.command("jobs", "resume", job.id)["status"] == "different"


def test_a_running_job_is_canceled_by_the_command(world: World) -> None:
    begun = threading.Event()
    outcomes = []

    async def run(checkout: Any) -> Any:
        if (checkout.path / "number").read_text() != "0":
            begun.set()
            await asyncio.Event().wait()
        return measured(checkout)

    def work() -> None:
        outcomes.append(world.python(run=run))

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    job = world.job()
    assert "another process" in world.refused("jobs", "resume", job.id)
    assert world.command("jobs", "cancel", job.id)["status"] == "canceled"
    thread.join()
    (outcome,) = outcomes
    assert (outcome.status, world.job().state) == ("canceled", "canceled")
    assert pinpoint.job_outcome(job.id, state_dir=world.state) == outcome
    assert found(world.python(resume=job.id, run=measured)) == ["Change 6"]


def test_a_job_of_the_command_is_canceled_here(world: World) -> None:
    job, child = world.begin(*world.search("bisect", "--magnitude", "1.0"))
    with pytest.raises(pinpoint.JobError, match="another process .*pinpoint.cancel_job"):
        world.python(resume=job.id)
    pinpoint.cancel_job(job.id, state_dir=world.state)
    output, _ = child.communicate(timeout=240)
    assert world.job().state == "canceled" and "canceled" in output
    outcome = pinpoint.job_outcome(job.id, state_dir=world.state)
    assert outcome is not None and (outcome.status, outcome.reason) == ("canceled", "canceled")
    world.may_go.touch()
    assert found(world.python(resume=job.id)) == ["Change 6"]
    with pytest.raises(pinpoint.JobError, match="is finished"):
        pinpoint.cancel_job(job.id, state_dir=world.state)


@pytest.mark.parametrize("options", [{"run": COMMAND}, {"run": measured}])
def test_a_job_that_nobody_works_on_is_canceled_on_either_side(world: World, options: Any) -> None:
    job = interrupted(world, "bisect", **options)
    pinpoint.cancel_job(job.id, state_dir=world.state)
    assert world.command("jobs", "show", job.id)["outcome"]["status"] == "canceled"
    outcome = pinpoint.job_outcome(job.id, state_dir=world.state)
    assert outcome is not None and outcome.runs == job.runs
    job = pinpoint.jobs(state_dir=world.state)[0]
    assert job.state == "canceled"


def test_an_imported_job_is_not_run_before_it_was_looked_at(world: World, tmp_path: Any) -> None:
    job = interrupted(world, "bisect", run=COMMAND)
    lines = tmp_path / "jobs.jsonl"
    world.command("jobs", "export", lines)
    elsewhere = World(world.repo, tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    elsewhere.command("jobs", "import", lines)
    with pytest.raises(pinpoint.JobError, match="was imported, and may run anything"):
        elsewhere.python(resume=job.id)
    assert elsewhere.command("jobs", "resume", "--yes", job.id)["status"] == "culprit_found"
    assert found(elsewhere.python(resume=job.id)) == ["Change 6"]


def test_jobs_of_earlier_versions_are_read_and_go_on(world: World) -> None:
    """Their kinds were Python's own, and so was the form of their outcomes."""
    job = interrupted(world, "bisect", run=COMMAND)
    # Closed while the module works: two copies of SQLite in one process take each other's
    # locks away.
    with closing(sqlite3.connect(world.state / "pinpoint.db")) as database, database:
        (text,) = database.execute("SELECT config FROM jobs").fetchone()
        old = {"local": json.loads(text)["local"], "builds": False, "runs": False, "skip": []}
        # It had begun: the direction is in its spec.
        spec = json.loads(database.execute("SELECT spec FROM jobs").fetchone()[0])
        spec.update(chart="time", direction="down")
        database.execute("DELETE FROM records")
        database.execute(
            "UPDATE jobs SET kind = 'python_bisection', config = ?, spec = ?",
            (json.dumps({**old, "direction_by_unit": True}), json.dumps(spec)),
        )
    outcome = world.python(resume=job.id)
    assert found(outcome) == ["Change 6"]
    document = world.command("jobs", "show", job.id)["outcome"]
    posterior = document.pop("posterior")
    document.pop("version")
    document.update(reason=None, no_change=posterior["no_change"], measurements=[])
    with closing(sqlite3.connect(world.state / "pinpoint.db")) as database, database:
        database.execute("UPDATE jobs SET outcome = ?", (json.dumps(document),))
    read = pinpoint.job_outcome(job.id, state_dir=world.state)
    assert read == outcome._replace(measurements=(), posterior=None)
    assert world.python(resume=job.id) == read
