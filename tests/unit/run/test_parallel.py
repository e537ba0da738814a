"""Parallel attempts: all run at once, no result is lost, and an interrupt ends each of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchgate.base.errors import BootError
from benchgate.base.runs import RawRun
from benchgate.run import parallel
from benchgate.run.parallel import AttemptJob
from tests.unit.factories import cell, raw_run

PATIENCE_S = 30
Execute = Callable[[int, Callable[[str], None]], RawRun]


def jobs(count: int, on_phase: Callable[[str], None] = lambda _: None) -> list[AttemptJob]:
    """Jobs for a fake `execute`. Each request is just its index."""
    numbers: list[Any] = list(range(count))
    return [AttemptJob(number, on_phase) for number in numbers]


def replace_execute(monkeypatch: pytest.MonkeyPatch, execute: Execute) -> None:
    monkeypatch.setattr(parallel, "execute", lambda request, on_phase, _: execute(request, on_phase))


def result(number: int) -> RawRun:
    return raw_run(cell(), attempt=number + 1)


def test_all_attempts_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = threading.Barrier(3)

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        meeting.wait(PATIENCE_S)
        return result(number)

    replace_execute(monkeypatch, execute)
    found = [(index, raw.attempt) for index, raw in parallel.execute_all(jobs(3), 3)]
    assert found == [(0, 1), (1, 2), (2, 3)]


def test_attempts_one_at_a_time_run_in_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        threads.append(threading.current_thread())
        return result(number)

    replace_execute(monkeypatch, execute)
    assert len(list(parallel.execute_all(jobs(2), 1))) == 2
    assert threads == [threading.current_thread()] * 2


def test_no_place_is_idle_while_a_long_attempt_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt ends after the third, which can begin only where the second has ended."""
    third_ended = threading.Event()

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            assert third_ended.wait(PATIENCE_S)
        if number == 2:
            third_ended.set()
        return result(number)

    replace_execute(monkeypatch, execute)
    assert [index for index, _ in parallel.execute_all(jobs(4), 2)] == [0, 1, 2, 3]


def test_never_more_attempts_than_allowed_run_and_few_wait_for_a_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, most, begun, release = set[int](), [0], list[int](), threading.Event()

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        running.add(number)
        most[0] = max(most[0], len(running))
        begun.append(number)
        if number == 0:
            assert release.wait(PATIENCE_S)
        if number == 3:
            threading.Timer(0.1, release.set).start()
        running.discard(number)
        return result(number)

    replace_execute(monkeypatch, execute)
    given = parallel.execute_all(jobs(9), 2)
    assert next(given)[0] == 0
    assert sorted(begun) == [0, 1, 2, 3]
    assert [index for index, _ in given] == list(range(1, 9))
    assert most == [2]


def test_a_caller_that_gives_no_more_jobs_ends_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_execute(monkeypatch, lambda number, _: result(number))
    enough = threading.Event()

    def until_enough() -> Iterator[AttemptJob]:
        for job in jobs(50):
            if enough.is_set():
                return
            yield job

    given = []
    for index, _ in parallel.execute_all(until_enough(), 2):
        given.append(index)
        enough.set()
    assert given == list(range(len(given)))
    assert len(given) <= 2 * 2


def test_closing_the_results_ends_each_running_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            return result(number)
        never = threading.Event()
        try:
            while not never.wait(0.01):
                on_phase("running")
        finally:
            ended.append(number)
        raise AssertionError("unreachable")

    replace_execute(monkeypatch, execute)
    given = parallel.execute_all(jobs(3), 3)
    assert next(given)[0] == 0
    given.close()
    assert sorted(ended) == [1, 2]


def test_an_exception_is_raised_after_the_other_results_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            raise BootError("no such program")
        return result(number)

    replace_execute(monkeypatch, execute)
    given = parallel.execute_all(jobs(3), 3)
    assert [next(given)[0], next(given)[0]] == [1, 2]
    with pytest.raises(BootError, match="no such program"):
        next(given)


def test_an_interrupt_ends_each_running_attempt_and_keeps_finished_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, ended = threading.Barrier(2), []

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            return result(number)
        if running.wait(PATIENCE_S) == 0:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        never = threading.Event()
        try:
            while not never.wait(0.01):
                on_phase("running")
        finally:
            ended.append(number)
        raise AssertionError("unreachable")

    replace_execute(monkeypatch, execute)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    kept: list[tuple[int, RawRun]] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            kept.extend(parallel.execute_all(jobs(3), 3))
    finally:
        signal.signal(signal.SIGINT, before)
    assert [index for index, _ in kept] == [0]
    assert sorted(ended) == [1, 2]
