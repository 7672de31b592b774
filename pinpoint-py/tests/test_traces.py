"""The history of values, filled by the command and read here."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinpoint
from world import COMMAND_LINE, git, needs_command

COMMITS = 6
pytestmark = needs_command


def hyperfine(seconds: float) -> str:
    times = [seconds] * 3
    result = {
        "command": "sort", "mean": seconds, "stddev": 0.0, "median": seconds, "user": 0.1,
        "system": 0.1, "min": seconds, "max": seconds, "times": times, "exit_codes": [0] * 3,
    }
    return json.dumps({"results": [result]})


def tried(commit: str) -> str:
    entry = {"value": "min", "measurement": 9.0}
    key = {"os": "linux", "bot": "a", "stat": "x"}
    return json.dumps({
        "version": 1, "git_hash": commit, "issue": "7", "patchset": "2", "key": key,
        "results": [{"key": {"test": "t"}, "measurements": {"stat": [entry]}}],
    })


@pytest.fixture(scope="module")
def traces(tmp_path_factory: Any) -> pinpoint.Traces:
    """Six commits, measured on two machines; the second one is half as fast."""
    place: Path = tmp_path_factory.mktemp("traces")
    repo, state = place / "repo", place / "state"
    repo.mkdir()
    git(repo, "init", "--quiet")

    def ingest(*words: str) -> None:
        assert COMMAND_LINE is not None
        command = [COMMAND_LINE, "ingest", "--state-dir", str(state), "-C", str(repo), *words]
        subprocess.run(command, check=True, capture_output=True)

    for number in range(COMMITS):
        (repo / "number").write_text(str(number))
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", "--message", f"Change {number}")
        for bot, factor in (("a", 1.0), ("b", 2.0)):
            file = place / f"{number}-{bot}.json"
            file.write_text(hyperfine(factor * (10.0 + number)))
            ingest("--commit", "HEAD", "--key", f"os=linux,bot={bot}", str(file))
    file = place / "try.json"
    file.write_text(tried("0" * 40))
    ingest(str(file))
    return pinpoint.Traces(state_dir=state)


def test_a_query_gives_names_and_one_array(traces: pinpoint.Traces) -> None:
    frame = traces.query("bot=a")
    assert len(frame.names) == 1 and ",bot=a," in frame.names[0]
    assert frame.commits.tolist() == list(range(COMMITS))
    assert frame.values.dtype == np.float64 and frame.values.shape == (1, COMMITS)
    ratio = traces.query("bot=b").values / frame.values
    assert np.allclose(ratio, 2.0)
    assert traces.query("bot=a", last=2).commits.tolist() == [4, 5]
    assert traces.query("bot=a", commits=(1, 3)).commits.tolist() == [1, 2, 3]
    assert "values" in frame._repr_html_()


def test_a_formula_is_computed(traces: pinpoint.Traces) -> None:
    frame = traces.query(formula='ave(filter("os=linux"))')
    assert frame.names == ['@ave(filter("os=linux"))']
    single = traces.query("bot=a").values[0]
    assert np.allclose(frame.values[0], 1.5 * single)


def test_traces_are_counted_and_commits_are_listed(traces: pinpoint.Traces) -> None:
    assert traces.count() == 2 and traces.count("bot=a") == 1
    assert traces.params()["bot"] == {"a": 1, "b": 1}
    commits = traces.commits()
    assert [commit.number for commit in commits] == list(range(COMMITS))
    assert commits[3].subject == "Change 3" and len(commits[3].hash) == 40
    assert traces.annotations() == {}


def test_a_name_that_no_trace_has_is_a_warning_to_its_caller(traces: pinpoint.Traces) -> None:
    for ask in (traces.query, traces.count, traces.params):
        with pytest.warns(UserWarning, match="bott") as caught:
            ask("bott=a")
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="bott"):
        traces.pivot(["os"], "bott=a")
    with pytest.warns(UserWarning, match="bott"):
        traces.verticals("bot", "a", "b", "bott=a")
    with pytest.warns(UserWarning, match="value `c` of the key `bot`"):
        traces.verticals("bot", "a", "c")
    with pytest.warns(UserWarning, match="bott"):
        traces.tried("7", "2", "bott=a")


def test_a_value_knows_its_file(traces: pinpoint.Traces) -> None:
    name = traces.query("bot=b").names[0]
    source = traces.source(name, 2)
    assert source is not None and source.file.endswith("2-b.json")
    assert not traces.source(name, 99)


def test_traces_are_folded_and_compared(traces: pinpoint.Traces) -> None:
    pivot = traces.pivot(["os"], operation="sum")
    assert pivot.groups == [",os=linux,"] and pivot.traces == [2] and pivot.left_out == 0
    single = traces.query("bot=a").values[0]
    assert np.allclose(pivot.values[0], 3.0 * single)
    ratios = traces.verticals("bot", "b", "a")
    assert ratios.rows == ["sort"] and np.allclose(ratios.ratios, 2.0)
    between = traces.verticals(between=(5, 0))
    assert np.allclose(between.ratios, 1.5) and np.allclose(between.means, 1.5)


def test_a_try_stands_apart(traces: pinpoint.Traces) -> None:
    assert traces.tries() == [("7", "2")]
    # Its trace has no history.
    assert traces.tried("7", "2") == []
    with pytest.raises(ValueError, match="no try 8/1"):
        traces.tried("8", "1")


def test_nonsense_is_refused(traces: pinpoint.Traces, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="query"):
        traces.query("bot=~(")
    with pytest.raises(ValueError, match="formula"):
        traces.query(formula="ave(")
    with pytest.raises(ValueError, match="commits"):
        traces.query(commits=(3, 1))
    with pytest.raises(ValueError, match="limit"):
        traces.query(limit=1)
    with pytest.raises(ValueError, match="both"):
        traces.query("bot=a", formula='filter("")')
    with pytest.raises(ValueError, match="operation"):
        traces.pivot(["os"], operation="mode")
    with pytest.raises(ValueError, match="between"):
        traces.verticals()
    with pytest.raises(ValueError, match="between"):
        traces.verticals("bot", between=(5, 0))
    with pytest.raises(ValueError, match="ingest"):
        pinpoint.Traces(state_dir=tmp_path).count()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="other"):
        pinpoint.Traces("other", state_dir=traces.state_dir).count()
    with pytest.raises(ValueError, match="dataset"):
        pinpoint.Traces("No Name", state_dir=traces.state_dir).count()
