"""Finds of a simulated guest are made small; what must be left is known (tests/exploresim.py)."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from benchgate.base.exploration import Exploration, StallPoint, Strategy
from benchgate.base.runs import Ending
from benchgate.features.explore.exploration_result import Find, SmallFind
from benchgate.features.explore.session import placing, smaller
from benchgate.features.explore.session import smaller as module
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.loop import ExplorationJob, ExplorationLoop
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.session.trials import Case, Trials
from benchgate.features.explore.tests import exploresim
from benchgate.features.explore.tests.exploresim import OTHER, READ, WRITE, Simulated
from benchgate.features.explore.trouble import RunObservation, TroubleKind
from benchgate.run.record import load
from benchgate.session.progress import Progress

ASKED = ExplorationRequest(paths=("a",), strategies=("sync",), runs=50, stop_at_first=True)


def made_small(
    path: Path, asked: ExplorationRequest = ASKED, maker: Simulated | None = None, cpus: int = 2
) -> tuple[SmallFind, ExplorationFolder, Find]:
    maker, progress = maker or Simulated(), Progress(io.StringIO(), live=False)
    path.mkdir()
    folder = ExplorationFolder(path)
    folder.begin({"asked": asked.what, "inputs": {}})
    planned = exploresim.planned(cpus)
    ExplorationLoop(asked, [planned], folder, maker, progress).run()
    (find,) = folder.finds()
    raw = load(folder.find_folder(find.name))
    assert raw.exploration is not None
    job = ExplorationJob(planned, raw.exploration, find.seed, folder.find_folder(find.name), find.number, "")
    case = Case(planned, find.seed, raw.exploration, find.deadline_ns)
    made = maker.read(job)
    trials = Trials(asked, find, folder, maker, progress, case, made)
    return module.small(trials, made.all_stalls), folder, find


def test_one_stall_is_left_and_the_sentence_names_both_places(tmp_path: Path) -> None:
    find, folder, _ = made_small(tmp_path / "x")
    assert (find.of_points, find.note) == (exploresim.STALLS, "")
    (point,) = find.points
    assert point.vcpu == 1
    assert point.instruction == WRITE  # as late as it can be
    needed = OTHER - WRITE + 1  # then the write is one ns after the other CPU's
    assert needed <= point.ns <= needed + needed // 31
    (switch,) = find.switches
    assert (switch.stopped.vcpu, switch.stopped.first, switch.stopped.last) == (
        1,
        f"park+{READ:#x}",
        f"park+{WRITE:#x}",
    )
    (ran,) = switch.ran
    assert ran.vcpu == 0
    first, last = (int(text.partition("+")[2], 16) for text in (ran.first, ran.last))
    assert first == WRITE + 1  # at the same time the stopped CPU comes first
    assert OTHER <= last <= OTHER + needed // 31 + 1
    assert {segment.vcpu for segment in find.segments} == {0, 1}
    kept = load(folder.path / "finds" / "find-1-small").exploration
    assert kept is not None
    assert kept.points == find.points


def test_fewer_cpus_are_tried_first(tmp_path: Path) -> None:
    small_find, _, find = made_small(tmp_path / "x", cpus=8)
    assert find.cell == "primes-kernel-smp8"
    assert small_find.cell.endswith("-kernel-smp2")


def test_a_find_that_needs_no_stall_says_so(tmp_path: Path) -> None:
    find, _, _ = made_small(tmp_path / "x", maker=Simulated(always=True))
    assert find.points == ()
    assert find.said == ("it happens without any stall",)


def test_runs_are_limited_and_what_was_reached_is_kept(tmp_path: Path) -> None:
    find, _, _ = made_small(tmp_path / "x", replace(ASKED, small_runs=15))
    assert find.runs <= 15
    assert "15 runs were not enough to make it smaller; --small-runs allows more" in find.note
    assert 1 <= len(find.points) < exploresim.STALLS


def test_only_the_same_kind_of_failure_counts(tmp_path: Path) -> None:
    """Another simulated guest always hangs: that is no smaller form of a panic."""

    class Other(Simulated):
        def read(self, job: ExplorationJob) -> RunObservation:
            made = super().read(job)
            if "small" in job.label or "smaller" in job.label:
                return replace(made, ending=Ending.RUN_DEADLINE, reason="not finished")
            return made

    small_find, _, find = made_small(tmp_path / "x", maker=Other())
    assert find.kind is TroubleKind.PANIC
    assert small_find.said == ("the list of its stalls alone does not make it again",)


class Pieces(Simulated):
    """Each stall of a strategy is two at one instruction, and the guest fails only with both of these."""

    def read(self, job: ExplorationJob) -> RunObservation:
        points = exploresim.points_of(job)
        made = super().read(job)
        if job.exploration.strategy is not Strategy.POINTS:
            halves = [
                (replace(stall, ns=stall.ns - stall.ns // 3), replace(stall, ns=stall.ns // 3))
                for stall in made.stalls
            ]
            stalls = tuple(half for both in halves for half in both)
            return replace(made, stalls=stalls, all_stalls=len(stalls))
        at = [(point.vcpu, point.instruction) for point in points]
        in_pieces = any(at.count(one) > 1 for one in at)
        return made if in_pieces else replace(made, ending=Ending.DONE, reason="")


def test_pieces_of_a_stall_stay_pieces_if_one_long_stall_does_not_fail(tmp_path: Path) -> None:
    find, _, _ = made_small(tmp_path / "x", maker=Pieces())
    assert find.of_points == 2 * exploresim.STALLS
    (first, second) = find.points
    assert (first.vcpu, first.instruction) == (second.vcpu, second.instruction)


class Many(Simulated):
    """Its log lists only the first stalls of a run."""

    def __init__(self, listed: int) -> None:
        super().__init__()
        self.listed = listed
        self.kinds: list[tuple[Strategy, int, int]] = []

    def read(self, job: ExplorationJob) -> RunObservation:
        made, exploration = super().read(job), job.exploration
        self.kinds.append((exploration.strategy, exploration.one_in, exploration.from_ns))
        if exploration.strategy is Strategy.POINTS or exploration.one_in > Exploration(Strategy.SYNC).one_in:
            return made
        return replace(made, stalls=made.stalls[: self.listed])


def test_the_first_stalls_of_a_run_with_more_than_the_log_lists_may_be_enough(tmp_path: Path) -> None:
    find, _, _ = made_small(tmp_path / "x", maker=Many(5))
    assert find.of_points == 6
    assert len(find.points) == 1


def test_a_run_with_more_stalls_than_the_log_lists_may_fail_with_rarer_ones(tmp_path: Path) -> None:
    maker = Many(0)
    find, _, _ = made_small(tmp_path / "x", maker=maker)
    assert len(find.points) == 1
    assert (Strategy.SYNC, 40, 0) in maker.kinds


def test_a_run_with_more_stalls_than_the_log_lists_may_stay_as_it_is(tmp_path: Path) -> None:
    class Never(Many):
        def read(self, job: ExplorationJob) -> RunObservation:
            made = super().read(job)
            is_find = "small" not in job.label
            return made if is_find else replace(made, ending=Ending.DONE, reason="")

    find, _, _ = made_small(tmp_path / "x", maker=Never(5))
    assert find.note == "the log lists 5 of 6 stalls, so it replays by its seed only"


def test_what_is_left_is_told_in_one_line(tmp_path: Path) -> None:
    small_find, _, find = made_small(tmp_path / "x")
    said = module.told(replace(find, small=small_find))
    assert said.startswith(f"find-1: 1 of 6 stalls after {small_find.runs} runs: CPU 1 stops after park+")
    assert module.told(find) == ""


def test_a_hang_that_ends_with_more_time_is_slow(tmp_path: Path) -> None:
    """Its stalls only delay it. A real hang does not end either way."""

    class Slow(Simulated):
        def read(self, job: ExplorationJob) -> RunObservation:
            made = super().read(job)
            enough = (job.deadline_ns or 0) > 1_000_000_000
            return replace(made, ending=Ending.DONE, reason="") if enough else made

    small_find, _, find = made_small(tmp_path / "slow", maker=Slow(Ending.RUN_DEADLINE))
    assert find.kind is TroubleKind.HANG
    assert small_find.said == (module.SLOW,)
    hangs, _, _ = made_small(tmp_path / "hangs", maker=Simulated(Ending.RUN_DEADLINE))
    assert (len(hangs.points), hangs.note) == (1, "")


def test_where_fewer_stalls_shift_the_rest_stalls_at_one_instruction_are_searched(tmp_path: Path) -> None:
    """Here the find fails with all of its stalls only. Those at one instruction fail as ever."""

    class Shifting(Simulated):
        def read(self, job: ExplorationJob) -> RunObservation:
            made, points = super().read(job), set(exploresim.points_of(job))
            if job.exploration.strategy is Strategy.PLACE:
                placed.append(job.exploration)
                found_alone.update((stall_point.vcpu, stall_point.instruction) for stall_point in points)
            known = any((stall_point.vcpu, stall_point.instruction) in found_alone for stall_point in points)
            fewer = 0 < len(points) < exploresim.STALLS
            return replace(made, ending=Ending.DONE, reason="") if fewer and not known else made

    placed: list[Exploration] = []
    found_alone: set[tuple[int, int]] = set()
    find, _, _ = made_small(tmp_path / "x", maker=Shifting())
    (point,) = find.points
    assert point.vcpu == 1
    assert READ < point.instruction <= WRITE
    assert all(len(exploration.places) == 1 and not exploration.reach for exploration in placed)
    assert placed[0].one_in == smaller.NEVER, "first the executions are counted"
    assert placed[1].one_in == 1


def test_a_stall_that_is_not_made_any_more_is_left_out(tmp_path: Path) -> None:
    """Another stall is needed until vCPU 1 is stalled in its window. The guest ends before that other one."""
    end = StallPoint(0, exploresim.INSTRUCTIONS + 5, 7)
    needed = StallPoint(1, WRITE, OTHER)
    maker, progress = Simulated(), Progress(io.StringIO(), live=False)
    folder = ExplorationFolder(tmp_path)
    folder.begin({"asked": ASKED.what, "inputs": {}})
    case = Case(exploresim.planned(), 1, Exploration(Strategy.POINTS, points=(end, needed)), None)
    find = Find("find-1", "c", 1, "sync", 1, TroubleKind.PANIC, "what", "group")
    job = ExplorationJob(case.planned, case.exploration, 1, folder.new_run("x"), 1, "")
    trials = Trials(ASKED, find, folder, maker, progress, case, maker.read(job))
    switches, _ = placing.where(trials, (needed, end))
    assert len(switches) == 1
    assert [point.vcpu for point in trials.best.points] == [1]
