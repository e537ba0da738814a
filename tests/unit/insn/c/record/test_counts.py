"""counts.c and what it calls, in a machine of a few registers: which instructions count, and its lines.

QEMU is fake_qemu; the expected lines are written here by hand.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import pytest

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
    run,
    set_registers,
)

OWN = r"""
uint64_t executed, idled;
uint64_t clock_own(unsigned vcpu) { return 77; }
uint64_t clock_executed(unsigned vcpu) { return executed; }
uint64_t clock_idled(unsigned vcpu) { return idled; }
"""
OBSERVE = """insn-observe 1
text 0 0
hook fault
at 5000
hook switch
at 6000
when a2 #1 &
hook event moves
at 7000
at 7010
adds a1
end
"""
FILES = ("counts", "counts_spans")
OTHERS = ("callees", "returns", "threads_guest", "threads_hooks", "threads_program", "lines", "arch_x86")
LOCK_INC, HLT, TO_CR3, PAUSE = "f0ff07", "f4", "0f22d8", "f390"


@dataclass
class Guest:
    library: ctypes.CDLL

    def does(
        self,
        code: str,
        cs: int = USER,
        *,
        vcpu: int = 0,
        at: int = 0x100,
        rax: int = 0,
        args: tuple[int, ...] = (),
        waiting: int = 0,
    ) -> None:
        """The vCPU comes to this instruction for the first time, and executes it. `waiting`: it closes a loop
        of so many that only waits."""
        insn = Insn.of(code)
        set_registers(self.library, args, rax=rax, cs=cs)
        self.library.counts_block(None, ctypes.c_size_t(1), ctypes.c_size_t(waiting))
        self.library.counts_instruction(None, ctypes.byref(insn), ctypes.c_uint64(at))
        run(self.library, vcpu)

    def mark(self, kind: int, time: int) -> None:
        self.library.counts_mark(kind, 0, ctypes.c_uint64(0), True, ctypes.c_uint64(time))

    def journal(self) -> list[str]:
        return journal(self.library)

    def report(self, *spans: str) -> list[str]:
        """The lines of these windows, or of both."""
        self.library.counts_report(ctypes.c_uint64(900))
        known = spans or ("total", "work")
        return [line for line in self.journal() if line.split()[1] in known and line.split()[0] != "counted"]


def compiled(folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """`change` replaces a text, to prove that a test can fail."""
    build(folder / "counts.so", FILES, OTHERS, OWN, change)
    return folder / "counts.so"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("counts"))


def guest(library: Path, folder: Path, observe: str = OBSERVE, lengths: str = "1:2") -> Guest:
    own = folder / "own.so"  # each copy has its own variables
    own.write_bytes(library.read_bytes())
    (folder / "observe.txt").write_text(observe)
    cdll = ctypes.CDLL(str(own))
    cdll.counts_setup.restype = ctypes.c_char_p
    cdll.counts_line.restype = ctypes.c_size_t
    why = cdll.counts_setup(bytes(folder / "observe.txt"), lengths.encode(), 2)
    assert why is None, why
    for vcpu in range(2):
        cdll.counts_vcpu(vcpu)
    return Guest(cdll)


def test_programs_and_their_kernel_are_told_apart(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    seen.does(LOCK_INC)  # before the window
    seen.mark(TOTAL_BEGIN, 100)
    for cs in (USER, KERNEL):
        for code in (SYSCALL, LOCK_INC, HLT, TO_CR3, NOP):
            seen.does(code, cs, rax=39)
    seen.mark(TOTAL_END, 200)
    assert seen.report() == [
        "counting total 100 200",
        *("saw total 0 syscalls 1", "saw total 0 atomics 1", "saw total 0 spaces 1", "saw total 0 halts 1"),
        "saw total 0 programs 5",
        "called total 0 39 1 -",
    ]


def test_calls_by_number_and_the_bytes_that_they_ask_for(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    seen.mark(WORK_BEGIN, 100)
    for rax, size in ((1, 5), (1, 2**40), (1, 7), (1022, 9), (1023, 9), (0xFFFF_FFFF, 9)):
        seen.does(SYSCALL, vcpu=1, rax=rax, args=(0, 0, size))
    seen.does("cd80", rax=4)
    seen.mark(WORK_END, 150)
    seen.does(SYSCALL, rax=1)
    seen.mark(WORK_END, 200)
    assert seen.report() == [
        "counting work 100 200",
        *("saw work 0 syscalls 2", "saw work 0 programs 2", "called work 0 1 1 0", "called work 0 4 1 -"),
        *(
            "saw work 1 syscalls 6",
            "saw work 1 programs 6",
            "called work 1 1 3 12",
            "called work 1 1022 1 -",
            "called work 1 1023 2 -",
        ),
    ]


def test_functions_that_the_system_names(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    seen.mark(TOTAL_BEGIN, 1)
    for at, args in (
        (0x5000, ()),
        (0x6000, (0, 0, 3)),
        (0x6000, (0, 0, 2)),
        (0x7000, (0, 40)),
        (0x7010, (0, 2)),
    ):
        seen.does(NOP, KERNEL, at=at, args=args)
    seen.does(NOP, KERNEL, at=0x5001)
    seen.mark(TOTAL_END, 2)
    assert "counted events.moves" in seen.journal() or seen.report()
    assert seen.report()[-4:] == [
        "counting total 1 2",
        *("saw total 0 faults 1", "saw total 0 switches 1", "saw total 0 events.moves 42"),
    ]


def test_a_function_may_stand_for_the_calls(library: Path, tmp_path: Path) -> None:
    hook = "hook syscall\nat 8000\nnumber a0\nbytes a1\nend\n"
    seen = guest(library, tmp_path, OBSERVE.replace("end\n", hook))
    seen.mark(TOTAL_BEGIN, 1)
    seen.does(SYSCALL, rax=1)
    seen.does(NOP, KERNEL, at=0x8000, args=(16, 5))
    seen.mark(TOTAL_END, 2)
    assert seen.report() == [
        *("counting total 1 2", "saw total 0 syscalls 1", "saw total 0 programs 1", "called total 0 16 1 5"),
    ]


def test_what_programs_do_before_and_after_the_work_is_counted_in_the_whole_run(
    library: Path, tmp_path: Path
) -> None:
    seen = guest(library, tmp_path)
    seen.does(NOP)
    seen.mark(WORK_BEGIN, 1)
    seen.does(NOP)
    seen.does(NOP, KERNEL)
    seen.mark(WORK_END, 2)
    seen.does(NOP, vcpu=1)
    assert seen.report("work") == ["counting work 1 2", "saw work 0 programs 1"]
    assert [line for line in seen.journal() if " whole " in line] == [
        *("counting whole 0 900", "saw whole 0 programs 2", "saw whole 1 programs 1"),
    ]


def test_what_programs_execute_while_they_only_wait(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    seen.mark(TOTAL_BEGIN, 1)
    for cs in (USER, KERNEL):
        seen.does(PAUSE, cs)
        seen.does(NOP, cs, waiting=3)
        seen.does(NOP, cs)
    seen.mark(TOTAL_END, 2)
    assert seen.report() == ["counting total 1 2", "saw total 0 programs 3", "saw total 0 spun 2"]


def test_the_whole_run_begins_where_the_program_starts_last(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path, OBSERVE.replace("end\n", "hook event s_start\nat 8000\nend\n"))
    for at in (0x100, 0x8000, 0x100, 0x8000, 0x100):
        seen.does(NOP, at=at)
    seen.mark(TOTAL_BEGIN, 100)
    seen.does(NOP, at=0x8000)
    seen.report()
    whole = [line for line in seen.journal() if " whole " in line]
    assert whole[0] == "counting whole 77 900"
    assert "saw whole 0 programs 2" in whole


@pytest.mark.parametrize(
    ("moments", "worked"),
    [(((100, 5), (180, 5)), "80"), (((100, 0), (180, 60)), "20"), (((3, 5), (83, 5)), "78")],
)
def test_no_cpu_works_more_than_it_executes(
    library: Path, tmp_path: Path, moments: tuple[tuple[int, int], ...], worked: str
) -> None:
    """Instructions, and those of loops that wait, which may be counted before they are executed."""
    seen = guest(library, tmp_path, OBSERVE)
    counters = [ctypes.c_uint64.in_dll(seen.library, name) for name in ("executed", "idled")]
    for kind, values in zip((WORK_BEGIN, WORK_END), moments, strict=True):
        for counter, value in zip(counters, values, strict=True):
            counter.value = value
        seen.mark(kind, 100 + kind)
    found = dict(line.split()[3:5] for line in seen.report("work") if line.startswith("saw work 0 "))
    assert (found["instructions"], found["worked"]) == ("80", worked)


IMUL = ("480fafc1", "486bc003", "4869c000010000", "48f7e1", "48f7e9", "490fafc1")
DIV = ("f7f1", "48f7f1", "49f7f8", "f77708", "66f7f1")
NEITHER = ("0fafc1", "48f7d8", "48f7c001000000", "480fb6c1", "486300", "48898f00000000", "4801c8", "90")
"""imul and mul of 64 bits; div and idiv; a product of 32 bits, neg, test, moves, add and nop. By the
encodings of the processor's manual."""


@pytest.mark.parametrize(
    ("codes", "name"), [(IMUL, "products"), (DIV, "divisions"), (NEITHER, "")], ids=["imul", "div", "neither"]
)
def test_multiplications_and_divisions_by_programs(
    library: Path, tmp_path: Path, codes: tuple[str, ...], name: str
) -> None:
    seen = guest(library, tmp_path)
    seen.mark(TOTAL_BEGIN, 100)
    for code in codes:
        seen.does(code)
        seen.does(code, KERNEL)
    seen.mark(TOTAL_END, 200)
    found = [line for line in seen.report("total") if " products " in line or " divisions " in line]
    assert found == ([f"saw total 0 {name} {len(codes)}"] if name else [])


@pytest.mark.parametrize("asked", [True, False])
def test_reads_and_writes_of_programs_where_somebody_asks(library: Path, tmp_path: Path, asked: bool) -> None:
    seen = guest(library, tmp_path, OBSERVE.replace("end\n", "accesses 1\nend\n") if asked else OBSERVE)
    accessed = ctypes.c_int.in_dll(seen.library, "accessed")
    seen.mark(TOTAL_BEGIN, 100)
    for kind in (1, 2, 3, 1, 0):
        accessed.value = kind
        seen.does(NOP)
        seen.does(NOP, KERNEL)
    seen.mark(TOTAL_END, 200)
    found = [line for line in seen.report("total") if " reads " in line or " writes " in line]
    assert found == (["saw total 0 reads 3", "saw total 0 writes 2"] if asked else [])


def test_first_arguments_of_a_function_and_what_lies_between_two(library: Path, tmp_path: Path) -> None:
    hooks = "hook event d_lock\nat 8000\nhook event b_lock\nat 8000\nhook event e_lock\nat 9000\n"
    hooks += "hook event t_lock\nat 8000\nend\n"
    seen = guest(library, tmp_path, OBSERVE.replace("end\n", hooks))
    executed = ctypes.c_uint64.in_dll(seen.library, "executed")
    seen.mark(TOTAL_BEGIN, 1)
    for now, at, lock in (
        (10, 0x9000, 7),
        (20, 0x8000, 7),
        (50, 0x9000, 7),
        (60, 0x8000, 8),
        (65, 0x9000, 8),
    ):
        executed.value = now
        seen.does(NOP, at=at, args=(lock, 1, 100 * lock))
    executed.value = 70
    seen.does(NOP, at=0x8000, args=(7,))
    seen.mark(TOTAL_END, 2)
    lines = seen.report()
    assert "saw total 0 events.d_lock 2" in lines
    assert "saw total 0 events.e_lock 35" in lines
    assert "saw total 0 events.t_lock 1500" in lines


def test_what_lies_within_another_pair_is_counted_for_both(library: Path, tmp_path: Path) -> None:
    """A function that takes a lock by another one: its release comes first."""
    hooks = "hook event b_take\nat 8000\nhook event e_take\nat 9000\n"
    hooks += "hook event b_lock\nat 8100\nhook event e_lock\nat 9100\nend\n"
    seen = guest(library, tmp_path, OBSERVE.replace("end\n", hooks))
    executed = ctypes.c_uint64.in_dll(seen.library, "executed")
    seen.mark(TOTAL_BEGIN, 1)
    for now, at in ((10, 0x8000), (20, 0x8100), (50, 0x9000), (60, 0x9100)):
        executed.value = now
        seen.does(NOP, at=at)
    seen.mark(TOTAL_END, 2)
    assert {"saw total 0 events.e_take 40", "saw total 0 events.e_lock 40"} <= set(seen.report())


def test_lines_of_the_console_get_what_changed_as_long_as_there_is_room(
    library: Path, tmp_path: Path
) -> None:
    seen = guest(library, tmp_path)
    for more in (SYSCALL, NOP, LOCK_INC):
        seen.does(more, rax=3)
        seen.library.counts_line(ctypes.c_size_t(10_000))
    seen.does(LOCK_INC)
    assert seen.library.counts_line(ctypes.c_size_t(100)) == len("uncounted\n")
    assert seen.library.counts_line(ctypes.c_size_t(10_000)) == 0
    assert [line for line in seen.journal() if not line.startswith("counted ")] == [
        *("saw so_far 0 syscalls 1", "saw so_far 0 programs 1", "called so_far 0 3 1 -"),
        *("saw so_far 0 programs 2", "saw so_far 0 atomics 1", "saw so_far 0 programs 3", "uncounted"),
    ]


def test_only_what_could_be_seen_is_said_to_be_counted(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    seen.report()
    assert [line.split()[1] for line in seen.journal() if line.startswith("counted ")] == [
        *(
            "syscalls",
            "atomics",
            "spaces",
            "halts",
            "faults",
            "switches",
            "instructions",
            "worked",
            "programs",
            "spun",
            "products",
            "divisions",
            "events.moves",
        )
    ]


def test_a_qemu_that_hides_the_privilege_has_no_counts(library: Path, tmp_path: Path) -> None:
    seen = guest(library, tmp_path)
    ctypes.c_bool.in_dll(seen.library, "is_unreadable").value = True
    seen.does(LOCK_INC)
    seen.mark(TOTAL_BEGIN, 1)
    seen.mark(TOTAL_END, 2)
    assert seen.report() == seen.journal() == []


@pytest.mark.parametrize("lengths", ["1", "1:3", "1024:2", "1:2,", "x:2", "1:2:"])
def test_lengths_that_are_none_are_refused(library: Path, tmp_path: Path, lengths: str) -> None:
    with pytest.raises(AssertionError, match="option bytes"):
        guest(library, tmp_path, lengths=lengths)


@pytest.mark.parametrize(
    "hook", ["event Moves", "event", "events moves", "event a_name_that_is_longer_than_32_chars_"]
)
def test_a_hook_without_a_kind_is_refused(library: Path, tmp_path: Path, hook: str) -> None:
    with pytest.raises(AssertionError, match="is not a kind of event"):
        guest(library, tmp_path, OBSERVE.replace("event moves", hook))


def test_a_kernel_that_counts_as_a_program_would_be_found(tmp_path: Path) -> None:
    seen = guest(compiled(tmp_path, ("return level == wanted;", "return true;")), tmp_path)
    seen.mark(TOTAL_BEGIN, 1)
    seen.does(LOCK_INC, KERNEL)
    seen.mark(TOTAL_END, 2)
    assert "saw total 0 atomics 1" in seen.report()
