"""Tests of `.ci/words`: `python3 .ci/words_test.py`."""

import importlib.machinery
import subprocess
import tempfile
import types
import unittest
from pathlib import Path

# Its name has no `.py`.
_loader = importlib.machinery.SourceFileLoader("words", str(Path(__file__).with_name("words")))
words = types.ModuleType("words")
words.__file__ = _loader.path
_loader.exec_module(words)


class Words(unittest.TestCase):
    def test_places_that_are_named(self) -> None:
        for path, line in [
            ("src/a.rs", "/// What has no commits."),
            ("src/a.rs", "    //! Whether it ends."),
            ("src/a.rs", 'error("{0} is no URL")'),
            ("src/a.rs", "// The colour of a line."),
            ("src/a.rs", 'say("the neighbours of a commit");'),
            ("tests/a.rs", "//! How it ends."),
            ("docs/a.md", "It is optimised."),
            ("a.py", "# The behaviour of a run."),
        ]:
            self.assertEqual(len(words.faults(path, line)), 1, line)

    def test_places_that_are_left_alone(self) -> None:
        for path, line in [
            ("src/a.rs", "/// Rejects an empty range."),
            ("src/a.rs", "/// Says what has no commits."),
            ("src/a.rs", "/// There is no token."),
            ("src/a.rs", "let colour = centre(neighbours);"),
            ("src/a.rs", "// Catch2 has `--colour-mode`."),
            # Outputs of others.
            ("pinpoint-core/tests/a.rs", 'read("colour: 3");'),
            ("docs/a.md", "See `normalise`."),
        ]:
            self.assertEqual(words.faults(path, line), [], line)

    def test_new_files_are_checked_and_ignored_or_removed_ones_are_not(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ["tracked.rs", "removed.rs", "new ü.rs", "ignored.rs", "CHANGELOG.md", "image.png"]:
                (root / name).write_text("")
            (root / ".gitignore").write_text("ignored.rs\n")
            for command in ["init --quiet", "add tracked.rs removed.rs"]:
                subprocess.run(["git", *command.split()], cwd=root, check=True)
            (root / "removed.rs").unlink()
            self.assertEqual(words.listed(root), ["new ü.rs", "tracked.rs"])


if __name__ == "__main__":
    unittest.main()
