"""The search, on benchmarks whose truth is known."""

import random
from typing import Any

import pytest

import pinpoint


def bisection(commits: Any, **options: Any) -> Any:
    """A search by the reference strategy, whose steps are known, unless told otherwise."""
    return pinpoint.Bisection(commits, **{"strategy": "pinpoint", **options})


def bench(level: Any, run: Any) -> Any:
    """A value with a little spread that depends on the run only."""
    return level + 0.01 * (run % 7)


class World:
    """Commits: some are slower, some do not build, some fail."""

    def __init__(self, commits: Any, slower_from: Any = None, broken: Any = (), fails_from: Any = None) -> None:
        self.commits = commits
        self.slower_from = commits if slower_from is None else slower_from
        self.broken = set(broken)
        self.fails_from = commits if fails_from is None else fails_from
        self.asked: list[Any] = []
        self.runs = [0] * commits

    def run(self, index: Any) -> Any:
        """The value of the next run of a commit; None when it fails."""
        self.runs[index] += 1
        if index >= self.fails_from:
            return None
        return bench(12.0 if index >= self.slower_from else 10.0, self.runs[index])

    def answer(self, search: Any, index: Any, runs: Any) -> None:
        if index in self.broken:
            search.skip(index)
            return
        results = [self.run(index) for _ in range(runs)]
        values = [value for value in results if value is not None]
        search.record(index, values, failures=len(results) - len(values))

    def search(self, **options: Any) -> Any:
        search = bisection(self.commits, **{"magnitude": 1.0, **options})
        while batch := search.next():
            self.asked.append(batch)
            for index, runs in batch:
                self.answer(search, index, runs)
        return search.outcome


@pytest.mark.parametrize("culprit", range(1, 20))
def test_finds_the_commit_that_is_slower(culprit: Any) -> None:
    world = World(20, slower_from=culprit)
    outcome = world.search()
    assert outcome.status == "culprit_found"
    assert outcome.culprits == ((culprit, None),)
    assert (outcome.candidates, outcome.reason) == ((), None)
    assert outcome.runs == sum(world.runs)
    assert outcome.builds == sum(1 for runs in world.runs if runs)


def test_two_commits_need_no_search_between() -> None:
    assert World(2, slower_from=1).search().culprits == ((1, None),)


def test_names_are_counted() -> None:
    search = bisection(["v1.0", "v1.1", "v1.2"])
    assert {index for index, _ in search.next()} == {0, 2}


def test_a_large_range_costs_nothing_until_it_is_run() -> None:
    outcome = World(1_000, slower_from=617).search()
    assert outcome.culprits == ((617, None),)
    assert outcome.builds <= 2 + 10


def test_no_change_is_no_regression() -> None:
    outcome = World(20).search()
    assert (outcome.status, outcome.culprits) == ("no_regression", ())


def test_better_is_no_regression() -> None:
    class Faster(World):
        def run(self, index: Any) -> Any:
            return 20.0 - super().run(index)

    assert Faster(20, slower_from=7).search(direction="down").status == "no_regression"
    assert Faster(20, slower_from=7).search(direction="up").culprits == ((7, None),)


def test_failures_are_a_regression() -> None:
    outcome = World(20, fails_from=13).search()
    assert outcome.culprits == ((13, None),)


def test_the_ends_are_run_first_and_interleaved() -> None:
    first = bisection(20, seed=3).next()
    runs = {0: 0, 19: 0}
    for index, count in first:
        runs[index] += count
        assert abs(runs[0] - runs[19]) <= 2
    assert runs == {0: 10, 19: 10}
    assert bisection(20, seed=4).next() != first


def test_a_batch_is_answered_in_parts() -> None:
    search = bisection(20)
    search.record(0, [bench(10.0, run) for run in range(4)], failures=1)
    left = search.next()
    assert sum(runs for index, runs in left if index == 0) == 5
    assert sum(runs for index, runs in left if index == 19) == 10
    search.record(19, [bench(12.0, run) for run in range(10)])
    assert search.next() == [(0, 5)]
    assert search.outcome is None
    search.record(0, [bench(10.0, run) for run in range(5)])
    assert {index for index, _ in search.next()} == {9}


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_answers_in_a_batch_changes_nothing(seed: Any) -> None:
    """Each batch in a random order and in random parts."""
    shuffle = random.Random(seed)
    world = World(20, slower_from=13, broken=[9, 12])
    search = bisection(20, magnitude=1.0)
    while batch := search.next():
        index, runs = shuffle.choice(batch)
        world.answer(search, index, shuffle.randint(1, runs))
    assert search.outcome == World(20, slower_from=13, broken=[9, 12]).search()


def test_a_commit_that_does_not_build_is_replaced_by_its_neighbor() -> None:
    world = World(20, slower_from=13, broken=[9])
    assert world.search().culprits == ((13, None),)
    assert world.runs[9] == 0
    assert world.runs[8] > 0


def test_what_cannot_be_told_apart_is_a_range() -> None:
    outcome = World(20, slower_from=13, broken=[12, 13]).search()
    assert (outcome.status, outcome.culprits) == ("inconclusive", ())
    assert outcome.candidates == (12, 13, 14)


@pytest.mark.parametrize("end", [0, 19])
def test_an_end_that_does_not_build_fails_the_search(end: Any) -> None:
    outcome = World(20, slower_from=13, broken=[end]).search()
    assert (outcome.status, outcome.reason) == ("failed", "skipped by the caller")
    assert (outcome.runs, outcome.builds) == (10, 1)


def test_a_commit_is_skipped_once_and_for_all() -> None:
    search = bisection(3)
    search.record(0, [bench(10.0, run) for run in range(10)])
    search.record(2, [bench(12.0, run) for run in range(10)])
    search.skip(1)
    search.skip(1)
    with pytest.raises(ValueError, match="10 runs were given, but 0 were asked for"):
        search.record(1, [11.0] * 10)
    assert search.outcome.candidates == (1, 2)


def test_a_commit_that_was_run_cannot_be_skipped() -> None:
    search = bisection(3)
    search.record(0, [10.0])
    with pytest.raises(ValueError, match="commit 0 was run before"):
        search.skip(0)
    with pytest.raises(ValueError, match="commit 1 was not asked for"):
        search.skip(1)


@pytest.mark.parametrize("max_runs", range(20, 90, 5))
def test_the_budget_of_runs_is_kept(max_runs: Any) -> None:
    world = World(64, slower_from=40)
    outcome = world.search(max_runs=max_runs)
    assert sum(world.runs) == outcome.runs <= max_runs
    if outcome.status == "inconclusive":
        assert outcome.reason == "the budget of runs is spent"
        assert 40 in outcome.candidates
    else:
        assert outcome.culprits == ((40, None),)


@pytest.mark.parametrize("max_builds", range(2, 9))
def test_the_budget_of_builds_is_kept(max_builds: Any) -> None:
    outcome = World(64, slower_from=40).search(max_builds=max_builds)
    assert outcome.builds <= max_builds
    if outcome.status == "inconclusive":
        assert outcome.reason == "the budget of builds is spent"
        assert 40 in outcome.candidates
    else:
        assert outcome.culprits == ((40, None),)


@pytest.mark.parametrize("seed", [80, 642, *range(10)])
def test_a_build_that_nothing_is_run_of_next_does_not_stop_the_search(seed: Any) -> None:
    """Several large changes among many small ones, and noise in two modes.

    With the first two seeds the search builds a commit and then runs others: the
    answers were dropped, and the same runs requested without end.
    """
    chance = random.Random(seed)
    level, levels = 20.0, []
    for _ in range(chance.randint(20, 120)):
        level *= chance.choice([0.6, 1.6]) if chance.random() < 0.04 else chance.uniform(0.98, 1.02)
        levels.append(level)
    max_runs, magnitude = chance.choice([200, 400, 800]), chance.choice([None, 2.0, 8.0])
    broken = {index for index in range(1, len(levels) - 1) if seed % 2 and chance.random() < 0.2}
    search = bisection(len(levels), strategy="adaptive", max_runs=max_runs, magnitude=magnitude, seed=seed)
    runs = 0
    while batch := search.next():
        for index, asked in batch:
            if index in broken:
                search.skip(index)
                continue
            values = [
                levels[index] * (1.6 if chance.random() < 0.3 else 1.0) * chance.gauss(1.0, 0.03) for _ in range(asked)
            ]
            search.record(index, values, started=[runs + place for place in range(asked)])
            runs += asked
            assert runs <= max_runs
    assert search.outcome.runs == runs


@pytest.mark.parametrize("seed", range(200))
def test_random_worlds_end_within_their_budgets(seed: Any) -> None:
    """Several changes, noise, failures, broken commits, tight budgets."""
    chance = random.Random(seed)
    commits = chance.randint(2, 40)
    level = 10.0
    levels = [level := level + (chance.random() < 0.15) * chance.uniform(0.0, 3.0) for _ in range(commits)]
    broken = {index for index in range(commits) if chance.random() < 0.1}
    max_runs, max_builds = chance.randint(20, 900), chance.randint(2, commits + 2)
    search = bisection(commits, max_runs=max_runs, max_builds=max_builds, seed=seed)
    runs, built = 0, set()
    while batch := search.next():
        index, asked = chance.choice(batch)
        if index in broken:
            search.skip(index)
            continue
        count = chance.randint(1, asked)
        failures = chance.randint(0, count) if chance.random() < 0.1 else 0
        search.record(index, [chance.gauss(levels[index], 0.5) for _ in range(count - failures)], failures)
        runs += count
        built.add(index)
    outcome = search.outcome
    assert (outcome.runs, outcome.builds) == (runs, len(built))
    assert runs <= max_runs and len(built) <= max_builds
    assert not broken & {index for index, _ in outcome.culprits}
    assert list(outcome.candidates) == sorted(set(outcome.candidates))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_answers_give_the_same_search(seed: Any) -> None:
    first, second = World(40, slower_from=23), World(40, slower_from=23)
    assert first.search(seed=seed) == second.search(seed=seed)
    assert first.asked == second.asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"commits": 1}, "at least 2 commits.* has 1"),
        ({"commits": []}, "at least 2 commits.* has 0"),
        ({"commits": -3}, "`commits` is -3"),
        ({"commits": 20, "strategy": "guess"}, '"guess".*"adaptive" or "pinpoint"'),
        ({"commits": 20, "direction": "left"}, '"left"'),
        ({"commits": 20, "magnitude": float("nan")}, "magnitude"),
        ({"commits": 20, "confidence": 1.0}, "confidence"),
        ({"commits": 20, "max_runs": 19}, "20 runs.* allows 19"),
        ({"commits": 20, "max_builds": 1}, "2 builds.* allows 1"),
        ({"commits": 20, "max_runs": -1}, "`max_runs` is -1"),
        ({"commits": 20, "seed": 2**64}, "`seed` is 18446744073709551616"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(options: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        pinpoint.Bisection(**{"strategy": "pinpoint", **options})


@pytest.mark.parametrize("commits", ["v1", None, 2.5])
def test_commits_are_a_count_or_a_list(commits: Any) -> None:
    with pytest.raises(TypeError, match="`commits` must be an int or a list of names"):
        pinpoint.Bisection(commits)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((0, [10.0] * 11), "commit 0: 11 runs were given, but 10 were asked for"),
        ((0, [10.0], 10), "11 runs were given"),
        ((0, [10.0], 2**64 - 1), "runs were given"),
        ((0, []), "a run that gives no value is a failure"),
        ((0, [10.0, float("nan")]), r"`values\[1\]` is NaN"),
        ((0, [10.0], -1), "`failures` is -1"),
        ((5, [10.0]), "1 runs were given, but 0 were asked for"),
        ((20, [10.0]), "there is no commit 20: the last one is 19"),
        ((-1, [10.0]), "`index` is -1"),
    ],
)
def test_a_refused_answer_changes_nothing(answer: Any, message: Any) -> None:
    search = bisection(20)
    before = search.next()
    with pytest.raises(ValueError, match=message):
        search.record(*answer)
    assert search.next() == before


def test_a_finished_search_takes_no_answer() -> None:
    search = bisection(2)
    for index in (0, 1):
        search.record(index, [], failures=10)
    while batch := search.next():
        for index, runs in batch:
            search.record(index, [], failures=runs)
    assert search.outcome.status == "no_regression"
    with pytest.raises(ValueError):
        search.record(0, [1.0])
    assert repr(search) == "<Bisection of 2 commits: no_regression>"


def test_the_magnitude_may_be_a_percentage() -> None:
    found = pinpoint.Bisection(8, magnitude="5 %")
    assert '"percent":5.0' in found.to_json()
    for magnitude in ("5", "much", object()):
        unfit: Any = magnitude
        with pytest.raises((TypeError, ValueError), match="`magnitude`"):
            pinpoint.Bisection(8, magnitude=unfit)
        with pytest.raises((TypeError, ValueError), match="`magnitude`"):
            pinpoint.CulpritFinder(8, magnitude=unfit)


def test_failing_culprits_say_why() -> None:
    """A caller's failures have only one reason: the runs gave no value."""
    search = pinpoint.Bisection(8)
    while batch := search.next():
        for index, runs in batch:
            broken = index >= 5
            search.record(index, [] if broken else [1.0] * runs, failures=runs if broken else 0)
    outcome: Any = search.outcome
    (effect,) = outcome.effects
    assert (effect.of, effect.before_failure) == ("failures", None)
    assert isinstance(effect.after_failure, str)
