"""operations.c and what it calls, in a machine of a few registers and one piece of memory: its lines.

QEMU is fake_qemu. Each test says what a program does, instruction by
instruction, and the expected lines are written here by hand.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchgate.base.system.arch import AARCH64, RISCV64, X86_64
from benchgate.build.toolchain import compiler
from benchgate.insn.plugin import c_file
from tests.kernelkit import GUEST
from tests.unit.insn.c.fake_qemu import (
    KERNEL,
    NOP,
    SYSCALL,
    TOTAL_BEGIN,
    TOTAL_END,
    USER,
    WORK_BEGIN,
    WORK_END,
    Insn,
    build,
    journal,
    poke,
    run,
    set_registers,
    set_time,
)

OBSERVE = """insn-observe 1
text 0 0
id t l4
interrupt a3
hook fork
at 100
thread a0
hook switch
at 200
to a1
hook wake
at 300
thread a0
hook send
at 400
thread a0
hook put
at 500
object a0
hook get
at 600
object a0
restart 219
operation latency
from call 1
from function 17000 17010
to call 0
to function 17020 17030
operation wakeup
from wake
to call 202
end
"""
FILES = ("operations", "operators", "operators_waits", "spans", "returns", "exchanges")
OTHERS = ("threads_guest", "threads_hooks", "threads_program", "lines", "arch_x86")
RET, RDTSC = "c3", "0f31"
READ, WRITE, FORK, EXIT, SIGRETURN, FUTEX, RESTART = 0, 1, 57, 60, 15, 202, 219
TEXT = 0x18000
"""The program. It makes each system call at a place of its own, as the stubs of a C library do."""
STACK = 0x7000
FAILS = 2**64 - 9
PIPE = 77


@dataclass
class Guest:
    """Threads are at 0x11000 plus 0x100 for each id."""

    library: ctypes.CDLL
    time: list[int] = field(default_factory=lambda: [0] * 256)

    def does(
        self,
        code: str,
        at: int,
        *,
        vcpu: int = 0,
        after: int = 10,
        cs: int = USER,
        args: tuple[int, ...] = (),
        rax: int = 0,
        stack: int = STACK,
    ) -> None:
        """The vCPU comes to this instruction, the first of its block, `after` ns later."""
        self.time[vcpu] += after
        set_registers(self.library, args, stack, rax, cs)
        set_time(self.library, vcpu, self.time[vcpu] + 1)
        insn = Insn.of(code)
        self.library.on_vcpu(vcpu)
        self.library.operations_block(ctypes.c_uint64(at))
        left = ctypes.c_size_t(1)
        self.library.operations_instruction(None, ctypes.byref(insn), ctypes.c_uint64(at), left)
        run(self.library, vcpu)

    def kernel(self, at: int, *args: int, vcpu: int = 0, after: int = 10) -> None:
        self.does(NOP, at, cs=KERNEL, args=args, vcpu=vcpu, after=after)

    def runs(self, thread: int, vcpu: int = 0) -> None:
        self.kernel(0x200, 0, place(thread), vcpu=vcpu)

    def enters(self, call: int, *, of: int = -1, vcpu: int = 0, stack: int = STACK) -> None:
        """`of`: the place of another call, to which this one comes again."""
        self.does(SYSCALL, TEXT + 16 * (of if of >= 0 else call), vcpu=vcpu, rax=call, stack=stack)

    def leaves(
        self, call: int, result: int = 0, *, vcpu: int = 0, after: int = 100, stack: int = STACK
    ) -> None:
        self.does(NOP, TEXT + 16 * call + 2, vcpu=vcpu, rax=result, after=after, stack=stack)

    def calls(self, call: int, result: int = 0, **more: int) -> None:
        self.enters(call, vcpu=more.get("vcpu", 0))
        self.leaves(call, result, **more)

    def reads_clock(self, vcpu: int = 0) -> None:
        self.does(RDTSC, 0x17F00, vcpu=vcpu)
        ctypes.c_uint64.in_dll(self.library, "shown").value = self.time[vcpu]
        self.library.operations_shown(vcpu, ctypes.c_uint64(self.time[vcpu]))

    def mark(self, kind: int, vcpu: int = 0) -> None:
        self.library.operations_mark(kind, vcpu, ctypes.c_uint64(self.time[vcpu]))

    def report(self) -> list[str]:
        self.library.returns_announce()
        for is_work in (False, True):
            self.library.returns_report(is_work)
        self.library.operations_report()
        return journal(self.library)

    def spans(self, name: str = "latency", thread: int = 0) -> list[str]:
        """COUNT SUM MIN MAX of inner and of outer."""
        begins = (f"spans {name} {thread} inner ", f"spans {name} {thread} outer ")
        return [line.split(" ", 4)[4] for line in self.report() if line.startswith(begins)]


def place(thread: int) -> int:
    return 0x11000 + 0x100 * thread


def built(folder: Path, change: tuple[str, str] = ("", "")) -> ctypes.CDLL:
    """`change` replaces a text, to prove that a test can fail."""
    folder.mkdir()
    library = build(folder / "operations.so", FILES, OTHERS, change=change)
    library.operations_setup.restype = ctypes.c_char_p
    return library


def guest(folder: Path, change: tuple[str, str] = ("", ""), observe: str = OBSERVE) -> Guest:
    library = built(folder / "built", change)
    (folder / "observe.txt").write_text(observe)
    why = library.operations_setup(bytes(folder / "observe.txt"), 256)
    assert why is None, why
    for vcpu in range(256):
        library.guest_vcpu(vcpu)
    for thread in range(1, 30):
        poke(library, place(thread), thread.to_bytes(4, "little"))
    for call in range(300):
        poke(library, TEXT + 16 * call, bytes.fromhex(SYSCALL))
    return Guest(library)


def at_work(folder: Path, change: tuple[str, str] = ("", "")) -> Guest:
    """Thread 7 begins its work on vCPU 0."""
    seen = guest(folder, change)
    seen.kernel(0x100, place(7))
    seen.runs(7)
    seen.mark(TOTAL_BEGIN)
    seen.mark(WORK_BEGIN)
    return seen


def ends(seen: Guest, vcpu: int = 0) -> None:
    seen.mark(WORK_END, vcpu)
    seen.mark(TOTAL_END, vcpu)


def test_a_span_is_from_one_call_to_another(tmp_path: Path) -> None:
    """Inner: 100 + 10 + 200. Outer: with the reads 10 ns before and after."""
    seen = at_work(tmp_path)
    seen.reads_clock()
    seen.calls(WRITE, 64)
    seen.calls(READ, 64, after=200)
    seen.reads_clock()
    ends(seen)
    seen.reads_clock()
    assert seen.report() == [
        "counted returns",
        "counted exchanged",
        "saw total 0 returns 2",
        "returned total 0 0 1 64",
        "returned total 0 1 1 64",
        "saw work 0 returns 2",
        "returned work 0 0 1 64",
        "returned work 0 1 1 64",
        "measured latency",
        "measured wakeup",
        "thread 0 7 0 20 360 30 370",
        "spans latency 0 inner 1 310 310 310",
        "buckets latency 0 inner 283:1",
        "spans latency 0 outer 1 330 330 330",
        "buckets latency 0 outer 293:1",
        "spans wakeup 0 inner 0 0 0 0",
        "spans wakeup 0 outer 0 0 0 0",
        "children 0 0 0 0 0 0",
    ]


def test_only_both_reads_make_it_longer(tmp_path: Path) -> None:
    """The read before the first span is not one before the second one."""
    seen = at_work(tmp_path)
    seen.reads_clock()
    for _ in range(2):
        seen.calls(WRITE, 64)
        seen.calls(READ, 64)
    seen.reads_clock()
    ends(seen)
    assert seen.spans() == ["2 420 210 210", "2 420 210 210"]


def test_it_ends_with_the_last_of_its_calls_and_begins_with_the_first(tmp_path: Path) -> None:
    """A message may need several calls."""
    seen = at_work(tmp_path)
    for call in (WRITE, WRITE, READ, READ, WRITE):
        seen.calls(call, 64)
    seen.calls(READ, 64)
    ends(seen)
    assert seen.spans()[0] == "2 640 210 430"


def test_a_failed_call_is_none(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    seen.calls(WRITE, FAILS)
    seen.calls(READ, 64)
    seen.calls(WRITE, 64)
    seen.calls(READ, 64)
    seen.calls(READ, FAILS)
    ends(seen)
    assert seen.spans()[0] == "1 210 210 210"
    assert "returned work 0 1 1 64" in seen.report()
    assert "returned work 0 0 2 128" in seen.report()


@pytest.mark.parametrize("change", [("result >= (uint64_t)-FAILURES", "false")])
def test_a_failed_call_counts_if_its_result_is_not_read(tmp_path: Path, change: tuple[str, str]) -> None:
    seen = at_work(tmp_path, change)
    seen.calls(WRITE, FAILS)
    seen.calls(READ, 64)
    ends(seen)
    assert seen.spans()[0] == "1 210 210 210"


@pytest.mark.parametrize("stack", [STACK, STACK - 512])
def test_the_child_of_a_fork_returns_from_a_call_that_it_did_not_make(tmp_path: Path, stack: int) -> None:
    """After a fork with the same stack, as after vfork, where it also runs before its parent does."""
    seen = at_work(tmp_path)
    seen.enters(FORK)
    seen.kernel(0x100, place(8))
    seen.runs(8)
    seen.leaves(FORK, 0, stack=stack)
    seen.calls(WRITE, 5)
    seen.enters(EXIT)
    seen.runs(7)
    seen.leaves(FORK, 8)
    ends(seen)
    assert "returned work 0 57 1 8" in seen.report()
    assert seen.spans()[0] == "0 0 0 0"


def test_another_thread_at_the_same_place_has_made_no_call(tmp_path: Path) -> None:
    """The one before has ended in its call."""
    seen = at_work(tmp_path)
    seen.calls(WRITE, 64)
    seen.enters(READ)
    seen.kernel(0x100, place(7))
    seen.runs(7)
    seen.leaves(READ, 64)
    seen.mark(TOTAL_END)
    lines = seen.report()
    assert "thread 0 7 0 20 - - -" in lines
    assert "spans latency 0 inner 0 0 0 0" in lines


@pytest.mark.parametrize("number", [READ, RESTART])
def test_a_call_that_a_signal_interrupts_goes_on(tmp_path: Path, number: int) -> None:
    """Its handler makes a call at another place of the stack, and returns by one that never returns."""
    seen = at_work(tmp_path)
    seen.calls(WRITE, 64)
    seen.enters(READ)
    seen.enters(WRITE, stack=STACK - 900)
    seen.leaves(WRITE, 1, stack=STACK - 900)
    seen.enters(SIGRETURN, stack=STACK - 900)
    seen.enters(number, of=READ)
    seen.leaves(READ, 64)
    ends(seen)
    assert seen.spans()[0] == "1 340 340 340"
    assert "returned work 0 0 1 64" in seen.report()
    assert not any(line.startswith("returned work 0 219") for line in seen.report())


def test_a_call_that_a_signal_ends_is_none(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    seen.calls(WRITE, 64)
    seen.enters(READ)
    seen.enters(SIGRETURN, stack=STACK - 900)
    seen.leaves(READ, 2**64 - 4)
    seen.calls(READ, 64)
    ends(seen)
    assert seen.spans()[0] == "1 330 330 330"


def test_calls_without_an_end_are_forgotten(tmp_path: Path) -> None:
    """A handler that jumps out of them, deeper and deeper."""
    seen = at_work(tmp_path)
    for deep in range(40):
        seen.enters(FUTEX, stack=STACK - 100 * deep)
    seen.calls(WRITE, 64)
    seen.calls(READ, 64)
    ends(seen)
    assert seen.spans()[0] == "1 210 210 210"


def test_a_thread_may_come_to_another_cpu_in_its_call(tmp_path: Path) -> None:
    """It returns where its time is behind: the time that was shown there counts."""
    seen = at_work(tmp_path)
    seen.reads_clock()
    seen.calls(WRITE, 64)
    seen.enters(READ)
    seen.runs(9)
    seen.time[1] = 500
    seen.runs(7, vcpu=1)
    seen.leaves(READ, 64, vcpu=1)
    ends(seen, vcpu=1)
    assert seen.spans()[0] == "1 570 570 570"
    assert "returned work 1 0 1 64" in seen.report()
    assert "returned work 0 1 1 64" in seen.report()


def test_calls_of_a_thread_that_is_no_worker_are_only_counted(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    seen.runs(8)
    seen.calls(WRITE, 64)
    seen.calls(READ, 64)
    seen.runs(7)
    ends(seen)
    lines = seen.report()
    assert "returned work 0 1 1 64" in lines
    assert [line for line in lines if line.startswith("thread ")] == ["thread 0 7 0 20 260 - -"]
    assert "spans latency 0 inner 0 0 0 0" in lines


def wakes(seen: Guest, *, interrupt: int = 0, sends: bool = False, looks: bool = True) -> None:
    """Thread 7 sleeps in its call on vCPU 0; thread 8 wakes it from vCPU 1. `looks`: at its clock, then."""
    seen.time[1] = seen.time[0]
    seen.enters(FUTEX)
    seen.runs(9)
    seen.runs(8, vcpu=1)
    seen.reads_clock(vcpu=1)
    seen.enters(FUTEX, vcpu=1)
    seen.kernel(0x400 if sends else 0x300, place(7), 0, 0, interrupt, vcpu=1)
    if sends:
        seen.kernel(0x300, place(7), 0, 0, 1)
    seen.leaves(FUTEX, 1, vcpu=1)
    seen.time[0] = seen.time[1]
    seen.runs(7)
    seen.leaves(FUTEX)
    if looks:
        seen.reads_clock()
    ends(seen)


def test_a_late_wake_up_that_finds_nothing_new_is_none(tmp_path: Path) -> None:
    """Its thread has seen the word before, reads no clock, and sleeps on."""
    seen = at_work(tmp_path)
    wakes(seen, looks=False)
    assert seen.spans("wakeup") == ["0 0 0 0", "0 0 0 0"]


def test_a_late_wake_up_counts_if_no_read_is_needed(tmp_path: Path) -> None:
    seen = at_work(tmp_path, ("|| !s->needs_read", "|| true"))
    wakes(seen, looks=False)
    assert seen.spans("wakeup")[0] == "1 220 220 220"


def test_a_wake_up_begins_with_the_call_of_who_wakes(tmp_path: Path) -> None:
    """From there: 10 to the wake-up, 100 to its end, 10 to the switch, 100. Outer: 10 more on both sides."""
    seen = at_work(tmp_path)
    wakes(seen)
    assert seen.spans("wakeup") == ["1 220 220 220", "1 240 240 240"]


def test_a_wake_up_through_another_cpu_begins_with_the_call_of_who_asked_for_it(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    wakes(seen, sends=True)
    assert seen.spans("wakeup") == ["1 220 220 220", "1 240 240 240"]


@pytest.mark.parametrize("sends", [False, True])
def test_a_wake_up_by_an_interrupt_is_none(tmp_path: Path, sends: bool) -> None:
    seen = at_work(tmp_path)
    wakes(seen, interrupt=1, sends=sends)
    assert seen.spans("wakeup") == ["0 0 0 0", "0 0 0 0"]


def test_an_interrupt_counts_if_nobody_says_so(tmp_path: Path) -> None:
    seen = at_work(tmp_path, ("hooks.interrupt.length &&", "false &&"))
    wakes(seen, interrupt=1)
    assert seen.spans("wakeup")[0] == "1 220 220 220"


def test_a_wake_up_of_another_call_is_none(tmp_path: Path) -> None:
    """It was woken in a read; the call that it makes next has slept for nobody."""
    seen = at_work(tmp_path)
    seen.enters(READ)
    seen.runs(8)
    seen.enters(FUTEX)
    seen.kernel(0x300, place(7))
    seen.leaves(FUTEX, 1)
    seen.runs(7)
    seen.leaves(READ, 1)
    seen.calls(FUTEX)
    ends(seen)
    assert seen.spans("wakeup")[0] == "0 0 0 0"


def test_functions_of_the_program_are_calls(tmp_path: Path) -> None:
    """With a system call in them; one that gives a negative int has failed."""
    seen = at_work(tmp_path)
    for result, result_of_read in ((2**32 - 1, 0), (0, 0)):
        seen.does(NOP, 0x17000)
        seen.calls(FUTEX)
        seen.does(RET, 0x1700F, rax=result)
        seen.does(NOP, 0x17020)
        seen.does(RET, 0x17020, rax=result_of_read, stack=STACK - 8)  # of another function within
        seen.does(RET, 0x1702F, rax=result_of_read)
    ends(seen)
    assert seen.spans()[0] == "1 150 150 150"


def moves(seen: Guest, call: int, length: int, thread: int, *, pipe: int = PIPE, vcpu: int = 0) -> None:
    seen.runs(thread, vcpu)
    seen.enters(call, vcpu=vcpu)
    seen.kernel(0x500 if call == WRITE else 0x600, pipe, vcpu=vcpu)
    seen.leaves(call, length, vcpu=vcpu)


def exchanged(seen: Guest) -> list[str]:
    return [line for line in seen.report() if line.startswith(("exchanged ", "counted exchanged"))]


def test_bytes_are_exchanged_if_another_thread_wrote_them(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    moves(seen, WRITE, 64, 7)
    moves(seen, READ, 40, 8)
    moves(seen, READ, 24, 7)
    moves(seen, WRITE, 64, 8, pipe=PIPE + 1)
    moves(seen, READ, FAILS, 7)
    ends(seen)
    assert exchanged(seen) == ["counted exchanged", "exchanged total 0 0 40", "exchanged work 0 0 40"]


def test_who_reads_may_return_before_who_writes(tmp_path: Path) -> None:
    seen = at_work(tmp_path)
    seen.enters(WRITE)
    seen.kernel(0x500, PIPE)
    moves(seen, READ, 50, 8, vcpu=1)
    seen.leaves(WRITE, 64)
    moves(seen, READ, 14, 7)
    ends(seen)
    assert exchanged(seen) == ["counted exchanged", "exchanged total 0 0 50", "exchanged work 0 0 50"]


def test_what_cannot_be_followed_is_not_counted(tmp_path: Path) -> None:
    """More stretches of bytes in one pipe than are remembered."""
    seen = at_work(tmp_path)
    for turn in range(66):
        moves(seen, WRITE, 1, 7 + turn % 2)
    ends(seen)
    assert exchanged(seen) == []


def test_a_worker_of_which_the_switch_was_not_seen_is_said(tmp_path: Path) -> None:
    """As in a guest that was restored in the middle of it."""
    seen = guest(tmp_path)
    seen.mark(WORK_BEGIN)
    seen.calls(WRITE, 1)
    seen.runs(8)
    seen.mark(WORK_BEGIN)
    ends(seen)
    why = "a worker began before its CPU had switched to a thread"
    said = [line for line in seen.report() if line.startswith(("measured", "unmeasured", "thread"))]
    assert said == [f"unmeasured latency {why}", f"unmeasured wakeup {why}"]


def test_more_workers_than_the_table_has_are_said(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    for _ in range(257):
        seen.kernel(0x100, place(7))
        seen.runs(7)
        seen.mark(WORK_BEGIN)
    ends(seen)
    assert "unmeasured latency there were too many workers" in seen.report()


def test_each_of_many_vcpus_has_its_own_thread(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    for vcpu in range(64):
        seen.kernel(0x100, 0x11000 + 0x40 * vcpu, vcpu=vcpu)
        seen.kernel(0x200, 0, 0x11000 + 0x40 * vcpu, vcpu=vcpu)
        seen.mark(WORK_BEGIN, vcpu)
    for call in (WRITE, READ):
        for vcpu in range(64):
            seen.enters(call, vcpu=vcpu)
        for vcpu in range(64):
            seen.leaves(call, 1, vcpu=vcpu, after=100 + vcpu)
    for vcpu in range(64):
        ends(seen, vcpu)
    lines = seen.report()
    for vcpu in range(64):
        length = 210 + 2 * vcpu
        assert f"spans latency {vcpu} inner 1 {length} {length} {length}" in lines


@pytest.mark.parametrize(
    ("gone", "why"),
    [
        ("hook switch\nat 200\nto a1\n", "the system names no switch of threads that this kernel has"),
        ("id t l4\n", "the system names no switch of threads that this kernel has"),
        ("hook fork\nat 100\nthread a0\n", "the system names no begin of threads that this kernel has"),
        ("hook wake\nat 300\nthread a0\n", "the system names no wake-up that this kernel has"),
    ],
)
def test_a_system_that_does_not_say_enough_is_not_measured(tmp_path: Path, gone: str, why: str) -> None:
    seen = guest(tmp_path, observe=OBSERVE.replace(gone, ""))
    seen.mark(WORK_BEGIN)
    assert seen.report() == [f"unmeasured latency {why}", f"unmeasured wakeup {why}"]


RECORDED = OBSERVE.replace(
    "operation wakeup\nfrom wake\nto call 202\n",
    "operation wakeup\nfrom wake\nfrom call 202\nrecord 0 17f40\n"
    "operation request\nfrom wake\nfrom call 202\nrecord 1 17f40\n"
    "operation sample\nfrom call 0\nto call 0\nrecord 2 17f40\n",
)
HISTOGRAM = 29824


@pytest.mark.parametrize("compiles", [True, False])
def test_a_histogram_has_the_size_that_the_plugin_expects(tmp_path: Path, compiles: bool) -> None:
    said = re.search(r"^#define HISTOGRAM (\d+)u", c_file("operations.c").read_text(), re.MULTILINE)
    assert said is not None
    expected = int(said[1]) + (0 if compiles else 128)
    source = tmp_path / "size.c"
    source.write_text(f'#include "bench.h"\n_Static_assert(sizeof(struct bench_hist) == {expected}, "");\n')
    argv = [*compiler().argv, "-std=c11", "-fsyntax-only", f"-I{GUEST}", str(source)]
    assert (subprocess.run(argv, check=False, capture_output=True).returncode == 0) is compiles


def records(seen: Guest, which: int, value: int, *, vcpu: int = 0) -> None:
    """Its histograms follow those of another worker."""
    seen.does(NOP, 0x17F40, vcpu=vcpu, args=(0x5000 + (4 + which) * HISTOGRAM, value))


def pair(folder: Path, change: tuple[str, str] = ("", "")) -> Guest:
    """Two workers, on a CPU each; the first one begins to wait."""
    seen = guest(folder, change, RECORDED)
    for vcpu in (0, 1):
        seen.kernel(0x100, place(7 + vcpu), vcpu=vcpu)
        seen.runs(7 + vcpu, vcpu)
        seen.mark(WORK_BEGIN, vcpu)
    seen.reads_clock()
    return seen


def posts(seen: Guest, *, wakes: bool, late: bool = False) -> int:
    """The second worker reads its clock and posts; when that was. `late`: it reads it afterwards."""
    if not late:
        seen.reads_clock(1)
    seen.enters(FUTEX, vcpu=1)
    if wakes:
        seen.kernel(0x300, place(7), vcpu=1)
    seen.leaves(FUTEX, int(wakes), vcpu=1)
    if late:
        seen.reads_clock(1)
    return seen.time[1]


def lengths(seen: Guest, name: str) -> list[str]:
    ends(seen)
    return seen.spans(name)


@pytest.mark.parametrize("sleeps", [True, False])
def test_a_wake_up_is_what_the_program_records_whether_or_not_it_slept(tmp_path: Path, sleeps: bool) -> None:
    """Without a sleep it is from the post that the value names: the nearest one."""
    seen = pair(tmp_path)
    posts(seen, wakes=False)
    seen.time[0] = seen.time[1]
    if sleeps:
        seen.enters(FUTEX)
    seen.reads_clock(1)
    posted = seen.time[1]
    seen.enters(FUTEX, vcpu=1)
    if sleeps:
        seen.kernel(0x300, place(7), vcpu=1)
    seen.leaves(FUTEX, 1, vcpu=1)
    seen.time[0] = seen.time[1]
    if sleeps:
        seen.leaves(FUTEX)
    seen.reads_clock()
    took = seen.time[0] - posted
    records(seen, 0, took + 3)
    assert lengths(seen, "wakeup") == [f"1 {took} {took} {took}"] * 2


def test_a_request_lasts_from_the_same_wake_up_until_it_is_recorded(tmp_path: Path) -> None:
    seen = pair(tmp_path)
    seen.enters(FUTEX)
    seen.reads_clock(1)
    posted = seen.time[1]
    seen.enters(FUTEX, vcpu=1)
    seen.kernel(0x300, place(7), vcpu=1)
    seen.time[0] = seen.time[1]
    seen.leaves(FUTEX)
    seen.reads_clock()
    records(seen, 0, 1)
    seen.calls(READ, 1)
    seen.reads_clock()
    took = seen.time[0] - posted
    records(seen, 1, 1)
    assert lengths(seen, "request") == [f"1 {took} {took} {took}"] * 2


def test_a_clock_read_after_the_post_leaves_the_wake_up_as_long_as_it_was(tmp_path: Path) -> None:
    seen = pair(tmp_path)
    seen.enters(FUTEX)
    seen.time[1] = seen.time[0]
    called = seen.time[1] + 10
    read = posts(seen, wakes=True, late=True)
    seen.time[0] = seen.time[1]
    seen.leaves(FUTEX)
    seen.reads_clock()
    took = seen.time[0] - called
    records(seen, 0, seen.time[0] - read)
    assert lengths(seen, "wakeup") == [f"1 {took} {took} {took}"] * 2


@pytest.mark.parametrize(
    ("comes", "change"),
    [
        (True, ("", "")),
        (False, ("", "")),
        (True, ("may_be(&best, wait, work->read, work);", "")),
        (False, ("waits[n].begin = nearest(&waits[n]);", "")),
    ],
)
def test_a_wait_that_found_its_word_set_began_at_the_post_that_comes(
    tmp_path: Path, comes: bool, change: tuple[str, str]
) -> None:
    """The waiter was faster than the call that posts. A second reading, after the call and before the next
    one, is no post, whatever the value says."""
    seen = pair(tmp_path, change)
    seen.reads_clock(1)
    posted = seen.time[1]
    if not comes:
        seen.calls(FUTEX, vcpu=1)
        seen.reads_clock(1)
    seen.time[0] = seen.time[1]
    seen.reads_clock()
    took, second = seen.time[0] - posted, seen.time[1]
    records(seen, 0, seen.time[0] - second)
    if comes:
        seen.calls(FUTEX, vcpu=1)
    seen.reads_clock(1)
    found = lengths(seen, "wakeup")
    assert (found == [f"1 {took} {took} {took}"] * 2) == (not change[0]), (found, took)


WAKER = RECORDED.replace(
    "operation wakeup\nfrom wake\nfrom call 202\n", "operation wakeup\nfrom wake\nfrom function 17000 17010\n"
)


def posts_by(seen: Guest, word: int, *, wakes: int = 0) -> None:
    """The second worker calls the function that wakes with this word, in which a thread may be woken."""
    seen.does(NOP, 0x17000, vcpu=1, args=(word,))
    seen.enters(FUTEX, vcpu=1)
    if wakes:
        seen.kernel(0x300, place(wakes), vcpu=1)
    seen.leaves(FUTEX, vcpu=1)
    seen.does(RET, 0x1700F, vcpu=1)


@pytest.mark.parametrize("change", [("at->sleeper == sleeper", "true"), ("waits_woken(t);", "")])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("is_right", [True, False])
def test_a_post_by_a_word_of_another_thread_is_none(
    tmp_path: Path, change: tuple[str, str], *, shared: bool, is_right: bool
) -> None:
    """The second reading comes before a call: that for the next waiter. A word may be of several ones."""
    seen = guest(tmp_path, ("", "") if is_right else change, WAKER)
    for vcpu in (0, 1, 2):
        seen.kernel(0x100, place(7 + vcpu), vcpu=vcpu)
        seen.runs(7 + vcpu, vcpu)
        seen.mark(WORK_BEGIN, vcpu)
    seen.time[1] = 1000
    seen.reads_clock(1)
    for word, sleeper in ((1, 7), (2, 9), (2, 7 if shared else 9)):
        seen.enters(FUTEX, vcpu=sleeper - 7)
        posts_by(seen, word, wakes=sleeper)
        seen.leaves(FUTEX, vcpu=sleeper - 7)
    seen.reads_clock(1)
    posted = seen.time[1]
    posts_by(seen, 1)
    seen.reads_clock(1)
    second = seen.time[1]
    posts_by(seen, 2)
    seen.time[0] = seen.time[1]
    seen.reads_clock()
    seen.reads_clock()
    took = seen.time[0] - (posted if is_right and not shared else second)
    records(seen, 0, seen.time[0] - second)
    assert lengths(seen, "wakeup") == [f"1 {took} {took} {took}"] * 2


@pytest.mark.parametrize("is_right", [True, False])
def test_who_has_not_slept_may_have_found_a_word_set_by_which_only_another_one_slept(
    tmp_path: Path, *, is_right: bool
) -> None:
    """Two threads wait for one word, and the first one finds it set: `wake` with pattern=fan on Linux."""
    change = ("", "") if is_right else ("is_choosy = has_own_word(wait->sleeper)", "is_choosy = true")
    seen = guest(tmp_path, change, WAKER)
    for vcpu in (0, 1, 2):
        seen.kernel(0x100, place(7 + vcpu), vcpu=vcpu)
        seen.runs(7 + vcpu, vcpu)
        seen.mark(WORK_BEGIN, vcpu)
    seen.time[1] = 1000
    seen.enters(FUTEX, vcpu=2)
    posts_by(seen, 2, wakes=9)
    seen.leaves(FUTEX, vcpu=2)
    seen.reads_clock(1)
    posted = seen.time[1]
    posts_by(seen, 2)
    seen.time[0] = seen.time[1]
    seen.reads_clock()
    took = seen.time[0] - posted
    records(seen, 0, took)
    assert (lengths(seen, "wakeup") == [f"1 {took} {took} {took}"] * 2) is is_right


def test_a_wake_up_of_which_nothing_was_recorded_is_not_that_of_a_later_value(tmp_path: Path) -> None:
    """In a warm-up."""
    seen = pair(tmp_path)
    seen.enters(FUTEX)
    posts(seen, wakes=True)
    seen.time[0] = seen.time[1]
    seen.leaves(FUTEX)
    seen.reads_clock()
    seen.reads_clock(1)
    posted = seen.time[1]
    seen.calls(FUTEX, vcpu=1)
    seen.time[0] = seen.time[1]
    seen.reads_clock()
    took = seen.time[0] - posted
    records(seen, 0, took)
    assert lengths(seen, "wakeup") == [f"1 {took} {took} {took}"] * 2


@pytest.mark.parametrize(
    ("change", "sleeps", "warm"),
    [
        (("t->last.step == t->step + 1", "true"), False, True),
        (("&& off < best->off", ""), False, True),
        (("spans->since = work->since;", ""), True, False),
    ],
)
def test_each_condition_of_a_wake_up_matters(
    tmp_path: Path, change: tuple[str, str], sleeps: bool, warm: bool
) -> None:
    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()
    assert _recorded(tmp_path / "right", ("", ""), sleeps=sleeps, warm=warm)
    assert not _recorded(tmp_path / "wrong", change, sleeps=sleeps, warm=warm)


def _recorded(folder: Path, change: tuple[str, str], *, sleeps: bool, warm: bool) -> bool:
    """Whether two values in turn are as long as they were."""
    seen = pair(folder, change)
    if warm:
        seen.enters(FUTEX)
        posts(seen, wakes=True)
        seen.time[0] = seen.time[1]
        seen.leaves(FUTEX)
        seen.reads_clock()
    total = 0
    for _ in range(2):
        if sleeps:
            seen.enters(FUTEX)
        seen.reads_clock(1)
        posted = seen.time[1]
        if sleeps:
            seen.enters(FUTEX, vcpu=1)
            seen.kernel(0x300, place(7), vcpu=1)
            seen.leaves(FUTEX, 1, vcpu=1)
        else:
            seen.calls(FUTEX, vcpu=1)
        seen.time[0] = seen.time[1]
        if sleeps:
            seen.leaves(FUTEX)
        seen.reads_clock()
        took = seen.time[0] - posted
        total += took
        records(seen, 0, took)
    return lengths(seen, "wakeup")[0].startswith(f"2 {total} ")


def test_calls_between_two_records_are_one_value(tmp_path: Path) -> None:
    seen = pair(tmp_path)
    total = 0
    for _ in range(3):
        seen.calls(READ, 1)
        total += 100
        seen.reads_clock()
    records(seen, 2, 1)
    seen.calls(READ, 1)
    seen.reads_clock()
    records(seen, 2, 1)
    inner, outer = lengths(seen, "sample")
    assert inner == f"2 {total + 100} 100 {total}"
    assert outer.startswith("2 ")


@pytest.mark.parametrize(
    ("begins", "lasts", "inner", "outer"),
    [(85, 100, 300, 600), (0, 170, 300, 570)],
    ids=["a tick longer each", "a tick shorter each"],
)
@pytest.mark.parametrize("is_right", [True, False])
def test_parts_by_a_clock_that_ticks_each_100_ns_are_as_long_as_a_program_can_add_up(
    tmp_path: Path, begins: int, lasts: int, inner: int, outer: int, *, is_right: bool
) -> None:
    """Reads are at 85 and 205 ns of 0, 100, 200 ...: a program has 200 for each of three parts, 120 are true.
    Or at 0 and 190: it has 100, and the call alone is 170."""
    whole = "last_tick(s->begin.read), last_tick(s->read)"
    seen = pair(tmp_path, ("", "") if is_right else (whole, "s->begin.read, s->read"))
    seen.library.tick(ctypes.c_uint64(100))
    for part in range(3):
        seen.time[0] = 10_000 * (part + 1) + begins - 10
        seen.reads_clock()
        seen.calls(READ, 1, after=lasts)
        seen.reads_clock()
    records(seen, 2, 1)
    expected = [f"1 {length} {length} {length}" for length in (inner, outer)]
    assert (lengths(seen, "sample") == expected) is is_right


def test_the_ticks_of_clocks_are_those_that_verdicts_allow_for() -> None:
    for arch, file in ((X86_64, "arch_x86"), (RISCV64, "arch_riscv"), (AARCH64, "arch_arm")):
        said = re.search(r"\.clock_step = (\d+),", c_file(f"{file}.c").read_text())
        assert said is not None
        assert int(said[1]) == arch.clock_step_ns


# ---- what a worker asks for, and the threads that it makes

SLEEP = OBSERVE.replace(
    "operation latency\nfrom call 1\nfrom function 17000 17010\nto call 0\nto function 17020 17030\n",
    "operation latency\nfrom function 17000 17010\nto function 17000 17010\nuntil 1\n",
)
EXITS = "hook put\nat 500\n", "hook exit\nat 700\nhook put\nat 500\n"


def asked(seen: Guest) -> list[str]:
    return [line for line in seen.report() if line.startswith("asked")]


def asleep(folder: Path, change: tuple[str, str] = ("", "")) -> Guest:
    seen = guest(folder, change, SLEEP)
    seen.kernel(0x100, place(7))
    seen.runs(7)
    seen.mark(TOTAL_BEGIN)
    seen.mark(WORK_BEGIN)
    return seen


def test_a_sleep_is_asked_for_from_the_reading_of_the_clock_before_it(tmp_path: Path) -> None:
    """The program says until 5000 and 6000; it read its clock 10 ns before each call. After 30 us without a
    reading, 10 us count as before the call: who lost its CPU there did not ask for so little."""
    seen = asleep(tmp_path)
    readings = []
    for until, gap in ((5000, 10), (6000, 30_010)):
        seen.reads_clock()
        readings.append(seen.time[0])
        seen.does(NOP, 0x17000, after=gap, args=(until,))
        seen.does(RET, 0x17008, after=500)
    ends(seen)
    assert asked(seen) == [f"asked latency 0 2 11000 {readings[0] + 10 + readings[1] + 10_000}"]


@pytest.mark.parametrize(
    "change", [("(gap < SOON ? gap : SOON)", "gap"), ("asked->until += until", "asked->until += 1")]
)
def test_what_is_asked_for_has_a_meaning(tmp_path: Path, change: tuple[str, str]) -> None:
    seen = asleep(tmp_path, change)
    seen.reads_clock()
    seen.does(NOP, 0x17000, after=30_000, args=(5000,))
    seen.does(RET, 0x17008)
    ends(seen)
    assert asked(seen) != [f"asked latency 0 1 5000 {20 + 10 + 10_000}"]


def with_children(folder: Path, change: tuple[str, str] = ("", "")) -> str:
    """Thread 7 makes three in its work: two live at once, one of them makes three calls and five products,
    and the other ones two calls and ten products each. What a thread that is not at work makes is
    nobody's. It makes 7 products before its work, 30 in it and 3 afterwards."""
    seen = guest(folder, change, OBSERVE.replace(*EXITS))
    seen.kernel(0x100, place(6))
    seen.kernel(0x100, place(7))
    seen.runs(6)
    seen.kernel(0x100, place(5))
    seen.runs(7)
    made = (ctypes.c_uint64 * 256).in_dll(seen.library, "products")
    made[0] += 7
    seen.mark(TOTAL_BEGIN)
    seen.mark(WORK_BEGIN)
    made[0] += 20
    for together in ((8, 9), (10,)):
        for child in together:
            seen.kernel(0x100, place(child))
        for child in together:
            seen.runs(child)
            for _ in range(3 if child == 9 else 2):
                seen.calls(WRITE, 64)
            made[0] += 4 if child == 9 else 9
            seen.runs(6)
            made[0] += 100
            seen.runs(child)
            made[0] += 1
            seen.kernel(0x700)
        seen.runs(7)
    made[0] += 10
    ends(seen)
    made[0] += 3
    seen.runs(6)
    return next(line for line in seen.report() if line.startswith("children"))


def test_threads_that_a_worker_makes_are_counted(tmp_path: Path) -> None:
    assert with_children(tmp_path) == "children 0 3 2 2 5 55"


@pytest.mark.parametrize(
    "change",
    [
        ("t->maker->alive--;", ""),
        ("t->entered++;", ""),
        ("    settle(vcpu);\n    if", "    if"),
        ("on[vcpu].products = now;", ""),
        ("    settle(vcpu);\n    returns_mark", "    returns_mark"),
        ("t->work->products -= t->products;", ";"),
        ("t->work->products += t->products;", ""),
        ("t->maker->products += t->products;", ""),
    ],
)
def test_of_the_threads_of_a_worker_each_part_counts(tmp_path: Path, change: tuple[str, str]) -> None:
    assert with_children(tmp_path, change) != "children 0 3 2 2 5 55"
