"""Profiles as columns, and the differences between those of two builds."""

import math
import pathlib
import pickle
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
import polars as pl
import pytest

import pinpoint

PROFILES = pathlib.Path(__file__).parents[2] / "pinpoint-core" / "tests" / "profiles"


def data_frame(table: Any) -> Any:
    return pd.DataFrame(table)


def folded(path: Any, parse: float, print_: float = 50) -> Any:
    path.write_text(f"main;parse {parse:.0f}\nmain;print {print_:.0f}\n")
    return path


@pytest.fixture
def runs(tmp_path: Any) -> Any:
    """Five runs a side: `parse` takes 20 more in the experiment."""
    sides: Any = ([], [])
    for run in range(5):
        for side, longer in enumerate((0, 20)):
            sides[side].append(folded(tmp_path / f"{side}-{run}.folded", 40 + longer + run))
    return sides


def test_a_profile_is_columns(tmp_path: Any) -> None:
    path = tmp_path / "x.folded"
    path.write_text("main;parse;parse 30\nmain 10\n")
    profile = pinpoint.read_profile(path)
    assert (profile.format, profile.unit, profile.total) == ("folded", "samples", 40.0)
    frames = profile.frames
    assert frames["name"] == ["main", "parse"]
    assert frames["own"].tolist() == [10.0, 30.0]  # type: ignore[union-attr]
    assert frames["total"].tolist() == [40.0, 30.0]  # type: ignore[union-attr]
    assert "calls" not in frames and "time" not in profile.samples
    stacks: Any = profile.stacks
    assert stacks["parent"].tolist() == [-1, 0, 1, 2]
    assert stacks["frame"].tolist() == [-1, 0, 1, 1]
    samples: Any = profile.samples
    assert samples["stack"].tolist() == [3, 1] and samples["weight"].tolist() == [30.0, 10.0]
    assert [profile.threads[thread] for thread in samples["thread"]]
    assert repr(profile) == "<profile (folded) of 2 samples in 2 functions, 40 samples>"
    for frame in (pd.DataFrame(frames), pl.DataFrame(frames)):
        assert frame.shape == (2, 7)


@pytest.mark.parametrize("name", sorted(it.name for it in PROFILES.iterdir() if ".md" not in it.name))
def test_the_tables_of_real_profiles_fit_each_other(name: str) -> None:
    if name.endswith(("annotate.txt", "inclusive.txt", "children.txt", "collapsed.txt", "top.txt")):
        pytest.skip("what other tools say of a profile")
    profile = pinpoint.read_profile(PROFILES / name)
    tables: Any = (profile.frames, profile.stacks, profile.samples, profile.calls)
    frames, stacks, samples, calls = [data_frame(table) for table in tables]
    assert math.isclose(frames["own"].sum(), profile.total, rel_tol=1e-9)
    assert (frames["total"] >= frames["own"] * (1 - 1e-9)).all()
    assert (stacks["parent"][1:] < stacks.index[1:]).all() and (stacks["frame"][1:] >= 0).all()
    assert (stacks["frame"] < len(frames)).all()
    assert samples["stack"].lt(len(stacks)).all() and samples["thread"].lt(len(profile.threads)).all()
    assert calls[["caller", "callee"]].lt(len(frames)).all(axis=None)
    assert ("calls" in frames) == (len(calls) > 0)


def test_a_window_is_a_part_of_the_time() -> None:
    path = PROFILES / "chrome-156.json"
    whole = pinpoint.read_profile(path)
    assert len(whole.marks["name"])
    part = pinpoint.read_profile(path, window=whole.marks["name"][0])
    assert 0 < part.total < whole.total
    assert whole.window("0..").total == whole.total
    with pytest.raises(ValueError, match="there is no mark .nothing."):
        whole.window("nothing")


def test_what_is_no_profile_is_refused_with_its_name(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        pinpoint.read_profile(tmp_path / "none.json")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"traceEvents": [{"ph": ')
    with pytest.raises(ValueError, match=r"wrong\.json: the profile is cut short: it ends at .* of the Chrome trace"):
        pinpoint.read_profile(wrong)
    with pytest.raises(ValueError, match="not a window"):
        pinpoint.read_profile(PROFILES / "chrome-156.json", window="9..3")


def test_what_moved_is_said_with_its_certainty(runs: Any) -> None:
    found = pinpoint.explain(*runs)
    assert (found.unit, found.design, found.base_runs, found.experiment_runs) == ("samples", "groups", 5, 5)
    assert found.tested and not found.exact and found.rest == 0.0
    assert found.whole[:3] == pytest.approx((92, 112, 20))
    parse = found.functions[0]
    assert (parse.name, parse.verdict, parse.share, parse.called_by) == ("parse", "slower", 1.0, "main")
    assert found.certain == (parse,) and parse.is_certain
    assert parse.own.ci_low is not None and parse.own.ci_low <= 20.0 <= (parse.own.ci_high or 0)
    assert parse.adjusted_p_value is not None and parse.adjusted_p_value <= 0.05
    name, difference = found.path[-1]
    assert (name, round(difference, 9)) == ("parse", 20)
    # A difference that is the same in all runs could not have been certain, and does not count.
    assert found.detectable is not None and found.detectable.functions == 1
    assert pickle.loads(pickle.dumps(found)) == found and hash(found)
    assert "parse" in found._repr_html_()


def test_what_moved_is_columns(runs: Any) -> None:
    found = pinpoint.explain(*runs)
    columns = found.columns
    assert columns["name"] == [function.name for function in found.functions]
    assert isinstance(columns["difference"], np.ndarray) and columns["difference"][0] == pytest.approx(20)
    assert np.isnan(columns["calls_base"]).all()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        assert frame.shape == (len(found.functions), 29)


def test_threads_and_categories_add_up(tmp_path: Any) -> None:
    def run(number: int, more: int) -> Any:
        path = tmp_path / f"{number}-{more}.perf"
        pool = f"pool-{number} {number} 1.5: {1000 + number + more} cpu-clock:\n\t1 hash+0x1 (/app/words)\n\n"
        main = f"main {number} 1.6: 500 cpu-clock:\n\t1 next+0x1 ([kernel.kallsyms])\n\n"
        path.write_text(pool + main)
        return path

    found = pinpoint.explain([run(n, 0) for n in range(5)], [run(n, 300) for n in range(5)])
    assert [(it.name, it.own.difference, it.is_certain) for it in found.threads] == [
        ("pool", 300, True),
        ("main", 0, False),
    ]
    assert [(it.name, it.own.base) for it in found.categories] == [("native", 1002), ("kernel", 500)]
    assert sum(it.own.difference for it in found.threads) == found.whole.difference
    owners = {function.name: function.owner for function in found.functions}
    assert owners == {"hash": None, "next": "kernel"}
    for columns, parts in ((found.thread_columns, found.threads), (found.category_columns, found.categories)):
        assert columns["name"] == [part.name for part in parts]
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
            assert frame.shape == (len(parts), 9)
    assert "pool" in found.threads[0]._repr_html_()


def test_pairs_windows_and_other_names(runs: Any, tmp_path: Any) -> None:
    read = [[pinpoint.read_profile(path) for path in side] for side in runs]
    paired = pinpoint.explain(*read, paired=True)
    assert paired.design == "pairs" and not paired.tested
    assert paired.detectable is not None and paired.detectable.smallest is None
    renamed = tmp_path / "renamed.folded"
    renamed.write_text("main;parse_all 40\nmain;print 50\n")
    found = pinpoint.explain(runs[0][0], renamed, same={"parse": "parse_all"})
    assert sorted(it.name for it in found.functions) == ["parse_all", "print"]
    counted = PROFILES / "callgrind-3.19.out"
    assert pinpoint.explain(counted, counted).exact


def test_sides_that_do_not_fit_are_refused(runs: Any) -> None:
    base, experiment = runs
    cases: list[tuple[tuple[Any, Any], dict[str, Any], str]] = [
        (([], experiment), {}, "no profile of the base"),
        ((base, experiment[1:]), {"paired": True}, "the base has 5 and the experiment 4"),
        ((base, experiment), {"same": {"pars": "parse"}}, "no function of the base is called \"pars\""),
        ((base, experiment), {"window": "1..2"}, "says when"),
        ((base, PROFILES / "callgrind-3.19.out"), {}, "counts instructions"),
    ]
    for arguments, options, message in cases:
        with pytest.raises(ValueError, match=message):
            pinpoint.explain(*arguments, **options)
