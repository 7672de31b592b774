#!/usr/bin/env python3
"""Measure every release of the history, and name the steps that a bisection has to find.

Every round runs the benchmark once at each release, in a newly shuffled order, so that
a slow drift of the machine affects all releases alike. One run per release before
the first round is not counted.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from make_history import RecipeError, git, read_releases

BENCHMARK = Path(__file__).resolve().with_name("bench.py")
RESULT_LINE = re.compile(r"(?P<name>\S+): (?P<value>\S+) (?P<unit>\S+)")

# A step counts as truth if it is this much slower than the release before, in percent,
# and is this far above the noise, in interquartile ranges.
TRUTH_PERCENT = 15.0
TRUTH_IQRS = 3.0


def check_out(history, tag, directory):
    """Writes the files of one release to `directory`; the repository is only read."""
    archive = directory.with_name(f"{tag}.zip")
    git(["-C", history, "archive", "--output", archive, tag])
    shutil.unpack_archive(archive, directory)


def run_benchmark(directory):
    """One run's value in ms, or None and the reason when the release does not run."""
    done = subprocess.run([sys.executable, BENCHMARK], cwd=directory, capture_output=True, text=True)
    match = RESULT_LINE.fullmatch(done.stdout.strip())
    if done.returncode != 0 or match is None:
        reason = (done.stderr.strip() or f"no result line, exit code {done.returncode}").splitlines()[-1]
        return None, reason
    return float(match["value"]), None


def measure(history, rounds, seed, tags=None, build=lambda directory: None, run=run_benchmark):
    """The document that this script writes: every release with its values and its failures."""
    if rounds < 2:
        raise RecipeError("an interquartile range takes at least 2 rounds")
    tags = tags or [f"v{version}" for version, _ in read_releases()]
    releases = [
        {"release": tag, "git_hash": git(["-C", history, "rev-parse", f"{tag}^{{commit}}"]), "values": [], "failures": []}
        for tag in tags
    ]
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as trees:
        for tag in tags:
            check_out(history, tag, Path(trees) / tag)
            build(Path(trees) / tag)
        for tag in tags:
            run(Path(trees) / tag)
        for number in range(1, rounds + 1):
            for entry in generator.sample(releases, len(releases)):
                value, failure = run(Path(trees) / entry["release"])
                if failure is None:
                    entry["values"].append(value)
                else:
                    entry["failures"].append(failure)
            print(f"round {number} of {rounds}", end="\r", file=sys.stderr)
    print(file=sys.stderr)
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    return {"rounds": rounds, "seed": seed, "unit": "ms", "machine": machine, "releases": releases}


def summarize(document):
    """A row per release: median, interquartile range, and the step from the last release that ran."""
    rows, before = [], None
    for entry in document["releases"]:
        row = {"release": entry["release"], "git_hash": entry["git_hash"], "median": None, "iqr": None,
               "percent": None, "iqrs": None, "failures": entry["failures"]}
        rows.append(row)
        if len(entry["values"]) < 2:
            continue
        low, row["median"], high = statistics.quantiles(entry["values"], n=4, method="inclusive")
        row["iqr"] = high - low
        if before is not None:
            step = row["median"] - before["median"]
            row["percent"] = 100 * step / before["median"]
            # The noisier of the two releases is the yardstick.
            row["iqrs"] = step / max(row["iqr"], before["iqr"], 1e-9)
        before = row
    return rows


def is_truth(row):
    return row["percent"] is not None and row["percent"] >= TRUTH_PERCENT and row["iqrs"] >= TRUTH_IQRS


def print_table(rows):
    print("| release | median ms | IQR ms | step % | step in IQRs | |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for row in rows:
        if row["median"] is None:
            print(f"| {row['release']} | | | | | fails: {row['failures'][-1]} |")
            continue
        step = "| | |" if row["percent"] is None else f"| {row['percent']:+.1f} | {row['iqrs']:+.1f} |"
        note = "**slower**" if is_truth(row) else ""
        print(f"| {row['release']} | {row['median']:.3f} | {row['iqr']:.3f} {step} {note} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", type=Path, help="the repository that make_history.py made")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=30, help="runs of every release (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the runs (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.output.exists():
        raise RecipeError(f"{arguments.output} exists; name a file that does not, or remove it first")

    document = measure(arguments.history, arguments.rounds, arguments.seed)
    arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    rows = summarize(document)
    print_table(rows)
    truth = [row for row in rows if is_truth(row)]
    print(f"\nslower by {TRUTH_PERCENT:g} % and {TRUTH_IQRS:g} IQRs or more:",
          ", ".join(row["release"] for row in truth) or "none")
    stepped = [row for row in rows if row["percent"] is not None]
    if stepped:
        largest = max(stepped, key=lambda row: row["percent"])
        print(f"largest step: {largest['release']} ({largest['percent']:+.1f} %), commit {largest['git_hash']}")


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"measure_truth.py: {error}")
