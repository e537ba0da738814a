"""threads.c and what it calls, in a machine of a few registers and one piece of memory: its lines.

QEMU is fake_qemu; the expected lines are written here by hand.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.unit.insn.c.fake_qemu import (
    build,
    poke,
    run,
    set_registers,
    set_time,
)

OWN = r"""
#include "counter.h"
#include "threads_stays.h"
static uint64_t waited[2][3]; // by vCPU: what the clock says of loops that wait, as three counters
uint64_t counter_paused(unsigned vcpu) { return waited[vcpu][0]; }
uint64_t counter_idled(unsigned vcpu) { return waited[vcpu][1]; }
uint64_t clock_skipped(unsigned vcpu) { return waited[vcpu][2]; }
void wait_for(unsigned vcpu, unsigned which, uint64_t ns) { waited[vcpu][which] += ns; }
static struct { qemu_exec_callback *call; int condition; void *data; struct qemu_counter of; } entry;
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_exec_callback *call,
                                               int flags, int condition, struct qemu_counter c,
                                               uint64_t value, void *data) {
    entry.call = call, entry.condition = condition, entry.data = data, entry.of = c;
}
void block(unsigned vcpu, bool is_program, uint64_t time) {
    stays_block(NULL, 4, is_program);
    vcpu_times[vcpu] = time + 4;
    if ((entry.condition == QEMU_COND_EQ) == (qemu_plugin_u64_get(entry.of, vcpu) == 0))
        entry.call(vcpu, entry.data);
}
void call(unsigned vcpu) {
    stays_call(NULL);
    done[--count].cell[64 * vcpu] = 1;
}
"""
OBSERVE = """insn-observe 1
text 18000 19000
id t l4
name 16 t #10 +
allowed t #8 + l8
hook fork
at 100
thread a0
hook switch
at 200
from a0
to a1
blocked t #4 + l1 #2 =
dead t #4 + l1 #3 =
queue t #20 + l4
hook wake
at 300
when a2 #1 &
thread a0
cpu a1
hook allow
at 400
thread a0
mask a1
hook exit
at 500
end
"""
SENDS = "hook send\nat 700\nthread a0\nend\n"
PROMPTS = "hook tick\nat 800\nhook yield\nat 900\nwhen a0\nend\n"
REASONS = "hook may_wait\nat a00\nend\n"
LIST = "hook ask\nat b00\nthread a0\nnext t #28 + l8\nwhich t #4 + l1 #2 =\nend\n"
MIGRATES = "hook migrate\nat 600\nthread a0\ncpu a1\nend\n"
FILES = (
    "threads",
    "threads_guest",
    "threads_hooks",
    "threads_known",
    "threads_program",
    "threads_trail",
    "threads_stays",
    "threads_text",
)
TASKS = {1: 0x11000, 2: 0x12000, 3: 0x13000}
STACK = 0x17000


@dataclass
class Guest:
    """Threads are at fixed places: id, state, allowed CPUs at 8, name at 16, the queue's length at 32."""

    library: ctypes.CDLL
    file: Path
    time: list[int] = field(default_factory=lambda: [0, 0])

    def poke(self, address: int, value: bytes) -> None:
        poke(self.library, address, value)

    def task(
        self, number: int, state: int = 1, allowed: int = 3, name: bytes = b"one", queue: int = 0
    ) -> int:
        head = number.to_bytes(4, "little") + bytes([state, 0, 0, 0]) + allowed.to_bytes(8, "little")
        at = TASKS.get(number, 0x14000)
        self.poke(at, head + name.ljust(16, b"\0") + queue.to_bytes(4, "little"))
        return at

    def at(self, address: int, *arguments: int, vcpu: int = 0, after: int = 10, left: int = 1) -> None:
        """The vCPU comes to this instruction, `after` ns later."""
        self.time[vcpu] += after
        set_registers(self.library, arguments, STACK)
        set_time(self.library, vcpu, self.time[vcpu] + left)
        self.library.threads_instruction(None, ctypes.c_uint64(address), ctypes.c_size_t(left))
        run(self.library, vcpu)

    def lines(self, end: int = 999) -> list[str]:
        self.library.threads_report(ctypes.c_uint64(end))
        return self.file.read_text().splitlines()


def built(folder: Path, change: tuple[str, str] = ("", "")) -> ctypes.CDLL:
    folder.mkdir()
    library = build(folder / "threads.so", FILES, ("lines", "arch_x86"), OWN, change)
    ctypes.c_uint64.in_dll(library, "shown").value = 7
    library.threads_setup.restype = ctypes.c_char_p
    return library


def guest(
    folder: Path, observe: str = OBSERVE, change: tuple[str, str] = ("", ""), whole: bool = False
) -> Guest:
    library, file = built(folder / "built", change), folder / "threads.txt"
    (folder / "observe.txt").write_text(observe)
    why = library.threads_setup(bytes(file), bytes(folder / "observe.txt"), 2, whole)
    assert why is None, why
    for vcpu in range(2):
        library.threads_vcpu(vcpu)
    return Guest(library, file)


def test_a_thread_is_made_runs_sleeps_wakes_and_ends(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    one, two, idle = seen.task(1), seen.task(2, name=b"two"), seen.task(0)
    seen.at(0x100, one)
    seen.at(0x300, one, 0, 1)
    seen.at(0x200, idle, one)
    seen.library.threads_window(True, ctypes.c_uint64(35))
    seen.at(0x100, two)
    seen.at(0x300, two, 1, 1)
    seen.task(1, state=2)
    seen.at(0x200, one, idle)
    seen.at(0x200, idle, two, vcpu=1, after=70)
    seen.at(0x300, one, 0, 0)  # `when` says no
    seen.at(0x500, vcpu=1)
    seen.task(2, state=3, queue=4)
    seen.at(0x200, two, idle, vcpu=1)
    seen.library.threads_window(False, ctypes.c_uint64(90))
    assert seen.lines() == [
        "insn-threads 4",
        "vcpus 2",
        "fork 0 10 1 0 6f6e65",
        "wake 0 20 1 0 - - 7",
        "switch 0 30 0 r 1 0",
        "open 35",
        "fork 0 40 2 1 74776f",
        "wake 0 50 2 1 - - 7",
        "switch 0 60 1 b 0 0",
        "switch 1 70 0 r 2 0",
        "exit 1 80 2",
        "switch 1 90 2 d 0 4",
        "close 90",
        "end 999",
    ]


def test_the_clock_s_halts_and_the_calls_that_wake_are_written(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", "hook ask\nat 600\nwhen a1\nthread a0\nend\n"))
    number, idle = seen.task(1), seen.task(0)
    seen.at(0x600, number, 1)
    seen.at(0x600, number, 0)  # `when` says no
    seen.at(0x600, idle, 1)  # nobody wakes an idle thread
    halts = seen.library.threads_halted
    halts(1, True, ctypes.c_uint64(5))
    halts(0, True, ctypes.c_uint64(12))  # never before what it has done
    halts(1, False, ctypes.c_uint64(70))
    assert seen.lines()[2:-1] == ["ask 0 10 1", "halt 1 5", "halt 0 30", "resume 1 70"]


def test_long_stays_of_programs_in_the_kernel_are_written(tmp_path: Path) -> None:
    """A stay has 10,000 ns at least. It begins with the switch or the program's last block, and ends with the
    program's next block, a switch or a halt."""
    seen = guest(tmp_path)
    one, daemon, idle = seen.task(1), seen.task(2), seen.task(0)

    def block(time: int, *, is_program: bool) -> None:
        seen.time[0] = time
        seen.library.block(0, is_program, ctypes.c_uint64(time))

    block(20, is_program=False)
    seen.at(0x200, idle, one, after=10)  # at 30
    block(20_000, is_program=True)
    block(21_000, is_program=False)
    block(30_999, is_program=True)  # too short
    block(40_000, is_program=False)
    block(45_000, is_program=False)
    block(50_000, is_program=True)
    block(60_000, is_program=False)
    seen.at(0x200, one, daemon, after=15_000)  # executes no program
    block(90_000, is_program=False)
    seen.at(0x200, daemon, one, after=10_000)
    seen.library.threads_halted(0, True, ctypes.c_uint64(111_000))
    seen.library.threads_halted(0, False, ctypes.c_uint64(200_000))
    seen.time[0] = 200_000
    seen.at(0x200, one, idle, after=12_000)
    seen.at(0x200, idle, one, after=50_000)
    assert seen.lines()[4:-1] == [
        "stay 0 20000 19970 0 1",
        "stay 0 50000 10000 0 3",
        "stay 0 75000 15000 0 4",
        "name 0 75000 2 6f6e65",
        "switch 0 75000 1 r 2 0",
        "switch 0 100000 2 r 1 0",
        "stay 0 111000 11000 0 5",
        "halt 0 111000",
        "resume 0 200000",
        "stay 0 212000 12000 0 6",
        "switch 0 212000 1 r 0 0",
        "switch 0 262000 0 r 1 0",
    ]


FAULTS = OBSERVE.removesuffix("end\n") + "hook fault\nat 1000\nend\n"


@pytest.mark.parametrize(
    ("observe", "said"),
    [
        (FAULTS, ["interrupt 0 20300 300 0 1", "stay 0 62000 12000 0 3", "interrupt 0 75300 300 0 4"]),
        (OBSERVE, ["stay 0 62000 12000 0 4"]),  # a fault could not be told from an interruption
    ],
)
def test_what_the_program_did_not_ask_for_is_an_interruption(
    tmp_path: Path, observe: str, said: list[str]
) -> None:
    """Neither a call nor a fault began it, nor a switch; however short it is."""
    seen = guest(tmp_path, observe)
    one, idle = seen.task(1), seen.task(0)

    def block(time: int, *, is_program: bool) -> None:
        seen.time[0] = time
        seen.library.block(0, is_program, ctypes.c_uint64(time))

    block(20, is_program=False)
    seen.at(0x200, idle, one, after=10)
    block(9_000, is_program=True)
    block(20_000, is_program=False)
    block(20_300, is_program=True)
    seen.library.call(0)
    block(30_000, is_program=False)
    block(30_400, is_program=True)
    seen.library.call(0)
    block(50_000, is_program=False)
    block(62_000, is_program=True)
    block(70_000, is_program=False)
    seen.at(0x1000, after=50)
    block(70_300, is_program=True)
    block(75_000, is_program=False)
    block(75_300, is_program=True)
    assert seen.lines()[4:-1] == said


def test_what_a_stay_spun_is_written_however_short_it_is(tmp_path: Path) -> None:
    """500 ns at least. Of a thread that executes no program nothing else is known."""
    seen = guest(tmp_path)
    one, daemon, idle = seen.task(1), seen.task(2), seen.task(0)

    def block(time: int, *, is_program: bool, spun: tuple[int, int, int] = (0, 0, 0)) -> None:
        for which, ns in enumerate(spun):
            seen.library.wait_for(0, which, ctypes.c_uint64(ns))
        seen.time[0] = time
        seen.library.block(0, is_program, ctypes.c_uint64(time))

    block(20, is_program=False, spun=(9_000, 0, 0))  # before the thread
    seen.at(0x200, idle, one, after=10)
    block(1_000, is_program=True)
    block(2_000, is_program=False)
    block(3_000, is_program=True, spun=(200, 200, 100))
    block(4_000, is_program=False)
    block(5_000, is_program=True, spun=(499, 0, 0))
    block(6_000, is_program=False)
    block(17_000, is_program=True, spun=(0, 12_000, 0))  # more than its time: whole iterations are counted
    block(20_000, is_program=False)
    seen.at(0x200, one, daemon, after=1_000)
    block(50_000, is_program=False, spun=(0, 0, 7_000))
    seen.at(0x200, daemon, idle, after=10_000)
    assert [line for line in seen.lines() if line.startswith("stay")] == [
        "stay 0 3000 1000 500 2",
        "stay 0 17000 11000 11000 4",
        "stay 0 60000 7000 7000 5",
    ]


def test_only_changes_of_names_and_of_allowed_cpus_are_written(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    number = seen.task(1, allowed=2, name=b"sh")
    seen.at(0x100, number)
    seen.at(0x300, number, 0, 1)
    seen.task(1, allowed=0xFF, name=b"ls\0after its end")  # every CPU that there is
    seen.at(0x300, number, 0, 1)
    seen.at(0x400, number, 1)
    seen.at(0x400, number, 1)
    assert seen.lines()[2:-1] == [
        "fork 0 10 1 0 7368",
        "allow 0 10 1 2",
        "wake 0 20 1 0 - - 7",
        "name 0 30 1 6c73",
        "allow 0 30 1 3",
        "wake 0 30 1 0 - - 7",
        "allow 0 40 1 1",
    ]


def test_a_thread_that_was_stolen_has_migrated_where_no_hook_says_so(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    number, idle = seen.task(1), seen.task(0)
    seen.at(0x300, number, 0, 1)
    seen.at(0x200, idle, number, vcpu=1)
    assert seen.lines()[3:-1] == ["wake 0 10 1 0 - - 7", "migrate 1 10 1 0 1", "switch 1 10 0 r 1 0"]


def test_a_hook_for_migrations_is_believed_instead(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", MIGRATES))
    number, idle = seen.task(1), seen.task(0)
    seen.at(0x300, number, 0, 1)
    seen.at(0x600, number, 1)
    seen.at(0x200, idle, number, vcpu=0)  # a contradiction, which the books must see
    assert seen.lines()[3:-1] == ["wake 0 10 1 0 - - 7", "migrate 0 20 1 0 1", "switch 0 30 0 r 1 0"]


def test_one_queue_for_all_and_a_place_that_runnable_threads_reach_too(tmp_path: Path) -> None:
    """A lock's release: what counts is the first one at which a new or blocked thread is runnable."""
    level = OBSERVE.replace("at 300\nwhen a2 #1 &\nthread a0\ncpu a1\n", "at 300\nonly blocked\nthread a0\n")
    seen = guest(tmp_path, level)
    number, idle = seen.task(1), seen.task(0)
    seen.at(0x100, number)
    for _ in range(3):
        seen.at(0x300, number, vcpu=1)
    seen.at(0x200, idle, number)
    seen.at(0x300, number)
    seen.at(0x200, number, idle)  # preempted
    seen.at(0x300, number)
    seen.at(0x200, idle, number)
    seen.task(1, state=2)
    seen.at(0x200, number, idle)
    seen.at(0x300, number, vcpu=1)
    assert seen.lines()[2:-1] == [
        "fork 0 10 1 0 6f6e65",
        "wake 1 10 1 1 - - 7",  # it ran nowhere yet
        "migrate 0 20 1 1 0",
        "switch 0 20 0 r 1 0",
        "switch 0 40 1 r 0 0",
        "switch 0 60 0 r 1 0",
        "switch 0 70 1 b 0 0",
        "wake 1 40 1 0 - - 7",
    ]


def test_where_a_thread_is_moved_its_cpus_are_read(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", MIGRATES))
    number = seen.task(1)
    seen.at(0x300, number, 0, 1)
    seen.task(1, allowed=2)
    seen.at(0x600, number, 1)
    assert seen.lines()[4:-1] == ["allow 0 20 1 2", "migrate 0 20 1 0 1"]


def test_a_wake_up_that_another_vcpu_does_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", SENDS))
    number = seen.task(1)
    seen.poke(0x18100, b"\xe8\0\0\0\0")  # call
    seen.poke(STACK, (0x18105).to_bytes(8, "little"))
    seen.at(0x700, number, vcpu=1)
    seen.at(0x700, seen.task(0), vcpu=1)
    assert seen.lines()[2:-1] == ["send 1 10 1 18105 7"]


def test_ticks_and_yields_are_written(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", PROMPTS))
    seen.at(0x800, vcpu=1)
    seen.at(0x900, 1)
    seen.at(0x900, 0)  # `when` says no
    assert seen.lines()[2:-1] == ["tick 1 10", "yield 0 10"]


def asks(seen: Guest) -> list[str]:
    return [line for line in seen.lines() if line.startswith("ask ")]


def test_who_is_blocked_and_has_asked_for_nothing_could_run(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", REASONS))
    seen.at(0xA00)
    seen.at(0x200, seen.task(1, state=2), seen.task(0))  # it has asked
    seen.at(0x200, seen.task(0), seen.task(1))
    seen.at(0x200, seen.task(1, state=2), seen.task(0))  # again, for the same
    assert asks(seen) == ["ask 0 40 1"]


def test_what_a_thread_asked_for_stays_with_it_when_it_loses_its_cpu(tmp_path: Path) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", REASONS))
    seen.at(0xA00)
    seen.at(0x200, seen.task(1), seen.task(2))
    seen.at(0x200, seen.task(2, state=2), seen.task(1))  # the other one has not asked
    seen.at(0x200, seen.task(1, state=2), seen.task(0))
    assert asks(seen) == ["ask 0 30 2"]


def test_without_the_places_where_threads_may_wait_they_may_anywhere(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    seen.at(0x200, seen.task(1, state=2), seen.task(0))
    assert asks(seen) == []


@pytest.mark.parametrize(("last", "asked"), [(0, 2), (TASKS[1], 43)])
def test_of_a_list_those_are_asked_for_that_are_meant_and_one_without_an_end_is_left(
    tmp_path: Path, last: int, asked: int
) -> None:
    seen = guest(tmp_path, OBSERVE.replace("end\n", LIST))
    first, second, third = seen.task(1, state=2), seen.task(2), seen.task(3, state=2)
    for one, after in ((first, second), (second, third), (third, last)):
        seen.poke(one + 0x28, after.to_bytes(8, "little"))
    seen.at(0xB00, first)
    assert len(asks(seen)) == asked  # of 64, two in three, and the first one again
    assert asks(seen)[:2] == ["ask 0 10 1", "ask 0 10 3"]


def test_the_trail_has_the_return_addresses_that_follow_a_call(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    number = seen.task(1)
    seen.poke(0x18100, b"\xe8\0\0\0\0")  # call
    seen.poke(0x18200, b"\xff\xd0")  # call *%rax
    words = (0x18105, 0x18105, 0x18150, 7, 0x18202, 0x1A000)
    seen.poke(STACK, b"".join(word.to_bytes(8, "little") for word in words))
    seen.at(0x300, number, 0, 1)
    assert seen.lines()[-2] == "wake 0 10 1 0 - 18105,18202 7"


def test_times_never_go_back_on_a_vcpu(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    number = seen.task(1)
    seen.at(0x300, number, 0, 1, after=100)
    seen.at(0x300, number, 0, 1, after=-20)
    seen.at(0x300, number, 0, 1, vcpu=1, after=30)
    assert [line.split()[2] for line in seen.lines()[3:-1] if line.startswith("wake")] == ["100", "100", "30"]


def test_a_full_file_says_since_when(tmp_path: Path) -> None:
    seen = guest(tmp_path, change=("(60u << 20)", "100"))
    number = seen.task(1)
    for _ in range(9):
        seen.at(0x300, number, 0, 1)
    lines = seen.lines()
    assert [line for line in lines if line.startswith("full")] == [lines[-2]]
    assert int(lines[-2].split()[1]) == int(lines[-3].split()[2]) + 10


def test_an_instruction_without_a_hook_is_not_instrumented(tmp_path: Path) -> None:
    seen = guest(tmp_path)
    seen.library.threads_instruction(None, ctypes.c_uint64(0x301), ctypes.c_size_t(1))
    assert seen.library.known() == 0
    seen.library.threads_instruction(None, ctypes.c_uint64(0x300), ctypes.c_size_t(1))
    assert seen.library.known() == 1


def test_what_lies_in_one_piece_is_read_once(tmp_path: Path) -> None:
    """A read of QEMU walks the page tables."""
    seen = guest(tmp_path)
    number, idle = seen.task(1), seen.task(0)
    before = ctypes.c_uint.in_dll(seen.library, "reads").value
    seen.at(0x200, number, idle)
    assert ctypes.c_uint.in_dll(seen.library, "reads").value - before == 2  # of each thread


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("insn-observe 1", "insn-observe 2", "insn-observe"),
        ("id t l4", "id t l3", "line 3: id: `t l3` is not an expression"),
        ("id t l4", "id t +", "is not an expression"),
        ("id t l4", "id t t", "is not an expression"),
        ("id t l4", "id " + "t " * 40 + "t", "is not an expression"),
        ("at 100", "at g", "hexadecimal"),
        ("at 300\n", "at 300\nonly some\n", "only: `some` is not known"),
        ("hook exit", "hook exits", "`exits` is not a kind"),
        ("name 16", "name 33", "not from 1 to 32"),
        ("end\n", "", "ends here"),
        ("hook wake", "hook exit", "hooks for switches and for wake-ups"),
    ],
)
def test_a_file_that_is_not_as_written_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    library = built(tmp_path / "built")
    assert old in OBSERVE
    (tmp_path / "observe.txt").write_text(OBSERVE.replace(old, new))
    said = library.threads_setup(bytes(tmp_path / "threads.txt"), bytes(tmp_path / "observe.txt"), 2, False)
    assert why in said.decode()
