"""Shared test code: commits whose truth is known, and benchmarks of them.

No value depends on the machine, so that no answer does.
"""

import collections
import itertools
import os
import subprocess
import time
from typing import Any

import pytest

import pinpoint

# The command beside the module, which `test.py` builds.
COMMAND_LINE = os.environ.get("PINPOINT_COMMAND")
needs_command = pytest.mark.skipif(COMMAND_LINE is None, reason="needs the pinpoint command: name it in PINPOINT_COMMAND")

CULPRIT = 6
COMMITS = 10


def git(path: Any, *arguments: Any) -> str:
    identity = ["-c", "user.name=A U Thor", "-c", "user.email=author@example.org"]
    command = ["git", "-C", path, *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


RUNS: collections.defaultdict[Any, "itertools.count[int]"] = collections.defaultdict(itertools.count)


def spread(place: Any) -> float:
    """A little noise, the same in every test: it depends on the number of calls here."""
    return 0.01 * float(next(RUNS[place]) * 7 % 10)


def measured(checkout: Any) -> Any:
    """A value with a little spread."""
    return float((checkout.path / "time").read_text()) + spread(checkout.path)


def found(outcome: Any) -> Any:
    assert outcome.status == "culprit_found", outcome
    return [culprit.blamed.subject for culprit in outcome.culprits]


# With a spread like that of `measured`.
COMMAND = 'echo "time: $(cat time).0$((${PINPOINT_RUN:-0} * 7 % 10)) s"'


class OwnError(Exception):
    pass


def raises(checkout: Any) -> None:
    raise OwnError("disk on fire")


class Numbers(pinpoint.Executor):
    """Commits are numbers; 700 made it slower."""

    def __init__(self) -> None:
        self.listed, self.at_once, self.most = 0, 0, 0
        self.built: list[Any] = []

    def list(self, lower: Any, higher: Any) -> Any:
        self.listed += 1
        return [str(number) for number in range(int(lower) + 1, int(higher))]

    def build(self, commit: Any) -> Any:
        self.built.append(commit)

    def run(self, commit: Any) -> Any:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        time.sleep(0.001)
        self.at_once -= 1
        return (12.0 if int(commit) >= 700 else 10.0) + spread((self, commit))
