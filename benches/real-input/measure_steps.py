#!/usr/bin/env python3
"""Measure the releases of a split history, and then the commits of each slower release.

So the commit that made the difference is known without the bisection. A step counts as truth if
the fastest of every other run says so, and the fastest of the runs between as well: that can be
measured on a busy machine. A commit that does not build or run has no value, and its step is
part of the next one's.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from make_history import RecipeError, git
from measure_truth import TRUTH_PERCENT, measure
from projects import PROJECTS


def steps(document):
    """A row for each commit: the fastest run, and the step from the last commit that ran."""
    rows, before = [], None
    for entry in document["releases"]:
        row = {"commit": entry["release"], "git_hash": entry["git_hash"], "fastest": None, "percent": None}
        rows.append(row)
        halves = [min(entry["values"][start::2], default=None) for start in range(2)]
        if None in halves:
            continue
        row["fastest"] = min(halves)
        if before is not None:
            low, high = sorted(100 * (after / of - 1) for after, of in zip(halves, before))
            # The step that both halves agree on.
            row["percent"] = max(low, 0.0) + min(high, 0.0)
        before = halves
    return rows


def is_slower(row):
    return row["percent"] is not None and row["percent"] >= TRUTH_PERCENT


def print_table(rows):
    print("| commit | fastest ms | step % | |\n| --- | ---: | ---: | --- |")
    for row in rows:
        fastest = "fails" if row["fastest"] is None else f"{row['fastest']:.3f}"
        percent = "" if row["percent"] is None else f"{row['percent']:+.1f}"
        print(f"| {row['commit']} | {fastest} | {percent} | {'**slower**' if is_slower(row) else ''} |")


def truth_of(project, history, rounds):
    """The rows of the releases, and those of the commits in each slower release."""
    def build(directory):
        if project.build:
            subprocess.run(project.command(project.build), shell=True, cwd=directory, capture_output=True)

    def run(directory):
        done = subprocess.run(project.command(project.benchmark), shell=True, cwd=directory, capture_output=True, text=True)
        found = re.search(rf"^{project.chart}: (\S+)", done.stdout, re.MULTILINE)
        if done.returncode or not found:
            return None, (done.stderr.strip() or "no result").splitlines()[-1]
        return float(found[1]), None

    made = set(git(["-C", history, "tag"]).split())
    tags = [tag for version in project.versions.split() if (tag := f"v{version}") in made]
    releases = steps(measure(history, rounds, 1, tags, build, run))
    commits, before = {}, None
    for row in releases:
        if is_slower(row):
            inside = git(["-C", history, "rev-list", "--reverse", f"{before}..{row['commit']}"]).split()
            found = steps(measure(history, rounds, 1, [before, *inside], build, run))
            for step in found:
                step["message"] = git(["-C", history, "log", "-1", "--format=%s", step["git_hash"]])
            commits[row["commit"]] = found
        if row["fastest"] is not None:
            before = row["commit"]
    return releases, commits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", choices=PROJECTS)
    parser.add_argument("history", type=Path, help="the repository that split_history.py made")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=12, help="runs of each (default: %(default)s)")
    arguments = parser.parse_args()
    releases, commits = truth_of(PROJECTS[arguments.project], arguments.history, arguments.rounds)
    arguments.output.write_text(json.dumps({"releases": releases, "commits": commits}, indent=1) + "\n", encoding="utf-8")
    print_table(releases)
    for release, found in commits.items():
        for row in filter(is_slower, found):
            print(f"\n{release}: {row['message']} ({row['git_hash']}), {row['percent']:+.1f} %")


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"measure_steps.py: {error}")
