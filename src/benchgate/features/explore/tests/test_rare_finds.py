"""Finds that no fault of tern gives: a run that is only slow, and books that do not balance. Each is planted
in a simulated guest, and found by the loop.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from benchgate.base.runs import Ending
from benchgate.features.explore.exploration_result import Find
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.guest_maker import unbalanced
from benchgate.features.explore.session.loop import ExplorationJob, ExplorationLoop
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.tests import exploresim
from benchgate.features.explore.tests.exploresim import Simulated
from benchgate.features.explore.trouble import MEDIAN_OF, RunObservation, TroubleKind
from benchgate.insn.log_reader import read_log
from benchgate.session.progress import Progress
from tests.unit.judge.checks.test_balance import IDEAL, explored

ASKED = ExplorationRequest(paths=("a",), strategies=("sync",), runs=60)
BALANCED = explored(IDEAL).replace("time 10191", "time 10271")
"""The log of a clock; vCPU 0 was stalled for 80 ns."""


def finds(path: Path, maker: Simulated) -> tuple[Find, ...]:
    path.mkdir()
    folder = ExplorationFolder(path)
    folder.begin({"asked": ASKED.what, "inputs": {}})
    ExplorationLoop(ASKED, [exploresim.planned()], folder, maker, Progress(io.StringIO(), live=False)).run()
    return folder.finds()


class Redoes(Simulated):
    """It sees what the race has done, and does its work many times over: the answer is right."""

    times = 40

    def read(self, job: ExplorationJob) -> RunObservation:
        made = super().read(job)
        if not made.reason:
            return made
        own = self.times * exploresim.INSTRUCTIONS
        return replace(made, ending=Ending.DONE, reason="", work_ns=own + made.delayed_ns)


def test_a_race_that_only_costs_time_is_a_slow_find(tmp_path: Path) -> None:
    result = finds(tmp_path / "x", Redoes())
    assert result
    assert {find.kind for find in result} == {TroubleKind.SLOW}
    assert all(find.number >= MEDIAN_OF for find in result), "before, no median is known"
    assert "times the median of" in result[0].what
    quick = Redoes()
    quick.times = 1
    assert finds(tmp_path / "y", quick) == ()


class Loses(Simulated):
    """Where the race shows, a ns of a vCPU's time is in no book. Its log is in the clock's form, read and
    checked as the lab does."""

    def read(self, job: ExplorationJob) -> RunObservation:
        made = super().read(job)
        log = job.folder / "books.log"
        log.write_text(BALANCED.replace("delayed 80", "delayed 79") if made.reason else BALANCED)
        return replace(
            made, ending=Ending.DONE, reason="", work_ns=5000, unbalanced=unbalanced(read_log(log))
        )


def test_time_that_is_in_no_book_is_a_find(tmp_path: Path) -> None:
    result = finds(tmp_path / "x", Loses())
    assert result
    assert {find.kind for find in result} == {TroubleKind.BOOKS}
    assert "the machine's books do not balance: vCPU 0" in result[0].what
