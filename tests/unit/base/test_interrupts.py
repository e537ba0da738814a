"""An interrupt inside `held` is raised when the outermost block ends, and at once everywhere else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from benchgate.base.interrupts import arrived, held
from tests.machines import PATIENCE_S


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
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
