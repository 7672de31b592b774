#!/usr/bin/env python3
"""Runs all tests of this repository, Rust and Python.

    python3 test.py [rust|python]

Needs cargo and Python 3.10 or later, and nothing installed in that Python: the
module is built and tested in a virtual environment of its own, made anew each
time below cargo's target directory. Ends with what passed and what failed, and
with exit code 0 only if nothing failed.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
# What builds the module, and what runs its tests.
TOOLS = ["maturin>=1.9,<2", "pytest>=8,<10"]


class Failed(Exception):
    """A step failed; the message says what to do about it."""


def run(*command, hint):
    """Shows a command and runs it, its output going where ours goes."""
    print("\n$", *command, flush=True)
    if subprocess.run([str(part) for part in command], cwd=ROOT).returncode != 0:
        raise Failed(hint)


def test_rust():
    # The dev profile: it checks for overflows, and optimises the crates that
    # calculate.
    run("cargo", "test", "--workspace", "--all-features", "--no-fail-fast",
        hint="a Rust test failed, or did not compile: see above")


def test_python():
    home = TARGET / "python"
    environment, wheels = home / "venv", home / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--clear", environment,
        hint="no virtual environment could be made: Debian and Ubuntu have the "
             "modules venv and ensurepip in the package python3-venv")
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", *TOOLS,
        hint="pip could not install what the tests need: is the package index reachable?")
    # The profile of the Rust tests, so that most of it is built already.
    run(python, "-m", "maturin", "build", "--profile", "dev", "--interpreter", python,
        "--manifest-path", ROOT / "pinpoint-py" / "Cargo.toml", "--out", wheels,
        hint="the Python module could not be built: see above")
    run(*pip, "install", "--quiet", "--no-index", *wheels.glob("*.whl"),
        hint="the wheel could not be installed: see above")
    run(python, "-m", "pytest", "--quiet", ROOT / "pinpoint-py",
        hint="a Python test failed: see above")


SUITES = {"rust": test_rust, "python": test_python}


def main(arguments):
    unknown = [name for name in arguments if name not in SUITES]
    if unknown:
        print(f"there are no tests called {unknown[0]!r}: use rust or python", file=sys.stderr)
        return 2
    if sys.version_info < (3, 10):
        print(f"Python 3.10 or later is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if shutil.which("cargo") is None:
        print("cargo is missing: install Rust from https://rustup.rs", file=sys.stderr)
        return 2

    results = []
    for name in arguments or SUITES:
        start = time.monotonic()
        try:
            SUITES[name]()
            result = "passed"
        except Failed as error:
            result = f"FAILED: {error}"
        results.append((name, result, time.monotonic() - start))

    print("\nTests of this repository:")
    for name, result, seconds in results:
        print(f"  {name:6} {seconds:4.0f} s  {result}")
    return 0 if all(result == "passed" for _, result, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
