"""Any number of signals: the first interrupts once, and none of the others is a traceback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from benchgate.session import signals
from benchgate.session.signals import BURST_S, Interruptions


class Ended(BaseException):
    """Replaces the end of this process."""


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Also where these tests run in the background of a shell, which lets its jobs ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(signals, "time", made)

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
