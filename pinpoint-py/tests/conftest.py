"""Fixtures of several tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from world import COMMITS, CULPRIT, git


@pytest.fixture(scope="session")
def repo(tmp_path_factory: Any) -> Any:
    """Ten commits; from the sixth on, the program takes 12 instead of 10."""
    path = tmp_path_factory.mktemp("repo")
    git(path, "init", "--quiet")
    for number in range(COMMITS):
        (path / "number").write_text(str(number))
        (path / "time").write_text("12" if number >= CULPRIT else "10")
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "--message", f"Change {number}")
    return path


@pytest.fixture(scope="session", autouse=True)
def machine(tmp_path_factory: Any) -> Iterator[None]:
    """Separate locks, so that no other job on this machine delays the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        yield
