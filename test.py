#!/usr/bin/env python3
"""Runs all tests of this repository, Rust and Python.

    python3 test.py [rust|python]

Needs cargo and Python 3.10 or later, and nothing installed in that Python: the
module is built in one virtual environment, and installed and tested in another,
where no Rust is to be seen; both are made anew each time below cargo's target
directory. Ends with what passed and what failed, and
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
# What builds the module.
BUILD_TOOLS = ["maturin>=1.9,<2"]
# What runs its tests, checks its types, and plays the part of its users' data
# frames, pictures and notebooks.
TEST_TOOLS = [
    "pytest>=8,<10", "pytest-timeout", "mypy>=1.15,<3", "pyright[nodejs]",
    "pandas>=2", "polars>=1", "matplotlib>=3.8", "nbclient", "nbformat", "ipykernel", "tqdm",
]


class Failed(Exception):
    """A step failed; the message says what to do about it."""


def run(*command, hint, environment=None):
    """Shows a command and runs it, its output going where ours goes."""
    print("\n$", *command, flush=True)
    words = [str(part) for part in command]
    if subprocess.run(words, cwd=ROOT, env=environment).returncode != 0:
        raise Failed(hint)


def test_rust():
    # The dev profile: it checks for overflows, and optimises the crates that
    # calculate.
    run("cargo", "test", "--workspace", "--all-features", "--no-fail-fast",
        hint="a Rust test failed, or did not compile: see above")


def new_environment(directory):
    """A virtual environment; the commands that run Python and pip in it."""
    run(sys.executable, "-m", "venv", "--clear", directory,
        hint="no virtual environment could be made: Debian and Ubuntu have the "
             "modules venv and ensurepip in the package python3-venv")
    python = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return python, [python, "-m", "pip", "--disable-pip-version-check"]


def without_rust(directory):
    """An environment in which no Rust toolchain can be used: stand-ins that fail come first."""
    directory.mkdir(parents=True, exist_ok=True)
    for tool in ("cargo", "rustc", "rustup", "maturin"):
        stand_in = directory / tool
        stand_in.write_text(f"#!/bin/sh\necho '{tool} was called, where no Rust is to be needed' >&2\nexit 1\n")
        stand_in.chmod(0o755)
    path = os.pathsep.join([str(directory), os.environ.get("PATH", "")])
    unwanted = ("CARGO", "RUST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "PATH": path}


def test_python():
    home = TARGET / "python"
    wheels = home / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    unreachable = "pip could not install what the tests need: is the package index reachable?"
    python, pip = new_environment(home / "build")
    run(*pip, "install", "--quiet", *BUILD_TOOLS, hint=unreachable)
    # The profile of the Rust tests, so that most of it is built already.
    run(python, "-m", "maturin", "build", "--profile", "dev", "--interpreter", python,
        "--manifest-path", ROOT / "pinpoint-py" / "Cargo.toml", "--out", wheels,
        hint="the Python module could not be built: see above")
    # From here on as a user has it: a wheel, and no Rust.
    environment = without_rust(home / "no-rust")
    python, pip = new_environment(home / "venv")
    run(*pip, "install", "--quiet", *wheels.glob("*.whl"), environment=environment,
        hint="the wheel could not be installed: see above")
    run(python, "-c", "import pinpoint; print('pinpoint', pinpoint.__version__)", environment=environment,
        hint="the module needs more than the wheel and NumPy: see above")
    run(*pip, "install", "--quiet", *TEST_TOOLS, environment=environment, hint=unreachable)
    tests = ROOT / "pinpoint-py" / "tests"
    run(python, "-m", "mypy", "--strict", "--package", "pinpoint", environment=environment,
        hint="mypy objects to the module: see above")
    run(python, "-m", "mypy.stubtest", "pinpoint._pinpoint", environment=environment,
        hint="the stub differs from the module: see above")
    run(python, "-m", "mypy", "--strict", *tests.glob("*.py"), environment=environment,
        hint="mypy objects to the tests: see above")
    run(python, "-m", "pyright", "--pythonpath", python, tests, environment=environment,
        hint="pyright objects to the tests: see above")
    run(python, "-m", "pytest", "--quiet", "--timeout=120", ROOT / "pinpoint-py", environment=environment,
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
