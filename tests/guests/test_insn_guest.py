"""The instruction clock under a Linux guest: its runs repeat, its durations are right, and its books close.

Several tests share a boot, because a run that repeats bit for bit is the same run for each of them.
`nox -s soak` runs all cases at all CPU counts.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest

from benchgate.build import programs
from benchgate.build.fetch import cross
from benchgate.insn import plugin
from benchgate.insn.arguments import QUANTUM, Records
from benchgate.insn.events import read_events
from benchgate.insn.kallsyms import linux_symbols
from benchgate.insn.log import MarkKind
from benchgate.insn.observe.resolve import observe_file
from benchgate.insn.plugin import FLAGS
from benchgate.insn.profile import read_profile, read_stacks, top_table
from benchgate.insn.symbols import read_symbols
from benchgate.insn.window import CALM
from benchgate.plan import catalog
from tools.clock_lab import (
    CASES,
    PRIMES,
    Boot,
    Case,
    Debugger,
    boot_case,
    burning,
    errands,
    outcome,
    run_case,
    workload,
)
from tools.clock_lab import (
    light_lab as lab,
)

SMALL = PRIMES.format(hi=150_000)
HOST_CPUS = len(os.sched_getaffinity(0))


def repeatable(boot: Boot) -> tuple[str, object]:
    """Everything that must repeat."""
    assert boot.status == 33, boot.errors
    assert boot.log is not None
    assert boot.log.closed
    return boot.console, boot.log.repeatable


# ---- the rules of threads


@dataclass
class ThreadRules:
    """What each thread does, by the events so far; `wrong` are the lines that contradict it."""

    vcpus: int
    states: dict[int, tuple[str, int]] = field(default_factory=dict)
    """State and CPU: runs, waits (is runnable) or sleeps."""
    on: dict[int, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    said: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        kind, *words = line.split()
        if len(words) == 1:
            self.said[kind] = int(words[0])
            return
        self.counts[kind] += 1
        if not getattr(self, kind, lambda *_: True)(int(words[0]), *words[2:]):
            self.wrong.append(line)

    def _is(self, thread: int, *states: str) -> bool:
        """Threads that were there before the window opened need no fork."""
        return (self.states[thread][0] in states) if thread in self.states else "open" not in self.said

    def _length(self, cpu: int) -> int:
        return sum(state != "sleeps" and where == cpu for state, where in self.states.values())

    def fork(self, cpu: int, thread: str, parent: str, name: str) -> bool:
        is_new = int(thread) not in self.states and int(parent) == self.on.get(cpu, 0)
        self.states[int(thread)] = "sleeps", cpu
        self.names.add(bytes.fromhex(name).decode())
        return is_new

    def name(self, _: int, thread: str, name: str) -> bool:
        self.names.add(bytes.fromhex(name).decode())
        return int(thread) in self.states

    def wake(self, _: int, thread: str, cpu: str, queue: str, trail: str, read: str) -> bool:
        slept = self._is(int(thread), "sleeps")
        self.states[int(thread)] = "waits", int(cpu)
        return slept and self._length(int(cpu)) == int(queue) and "," in trail and int(read) > 0

    def migrate(self, _: int, thread: str, begin: str, end: str) -> bool:
        waited = self.states.get(int(thread)) == ("waits", int(begin))
        self.states[int(thread)] = "waits", int(end)
        return waited and 0 <= int(end) < self.vcpus

    def exit(self, cpu: int, thread: str) -> bool:
        return self.on.get(cpu) == int(thread)

    def switch(self, cpu: int, before: str, state: str, after: str, queue: str) -> bool:
        old, new = int(before), int(after)
        good = self.on.get(cpu, 0) == old and self._is(old, "runs") if old else True
        if old and state == "d":
            self.states.pop(old, None)
        elif old:
            self.states[old] = ("waits" if state == "r" else "sleeps"), cpu
        if new:
            good &= self._is(new, "waits") and self.states.get(new, ("", cpu))[1] == cpu
            self.states[new] = "runs", cpu
        self.on[cpu] = new
        return good and self._length(cpu) == int(queue)


# ---- one seed, one run


@pytest.fixture(scope="module")
def busy() -> Boot:
    """Two CPUs, seed 1: the boot that other tests repeat in other ways. Busy loops keep the host's CPUs."""
    with burning(HOST_CPUS):
        return lab().boot("primes", 2, SMALL, seed=1)


def test_what_programs_do_is_counted_without_their_kernel(busy: Boot) -> None:
    """Each worker is a process, which the parent makes and which ends. They share nothing; meanwhile the
    kernel executes atomic instructions by the thousand."""
    assert busy.log is not None
    counts = busy.log.counts
    assert counts is not None
    assert counts.total is not None
    clone, fork, exit_group = 56, 57, 231
    calls = [vcpu.calls for vcpu in counts.total.vcpus]
    assert sum(call.get(clone, 0) + call.get(fork, 0) for call in calls) == 2
    assert sum(call.get(exit_group, 0) for call in calls) == 2
    assert sum(vcpu.values["atomics"] for vcpu in counts.total.vcpus) < 100
    assert "faults" not in counts.names


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Boot, Records]:
    """The boot of `busy` again: with another build of the clock, under a debugger, with every recording."""
    folder = tmp_path_factory.mktemp("recorded")
    bench, observe, linux = lab(), folder / "observe", catalog.load_system("linux").observe
    assert linux is not None
    observe.write_text(observe_file(linux, bench.kernel, linux_symbols(bench.qemu, bench.kernel)))
    records = Records(
        profile=folder / "profile",
        events=folder / "events",
        stacks=folder / "stacks",
        threads=folder / "threads",
        observe=observe,
    )
    other = tuple("-O1" if flag == "-O3" else flag for flag in FLAGS)
    assert other != FLAGS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin, "FLAGS", other)
        return lab().boot("primes", 2, SMALL, seed=1, debugger=Debugger(), records=records), records


def test_a_serial_run_repeats_bit_for_bit_with_another_build_a_debugger_and_recordings(
    busy: Boot, recorded: tuple[Boot, Records]
) -> None:
    """One boot for all: if one influenced the guest, the runs would differ."""
    assert repeatable(recorded[0]) == repeatable(busy)


def test_the_events_of_the_window_leave_no_gap_and_a_waker_runs(recorded: tuple[Boot, Records]) -> None:
    boot, records = recorded
    assert boot.log is not None
    assert boot.log.activity is not None
    assert records.events is not None
    seen, window = read_events(records.events), boot.log.activity
    for vcpu, columns in enumerate(window.vcpus):
        halts = [one for one in seen.halts if one.vcpu == vcpu]
        turns = [(turn.begin, turn.end) for turn in seen.turns if turn.vcpu == vcpu]
        parts = sorted([*turns, *((one.begin, one.end) for one in halts if one.begin < one.end)])
        assert [end for _, end in parts[:-1]] == [begin for begin, _ in parts[1:]]
        assert parts[0][0] <= window.begin
        assert parts[-1][1] > window.end - CALM * QUANTUM
        halted = sum(min(one.end, window.end) - max(one.begin, window.begin) for one in halts)
        shares = sum(column.halted for column in columns[:-1]) * window.width
        assert halted == pytest.approx(shares, abs=2 * window.width + len(columns) * window.width / 255)
    for halt in seen.halts:
        if halt.by is not None and halt.end > window.begin + QUANTUM:
            wakers = [turn for turn in seen.turns if turn.vcpu == halt.by]
            assert any(waker.begin <= halt.end <= waker.end + CALM * QUANTUM for waker in wakers)
    # The parent begins on one vCPU and gives the other one its worker.
    assert {one.by for one in seen.halts} & {0, 1}


def test_every_event_of_a_thread_follows_from_those_before_it(recorded: tuple[Boot, Records]) -> None:
    """A second reading of the file, by the plain rules of threads: no event contradicts an earlier one."""
    file = recorded[1].threads
    assert file is not None
    threads, cpus = ThreadRules(2), recorded[0].window(2)
    for line in file.read_text().splitlines()[2:]:
        threads.take(line)
    assert threads.wrong == []
    assert threads.names >= {"bench", "kthreadd", "ksoftirqd/1"}
    assert threads.said["open"] <= cpus.total_begin
    assert threads.said["close"] >= cpus.total_end
    assert all(threads.counts[kind] > 20 for kind in ("fork", "switch", "wake", "exit"))


def test_a_wrong_offset_shows_as_a_contradiction(recorded: tuple[Boot, Records]) -> None:
    """As if a thread that is woken had another number."""
    file = recorded[1].threads
    assert file is not None
    threads = ThreadRules(2)
    for line in file.read_text().splitlines()[2:]:
        words = line.split()
        number = str(int(words[3]) + 4) if words[0] == "wake" else words[3:4] and words[3]
        threads.take(" ".join([*words[:3], *([number] if number else []), *words[4:]]))
    assert len(threads.wrong) > 20


def test_call_stacks_hold_every_instruction_of_the_window_below_the_functions_that_called(
    recorded: tuple[Boot, Records],
) -> None:
    boot, records = recorded
    bench, (profile, stacks) = lab(), (records.profile, records.stacks)
    assert profile is not None
    assert stacks is not None
    kernel = read_symbols(linux_symbols(bench.qemu, bench.kernel))
    user = read_symbols(programs.guest_program(workload("primes"), cross.compiler(bench.qemu.guest)))
    counts, result = read_profile(profile, kernel, user), read_stacks(stacks, kernel, user)
    assert sum(result.values()) == pytest.approx(sum(counts.symbols.values()), rel=1e-4)
    assert sum(
        count for (_, space, _), count in counts.symbols.items() if space == "kernel"
    ) == pytest.approx(sum(count for stack, count in result.items() if stack[-1].endswith("_[k]")), rel=0.02)
    work = {stack: count for stack, count in result.items() if "work" in stack}
    assert sum(work.values()) > 0.9 * sum(result.values())
    ends = [stack for stack in result if "do_exit_[k]" in stack]
    assert ends
    assert all("do_syscall_64_[k]" in stack for stack in ends)
    assert boot.good


def name_of(case: Case) -> str:
    return f"{case.name}-{case.workers or 'all'}"


# Shortened, because a contended lock takes long to simulate.
UNEVEN, LOCK, SLEEPERS = CASES[1], replace(CASES[6], work=CASES[6].work // 8), CASES[8]


@cache
def on_four(case: Case) -> Boot:
    return boot_case(lab(), case, 4, seed=1)


@pytest.mark.long
@pytest.mark.parametrize(("case", "burners"), [(UNEVEN, 0), (SLEEPERS, 2)], ids=["idle", "burning"])
def test_background_jobs_of_qemu_do_not_influence_the_guest(tmp_path: Path, case: Case, burners: int) -> None:
    """Of Linux, whether the host's CPUs are idle or busy; test_insn_bare.py has CPUs without a kernel."""
    with burning(burners):
        disturbed = boot_case(lab(), case, 4, seed=1, extra=errands(tmp_path, every_us=100))
    assert repeatable(disturbed) == repeatable(on_four(case))
    assert disturbed.log is not None
    assert disturbed.log.host["errands"] > 1_000


# ---- durations


@pytest.mark.parametrize(
    "case", [*(pytest.param(case, marks=pytest.mark.long) for case in (UNEVEN, LOCK)), SLEEPERS], ids=name_of
)
def test_durations_agree_with_arithmetic(case: Case) -> None:
    """Uneven work takes its time on bare CPUs, too (`barrier` in test_insn_virt.py), and so does a lock
    (`rudelock` in test_insn_bare.py)."""
    assert outcome(case, 4, on_four(case)).error < 0.01


@pytest.mark.soak
@pytest.mark.parametrize("cpus", [2, 4, 8])
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_every_duration_agrees_with_arithmetic(case: Case, cpus: int) -> None:
    assert run_case(lab(), case, cpus, seed=2).error < 0.01


# ---- the books


def test_the_books_of_time_close(recorded: tuple[Boot, Records]) -> None:
    boot, path = recorded[0], recorded[1].profile
    assert boot.log is not None
    assert path is not None
    for vcpu in boot.log.totals:
        known = vcpu.executed + vcpu.paused + vcpu.skipped + vcpu.halted
        # The rest is the start skew, which the seed sets.
        assert 0 <= vcpu.time - known < QUANTUM
    # An HPET would make 41,000 round trips through the main loop at boot.
    assert 0 < boot.log.checks["notes"] < 2_000
    bench = lab()
    seen = read_profile(path, read_symbols(linux_symbols(bench.qemu, bench.kernel)))
    assert seen.window == pytest.approx(boot.window(2).total, abs=2)
    for share in seen.vcpus:
        known = share.user + share.kernel + share.paused + share.skipped + share.halted
        assert known == pytest.approx(seen.window, abs=QUANTUM)
        assert share.user > 0.9 * seen.window
    assert "user [user]" in top_table(seen)
    named = {symbol for space, symbol in seen.by_symbol() if space == "kernel"}
    assert "do_exit" in named  # each worker is a process that ends inside the window


@pytest.mark.long  # of tern: tests/line/test_machines.py
def test_linux_is_done_with_equal_parts_when_its_small_cpu_is() -> None:
    """The small CPU works from start to end, and each of its instructions takes 1024 / 462 ns. A seed is one
    run."""
    boots = [lab(capacities="1024:462").boot("primes", 2, SMALL, seed=1) for _ in range(2)]
    assert repeatable(boots[0]) == repeatable(boots[1])
    log = boots[0].log
    assert log is not None
    assert log.counts is not None
    assert log.counts.work is not None
    marks = [mark.time for mark in log.marks if mark.kind in (MarkKind.WORK_BEGIN, MarkKind.WORK_END)]
    big, small = (cpu.values["instructions"] for cpu in log.counts.work.vcpus)
    assert big == pytest.approx(small, rel=0.05)
    assert max(marks) - min(marks) == pytest.approx(small * 1024 / 462, rel=0.01)
