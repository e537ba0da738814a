"""Promises against what the machine saw: kept, contradicted with both sides, or visibly not witnessed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from benchgate.base.cells import Cell, Lane, Mode
from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.snapshots import SnapshotRecord
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.workload.witness import (
    HARNESS,
    HARNESS_BOOT,
    HARNESS_BOOT_CPU,
    HARNESS_BYTE,
    HARNESS_CPU,
    HARNESS_HISTOGRAM,
    Claim,
)
from benchgate.base.workload.workloads import Workload
from benchgate.insn.counts import CountedCpu, CountedSpan, Counts
from benchgate.insn.log import ClockLog
from benchgate.insn.operations import AskedTimes, Children, ThreadOperations
from benchgate.judge.accounts.threads.worker_sleeps import WokenWait
from benchgate.judge.checks import measured, witness, witness_names, witness_threads
from benchgate.judge.checks.thread_record import histogram_of
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog, workloadfile
from tests.unit.factories import raw_run, verified

LINUX = replace(catalog.load_system("linux"))
NUMBER = {"write": 1, "futex": 202}
HEAD = """\
name: sums
mode: thread
source: none
oracle: oracle.py
params:
  rounds: {default: 5, maximum: 9}
  kind: {default: a, choices: [a, b]}
metrics:
  p99: {kind: percentile, of: latency, at: 99}
  cost: {kind: time, of: spent}
  rate: {kind: rate, of: done}
witness:
"""
LINE = "  - {claim: syscalls.write >= rounds * workers, because: each round writes}\n"


def workload(folder: Path, lines: str) -> Workload:
    (folder / "oracle.py").write_text("def check(params, reports, result): ...\n")
    (folder / "sums.yaml").write_text(f"{HEAD}{lines}")
    return workloadfile.load(folder / "sums.yaml")


def counts(writes: int = 10, **values: int) -> Counts:
    cpu = CountedCpu(MappingProxyType({"syscalls": writes, **values}), MappingProxyType({1: writes}))
    span = CountedSpan(
        1000, 2000, (cpu, CountedCpu(MappingProxyType(dict.fromkeys(["syscalls", *values], 0))))
    )
    return Counts(("syscalls", *values), span, span)


class Run:
    """A run whose files are as a test says."""

    def __init__(self, lines: str, folder: Path, lane: Lane = Lane.INSN, kind: str = "a") -> None:
        self.workload = workload(folder, lines)
        params = (("kind", kind), ("rounds", 5))
        cell = Cell("linux", "sums", Mode.THREAD, params, 2)
        self.raw = raw_run(cell, lane=lane)
        self.files = RunFiles(self.raw)
        self.log = ClockLog(7, 5000, 100, 25, 2, (4, 4, 4), (), counts=counts())
        self.histogram = histogram_of([3000, 4000])
        self.machine: object = None
        self.scheduler = ""
        self.found = replace(
            verified(self.raw, 1_000_000, unit="insn"),
            workers=(report(0, done=6, spent=500_000), report(1, done=4, spent=400_000)),
            hz=1_000_000_000,
            result={"calls": 10},
            histograms={"latency": self.histogram},
            metrics={"p99": 4000.0, "cost": 900_000.0, "rate": 10_000.0},
        )

    def seen(self, **changes: Any) -> list[tuple[str, str]]:
        """(what the machine saw, why it did not) of each promise."""
        empty = Histogram(0, 0, 0, 0, MappingProxyType({}))
        self.files.__dict__["clock"] = replace(self.log, **changes)
        self.files.__dict__["transcript"] = SimpleNamespace(histograms={"latency": (self.histogram, empty)})
        self.files.__dict__.setdefault("thread_events", None)
        self.files.__dict__.setdefault("unobserved", "")
        system: Any = SimpleNamespace(
            name="linux",
            arch=SimpleNamespace(turn=4),
            boot=SimpleNamespace(scheduler=self.scheduler),
            memory_machine=self.machine,
            observe=SimpleNamespace(
                calls={n: SimpleNamespace(number=c) for n, c in NUMBER.items()},
            ),
        )
        self.promises = witness.witnessed(self.found, self.files, self.workload, system)
        return [(promise.seen, promise.why) for promise in self.promises]


def report(worker: int, **values: int) -> WorkerReport:
    return WorkerReport(worker, worker, worker, 0, 900_000, values)


def test_a_promise_that_would_hold_of_a_thousandth_and_of_a_thousand_times_as_much_is_no_witness(
    tmp_path: Path,
) -> None:
    """Of 10 calls and 10 done; the clock's counts are of other runs than the one for which it was written."""
    far = "  - {claim: 0.00001 * printed.done <= syscalls.write, because: each round writes}\n"
    near = "  - {claim: 0.01 * printed.done <= syscalls.write, because: each round writes}\n"
    ((seen, why),) = Run(far, tmp_path).seen()
    assert not seen
    assert "would hold of 1,000 times as much of each, and of as little" in why
    ((seen, why),) = Run(near, tmp_path).seen()
    assert not why
    assert seen.startswith("0.1 <= 10 ")


def test_a_limit_by_what_was_asked_for_is_kept_however_far_away(tmp_path: Path) -> None:
    """Of no call at all, too. The same of a figure of the guest says nothing of that figure, and so does one
    from below."""
    limit = "  - {claim: syscalls.write <= 100000 * rounds * workers, because: a round writes once}\n"
    assert Run(limit, tmp_path).seen(counts=counts(0)) == [
        ("0 <= 1,000,000 (syscalls.write 0, rounds 5, workers 2)", "")
    ]
    for far in ("syscalls.write <= 100000 * printed.done", "syscalls.write >= 0.00001 * rounds"):
        ((seen, why),) = Run(f"  - {{claim: {far}, because: a round writes}}\n", tmp_path).seen()
        assert not seen
        assert "would hold of 1,000 times as much of each" in why


def test_nothing_is_as_much_as_the_machine_saw(tmp_path: Path) -> None:
    run = Run("  - {claim: syscalls.write >= printed.done, because: each round writes}\n", tmp_path)
    run.found = replace(run.found, workers=(report(0, done=0, spent=1), report(1, done=0, spent=1)))
    assert run.seen(counts=counts(0)) == [("0 >= 0 (syscalls.write 0, printed.done 0)", "")]


def test_a_promise_that_is_kept_shows_both_sides_with_their_values(tmp_path: Path) -> None:
    assert Run(LINE, tmp_path).seen() == [("10 >= 10 (syscalls.write 10, rounds 5, workers 2)", "")]


def test_a_contradiction_is_an_error_that_names_both_sides_and_the_reason(tmp_path: Path) -> None:
    run = Run(LINE, tmp_path)
    with pytest.raises(
        VerifyError,
        match=r"the machine contradicts the guest: `syscalls.write >= rounds \* workers` does not hold: "
        r"9 >= 10 \(syscalls.write 9, rounds 5, workers 2\). It must, because each round writes",
    ):
        run.seen(counts=counts(9))


@pytest.mark.parametrize(
    "claim",
    [
        "syscalls == result.calls",
        "syscalls >= printed.done",
        "syscalls >= most.done + least.done",
        "printed.spent <= work",
        "most.spent <= 0.5 * work",
        "latency.sum <= total",
        "latency.max <= 0.004 * work",
        "latency.count <= syscalls",
        "cost <= work",
        "p99 <= work",
        "rate * 1ms <= syscalls",
        "total.syscalls >= cpus",
        "spent.latency == 900us",
        "syscalls.futex == 0",
    ],
)
def test_what_the_guest_says_has_its_value_and_its_unit(tmp_path: Path, claim: str) -> None:
    ((seen, why),) = Run(f"  - {{claim: {claim}, because: x}}\n", tmp_path).seen()
    assert seen
    assert not why


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("atomics >= 1", "`observe`"),
        ("syscalls.read >= 1", "`observe.calls`"),
        ("lines >= 1", "only a machine with memory"),
        ("away.latency.max <= work", "--threads"),
    ],
)
def test_what_the_machine_did_not_see_is_said_and_never_taken_for_nothing(
    tmp_path: Path, claim: str, why: str
) -> None:
    ((seen, said),) = Run(f"  - {{claim: {claim}, because: x}}\n", tmp_path).seen()
    assert not seen
    assert why in said


def test_an_old_log_and_another_lane_witness_nothing(tmp_path: Path) -> None:
    assert "earlier version" in Run(LINE, tmp_path).seen(counts=None)[0][1]
    assert (
        "its guest marks no work window"
        in Run(LINE, tmp_path).seen(counts=replace(counts(), work=None))[0][1]
    )
    assert "this is lane tcg" in Run(LINE, tmp_path, Lane.TCG).seen()[0][1]


def test_on_a_machine_with_memory_it_says_what_was_touched(tmp_path: Path) -> None:
    run = Run("  - {claim: touched >= rounds * line, because: x}\n", tmp_path)
    run.machine = SimpleNamespace(line=64)
    cpus = [SimpleNamespace(counts={"touched": touched, "local": 1}) for touched in (256, 64)]
    books = SimpleNamespace(phases={"window": cpus})
    assert run.seen(memory=books) == [("320 >= 320 (touched 320, rounds 5, line 64)", "")]
    cpus[1].counts["touched"] = 0
    with pytest.raises(VerifyError, match="256 >= 320"):
        run.seen(memory=books)
    del cpus[1].counts["touched"]
    ((_, why),) = run.seen(memory=books)
    assert why == "its clock's log has no `touched` (an earlier version)"


def test_of_several_claims_the_first_counts_whose_names_the_system_has(tmp_path: Path) -> None:
    line = "  - {claim: [atomics >= 100, syscalls.write >= 10, syscalls.write >= 99], because: x}\n"
    assert Run(line, tmp_path).seen() == [("10 >= 10 (syscalls.write 10)", "")]


def test_no_shipped_promise_knows_only_the_newer_call_that_makes_a_thread() -> None:
    """The libc of x86-64 calls clone3, those of the others clone."""
    every = (catalog.load_workload(name) for name in catalog.names("workload"))
    claims = [claim.names for of in every for promise in of.promises for claim in promise.claims]
    newer = [names for names in claims if "syscalls.clone3" in names]
    assert len(newer) == 2
    assert all("syscalls.clone" in names for names in newer)


def test_a_promise_of_another_choice_is_not_made(tmp_path: Path) -> None:
    line = "  - {claim: syscalls.write >= 99, when: {kind: b}, because: x}\n"
    assert Run(line, tmp_path).seen() == []
    with pytest.raises(VerifyError, match=r"contradicts"):
        Run(line, tmp_path, kind="b").seen()


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("syscalls >= printed.dona", "did not report; did you mean `?done"),
        ("syscalls >= result.calls / (result.calls - 10)", "has no value: it divides by 0"),
        ("syscalls >= result.call", "did not report; did you mean `?calls"),
        ("syscalls >= latenci.count", "did not report"),
    ],
)
def test_a_guest_that_does_not_report_what_is_promised_is_refused(
    tmp_path: Path, claim: str, why: str
) -> None:
    with pytest.raises(VerifyError, match=why):
        Run(f"  - {{claim: {claim}, because: x}}\n", tmp_path).seen()


# ---- histograms


CONTAINS = "  - {histogram: latency, sees: wakes, because: a wait is part of it}\n"


@pytest.mark.parametrize(
    ("values", "waits", "is_right"),
    [
        ([3000, 4000], [2900, 3999], True),
        ([3000, 4000], [], True),
        ([3000, 4000], [3999], True),
        ([3000, 4000], [4100, 4200], False),
        ([3000, 4000], [4500, 3500, 4600], False),
        ([1500, 2000], [2900, 3999], False),  # halved
        ([3000, 3200], [3900, 3999], False),  # capped
        ([3000, 4000], [100, 200, 300, 400], False),  # fewer than there were
    ],
)
def test_a_histogram_contains_what_the_machine_saw(
    tmp_path: Path, values: list[int], waits: list[int], is_right: bool
) -> None:
    run = Run(CONTAINS, tmp_path)
    run.histogram = histogram_of(values)
    run.found = replace(run.found, histograms={"latency": run.histogram})
    run.files.__dict__["schedule"] = object()
    marked = SimpleNamespace(work_begin=0, work_end=10, total_begin=0)
    run.files.__dict__["marked"] = marked
    sleeps = SimpleNamespace(waits=[[WokenWait(5, wait) for wait in waits], [WokenWait(5, 9_999)] * 9])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(witness_names, "worker_sleeps", lambda *_: sleeps)
        if is_right:
            assert f"contain the {len(waits)} wakes" in run.seen()[0][0]
        else:
            with pytest.raises(VerifyError, match=r"in latency, .* because a wait is part of it"):
                run.seen()


def around(work: int, outside: int, begin: int = 0, *, boots: bool = True, histograms: int = 1) -> Counts:
    """Programs executed so many instructions in the work and outside of it, but for those of the harness.
    `histograms`: of each of both workers."""
    boot = HARNESS_BOOT + HARNESS_BOOT_CPU * 2 if begin == 0 and boots else 0
    own = boot + HARNESS + HARNESS_CPU * 2 + HARNESS_BYTE * len(CONSOLE) + HARNESS_HISTOGRAM * 2 * histograms
    cpu = CountedCpu(MappingProxyType({"programs": work, "syscalls": 10}), MappingProxyType({1: 10}))
    whole = CountedCpu(MappingProxyType({"programs": work + outside + own}))
    span = CountedSpan(1000, 2000, (cpu,))
    return Counts(("programs", "syscalls"), span, span, CountedSpan(begin, 9000, (whole,)))


CONSOLE = b"x" * 1000
OWN = "  - {claim: outside <= 1000 * rounds, because: each round is prepared}\n"


@pytest.mark.parametrize(("begin", "boots"), [(0, True), (500, True), (0, False), (500, False)])
@pytest.mark.parametrize(("lines", "most"), [(LINE, 100_000), ("  []\n", 100_000), (OWN, 5_000)])
def test_what_is_done_before_and_after_the_work_has_a_bound_of_its_own(
    tmp_path: Path, lines: str, most: int, begin: int, *, boots: bool
) -> None:
    """A run that starts warm boots nothing, whoever the program is that was not seen to start."""
    run = Run(lines, tmp_path)
    run.files.__dict__["console"] = CONSOLE
    if not boots:
        run.files.__dict__["start"] = SnapshotRecord(1, 1, 0, {}, {})
    run.seen(counts=around(1_000_000, most, begin, boots=boots))
    with pytest.raises(VerifyError, match=r"`outside <= .* does not hold: .*outside [\d,]+1"):
        run.seen(counts=around(1_000_000, most + 1, begin, boots=boots))


def test_each_histogram_that_is_printed_is_looked_at_whole(tmp_path: Path) -> None:
    """Eight workers with three histograms each had no room for their own work."""
    run = Run(OWN, tmp_path)
    run.files.__dict__["console"] = CONSOLE
    run.found = replace(run.found, histograms=dict.fromkeys(("latency", "request", "rps"), run.histogram))
    run.seen(counts=around(1_000_000, 5_000, histograms=3))
    with pytest.raises(VerifyError, match=r"`outside <= .* does not hold: .*outside [\d,]+1"):
        run.seen(counts=around(1_000_000, 5_001, histograms=3))


@pytest.mark.parametrize("lines", [LINE, OWN])
def test_what_loads_a_scheduler_is_not_held_against_the_workload(tmp_path: Path, lines: str) -> None:
    run = Run(lines, tmp_path)
    run.scheduler = "./scx_lavd"
    ((_, why),) = run.seen(counts=around(1_000_000, 10**9))
    assert ("loads the scheduler" in why) == (lines == OWN)


def test_a_log_that_does_not_count_the_whole_run_says_nothing_of_it(tmp_path: Path) -> None:
    ((seen, why),) = Run(OWN, tmp_path).seen(counts=replace(around(1, 0), whole=None))
    assert not seen
    assert why == "its clock's log does not count the whole run (an earlier version)"


# ---- equalities with what the machine counted or measured


@pytest.mark.parametrize(
    ("claim", "exact"),
    [
        ("result.calls == spans.latency.count", ("result.calls",)),
        ("spans.latency.count == latency.count", ("latency.count",)),
        ("printed.spent == 2 * spans.latency.sum", ("spent",)),
        ("result.calls == wakes", ("result.calls",)),
        ("result.calls <= spans.latency.count", ()),  # the guest may have done less
        ("result.calls == syscalls.write", ()),  # a call that failed counts, too
        ("most.done == spans.latency.count - 4", ()),  # of one worker only
        ("printed.done + result.calls == 2 * wakes", ()),  # one may be more, and the other less
        ("result.calls == printed.done + 0.5 * wakes - 5", ()),  # of the guest itself
    ],
)
def test_a_value_that_equals_what_the_machine_has_is_exact(
    tmp_path: Path, claim: str, exact: tuple[str, ...]
) -> None:
    run = Run(f"  - {{claim: {claim}, because: x}}\n", tmp_path)
    ten = Histogram(10, 450_000, 40_000, 50_000, MappingProxyType({1200: 10}))
    run.found = replace(run.found, histograms={"latency": ten}, measured=frozenset({"latency"}))
    run.histogram = ten
    operations: Any = {"latency": ()}
    run.seen(counts=counts(wakes=10), operations=operations)
    (found,) = run.promises
    assert found.exact == exact


def test_what_the_machine_did_not_measure_is_not_witnessed(tmp_path: Path) -> None:
    line = "  - {claim: result.calls == spans.latency.count, because: x}\n"
    why = "the machine did not measure latency"
    assert Run(line, tmp_path).seen() == [("", f"{why} (an earlier version)")]
    full: Any = {"latency": "the log has no room for it"}
    assert Run(line, tmp_path).seen(unmeasured=full) == [("", f"{why} (the log has no room for it)")]
    more: Any = {"latency": ()}
    assert Run(line, tmp_path).seen(operations=more) == [("", f"{why} (the guest has more values)")]


def test_a_log_of_an_earlier_version_makes_nothing_exact(tmp_path: Path) -> None:
    """So that evidence of then says what it said."""
    run = Run("  - {claim: result.calls == wakes, because: x}\n", tmp_path)
    run.seen(counts=counts(wakes=10))
    assert [promise.exact for promise in run.promises] == [()]


def test_what_equals_what_was_asked_for_needs_nothing_of_the_clock(tmp_path: Path) -> None:
    run = Run("  - {claim: printed.done == 2 * rounds, because: x}\n", tmp_path)
    assert run.seen() == [("10 == 10 (printed.done 10, rounds 5)", "")]
    assert [promise.exact for promise in run.promises] == [("done",)]


def test_a_turn_has_the_instructions_of_the_guests_processor(tmp_path: Path) -> None:
    """Three in a loop that is empty, or on a processor that multiplies and adds at once."""
    line = "  - {claim: programs >= turn * printed.done, because: each is a turn}\n"
    run = Run(line, tmp_path)
    ((seen, _),) = run.seen(counts=counts(programs=40))
    assert seen == "40 >= 40 (programs 40, turn 4, printed.done 10)"
    with pytest.raises(VerifyError, match=r"does not hold: 30 >= 40 \(programs 30, turn 4"):
        run.seen(counts=counts(programs=30))


def threads(*of: tuple[int, int, int, int]) -> dict[str, Any]:
    """Of each: how many sleeps of how many ns, and until when and since when they were asked for, as sums.
    The guest's clock is 5000 ns ahead of the machine's."""
    return {"operations": {"sleep": tuple(_thread(n, *one) for n, one in enumerate(of))}}


def _thread(n: int, count: int, ns: int, until: int, since: int) -> ThreadOperations:
    spans, asked = histogram_of([ns] * count), AskedTimes(count, until, since)
    return ThreadOperations(n, None, spans, spans, end=9, started=-5000, ended=895_000, asked=asked)


EACH = "  - {claim: each.spans.sleep.count >= 2 * each.done, because: x}\n"


def test_each_worker_needs_a_thread_that_did_as_much(tmp_path: Path) -> None:
    """They did 6 and 4. Which thread is which is not known, and another one may have done more."""
    run = Run(EACH, tmp_path)
    assert run.seen(**threads((8, 100, 0, 0), (12, 100, 0, 0))) == [
        ("12 >= 12 (each.spans.sleep.count 12, each.done 6)", "")
    ]
    assert run.seen(**threads((8, 100, 0, 0), (90, 100, 0, 0), (12, 100, 0, 0)))[0][0]
    for few in (((90, 100, 0, 0), (7, 100, 0, 0)), ((90, 100, 0, 0),), ((11, 100, 0, 0), (11, 100, 0, 0))):
        with pytest.raises(VerifyError, match="the machine contradicts the guest"):
            run.seen(**threads(*few))


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("spans.sleep.asked >= 5us * printed.done", True),
        ("spans.sleep.asked >= 6us * printed.done", False),
        ("each.spans.sleep.asked >= 5us * each.done", True),
        ("each.spans.sleep.p20 >= 100ns * each.done", True),
        ("each.spans.sleep.p20 >= 110ns * each.done", False),
    ],
)
def test_sleeps_are_as_long_as_the_program_asked_for(tmp_path: Path, claim: str, holds: bool) -> None:
    """Asked for: 6 sleeps of 6 us, and 4 of 5 us, by a clock that is 5 us ahead."""
    run = Run(f"  - {{claim: {claim}, because: x}}\n", tmp_path)
    known = threads(
        (6, 640, 6 * (1000 + 5000 + 6000), 6 * 1000), (4, 480, 4 * (1000 + 5000 + 5000), 4 * 1000)
    )
    if not holds:
        with pytest.raises(VerifyError, match="the machine contradicts the guest"):
            run.seen(**known)
    else:
        assert run.seen(**known)[0][0]


def test_how_far_the_clocks_are_apart_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes the third power of the number of workers, and claims ask for each of them."""
    found = Mock(side_effect=measured.clock_ahead)
    monkeypatch.setattr(witness_threads, "clock_ahead", found)
    line = "  - {claim: each.spans.sleep.asked >= 1us * each.done, because: x}\n"
    assert Run(line * 3, tmp_path).seen(**threads((6, 640, 72_000, 6000), (4, 480, 44_000, 4000)))[0][0]
    assert found.call_count == 1


def test_children_of_each_worker(tmp_path: Path) -> None:
    run = Run("  - {claim: each.children.alive >= each.done / 2, because: x}\n", tmp_path)
    assert run.seen(children=(Children(9, 2, 1), Children(9, 3, 1)))[0][0]
    with pytest.raises(VerifyError, match="1 >= 2"):
        run.seen(children=(Children(9, 1, 1), Children(9, 3, 1)))
    ((_, why),) = run.seen()
    assert "says nothing of the threads that workers made" in why
    run = Run("  - {claim: each.children.products >= each.done / 2, because: x}\n", tmp_path)
    ((_, why),) = run.seen(children=(Children(9, 2, 1), Children(9, 3, 1)))
    assert "does not say products of the threads that workers made" in why
    run = Run("  - {claim: each.children.own >= each.done / 2, because: x}\n", tmp_path)
    assert run.seen(children=(Children(0, 0, 0, 0, 3), Children(0, 0, 0, 0, 2)))[0][0]
    with pytest.raises(VerifyError, match="1 >= 2"):
        run.seen(children=(Children(0, 0, 0, 0, 1), Children(0, 0, 0, 0, 99)))


def test_an_old_log_does_not_know_what_each_thread_did(tmp_path: Path) -> None:
    ((seen, why),) = Run(EACH, tmp_path).seen()
    assert not seen
    assert "the machine did not measure sleep" in why


def test_a_limit_of_reads_is_not_held_against_what_the_kernel_read(tmp_path: Path) -> None:
    """A machine with memory counts the accesses of all, where those of programs were not counted."""
    run = Run("  - {claim: reads <= 10 * rounds, because: x}\n", tmp_path)
    run.machine = SimpleNamespace(line=64)
    books = SimpleNamespace(phases={"window": [SimpleNamespace(counts={"reads": 51})]})
    ((_, why),) = run.seen(memory=books)
    assert "counted of all programs and the kernel: reads" in why
    least = Run("  - {claim: reads >= 20 * rounds, because: x}\n", tmp_path)
    least.machine = run.machine
    with pytest.raises(VerifyError, match="51 >= 100"):
        least.seen(memory=books)


# ---- the shipped promises


LIMITS = [
    (name, claim)
    for name in catalog.names("workload")
    for promise in catalog.load_workload(name).promises
    for claim in promise.claims
    if claim.sides[0].word in ("programs", "reads") and claim.signs[0] == "<="
]
MANY = 64
LEAST = {"programs": 400, "reads": 20}
"""Of a worker with no work. Four workers of contend with one take executed 1,427 instructions on aarch64."""


def test_there_are_limits_of_what_programs_execute() -> None:
    assert {"contend", "wake"} <= {name for name, _ in LIMITS}


@pytest.mark.parametrize(
    ("name", "claim"), [pytest.param(name, claim, id=f"{name}: {claim.text}") for name, claim in LIMITS]
)
def test_a_limit_of_what_programs_execute_leaves_room_for_each_worker(name: str, claim: Claim) -> None:
    """With the least work that may be asked for, each worker still looks whether there is any."""
    specs = catalog.load_workload(name).params
    known = {word: specs[word].minimum for word in claim.names if word in specs}
    of_row = {"workers": MANY, "cpus": MANY, "turn": 3, "result.wakes": known.get("rounds", 0)}
    values = {word: Fraction(known.get(word, of_row.get(word, 0))) for word in claim.names}
    limit = claim.sides[1].value(values)
    assert limit >= MANY * LEAST[claim.sides[0].word]
