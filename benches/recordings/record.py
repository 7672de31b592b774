"""Records the run times of real programs, for simulated searches in real noise.

    python3 benches/recordings/record.py DIRECTORY             # as the machine is
    python3 benches/recordings/record.py DIRECTORY --load 6    # with 6 other busy processes

Runs five programs 1,000 times each, one after the other, and writes a file for each:
`PROGRAM-quiet.csv` or `PROGRAM-loaded.csv`, with the wall time and the user time of
every run in microseconds, in the order in which they were made. The programs need
python3, git, gcc, gzip and perl. It takes about 2 minutes, with a load of 6 about 10.

The load is made of processes that compute for a while and sleep for a while, both by
chance, as the jobs of other users do.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

LOAD = """
import random, time
random = random.Random({seed})
while True:
    until = time.monotonic() + random.expovariate(1 / 2.0)
    while time.monotonic() < until:
        sum(range(10_000))
    time.sleep(random.expovariate(1 / 0.5))
"""


def programs(scratch: pathlib.Path) -> dict[str, list[str]]:
    """The programs, with generated input."""
    text = scratch / "text"
    words = random.Random(1)
    text.write_text("\n".join(str(words.getrandbits(60)) for _ in range(16_000)))
    source = scratch / "source.c"
    source.write_text("\n".join(f"int f{i}(int x) {{ return x * {i} + (x >> {i % 31}); }}" for i in range(150)))
    repository = scratch / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    for name in range(400):
        (repository / f"file{name}").write_text(f"{name}\n" * 200)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)
    return {
        "python": ["python3", "-S", "-c", "import json; json.loads(json.dumps(list(range(60000))))"],
        "git": [*git, "archive", "HEAD"],
        "gcc": ["gcc", "-c", "-O0", str(source), "-o", str(scratch / "object")],
        "gzip": ["gzip", "--stdout", "-6", str(text)],
        "perl": ["perl", "-e", "my %h; $h{$_ % 5003} .= $_ for 1 .. 60000; print scalar keys %h"],
    }


def run(command: list[str]) -> tuple[int, int]:
    """Wall time and user time in microseconds."""
    began = time.monotonic_ns()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic_ns() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}: {' '.join(command)}")
    return wall // 1_000, round(usage.ru_utime * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--load", type=int, default=0, metavar="N", help="busy processes beside the programs")
    parser.add_argument("--runs", type=int, default=1_000)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    busy = [
        subprocess.Popen([sys.executable, "-c", LOAD.format(seed=seed)])
        for seed in range(options.load)
    ]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for name, command in programs(pathlib.Path(scratch)).items():
                run(command)  # Not counted: it fills the caches.
                times = [run(command) for _ in range(options.runs)]
                state = "loaded" if options.load else "quiet"
                path = options.directory / f"{name}-{state}.csv"
                path.write_text("wall,user\n" + "".join(f"{wall},{user}\n" for wall, user in times))
                print(path)
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
