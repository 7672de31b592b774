#!/usr/bin/env python3
"""Runs a benchmark once or more, as a test that passes below a threshold.

    probe.py --log FILE --repeat 5 --threshold 0.4 -- python3 bench.py

This is the command that `git bisect run` and its like take. Each run becomes a line of the log. The
first run of a checked out commit is not counted: it may compile, or fill caches, and the search by
ours leaves it out as well. A run that fails can't be tested, with exit code 125.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 125


def timed(command: list[str]) -> float | None:
    """The wall time of one run, in seconds, or None if it failed."""
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin if done.returncode == 0 else None


def head() -> str:
    """The commit that is checked out here."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def last_commit(log: Path) -> str:
    """The commit of the last line of the log."""
    lines = log.read_text().splitlines() if log.exists() else []
    return json.loads(lines[-1])["commit"] if lines else ""


def measure(command: list[str], repeat: int, log: Path) -> list[float] | None:
    """The times of `repeat` runs of the commit that is checked out, or None if one failed."""
    commit = head()
    if last_commit(log) != commit:
        timed(command)
    times = []
    for _ in range(repeat):
        seconds = timed(command)
        with log.open("a") as lines:
            print(json.dumps({"commit": commit, "seconds": seconds}), file=lines)
        if seconds is None:
            return None
        times.append(seconds)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threshold", type=float, required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    times = measure(options.command, options.repeat, options.log)
    if times is None:
        return SKIPPED
    return 0 if statistics.median(times) < options.threshold else 1


if __name__ == "__main__":
    sys.exit(main())
