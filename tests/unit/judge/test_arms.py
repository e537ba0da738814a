"""Arms from judged runs: which runs they hold, and which metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm
from benchgate.base.runs import Ending, RawRun
from benchgate.base.workload.metrics import OF_THREADS, Metric, MetricDirection, MetricKind, SeenBy
from benchgate.judge.arms import arms, difference, repeats
from benchgate.judge.judged_run import JudgedRun
from tests.unit import factories
from tests.unit.factories import cell, raw_run, verified

RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")


def test_an_arm_has_the_windows_and_the_declared_metrics() -> None:
    run = replace(verified(raw_run(cell(2)), 1000), metrics={"rps": 7.0, "undeclared": 1.0})
    arm = arms([(cell(2), "")], [JudgedRun(run.run, run)], {"rps": RPS})[cell(2).id]
    assert {name: measurement.samples for name, measurement in arm.measurements.items()} == {
        "work": (1000.0,), "total": (2000.0,), "rps": (7.0,),
    }  # fmt: skip
    assert arm.runs == 1


def test_a_run_without_a_declared_metric_makes_its_arm_invalid() -> None:
    run = verified(raw_run(cell(2)), 1000)
    arm = arms([(cell(2), "")], [JudgedRun(run.run, run)], {"rps": RPS})[cell(2).id]
    assert arm.invalid == ("primes-linux-smp2: run 1 has no metric rps",)


def test_a_skipped_cell_has_no_runs_although_another_sweep_measured_it() -> None:
    run = verified(raw_run(cell(2)), 1000)
    arm = arms([(cell(2), "another lane")], [JudgedRun(run.run, run)])[cell(2).id]
    assert (arm.runs, arm.attempted, arm.skipped) == (0, 0, "another lane")


def test_a_metric_without_a_value_in_one_run_is_not_measured_and_the_others_are() -> None:
    """A warm-up counts for nothing here, too."""

    def run(attempt: int, *, rps: float | None, warmup: bool = False) -> JudgedRun:
        verified_run = verified(raw_run(cell(2), attempt=attempt, warmup=warmup), 1000)
        if rps is None:
            return JudgedRun(
                verified_run.run, replace(verified_run, absent={"rps": "its histogram `h` is empty"})
            )
        return JudgedRun(verified_run.run, replace(verified_run, metrics={"rps": rps}))

    declared, cells = {"rps": RPS}, [(cell(2), "")]
    runs = [run(1, rps=7), run(2, rps=None), run(3, rps=None)]
    arm = arms(cells, runs, declared)[cell(2).id]
    assert (arm.runs, set(arm.measurements), arm.invalid) == (3, {"work", "total"}, ())
    assert arm.absent == {"rps": "2 of 3 runs without a value: run 0002: its histogram `h` is empty"}
    arm = arms(cells, [run(1, rps=None, warmup=True), run(2, rps=7)], declared)[cell(2).id]
    assert (set(arm.measurements), arm.absent) == ({"work", "total", "rps"}, {})


def test_a_metric_that_every_run_skipped_is_not_of_the_arm() -> None:
    def run(attempt: int, why: str) -> JudgedRun:
        verified_run = verified(raw_run(cell(2), attempt=attempt), 1000)
        return JudgedRun(verified_run.run, replace(verified_run, skipped={"rps": why} if why else {}))

    arm = arms([(cell(2), "")], [run(1, "no clock"), run(2, "none")], {"rps": RPS})[cell(2).id]
    assert (set(arm.measurements), arm.invalid) == ({"work", "total"}, ())
    assert arm.lacks == {"rps": "no clock"}
    arm = arms([(cell(2), "")], [run(1, "no clock"), run(2, "")], {"rps": RPS})[cell(2).id]
    assert arm.invalid == ("primes-linux-smp2: run 1 has no metric rps",)


LOG = """insn-clock 1
level full
mode serial
seed 7
quantum 5000
fine 100
rush 25
vcpus 1
api 4 2 4
mark 01 0 {mark}
vcpu 0 time {time} executed {time} paused 0 skipped 0 halted 0
end {time}
closed
"""


def run(
    folder: Path,
    name: str,
    status: int | None,
    *,
    mark: int = 10,
    time: int = 99,
    said: str = "up",
    more: str = "",
    ending: Ending = Ending.DONE,
) -> RawRun:
    """`more`: other lines of the clock's log, after the mark."""
    place = folder / name
    place.mkdir()
    log = LOG.format(mark=mark, time=time)
    if "explore" in more:
        log = log.replace("halted 0\n", "halted 0 delayed 0\n").replace("closed\n", "explored 1 1\nclosed\n")
    (place / "clock.log").write_text(log.replace("vcpu 0 time", f"{more}vcpu 0 time"))
    (place / "serial.log").write_text(said)
    raw = factories.raw_run(factories.cell(1), lane=Lane.INSN, folder=place)
    return replace(raw, exit_status=status, clock_log=place / "clock.log", ending=ending)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"mark": 11}, "mark 1 at 10 on vCPU 0, mark 1 at 11 on vCPU 0"),
        ({"time": 98}, "instruction counts"),
        ({"said": "up again"}, "consoles"),
        ({"more": "mark 02 0 11\n"}, "in their marks"),
        ({"ending": Ending.FAILED}, "in their ends: done, failed"),
        ({"ending": Ending.INTERRUPTED}, ""),
    ],
)
def test_two_complete_runs_of_one_seed_must_be_equal(
    tmp_path: Path, other: dict[str, int], said: str
) -> None:
    result = difference(run(tmp_path, "a", 33), run(tmp_path, "b", 33, **other))  # type: ignore[arg-type]
    assert bool(result) == bool(said)
    assert said in result


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"time": 98}, ""),
        ({"said": "up again"}, ""),
        ({"said": "down"}, "consoles"),
        ({"mark": 11}, "mark 1 at 10"),
        ({"more": "mark 02 0 11\n"}, "in their marks"),
        ({"ending": Ending.FAILED}, "in their ends: done, failed"),
    ],
)
def test_of_a_killed_guest_only_the_common_part_must_be_equal(
    tmp_path: Path, other: dict[str, int], said: str
) -> None:
    result = difference(run(tmp_path, "a", None), run(tmp_path, "b", None, **other))  # type: ignore[arg-type]
    assert bool(result) == bool(said)
    assert said in result


REPORT = "BUG: sleeping function called from invalid context\n"
STALL = "explore sync 9\ndelay 0 500 700 20 4198400\n"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"time": 98}, ""),
        ({"said": f"{REPORT}Call Trace:\n"}, ""),
        ({"more": f"{STALL}mark 02 0 21\n"}, ""),
        ({"said": "BUG: something else\n"}, "consoles"),
        ({"mark": 11}, "mark 1 at 10"),
        (
            {"more": STALL.replace("700", "800")},
            "stalls: StallPoint(vcpu=0, instruction=500, ns=700)",
        ),
        ({"ending": Ending.RUN_DEADLINE}, "in their ends: failed, run-deadline"),
    ],
)
def test_of_a_guest_that_the_host_ended_at_a_failure_only_the_common_part_must_be_equal(
    tmp_path: Path, other: dict[str, str], said: str
) -> None:
    """It goes on until it is killed: how far it comes, the host's load decides."""
    usual = {"said": REPORT, "more": STALL, "ending": Ending.FAILED}
    one = run(tmp_path, "a", None, **usual)  # type: ignore[arg-type]
    result = difference(one, run(tmp_path, "b", None, **{**usual, **other}))  # type: ignore[arg-type]
    assert bool(result) == bool(said)
    assert said in result


def memory(run: RawRun, *lines: str, digest: str = "a") -> None:
    text = "\n".join(("benchgate-memory 1", f"digest {digest * 64}", *lines, ""))
    (run.folder / "memory.txt").write_text(text)


MEMORY = ("1000 00000001 00000002", "7000 00000003")


@pytest.mark.parametrize(
    ("lines", "digest", "said"),
    [
        (MEMORY, "a", ""),
        (("1000 00000001 00000009", "7000 00000003"), "b", "1 page of memory at their end: 0x2000"),
        (("1000 00000001 00000002",), "b", "1 page of memory at their end: 0x7000"),
        (("1000 00000001 00000009", "7000 00000003"), "a", "1 page of memory at their end: 0x2000"),
        (MEMORY, "b", "the digest of their memory"),
        (
            ("1000 00000005 00000006 00000007 00000008 00000009", "7000 00000003"),
            "b",
            "5 pages of memory at their end: 0x1000, 0x2000, 0x3000, 0x4000, ...",
        ),
    ],
)
def test_two_runs_of_one_seed_end_with_equal_memory(
    tmp_path: Path, lines: tuple[str, ...], digest: str, said: str
) -> None:
    one, other = run(tmp_path, "a", 33), run(tmp_path, "b", 33)
    memory(one, *MEMORY)
    assert difference(one, other) == ""
    memory(other, *lines, digest=digest)
    result = difference(one, other)
    names = f"run {one.attempt:04} and run {other.attempt:04} of {one.cell.id}"
    assert result == (f"{names} have the same seed 7 but differ in {said}" if said else "")


def test_what_both_runs_of_a_seed_have_in_common_is_said(tmp_path: Path) -> None:
    def pair(cpus: int, *, kept: int, time: int = 99) -> list[JudgedRun]:
        runs = []
        for attempt in (1, 2):
            one = run(tmp_path, f"{cpus}-{attempt}", 33, time=time if attempt == 2 else 99)
            one = replace(one, cell=cell(cpus), attempt=attempt, warmup=attempt == 1)
            if attempt <= kept:
                memory(one, *MEMORY)
            runs.append(JudgedRun(one, verified(one, 1000)))
        return runs

    assert repeats(pair(1, kept=2)) == (
        "one seed was run twice in 1 cell: consoles, counts and memory are equal (primes-linux-smp1)",
    )
    both = [*pair(2, kept=2), *pair(3, kept=1), *pair(4, kept=0), *pair(5, kept=2, time=98)]
    assert repeats(both) == (
        "one seed was run twice in 1 cell: consoles, counts and memory are equal (primes-linux-smp2)",
        "one seed was run twice in 2 cells: consoles and counts are equal, the memory was not compared "
        "(primes-linux-smp3, primes-linux-smp4)",
    )
    assert repeats(both[1::2]) == ()


def test_threads_that_only_some_runs_recorded_are_no_figure() -> None:
    """A session with --measure records the threads of each cell's first run; a warm-up counts for nothing."""

    def run(attempt: int, *, seen: bool, warmup: bool = False) -> JudgedRun:
        verified_run = verified(raw_run(cell(2), attempt=attempt, warmup=warmup), 1000)
        if seen:
            return JudgedRun(verified_run.run, replace(verified_run, metrics=dict.fromkeys(OF_THREADS, 1.0)))
        return JudgedRun(
            verified_run.run, replace(verified_run, skipped=dict.fromkeys(OF_THREADS, "no record"))
        )

    def arm(*runs: JudgedRun) -> Arm:
        return arms([(cell(2), "")], runs, OF_THREADS)[cell(2).id]

    some = arm(run(1, seen=True), run(2, seen=False))
    assert (set(some.measurements), some.invalid, some.lacks) == ({"work", "total"}, (), {})
    assert set(some.absent) == set(OF_THREADS)
    assert "1 of 2 runs" in some.absent["wasted"]
    none = arm(run(1, seen=True, warmup=True), run(2, seen=False))
    assert (none.lacks["wasted"], none.absent) == ("no record", {})
    every = arm(run(1, seen=False, warmup=True), run(2, seen=True))
    assert set(every.measurements) == {"work", "total", *OF_THREADS}


def test_an_arm_knows_which_of_its_figures_the_machine_did_not_measure() -> None:
    def claimed(lane: Lane, *, measured: bool) -> Mapping[str, SeenBy]:
        run = verified(raw_run(cell(2), lane=lane), 1000)
        own = frozenset(["done"] if measured else [])
        run = replace(run, metrics={"rps": 7.0}, measured=own)
        metric = replace(RPS, of="done.count")
        return arms([(cell(2), "")], [JudgedRun(run.run, run)], {"rps": metric})[cell(2).id].claimed

    assert claimed(Lane.INSN, measured=False) == {"rps": SeenBy.GUEST}
    assert claimed(Lane.INSN, measured=True) == {}
    assert claimed(Lane.TCG, measured=False) == {}
