"""Attempts side by side: all under way at once, none lost, an interrupt ends each."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from benchgate import together
from benchgate.errors import BootError
from benchgate.model import RawRun
from benchgate.together import Job
from tests.unit.factories import cell, raw_run

PATIENCE_S = 30
Play = Callable[[int, Callable[[str], None]], RawRun]


def jobs(count: int, on_phase: Callable[[str], None] = lambda _: None) -> list[Job]:
    """Requests that only the stand-in of `execute` looks at: each is its own number."""
    numbers: list[Any] = list(range(count))
    return [Job(number, on_phase) for number in numbers]


def play(monkeypatch: pytest.MonkeyPatch, acts: Play) -> None:
    monkeypatch.setattr(together, "execute", acts)


def result(number: int) -> RawRun:
    return raw_run(cell(), attempt=number + 1)


def test_all_are_under_way_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = threading.Barrier(3)

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        meeting.wait(PATIENCE_S)
        return result(number)

    play(monkeypatch, execute)
    assert [(place, raw.attempt) for place, raw in together.execute_all(jobs(3))] == [(0, 1), (1, 2), (2, 3)]


def test_a_single_one_runs_in_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        threads.append(threading.current_thread())
        return result(number)

    play(monkeypatch, execute)
    assert len(list(together.execute_all(jobs(1)))) == 1
    assert threads == [threading.current_thread()]


def test_what_stops_one_is_raised_after_the_others_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            raise BootError("no such program")
        return result(number)

    play(monkeypatch, execute)
    given = together.execute_all(jobs(3))
    assert [next(given)[0], next(given)[0]] == [1, 2]
    with pytest.raises(BootError, match="no such program"):
        next(given)


def test_an_interrupt_reaches_each_that_still_runs_and_keeps_what_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    under_way, ended = threading.Barrier(2), []

    def execute(number: int, on_phase: Callable[[str], None]) -> RawRun:
        if number == 0:
            return result(number)
        if under_way.wait(PATIENCE_S) == 0:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        never = threading.Event()
        try:
            while not never.wait(0.01):
                on_phase("running")
        finally:
            ended.append(number)
        raise AssertionError("unreachable")

    play(monkeypatch, execute)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    kept: list[tuple[int, RawRun]] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            kept.extend(together.execute_all(jobs(3)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert [place for place, _ in kept] == [0]
    assert sorted(ended) == [1, 2]
