from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.session import replay
from benchgate.session.exploring import again, steps
from benchgate.session.replay import Order
from benchgate.session.trust import Trusted
from tests import exploresim
from tests.unit.session.exploring.test_steps import explore


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Order]:
    """What session/replay.py is asked for."""
    seen: list[Order] = []

    def replayed(order: Order, _: object) -> tuple[str, bool]:
        seen.append(order)
        return "the same run", True

    monkeypatch.setattr(replay, "replay", replayed)
    return seen


def order(place: Path) -> Order:
    return Order(place, place.parent / "out", None, Trusted(), profile=False, gdb=True)


def test_a_find_is_replayed_with_its_own_deadline_and_facts(tmp_path: Path, orders: list[Order]) -> None:
    explore(tmp_path)
    said: list[str] = []
    text, same = again.again(order(tmp_path / "finds" / "find-1"), said.append)
    assert same
    (one,) = orders
    assert (one.facts, one.gdb, one.limits.halted_s) == ("plan.json", True, 1.0)
    assert one.deadline_ns == 30 * exploresim.INSTRUCTIONS + 200_000_000
    assert one.verb == ("benchgate", "explore", "replay")
    assert said == ["find-1: panic: the guest panicked: panic: cpu=1 why=assert"]
    assert text.startswith("the same run\nfind-1: 1 of 6 stalls")


def test_what_is_left_of_a_find_is_replayed_too(tmp_path: Path, orders: list[Order]) -> None:
    explore(tmp_path)
    text, _ = again.again(order(tmp_path / "finds" / "find-1-small"), lambda _: None)
    assert f"stalls: 1, in {tmp_path / 'finds' / 'find-1-small' / 'exploration.txt'}" in text
    assert len(orders) == 1


def test_another_folder_is_no_find(tmp_path: Path, orders: list[Order]) -> None:
    with pytest.raises(UsageError, match="is no find of an exploration; expected DIR/finds/find-1"):
        again.again(order(tmp_path), lambda _: None)
    assert orders == []
    with pytest.raises(UsageError, match=r"find-2/find.json is missing"):
        steps.command_of(tmp_path, "find-2")
