"""Bisections and comparisons that run on their own.

The machine, its journal and the work on this machine are Rust's (``drive``), on a
separate thread. Python's part, its functions, is requested over a bridge, and runs on
an event loop: functions that are not coroutines run on daemon threads, so that one
that never returns does not block the exit.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, SupportsFloat, TypeVar

from . import _pinpoint
from ._arguments import KINDS, WITH_RESUME, check_executor, leave_out, search_of, text
from ._errors import BuildFailed, Interrupted, PinpointError, RunFailed, Stopped, Unavailable
from ._executor import Executor, Values
from ._jobs import default_state_dir
from ._model import CombinedCommit, Commit, JobOutcome, PairwiseJobOutcome, Progress
from ._options import (
    DEFAULTS,
    BisectOptions,
    BuildFunction,
    Checkout,
    CulpritOptions,
    PairwiseOptions,
    RunFunction,
    refuse_unknown,
    with_keywords,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
T = TypeVar("T")

# True during a call to a function of a job, which has the machine to itself.
_has_machine: contextvars.ContextVar[bool] = contextvars.ContextVar("has_machine", default=False)


@with_keywords(BisectOptions)
async def bisect_async(
    repo: str | os.PathLike[str] | None = None,
    good: str | None = None,
    bad: str | None = None,
    **options: Unpack[BisectOptions],
) -> JobOutcome:
    """Find the commit that changed a benchmark, on the caller's event loop.

    Parameters
    ----------
    repo : path
        A git repository, or a directory in one. It is read and never written:
        commits are checked out elsewhere. A function of such a job cannot begin
        another one: it would wait for the machine that it has to itself.
    good, bad : str
        Revisions: the last known to be good, and one that is bad. With an
        ``executor``, any names.
    run : str, sequence of str, or function
        The benchmark: a shell command, a command with its arguments, or a function
        (or coroutine function) of a :class:`Checkout` that returns its value (a
        number, several, a dict of them by chart, or None for a failed run).
        Commands and functions have the whole machine to themselves. Before the search
        it is run once at the good end, without being counted, to find its charts; up to
        three times if it gives no value there. A chart that is named has to be among
        those of the first run.
    build : str or function, optional
        The build, done once for each commit before its first run: a shell command,
        or a function of a :class:`Checkout`. When a job is resumed, it may be
        called again for a commit.
    executor : Executor, optional
        Lists, builds and runs in place of all these. ``skip`` are names of its
        commits then, and arguments for commands and repositories are refused.
    resume : str, optional
        The job to continue, with the functions that it was begun with: of this
        module, or of the command line. Its other arguments are kept with it; only
        ``timeout`` is given again.
    chart : str, optional
        The metric that decides, where there are several; by default the only one that
        the good end gives.
    format, results, aggregate : str, optional
        Only with a command: the format of its values, as for ``pinpoint bisect``: ``"auto"``,
        ``"time"``, ``"lines"``, ``"json:POINTER"``, ``"regex:PATTERN"``, …; the
        file with its results; the aggregate of several values (``"median"``).
    measure : {"wall", "user", "instructions", "memory", "auto"}, optional
        Only with a command: its output is not read, and this decides, in place of a
        ``chart``: the time from start to end, the processor time without the kernel's,
        the instructions in that time, or the peak memory of the largest process, where
        that has more than this one.
        Instructions are counted by the processor or, where it cannot, by valgrind's
        callgrind, which takes 20 to 200 times as long. ``"auto"`` tries five runs of each
        end, and takes the measure in which the bad one is worse most clearly.
    direction : {"up", "down", "unknown"}, optional
        The better direction. By default a command's format decides, or its unit; with
        a function, every change counts.
    magnitude : float or str, optional
        The smallest change worth finding, in the unit of the values; ``"5%"`` of
        the good end's median. Its absolute value counts.
    strategy, confidence, max_runs, max_builds, build_cost, seed
        As for :class:`Bisection`.
    priors : "changes" or sequence of float, optional
        The suspicion of each commit before the first run: by its changes, so that
        commits that touch only documents, tests or CI are suspected less than code, or
        with the weights of :class:`Bisection`. With None all are alike, and so they are
        with an ``executor`` when no weights are given.
    max_time : float, optional
        The time limit in seconds.
    skip, paths : sequence of str
        Revisions not to try; only commits that touch one of these paths are tried.
    warmup : int
        Only with a command: runs of each build that do not count, before the first. A
        function warms up what it runs itself, if that is needed.
    env : mapping, optional
        Variables for build and benchmark commands.
    cpu : str, optional
        Only with a command: the processors that its runs are pinned to, as in ``"0-1,4"``.
    settle : float, optional
        Before each run or pair, wait until other processes leave the machine alone, but no
        longer than this many seconds. Each takes at least a quarter of a second more.
    trace_reads : bool
        Only with commands: trace their reads with ``strace``. Commits that change none of
        these files are not built, and commits between two equal builds are excluded.
    allow_outside_reads : bool
        Only with commands: let them use files of your own checkout, which are the same for
        all commits. Without this, a benchmark that reads tracked files there is refused.
    timeout : float, optional
        The time limit for one build or run, in seconds; one that takes longer has failed.
        A command is ended with all its processes, a coroutine is canceled. A plain
        function cannot be ended: it continues in its thread, where it may disturb later
        runs, and a RuntimeWarning says so. Use a command or a coroutine for work that may
        hang. Without a ``timeout``, a function that never returns blocks the job until
        Ctrl-C.
    build_jobs : int
        Builds at one time.
    repositories : mapping, optional
        Local clones of dependencies, by their URLs.
    cache_size : int
        Bytes that unused builds may occupy.
    state_dir : path, optional
        The directory of jobs and builds; by default that of the command line.
    progress : function, optional
        Called with a :class:`Progress` after every build and run.
    bar : bool
        Show a bar, with tqdm if it is installed.

    Returns
    -------
    JobOutcome
        The culprits, or their probable places.

    Raises
    ------
    ValueError, TypeError
        Arguments that make no valid search, or that a function would ignore.
    PinpointError
        :class:`RepositoryError`, :class:`ExecutionError` or :class:`JobError`.
    Interrupted
        A KeyboardInterrupt: Ctrl-C. Commands are ended; ``job_id`` is the job to
        resume. Canceling the task of :func:`bisect_async` does the same.
    Exception
        Any exception of a function, unchanged; the job can be resumed. However,
        :class:`BuildFailed`, :class:`RunFailed` and :class:`Unavailable` are
        answers, and do not end it.

    Notes
    -----
    :func:`bisect` may be called anywhere, including a notebook: it has its own event
    loop, on its own thread.

    Examples
    --------
    With a command, whose output is read, and with a function:

    >>> import pinpoint
    >>> outcome = pinpoint.bisect(
    ...     "path/to/repo", "v1.2", "main", build="make -j2", run="./bench.sh", magnitude="5%"
    ... )  # doctest: +SKIP
    >>> outcome.culprits[0].blamed.subject, outcome.culprits[0].probability  # doctest: +SKIP
    ('Sort twice', 0.98)

    >>> def run(checkout):
    ...     return {"time": measure(checkout.path)}
    >>> pinpoint.bisect("path/to/repo", "v1.2", "main", run=run).status  # doctest: +SKIP
    'culprit_found'

    On your own event loop it is ``await pinpoint.bisect_async(...)``.
    """
    return JobOutcome._of(await _job(bisect_async, repo, good, bad, **options))


@with_keywords(CulpritOptions)
async def culprit_async(
    repo: str | os.PathLike[str] | None = None,
    good: str | None = None,
    bad: str | None = None,
    **options: Unpack[CulpritOptions],
) -> JobOutcome:
    """Verify a regression, find its culprits and verify each, on the caller's event loop.

    The two ends are compared in pairs of runs; if they differ, the range is bisected,
    and each culprit is compared with its parent in further runs. Those that do not
    differ from it are ``unconfirmed``.

    Parameters
    ----------
    pairs : int
        Pairs of runs of each comparison: an even number, 6 or more.
    magnitude : float or str, optional
        As for :func:`bisect`; by default the difference just verified.
    max_runs : int, optional
        The most runs in total; a pair is two.
    repo, good, bad, run, build, executor, resume and all others
        As for :func:`bisect`, including errors.

    Returns
    -------
    JobOutcome
        Like that of :func:`bisect`, with its ``verification`` and a ``confirmation`` of each
        culprit.
    """
    return JobOutcome._of(await _job(culprit_async, repo, good, bad, **options))


@with_keywords(PairwiseOptions)
async def pairwise_async(
    repo: str | os.PathLike[str] | None = None,
    base: str | None = None,
    experiment: str | None = None,
    **options: Unpack[PairwiseOptions],
) -> PairwiseJobOutcome:
    """Compare two commits in pairs of runs, on the caller's event loop.

    Two runs right after each other share whatever slows the machine down for a while.

    Parameters
    ----------
    base, experiment : str
        Revisions: the reference, and the one compared with it. They may be the same,
        to see the benchmark's own scatter.
    pairs : int
        Pairs of runs: an even number, 6 or more. To find a change of one among several
        charts takes more: 8 among two to six, 12 among a hundred.
    early_stopping : bool
        End as soon as a difference is certain.
    chart : str, optional
        The only metric to compare; by default all of them.
    measure : {"wall", "user", "instructions", "memory", "auto"}, optional
        As for :func:`bisect`; ``"auto"`` takes the one that separates the two best,
        whichever is better.
    trace_reads : bool
        Only with commands: nothing is run where the two builds are found to be the same.
    repo, run, build, executor, resume and all others
        As for :func:`bisect`, including errors. The benchmark must work at the base.

    Returns
    -------
    PairwiseJobOutcome
        The comparison of the two, chart by chart.

    Examples
    --------
    >>> import pinpoint
    >>> outcome = pinpoint.pairwise("path/to/repo", "v1.2", "main", run="./bench.sh")  # doctest: +SKIP
    >>> for chart in outcome.charts:  # doctest: +SKIP
    ...     print(chart.chart, chart.moved, chart.comparison.estimate)
    time True 4.2

    On your own event loop it is ``await pinpoint.pairwise_async(...)``.
    """
    return PairwiseJobOutcome._of(await _job(pairwise_async, repo, base, experiment, **options))


async def _job(
    function: Callable[..., Coroutine[Any, Any, Any]], /, *ends: Any, **keywords: Any
) -> dict[str, Any]:
    """The outcome of the job of a function that was called with these arguments."""
    refuse_unknown(function, keywords)
    name = function.__name__.removesuffix("_async")
    signature = inspect.signature(function)
    bound = signature.bind(*ends, **keywords)
    bound.apply_defaults()
    defaults = signature.parameters
    given = {it for it, value in bound.arguments.items() if value is not defaults[it].default}
    # Only a search weighs commits.
    options = {**DEFAULTS, "priors": None, **bound.arguments}
    run, build, executor, resume = (options[it] for it in ("run", "build", "executor", "resume"))
    build_function = build if callable(build) else None
    run_function = run if callable(run) else None
    search = None
    check_executor(executor)
    if _has_machine.get() and executor is None:
        raise PinpointError(
            "a function of a job has the machine to itself, so no other job can begin in it"
        )
    if resume is not None:
        leave_out("`resume` names a job that has kept its arguments", given - WITH_RESUME)
        told = {"run": run, "build": build}
        commands = {name for name, value in told.items() if value is not None and not callable(value)}
        leave_out("`resume` names a job that has kept its commands", commands)
    else:
        search = search_of(name, given, options)
    request = {
        "state_dir": os.path.abspath(options["state_dir"] or default_state_dir()),
        "kind": KINDS[name],
        "resume": None if resume is None else text("resume", resume),
        "search": search,
        "builds": build_function is not None,
        "runs": run_function is not None,
        "executor": executor is not None,
    }
    shown = _Bar() if options["bar"] else None
    watchers = [watch for watch in (options["progress"], shown) if watch is not None]
    try:
        asked = json.dumps(request, allow_nan=False)
    except ValueError:
        raise ValueError("numbers must be finite") from None
    bridge = _Bridge(name, build_function, run_function, executor, options["timeout"], watchers)
    try:
        found: dict[str, Any] = json.loads(await bridge.drive(asked))
    finally:
        if shown is not None:
            shown.close()
    return found


def _blocking(
    function: Callable[P, Coroutine[Any, Any, T]], name: str, summary: str
) -> Callable[P, T]:
    """The same for callers without an event loop, or with one that they cannot wait on."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        refuse_unknown(call, options)
        try:
            work = function(*arguments, **options)
        except TypeError as error:
            # Nothing has run yet: the arguments do not fit.
            raise TypeError(str(error).replace(function.__name__, name)) from None
        return _finished(work)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = summary + (function.__doc__ or "").partition("\n")[2]
    return call


bisect = _blocking(
    bisect_async, "bisect", "Find the commit that changed a benchmark, building and running commits.\n"
)
culprit = _blocking(
    culprit_async, "culprit", "Verify a regression, find its culprits and verify each.\n"
)
pairwise = _blocking(pairwise_async, "pairwise", "Compare two commits in pairs of runs.\n")


def _finished(work: Awaitable[T]) -> T:
    """The result of a coroutine, run on its own loop and thread."""
    state: dict[str, Any] = {}
    # Not Thread.join: interrupted, it takes the thread for ended.
    ready, ended = threading.Event(), threading.Event()

    async def body() -> None:
        state["loop"], state["task"] = asyncio.get_running_loop(), asyncio.current_task()
        ready.set()
        try:
            state["result"] = await work
        except asyncio.CancelledError as error:
            # Before Python 3.11, a task raises another one, without a text.
            state["error"] = error
            raise

    def main() -> None:
        try:
            asyncio.run(body())
        except BaseException as error:
            state.setdefault("error", error)
        finally:
            ready.set()
            ended.set()

    # Values known where this is called are known there.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(main,), name="pinpoint", daemon=True).start()
    interrupted = False
    while not ended.is_set():
        try:
            ended.wait()
        except KeyboardInterrupt:
            interrupted = True
            ready.wait()
            try:
                state["loop"].call_soon_threadsafe(state["task"].cancel)
            except RuntimeError:
                pass  # It has just ended.
    if interrupted and isinstance(state.get("error"), asyncio.CancelledError):
        # Its text tells how to resume the job, by name.
        raise _interruption(*str(state["error"]).split()) from None
    if "error" in state:
        raise state["error"]
    result: T = state["result"]
    return result


def _interruption(name: str = "", job_id: str = "") -> Interrupted:
    error = Interrupted(_go_on(name, job_id) if job_id else "before there was a job")
    error.job_id = job_id
    return error


def _go_on(name: str, job_id: str) -> str:
    return f"continue it with pinpoint.{name}(resume={job_id!r}, …)"


class _Bridge:
    """Python's part of one job."""

    def __init__(
        self,
        name: str,
        build: BuildFunction | None,
        run: RunFunction | None,
        executor: Executor | None,
        timeout: float | None,
        watchers: Sequence[Callable[[Progress], object]],
    ) -> None:
        self.name = name
        self.build, self.run, self.executor = build, run, executor
        self.timeout, self.watchers = timeout, watchers
        self.job_id = ""
        self.stop = _pinpoint.Stop()
        self.raised: BaseException | None = None
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.ranges: dict[tuple[str, str], Sequence[str]] = {}

    async def drive(self, request: str) -> str:
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()
        self.turns = asyncio.Semaphore(self.executor.concurrency if self.executor else 1 << 20)
        driven = asyncio.ensure_future(
            _settled(_on_thread(lambda: _pinpoint.drive(request, self._called, self.stop)))
        )
        try:
            found, error = await asyncio.shield(driven)
        except asyncio.CancelledError:
            self.stop.interrupt()
            await asyncio.wait({driven})
            found, error = driven.result()
            if isinstance(error, Stopped):
                raise asyncio.CancelledError(f"{self.name} {self.job_id}") from None
        finally:
            for task in self.tasks.values():
                task.cancel()
        error = self.raised or error
        if isinstance(error, _Cancelled):
            error = error.__cause__
        if error is not None:
            if self.job_id and hasattr(error, "add_note"):
                error.add_note(_go_on(self.name, self.job_id))
            raise error
        return str(found)

    def _called(self, method: str, action: int, payload: str, reply: Any) -> None:
        """Called by the driver, on its threads."""
        self.loop.call_soon_threadsafe(
            self._begin, method, action, json.loads(payload), reply, context=self.context.copy()
        )

    def _begin(self, method: str, action: int, payload: Any, reply: Any) -> None:
        if method == "job":
            self.job_id = payload
        elif method == "progress":
            self._watch(Progress(self.job_id, **payload))
        elif method == "cancel":
            task = self.tasks.pop(action, None)
            if task is not None:
                task.cancel()
        else:
            task = self.loop.create_task(self._answer(method, payload, reply))
            self.tasks[action] = task
            task.add_done_callback(lambda done: self._forget(action, done))

    def _forget(self, action: int, task: asyncio.Task[None]) -> None:
        # An action may have requested something else by now.
        if self.tasks.get(action) is task:
            del self.tasks[action]

    def _watch(self, progress: Progress) -> None:
        if self.executor is None:
            # Only in this callback of the loop.
            _has_machine.set(True)
        try:
            for watch in self.watchers:
                watch(progress)
        except BaseException as error:
            self.raised = self.raised or error
            self.stop.interrupt()

    async def _answer(self, method: str, payload: Any, reply: Any) -> None:
        try:
            reply.answer(json.dumps(await getattr(self, f"_do_{method}")(payload)))
        except asyncio.CancelledError:
            reply.unavailable("canceled")
            raise
        except Unavailable as error:
            reply.unavailable(str(error))
        except BaseException as error:
            reply.raised(error)

    async def _do_list(self, ends: Any) -> dict[str, int]:
        names = await self._range(ends["lower"], ends["higher"])
        return {"count": len(names)}

    async def _do_name(self, located: Any) -> dict[str, Any]:
        listing = located["offset"]["listing"]
        names = await self._range(listing["lower"], listing["higher"])
        offset: int = located["offset"]["offset"]
        commit = Commit("", names[offset])
        return {"main": commit._document()}

    async def _range(self, lower: Any, higher: Any) -> Sequence[str]:
        assert self.executor is not None
        ends = lower["main"]["git_hash"], higher["main"]["git_hash"]
        if ends not in self.ranges:
            names = await self._done(self._call(self.executor.list, *ends), None)
            self.ranges[ends] = self._checked(ends, names)
        return self.ranges[ends]

    def _checked(self, ends: tuple[str, str], names: Any) -> Sequence[str]:
        """The result of ``Executor.list``, after a check."""
        is_sequence = isinstance(names, Sequence) and not isinstance(names, (str, bytes))
        if not is_sequence or not all(isinstance(name, str) for name in names):
            raise TypeError(f"Executor.list must return a sequence of names (str), not {names!r:.99}")
        refused: dict[str, str] = {}
        for (lower, higher), others in self.ranges.items():
            # Another task may have asked for this very range.
            if (lower, higher) != ends and {*ends} <= {lower, higher, *others}:
                refused.update(dict.fromkeys(others, f"lies between {lower!r} and {higher!r} already"))
        refused.update(dict.fromkeys(ends, "is an end of this range"))
        for name in names:
            if name in refused:
                raise ValueError(
                    f"Executor.list gives {name!r} between {ends[0]!r} and {ends[1]!r}: it {refused[name]}"
                )
            refused[name] = "was given before"
        return list(names)

    async def _do_build(self, there: Any) -> dict[str, str | None]:
        try:
            async with self.turns:
                await self._timed(there, "build")
        except BuildFailed as error:
            return {"failure": str(error) or "the build failed"}
        except _TooLong as error:
            return {"failure": str(error)}
        return {"failure": None}

    async def _do_run(self, places: Any) -> list[dict[str, Any]]:
        """Runs in one place, or in two right after each other."""
        asked = time.monotonic()
        found = []
        async with self.turns:
            for there in places:
                waited = round(1000 * (time.monotonic() - asked))
                found.append({**await self._ran(there), "waited": waited})
        return found

    async def _ran(self, there: Any) -> dict[str, Any]:
        try:
            value = await self._timed(there, "run")
        except RunFailed as error:
            return {"charts": {}, "failure": str(error) or "the run failed"}
        except _TooLong as error:
            return {"charts": {}, "failure": str(error)}
        charts = _charts(value)
        for chart, values in charts.items():
            for number in values:
                if not math.isfinite(number):
                    return {"charts": {}, "failure": f"the run gave {number} for {chart!r}"}
        return {"charts": charts, "failure": None if charts else "the run gave no value"}

    async def _timed(self, there: Any, method: str) -> Any:
        """The function's answer about a commit, within its time."""
        commit = CombinedCommit._of(there["commit"])
        function: Callable[..., Any] | None
        argument: str | Checkout
        if self.executor is not None:
            function, argument = getattr(self.executor, method), commit.main.git_hash
        else:
            function = self.build if method == "build" else self.run
            argument = Checkout(Path(there["tree"]), commit)
        assert function is not None
        try:
            return await self._done(self._call(function, argument), self.timeout)
        except _TooLong as error:
            if not inspect.iscoroutinefunction(function):
                warnings.warn(
                    f"the {method} function {error}: it can't be ended, and may disturb later runs",
                    RuntimeWarning,
                    stacklevel=1,
                )
            raise

    async def _done(self, work: Awaitable[Any], timeout: float | None) -> Any:
        task = asyncio.ensure_future(_settled(work))
        try:
            await asyncio.wait({task}, timeout=timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            task.cancel()
            raise _TooLong(f"took longer than {timeout:g} s")
        try:
            result, error = task.result()
        except asyncio.CancelledError as own:
            # Nothing else has canceled this task. Before Python 3.11, it raises
            # another one in place of the function's.
            cause = own.__context__ if sys.version_info < (3, 11) else own
            raise _Cancelled("the function raised CancelledError") from cause or own
        if error is not None:
            raise error
        return result

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.executor is None:
            # Only in the task of this call.
            _has_machine.set(True)
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        result = await _on_thread(lambda: function(*arguments))
        return await result if inspect.isawaitable(result) else result


class _Cancelled(Exception):
    """Carries the CancelledError of a function past what it would cancel here."""


class _TooLong(Exception):
    """Ours: a function may raise TimeoutError for reasons of its own."""


async def _settled(work: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    """The result, or the exception: a task that raises SystemExit ends the loop."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


async def _on_thread(function: Callable[[], T]) -> T:
    """The function's result, from a daemon thread, which is not waited for at exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if isinstance(error, StopIteration):
            # A future cannot hold it.
            error = RuntimeError(f"a function raised StopIteration: {error!r}")
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def main() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # The loop has ended, and nothing waits.

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(main,), name="pinpoint-function", daemon=True).start()
    return await future


def _charts(value: Any) -> dict[str, list[float]]:
    """The values of a run, by chart."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        value = {"value": value}
    charts: dict[str, list[float]] = {}
    for chart, given in value.items():
        alone = isinstance(given, SupportsFloat) and not hasattr(given, "__len__")
        numbers: Any = [given] if alone else given
        if isinstance(numbers, (str, bytes)) or not hasattr(numbers, "__iter__"):
            raise TypeError(
                f"a run must give a number, numbers, a dict of them, or None; it gave {given!r}"
            )
        charts[str(chart)] = [float(number) for number in numbers]
    return {chart: values for chart, values in charts.items() if values}


class _Bar:
    """A progress bar of runs: tqdm's, or a line that is overwritten."""

    def __init__(self) -> None:
        self.bar: Any = None
        try:
            with warnings.catch_warnings():
                # Without widgets it is drawn as text, which is enough.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

                self.bar = tqdm(unit="run", leave=True)
        except ImportError:
            pass

    def __call__(self, progress: Progress) -> None:
        total = progress.runs + progress.runs_to_come
        left = f"{progress.candidates} candidates, {progress.builds} builds"
        if progress.event == "waiting":
            left += ", waiting for a quiet machine"
        if self.bar is None:
            print(f"\r{progress.runs}/{total} runs, {left}   ", end="", file=sys.stderr, flush=True)
            return
        self.bar.total, self.bar.n = total, progress.runs
        self.bar.set_postfix_str(left, refresh=False)
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is None:
            print(file=sys.stderr)
        else:
            self.bar.close()
