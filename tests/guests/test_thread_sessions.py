"""Sessions that see the guest's threads, as a user starts them: the books are accepted, and they agree with
what tern counts itself.

The books' window is one of times, tern's is one of order: it reads the counters of all CPUs within the system
calls that open and close it. So a switch belongs to tern's window, but not to that of the books, if it
happened before the close although its CPU's time was ahead (by less than the clock's quantum). These are
counted, and then all counts are equal.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchgate.base.workload.metrics import OF_THREADS
from benchgate.insn.arguments import QUANTUM
from benchgate.insn.counts import witnessed
from benchgate.insn.log_reader import read_log
from benchgate.insn.threads_log import IDLE, PromptEvent, SwitchEvent, read_thread_events
from benchgate.judge import wire
from benchgate.judge.accounts.attribution import Table, table
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.run_files import CONSOLE, THREAD_EVENTS
from benchgate.run.record import load
from tests.line.sessions import Session, light_tern, run_benchgate, run_pytest

ROW = """\
import pytest


@pytest.mark.system({systems})
@pytest.mark.workload({workload})
def test_every_run_is_right(cell):
    cell.require_verified()
"""
STEPS = 1024
# A fault's wrong copy of a function is reached through the right one, and must not be seen twice.
TERN = ROW.format(
    systems="'kernel.yaml', 'kernel.yaml:fault=unlocked-count'", workload=f"'tasks', steps={STEPS}"
)
LINUX = ROW.format(systems="'linux:arch=riscv64', 'linux:arch=aarch64'", workload="'service', requests=200")


def measured(where: Path, row: str, *words: str) -> Session:
    (where / "test_row.py").write_text(row)
    session = run_pytest(where, "test_row.py", "--clock=insn", "--runs=1", "--threads", *words)
    assert session.code == 0, session.output
    return session


@pytest.fixture(scope="module")
def tern(tmp_path_factory: pytest.TempPathFactory) -> Session:
    where = tmp_path_factory.mktemp("tern")
    light_tern(where)
    return measured(where, TERN, "--smp=2,4", "--measure")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return measured(tmp_path_factory.mktemp("others"), LINUX, "--smp=4")


def runs(session: Session) -> list[Path]:
    return sorted((session.folder / "runs").iterdir())


def counted_by_tern(run: Path) -> Table:
    raw = load(run)
    return table(raw.cell.id, wire.parse((run / CONSOLE).read_bytes(), nonce=raw.nonce))


@dataclass
class Counted:
    """What each CPU did between the lines `open` and `close` of the record."""

    switches: Counter[int] = field(default_factory=Counter)
    started_elsewhere: Counter[int] = field(default_factory=Counter)
    """Switches to a thread that had last run on another CPU, which is what tern counts as a migration. The
    books count, too, that a wake-up chose another queue from which the thread was stolen before it ran."""
    ahead: Counter[int] = field(default_factory=Counter)
    """Those with a time behind the close."""


def counted_in(run: Path) -> Counted:
    file = run / THREAD_EVENTS
    events, counted, ran_on = read_thread_events(file), Counted(), dict[int, int]()
    closed_line = next(n for n, line in enumerate(file.read_text().splitlines(), 1) if line[:5] == "close")
    assert events.closed is not None
    for event in events.events:
        if not isinstance(event, SwitchEvent):
            continue
        cpu = event.vcpu
        if events.opened_line < event.line < closed_line:
            counted.switches[cpu] += 1
            counted.ahead[cpu] += event.time >= events.closed
            is_new_here = event.thread != IDLE and ran_on.get(event.thread, cpu) != cpu
            counted.started_elsewhere[cpu] += is_new_here
            assert event.time < events.closed + QUANTUM
        ran_on[event.thread] = cpu
    return counted


@pytest.mark.parametrize("cpus", [2, 4])
def test_the_books_agree_with_the_counters_of_tern(tern: Session, cpus: int) -> None:
    for run in (path for path in runs(tern) if path.name.endswith(f"smp{cpus}")):
        own, books = counted_by_tern(run), thread_books(read_thread_events(run / THREAD_EVENTS))
        counted = counted_in(run)
        switches = [book.switches + counted.ahead[book.cpu] for book in books.cpus]
        assert switches == [counted.switches[cpu] for cpu in range(cpus)] == [*own.by_cpu["switches"]]
        moved = [counted.started_elsewhere[cpu] for cpu in range(cpus)]
        assert moved == [*own.by_cpu["migrations"]]
        assert sum(switches) > STEPS // 8
        assert sum(thread.migrations for thread in books.threads) >= sum(moved) > 0


def test_every_yield_of_the_workload_is_seen(tern: Session) -> None:
    """`tasks` yields once after each step."""
    for run in runs(tern):
        events = read_thread_events(run / THREAD_EVENTS).events
        assert sum(isinstance(event, PromptEvent) and event.is_yield for event in events) == STEPS


@pytest.mark.parametrize("cpus", [2, 4])
def test_the_machine_counts_what_tern_counts(tern: Session, cpus: int) -> None:
    """tern reads its counters within the system call that closes the window: behind the mark."""
    for run in (path for path in runs(tern) if path.name.endswith(f"smp{cpus}")):
        own, counts = counted_by_tern(run), read_log(run / "clock.log").counts
        assert counts is not None
        assert counts.total is not None
        seen = [vcpu.values for vcpu in counts.total.vcpus]
        for name, known in (("switches", "switches"), ("faults", "page_faults"), ("ipis", "resched_sent")):
            assert [one[name] for one in seen] == [*own.by_cpu[known]], name
        pairs = zip(own.by_cpu["syscalls"], seen, strict=True)
        more = [(known or 0) - one["syscalls"] for known, one in pairs]
        assert sorted(more) == [*[0] * (cpus - 1), 1]
        calls = witnessed(counts.total.vcpus, {"yield": 2, "exit": 1})
        assert calls["syscalls.yield"] == STEPS
        assert calls["events.spawn"] >= calls["syscalls.exit"] > 0


@pytest.mark.parametrize("which", ["tern", pytest.param("others", marks=pytest.mark.long)])
def test_a_session_has_the_metrics_of_threads_and_is_intact(
    request: pytest.FixtureRequest, which: str
) -> None:
    session: Session = request.getfixturevalue(which)
    said = (session.folder / "metrics.csv").read_text()
    assert all(f",{name}," in said for name in OF_THREADS)
    status, told = run_benchgate(session.folder, "verify", session.folder)
    assert (status, "intact" in told) == (0, True), told
    for run in runs(session):
        status, told = run_benchgate(session.folder, "threads", run, "--json")
        seen = json.loads(told)
        assert (status, seen["vcpus"]) == (0, load(run).cell.cpus)
        length = seen["end"] - seen["begin"]
        assert all(one["running"] + one["idle"] == length for one in seen["cpus"])
        for one in seen["threads"]:
            states = ("running", "runnable", "unqueued", "blocked")
            assert sum(one[state] for state in states) == one["end"] - one["begin"]
            for what in ("running", "runnable", "blocked"):
                assert sum(part[what] for part in one["by_phase"]) == one[what]
        assert [one["name"] for one in seen["phases"]] == ["spawn_ready", "work", "shutdown"]


def test_a_changed_record_of_threads_is_found(tern: Session) -> None:
    file = runs(tern)[0] / THREAD_EVENTS
    text = file.read_text()
    try:
        file.write_text(text.replace(" b 0 -\n", " r 0 -\n", 1))
        status, told = run_benchgate(tern.folder, "verify", tern.folder)
    finally:
        file.write_text(text)
    assert (status != 0, THREAD_EVENTS in told) == (True, True), told
