"""Stored jobs, and the commits between two others."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _pinpoint
from ._errors import JobError
from ._model import CombinedCommit, JobOutcome, JobRecord, PairwiseJobOutcome

# The time that cancel_job waits for the process that works on the job: longer than the
# lease of a process that has died.
_PATIENCE = 75.0


def default_state_dir() -> str:
    """The directory of jobs and builds: ``$XDG_STATE_HOME/pinpoint``."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "pinpoint")


def jobs(
    state: str | None = None,
    limit: int = 100,
    state_dir: str | os.PathLike[str] | None = None,
) -> list[JobRecord]:
    """The jobs of this machine, newest first, including those of the command line.

    Parameters
    ----------
    state : str, optional
        Only jobs in this state: ``"pending"``, ``"running"``, ``"completed"``,
        ``"failed"`` or ``"canceled"``.
    limit : int
        The most to list.
    state_dir : path, optional
        The directory of jobs and builds.

    Raises
    ------
    ValueError
        An unknown state.
    JobError
        The directory cannot be read.
    """
    text = _pinpoint.stored_jobs(state_dir or default_state_dir(), state, limit)
    return [JobRecord._of(job) for job in json.loads(text)]


def job_outcome(
    job_id: str, state_dir: str | os.PathLike[str] | None = None
) -> JobOutcome | PairwiseJobOutcome | None:
    """The outcome of a job of this module or of the command line; None when it has not ended.

    Raises
    ------
    JobError
        The job does not exist.
    """
    text = _pinpoint.stored_outcome(state_dir or default_state_dir(), job_id)
    stored: dict[str, Any] = json.loads(text)
    if stored["outcome"] is None:
        return None
    if stored["kind"] == "pairwise":
        return PairwiseJobOutcome._of(stored["outcome"])
    return JobOutcome._of(stored["outcome"])


def cancel_job(job_id: str, state_dir: str | os.PathLike[str] | None = None) -> None:
    """Cancel a job. If another process works on it, ask that process to end it, and wait.

    :func:`job_outcome` returns the findings until then. The job can be resumed.

    Raises
    ------
    JobError
        The job does not exist, it is finished, or its process does not end it.
    """
    directory = os.path.abspath(state_dir or default_state_dir())
    asked = time.monotonic()
    while (state := json.loads(_pinpoint.try_to_cancel(directory, job_id))) is None:
        if time.monotonic() - asked > _PATIENCE:
            raise JobError(f"the process that works on job {job_id} does not end it")
        # More than once: a process that has just begun to work on the job clears
        # earlier requests.
        time.sleep(0.1)
    if state != "canceled":
        raise JobError(f"job {job_id} is finished")


class Midpoint(NamedTuple):
    """The commits between two others.

    Attributes
    ----------
    states : int
        States strictly between the two.
    midpoint : CombinedCommit or None
        The one in the middle; None when nothing lies between.
    between : tuple of CombinedCommit or None
        All of them, oldest first, if requested.
    """

    states: int
    midpoint: CombinedCommit | None
    between: tuple[CombinedCommit, ...] | None


def midpoint(
    repo: str | os.PathLike[str],
    lower: str,
    higher: str,
    all: bool = False,
    repositories: Mapping[str, str | os.PathLike[str]] | None = None,
    state_dir: str | os.PathLike[str] | None = None,
) -> Midpoint:
    """Find the commits between two revisions, including merged branches and dependency rolls.

    Parameters
    ----------
    repo : path
        A git repository, or a directory in one.
    lower, higher : str
        Revisions, the older first.
    all : bool
        Return all of them, not only the one in the middle.
    repositories : mapping, optional
        Local clones of dependencies, by their URLs.
    state_dir : path, optional
        The directory of merges that no branch holds.

    Raises
    ------
    RepositoryError
        The repository or revision does not exist.
    """
    named = {url: os.path.abspath(path) for url, path in (repositories or {}).items()}
    text = _pinpoint.midpoint(
        os.path.abspath(repo), lower, higher, all, named, state_dir or default_state_dir()
    )
    found = json.loads(text)
    between = found["between"]
    return Midpoint(
        found["count"],
        None if found["midpoint"] is None else CombinedCommit._of(found["midpoint"]),
        None if between is None else tuple(CombinedCommit._of(state) for state in between),
    )
