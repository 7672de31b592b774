#!/usr/bin/env python3
"""Public performance regressions, searched by ours and by its peers.

    benches/regressions/regressions.py --pinpoint target/release/pinpoint --work ../regressions

fetches the repositories of regressions.toml, or takes them from `--mirror DIR`, and searches each
with each searcher whose program is there. Answers are kept, one a line, in results.jsonl below
`--work`; a later run makes only those that are missing. `--table` prints what is kept as Markdown.
`--verify` measures each named culprit and its parent by turns instead, which is what the `slower`
of a row was written down from.
"""

import argparse
import datetime
import json
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import searchers
from searchers import Answer, Case, SearchFailed, git
from weather import Weather

HERE = Path(__file__).resolve().parent
TABLE = HERE / "regressions.toml"
SEARCHERS = ("pinpoint", "git-bisect", "git-bayesect", "robust-git-bisect")
# What makes an answer the answer to one question. A later run does not ask it again.
KEY = ("row", "searcher", "weather", "round")
PRELUDE = "import os, sys\nsys.path[:0] = [*map(os.path.abspath, {folders}), {packages!r}]\n"
NODE_PRELUDE = (
    "import { createRequire } from 'node:module';\n"
    "const require = createRequire(process.cwd() + '/');\n")


@dataclass(frozen=True)
class Row:
    """A regression; regressions.toml says what each field is."""

    name: str
    repository: str
    good: str
    bad: str
    culprit: str
    slower: str
    named_by: str
    benchmark: str
    link: str = ""
    language: str = "python"
    also: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("src", ".")

    @property
    def slug(self) -> str:
        """The owner and name of the repository."""
        return "/".join(self.repository.removesuffix(".git").split("/")[-2:])


def read_rows(text: str) -> list[Row]:
    """The rows of the table."""
    rows = []
    for entry in tomllib.loads(text)["row"]:
        lists = {it: tuple(entry[it]) for it in ("also", "packages", "folders") if it in entry}
        rows.append(Row(**{**entry, **lists}))
    return rows


# Preparation


def install(packages: tuple[str, ...], work: Path) -> Path:
    """The folder of the packages that a benchmark imports."""
    name = re.sub(r"[^\w.=+-]", "_", "+".join(packages)) or "none"
    folder = work / "packages" / name
    if packages and not folder.exists():
        partial = folder.with_name(f"{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(partial)]
        subprocess.run([*pip, *packages], check=True)
        partial.rename(folder)
    return folder


def install_node(packages: tuple[str, ...], work: Path) -> None:
    """Puts packages where a script in a checkout below `work` finds them: in a folder above."""
    absent = [it for it in packages if not (work / "node_modules" / it.partition("@")[0]).exists()]
    if absent:
        npm = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(work)]
        subprocess.run([*npm, *packages], check=True)


def fetch(row: Row, work: Path, mirror: Path | None) -> Path:
    """A git directory with the two ends and the culprit: a bare clone of ours, or the mirror."""
    if mirror is not None:
        return in_mirror(mirror, row.slug)
    store = work / "repositories" / f"{row.slug.replace('/', '+')}.git"
    if not store.exists():
        store.mkdir(parents=True)
        git(store, "init", "--quiet", "--bare")
    try:
        git(store, "cat-file", "-e", f"{row.bad}^{{commit}}")
    except SearchFailed:
        git(store, "fetch", "--quiet", row.repository, "+refs/*:refs/source/*")
    return store


def in_mirror(mirror: Path, slug: str) -> Path:
    """The git directory of a repository in a folder of clones."""
    owner, name = slug.split("/")
    places = [
        mirror / place / inner
        for place in (f"{owner}/{name}", f"{owner}+{name}", f"{owner}/{name}.git", name, f"{name}.git")
        for inner in ("repo", ".git", ".")]
    for place in places:
        if (place / "HEAD").exists():
            return place
    raise SearchFailed(f"{slug} is not below {mirror}")


def write_benchmark(row: Row, work: Path) -> list[str]:
    """The command of a row; its file lies beside the checkouts."""
    folder = work / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    if row.language == "node":
        file, program = folder / f"{row.name}.mjs", "node"
        install_node(row.packages, work)
        file.write_text(NODE_PRELUDE + row.benchmark)
    else:
        file, program = folder / f"{row.name}.py", sys.executable
        packages = str(install(row.packages, work).resolve())
        file.write_text(PRELUDE.format(folders=list(row.folders), packages=packages) + row.benchmark)
    return [program, str(file.resolve())]


def prepare(row: Row, purpose: str, options) -> Case:
    """A fresh clone, and all that a search of it needs."""
    work = options.work
    store = fetch(row, work, options.mirror)
    place = work / "searches" / row.name / purpose
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    # Objects are shared, and refs are not needed: hashes name all commits.
    git(place, "init", "--quiet", "checkout")
    alternates = place / "checkout/.git/objects/info/alternates"
    objects = git(store, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    alternates.write_text(f"{objects}\n")
    git(place / "checkout", "checkout", "--quiet", "--detach", row.bad)
    command = write_benchmark(row, work)
    return Case((place / "checkout").resolve(), place.resolve(), row.good, row.bad, command, options.limit)


# Searches


def judge(checkout: Path, named: list[str], row: Row) -> str:
    """`right`, `merge` if the merge that brought the culprit was named, `wrong` or `none`."""
    if not named:
        return "none"
    # Other changes that are known may be named beside the culprit, and not in its place.
    beside = [it for it in named if it not in row.also]
    if beside == [row.culprit]:
        return "right"
    merges = [it for it in beside if it != row.culprit]
    if len(beside) == 1 and brought_by(checkout, merges[0], row.culprit):
        return "merge"
    return "wrong"


def brought_by(checkout: Path, merge: str, commit: str) -> bool:
    """Whether a commit is one of those that a merge brought to its first parent."""
    parents = git(checkout, "rev-list", "--parents", "-n", "1", merge).split()[1:]
    return len(parents) > 1 and commit in git(checkout, "rev-list", f"{parents[0]}..{merge}").split()


def search(row: Row, searcher: str, program: str, options) -> dict:
    """One search, as a line of the results."""
    line = {
        "row": row.name, "searcher": searcher, "weather": options.weather, "round": options.round,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")}
    case = prepare(row, searcher, options)
    begin = time.monotonic()
    try:
        if searcher == "pinpoint":
            answer = searchers.by_pinpoint(case, Path(program).resolve())
        else:
            answer = searchers.by_peer(searcher, case, program)
    except SearchFailed as failure:
        return {**line, "verdict": "failed", "remark": str(failure)}
    seconds = round(time.monotonic() - begin, 1)
    return {**line, **as_line(answer), "verdict": judge(case.checkout, answer.named, row), "seconds": seconds}


def as_line(answer: Answer) -> dict:
    stated = [round(it, 4) for it in answer.stated]
    return {
        "named": answer.named, "stated": stated, "runs": answer.runs, "builds": answer.builds,
        "remark": answer.remark}


def read_results(text: str) -> list[dict]:
    """What is kept; a line that a crash cut off is left out."""
    results = []
    for line in text.splitlines():
        try:
            results.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return results


def missing(rows: Iterable[Row], names: Iterable[str], results: list[dict], weather: int, turn: int):
    """The searches that are still to be made; one that failed is made again."""
    done = {tuple(it[key] for key in KEY) for it in results if it["verdict"] != "failed"}
    return [
        (row, name) for row in rows for name in names
        if (row.name, name, weather, turn) not in done]


def programs(options) -> dict[str, str]:
    """The searchers that are there, with their programs."""
    found = {"git-bisect": "git"}
    if options.pinpoint:
        found["pinpoint"] = options.pinpoint
    for name, given in (("git-bayesect", options.bayesect), ("robust-git-bisect", options.robust)):
        program = shutil.which(given or name)
        if program:
            found[name] = str(Path(program).absolute())
    return {name: found[name] for name in SEARCHERS if name in found}


# What is printed


def said(result: dict | None) -> str:
    """A cell of the table: right or not, the stated probability, runs, builds and seconds."""
    if result is None:
        return ""
    if result["verdict"] == "failed":
        return "failed"
    stated = " ".join(f"{it:.3f}" for it in result["stated"])
    verdict = result["verdict"] + (f" {stated}" if stated else "")
    return f"{verdict} · {result['runs']} · {result['builds']} · {result['seconds']:.0f} s"


def table(rows: list[Row], results: list[dict], weather: int, turn: int = 1) -> str:
    """The kept answers of one weather, as Markdown, with a last line of sums."""
    kept = {
        (it["row"], it["searcher"]): it for it in results
        if it["weather"] == weather and it["round"] == turn}
    names = [name for name in SEARCHERS if any(it == name for _, it in kept)]
    lines = ["| regression | slower | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
    for row in rows:
        cells = [said(kept.get((row.name, name))) for name in names]
        if any(cells):
            lines.append(f"| {row.name} | {row.slower} | " + " | ".join(cells) + " |")
    lines.append("| in all | | " + " | ".join(summary(kept, name) for name in names) + " |")
    return "\n".join(lines)


def summary(kept: dict, name: str) -> str:
    """How often a searcher was right, and its median runs and seconds."""
    answers = [it for (_, searcher), it in kept.items() if searcher == name and it["verdict"] != "failed"]
    if not answers:
        return ""
    right = sum(it["verdict"] in ("right", "merge") for it in answers)
    runs = statistics.median(it["runs"] for it in answers)
    seconds = statistics.median(it["seconds"] for it in answers)
    return f"{right} of {len(answers)} · median {runs:.0f} runs · {seconds:.0f} s"


def processor_time(command: list[str], place: Path) -> float | None:
    """The processor time of one run in seconds, which other processes disturb less than its length."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=place, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent if done.returncode == 0 else None


def verify(row: Row, options, pairs: int = 15) -> str:
    """The times of the culprit and its parent, by turns, and of the ends."""
    case = prepare(row, "verify", options)
    commits = {"parent": f"{row.culprit}^", "culprit": row.culprit, "good": row.good, "bad": row.bad}
    times: dict[str, list[float]] = {it: [] for it in commits}
    places = {}
    for name, commit in commits.items():
        places[name] = case.work / name
        git(case.checkout, "worktree", "add", "--quiet", "--detach", str(places[name]), commit)
    for turn in range(pairs + 1):
        for name, place in places.items():
            seconds = processor_time(case.command, place)
            if seconds is None:
                return f"{row.name}: the benchmark fails at {name}"
            if turn:
                times[name].append(seconds)
    medians = {name: statistics.median(it) for name, it in times.items()}
    parts = " ".join(f"{name} {it:.3f}" for name, it in medians.items())
    pairwise = statistics.median(b / a for a, b in zip(times["parent"], times["culprit"], strict=True))
    ends = statistics.median(b / a for a, b in zip(times["good"], times["bad"], strict=True))
    commits = git(case.checkout, "rev-list", "--count", f"{row.good}..{row.bad}")
    return f"{row.name}: {parts} culprit ×{pairwise:.2f} ends ×{ends:.2f} commits {commits}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for clones, packages and results")
    parser.add_argument("--mirror", type=Path, help="a folder of clones to take repositories from")
    parser.add_argument("--pinpoint", help="the program to search by")
    parser.add_argument("--bayesect", help="git-bayesect, if it is not on the PATH")
    parser.add_argument("--robust", help="robust-git-bisect, if it is not on the PATH")
    parser.add_argument("--searchers", default=",".join(SEARCHERS), help="those to use")
    parser.add_argument("--weather", type=int, default=0, metavar="N", help="busy processes beside the search")
    parser.add_argument("--seed", type=int, default=0, help="of the weather")
    parser.add_argument("--round", type=int, default=1, help="the number of a repetition")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one search")
    parser.add_argument("--table", action="store_true", help="print what is kept, and search nothing")
    parser.add_argument("--verify", action="store_true", help="measure culprits and their parents instead")
    parser.add_argument("rows", nargs="*", help="the rows to search [default: all]")
    options = parser.parse_args()
    options.work = options.work.absolute()
    return options


def main() -> int:
    # So that whatever runs is ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parse()
    rows = [it for it in read_rows(TABLE.read_text()) if not options.rows or it.name in options.rows]
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "results.jsonl"
    results = read_results(kept.read_text()) if kept.exists() else []
    if options.table:
        print(table(rows, results, options.weather, options.round))
        return 0
    if options.verify:
        for row in rows:
            print(verify(row, options), flush=True)
        return 0
    found = programs(options)
    names = [it for it in options.searchers.split(",") if it in found]
    for row, name in missing(rows, names, results, options.weather, options.round):
        try:
            with Weather(options.weather, options.seed):
                line = search(row, name, found[name], options)
        except SearchFailed as failure:
            print(f"{row.name}: {failure}", file=sys.stderr)
            continue
        with kept.open("a") as lines:
            print(json.dumps(line), file=lines)
        print(f"{row.name:24} {name:18} {said(line)} {line['remark']}".rstrip(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
