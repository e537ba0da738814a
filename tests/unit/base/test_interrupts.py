"""An interrupt inside `held` is raised when the outermost block ends, and at once everywhere else. Of any
number of signals the first interrupts once, and none of the others is a traceback."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from benchgate.base import interrupts
from benchgate.base.interrupts import BURST_S, Interruptions, arrived, held
from tests.machines import PATIENCE_S


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Also where these tests run in the background of a shell, which lets its jobs ignore SIGINT."""

    def hear(number: int, _: FrameType | None) -> None:
        arrived(KeyboardInterrupt(signal.Signals(number).name))

    before = [(number, signal.signal(number, hear)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def test_outside_of_a_block_it_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt, match="SIGINT"):
        signal.raise_signal(signal.SIGINT)


def test_inside_it_waits_for_the_end_of_the_outermost_block() -> None:
    steps = []

    def work() -> None:
        with held():
            with held():
                signal.raise_signal(signal.SIGTERM)
                steps.append("inner whole")
            steps.append("outer whole")
        steps.append("after")

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        work()
    assert steps == ["inner whole", "outer whole"]


def test_the_first_of_two_is_raised_and_nothing_is_left_for_the_next_block() -> None:
    def work() -> None:
        with held():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        work()
    with held():
        pass


def test_it_is_raised_although_the_block_failed() -> None:
    def work() -> None:
        with held():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("the block's own failure")

    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert isinstance(caught.value.__context__, ValueError)


def test_a_block_of_another_thread_holds_nothing() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with held():
            inside.set()
            leave.wait(PATIENCE_S)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert inside.wait(PATIENCE_S)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        leave.set()
        thread.join(PATIENCE_S)


class Ended(BaseException):
    """Replaces the end of this process."""


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(interrupts, "time", made)

    def ended(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(os, "_exit", ended)
    return made


@pytest.fixture
def said(clock: Clock) -> Iterator[list[str]]:
    lines: list[str] = []
    watching = Interruptions(lines.append, 2, lambda: "reports/runs/x")
    watching.watch()
    yield lines
    watching.release()


def test_only_the_first_of_many_interrupts(said: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        signal.raise_signal(signal.SIGTERM)
    for _ in range(20):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGHUP)
    (line,) = said
    assert "another signal ends it at once" in line


def test_a_later_one_ends_the_process_at_once_with_the_status(said: list[str], clock: Clock) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    clock.now_s += BURST_S + 1
    with pytest.raises(Ended) as caught:
        signal.raise_signal(signal.SIGINT)
    assert caught.value.args == (2,)
    assert said[-1] == "ended at once: the session's folder is not complete; next: --resume=reports/runs/x"


def test_a_program_that_ends_by_itself_is_not_interrupted(clock: Clock) -> None:
    said: list[str] = []
    watching = Interruptions(said.append, 2)
    watching.watch()
    try:
        watching.hold_off()
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)
    finally:
        watching.release()
    (line,) = said
    assert "another signal ends it at once" in line
