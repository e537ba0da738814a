"""A run that is forked at a moment of its time: each child is a run that was never forked, line by line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchgate.base.errors import BootError
from benchgate.base.exploration import Exploration, Strategy, usual
from benchgate.base.runs import Ending, RawRun
from benchgate.insn.explore_log import Delay
from benchgate.insn.log_reader import read_log
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import RunningGuest, started
from benchgate.run.moments import Branch, ClockTurn, Standstill, at
from benchgate.run.parallel import AttemptJob, execute_all
from benchgate.run.record import clock_log
from benchgate.session import keepers
from tests.guests.test_forks import AT_ONCE, lines, nonce, request_of, require_equal
from tests.guests.test_warm_starts import TEST, Bench, made
from tests.line.sessions import light_tern, run_benchgate, run_pytest

SEED = 3


def plain(bench: Bench, folder: Path, exploration: Exploration | None = None) -> tuple[int, int]:
    """A run that is never forked; the times of its first and its last mark."""
    assert execute(request_of(bench, folder, SEED, exploration)).ending is Ending.DONE
    marks = read_log(clock_log(folder)).marks
    return marks[0].time, marks[-1].time


def children(moment: Standstill, *branches: Branch) -> list[RawRun]:
    for branch in branches:
        branch.folder.mkdir()
    return [raw for _, raw in moment.children(branches, 2)]


def cold(bench: Bench) -> Bench:
    planned = bench.planned
    system = replace(planned.system.cold, name=planned.system.name.replace(".start-warm", ""))
    return replace(
        bench, planned=replace(planned, system=system, cell=replace(planned.cell, system=system.name))
    )


@contextmanager
def born(moment: Standstill, folder: Path) -> Iterator[RunningGuest]:
    """A child whose guest has not gone on."""
    folder.mkdir()
    child = moment.request_of(Branch(folder))
    limits = ConsoleLimits()
    with started(child.spec, folder, mark=child.nonce, limits=limits, fork=moment.fork) as running:
        yield running


@pytest.mark.parametrize("start", ["warm", "cold"])
@pytest.mark.parametrize(
    ("word", "machine"),
    [
        ("kernel", "ideal"),
        ("kernel", "desktop8"),
        ("linux", "ideal"),
        pytest.param("linux", "desktop8", marks=pytest.mark.long),
    ],
)
def test_a_child_that_changes_nothing_is_the_run_that_was_never_forked(
    word: str, machine: str, start: str, tmp_path: Path
) -> None:
    """Before the window, within it, and near its end."""
    bench = made(machine, word) if start == "warm" else cold(made(machine, word))
    first, last = plain(bench, tmp_path / "plain")
    for n, wanted in enumerate((first - 1_000_000, (first + last) // 2, last - 1000)):
        request = request_of(bench, tmp_path / f"stem{n}", SEED)
        with at(request, wanted) as moment:
            assert wanted <= moment.now_ns <= moment.latest_ns
            ended = children(moment, *(Branch(tmp_path / f"child{n}.{k}") for k in range(2)))
        assert [raw.ending for raw in ended] == [Ending.DONE] * 2
        for k in range(2):
            require_equal(tmp_path / "plain", tmp_path / f"child{n}.{k}")


def test_a_child_with_other_rules_is_the_run_that_turns_by_itself(tmp_path: Path) -> None:
    bench = made("ideal", "kernel")
    first, last = plain(bench, tmp_path / "plain")
    turns = (
        ClockTurn(SEED),
        ClockTurn(77),
        ClockTurn(78),
        ClockTurn(SEED, quantum=500),
        ClockTurn(SEED, fine=1000, rush=2),
    )
    branches = [Branch(tmp_path / f"child{n}", turn) for n, turn in enumerate(turns)]
    with at(request_of(bench, tmp_path / "stem", SEED), (first + last) // 2) as moment:
        assert [raw.ending for raw in children(moment, *branches)] == [Ending.DONE] * len(turns)
        for n, branch in enumerate(branches):
            (tmp_path / f"alone{n}").mkdir()
            execute(moment.request_of(replace(branch, folder=tmp_path / f"alone{n}")))
    logs = [lines(branch.folder) for branch in branches]
    for n in range(len(turns)):
        require_equal(tmp_path / f"alone{n}", tmp_path / f"child{n}")
    (turned,) = read_log(clock_log(tmp_path / "child1")).turned
    assert (turned.time, turned.seed) == (moment.now_ns, 77)
    # One that turns to the rules that it has is the run itself, but for the line that says so.
    rest = [line for line in logs[0] if not line.startswith("turned ")]
    assert rest == lines(tmp_path / "plain")
    assert len({tuple(log) for log in logs}) == len(turns)
    # Up to the moment all are one run.
    for log in logs:
        place = next(n for n, line in enumerate(log) if line.startswith("turned "))
        assert log[:place] == rest[:place]
        assert place > 10


@pytest.mark.parametrize("start", ["warm", "cold"])
def test_a_child_is_replayed(start: str, tmp_path: Path) -> None:
    """In the folder of a session of the same row, by the command, which tells a log with other rules."""
    system = light_tern(tmp_path)
    (tmp_path / "test_row.py").write_text(TEST.replace('@pytest.mark.system("linux")\n', ""))
    session = run_pytest(tmp_path, "test_row.py", "--clock=insn", f"--start={start}", "--smp=2", "--runs=1")
    assert session.code == 0, session.output
    runs = session.folder.resolve() / "runs"
    bench = made("ideal", "kernel") if start == "warm" else cold(made("ideal", "kernel"))
    first, last = plain(bench, tmp_path / "plain")
    turns = ClockTurn(77), ClockTurn(78, quantum=500), None
    branches = [Branch(runs / f"000{n}-child", turn) for n, turn in enumerate(turns, 7)]
    with at(request_of(bench, tmp_path / "stem", SEED), (first + last) // 2) as moment:
        assert [raw.ending for raw in children(moment, *branches)] == [Ending.DONE] * len(turns)
    for n, branch in enumerate(branches):
        words = ("replay", branch.folder, "--system", system, "--out", tmp_path / f"again{n}")
        code, output = run_benchgate(tmp_path, *words)
        assert code == 0, output
        assert "the same run: marks, counts and console are equal" in output
        require_equal(branch.folder, tmp_path / f"again{n}")
    log = clock_log(branches[0].folder)
    log.write_text(re.sub(r"^(turned \d+) 77 ", r"\1 79 ", log.read_text(), flags=re.MULTILINE))
    words = ("replay", branches[0].folder, "--system", system, "--out", tmp_path / "other")
    code, output = run_benchgate(tmp_path, *words)
    assert code == 1, output
    assert "differ" in output


def test_stalls_that_begin_after_the_moment_are_those_of_a_run_from_its_begin(tmp_path: Path) -> None:
    """An exploration of what comes after a moment: one run to it, and a fork for each seed."""
    bench = made("ideal", "kernel")
    quiet = replace(usual(Strategy.SYNC, 1), from_ns=10**17)
    first, last = plain(bench, tmp_path / "plain", quiet)
    with at(request_of(bench, tmp_path / "stem", SEED, quiet), (first + last) // 2) as moment:
        later = moment.latest_ns
        explorations = [
            *(replace(usual(Strategy.SYNC, seed), from_ns=later, one_in=3) for seed in (1, 2, 3)),
            replace(usual(Strategy.PCT, 5, 200), from_ns=later),
            replace(usual(Strategy.INTERRUPT, 6), from_ns=later, one_in=1),
        ]
        branches = [Branch(tmp_path / f"child{n}", None, one) for n, one in enumerate(explorations)]
        assert [raw.ending for raw in children(moment, *branches)] == [Ending.DONE] * len(branches)
        found = stalls(tmp_path / "child0")
        assert found
        assert all(stall.time >= later for stall in found)
        listed = explorations[0].at_points(stall.point for stall in found)
        again = Branch(tmp_path / "points", None, listed)
        assert [raw.ending for raw in children(moment, again, Branch(tmp_path / "same"))] == [Ending.DONE] * 2
    for n, one in enumerate(explorations):
        plain(bench, tmp_path / f"alone{n}", one)
        require_equal(tmp_path / f"alone{n}", tmp_path / f"child{n}")
    require_equal(tmp_path / "plain", tmp_path / "same")
    plain(bench, tmp_path / "listed", listed)
    require_equal(tmp_path / "listed", tmp_path / "points")
    assert len({tuple(lines(branch.folder)) for branch in branches}) == len(branches)


def stalls(folder: Path) -> tuple[Delay, ...]:
    explored = read_log(clock_log(folder)).explored
    assert explored is not None
    return explored.delays


@pytest.mark.parametrize(
    ("exploration", "why"),
    [
        (usual(Strategy.SYNC, 1), "begins before the moment of the fork"),
        (replace(usual(Strategy.ANYWHERE, 1), from_ns=10**15), "counts from the begin of a run"),
        (Exploration(Strategy.PLACE, from_ns=10**15, places=(4096,)), "other places"),
    ],
)
def test_a_child_that_would_have_been_another_run_before_the_moment_is_refused(
    exploration: Exploration, why: str, tmp_path: Path
) -> None:
    bench = made("ideal", "kernel")
    quiet = replace(usual(Strategy.SYNC, 1), from_ns=10**17)
    first, last = plain(bench, tmp_path / "plain", quiet)
    with at(request_of(bench, tmp_path / "stem", SEED, quiet), (first + last) // 2) as moment:
        with pytest.raises(BootError, match=why):
            children(moment, Branch(tmp_path / "refused", None, exploration))
        children(moment, Branch(tmp_path / "next"))
    require_equal(tmp_path / "plain", tmp_path / "next")


def test_the_record_of_threads_goes_on_in_a_child(tmp_path: Path) -> None:
    bench = made("ideal", "kernel")

    def recorded(folder: Path) -> RunRequest:
        folder.mkdir()
        records = keepers.records(folder, observed=bench.bench.observed(bench.planned), events=True)
        boot = BootOptions(nonce(SEED), seed=SEED, boot=1, records=records)
        return bench.bench.request(bench.planned, boot, folder)

    execute(recorded(tmp_path / "plain"))
    marks = read_log(clock_log(tmp_path / "plain")).marks
    with at(recorded(tmp_path / "stem"), (marks[0].time + marks[-1].time) // 2) as moment:
        children(moment, Branch(tmp_path / "child"))
    require_equal(tmp_path / "plain", tmp_path / "child")
    for name in ("threads.txt", "events.txt"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "child" / name).read_bytes()


def test_a_run_that_ends_before_the_moment_says_so(tmp_path: Path) -> None:
    bench = made("ideal", "kernel")
    with (
        pytest.raises(BootError, match="ended before 9000000000000 ns"),
        at(request_of(bench, tmp_path / "stem", SEED), 9_000_000_000_000),
    ):
        pass


# ---- what dies


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standstill]:
    bench = made("ideal", "kernel")
    first, last = plain(bench, tmp_path / "plain")
    with at(request_of(bench, tmp_path / "stem", SEED), (first + last) // 2) as moment:
        yield moment


def qemus() -> list[psutil.Process]:
    """Those that live: a child that has ended is reaped when the next one has."""
    found = [child for child in psutil.Process().children() if "qemu" in child.name()]
    return [child for child in found if child.status() != psutil.STATUS_ZOMBIE]


def test_a_run_that_dies_where_it_stands_says_so(standing: Standstill, tmp_path: Path) -> None:
    (stem,) = qemus()
    stem.kill()
    with pytest.raises(BootError, match="ended"):
        children(standing, Branch(tmp_path / "child"))


def test_a_folder_that_cannot_be_written_loses_the_child_only(standing: Standstill, tmp_path: Path) -> None:
    child = standing.request_of(Branch(tmp_path / "gone"))
    begin = standing.fork(child.spec, child.folder, child.nonce)
    output, into = os.pipe()
    with Path(os.devnull).open("wb") as nothing, pytest.raises(BootError, match="cannot be written"):
        begin.make({1: into, **dict.fromkeys((2, 3, 4), nothing.fileno())})
    os.close(output)
    os.close(into)
    children(standing, Branch(tmp_path / "next"))
    require_equal(tmp_path / "plain", tmp_path / "next")


@pytest.mark.long
def test_children_that_are_killed_at_any_moment_leave_the_others_alone(
    standing: Standstill, tmp_path: Path
) -> None:
    (stem,) = qemus()
    for place in range(20):
        with born(standing, tmp_path / f"lost{place}") as running:
            running.go()
            time.sleep(place * 0.002)
            running.child.stop(0)
        children(standing, Branch(tmp_path / f"next{place}"))
        require_equal(tmp_path / "plain", tmp_path / f"next{place}")
    assert qemus() == [stem]


@pytest.mark.long
def test_64_children_at_once_are_each_the_run(standing: Standstill, tmp_path: Path) -> None:
    branches = [Branch(tmp_path / f"child{place}") for place in range(AT_ONCE)]
    for branch in branches:
        branch.folder.mkdir()
    jobs = [AttemptJob(standing.request_of(branch), lambda _: None) for branch in branches]
    ended = [raw.ending for _, raw in execute_all(jobs, AT_ONCE, standing.fork)]
    assert ended == [Ending.DONE] * AT_ONCE
    for branch in branches:
        require_equal(tmp_path / "plain", branch.folder)
