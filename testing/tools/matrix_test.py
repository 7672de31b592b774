"""Tests of the matrix itself: it tells a right answer from all others."""

import json
import tempfile
import unittest
from pathlib import Path

from entries import TOOLS, Tool
from matrix import COMMITS, SLOW_COMMIT, NotAvailable, git, install, judge, make_repository

CULPRIT = "a" * 40


def answer(*hashes):
    """The part of a result that is looked at."""
    culprits = [
        {"blamed": {"git_hash": it, "subject": f"Change {it[0]}"}, "probability": 0.96}
        for it in hashes
    ]
    metric = {"chart": "work", "unit": "ms", "format": "lines"}
    result = {"status": "found", "metric": metric, "runs": 9, "warnings": ["odd"]}
    return json.dumps({**result, "culprits": culprits})


class Judge(unittest.TestCase):
    def test_only_the_planted_commit_alone_is_found(self):
        right = judge(0, answer(CULPRIT), "", CULPRIT)
        self.assertEqual(right.verdict, "found")
        self.assertEqual(right.detail, "9 runs, work in ms, lines; odd")
        for wrong in [answer("b" * 40), answer(CULPRIT, "b" * 40), answer(), "{"]:
            self.assertEqual(judge(0, wrong, "", CULPRIT).verdict, "wrong")
        detail = judge(0, answer("b" * 40), "", CULPRIT).detail
        self.assertIn("named: Change b (0.960); 9 runs", detail)

    def test_no_difference_and_a_range_are_wrong(self):
        for code in [3, 4]:
            self.assertEqual(judge(code, answer(), "", CULPRIT).verdict, "wrong")

    def test_a_refusal_keeps_its_message(self):
        for code in [1, 2, 130]:
            outcome = judge(code, "", "error: choose one (--chart NAME)", CULPRIT)
            self.assertEqual(outcome.verdict, "refused")
            self.assertIn("choose one", outcome.detail)


class Prepared(unittest.TestCase):
    def test_one_commit_alone_changes_the_work(self):
        tool = Tool("none", {"a/work": "@WORK@"}, ["true"], 1000)
        with tempfile.TemporaryDirectory() as directory:
            repository = Path(directory) / "repository"
            commits = make_repository(tool, repository, 30)
            works = [git(repository, "show", f"{commit}:a/work") for commit in commits]
        slow = COMMITS - SLOW_COMMIT
        self.assertEqual(works, ["1000"] * SLOW_COMMIT + ["1300"] * slow)

    def test_an_optional_tool_that_is_missing_is_not_installed(self):
        tool = Tool("none", {}, ["x"], 1, programs={"no-such-program": "no"}, optional="a reason")
        with self.assertRaisesRegex(NotAvailable, "no-such-program"):
            install(tool, Path("/nonexistent"))


class Entries(unittest.TestCase):
    def test_each_is_listed_with_what_to_type(self):
        page = (Path(__file__).resolve().parents[2] / "docs/tools.md").read_text().lower()
        names = {"go": "go's benchmarks", "libtest": "#[bench]", "criterion": "criterion.rs",
                 "google-benchmark": "google benchmark", "perf": "perf stat", "gnu-time": "gnu time",
                 "bash-time": "bash's `time`", "ab": "apachebench"}
        for tool in TOOLS:
            if tool.files:
                self.assertIn(names.get(tool.name, tool.name), page)


if __name__ == "__main__":
    unittest.main()
