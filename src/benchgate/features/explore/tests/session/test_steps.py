"""A whole exploration of a simulated guest: finds, makes small, writes, is interrupted and goes on."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.explore.exploration_result import ExplorationResult
from benchgate.features.explore.session import rows, steps
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.session.rows import RowSelection
from benchgate.features.explore.tests import exploresim
from benchgate.features.explore.tests.exploresim import READ, WRITE, Simulated
from benchgate.plan.options import Options
from benchgate.session import replay
from benchgate.session.progress import Progress
from benchgate.session.rejudging.trust import TrustedPrograms
from benchgate.session.replay import ReplayRequest

ASKED = ExplorationRequest(smoke=True, systems=("kernel",), smp="2", strategies=("sync",), runs=30)


def explore(
    out: Path, asked: ExplorationRequest = ASKED, maker: Simulated | None = None
) -> tuple[ExplorationResult, str]:
    said = io.StringIO()
    opened = exploresim.opener(maker or Simulated())
    return steps.explore(asked, out, opened, Progress(said, live=False)), said.getvalue()


def test_the_first_find_of_each_group_is_made_small(tmp_path: Path) -> None:
    state, said = explore(tmp_path)
    assert len(state.finds) > 1
    assert [find.small is not None for find in state.finds] == [True] + [False] * (len(state.finds) - 1)
    assert f"CPU 1 stops after park+{READ:#x} and before park+{WRITE:#x}" in said
    value = json.loads((tmp_path / "explored.json").read_text())
    assert (value["state"], len(value["runs"])) == ("complete", 31)
    assert "stopped" in (tmp_path / "explored.html").read_text()


def test_it_goes_on_after_an_interrupt_and_is_as_one_go(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        explore(tmp_path / "x", maker=Simulated(stop_after=12))
    assert json.loads((tmp_path / "x" / "explored.json").read_text())["state"] == "partial"
    assert len(json.loads((tmp_path / "x" / "explored.json").read_text())["runs"]) == 12
    state, _ = explore(tmp_path / "x")
    whole, _ = explore(tmp_path / "whole")
    assert state == whole


def test_an_interrupt_while_a_find_is_made_small_goes_on_at_the_smallest_that_failed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        explore(tmp_path / "x", maker=Simulated(stop_after=45))
    after, begun = explore(tmp_path / "x")
    whole, said = explore(tmp_path / "whole")
    assert "find-1: 5 stalls left" in said
    assert "find-1: 5 stalls left" not in begun
    small, other = after.finds[0].small, whole.finds[0].small
    assert small is not None
    assert other is not None
    assert small.runs < other.runs
    assert (len(small.points), small.of_points, small.cell) == (1, other.of_points, other.cell)
    assert replace(after, finds=()) == replace(whole, finds=())


def test_no_small_leaves_finds_as_they_are_and_small_makes_one_later(tmp_path: Path) -> None:
    state, _ = explore(tmp_path, replace(ASKED, small=False))
    assert all(find.small is None for find in state.finds)
    place = tmp_path / "finds" / "find-2"
    progress = Progress(io.StringIO(), live=False)
    find = steps.make_small(place, ExplorationRequest(), exploresim.opener(Simulated()), progress)
    assert find.small is not None
    assert len(find.small.points) == 1
    again = json.loads((tmp_path / "explored.json").read_text())
    assert [one["small"] is not None for one in again["finds"]][:2] == [False, True]


@pytest.mark.parametrize(
    ("asked", "start"), [({}, "cold"), ({"start": "auto"}, "auto"), ({"start": "warm"}, "warm")]
)
def test_a_folder_that_says_nothing_of_its_start_is_of_a_cold_exploration(
    tmp_path: Path, asked: dict[str, str], start: str
) -> None:
    explore(tmp_path, replace(ASKED, runs=1))
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "asked": {**plan["asked"], **asked}}))
    assert steps.asked_of(ExplorationFolder(tmp_path), ExplorationRequest()).start == start


def test_a_plan_of_an_exploration_tells_cells_runs_and_what_is_left(tmp_path: Path) -> None:
    selected = rows.select(ASKED)
    text = steps.plan_text(ASKED, selected, tmp_path)
    assert text.startswith("explore 1 cell, 30 runs each: sync in turn; 31 boots\n  smoke-kernel-smp2\n")
    explore(tmp_path, replace(ASKED, runs=15, small=False))
    assert "0.5 s each: 8 s of one CPU left" in steps.plan_text(ASKED, selected, tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    explore(tmp_path, replace(ASKED, runs=1))
    with pytest.raises(UsageError, match="asks for something else"):
        explore(tmp_path, replace(ASKED, runs=1, strategies=("pct",)))


def test_a_plan_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    explore(tmp_path, replace(ASKED, small=False))
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "asked": {"paths": 3}}))
    progress = Progress(io.StringIO(), live=False)
    with pytest.raises(UsageError, match="`asked` cannot be read"):
        steps.make_small(
            tmp_path / "finds" / "find-1", ExplorationRequest(), exploresim.opener(Simulated()), progress
        )


def test_what_was_left_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "select", lambda _: RowSelection(Options(), (), ("x-smp1: it has one CPU",)))
    state, said = explore(tmp_path, replace(ASKED, runs=1))
    assert "x-smp1: it has one CPU" in said
    assert state.notes == ("x-smp1: it has one CPU",)


def test_an_exploration_without_a_stall_says_so_where_it_is_read(tmp_path: Path) -> None:
    state, _ = explore(tmp_path, replace(ASKED, runs=2), Simulated(unstalled=True))
    assert state.unstalled == (exploresim.planned().cell.id,)
    (note,) = json.loads((tmp_path / "explored.json").read_text())["notes"]
    assert note.startswith("no run of primes-kernel-smp2 had a stall: nothing was explored there; next: ")
    assert note in (tmp_path / "explored.html").read_text()
    assert "UNDECIDED: nothing explored: 3 runs" in (tmp_path / "explored.html").read_text()
    plain, _ = explore(tmp_path / "plain", replace(ASKED, runs=2, strategies=("plain",)))
    assert (plain.unstalled, plain.notes) == ((), ())


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[ReplayRequest]:
    """What session/replay.py is asked for."""
    seen: list[ReplayRequest] = []

    def replayed(order: ReplayRequest, _: object) -> tuple[str, bool]:
        seen.append(order)
        return "the same run", True

    monkeypatch.setattr(replay, "replay", replayed)
    return seen


def order(place: Path) -> ReplayRequest:
    return ReplayRequest(place, place.parent / "out", None, TrustedPrograms(), profile=False, gdb=True)


def test_a_find_is_replayed_with_its_own_deadline_and_facts(
    tmp_path: Path, orders: list[ReplayRequest]
) -> None:
    explore(tmp_path)
    said: list[str] = []
    text, same = steps.replay_find(order(tmp_path / "finds" / "find-1"), said.append)
    assert same
    (request,) = orders
    assert (request.facts, request.gdb, request.limits.halted_s) == ("plan.json", True, 1.0)
    assert request.deadline_ns == 30 * exploresim.INSTRUCTIONS + 200_000_000
    assert request.verb == ("benchgate", "explore", "replay")
    assert said == ["find-1: panic: the guest panicked: panic: cpu=1 why=assert"]
    assert text.startswith("the same run\nfind-1: 1 of 6 stalls")


def test_what_is_left_of_a_find_is_replayed_too(tmp_path: Path, orders: list[ReplayRequest]) -> None:
    explore(tmp_path)
    text, _ = steps.replay_find(order(tmp_path / "finds" / "find-1-small"), lambda _: None)
    assert f"stalls: 1, in {tmp_path / 'finds' / 'find-1-small' / 'exploration.txt'}" in text
    assert len(orders) == 1


def test_another_folder_is_no_find(tmp_path: Path, orders: list[ReplayRequest]) -> None:
    with pytest.raises(UsageError, match="is no find of an exploration; expected DIR/finds/find-1"):
        steps.replay_find(order(tmp_path), lambda _: None)
    assert orders == []
    with pytest.raises(UsageError, match=r"find-2/find.json is missing"):
        steps.command_of(tmp_path, "find-2")
