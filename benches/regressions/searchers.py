"""Searches for the commit that made a benchmark slower: ours, and its peers.

Each takes a `Case`, a clone that nothing else uses, and returns an `Answer`. Peers are given what
they need to be told: a threshold from runs of the two ends, which count as runs of theirs.
"""

import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import probe

PROBE = Path(probe.__file__).resolve()
# Runs of an end from which a threshold follows: 5 as people do it, and 12 of both for a search that
# depends on it more.
RUNS_OF_AN_END = {"git-bisect": 5, "git-bayesect": 6, "robust-git-bisect": 6}
REPEATS = {"git-bisect": 5, "git-bayesect": 1, "robust-git-bisect": 1}


class SearchFailed(Exception):
    """A search that gave no answer, and why."""


class OutOfTime(SearchFailed):
    """A search that was ended at its limit: an answer of a kind, and not made again."""


@dataclass
class Case:
    """One search: where, between which commits, and by which command."""

    checkout: Path
    work: Path
    good: str
    bad: str
    command: list[str]
    limit: float


@dataclass
class Answer:
    """What a search said, and what it took."""

    # Full hashes; empty if no commit was named.
    named: list[str] = field(default_factory=list)
    # The probability of each, where it is stated.
    stated: list[float] = field(default_factory=list)
    runs: int = 0
    builds: int = 0
    remark: str = ""


def git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SearchFailed(f"{shlex.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def run_limited(command: list[str], case: Case, until: float) -> tuple[int, str, str]:
    """The exit code and outputs of a command, ended with all its children when time is up."""
    process = subprocess.Popen(
        command, cwd=case.checkout, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=min(max(until - time.monotonic(), 1), 86_400))
    except subprocess.TimeoutExpired as expired:
        raise OutOfTime(f"no answer within {case.limit:.0f} s") from expired
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, out, err


def logged(log: Path) -> tuple[int, int]:
    """The number of runs in a log of `probe.py`, and of commits that were checked out for them."""
    lines = [json.loads(it)["commit"] for it in log.read_text().splitlines()] if log.exists() else []
    return len(lines), len(set(lines))


def threshold(case: Case, runs: int, log: Path) -> float:
    """Halfway between the medians of the two ends."""
    medians = []
    for end in (case.good, case.bad):
        git(case.checkout, "checkout", "--quiet", "--force", end)
        command = [
            sys.executable, str(PROBE), "--log", str(log), "--repeat", str(runs),
            "--threshold", "inf", "--", *case.command]
        code, _, _ = run_limited(command, case, time.monotonic() + case.limit)
        times = [json.loads(it)["seconds"] for it in log.read_text().splitlines()][-runs:]
        if code != 0:
            raise SearchFailed(f"the benchmark fails at {end}")
        medians.append(statistics.median(times))
    return sum(medians) / 2


def by_pinpoint(case: Case, program: Path) -> Answer:
    """Ours, with nothing told but the ends and the command."""
    command = [
        str(program), "bisect", "-C", str(case.checkout), "--state-dir", str(case.work / "state"),
        "--max-time", f"{case.limit:.0f}s", "--output", "json", "--quiet",
        case.good, case.bad, "--", *case.command]
    code, out, err = run_limited(command, case, time.monotonic() + 2 * case.limit)
    (case.work / "pinpoint.json").write_text(out)
    if code not in (0, 3, 4):
        raise SearchFailed((err or out).strip()[-300:])
    return read_pinpoint(out)


def read_pinpoint(out: str) -> Answer:
    """An answer from our JSON document."""
    document = json.loads(out)
    culprits = document.get("culprits", [])
    remark = "" if culprits else document["status"]
    return Answer(
        [it["blamed"]["git_hash"] for it in culprits], [it["probability"] for it in culprits],
        document["runs"], document["builds"], remark)


def by_peer(name: str, case: Case, program: str) -> Answer:
    """A peer that takes a command that passes or fails."""
    log = case.work / f"{name}.log"
    log.unlink(missing_ok=True)
    until = time.monotonic() + case.limit
    limit = threshold(case, RUNS_OF_AN_END[name], log)
    test = [
        sys.executable, str(PROBE), "--log", str(log), "--repeat", str(REPEATS[name]),
        "--threshold", repr(limit), "--", *case.command]
    search = {"git-bisect": git_bisect, "git-bayesect": bayesect, "robust-git-bisect": robust}[name]
    try:
        answer = search(case, program, test, until)
    except OutOfTime as late:
        answer = Answer(remark=str(late))
    answer.runs, answer.builds = logged(log)
    return answer


def git_bisect(case: Case, _program: str, test: list[str], until: float) -> Answer:
    git(case.checkout, "bisect", "reset")
    git(case.checkout, "bisect", "start", case.bad, case.good)
    code, out, err = run_limited(["git", "bisect", "run", *test], case, until)
    found = re.search(r"^([0-9a-f]{40}) is the first bad commit", out, re.MULTILINE)
    git(case.checkout, "bisect", "reset")
    if found is None:
        return Answer(remark=(out + err).strip().splitlines()[-1][:200] if code else "no commit")
    return Answer([found.group(1)])


def bayesect(case: Case, program: str, test: list[str], until: float) -> Answer:
    for command in ([program, "start", "--old", case.good, "--new", case.bad], [program, "run", *test]):
        code, out, err = run_limited(command, case, until)
        (case.work / "git-bayesect.out").write_text(out + err)
        if code != 0:
            raise SearchFailed((err or out).strip()[-300:])
    return read_bayesect(out, case.checkout)


def read_bayesect(out: str, checkout: Path) -> Answer:
    """The likeliest commit and its probability, from what the search printed last."""
    found = re.findall(r"([0-9a-f]{7,40})[^\n]*?\(?([0-9.]+)%", out)
    if not found:
        raise SearchFailed(out.strip()[-300:])
    short, percent = found[-1]
    return Answer([git(checkout, "rev-parse", f"{short}^{{commit}}")], [round(float(percent) / 100, 4)])


def robust(case: Case, program: str, test: list[str], until: float) -> Answer:
    command = [program, "--min-likelihood", "0.95", case.good, case.bad, shlex.join(test)]
    code, out, err = run_limited(command, case, until)
    (case.work / "robust-git-bisect.out").write_text(out + err)
    found = re.findall(r"([0-9a-f]{40})", out + err)
    if code != 0 or not found:
        raise SearchFailed((out + err).strip()[-300:])
    return Answer([found[-1]])
