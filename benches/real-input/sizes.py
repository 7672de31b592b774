#!/usr/bin/env python3
"""Measures the information in the size of a change about a change in speed.

Releases of some small pure Python packages are fetched through pip and timed. Each step from
one release to the next touches a known number of files and lines of Python. The
table says how many bits about each step that changed the speed would have been known
beforehand, had steps been suspected by their size: a search saves a build for each bit.
A step changed the speed if every other round says so, and the rounds between as well.

No package is built; imported code runs with PYTHONHASHSEED=0.
"""

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

# The versions that have a wheel and run this work under Python 3.11.
RELEASES = {
    "sqlparse": "0.2.3 0.2.4 0.3.0 0.3.1 0.4.0 0.4.1 0.4.2 0.4.3 0.4.4 0.5.0 0.5.1 0.5.2 0.5.3 0.5.4 0.5.5 0.6.0 0.6.1",
    "tomlkit": "0.5.0 0.5.3 0.5.6 0.5.8 0.5.11 0.6.0 0.7.0 0.7.1 0.7.2 0.8.0 0.9.0 0.9.1 0.9.2 0.10.0 0.10.1 0.10.2"
    " 0.11.0 0.11.1 0.11.2 0.11.3 0.11.4 0.11.5 0.11.6 0.11.7 0.11.8 0.12.0 0.12.1 0.12.2 0.12.3 0.12.4 0.12.5"
    " 0.13.0 0.13.1 0.13.2 0.13.3 0.14.0 0.15.0",
    "mistune": "0.7.4 0.8.1 0.8.2 0.8.3 0.8.4 2.0.0 2.0.1 2.0.2 2.0.3 2.0.4 2.0.5 3.0.0 3.0.1 3.0.2 3.1.0 3.1.1"
    " 3.1.2 3.1.3 3.1.4 3.2.0 3.2.1 3.3.0 3.3.2 3.3.4 3.4.0",
    "Markdown": "3.0 3.0.1 3.1 3.1.1 3.2 3.2.1 3.2.2 3.3 3.3.1 3.3.2 3.3.3 3.3.4 3.3.6 3.3.7 3.4 3.4.1 3.4.3 3.4.4"
    " 3.5 3.5.1 3.5.2 3.6 3.7 3.8 3.8.2 3.9 3.10 3.10.2 3.11",
}
MARKDOWN = "# Title\n\nSome *emph*, **strong** and `code` in a [link](http://x.y/ \"t\").\n\n- one\n- two\n    - nested\n\n" \
    "1. first\n2. second\n\n> quote\n> goes on\n\n    code block\n\n![img](a.png) and <b>html</b>  \nbreak\n\n"
SQL = "SELECT a.id, b.name AS n, (SELECT MAX(x) FROM t WHERE y > 3 AND z IN (1, 2, 3)) FROM foo a LEFT JOIN bar b " \
    "ON a.id = b.id WHERE a.v = 'str' GROUP BY a.id HAVING COUNT(*) > 1 ORDER BY n DESC;\n"
TOML = "[table{0}]\nname = \"value\" # comment\nnumber = {0}\nfloat = 0.5\nflag = true\ndate = 1979-05-27T07:32:00Z\n" \
    "list = [1, 2, 3]\ninline = {{ a = 1, b = \"x\" }}\n[table{0}.sub]\nkey = '''several\nlines'''\n[[tables]]\nk = {0}\n"
# Runs in a separate process, and prints the milliseconds of its fastest pass last: one
# release of sqlparse prints more.
WORK = """
import importlib, sys, time
package, place, text = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, place)
module = importlib.import_module(package.lower())
assert module.__file__.startswith(place), module.__file__
work = {"sqlparse": lambda: module.format(text, reindent=True, keyword_case="upper"),
        "tomlkit": lambda: module.dumps(module.parse(text)),
        "mistune": lambda: getattr(module, "html", None) and module.html(text) or module.markdown(text),
        "Markdown": lambda: module.markdown(text)}[package]
work()
fastest = float("inf")
for _ in range(6):
    start = time.process_time()
    work()
    fastest = min(fastest, time.process_time() - start)
print(fastest * 1000)
"""
TEXTS = {"sqlparse": SQL * 12, "tomlkit": "".join(TOML.format(n) for n in range(20)), "mistune": MARKDOWN * 25,
         "Markdown": MARKDOWN * 25}
# The suspicion of a step by the files and lines that it touches.
WEIGHTS = {
    "root of files, 4 at most": lambda files, lines: min(4, math.sqrt(files)),
    "root of files": lambda files, lines: math.sqrt(files),
    "4th root of lines": lambda files, lines: lines ** 0.25,
    "root of lines": lambda files, lines: math.sqrt(lines),
    "lines": lambda files, lines: lines,
}


def fetch(package, version, cache):
    place = cache / package / version
    if not place.exists():
        wheels = cache / "wheels" / f"{package}-{version}"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--only-binary", ":all:", "--dest", wheels, f"{package}=={version}"], check=True)
        (wheel,) = wheels.iterdir()
        zipfile.ZipFile(wheel).extractall(place)
    return place


def milliseconds(package, place):
    command = [sys.executable, "-c", WORK, package, str(place), TEXTS[package]]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()[-1])


def touched(before, after):
    """The files and lines of Python that differ."""
    command = ["git", "diff", "--no-index", "--no-renames", "--numstat", before, after]
    listed = subprocess.run(command, capture_output=True, text=True).stdout
    lines = [int(added) + int(removed) for added, removed in re.findall(r"^(\d+)\t(\d+)\t.*\.py\b", listed, re.M)]
    return len(lines), sum(lines)


def measure(cache, rounds):
    places = {(package, version): fetch(package, version, cache)
              for package, versions in RELEASES.items() for version in versions.split()}
    halves = [dict.fromkeys(places, float("inf")) for _ in range(2)]
    generator = random.Random(1)
    for number in range(rounds):
        fastest = halves[number % 2]
        for release in generator.sample(sorted(places), len(places)):
            fastest[release] = min(fastest[release], milliseconds(release[0], places[release]))
    steps = []
    for package, versions in RELEASES.items():
        releases = [(package, version) for version in versions.split()]
        for before, after in zip(releases, releases[1:]):
            files, lines = touched(places[before], places[after])
            if files:
                low, high = sorted(math.log(fastest[after] / fastest[before]) for fastest in halves)
                change = max(low, 0.0) + min(high, 0.0)
                steps.append({"package": package, "version": after[1], "files": files, "lines": lines, "change": change})
    return steps


def bits(steps, weight, smallest):
    """Of each step that changed the speed: how much likelier it is than if all were alike."""
    found = []
    for package in RELEASES:
        own = [step for step in steps if step["package"] == package]
        mean = sum(weight(step["files"], step["lines"]) for step in own) / len(own)
        found += [math.log2(weight(step["files"], step["lines"]) / mean)
                  for step in own if abs(step["change"]) >= math.log1p(smallest)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path, help="where releases are kept, and the steps, in steps.json")
    parser.add_argument("--rounds", type=int, default=12, help="processes for each release, 2 or more (default: %(default)s)")
    arguments = parser.parse_args()
    cache = arguments.cache.resolve()
    steps = measure(cache, arguments.rounds)
    (cache / "steps.json").write_text(json.dumps(steps, indent=1) + "\n")
    print(f"{len(steps)} steps; bits known of each that changed the speed, by how steps are suspected\n")
    for smallest in (0.05, 0.1):
        for name, weight in WEIGHTS.items():
            found = bits(steps, weight, smallest)
            mean, error = statistics.mean(found), statistics.stdev(found) / math.sqrt(len(found))
            print(f"{len(found):3} of {100 * smallest:.0f} % or more, {name:25} {mean:+.2f} ± {error:.2f}")


if __name__ == "__main__":
    main()
