"""Bisections that run by themselves.

The search, its journal and the work on this machine are Rust's (``drive``), on a
thread of its own. What is Python's to do, its functions, is asked for over a
bridge, and done on an event loop: functions that are no coroutines run on daemon
threads, so that one that never returns keeps nobody from leaving.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import math
import os
import re
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, SupportsFloat, TypeVar, Union

from . import _pinpoint
from ._errors import BuildFailed, Interrupted, RunFailed, Stopped, Unavailable
from ._executor import Executor, Values
from ._jobs import default_state_dir
from ._model import CombinedCommit, Commit, JobOutcome, Progress

P = ParamSpec("P")
T = TypeVar("T")


class Checkout(NamedTuple):
    """A commit in a work tree of its own, for ``build`` and ``run`` functions.

    Attributes
    ----------
    path : Path
        The work tree. What is built there stays for the runs.
    commit : CombinedCommit
        What is checked out.
    """

    path: Path
    commit: CombinedCommit


BuildFunction = Callable[[Checkout], Union[object, Awaitable[object]]]
RunFunction = Callable[[Checkout], Union[Values, Awaitable[Values]]]
Command = Union[str, Sequence[str]]


async def bisect_async(
    repo: str | os.PathLike[str] | None = None,
    good: str | None = None,
    bad: str | None = None,
    *,
    run: Command | RunFunction | None = None,
    build: str | BuildFunction | None = None,
    executor: Executor | None = None,
    resume: str | None = None,
    chart: str | None = None,
    format: str = "auto",
    results: str | os.PathLike[str] | None = None,
    aggregate: str | None = None,
    direction: Literal["up", "down", "unknown"] | None = None,
    magnitude: float | str | None = None,
    strategy: Literal["adaptive", "pinpoint"] = "adaptive",
    confidence: float = 0.95,
    max_runs: int | None = None,
    max_builds: int | None = None,
    max_time: float | None = None,
    build_cost: float = 1.0,
    priors: Sequence[float] | None = None,
    seed: int = 0,
    skip: Sequence[str] = (),
    paths: Sequence[str] = (),
    warmup: int = 1,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    build_jobs: int = 1,
    repositories: Mapping[str, str | os.PathLike[str]] | None = None,
    cache_size: int = 10 << 30,
    state_dir: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    bar: bool = False,
) -> JobOutcome:
    """Find the commit that changed a benchmark, on the caller's event loop.

    Parameters
    ----------
    repo : path
        A git repository, or a directory in one. It is read and never written:
        commits are checked out elsewhere.
    good, bad : str
        Revisions: the last known to be good, and one that is bad. With an
        ``executor``, any names.
    run : str, sequence of str, or function
        The benchmark: a shell command, a command with its arguments, or a function
        (or coroutine function) of a :class:`Checkout` that returns its value (a
        number, several, a dict of them by chart, or None for a failed run).
        Commands and functions have the whole machine to themselves.
    build : str or function, optional
        What is done once for each commit before its first run: a shell command,
        or a function of a :class:`Checkout`. When a job is resumed, it may be
        called again for a commit.
    executor : Executor, optional
        Lists, builds and runs in place of all these.
    resume : str, optional
        The job to go on with, with the functions that it was begun with.
    chart : str, optional
        The metric that decides, where there are several.
    format, results, aggregate : str, optional
        How a command's values are read, as for ``pinpoint bisect``: ``"auto"``,
        ``"time"``, ``"lines"``, ``"json:POINTER"``, ``"regex:PATTERN"``, …; the
        file that it writes them to; how several become one (``"median"``).
    direction : {"up", "down", "unknown"}, optional
        Where better lies. Not told: a command's format decides, or its unit; with
        a function, every change counts.
    magnitude : float or str, optional
        The smallest change worth finding, in the unit of the values; ``"5%"`` of
        the good end's median.
    strategy, confidence, max_runs, max_builds, build_cost, priors, seed
        As for :class:`Bisection`.
    max_time : float, optional
        The most seconds to spend.
    skip, paths : sequence of str
        Revisions not to try; only commits that touch one of these paths are tried.
    warmup : int
        Runs of each build by a command that do not count, before the first.
    env : mapping, optional
        Variables for build and benchmark commands.
    timeout : float, optional
        The most seconds for one build or run; one that takes longer has failed. A
        function cannot be ended: it is left alone, on its thread. A coroutine is
        cancelled.
    build_jobs : int
        Builds at one time.
    repositories : mapping, optional
        Local clones of dependencies, by their URLs.
    cache_size : int
        Bytes that builds may occupy once nobody uses them.
    state_dir : path, optional
        Where jobs and builds are kept; as for the command line when not told.
    progress : function, optional
        Called with a :class:`Progress` after every build and run.
    bar : bool
        Show a bar, with tqdm if it is installed.

    Returns
    -------
    JobOutcome
        The culprits, or what is known of where they are.

    Raises
    ------
    ValueError, TypeError
        Arguments that do not make a search.
    PinpointError
        :class:`RepositoryError`, :class:`ExecutionError` or :class:`JobError`.
    Interrupted
        A KeyboardInterrupt: Ctrl-C. Commands are ended; ``job_id`` is the job to
        resume. Cancelling the task of :func:`bisect_async` does the same.
    Exception
        Whatever a function raises, as it is; the job can be resumed. But
        :class:`BuildFailed`, :class:`RunFailed` and :class:`Unavailable` are
        answers, and do not end it.

    Notes
    -----
    :func:`bisect` may be called anywhere, in a notebook as well: it has an event
    loop of its own, on a thread of its own.
    """
    build_function = build if callable(build) else None
    run_function = run if callable(run) else None
    search = None
    if resume is not None:
        if (repo, good, bad) != (None, None, None):
            raise TypeError("`resume` names a job that has its range: leave out `repo`, `good` and `bad`")
    else:
        if good is None or bad is None:
            raise TypeError("`good` and `bad` are needed, or `resume`")
        for name, revision in (("good", good), ("bad", bad)):
            if not isinstance(revision, str):
                raise TypeError(f"`{name}` must be a str, not {type(revision).__name__}")
        if (executor is None) == (repo is None):
            raise TypeError("give either `repo`, with `run`, or an `executor`")
        if executor is not None and (run is not None or build is not None):
            raise TypeError("an `executor` builds and runs itself: leave out `run` and `build`")
        if executor is None and run is None:
            raise TypeError("`run` is needed: a command, or a function")
        environment = dict(env or {})
        if build_function is not None:
            # What a function builds is this job's alone.
            environment["PINPOINT_BUILT_FOR"] = uuid.uuid4().hex
        search = {
            "title": f"pinpoint.bisect({good}, {bad})",
            "repo": None if repo is None else os.path.abspath(repo),
            "good": good,
            "bad": bad,
            "command": ["python"] if executor or run_function else _command(run),
            "build": None if build_function else build,
            "format": format,
            "results": None if results is None else os.fspath(results),
            "aggregate": aggregate,
            "chart": chart,
            "direction": direction,
            "magnitude": _magnitude(magnitude),
            "strategy": strategy,
            "confidence": confidence,
            "max_runs": max_runs,
            "max_builds": max_builds,
            "max_time": _milliseconds("max_time", max_time),
            "build_cost": build_cost,
            "priors": None if priors is None else [float(weight) for weight in priors],
            "seed": seed,
            "skip": list(skip),
            "paths": list(paths),
            "warmup": warmup,
            "env": environment,
            "timeout": _milliseconds("timeout", timeout),
            "build_jobs": build_jobs,
            "cache_size": cache_size,
            "repositories": {
                url: os.path.abspath(path) for url, path in (repositories or {}).items()
            },
            "builds": executor is not None or build_function is not None,
            "runs": executor is not None or run_function is not None,
        }
    request = {
        "state_dir": os.path.abspath(state_dir or default_state_dir()),
        "resume": resume,
        "search": search,
        "builds": build_function is not None,
        "runs": run_function is not None,
        "executor": executor is not None,
    }
    shown = _Bar() if bar else None
    watchers = [watch for watch in (progress, shown) if watch is not None]
    try:
        text = json.dumps(request, allow_nan=False)
    except ValueError:
        raise ValueError("numbers must be finite") from None
    knows_chart = chart is not None or resume is not None
    bridge = _Bridge(build_function, run_function, executor, knows_chart, timeout, watchers)
    try:
        return JobOutcome._of(json.loads(await bridge.drive(text)))
    finally:
        if shown is not None:
            shown.close()


def _blocking(
    function: Callable[P, Coroutine[Any, Any, T]], name: str, summary: str
) -> Callable[P, T]:
    """The same for callers without an event loop, or with one that they can't wait on."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        return _finished(function(*arguments, **options))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = summary + (function.__doc__ or "").partition("\n")[2]
    return call


bisect = _blocking(
    bisect_async, "bisect", "Find the commit that changed a benchmark, building and running commits.\n"
)


def _finished(work: Awaitable[T]) -> T:
    """What a coroutine returns, run on a loop and a thread of its own."""
    state: dict[str, Any] = {}
    # Not Thread.join: interrupted, it takes the thread for ended.
    ready, ended = threading.Event(), threading.Event()

    async def body() -> None:
        state["loop"], state["task"] = asyncio.get_running_loop(), asyncio.current_task()
        ready.set()
        state["result"] = await work

    def main() -> None:
        try:
            asyncio.run(body())
        except BaseException as error:
            state["error"] = error
        finally:
            ready.set()
            ended.set()

    threading.Thread(target=main, name="pinpoint", daemon=True).start()
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
        raise _interruption(str(state["error"])) from None
    if "error" in state:
        raise state["error"]
    result: T = state["result"]
    return result


def _interruption(job_id: str) -> Interrupted:
    error = Interrupted(f"go on with pinpoint.bisect(resume={job_id!r}, …)")
    error.job_id = job_id
    return error


class _Bridge:
    """Python's part of one job."""

    def __init__(
        self,
        build: BuildFunction | None,
        run: RunFunction | None,
        executor: Executor | None,
        knows_chart: bool,
        timeout: float | None,
        watchers: Sequence[Callable[[Progress], object]],
    ) -> None:
        self.build, self.run, self.executor = build, run, executor
        self.knows_chart, self.timeout, self.watchers = knows_chart, timeout, watchers
        self.job_id = ""
        self.stop = _pinpoint.Stop()
        self.raised: BaseException | None = None
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.ranges: dict[tuple[str, str], Sequence[str]] = {}

    async def drive(self, request: str) -> str:
        self.loop = asyncio.get_running_loop()
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
                # Its text is the job that can be resumed.
                raise asyncio.CancelledError(self.job_id) from None
        finally:
            for task in self.tasks.values():
                task.cancel()
        error = self.raised or error
        if error is not None:
            if self.job_id and hasattr(error, "add_note"):
                error.add_note(f"go on with pinpoint.bisect(resume={self.job_id!r}, …)")
            raise error
        return str(found)

    def _called(self, method: str, action: int, payload: str, reply: Any) -> None:
        """Called by the driver, on its threads."""
        self.loop.call_soon_threadsafe(self._begin, method, action, json.loads(payload), reply)

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
            task.add_done_callback(lambda _: self.tasks.pop(action, None))

    def _watch(self, progress: Progress) -> None:
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
            reply.unavailable("cancelled")
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
            names = await self._call(self.executor.list, *ends)
            if isinstance(names, str) or not all(isinstance(name, str) for name in names):
                raise TypeError("Executor.list must return a sequence of names")
            self.ranges[ends] = names
        return self.ranges[ends]

    async def _do_build(self, there: Any) -> dict[str, str | None]:
        try:
            await self._timed(self._where(there, "build"))
        except BuildFailed as error:
            return {"failure": str(error) or "the build failed"}
        except _TooLong as error:
            return {"failure": str(error)}
        return {"failure": None}

    async def _do_run(self, there: Any) -> dict[str, Any]:
        try:
            value = await self._timed(self._where(there, "run"))
        except RunFailed as error:
            return {"charts": {}, "failure": str(error) or "the run failed"}
        except _TooLong as error:
            return {"charts": {}, "failure": str(error)}
        charts = _charts(value)
        for chart, values in charts.items():
            for number in values:
                if not math.isfinite(number):
                    return {"charts": {}, "failure": f"the run gave {number} for {chart!r}"}
        if not self.knows_chart and len(charts) > 1:
            names = ", ".join(sorted(charts))
            raise ValueError(f"the run gives several charts: say with `chart` which one of {names} decides")
        return {"charts": charts, "failure": None if charts else "the run gave no value"}

    def _where(self, there: Any, method: str) -> Callable[[], Any]:
        """The function to call, with its argument."""
        commit = CombinedCommit._of(there["commit"])
        if self.executor is not None:
            function = getattr(self.executor, method)
            return lambda: self._call(function, commit.main.git_hash)
        checkout = Checkout(Path(there["tree"]), commit)
        chosen = self.build if method == "build" else self.run
        assert chosen is not None
        return lambda: self._call(chosen, checkout)

    async def _timed(self, begin: Callable[[], Any]) -> Any:
        async with self.turns:
            task = asyncio.ensure_future(_settled(begin()))
            try:
                await asyncio.wait({task}, timeout=self.timeout)
            except asyncio.CancelledError:
                task.cancel()
                raise
            if not task.done():
                task.cancel()
                raise _TooLong(f"took longer than {self.timeout:g} s")
            result, error = task.result()
            if error is not None:
                raise error
            return result

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        result = await _on_thread(lambda: function(*arguments))
        return await result if inspect.isawaitable(result) else result


class _TooLong(Exception):
    """Ours: a function may raise TimeoutError for reasons of its own."""


async def _settled(work: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    """The result, or what was raised: a task that raises SystemExit ends the loop."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


async def _on_thread(function: Callable[[], T]) -> T:
    """The function's result, from a daemon thread: nobody waits for it at exit."""
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
            pass  # The loop has ended, and nobody waits.

    threading.Thread(target=main, name="pinpoint-function", daemon=True).start()
    return await future


def _charts(value: Any) -> dict[str, list[float]]:
    """What a run gave, by chart."""
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


def _command(run: Any) -> list[str]:
    if isinstance(run, str):
        return ["sh", "-c", run]
    if not isinstance(run, Sequence):
        raise TypeError(f"`run` must be a command or a function, not {type(run).__name__}")
    words = [os.fspath(word) for word in run]
    if not words:
        raise ValueError("`run` is an empty command")
    return words


def _magnitude(magnitude: float | str | None) -> dict[str, float] | None:
    if isinstance(magnitude, str):
        number = re.fullmatch(r"\s*([0-9.eE+-]+)\s*%\s*", magnitude)
        try:
            return {"percent": float(number[1] if number else "")}
        except ValueError:
            raise ValueError(
                f"`magnitude` is {magnitude!r}: it must be a number, or a percentage as in '5%'"
            ) from None
    return None if magnitude is None else {"absolute": float(magnitude)}


def _milliseconds(name: str, seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"`{name}` is {seconds}: it must be a finite number of seconds above 0")
    return max(1, round(seconds * 1000))


class _Bar:
    """A bar of runs: tqdm's, or a line that is written over."""

    def __init__(self) -> None:
        self.bar: Any = None
        try:
            import warnings

            with warnings.catch_warnings():
                # Without widgets it is drawn as text, which will do.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

                self.bar = tqdm(unit="run", leave=True)
        except ImportError:
            pass

    def __call__(self, progress: Progress) -> None:
        total = progress.runs + progress.runs_to_come
        left = f"{progress.candidates} candidates, {progress.builds} builds"
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
