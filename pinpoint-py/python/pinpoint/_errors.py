"""Errors other than bad values, which are ValueErrors."""

from __future__ import annotations


class PinpointError(Exception):
    """The base of all errors of this package."""


class RepositoryError(PinpointError):
    """A repository, or a revision in it, that cannot be used."""


class ExecutionError(PinpointError):
    """A command that cannot be run, or a good end that does not work.

    The job can be resumed once that is fixed.
    """


class JobError(PinpointError):
    """A job that does not exist, is held by another process, or cannot be stored."""


class BuildFailed(PinpointError):
    """Raised by a ``build`` function: this commit does not build.

    Another one is tried in its place.
    """


class RunFailed(PinpointError):
    """Raised by a ``run`` function: this run failed, and gives no value.

    It counts: a benchmark that fails more often is a regression, too.
    """


class Unavailable(PinpointError):
    """Raised by any function: trouble that may pass, and says nothing about the commit.

    It is tried again, a few times and at growing intervals.
    """


class Stopped(PinpointError):
    """Raised by the driver when it was told to stop; no user sees it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, while a job was driven.

    Attributes
    ----------
    job_id : str
        The job; ``resume=job_id`` continues it.
    """

    job_id: str = ""
