from collections.abc import Sequence
from typing import Literal, final

__version__: str

@final
class PerformanceComparison:
    """What compare_performance() decided, and why."""

    @property
    def verdict(self) -> Literal["same", "different", "unknown", "nil"]:
        """unknown: more values may decide; nil: a side is empty."""
    @property
    def p_value(self) -> float | None:
        """The smaller of the two p-values; None when no test was run."""
    @property
    def p_value_ks(self) -> float | None:
        """p of the Kolmogorov-Smirnov test."""
    @property
    def p_value_mwu(self) -> float | None:
        """p of the Mann-Whitney test."""
    @property
    def low_threshold(self) -> float | None:
        """p at most this: different."""
    @property
    def high_threshold(self) -> float | None:
        """p above this: same."""
    @property
    def mean_diff(self) -> float | None:
        """Mean of b less mean of a; None when a side is empty."""
    @property
    def is_too_small(self) -> bool:
        """The means differ by less than a tenth of the magnitude: no test was run."""
    @property
    def is_improvement(self) -> bool:
        """The means differ towards the better: no test was run."""

@final
class FunctionalComparison:
    """What compare_functional() decided, and why."""

    @property
    def verdict(self) -> Literal["same", "different", "unknown"]:
        """unknown: more values may decide."""
    @property
    def p_value(self) -> float | None:
        """The smaller of the two p-values; None when no test was run."""
    @property
    def p_value_ks(self) -> float | None:
        """p of the Kolmogorov-Smirnov test."""
    @property
    def p_value_mwu(self) -> float | None:
        """p of the Mann-Whitney test."""
    @property
    def low_threshold(self) -> float | None:
        """p at most this: different."""
    @property
    def high_threshold(self) -> float | None:
        """p above this: same."""
    @property
    def mean_diff(self) -> float:
        """Share of failures in b less that in a."""
    @property
    def is_improvement(self) -> bool:
        """Fewer failures in b: no test was run."""

@final
class Outcome:
    """What a search found. Commits are numbered from 0, the good end."""

    @property
    def status(self) -> Literal["culprit_found", "no_regression", "inconclusive", "failed"]: ...
    @property
    def reason(self) -> str | None:
        """Why the search ended before all was decided; None when it did not."""
    @property
    def culprits(self) -> list[tuple[int, float | None]]:
        """The commits that changed the benchmark, oldest first, each with its
        probability (None where the strategy states none)."""
    @property
    def candidates(self) -> list[int]:
        """Commits that may hold a culprit that could not be told apart, oldest first."""
    @property
    def runs(self) -> int:
        """Runs that were recorded, failed ones included."""
    @property
    def builds(self) -> int:
        """Commits of which a run was recorded."""

@final
class Bisection:
    """Search for the commits that changed a benchmark, without running anything.

    next() says which commits to run and how often, record() and skip() tell
    what came of it, until next() returns an empty list; then outcome is there.
    The same answers always lead to the same outcome.
    """

    def __new__(
        cls,
        commits: int | Sequence[object],
        strategy: Literal["pinpoint"] = "pinpoint",
        magnitude: float | None = None,
        direction: Literal["up", "down", "unknown"] = "unknown",
        confidence: float = 0.95,
        max_runs: int | None = None,
        max_builds: int | None = None,
        seed: int = 0,
    ) -> Bisection:
        """commits is the number of commits, or a list of their names; the first
        is good, the last is bad. magnitude is the smallest change worth finding,
        in the unit of the values; direction says where better lies. Raises
        ValueError for a search that cannot be made."""
    def next(self) -> list[tuple[int, int]]:
        """What is to be run and not answered yet: (index, runs), in the order to run.

        A commit can stand in the list more than once, so that a drift of the
        machine falls on all commits alike. New commits and runs are asked for
        once everything asked before is answered. An empty list: the search is
        over."""
    def record(self, index: int, values: Sequence[float], failures: int = 0) -> None:
        """Tell what came of running a commit: one value for each run that gave
        one, and the number of runs that failed.

        All or part of what was asked. Raises ValueError, and takes in nothing,
        for more runs than were asked for and for values that are not finite."""
    def skip(self, index: int) -> None:
        """Tell that a commit does not build: its nearest neighbour is tried
        instead; at an end of the range, the search fails.

        Raises ValueError for a commit that was not asked for, and for one of
        which a run was recorded: that one did build, and runs that went wrong
        are failures. Does nothing when the commit was skipped before."""
    @property
    def outcome(self) -> Outcome | None:
        """What was found; None until the search is over."""

def compare_performance(
    a: Sequence[float],
    b: Sequence[float],
    magnitude: float | None = None,
    direction: Literal["up", "down", "unknown"] = "unknown",
) -> PerformanceComparison:
    """Compare the values of two samples: a, the older, with b, the newer.

    magnitude is the smallest change worth finding, in the unit of the values;
    direction says where better lies. Raises ValueError for values that are not
    finite."""

def compare_functional(
    a: Sequence[float], b: Sequence[float], expected_error_rate: float = 1.0
) -> FunctionalComparison:
    """Compare whether runs fail: a and b hold 1 for each failure, 0 for each success.

    Raises ValueError for other values, and when a sample is empty."""
