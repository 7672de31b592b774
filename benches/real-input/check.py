#!/usr/bin/env python3
"""Bisect the history with `pinpoint` and compare its culprits with the measured truth.

Makes the history and measures the truth in the work directory unless they are there
already. Exit code 0: every large step in the range was found, and nothing else was
reported except smaller steps that the measurement shows too. Exit code 1 otherwise.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from make_history import RecipeError, default_cache, git, make_history, read_releases
from measure_truth import BENCHMARK, TRUTH_IQRS, TRUTH_PERCENT, is_truth, measure, print_table, summarize

CHART = "parse_specifiers"
PINPOINT = Path(__file__).resolve().parents[2] / "target" / "release" / "pinpoint"
# A reported commit below the size of the truth is not an error if it slowed by this many
# IQRs.
SMALL_STEP_IQRS = 1.0


def measured_truth(history, truth, rounds):
    """The rows of the stored measurement; it is made first if it is missing."""
    if not truth.exists():
        print("measuring every release; this takes minutes", file=sys.stderr)
        # Renamed when whole, so that an interrupted write does not count as a measurement.
        unfinished = truth.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(measure(history, rounds, seed=1), indent=1) + "\n", encoding="utf-8")
        unfinished.replace(truth)
    rows = summarize(json.loads(truth.read_text(encoding="utf-8")))
    if rows[-1]["git_hash"] != git(["-C", history, "rev-parse", "main"]):
        raise RecipeError(f"{truth} was measured on another history; remove it to measure again")
    return rows


def bisect(pinpoint, history, state, good, bad, options):
    """Runs the bisection and returns its JSON document."""
    command = [pinpoint, "bisect", "-C", history, "--format", "lines", "--chart", CHART, "--direction", "down",
               "--output", "json", "--state-dir", state, *options, good, bad, "--", sys.executable, BENCHMARK]
    command = [str(word) for word in command]
    print("$", shlex.join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise RecipeError(f"pinpoint ended with code {done.returncode} and printed no JSON document") from error


def steps_between(rows, good, bad):
    """The measured steps that a bisection from good to bad can find, by commit hash."""
    tags = [row["release"] for row in rows]
    # The step of the good end is before the range.
    steps = {row["git_hash"]: row for row in rows[tags.index(good) + 1 : tags.index(bad) + 1]}
    # Without one, a bisection that finds nothing would pass.
    if not any(map(is_truth, steps.values())):
        raise RecipeError(f"no step of {TRUTH_PERCENT:g} % and {TRUTH_IQRS:g} IQRs was measured from {good} to {bad}")
    return steps


def compare(steps, culprits):
    """Prints found, missed and additional commits; true if the bisection agrees with the truth."""
    agrees = True
    for git_hash, row in steps.items():
        if is_truth(row):
            found = git_hash in culprits
            print(f"{'found' if found else 'MISSED'}: {row['release']} ({row['percent']:+.1f} %, {row['iqrs']:+.1f} IQRs)")
            agrees &= found
    for git_hash in culprits:
        row = steps.get(git_hash)
        if row is None:
            print(f"FALSE: {git_hash} is not a release in the range")
            agrees = False
        elif row["iqrs"] is None:
            print(f"FALSE: {row['release']} has no measured step")
            agrees = False
        elif not is_truth(row):
            real = row["iqrs"] >= SMALL_STEP_IQRS
            print(f"{'small but real' if real else 'FALSE'}: {row['release']} "
                  f"({row['percent']:+.1f} %, {row['iqrs']:+.1f} IQRs)")
            agrees &= real
    return agrees


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Unknown options go to `pinpoint bisect`, for example --seed=7.",
        allow_abbrev=False,
    )
    parser.add_argument("--pinpoint", type=Path, default=PINPOINT, help="the binary (default: target/release/pinpoint)")
    parser.add_argument("--work", type=Path, default=default_cache() / "work",
                        help="directory for the history and the truth (default: %(default)s)")
    parser.add_argument("--good", default="v16.8", help="first release of the range (default: %(default)s)")
    parser.add_argument("--bad", default="v24.1",
                        help="last release of the range (default: %(default)s; v25.0 has a second culprit)")
    parser.add_argument("--magnitude", default="200%",
                        help="smallest change worth finding, in percent of the oldest release (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=30, help="runs of every release for the truth (default: %(default)s)")
    arguments, options = parser.parse_known_args()
    if not os.access(arguments.pinpoint, os.X_OK):
        raise RecipeError(f"{arguments.pinpoint} is no program; build it (`cargo build --release`) or name it with --pinpoint")

    tags = [f"v{version}" for version, _ in read_releases()]
    for tag in (arguments.good, arguments.bad):
        if tag not in tags:
            raise RecipeError(f"there is no release {tag}; there are {', '.join(tags)}")

    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    history = work / "history"
    if not history.exists():
        make_history(history, default_cache())
    rows = measured_truth(history, work / "truth.json", arguments.rounds)
    print_table(rows)
    steps = steps_between(rows, arguments.good, arguments.bad)

    # A separate state: earlier builds and jobs must not help, and nothing is left over.
    with tempfile.TemporaryDirectory(dir=work) as state:
        document = bisect(arguments.pinpoint.absolute(), history, state, arguments.good, arguments.bad,
                          [f"--magnitude={arguments.magnitude}", *options])
    culprits = [culprit["commit"]["main"]["git_hash"] for culprit in document["culprits"]]
    print(f"\ntruth: steps of {TRUTH_PERCENT:g} % and {TRUTH_IQRS:g} IQRs or more, from {arguments.good} to {arguments.bad}")
    print(f"bisection: {document['status']}, {document['runs']} runs, {document['builds']} builds, "
          f"{document['duration_s']} s, {len(document['skipped'])} skipped")
    agrees = compare(steps, culprits)
    print("the bisection agrees with the truth" if agrees else "the bisection DISAGREES with the truth")
    sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"check.py: {error}")
