"""The thread view against Linux itself: what /proc/PID/sched and /proc/schedstat count, and what the kernel's
own tracepoints of the scheduler say, in the same run (tests/data/witness/witness.c). Equal, to the count.

Two differences are of meaning, and known:

- nr_wakeups counts a wake-up of a thread that has not left its CPU yet, and so do the tracepoints; for the
  view it never slept. There are a few in a boot.
- The wake-up of a new thread is in no nr_wakeups; the view has it.

The trace's times are what a CPU reads as TSC, which no other CPU has read a later one of; those of the view
are the CPU's own. So only the order on each CPU can be compared.

In the same run each worker does a known number of other things, which the clock has counted.

The traced boot has another command line: the shipped one keeps the tracer from starting.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

from benchgate.insn.counts import Counts, witnessed
from benchgate.insn.threads_log import (
    IDLE,
    NameEvent,
    SwitchEvent,
    ThreadEvents,
    WakeEvent,
    read_thread_events,
)
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from benchgate.judge.accounts.threads.schedule import ThreadLife
from tools.clock_lab import light_lab, thread_records

CPUS, WORKERS, ROUNDS = 4, 8, 60
WRITE, GETPPID = 1, 110
WINDOW = ("open ", "close ")
EVENTS = ",".join(
    f"sched:sched_{one}" for one in ("switch", "waking", "wakeup", "wakeup_new", "migrate_task")
)
TRACED = f"bench.trace=1 trace_event={EVENTS} trace_clock=x86-tsc trace_buf_size=4M"
STATES = {"R": "r", "X": "d", "Z": "d", **dict.fromkeys("SDIPT", "b")}
WAKES = 2
"""The place of the wake-ups in `Reading.counts`."""
LATER = 60
NEAR_NS = 100_000
"""By how much one CPU's time may be ahead of another's at a boot."""


@dataclass(frozen=True)
class Reading:
    """One /proc/PID/sched; the thread's events between two times may be in it or not."""

    kind: str
    thread: int
    before: int
    after: int
    counts: tuple[int, ...]
    """Switches, voluntary ones, wake-ups, migrations."""


@dataclass(frozen=True)
class Witnessed:
    console: str
    events: ThreadEvents
    counted: Counts
    switches: tuple[int, ...]
    """Those of each CPU between the lines `open` and `close` of the record."""

    def words(self, kind: str) -> list[list[str]]:
        lines = (line.split()[1:] for line in self.console.splitlines() if line.startswith("witness "))
        return [line[1:] for line in lines if line[0] == kind]

    @cached_property
    def lives(self) -> dict[int, ThreadLife]:
        """The last thread of each id."""
        return {life.thread: life for life in repeat_schedule(self.events).lives}

    @property
    def readings(self) -> list[Reading]:
        result = []
        for kind in ("whole", "begin", "end"):
            for words in self.words(kind):
                thread, before, after, *counts = map(int, words)
                result.append(Reading(kind, thread, before, after, tuple(counts)))
        return result

    def counts(self, thread: int, time: int) -> tuple[int, ...]:
        """What the kernel should have counted until then."""
        life = self.lives[thread]
        leaves = [could_go_on for when, could_go_on in life.leaves if when <= time]
        wakes = sum(wake.time <= time for wake in life.wakes) - 1  # that of the new thread
        moves = sum(when <= time for when, _, _ in life.moves)
        return len(leaves), leaves.count(False), wakes, moves


def boot(folder: Path, words: str, *, is_traced: bool = False) -> Witnessed:
    setup = light_lab(lengths={1: 2})
    if is_traced:
        setup = replace(setup, words=re.sub(r"initcall_blacklist=\S+", "", setup.words))
    records = thread_records(folder)
    assert records.threads is not None
    done = setup.boot("witness", CPUS, f"schedstats=enable {words}", workers=WORKERS, seed=1, records=records)
    assert done.good, done.console + done.errors
    assert done.log is not None
    assert done.log.counts is not None
    lines = records.threads.read_text().splitlines()
    begin, end = (
        next(n for n, line in enumerate(lines) if line.startswith(word)) for word in ("open", "close")
    )
    of_cpus = Counter(line.split()[1] for line in lines[begin:end] if line.startswith("switch "))
    switches = tuple(of_cpus[str(cpu)] for cpu in range(CPUS))
    return Witnessed(done.console, read_thread_events(records.threads), done.log.counts, switches)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    return boot(tmp_path_factory.mktemp("plain"), "")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    return boot(tmp_path_factory.mktemp("traced"), TRACED, is_traced=True)


def test_the_machine_counts_what_the_workers_do(traced: Witnessed) -> None:
    """By the numbers in tests/data/witness/witness.c. Half of the workers also talk, each round by a byte.
    The C library adds a few atomic instructions and faults of its own."""
    counts = traced.counted
    assert counts.work is not None
    assert counts.total is not None
    calls = {"write": WRITE, "getppid": GETPPID}
    seen = witnessed(counts.work.vcpus, calls)
    assert seen["syscalls.getppid"] == sum(500 + worker for worker in range(WORKERS))
    assert seen["syscalls.write"] == WORKERS * 300 + WORKERS // 2 * ROUNDS
    assert seen["bytes.write"] == WORKERS * 300 * 17 + WORKERS // 2 * ROUNDS
    for name, least in (("atomics", 20_000), ("faults", 64)):
        assert least * WORKERS <= seen[name] <= 1.05 * least * WORKERS + 20, name
    assert tuple(vcpu.values["switches"] for vcpu in counts.total.vcpus) == traced.switches
    assert seen["ipis"] > 10
    assert all(vcpu.values["instructions"] >= vcpu.values["worked"] > 0 for vcpu in counts.total.vcpus)


WHICH = pytest.mark.parametrize("which", [pytest.param("plain", marks=pytest.mark.long), "traced"])


@WHICH
def test_each_thread_has_the_counts_of_its_proc_file(request: pytest.FixtureRequest, which: str) -> None:
    """Of the whole boot, and of each worker before and after its work."""
    seen: Witnessed = request.getfixturevalue(which)
    exact = 0
    early: Counter[int] = Counter()
    for reading in seen.readings:
        low, high = (seen.counts(reading.thread, time) for time in (reading.before, reading.after))
        too_many = max(0, reading.counts[WAKES] - high[WAKES])
        early[reading.thread] = max(early[reading.thread], too_many)
        counts = [count - too_many * (which == WAKES) for which, count in enumerate(reading.counts)]
        assert all(least <= count <= most for least, count, most in zip(low, counts, high, strict=True)), (
            reading
        )
        exact += low == high
    assert len(seen.readings) > 2 * WORKERS + 50
    assert exact > 0.9 * len(seen.readings)
    assert early.total() <= 0.03 * sum(reading.counts[WAKES] for reading in seen.readings)


@WHICH
def test_there_are_books(request: pytest.FixtureRequest, which: str) -> None:
    seen: Witnessed = request.getfixturevalue(which)
    assert sum(cpu.switches for cpu in thread_books(seen.events).cpus) > 100


@WHICH
def test_each_cpu_has_the_counts_of_schedstat(request: pytest.FixtureRequest, which: str) -> None:
    """How many threads arrived on it since the boot. Where the boot's first thread, which is the idle thread
    later, became one of them, Linux counts none."""
    seen: Witnessed = request.getfixturevalue(which)
    cpus = seen.words("cpu")
    assert len(cpus) == CPUS
    for _, cpu, before, after, _, arrived in cpus:
        times = [
            event.time
            for event in seen.events.events
            if isinstance(event, SwitchEvent) and event.vcpu == int(cpu) and event.thread != IDLE
        ]
        low, high = (bisect_right(times, int(time)) for time in (before, after))
        assert low - 1 <= int(arrived) <= high


def traced_switches(seen: Witnessed, cpu: int, since: int) -> list[tuple[int, str, int]]:
    words = (word for word in seen.words("switch") if int(word[0]) == cpu and int(word[1]) >= since)
    return [(int(before), STATES[state], int(after)) for _, _, before, state, after in words]


def begin_of_init(seen: Witnessed) -> int:
    """The tracer has its clock then, which it sets late in the boot. The name is seen at a wake-up, of whose
    tracepoints one is earlier."""
    return 5_000 + next(
        event.time
        for event in seen.events.events
        if isinstance(event, NameEvent) and (event.thread, event.name) == (1, "init")
    )


def test_each_cpu_switches_as_its_tracepoint_says(traced: Witnessed) -> None:
    """Thread, state and next thread of each, from PID 1's program on."""
    since = begin_of_init(traced)
    for cpu in range(CPUS):
        traced_ones = traced_switches(traced, cpu, since)
        mine = [
            event for event in traced.events.events if isinstance(event, SwitchEvent) and event.vcpu == cpu
        ]
        seen = [(event.before, event.state, event.thread) for event in mine]
        assert len(traced_ones) > 10  # how many depends on the compiler
        # The view goes on when the tracer has been switched off.
        ends = [
            len(seen) - more
            for more in range(LATER)
            if seen[: len(seen) - more][-len(traced_ones) :] == traced_ones
        ]
        assert len(ends) == 1, f"CPU {cpu}: {traced_ones[-3:]}, {seen[-LATER:]}"
        first = mine[ends[0] - len(traced_ones)]
        assert first.time > since - NEAR_NS


def test_each_thread_wakes_and_moves_as_its_tracepoints_say(traced: Witnessed) -> None:
    since = begin_of_init(traced)
    until = max(int(word[1]) for kind in ("switch", "wake", "migrate") for word in traced.words(kind))
    told = {
        kind: Counter(int(word[2]) for word in traced.words(kind) if int(word[1]) >= since)
        for kind in ("wake", "migrate")
    }
    wakes = Counter(
        event.thread
        for event in traced.events.events
        if isinstance(event, WakeEvent) and since <= event.time <= until
    )
    moves = Counter(
        thread for thread, life in traced.lives.items() for time, _, _ in life.moves if since <= time <= until
    )
    assert +moves == told["migrate"]
    assert wakes <= told["wake"]
    early = told["wake"] - wakes  # as in nr_wakeups
    assert early.total() <= 0.03 * wakes.total()
    assert min(wakes.total(), 10 * moves.total()) > 100


def is_within(some: list[int], all_of_them: list[int]) -> bool:
    """In this order."""
    rest = iter(all_of_them)
    return all(number in rest for number in some)


def test_each_thread_is_woken_by_whom_its_tracepoint_says(traced: Witnessed) -> None:
    """Also where another CPU does the rest of a wake-up."""
    since = begin_of_init(traced)
    until = max(int(word[1]) for word in traced.words("wake"))
    told: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for _, time, thread, waker in (map(int, word) for word in traced.words("waking")):
        if since <= time <= until:
            told[thread].append((time, waker))
    sent = early = 0
    for thread, times in told.items():
        wakes = [wake for wake in traced.lives[thread].wakes if since <= wake.time <= until]
        made = traced.lives[thread].phases[0].begin >= since
        mine = [wake.waker for wake in wakes[made:]]  # the first one of a new thread has another tracepoint
        theirs = [waker for _, waker in sorted(times)]
        early += len(theirs) - len(mine)
        assert is_within(mine, theirs), thread
        sent += sum(wake.waker_cpu != wake.cpu for wake in wakes)
    assert early <= 0.03 * sum(map(len, told.values()))
    assert sent > 10  # how many depends on the compiler
