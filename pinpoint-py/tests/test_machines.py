"""The adaptive search, comparisons in pairs and the culprit finder; saving them."""

import copy
import json
import pickle
import random
from typing import Any

import pytest

import pinpoint


def measure(slower_from: Any, index: Any, run: Any, noise: Any = 0.2) -> Any:
    """A value whose noise depends on the commit and the number of the run only."""
    return (12.0 if index >= slower_from else 10.0) + random.Random(f"{index} {run}").gauss(0, noise)


class World:
    """Commits, slower from one on."""

    def __init__(self, commits: Any, slower_from: Any) -> None:
        self.commits, self.slower_from = commits, slower_from
        self.runs = [0] * commits

    def run(self, index: Any) -> Any:
        self.runs[index] += 1
        return measure(self.slower_from, index, self.runs[index])

    def answer(self, search: Any, asked: Any) -> None:
        if isinstance(asked, pinpoint.Pair):
            values = self.run(asked.first), self.run(asked.second)
            record = search.record if isinstance(search, pinpoint.Pairwise) else search.record_pair
            record(asked, *values)
        else:
            index, runs = asked
            search.record(index, [self.run(index) for _ in range(runs)])

    def drive(self, search: Any) -> Any:
        while batch := search.next():
            for asked in batch:
                self.answer(search, asked)
        return search.outcome


@pytest.mark.parametrize("culprit", [1, 7, 31, 62, 63])
def test_adaptive_finds_the_culprit_and_says_how_certain_it_is(culprit: Any) -> None:
    outcome = World(64, culprit).drive(pinpoint.Bisection(64))
    assert outcome.status == "culprit_found"
    ((index, probability),) = outcome.culprits
    assert index == culprit and 0.95 <= probability <= 1.0
    (effect,) = outcome.effects
    assert effect.of == "values" and effect.ci_low <= effect.estimate <= effect.ci_high
    assert effect.estimate == pytest.approx(2.0, abs=0.5)


def test_adaptive_sees_that_nothing_changed() -> None:
    outcome = World(64, 64).drive(pinpoint.Bisection(64, magnitude=2.0))
    assert (outcome.status, outcome.culprits) == ("no_regression", ())


def test_the_posterior_adds_up_and_narrows() -> None:
    world = World(64, 40)
    search: Any = pinpoint.Bisection(64)
    before = search.posterior
    assert before is None
    sizes: list[int] = []
    while batch := search.next():
        for asked in batch:
            world.answer(search, asked)
        if search.posterior and not search.outcome:
            posterior = search.posterior
            total = posterior.no_change + sum(span.probability for span in posterior.spans)
            assert total == pytest.approx(1.0)
            assert posterior.spans[0].first == 1 and posterior.spans[-1].last == 63
            for one, following in zip(posterior.spans, posterior.spans[1:]):
                assert following.first == one.last + 1
            likely = max(posterior.spans, key=lambda span: span.probability)
            sizes.append(likely.last - likely.first + 1)
    assert sizes[0] == 63 and min(sizes) <= 4
    final: Any = search.posterior
    assert "no change" in final._repr_html_()
    assert pinpoint.Bisection(3, strategy="pinpoint").posterior is None


def test_priors_lead_to_the_suspect() -> None:
    def runs(**options: Any) -> Any:
        return World(200, 150).drive(pinpoint.Bisection(200, **options)).runs

    suspicious = [1.0] * 199
    suspicious[149] = 1000.0
    assert runs(priors=suspicious) < runs()


def test_a_build_that_costs_much_is_avoided() -> None:
    def builds(cost: Any) -> Any:
        return World(256, 100).drive(pinpoint.Bisection(256, build_cost=cost)).builds

    assert builds(100.0) <= builds(0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": [1.0]}, r"1 prior weights for 19 commits.*\(priors=\)$"),
        ({"confidence": 2.0}, r"\(confidence=\)$"),
        ({"max_builds": 1}, r"needs 2 builds.*\(max_builds=\)$"),
        ({"priors": [-1.0] + [1.0] * 18}, "index 0 is -1"),
        ({"priors": [0.0] * 19}, "positive"),
        ({"build_cost": -1.0}, "cost"),
        ({"max_time": -1.0}, "`max_time` is -1"),
        ({"max_time": float("nan")}, "`max_time` is NaN"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(options: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        pinpoint.Bisection(20, **options)


def test_bots_are_told_apart() -> None:
    """Half of the runs on a machine that takes twice as long."""
    search: Any = pinpoint.Bisection(16, magnitude=1.0, seed=1)
    runs = 0
    while batch := search.next():
        for index, count in batch:
            bots = ["fast" if (runs + place) % 2 else "slow" for place in range(count)]
            values = [measure(9, index, runs + place, 0.05) + 10 * (bot == "slow") for place, bot in enumerate(bots)]
            search.record(index, values, bots=bots, started=[float(runs + place) for place in range(count)])
            runs += count
    assert search.outcome.culprits[0][0] == 9


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"bots": ["one"]}, "`bots` has 1 items for 2 runs"),
        ({"started": [0.0, 1.0, 2.0]}, "`started` has 3 items for 2 runs"),
        ({"started": [0.0, -1.0]}, "`started` is -1"),
    ],
)
def test_what_is_told_of_runs_fits_the_runs(told: Any, message: Any) -> None:
    search: Any = pinpoint.Bisection(4)
    before = search.next()
    with pytest.raises(ValueError, match=message):
        search.record(0, [1.0], failures=1, **told)
    assert search.next() == before


def test_time_that_is_over_ends_a_search_with_what_it_knows() -> None:
    search: Any = pinpoint.Bisection(64, max_time=60.0)
    search.time_passed(59.9)
    assert search.next()
    search.record(0, [10.0])
    search.time_passed(60.0)
    assert search.next() == []
    assert (search.outcome.status, search.outcome.reason) == (
        "inconclusive", "the budget of time is spent",
    )
    assert search.outcome.runs == 1
    search.time_passed(70.0)


MACHINES = [
    (lambda: pinpoint.Bisection(20), pinpoint.Bisection),
    (lambda: pinpoint.Bisection(20, strategy="pinpoint", seed=2), pinpoint.Bisection),
    (lambda: pinpoint.Pairwise(seed=5), pinpoint.Pairwise),
    (lambda: pinpoint.CulpritFinder(20, pairs=10), pinpoint.CulpritFinder),
]


@pytest.mark.parametrize(("make", "kind"), MACHINES)
@pytest.mark.parametrize("seed", range(4))
def test_a_search_goes_on_from_its_text_at_any_moment(make: Any, kind: Any, seed: Any) -> None:
    """Saved and read again at random moments, it takes the same steps as one that never was."""
    chance = random.Random(seed)
    straight, broken = make(), make()
    worlds = World(20, 1 if kind is pinpoint.Pairwise else 13), World(20, 1 if kind is pinpoint.Pairwise else 13)
    while batch := straight.next():
        assert broken.next() == batch
        for asked in batch:
            worlds[0].answer(straight, asked)
            worlds[1].answer(broken, asked)
            if chance.random() < 0.3:
                broken = kind.from_json(broken.to_json())
                assert broken.next() == straight.next()
    assert broken.outcome == straight.outcome
    assert kind.from_json(straight.to_json()).outcome == straight.outcome
    assert pickle.loads(pickle.dumps(straight)).outcome == straight.outcome
    assert pickle.loads(pickle.dumps(straight.outcome)) == straight.outcome
    assert "<table>" in straight.outcome._repr_html_()


def test_a_copy_goes_its_own_way() -> None:
    search: Any = pinpoint.Bisection(20)
    twin: Any = copy.deepcopy(search)
    World(20, 5).drive(twin)
    assert search.outcome is None and twin.outcome.culprits[0][0] == 5


def test_skipped_commits_stay_skipped_in_the_text() -> None:
    search: Any = pinpoint.Bisection(3, strategy="pinpoint")
    search.record(0, [10.0 + 0.01 * run for run in range(10)])
    search.record(2, [12.0 + 0.01 * run for run in range(10)])
    search.skip(1)
    again: Any = pinpoint.Bisection.from_json(search.to_json())
    assert again.outcome == search.outcome and again.outcome.skipped == ((1, "skipped by the caller"),)
    again.skip(1)


@pytest.mark.parametrize("text", ["", "{}", "null", "[1]", "nonsense", '{"version": 1}'])
@pytest.mark.parametrize("kind", [pinpoint.Bisection, pinpoint.Pairwise, pinpoint.CulpritFinder])
def test_other_text_is_refused(kind: Any, text: Any) -> None:
    with pytest.raises(ValueError, match="this is not a saved"):
        kind.from_json(text)


def test_text_of_another_machine_or_version_is_refused() -> None:
    document = json.loads(pinpoint.Bisection(5).to_json())
    with pytest.raises(ValueError, match="it is a bisection"):
        pinpoint.Pairwise.from_json(json.dumps(document))
    with pytest.raises(ValueError, match="its version is 9"):
        pinpoint.Bisection.from_json(json.dumps({**document, "version": 9}))
    with pytest.raises(ValueError, match="given, but"):
        answers = [[{"run": 0}, [[{"values": {"value": [1.0]}, "bot": None, "started": 0}]] * 999]]
        pinpoint.Bisection.from_json(json.dumps({**document, "answers": answers}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"skipped": [9]}, "there is no commit 9"),
        ({"recorded": [2**64 - 1], "runs": 1}, "there is no commit"),
        ({"recorded": [0, 4], "runs": 1}, "fewer runs than commits"),
        ({"answers": [[{"run": 2**64 - 1}, [[]]]]}, "do not fit|given, but"),
        ({"answers": [[{"run": 0}, [[{"values": {"value": []}, "bot": None, "started": 0}]]]]}, "without values"),
        ({"events": [{"ran": {"action": 0, "bot": None, "started": 0, "values": {"value": []}}}]}, "this is not a saved"),
    ],
)
def test_a_saved_search_that_cannot_be_is_refused(change: Any, message: str) -> None:
    document = json.loads(pinpoint.Bisection(5).to_json())
    with pytest.raises(ValueError, match=message):
        pinpoint.Bisection.from_json(json.dumps({**document, **change}))


def test_runs_beyond_all_numbers_are_as_many_as_there_can_be() -> None:
    document = json.loads(pinpoint.Bisection(5).to_json())
    search: Any = pinpoint.Bisection.from_json(json.dumps({**document, "runs": 2**64 - 1}))
    World(5, 3).drive(search)
    assert search.outcome.runs == 2**64 - 1


class TestPairwise:
    def test_a_difference_is_found(self) -> None:
        outcome = World(2, 1).drive(pinpoint.Pairwise())
        assert (outcome.status, outcome.reason, outcome.pairs) == ("different", None, 30)
        (chart,) = outcome.charts
        assert chart.moved and chart.comparison.verdict == "different"
        assert chart.comparison.estimate == pytest.approx(20.0, abs=2.0)

    def test_none_is_not(self) -> None:
        assert World(2, 2).drive(pinpoint.Pairwise()).status == "same"
        assert World(2, 1).drive(pinpoint.Pairwise(direction="up")).status == "same"

    def test_each_side_is_first_in_half_of_the_pairs(self) -> None:
        pairs = pinpoint.Pairwise(pairs=20).next()
        assert sorted(pairs) == [(0, 1)] * 10 + [(1, 0)] * 10

    def test_charts_and_failures(self) -> None:
        comparison: Any = pinpoint.Pairwise(pairs=10, direction="down")
        for number, pair in enumerate(comparison.next()):
            run = {side: {"time": 10.0 + side + 0.01 * number, "size": 5.0} for side in pair}
            first = None if number == 3 else run[pair.first]
            comparison.record(pair, first, run[pair.second], bot="desk", started=float(number))
        charts = {chart.chart: chart for chart in comparison.outcome.charts}
        assert charts["time"].moved and not charts["size"].moved
        assert charts["time"].failed_pairs == 1

    def test_a_certain_difference_ends_it_early(self) -> None:
        outcome = World(2, 1).drive(pinpoint.Pairwise(pairs=100, early_stopping=True))
        assert outcome.status == "different"

    def test_a_side_that_does_not_build_fails_it(self) -> None:
        comparison: Any = pinpoint.Pairwise()
        comparison.skip(1)
        assert (comparison.outcome.status, comparison.next()) == ("failed", [])

    @pytest.mark.parametrize(
        ("answer", "error", "message"),
        [
            (((0, 0), 1.0, 1.0), ValueError, r"\(0, 0\): 1 pairs were given, but 0"),
            (((0, 2), 1.0, 1.0), ValueError, "there is no commit 2"),
            (((0, 1), float("nan"), 1.0), ValueError, "`first` is NaN"),
            (((0, 1), 1.0, {"time": float("inf")}), ValueError, "`second.*` is inf"),
            (((0, 1), "fast", 1.0), TypeError, "`first` must be a number"),
            (((0, 1), {1: 2.0}, 1.0), TypeError, "named by str"),
        ],
    )
    def test_a_refused_answer_changes_nothing(self, answer: Any, error: Any, message: Any) -> None:
        comparison: Any = pinpoint.Pairwise()
        before = comparison.next()
        with pytest.raises(error, match=message):
            comparison.record(*answer)
        assert comparison.next() == before

    @pytest.mark.parametrize("pairs", [0, 5, 7, 2**40, -2])
    def test_pairs_must_be_even_and_enough(self, pairs: Any) -> None:
        with pytest.raises(ValueError, match="pairs"):
            pinpoint.Pairwise(pairs)


class TestCulpritFinder:
    def test_a_culprit_is_verified(self) -> None:
        outcome = World(20, 13).drive(pinpoint.CulpritFinder(20))
        assert (outcome.status, outcome.verification.status) == ("culprit_found", "different")
        (culprit,) = outcome.culprits
        assert (culprit.commit, culprit.prior, culprit.comparison.status) == (13, 12, "different")
        assert outcome.unconfirmed == ()

    def test_no_regression_is_not_searched(self) -> None:
        outcome = World(20, 20).drive(pinpoint.CulpritFinder(20))
        assert (outcome.status, outcome.runs, outcome.builds) == ("no_regression", 60, 2)

    def test_an_end_that_does_not_build_fails_it(self) -> None:
        finder: Any = pinpoint.CulpritFinder(20)
        finder.skip(19)
        assert finder.outcome.status == "failed"
