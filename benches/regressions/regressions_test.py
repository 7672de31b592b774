"""Tests of the script's own logic: what is right, what is kept, and how a threshold decides."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from itertools import islice
from pathlib import Path

import probe
import searchers
from regressions import (
    TABLE, Row, in_mirror, judge, missing, read_results, read_rows, table, write_benchmark)
from searchers import Answer, Case, SearchFailed, git
from weather import LONGEST, SHORTEST, Weather, spells

# The first commit that is slow, of those of `history`, which are numbered from 0.
SLOW = 5


def row(**fields) -> Row:
    fixed = {
        "name": "one", "repository": "https://example.org/owner/one", "good": "a", "bad": "b",
        "culprit": "c", "slower": "+30 %", "named_by": "its revert", "benchmark": "pass\n"}
    return Row(**{**fixed, **fields})


def history(folder: Path, commits: int = 8) -> list[str]:
    """A repository whose file is the number of the commit."""
    git(folder, "init", "--quiet")
    for name, value in (("user.name", "someone"), ("user.email", "someone@example.org")):
        git(folder, "config", name, value)
    hashes = []
    for number in range(commits):
        (folder / "number").write_text(str(number))
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", f"Change {number}")
        hashes.append(git(folder, "rev-parse", "HEAD"))
    return hashes


class Judge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        self.hashes = history(self.place, 3)

    def test_the_culprit_alone_is_right(self):
        first, second, third = self.hashes
        self.assertEqual(judge(self.place, [second], row(culprit=second)), "right")
        self.assertEqual(judge(self.place, [first], row(culprit=second)), "wrong")
        self.assertEqual(judge(self.place, [second, third], row(culprit=second)), "wrong")
        self.assertEqual(judge(self.place, [], row(culprit=second)), "none")

    def test_another_known_change_may_stand_beside_the_culprit_but_not_for_it(self):
        _, second, third = self.hashes
        known = row(culprit=second, also=(third,))
        self.assertEqual(judge(self.place, [second, third], known), "right")
        self.assertEqual(judge(self.place, [third], known), "wrong")

    def test_the_merge_that_brought_the_culprit_is_told_apart(self):
        first, second, _ = self.hashes
        git(self.place, "checkout", "--quiet", "-b", "branch", first)
        git(self.place, "commit", "--quiet", "--allow-empty", "-m", "On a branch")
        culprit = git(self.place, "rev-parse", "HEAD")
        git(self.place, "checkout", "--quiet", "--detach", second)
        git(self.place, "merge", "--quiet", "--no-ff", "-m", "Merge", culprit)
        merge = git(self.place, "rev-parse", "HEAD")
        self.assertEqual(judge(self.place, [merge], row(culprit=culprit)), "merge")
        self.assertEqual(judge(self.place, [merge], row(culprit=second)), "wrong")


class Kept(unittest.TestCase):
    def result(self, **fields):
        fixed = {
            "row": "one", "searcher": "pinpoint", "weather": 0, "round": 1, "verdict": "right",
            "stated": [0.98], "runs": 20, "builds": 7, "seconds": 12.3, "remark": ""}
        return {**fixed, **fields}

    def test_only_what_is_missing_or_failed_is_searched(self):
        rows = [row(), row(name="two")]
        results = [self.result(), self.result(row="two", verdict="failed"), self.result(row="two", weather=4)]
        left = [(it.name, name) for it, name in missing(rows, ["pinpoint", "git-bisect"], results, 0, 1)]
        self.assertEqual(left, [("one", "git-bisect"), ("two", "pinpoint"), ("two", "git-bisect")])

    def test_a_line_that_a_crash_cut_off_is_left_out(self):
        text = json.dumps(self.result()) + "\n" + json.dumps(self.result())[:20]
        self.assertEqual(read_results(text), [self.result()])

    def test_the_table_has_a_row_for_each_regression_and_one_in_all(self):
        results = [
            self.result(), self.result(row="two", verdict="wrong", stated=[], runs=30),
            self.result(searcher="git-bisect", verdict="merge", stated=[], runs=50, seconds=30),
            self.result(searcher="git-bayesect", weather=4)]
        lines = table([row(), row(name="two"), row(name="three")], results, 0).splitlines()
        self.assertEqual(lines[0], "| regression | slower | pinpoint | git-bisect |")
        self.assertEqual(lines[2], "| one | +30 % | right 0.980 · 20 · 7 · 12 s | merge · 50 · 7 · 30 s |")
        self.assertEqual(lines[4], "| in all | | 1 of 2 · median 25 runs · 12 s | 1 of 1 · median 50 runs · 30 s |")


class Prepared(unittest.TestCase):
    def test_repositories_are_found_in_a_folder_of_clones(self):
        with tempfile.TemporaryDirectory() as directory:
            mirror = Path(directory)
            for place in ("owner/one/.git", "two.git"):
                (mirror / place).mkdir(parents=True)
                (mirror / place / "HEAD").touch()
            self.assertEqual(in_mirror(mirror, "owner/one"), mirror / "owner/one/.git")
            self.assertEqual(in_mirror(mirror, "owner/two"), mirror / "two.git/.")
            with self.assertRaises(SearchFailed):
                in_mirror(mirror, "owner/three")

    def test_a_benchmark_imports_what_is_checked_out(self):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            (place / "src").mkdir()
            (place / "src/checked_out.py").write_text("print('there')\n")
            command = write_benchmark(row(benchmark="import checked_out\n"), place / "work")
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, "there\n")

    def test_each_row_of_the_table_has_full_hashes_and_a_source(self):
        rows = read_rows(TABLE.read_text())
        self.assertEqual(len({it.name for it in rows}), len(rows))
        for it in rows:
            for commit in (it.good, it.bad, it.culprit, *it.also):
                self.assertRegex(commit, "^[0-9a-f]{40}$", it.name)
            self.assertRegex(it.repository, "^https://github.com/[^/]+/[^/]+$")
            self.assertTrue(it.named_by and it.slower, it.name)


class Read(unittest.TestCase):
    def test_of_our_document_the_blamed_commits_and_their_probabilities(self):
        culprits = [{"blamed": {"git_hash": "c" * 40}, "probability": 0.97}]
        document = {"status": "culprit_found", "culprits": culprits, "runs": 20, "builds": 7}
        self.assertEqual(searchers.read_pinpoint(json.dumps(document)), Answer(["c" * 40], [0.97], 20, 7))
        document = {"status": "no_change", "culprits": [], "runs": 9, "builds": 2}
        self.assertEqual(searchers.read_pinpoint(json.dumps(document)), Answer([], [], 9, 2, "no_change"))

    def test_of_a_bayesection_the_last_line_that_names_a_commit(self):
        with tempfile.TemporaryDirectory() as directory:
            hashes = history(Path(directory), 2)
            out = f"Most likely commit: {hashes[0][:10]} (41.8%)\nBisection converged to {hashes[1][:10]} (95.9%) after 10 observations"
            answer = searchers.read_bayesect(out, Path(directory))
        self.assertEqual(answer, Answer([hashes[1]], [0.959]))


class Searched(unittest.TestCase):
    def test_a_bisection_names_the_first_commit_that_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            hashes = history(place)
            case = Case(place, place, hashes[0], hashes[-1], [], 120)
            test = ["sh", "-c", f"test $(cat number) -lt {SLOW}"]
            answer = searchers.git_bisect(case, "git", test, float("inf"))
        self.assertEqual(answer.named, [hashes[SLOW]])

    def test_runs_and_checkouts_are_counted_in_the_log(self):
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            self.assertEqual(searchers.logged(log), (0, 0))
            log.write_text("".join(f'{{"commit": "{it}", "seconds": 1.0}}\n' for it in "aab"))
            self.assertEqual(searchers.logged(log), (3, 2))

    def test_a_failing_run_can_not_be_tested(self):
        with tempfile.TemporaryDirectory() as directory:
            history(Path(directory), 1)
            before = os.getcwd()
            os.chdir(directory)
            try:
                log = Path(directory).resolve() / "log"
                self.assertIsNone(probe.measure([sys.executable, "-c", "exit(1)"], 3, log))
            finally:
                os.chdir(before)
            self.assertEqual(len(log.read_text().splitlines()), 1)


class Spells(unittest.TestCase):
    def test_they_follow_from_the_seed_and_alternate(self):
        first = list(islice(spells(1, 0), 20))
        self.assertEqual(first, list(islice(spells(1, 0), 20)))
        self.assertNotEqual(first, list(islice(spells(2, 0), 20)))
        self.assertNotEqual(first, list(islice(spells(1, 1), 20)))
        for (kind, seconds), (following, _) in zip(first, first[1:], strict=False):
            self.assertTrue(SHORTEST <= seconds <= LONGEST)
            self.assertNotEqual(kind == "idle", following == "idle")

    def test_processes_end_with_the_block(self):
        with Weather(2, seed=1) as weather:
            running = weather.running
            self.assertEqual(len(running), 2)
        self.assertTrue(all(it.poll() is not None for it in running))


if __name__ == "__main__":
    unittest.main()
