"""Several threads, and forked processes."""

import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

import pinpoint

PAIRS = [(np.arange(200.0) + index, np.arange(200.0)) for index in range(100)]


def test_several_threads_compare_at_once() -> None:
    expected = pinpoint.compare_many(PAIRS)
    wrong = []

    def work() -> None:
        for _ in range(20):
            if pinpoint.compare_many(PAIRS) != expected:
                wrong.append("compare_many")
            if pinpoint.mann_whitney_u(*PAIRS[3]) != pinpoint.mann_whitney_u(*PAIRS[3]):
                wrong.append("mann_whitney_u")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_search_may_be_answered_from_several_threads() -> None:
    """Each thread answers the requests it finds; a second answer is refused."""
    search: Any = pinpoint.Bisection(32, magnitude=1.0)

    def work() -> None:
        while batch := search.next():
            index, _ = batch[0]
            try:
                search.record(index, [12.0 if index >= 21 else 10.0])
            except ValueError as error:
                assert "were asked for" in str(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert search.outcome.culprits[0][0] == 21


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_goes_on() -> None:
    """Threads do not survive a fork: a pool that was made before would hang."""
    search: Any = pinpoint.Bisection(8, magnitude=1.0)
    expected = pinpoint.compare_many(PAIRS)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = pinpoint.compare_many(PAIRS) == expected
            while batch := search.next():
                for index, runs in batch:
                    search.record(index, [12.0 if index >= 5 else 10.0] * runs)
            code = 0 if same and search.outcome.culprits[0][0] == 5 else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert search.outcome is None and pinpoint.compare_many(PAIRS) == expected
