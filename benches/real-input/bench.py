#!/usr/bin/env python3
"""Times the parsing of version specifiers by the `packaging` of the current directory.

Prints one line, `parse_specifiers: VALUE ms`: the processor time that parsing a
fixed list of specifiers takes.
"""

import os
import sys
import time

CHART = "parse_specifiers"
PASSES = 30

# Specifiers are in sets, so a random hash seed would change the work from run to run.
if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, *sys.argv])

# The work tree stays as it was checked out.
sys.dont_write_bytecode = True
# Source distributions of later releases have it in `src`.
PLACE = os.path.realpath("src" if os.path.isdir("src/packaging") else ".")
sys.path.insert(0, PLACE)

import packaging  # noqa: E402
from packaging.specifiers import SpecifierSet  # noqa: E402

# An installed copy must never be measured in place of the commit's own.
if os.path.dirname(os.path.realpath(str(packaging.__file__))) != os.path.join(PLACE, "packaging"):
    sys.exit(f"bench.py: there is no packaging in {os.getcwd()}; found {packaging.__file__}")


def requirements():
    """480 specifier strings of the kinds that dependency lists hold, none with duplicates."""
    kinds = (
        ">={major}.{minor},<{next}",
        "~={major}.{minor}.{patch}",
        "=={major}.{minor}.*,!={major}.{minor}.{patch}",
        ">={major}.{minor}.{patch},!={major}.{minor}.9,!={next}.0rc1,<{next}.5",
    )
    for major in range(1, 6):
        for minor in range(1, 9):
            for patch in range(1, 4):
                for kind in kinds:
                    yield kind.format(major=major, minor=minor, patch=patch, next=major + 1)


def parse(texts):
    return sum(len(SpecifierSet(text)) for text in texts)


def main():
    texts = list(requirements())
    # One pass that is not timed fills the caches of `re`; its result must be right to go on.
    parsed, expected = parse(texts), sum(text.count(",") + 1 for text in texts)
    if parsed != expected:
        sys.exit(f"bench.py: parsed {parsed} specifiers, expected {expected}")
    # Processor time, and the fastest of many equal passes: time added by other programs
    # is not the cost of this one.
    fastest = float("inf")
    for _ in range(PASSES):
        start = time.process_time()
        parse(texts)
        fastest = min(fastest, time.process_time() - start)
    print(f"{CHART}: {fastest * 1000:.4f} ms")


if __name__ == "__main__":
    main()
