#!/usr/bin/env python3
"""Bisect a split history with `pinpoint`, with and without its savings of builds, and count them.

Each line of the table is a separate search, with its own state directory: earlier builds do
not help it. The culprits are compared with those that measure_steps.py found.
"""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from make_history import RecipeError
from measure_steps import is_slower
from projects import PROJECTS

PINPOINT = Path(__file__).resolve().parents[2] / "target" / "release" / "pinpoint"
WAYS = {
    "neither": ["--prior=none"],
    "priors": [],
    "same builds": ["--prior=none", "--trace-reads"],
    "both": ["--trace-reads"],
}


def bisect(pinpoint, project, history, way, seed, state, options):
    """The JSON document of one search, and its progress output."""
    with contextlib.ExitStack() as stack:
        state = state or stack.enter_context(tempfile.TemporaryDirectory())
        command = [pinpoint, "bisect", "-C", history, "--chart", project.chart, "--direction", project.direction,
                   "--output", "json", "--state-dir", state, f"--seed={seed}", *WAYS[way], *options]
        if project.build:
            command += ["--build", project.command(project.build)]
        command += ["--", *shlex.split(project.command(project.benchmark))]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    # A culprit, none, or a range: anything else is not an answer.
    if done.returncode not in (0, 3, 4):
        raise RecipeError(f"pinpoint ended with code {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout), done.stderr


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        epilog="All other arguments go to `pinpoint bisect`, the two ends among them.")
    parser.add_argument("project", choices=PROJECTS)
    parser.add_argument("history", type=Path, help="the repository that split_history.py made")
    parser.add_argument("truth", type=Path, help="the JSON file that measure_steps.py wrote")
    parser.add_argument("--pinpoint", type=Path, default=PINPOINT, help="the binary (default: target/release/pinpoint)")
    parser.add_argument("--ways", default=",".join(WAYS), help="the lines of the table (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="searches for each line (default: %(default)s)")
    parser.add_argument("--state", type=Path, help="one state directory for all searches: builds are made once, and not counted")
    parser.add_argument("--log", type=Path, help="directory to keep results and progress in")
    arguments, options = parser.parse_known_args()
    truth = json.loads(arguments.truth.read_text(encoding="utf-8"))
    known = {row["git_hash"]: row for found in truth["commits"].values() for row in found if is_slower(row)}

    for way in arguments.ways.split(","):
        for seed in range(1, arguments.seeds + 1):
            document, progress = bisect(arguments.pinpoint.absolute(), PROJECTS[arguments.project], arguments.history, way,
                                        seed, arguments.state, options)
            if arguments.log:
                arguments.log.mkdir(parents=True, exist_ok=True)
                name = f"{arguments.project}-{way.replace(' ', '-')}-{seed}"
                (arguments.log / f"{name}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
                (arguments.log / f"{name}.log").write_text(progress, encoding="utf-8")
            culprits = [culprit["commit"]["main"]["git_hash"] for culprit in document["culprits"]]
            named = [f"{known[it]['message']} (true)" if it in known else f"{it[:12]} (FALSE)" for it in culprits]
            print(f"| {arguments.project} | {way} | {seed} | {document['builds']} | {document['runs']} | "
                  f"{document['duration_s']:.0f} s | {os.getloadavg()[0]:.1f} | {'; '.join(named) or document['status']} |",
                  flush=True)


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"fewer_builds.py: {error}")
