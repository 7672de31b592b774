"""The causes of noise in measurements on this machine."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from . import _pinpoint
from ._arguments import text
from ._results import table

# The arguments and functions that help: the library names none.
_ADVICE = {
    "load": "settle= waits before each run until it is quiet",
    "hyper_threads": "cpu= pins runs",
    "steal": "pinpoint.pairwise compares in pairs",
}


class Finding(NamedTuple):
    """A cause of noise in measurements.

    Attributes
    ----------
    cause : str
        Its kind: ``"load"``, ``"steal"``, ``"turbo"``, …
    severity : str
        ``"high"``: results may be wrong now; ``"medium"``: changes of some percent may be
        lost; ``"low"``: it matters for changes of about a percent.
    seen, remedy : str
        The observation, and its remedy.
    """

    cause: str
    severity: Literal["high", "medium", "low"]
    seen: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity:>6}  {self.seen}\n        {self.remedy}"


class LoopTimes(NamedTuple):
    """The times of the same work, repeated many times.

    Attributes
    ----------
    pieces : int
        The number of repetitions.
    median : float
        The median of its times, in seconds.
    scatter, processor_scatter : float
        The interquartile range of its times, and of its times on a processor, as a share of
        their median.
    off_processor : float
        The share of the time in which it was not on a processor.
    smallest_change : float
        The smallest change that 20 runs of such work, 10 of each commit, find in 4 of 5
        cases, as a share of its time.
    """

    pieces: int
    median: float
    scatter: float
    processor_scatter: float
    off_processor: float
    smallest_change: float

    def __str__(self) -> str:
        return (
            f"the same work {self.pieces} times: {1000 * self.median:.4g} ms each (median)\n"
            f"its time scatters by {self.scatter:.2%} (interquartile range), its processor time by "
            f"{self.processor_scatter:.2%};\nfor {self.off_processor:.2%} of the time it was not on a "
            f"processor\n20 runs of such work, 10 of each commit, find a change of "
            f"{self.smallest_change:.2%} in 4 of 5 cases"
        )


class Diagnosis(NamedTuple):
    """The findings of :func:`doctor`.

    Attributes
    ----------
    findings : tuple of Finding
        The causes of noise, the worst first.
    times : LoopTimes or None
        The times of the same work; None where a clock stands still.
    readings : tuple of (str, object)
        The kernel's readings, by name; None where they are missing.
    """

    findings: tuple[Finding, ...]
    times: LoopTimes | None
    readings: tuple[tuple[str, Any], ...]

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Diagnosis:
        def finding(found: dict[str, Any]) -> Finding:
            advice = _ADVICE.get(found["cause"])
            remedy = f"{found['remedy']} ({advice})" if advice else found["remedy"]
            return Finding(found["cause"], found["severity"], found["seen"], remedy)

        times = document["times"]
        return cls(
            tuple(finding(found) for found in document["findings"]),
            None if times is None else LoopTimes(**times),
            _frozen(document["readings"]),
        )

    def __str__(self) -> str:
        found = self.findings or ("nothing was found that disturbs measurements",)
        return "\n\n".join(str(part) for part in (self.times, *found) if part is not None)

    def __repr__(self) -> str:
        found = (f"{finding.severity}: {finding.seen}" for finding in self.findings)
        return f"<Diagnosis: {'; '.join(found) or 'nothing disturbs measurements'}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            (finding.severity, f"{finding.seen}. {finding.remedy}") for finding in self.findings
        ]
        if self.times is not None:
            rows += self.times._asdict().items()
        return table("Diagnosis", rows)


def _frozen(value: Any) -> Any:
    """The same value with tuples in place of lists."""
    if isinstance(value, dict):
        return tuple((name, _frozen(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(_frozen(part) for part in value)
    return value


def doctor(cpu: str | None = None) -> Diagnosis:
    """Find the causes of noise in measurements on this machine.

    The same work is repeated for some seconds, while the kernel is asked about other
    activity: load, steal, clock rates, hyper-threads, heat, swap, the battery, limits, other
    jobs. Ctrl-C ends the wait for it.

    Parameters
    ----------
    cpu : str, optional
        The processors to examine, to which runs will be pinned, as in ``"0-1,4"``; by
        default all.

    Raises
    ------
    ValueError
        A processor that does not exist, or an invalid list.
    """
    return Diagnosis._of(json.loads(_pinpoint.doctor(None if cpu is None else text("cpu", cpu))))
