#!/usr/bin/env python3
"""Busy processes that come and go, so that a search is disturbed as on a shared machine.

Each process is idle and busy by turns, for 3 to 90 s. A spell is of arithmetic, memory or forks.
The spells follow from the seed and the number of the process alone.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator

KINDS = ("arithmetic", "memory", "forks")
SHORTEST, LONGEST = 3.0, 90.0
# How long a piece of work takes at most, between two looks at the parent and the clock.
SLICE = 0.05


def spells(seed: int, number: int) -> Iterator[tuple[str, float]]:
    """What a process does, and for how many seconds: idle spells, and busy ones of some kind."""
    rng = random.Random(f"{seed} {number}")
    busy = rng.random() < 0.5
    while True:
        yield rng.choice(KINDS) if busy else "idle", rng.uniform(SHORTEST, LONGEST)
        busy = not busy


def work(kind: str, buffer: bytearray) -> None:
    """A piece of work of about SLICE."""
    until = time.monotonic() + SLICE
    if kind == "idle":
        time.sleep(SLICE)
    while kind != "idle" and time.monotonic() < until:
        if kind == "arithmetic":
            sum(it * it for it in range(20_000))
        elif kind == "memory":
            buffer[:] = buffer[1:] + buffer[:1]
        else:
            subprocess.run(["true"], check=False)


def blow(seed: int, number: int, parent: int) -> None:
    """Follows the spells until the parent has ended."""
    # Larger than the caches of most processors.
    buffer = bytearray(32 << 20)
    for kind, seconds in spells(seed, number):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.getppid() != parent:
                return
            work(kind, buffer)


class Weather:
    """Busy processes, for as long as the `with` block takes."""

    def __init__(self, processes: int, seed: int):
        self.processes = processes
        self.seed = seed
        self.running: list[subprocess.Popen] = []

    def __enter__(self):
        for number in range(self.processes):
            command = [sys.executable, __file__, str(self.seed), str(number), str(os.getpid())]
            self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    blow(*(int(it) for it in sys.argv[1:4]))
