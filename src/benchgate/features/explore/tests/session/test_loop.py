"""The loop on a simulated guest with one race."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.exploration import Strategy
from benchgate.base.system.results import LineWindow, ResultDefinition, ResultFormat
from benchgate.features.explore.exploration_result import FOUND
from benchgate.features.explore.session.folder import PLAN, ExplorationFolder
from benchgate.features.explore.session.loop import ExplorationLoop, command, limit_ns, window_from
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.tests import exploresim
from benchgate.features.explore.tests.exploresim import Simulated
from benchgate.session.progress import Progress

ASKED = ExplorationRequest(paths=("a",), strategies=("plain", "sync"), runs=30)


def folder_in(path: Path) -> ExplorationFolder:
    path.mkdir(exist_ok=True)
    folder = ExplorationFolder(path)
    folder.begin({"asked": ASKED.what, "inputs": {}})
    return folder


def explored(
    path: Path, asked: ExplorationRequest = ASKED, maker: Simulated | None = None
) -> tuple[ExplorationFolder, str]:
    folder, said = folder_in(path), io.StringIO()
    ExplorationLoop(
        asked, [exploresim.planned()], folder, maker or Simulated(), Progress(said, live=False)
    ).run()
    return folder, said.getvalue()


def test_each_run_has_a_line_and_only_finds_have_a_folder(tmp_path: Path) -> None:
    folder, said = explored(tmp_path / "x")
    lines = folder.lines()
    assert [line.number for line in lines] == [*range(31)]
    assert {line.strategy for line in lines if line.find} == {"sync"}
    finds = [line.find for line in lines if line.find]
    assert finds == [f"find-{n}" for n in range(1, len(finds) + 1)]
    assert len(finds) >= 2
    kept = sorted(path.name for path in (folder.path / "finds").iterdir())
    assert kept == sorted(finds)
    assert not [*(folder.path / "running").iterdir()]
    assert f"benchgate: find-1: benchgate explore replay {folder.path}/finds/find-1" in said


def test_a_defect_is_news_once_and_after_an_interrupt_too(tmp_path: Path) -> None:
    """Each later run with the same panic was told as a find of its own, with a command to replay it."""
    folder, said = explored(tmp_path / "x")
    names = [find.name for find in folder.finds()]
    assert len({find.group for find in folder.finds()}) == 1
    assert said.count("benchgate explore replay") == 1
    for name in names[1:]:
        assert f"{name}: as find-1\n" in said
    _, said = explored(tmp_path / "x", replace(ASKED, runs=150))
    assert len(folder.finds()) > len(names)
    assert "explore replay" not in said
    assert f"find-{len(names) + 1}: as find-1\n" in said


def test_the_first_run_tells_the_steps_and_the_deadline(tmp_path: Path) -> None:
    maker = Simulated()
    explored(tmp_path / "x", replace(ASKED, strategies=("pct",), runs=2), maker)
    first, job, _ = maker.ran
    assert (first.exploration.strategy, first.deadline_ns) == (Strategy.POINTS, None)
    assert job.exploration.steps == exploresim.INSTRUCTIONS
    assert job.deadline_ns == 30 * exploresim.INSTRUCTIONS + 200_000_000
    assert limit_ns(None) is None


def test_the_window_of_a_guest_at_a_prompt_begins_with_the_first_line_that_is_typed() -> None:
    """Without marks, `--window` would leave out every stall, and nothing would be found."""
    cell = exploresim.planned()
    assert window_from(cell, 800) is None
    own = replace(cell.system, result=ResultDefinition(ResultFormat.PATTERNS, work=LineWindow("^a$", "^b$")))
    asked_at = replace(cell, system=own)
    assert window_from(asked_at, 800) == 800
    assert window_from(asked_at, None) == 0
    timed = replace(ASKED, window=True)
    assert not timed.exploration("sync", 1, 0, 800).window
    assert timed.exploration("sync", 1, 0, 800).from_ns == 800
    later = replace(timed, parameters={"from_ns": 900}).exploration("sync", 1, 0, 800)
    assert later.from_ns == 900
    assert replace(ASKED, window=False).exploration("sync", 1, 0, 800).from_ns == 0
    assert timed.exploration("sync", 1, 0).window


def test_it_ends_at_the_first_find(tmp_path: Path) -> None:
    folder, _ = explored(tmp_path / "x", replace(ASKED, stop_at_first=True))
    lines = folder.lines()
    assert [line.outcome for line in lines].count(FOUND) == 1
    assert lines[-1].outcome == FOUND
    maker = Simulated()
    explored(tmp_path / "x", replace(ASKED, stop_at_first=True), maker)
    assert maker.ran == []


def test_after_an_interrupt_it_goes_on_and_the_lines_are_those_of_one_go(tmp_path: Path) -> None:
    whole, _ = explored(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        explored(tmp_path / "x", maker=Simulated(stop_after=17))
    maker = Simulated()
    folder, _ = explored(tmp_path / "x", maker=maker)
    assert len(maker.ran) == 31 - 17
    assert folder.lines() == whole.lines()
    assert exploresim.folder_files(folder.path) == exploresim.folder_files(whole.path)


def test_more_runs_go_on_where_the_first_ended(tmp_path: Path) -> None:
    explored(tmp_path / "x", replace(ASKED, runs=10))
    folder, _ = explored(tmp_path / "x")
    whole, _ = explored(tmp_path / "whole")
    assert folder.lines() == whole.lines()


def test_a_find_has_what_it_takes_to_group_and_replay_it(tmp_path: Path) -> None:
    folder, _ = explored(tmp_path / "x", replace(ASKED, stop_at_first=True))
    (find,) = folder.finds()
    assert (find.kind, find.strategy, find.cell) == ("panic", "sync", "primes-kernel-smp2")
    assert find.group == "panic | tern: ready | panic: cpu=# why=assert"
    assert find.places == ("unpark+0x10", "park+0x20")
    assert find.deadline_ns == 30 * exploresim.INSTRUCTIONS + 200_000_000


def test_without_finds_few_runs_are_news(tmp_path: Path) -> None:
    _, said = explored(tmp_path / "x", replace(ASKED, strategies=("plain",), runs=59))
    assert said.count("nothing wrong") == 20


def test_a_command_can_be_pasted_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder, said = explored(tmp_path / "an out", replace(ASKED, stop_at_first=True))
    built_in = "benchgate explore replay 'an out/finds/find-1'"
    assert command(folder, "find-1") == built_in
    assert built_in in said
    files = {
        "systems": {"kernel": f"{tmp_path}/k.yaml", "ker": "/b/ker.yaml"},
        "workloads": {"primes": "primes"},
    }
    plan = json.loads((folder.path / PLAN).read_text()) | files
    (folder.path / PLAN).write_text(json.dumps(plan))
    assert command(folder, "find-1") == f"{built_in} --system k.yaml"
    (folder.path / PLAN).write_text(json.dumps(plan | {"workloads": {"primes": "/w/workload.yaml"}}))
    assert command(folder, "find-1") == f"{built_in} --system k.yaml --workload /w/workload.yaml"
