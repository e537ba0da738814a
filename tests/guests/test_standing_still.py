"""Kernels whose CPUs stand still while threads could run: `work_conserving` says FAIL. tern itself passes.

Each fault of tern does it in another place: with a thread on the CPU, with a thread on no queue, with one on
the idle CPU's own queue, without an interrupt, in each call a little. What the
record says beside that follows from the times in the fault's source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.gates import Gate, Verdict, Word
from benchgate.base.runs import VerifiedRun
from benchgate.base.system.observe import Hook, HookKind
from benchgate.base.system.systems import System
from benchgate.base.workload.metrics import OF_THREADS
from benchgate.build.fetch import inputs
from benchgate.insn.threads_log import StayEvent, read_thread_events
from benchgate.judge.accounts.threads.accounting import conserved, thread_books
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.judge.arms import arm_of
from benchgate.judge.checks.thread_record import thread_metrics
from benchgate.judge.decide import decide
from benchgate.judge.gates.work_conserving import HOLDS
from benchgate.judge.judged_run import judge_run
from benchgate.judge.run_files import RunFiles
from benchgate.judge.verify import verify_on
from benchgate.plan import catalog
from tests.guests.test_tern_faults import broken
from tests.ternkit import Bootkit, Params, light

Asked = tuple[str, int, Params]
TASKS: Asked = ("tasks", 2, {"steps": 4000})
PAIRS: Asked = ("wake", 2, {"rounds": 200})
LOCKED: Asked = ("contend", 2, {"takes": 1000})
LOCKED_BY_4: Asked = ("contend", 4, {"takes": 1000})
FAN: Asked = ("wake", 2, {"pattern": "fan", "rounds": 100})
FAN_OF_4: Asked = ("wake", 4, {"pattern": "fan", "rounds": 200})
MADE: Asked = ("spawn", 2, {"errands": 12})
MET: Asked = ("barrier", 4, {"phases": 10, "turns": 50_000})
CROWDED: Asked = ("spawn", 2, {"errands": 50, "live": 8})
AT_MOST = 0.005


@dataclass(frozen=True)
class Stood:
    run: VerifiedRun
    verdict: Verdict
    books: ThreadBooks


@pytest.fixture(scope="module")
def observing(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("standing"), inputs.qemu(), insn=True)


def stood(kit: Bootkit, fault: str, of: Asked) -> Stood:
    """One seed, used five times: what is asked is whether the gate sees it."""
    workload, cpus, given = of
    system = broken(fault) if fault else catalog.load_system("kernel")
    judged = kit.once(f"{fault} {of}", lambda: kit.run(system, workload, cpus, given, threads=True))
    run = judged.verified
    assert run is not None, judged
    five = [replace(run, run=replace(run.run, attempt=seed, seed=seed)) for seed in range(1, 6)]
    gate = Gate("conserves", "work_conserving", None, run.run.cell, "wasted", None, AT_MOST)
    arms = {run.run.cell.id: arm_of(run.run.cell, five, declared=OF_THREADS)}
    (verdict,) = decide([gate], arms, catalog.load_policy("default")).verdicts
    files = RunFiles(run.run)
    assert files.thread_events is not None
    return Stood(run, verdict, thread_books(files.thread_events, explained=0))


@pytest.mark.parametrize("of", [TASKS, PAIRS, FAN, MADE, LOCKED, LOCKED_BY_4], ids=lambda of: str(of[0]))
def test_tern_itself_passes(observing: Bootkit, of: Asked) -> None:
    seen = stood(observing, "", of)
    assert seen.verdict.outcome is Word.PASS, seen.verdict.reason
    assert seen.run.metrics["settling"] < 1_000
    assert seen.run.metrics["held"] < 0.005  # the turns of its own locks


@pytest.mark.parametrize(
    ("fault", "of", "longest"),
    [
        ("halt-yield", TASKS, 280_000),
        ("withhold", PAIRS, 1_900_000),
        ("late-start", MADE, 1_900_000),
        ("late-look", FAN, 0),
        ("nap", TASKS, 8_000),
        ("blip", PAIRS, 100_000),
        ("blind-idle", FAN, 0),
        ("drop-ipi", FAN, 0),
        ("late-poke", TASKS, 0),
        ("lock-hold:300", PAIRS, 0),
        ("halt-return", TASKS, 190_000),
        ("halt-poke", PAIRS, 100_000),
        ("queue-lock", PAIRS, 100_000),
        ("parked", FAN, 0),
        ("poll-idle", FAN, 0),
        ("late-steal", FAN_OF_4, 280_000),
        ("private-list", MADE, 100_000),
        ("sleepy-yield", TASKS, 250_000),
        ("late-unpark", PAIRS, 1_990_000),
        ("late-unpark", LOCKED, 1_990_000),
        ("late-unpark", LOCKED_BY_4, 1_990_000),
        ("sleepy-unpark", FAN_OF_4, 1_990_000),
        ("sleepy-unpark", LOCKED, 1_990_000),
        ("sleepy-park", LOCKED, 950_000),
        ("sleepy-return", LOCKED, 950_000),
        ("sleepy-return", MET, 950_000),
        ("sleepy-exit", MADE, 450_000),
        ("late-rest", MET, 1_990_000),
    ],
)
def test_a_kernel_that_stands_still_fails(observing: Bootkit, fault: str, of: Asked, longest: int) -> None:
    seen = stood(observing, fault, of)
    assert seen.verdict.outcome is Word.FAIL, seen.verdict.reason
    assert seen.run.metrics["wasted_longest"] >= longest


def without(system: System, is_left_out: Callable[[Hook], bool]) -> System:
    assert system.observe is not None
    hooks = tuple(hook for hook in system.observe.hooks if not is_left_out(hook))
    return replace(system, observe=replace(system.observe, hooks=hooks))


def is_of_waits(hook: Hook) -> bool:
    """Where a program may wait, and where it names the word by which others wake."""
    return hook.kind is HookKind.MAY_WAIT or hook.at == ("unpark",)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("late-unpark", "histogram wakeup |no thread waited for a CPU longer"),  # 1% or fewer, or more
        ("sleepy-unpark", "wakeup_p99 is 200"),  # 2.00 ms
    ],
)
def test_a_wake_up_that_takes_long_before_the_kernel_wakes_must_be_in_its_record(
    observing: Bootkit, fault: str, said: str
) -> None:
    """A timer wakes instead, or who wakes is put to sleep: by such a record of threads none waits then."""
    workload, cpus, given = PAIRS
    system = without(broken(fault), is_of_waits)
    judged = observing.run(system, workload, cpus, given, threads=True)
    assert re.search(said, judged.reason), judged
    plain = replace(catalog.load_workload(workload), machine={})
    before = judge_run(judged.run, lambda run: verify_on(run, plain, light(system))).verified
    assert before is not None
    assert before.metrics["wasted"] < AT_MOST
    assert before.metrics["wakeup_p99"] > 2_000_000


@pytest.mark.parametrize(
    ("fault", "of"), [("sleepy-park", LOCKED), ("sleepy-return", MET), ("sleepy-exit", MADE)]
)
def test_who_is_put_to_sleep_for_nothing_waits_only_if_it_is_known_where_programs_may(
    observing: Bootkit, fault: str, of: Asked
) -> None:
    workload, cpus, given = of
    system = without(broken(fault), lambda hook: hook.kind is HookKind.MAY_WAIT)
    judged = observing.run(system, workload, cpus, given, threads=True)
    assert judged.verified is not None, judged
    assert judged.verified.metrics["wasted"] < AT_MOST
    assert stood(observing, fault, of).run.metrics["wasted"] > 0.1


@pytest.mark.parametrize("fault", ["spin-yield", "busy-yield"])
def test_a_cpu_that_stands_still_by_executing_is_held(observing: Bootkit, fault: str) -> None:
    """300 us for each 20th of 4000 yields: 250 us of each are beyond what is free. The thread on the CPU
    is named."""
    seen = stood(observing, fault, TASKS)
    assert (seen.verdict.outcome, seen.verdict.metric) == (Word.FAIL, "held"), seen.verdict.reason
    assert seen.run.metrics["wasted"] < AT_MOST
    held = [stretch for stretch in seen.books.held if stretch.stay >= 300_000]
    assert len(held) > 100
    assert sum(stretch.end - stretch.begin for stretch in held) > 0.98 * 250_000 * len(held)
    assert seen.run.metrics["held"] > 0.5
    assert {stretch.holder for stretch in held} <= {book.thread for book in seen.books.threads}


@pytest.mark.parametrize(
    ("fault", "of", "least"),
    [
        ("storm", TASKS, 0.5),  # 20 us of each 30, without a call
        ("slow-return", TASKS, 0.7),  # 40 us of spinning, of each call and each start of a slice
        ("slow-return:5", TASKS, 0.5),
        ("slow-count", TASKS, 0.6),  # 40 us of computing: 10 of each are free
        ("slow-switch", TASKS, 0.6),
        ("late-begin", CROWDED, 0.5),
    ],
)
def test_a_kernel_that_takes_a_little_each_time_is_held(
    observing: Bootkit, fault: str, of: Asked, least: float
) -> None:
    seen = stood(observing, fault, of)
    assert (seen.verdict.outcome, seen.verdict.metric) == (Word.FAIL, "held"), seen.verdict.reason
    assert seen.run.metrics["wasted"] < AT_MOST
    assert seen.run.metrics["held"] > least


@pytest.mark.parametrize(
    ("fault", "unseen"),
    [
        ("storm", {"is_interruption": False, "spun": 0, "count": 0}),
        ("slow-return", {"spun": 0, "count": 0}),
        ("slow-count", {"count": 0}),
        ("slow-switch", {"spun": 0, "count": 0}),
    ],
)
def test_without_what_the_fourth_version_tells_it_is_not_seen(
    observing: Bootkit, fault: str, unseen: dict[str, object]
) -> None:
    """Each stay is shorter than 50 us."""
    seen = stood(observing, fault, TASKS)
    files = RunFiles(seen.run.run)
    assert files.thread_events is not None
    events = tuple(
        replace(event, **unseen) if isinstance(event, StayEvent) else event  # type: ignore[arg-type]
        for event in files.thread_events.events
    )
    before = thread_metrics(thread_books(replace(files.thread_events, events=events), explained=0))
    assert before["held"] < 0.1 < HOLDS < seen.run.metrics["held"]


@pytest.mark.parametrize(("fault", "of"), [("halt-yield", TASKS), ("withhold", PAIRS)])
def test_without_the_clock_and_the_calls_nothing_is_seen_of_it(
    observing: Bootkit, fault: str, of: Asked, tmp_path: Path
) -> None:
    """The same record as earlier versions wrote it."""
    seen = stood(observing, fault, of)
    text = (seen.run.run.folder / "threads.txt").read_text().replace("insn-threads 4", "insn-threads 1", 1)
    new = ("halt ", "resume ", "ask ", "stay ", "interrupt ")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(new)]
    (tmp_path / "threads.txt").write_text("".join(lines))
    before = conserved(thread_books(read_thread_events(tmp_path / "threads.txt"), explained=0))
    assert before.share < AT_MOST < 0.5 < conserved(seen.books).share


def test_a_wake_up_that_is_withheld_is_a_wait_on_no_queue(observing: Bootkit) -> None:
    """As long as the guest itself says: 2 ms, as the longest wait of the thread view."""
    seen = stood(observing, "withhold", PAIRS)
    assert max(thread.unqueued for thread in seen.books.threads) > 2_000_000
    assert 2_000_000 < seen.run.metrics["sched_wait_max"] < 2_100_000
    assert seen.run.metrics["wakeup_p99"] > 2_000_000
