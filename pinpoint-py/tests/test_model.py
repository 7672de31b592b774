"""Commits, bots, jobs, and the commits between two others."""

import json
import pickle
import subprocess
from typing import Any

import pytest

import pinpoint

COMBINED = {
    "main": {"repository": "/src/tool", "git_hash": "1f2e3d"},
    "modified_deps": [
        {"commit": {"repository": "/src/dep", "git_hash": "4c5b6a", "merged": ["77"]}, "named_by": "/src/tool"}
    ],
    "patch": {"gerrit": {"host": "h", "project": "p", "change": 1, "patchset": 2, "hash": None}},
}


def test_a_commit_comes_and_goes_as_json() -> None:
    commit: Any = pinpoint.CombinedCommit.from_json(json.dumps(COMBINED))
    assert commit.main.git_hash == "1f2e3d" and commit.modified_deps[0].commit.merged == ("77",)
    assert dict(commit.patch.fields)["change"] == 1
    assert pinpoint.CombinedCommit.from_json(commit.to_json()) == commit
    assert pickle.loads(pickle.dumps(commit)) == commit and hash(commit) == hash(commit)
    assert str(commit) == "1f2e3d, with 4c5b6a+77, patched"
    assert "1f2e3d" in commit._repr_html_()


def test_the_key_is_fnv_1a_over_what_is_built() -> None:
    def fnv(text: Any) -> Any:
        key = 0xCBF29CE484222325
        for byte in text:
            key = (key ^ byte) * 0x100000001B3 % 2**64
        return key

    commit = pinpoint.CombinedCommit(pinpoint.Commit("r", "h", subject="only for people"))
    assert commit.key() == fnv(b"r\xffh\xff0\xffno patch\xff")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"main": {"repository": 1, "git_hash": "x"}}'])
def test_what_is_no_commit_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="this is not a commit"):
        pinpoint.CombinedCommit.from_json(text)
    for kind in (pinpoint.JobOutcome, pinpoint.JobRecord):
        with pytest.raises(ValueError):
            kind.from_json(text)


def test_builtin_bots() -> None:
    bots = pinpoint.Bots.builtin()
    assert bots["local"].workers == "local" and "local" in bots
    swarming = [bot for bot in bots.values() if isinstance(bot.workers, pinpoint.Swarming)]
    assert swarming and all(isinstance(it.workers, pinpoint.Swarming) and it.workers.dimensions for it in swarming)
    external = bots.external()
    assert 0 < len(external) < len(bots) and {bot.set for bot in external.values()} == {"external"}
    assert len(json.loads(bots.to_json())) == len(bots)
    assert bots.target("local", "whatever") == "performance_test_suite"
    assert "Bot" in repr(bots["local"]) and "<table>" in bots["local"]._repr_html_()


def test_bots_from_files(tmp_path: Any) -> None:
    file = tmp_path / "bots.toml"
    file.write_text(
        """
        [bots.lab]
        machines = ["rack-1", "rack-2"]
        [bots.nightly]
        alias = "lab"
        [benchmarks.parsing]
        stories = ["small"]
        bots = ["lab"]
        [targets.benchmarks]
        parsing = "parsing_tests"
        """
    )
    bots = pinpoint.Bots.read(file)
    assert list(bots) == ["lab", "nightly"]
    assert (bots["nightly"].configured_as, bots["nightly"].workers) == ("lab", ("rack-1", "rack-2"))
    assert bots.target("nightly", "parsing") == "parsing_tests"
    assert bots.benchmarks() == {"parsing": {"stories": ["small"], "bots": ["lab"]}}
    with pytest.raises(KeyError, match="did you mean `nightly`"):
        bots["nigthly"]
    with pytest.raises(KeyError):
        bots.target("desk", "parsing")
    file.write_text("[bots.lab]\nlocal = false\n[bots.desk]\nalias = 'nobody'\n")
    with pytest.raises(ValueError, match=r"bots.toml:1: bots.lab: `local`(.|\n)*bots.toml:4"):
        pinpoint.Bots.read(file)
    with pytest.raises(FileNotFoundError):
        pinpoint.Bots.read(tmp_path / "none.toml")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: Any) -> Any:
    path = tmp_path_factory.mktemp("repo")

    def git(*arguments: Any) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", path, *identity, *arguments], check=True, capture_output=True)

    git("init", "--quiet")
    for number in range(6):
        git("commit", "--quiet", "--allow-empty", "--message", f"Change {number}")
    return path


def test_what_lies_between(repo: Any, tmp_path: Any) -> None:
    found: Any = pinpoint.midpoint(repo, "HEAD~5", "HEAD", all=True, state_dir=tmp_path)
    assert [state.main.subject for state in found.between] == [f"Change {it}" for it in range(1, 5)]
    assert (found.states, found.midpoint) == (4, found.between[1])
    assert pinpoint.midpoint(repo, "HEAD~5", "HEAD", state_dir=tmp_path).midpoint == found.midpoint
    assert pinpoint.midpoint(repo, "HEAD~1", "HEAD", state_dir=tmp_path) == (0, None, None)
    with pytest.raises(pinpoint.RepositoryError, match="nowhere"):
        pinpoint.midpoint(repo, "nowhere", "HEAD", state_dir=tmp_path)


def test_jobs_that_are_not_there(tmp_path: Any) -> None:
    nowhere = tmp_path / "nowhere"
    assert pinpoint.jobs(state_dir=nowhere) == [] and not nowhere.exists()
    with pytest.raises(ValueError, match="no job state"):
        pinpoint.jobs("done", state_dir=nowhere)
    with pytest.raises(ValueError, match="`limit` is -1"):
        pinpoint.jobs(limit=-1, state_dir=nowhere)
    with pytest.raises(pinpoint.JobError, match="no job"):
        pinpoint.job_outcome("ffff", state_dir=nowhere)


def test_the_machine_is_examined() -> None:
    found = pinpoint.doctor()
    assert found.times is not None and found.times.pieces > 3
    assert found.times.smallest_change == found.times.scatter
    assert all(finding.cause and finding.seen and finding.remedy for finding in found.findings)
    assert dict(found.readings)["processors"] >= 1
    assert pickle.loads(pickle.dumps(found)) == found and hash(found) == hash(found)
    assert "20 runs of such work" in str(found) and repr(found).startswith("<Diagnosis: ")
    with pytest.raises(AttributeError):
        found.findings = ()  # type: ignore[misc]
    for wrong, reason in [("3-1", "neither a processor"), ("0,1023", "no processor 1023 .*cpu=")]:
        with pytest.raises(ValueError, match=reason):
            pinpoint.doctor(wrong)
    with pytest.raises(TypeError, match="`cpu` must be a str"):
        pinpoint.doctor(0)  # type: ignore[arg-type]


def test_a_diagnosis_is_shown() -> None:
    finding = {"cause": "load", "severity": "high", "seen": "others keep 1.9 of 2 processors busy", "remedy": "End them."}
    times = {
        "pieces": 250, "median": 0.01012, "scatter": 0.0042, "processor_scatter": 0.001,
        "off_processor": 0.00015, "smallest_change": 0.0042,
    }
    readings = {"processors": 2, "governors": ["powersave"], "busiest": [{"name": "cc", "processes": 2}]}
    found = pinpoint.Diagnosis._of({"findings": [finding], "times": times, "readings": readings})
    assert str(found).splitlines() == [
        "the same work 250 times: 10.12 ms each (median)",
        "its time scatters by 0.42% (interquartile range), its processor time by 0.10%;",
        "for 0.01% of the time it was not on a processor",
        "20 runs of such work, 10 of each commit, find a change of 0.42% in 4 of 5 cases",
        "",
        "  high  others keep 1.9 of 2 processors busy",
        "        End them. (settle= waits before each run until it is quiet)",
    ]
    assert repr(found) == "<Diagnosis: high: others keep 1.9 of 2 processors busy>"
    assert "<table>" in found._repr_html_()
    assert dict(found.readings)["busiest"] == ((("name", "cc"), ("processes", 2)),)
    quiet = pinpoint.Diagnosis._of({"findings": [], "times": None, "readings": {}})
    assert str(quiet) == "nothing was found that disturbs measurements"
    assert repr(quiet) == "<Diagnosis: nothing disturbs measurements>"
