"""A measuring host is held by one session at a time, which alone makes runs there; then it is let go."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import LockError
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.host_json import HostQuestion, QuestionKind
from benchgate.features.fleet.measuring import CancelledError, MeasuringPlace
from benchgate.host import lock
from tests.machines import wait_until


@pytest.fixture
def place() -> MeasuringPlace:
    return MeasuringPlace({}, f"benchgate-test-{uuid4()}")


@dataclass
class Holding:
    """A session's call of `hold`, in a thread as in a worker."""

    place: MeasuringPlace
    token: str
    wait_s: float = 60.0
    wanted: threading.Event = field(default_factory=threading.Event)
    ended: list[BaseException | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wanted.set()
        self.thread = threading.Thread(target=self._hold, daemon=True)
        self.thread.start()

    def _hold(self) -> None:
        try:
            self.place.hold(self.token, self.wait_s, self.wanted.is_set)
        except BaseException as error:
            self.ended.append(error)
        else:
            self.ended.append(None)

    @property
    def is_held(self) -> bool:
        return bool(self.place.told(HostQuestion(QuestionKind.HELD, self.token))["held"])

    def end(self) -> BaseException | None:
        self.wanted.clear()
        assert wait_until(lambda: bool(self.ended))
        return self.ended[0]


@contextmanager
def held(place: MeasuringPlace, token: str = "mine") -> Iterator[Holding]:
    made = Holding(place, token)
    assert wait_until(lambda: made.is_held)
    try:
        yield made
    finally:
        made.end()


def test_it_holds_the_hosts_lock_as_long_as_it_is_wanted(place: MeasuringPlace) -> None:
    with held(place) as made:
        assert lock.holder(place.lock_name) is not None
        assert place.told(HostQuestion(QuestionKind.ABOUT))["busy"]
    assert made.ended == [None]
    assert lock.holder(place.lock_name) is None
    assert not made.is_held


def test_only_the_session_that_holds_it_makes_runs(place: MeasuringPlace) -> None:
    for token in ("mine", ""):
        with pytest.raises(RefusedError, match="another session holds"), place.under(token):
            pytest.fail("made")
    with held(place):
        with place.under("mine"):
            pass
        with pytest.raises(RefusedError, match="another session holds"), place.under("yours"):
            pytest.fail("made")


def test_only_the_session_that_holds_it_boots_probes(place: MeasuringPlace) -> None:
    for ask in (QuestionKind.PROBE, QuestionKind.PAIRS):
        with pytest.raises(RefusedError, match="another session holds"):
            place.told(HostQuestion(ask, "mine", accel=Accel.TCG))
    with held(place), pytest.raises(RefusedError, match="no QEMU with digest"):
        place.told(HostQuestion(QuestionKind.PROBE, "mine", "f" * 64))


def test_a_second_session_waits_its_turn(place: MeasuringPlace) -> None:
    with held(place) as first:
        second = Holding(place, "yours")
        assert wait_until(
            lambda: "another session" in place.told(HostQuestion(QuestionKind.HELD, "yours"))["waits"]
        )
        assert not second.is_held
        first.end()
        assert wait_until(lambda: second.is_held)
    assert second.end() is None


def test_a_session_that_does_not_wait_is_told(place: MeasuringPlace) -> None:
    with held(place):
        impatient = Holding(place, "yours", wait_s=0)
        assert wait_until(lambda: bool(impatient.ended))
        assert isinstance(impatient.ended[0], LockError)


def test_a_session_that_goes_away_while_it_waits_gives_up_its_turn(place: MeasuringPlace) -> None:
    with held(place):
        second = Holding(place, "yours")
        assert isinstance(second.end(), CancelledError)


def test_the_host_is_let_go_after_the_last_run_has_ended(place: MeasuringPlace) -> None:
    with held(place) as made:
        with place.under("mine"):
            made.wanted.clear()
            made.thread.join(1.5)
            assert made.thread.is_alive()
            assert lock.holder(place.lock_name) is not None
        assert made.end() is None
