#!/usr/bin/env python3
"""Runs real benchmark tools under `pinpoint bisect GOOD BAD -- THE USUAL COMMAND`.

Each tool of entries.py gets a git repository of six commits, one of which adds work. The search,
with no other option, must name that commit. The exit code is 1 when a tool that is not optional
was not found right, or is not there.

    testing/tools/matrix.py --pinpoint target/debug/pinpoint [--cache DIR] [TOOL ...]
"""

import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from entries import TOOLS, Tool

COMMITS = 6
SLOW_COMMIT = 3


class NotAvailable(Exception):
    """A tool that can't be run here, and why."""


@dataclass
class Outcome:
    """The answer of one search, and details.

    `found`, `refused`, `wrong`, `not available`, or `not searched` with --outputs-only.
    """

    verdict: str
    detail: str = ""


def run(command, **options):
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise NotAvailable(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def missing(tool: Tool) -> list[str]:
    """The programs and files that the tool needs and that are not there."""
    absent = [program for program in tool.programs if shutil.which(program) is None]
    return absent + [path for path in tool.system if not glob.glob(path)]


def install(tool: Tool, cache: Path) -> dict[str, str]:
    """Installs what the tool needs, and returns the environment to run it in."""
    absent = missing(tool)
    packages = {**tool.programs, **tool.system}
    unnamed = [thing for thing in absent if not packages[thing]]
    if unnamed or (absent and tool.optional):
        raise NotAvailable("missing: " + ", ".join(absent))
    if absent:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise NotAvailable("missing: " + ", ".join(absent))
        run(["apt-get", "update", "--quiet"])
        names = [packages[thing] for thing in absent]
        run(["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", *names])
        absent = missing(tool)
        if absent:
            raise NotAvailable("missing after installation: " + ", ".join(absent))
    environment = dict(os.environ)
    # An absolute one would hold the builds of all commits.
    environment.pop("CARGO_TARGET_DIR", None)
    for crate in tool.cargo:
        root = cache / crate
        if not (root / "bin").exists():
            run(["cargo", "install", "--quiet", "--locked", "--root", str(root), crate])
        environment["PATH"] = f"{root}/bin:{environment['PATH']}"
    if tool.python:
        # The packages are part of the name, so that another version is another environment.
        venv = cache / "-".join(["venv", *tool.python])
        if not (venv / "complete").exists():
            run([sys.executable, "-m", "venv", "--clear", str(venv)])
            run([str(venv / "bin/python3"), "-m", "pip", "install", "--quiet", *tool.python])
            (venv / "complete").touch()
        environment["PATH"] = f"{venv}/bin:{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(venv)
    return environment


def git(repository: Path, *arguments: str) -> str:
    """Runs git as an author that no configuration of the machine changes."""
    fixed = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    return run(["git", *who, *arguments], cwd=repository, env={**os.environ, **fixed})


def make_repository(tool: Tool, repository: Path, slowdown: float) -> list[str]:
    """Commits the project, and notes beside it; returns the commits, oldest first."""
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch", "main")
    commits = []
    for number in range(COMMITS):
        work = tool.work if number < SLOW_COMMIT else round(tool.work * (1 + slowdown / 100))
        for name, text in tool.files.items():
            file = repository / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("@WORK@", str(work)))
        (repository / "data.bin").write_text(f"version {number}\n")
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", f"Change {number}")
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    return commits


def version_of(tool: Tool, environment) -> str:
    """The tool's version, as the entry or the tool itself says it."""
    if isinstance(tool.version, str):
        return tool.version
    done = subprocess.run(
        tool.version, env=environment, capture_output=True, text=True, check=False
    )
    return ((done.stdout or done.stderr).strip().splitlines() or ["unknown"])[0]


def save_output(tool: Tool, repository: Path, environment, directory: Path):
    """Runs the usual command once without pinpoint, and keeps what it prints."""
    done = subprocess.run(
        tool.command, cwd=repository, env=environment, capture_output=True, check=False
    )
    with open(directory / f"{tool.name}.txt", "wb") as file:
        version = version_of(tool, environment)
        file.write(f"# version: {version}\n# command: {tool.command}\n".encode())
        file.write(f"# exit code {done.returncode}\n# standard output\n".encode() + done.stdout)
        file.write(b"# standard error\n" + done.stderr)
    git(repository, "clean", "--quiet", "-d", "-x", "--force")


def search(tool: Tool, commits, repository: Path, environment, arguments) -> Outcome:
    """Searches the repository, and judges the answer."""
    # The state directory and the form of the answer are no options of the search.
    environment = {**environment, "PINPOINT_STATE_DIR": str(repository.parent / "state")}
    command = [str(arguments.pinpoint), "bisect", "--output", "json", "--quiet"]
    # What follows is all that a user types.
    command += [commits[0], commits[-1], "--", *tool.command]
    process = subprocess.Popen(
        command, cwd=repository, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        # As Ctrl-C: its runs are ended, too.
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate()
        return Outcome("wrong", f"no answer after {arguments.limit} s: {errors.strip()[-600:]}")
    if arguments.outputs:
        (arguments.outputs / f"{tool.name}.json").write_text(output)
    return judge(process.returncode, output, errors, commits[SLOW_COMMIT])


def judge(code: int, output: str, errors: str, culprit: str) -> Outcome:
    """Says of an answer whether it names the culprit."""
    if code == 2 or (code not in (0, 3, 4)):
        return Outcome("refused", f"exit code {code}: {(errors or output).strip()[:1500]}")
    try:
        result = json.loads(output)
    except ValueError:
        return Outcome("wrong", f"exit code {code}, and no JSON: {output[:500]}")
    culprits = result.get("culprits", [])
    if code == 0 and {it["blamed"]["git_hash"] for it in culprits} == {culprit}:
        return Outcome("found", summary_of(result))
    named = [f"{it['blamed']['subject']} ({it['probability']:.3f})" for it in culprits]
    answer = f"exit code {code}, {result['status']}, named: {', '.join(named) or 'none'}"
    return Outcome("wrong", f"{answer}; {summary_of(result)}")


def summary_of(result) -> str:
    """A few words on what the search took, the metric that decided, and what the answer remarks."""
    metric = result["metric"]
    unit = metric["unit"] or "no unit"
    words = f"{result['runs']} runs, {metric['chart']} in {unit}, {metric['format']}"
    return "; ".join([words, *result["warnings"]])


def matrix_of_one(tool: Tool, arguments) -> Outcome:
    """Installs, prepares and searches one tool."""
    try:
        environment = install(tool, arguments.cache)
    except NotAvailable as reason:
        return Outcome("not available", str(reason))
    scratch = Path(tempfile.mkdtemp(prefix=f"matrix-{tool.name}-"))
    try:
        commits = make_repository(tool, scratch / "repository", arguments.slowdown)
        if arguments.outputs:
            arguments.outputs.mkdir(parents=True, exist_ok=True)
            save_output(tool, scratch / "repository", environment, arguments.outputs)
        if arguments.outputs_only:
            return Outcome("not searched")
        outcome = search(tool, commits, scratch / "repository", environment, arguments)
        outcome.detail = f"{version_of(tool, environment)}: {outcome.detail}"
        return outcome
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL", help="names of tools [default: all]")
    parser.add_argument("--pinpoint", type=Path, required=True, help="the program under test")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pinpoint-tools",
                        help="a directory for packages that are installed")
    parser.add_argument("--slowdown", type=float, default=30, help="the planted one, in percent")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one search")
    parser.add_argument("--outputs", type=Path, help="a directory for what each tool prints, and for the answers")
    parser.add_argument("--outputs-only", action="store_true", help="do not search")
    arguments = parser.parse_args()
    arguments.pinpoint = arguments.pinpoint.resolve()
    arguments.cache = arguments.cache.resolve()
    arguments.cache.mkdir(parents=True, exist_ok=True)

    known = {tool.name: tool for tool in TOOLS}
    unknown = [name for name in arguments.tools if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    failed = 0
    passed = 0
    skipped = 0
    for tool in [known[name] for name in arguments.tools] or TOOLS:
        started = time.monotonic()
        outcome = matrix_of_one(tool, arguments)
        print(f"{tool.name:18} {outcome.verdict:14} {time.monotonic() - started:6.0f} s  {outcome.detail}",
              flush=True)
        if outcome.verdict == "found":
            passed += 1
        elif outcome.verdict == "not searched":
            skipped += 1
        elif outcome.verdict == "not available" and tool.optional:
            print(f"{'':18} optional: {tool.optional}")
            skipped += 1
        else:
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
