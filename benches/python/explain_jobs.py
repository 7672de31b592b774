#!/usr/bin/env python3
"""`pinpoint explain` on programs whose slower function is known.

    cargo build --release -p pinpoint-cli
    python benches/python/explain_jobs.py target/release/pinpoint [--only WORD] [--same N]

Each job is a repository of two commits with a small program in C, Rust, Python, JavaScript
or Go, or a page in Chromium, compared in pairs and then explained by the profiler that `auto`
takes, or the one named. The right function must come first in all of them. With `--same N`, the same build is
profiled on both sides, and N comparisons of 16 pairs each may name a function in 5 % at
most. Needs a C compiler, rustc, node, go, chromium, perf, valgrind and py-spy. Exit code 1 when a
target is missed.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAIRS_OF_SAME = 16

C = """#include <stdio.h>
NOINLINE unsigned hash_word(unsigned word) {
    for (int round = 0; round < 40; round++) word = word * 31 + round;
    return word;
}
NOINLINE unsigned parse_word(unsigned word) {
    for (int round = 0; round < 60; round++) word = word * 17 ^ round;
    return word;
}
NOINLINE unsigned print_word(unsigned word) {
    for (int round = 0; round < 30; round++) word = word * 13 + round;
    return word;
}
int main(void) {
    unsigned sum = 0;
    for (unsigned word = 0; word < 1000000; word++) sum += print_word(hash_word(parse_word(word)));
    return sum == 42;
}
""".replace("NOINLINE", "__attribute__((noinline))")
C_DEPENDENCY = """unsigned hash_word(unsigned word) {
    for (int round = 0; round < 40; round++) word = word * 31 + round;
    return word;
}
"""
# A hundred functions that each take a hundredth, as in a larger program.
C_LARGE = "\n".join([
    *(f"__attribute__((noinline)) unsigned work_{number}(unsigned word) {{\n"
      f"    for (int round = 0; round < 8; round++) word = word * {2 * number + 3} ^ round;\n    return word;\n}}"
      for number in range(100)),
    "int main(void) {\n    unsigned sum = 0;\n    for (unsigned word = 0; word < 1000000; word++) {",
    *(f"        sum += work_{number}(word);" for number in range(100)),
    "    }\n    return sum == 42;\n}\n"])
RUST = """use std::hint::black_box;
#[inline(never)]
fn hash_word(mut word: u32) -> u32 {
    for round in 0..40 { word = word.wrapping_mul(31) ^ black_box(round); }
    word
}
#[inline(never)]
fn parse_word(mut word: u32) -> u32 {
    for round in 0..60 { word = word.wrapping_mul(17) ^ black_box(round); }
    word
}
#[inline(never)]
fn print_word(mut word: u32) -> u32 {
    for round in 0..30 { word = word.wrapping_mul(13) ^ black_box(round); }
    word
}
fn main() {
    let mut sum = 0_u32;
    for word in 0..1_000_000 { sum = sum.wrapping_add(print_word(hash_word(parse_word(word)))); }
    black_box(sum);
}
"""
RUST_DEPENDENCY = RUST.partition("#[inline(never)]\nfn parse_word")[0].replace("fn hash", "pub fn hash")
PYTHON = """
def hash_words(count):
    total = 0
    for word in range(count):
        total = (total * 31 + word) % 1000003
    return total

def parse_words(count):
    total = 0
    for word in range(count):
        total = (total * 17 + word) % 1000003
    return total

def print_words(count):
    total = 0
    for word in range(count):
        total = (total * 13 + word) % 1000003
    return total

for part in range(10):
    parse_words(600000)
    hash_words(400000)
    print_words(300000)
"""
NODE = """
function hashWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 31 + word) % 1000003;
  return total;
}
function parseWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 17 + word) % 1000003;
  return total;
}
function printWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 13 + word) % 1000003;
  return total;
}
for (let part = 0; part < 20; part++) {
  parseWords(6e5);
  hashWords(4e5);
  printWords(3e5);
}
"""
PAGE = f"<!doctype html>\n<script>{NODE.replace('part < 20', 'part < 100')}</script>\n"
GO = """package words

import "testing"

//go:noinline
func hashWord(word uint32) uint32 {
	for round := uint32(0); round < 40; round++ { word = word*31 + round }
	return word
}

//go:noinline
func parseWord(word uint32) uint32 {
	for round := uint32(0); round < 60; round++ { word = word*17 ^ round }
	return word
}

//go:noinline
func printWord(word uint32) uint32 {
	for round := uint32(0); round < 30; round++ { word = word*13 + round }
	return word
}

var sink uint32
var kept []byte

func BenchmarkWords(b *testing.B) {
	for i := 0; i < b.N; i++ {
		for word := uint32(0); word < 20000; word++ { sink += printWord(hashWord(parseWord(word))) }
	}
}
"""
GO_MODULE = "module example.com/bench\n\ngo 1.21\n"
GO_USING = GO_MODULE + "\nrequire example.com/words v0.0.0\n\nreplace example.com/words => ./words\n"
GO_HASH = "".join(re.search(r"//go:noinline\nfunc hashWord.*?\n}\n", GO, re.S)[0])

BUILD_C = "cc -g -O1 -fno-omit-frame-pointer -o bench bench.c"
BUILD_RUST = "rustc -g -C opt-level=1 -C force-frame-pointers=yes --edition 2021"
BUILD_GO = "GOPROXY=off GOFLAGS=-mod=mod go test -c -o words.test ."
RUN_PAGE = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom", "page.html"]
RUN_GO = ["./words.test", "-test.bench", ".", "-test.benchtime", "200x", "-test.run", "NONE"]


def python_command():
    """The interpreter itself: a script that looks for it may take too long for py-spy."""
    found = subprocess.run(["python3", "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
    return [found.stdout.strip(), "bench.py"]


class Job:
    """A change that is known: the files before and after, and the function that is right."""

    def __init__(self, name, files, changes, right, build=None, run=("./bench",), profiler="auto",
                 verdict=None, renamed=None):
        self.name, self.files, self.right = name, files, right
        self.build, self.run, self.profiler = build, list(run), profiler
        self.verdict, self.renamed = verdict, renamed
        self.after = dict(files)
        for file, old, new in changes:
            assert old in self.after[file], f"{name}: {old!r} is not in {file}"
            self.after[file] = self.after[file].replace(old, new)


def jobs():
    python, node = python_command(), ["node", "bench.js"]
    c, rust, go = {"bench.c": C}, {"bench.rs": RUST}, {"go.mod": GO_MODULE, "words_test.go": GO}
    in_c, in_rust = {"build": BUILD_C}, {"build": f"{BUILD_RUST} bench.rs"}
    in_go = {"build": BUILD_GO, "run": RUN_GO}
    script, page = {"bench.py": PYTHON}, {"bench.js": NODE}
    slower = "round < 40", "round < 60"
    more_of_c = "hash_word(parse_word(word))", "hash_word(hash_word(parse_word(word)))"
    yield Job("C, slower", c, [("bench.c", *slower)], {"hash_word"}, verdict="slower", **in_c)
    yield Job("C, called more often", c, [("bench.c", *more_of_c)], {"hash_word"}, profiler="callgrind",
              verdict="called_more_often", **in_c)
    check = C.partition("__attribute__")[2].partition("}\n")[0].replace("hash_word", "check_word")
    check = f"__attribute__{check.replace('31', '37')}}}\n"
    yield Job("C, new", c, [("bench.c", "int main", check + "int main"),
                            ("bench.c", "sum += print_word", "sum += check_word(word), sum += print_word")],
              {"check_word"}, verdict="new", **in_c)
    inline = "__attribute__((noinline)) unsigned hash_word", "static inline __attribute__((always_inline)) unsigned hash_word"
    yield Job("C, another inlined", c, [("bench.c", *inline), ("bench.c", "round < 30", "round < 55")],
              {"print_word"}, verdict="slower", **in_c)
    yield Job("C, renamed and slower", c, [("bench.c", *slower), ("bench.c", "hash_word", "digest_word")],
              {"digest_word"}, verdict="slower", renamed=("hash_word", "digest_word"), **in_c)
    using = C.replace(C[C.index("__attribute__"):C.index("__attribute__", 60)], "unsigned hash_word(unsigned);\n", 1)
    yield Job("C, in a dependency", {"bench.c": using, "words.c": C_DEPENDENCY}, [("words.c", *slower)], {"hash_word"},
              build="cc -g -O1 -fno-omit-frame-pointer -shared -fPIC -o libwords.so words.c"
                    f" && {BUILD_C} -L. -lwords '-Wl,-rpath,$ORIGIN'", verdict="slower")
    yield Job("C, slower among a hundred", {"bench.c": C_LARGE},
              [("bench.c", "round < 8; round++) word = word * 103 ", "round < 64; round++) word = word * 103 ")],
              {"work_50"}, verdict="slower", **in_c)

    yield Job("Rust, slower", rust, [("bench.rs", "0..40", "0..60")], {"bench::hash_word"}, verdict="slower", **in_rust)
    yield Job("Rust, called more often", rust, [("bench.rs", *more_of_c)], {"bench::hash_word"}, profiler="callgrind",
              verdict="called_more_often", **in_rust)
    yield Job("Rust, another inlined", rust, [("bench.rs", "#[inline(never)]\nfn hash", "#[inline(always)]\nfn hash"),
                                              ("bench.rs", "0..30", "0..90")],
              {"bench::print_word"}, verdict="slower", **in_rust)
    own = RUST.replace(RUST_DEPENDENCY.replace("pub fn", "fn"), "use std::hint::black_box;\nuse words::hash_word;\n")
    yield Job("Rust, in a dependency", {"bench.rs": own, "words.rs": RUST_DEPENDENCY}, [("words.rs", "0..40", "0..60")],
              {"words::hash_word"}, build=f"{BUILD_RUST} --crate-type rlib words.rs && {BUILD_RUST} --extern words=libwords.rlib bench.rs",
              verdict="slower")

    more = "hash_words(400000)", "hash_words(600000)"
    yield Job("Python, slower", script, [("bench.py", *more)], {"hash_words"}, run=python)
    fresh = PYTHON[1:PYTHON.index("\n\n")].replace("hash_words", "check_words") + "\n\n"
    yield Job("Python, new", script, [("bench.py", "for part", fresh + "for part"),
                                      ("bench.py", "    print_words(300000)", "    check_words(250000)\n    print_words(300000)")],
              {"check_words"}, run=python, verdict="new")
    yield Job("Python, renamed and slower", script, [("bench.py", *more), ("bench.py", "hash_words", "digest_words")],
              {"digest_words"}, run=python, verdict="slower", renamed=("hash_words", "digest_words"))

    yield Job("JavaScript, slower", page, [("bench.js", "hashWords(4e5)", "hashWords(6e5)")], {"hashWords"}, run=node)
    fresh = NODE[1:NODE.index("function parse")].replace("hashWords", "checkWords")
    yield Job("JavaScript, new", page, [("bench.js", "for (let part", fresh + "for (let part"),
                                        ("bench.js", "  printWords(3e5)", "  checkWords(25e4);\n  printWords(3e5)")],
              {"checkWords"}, run=node, verdict="new")
    own = "const hashWords = require('words');\n" + NODE[NODE.index("function parse"):]
    package = NODE[1:NODE.index("function parse")].replace("function", "module.exports = function")
    yield Job("JavaScript, in a dependency", {"bench.js": own, "node_modules/words/index.js": package},
              [("node_modules/words/index.js", "word < count", "word < 1.5 * count")], {"hashWords"}, run=node)
    waste = "{ total = (total * 31 + word) % 1000003; if (word % 4 === 0) kept[word % 4096] = { word, total, text: [word] }; }"
    yield Job("JavaScript, more garbage", page,
              [("bench.js", "total = (total * 31 + word) % 1000003;", waste),
               ("bench.js", "function hashWords", "const kept = [];\nfunction hashWords")],
              {"(garbage collector)", "hashWords"}, run=node)

    scripts, in_page = {"page.html": PAGE}, {"run": RUN_PAGE}
    yield Job("Page, slower", scripts, [("page.html", "hashWords(4e5)", "hashWords(6e5)")], {"hashWords"},
              verdict="slower", **in_page)
    yield Job("Page, more garbage", scripts,
              [("page.html", "total = (total * 31 + word) % 1000003;", waste),
               ("page.html", "function hashWords", "const kept = [];\nfunction hashWords")],
              {"(garbage collector)", "hashWords"}, **in_page)

    yield Job("Go, slower", go, [("words_test.go", *slower)], {"example.com/bench.hashWord"}, **in_go)
    own = GO.replace(GO_HASH, "").replace('import "testing"', 'import (\n\t"testing"\n\n\t"example.com/words"\n)')
    package = "package words\n\n" + GO_HASH.replace("hashWord", "HashWord")
    yield Job("Go, in a dependency", {"go.mod": GO_USING, "words/go.mod": "module example.com/words\n\ngo 1.21\n",
                                      "words/words.go": package, "words_test.go": own.replace("hashWord(", "words.HashWord(").replace("package words", "package bench")},
              [("words/words.go", *slower)], {"example.com/words.HashWord"}, **in_go)
    waste = "kept = make([]byte, 256+int(word%8)); sink += printWord"
    yield Job("Go, more garbage", go, [("words_test.go", "sink += printWord", waste)],
              {"(garbage collector)"}, **in_go)


class World:
    """The commits of a job in their own repository, and the command."""

    def __init__(self, command, place, states):
        self.command, self.repository = command, Path(place, "repository")
        self.state = Path(place, "state")
        self.repository.mkdir()
        self.git("init", "--quiet")
        for number, files in enumerate(states):
            for file, text in files.items():
                path = self.repository / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            (self.repository / "number").write_text(str(number))
            self.git("add", "--all", "--force")
            self.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message", f"{number}")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repository, check=True, capture_output=True, text=True).stdout

    def pinpoint(self, *words):
        words = [self.command, *words, "--state-dir", self.state, "--output", "json"]
        if "--" in words:
            at = words.index("--")
            words = words[:at] + words[-4:] + words[at:-4]
        ended = subprocess.run(words, cwd=self.repository, capture_output=True, text=True)
        if not ended.stdout:
            sys.exit(f"{' '.join(map(str, words))}: {ended.stderr}")
        return json.loads(ended.stdout)

    def pairwise(self, job, pairs=6):
        build = ["--build", job.build] if job.build else []
        return self.pinpoint("pairwise", "--pairs", str(pairs), "--warmup", "1", *build, "HEAD~", "HEAD", "--", *job.run)


def percent(part):
    return f"{part * 100:+.1f} %"


def explain(command, job):
    """Returns whether the right function is first; prints a line of the table."""
    with tempfile.TemporaryDirectory() as place:
        world = World(command, place, [job.files, job.after])
        compared = world.pairwise(job)
        answer = world.pinpoint("explain", compared["job_id"], "--profiler", job.profiler)
        guessed = True
        if job.renamed:
            guessed = any((it["base"], it["experiment"]) == job.renamed for it in answer["renamed"])
            answer = world.pinpoint("explain", answer["job"]["job_id"], "--same", "=".join(job.renamed))
    whole, functions = answer["whole"], answer["functions"]
    first = functions[0]
    name, kind = first["function"]["name"], first["verdict"]["kind"]
    right = name in job.right and kind not in ("uncertain", "moved") and guessed
    right = right and job.verdict in (None, kind)
    relative = whole["difference"] / whole["base"]
    interval = whole["interval"]
    # Of counted samples, most pairs can have the same difference.
    width = interval["high"] - interval["low"] if interval else 0
    certainty = 2 * abs(whole["estimate"]) / width if width else float("inf")
    print(f"{job.name:28} {answer['job']['profiler']:10} {percent(relative):>9} {certainty:8.1f} "
          f"{name[:32]:32} {kind:18} {percent(first['share'] or 0):>9}  {'right' if right else 'WRONG'}", flush=True)
    if not right:
        for other in functions[:6]:
            print(f"    {other['function']['name'][:40]:40} {other['own']['difference']:14.0f} {other['verdict']['kind']}")
        print(f"    renamed: {answer['renamed']}")
    return right


def same(command, job, comparisons):
    """The number of comparisons of a build with itself that name a function."""
    with tempfile.TemporaryDirectory() as place:
        world = World(command, place, [job.files, job.files])
        compared = world.pairwise(job)
        pairs = comparisons * PAIRS_OF_SAME
        answer = world.pinpoint("explain", compared["job_id"], "--pairs", str(pairs))
        profiles = world.state / "jobs" / answer["job"]["job_id"] / "profiles"
        runs = sorted({run.name.rpartition("-")[0] for run in profiles.iterdir()}, key=int)
        file = lambda run, side: str(next((profiles / f"{run}-{side}").iterdir()))
        named = 0
        for start in range(0, pairs, PAIRS_OF_SAME):
            # The second run of a pair finds a warmer machine. As in a job, either side has half of them.
            orders = [("first", "second"), ("second", "first")] * (PAIRS_OF_SAME // 2)
            random.Random(start).shuffle(orders)
            part = list(zip(runs[start:start + PAIRS_OF_SAME], orders))
            base, experiment = ([file(run, order[side]) for run, order in part] for side in (0, 1))
            found = world.pinpoint("explain", "--paired", "--base", *base, "--experiment", *experiment)
            named += found["status"] == "certain"
    print(f"{job.name.split(',')[0]}, {answer['job']['profiler']}: {named} of {comparisons} comparisons of the same build name a function", flush=True)
    return named


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pinpoint", type=Path)
    arguments.add_argument("--only", default="", help="jobs with this in their names")
    arguments.add_argument("--same", type=int, help="comparisons of the same build, in place of the jobs")
    told = arguments.parse_args()
    chosen = [job for job in jobs() if told.only in job.name]
    command = str(told.pinpoint.resolve())
    if told.same:
        each = [job for job in chosen if job.name in ("C, slower", "JavaScript, slower")]
        named = sum(same(command, job, told.same // len(each)) for job in each)
        sys.exit(int(named > told.same * 0.05))
    print(f"{'job':28} {'profiler':10} {'change':>9} {'in half intervals':>8} {'first':32} {'verdict':18} {'share':>9}")
    right = sum([explain(command, job) for job in chosen])
    print(f"{right} of {len(chosen)} right")
    sys.exit(int(right < len(chosen)))


if __name__ == "__main__":
    main()
