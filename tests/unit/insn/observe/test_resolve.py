"""Names become addresses and offsets: against a small program whose DWARF a compiler makes."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.observe import Hook, HookKind, ObserveDefinition, SystemCall, formula
from benchgate.base.workload.operations import SpanRule
from benchgate.build.toolchain import compiler
from benchgate.insn.observe.ctypes import NoTypes
from benchgate.insn.observe.dwarf import read_dwarf
from benchgate.insn.observe.program import with_operations
from benchgate.insn.observe.resolve import observed, types_of
from benchgate.insn.symbols import addresses_of, read_symbols

SOURCE = """
struct entity { int weight; unsigned cpu; };
struct thread { long stack; struct { int id, more; }; const char *name; struct entity entity;
    unsigned char state : 3, late : 2; unsigned long allowed[4]; };
struct cpu { long before; struct thread *current; };
extern struct cpu cpus[4];
struct cpu cpus[4];
unsigned long __per_cpu_offset[4];
struct cpu runqueues;
__attribute__((noinline)) void switch_to(struct thread *from, struct thread *to) {
    cpus[0].current = to;
    from->id++;
}
static __attribute__((noinline)) void wake(int cpu, struct entity *e) { e->cpu = (unsigned)cpu; }
void _start(void) {
    wake(1, &cpus[0].current->entity);
    switch_to(cpus[1].current, cpus[2].current);
    for (;;);
}
"""


@cache
def kernel(folder: Path, *more: str) -> Path:
    source, program = folder / "k.c", folder / "k"
    source.write_text(SOURCE)
    flags = ["-g", "-O1", "-static", "-nostdlib", "-no-pie", "-ffreestanding", "-fno-pic", *more]
    subprocess.run([*compiler().argv, *flags, str(source), "-o", str(program)], check=True, timeout=60)
    return program


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_offsets_and_bits_are_the_same_in_each_version_of_dwarf(
    version: int, program: Path, tmp_path: Path
) -> None:
    older = kernel(tmp_path, f"-gdwarf-{version}", "-gstrict-dwarf")
    for text in ("((thread *)arg0)->late", "((thread *)arg0)->allowed[2]", "arg1->cpu"):
        of = observation(queue=text)
        assert lines(older, of)["queue"] == lines(program, of)["queue"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kernel(tmp_path_factory.getbasetemp())


def observation(at: str = "wake", **values: str) -> ObserveDefinition:
    """Two hooks; the values are those of the second one."""
    usual = {"thread": "container(arg1, thread, entity)", "cpu": "arg0"}
    places = {key: (formula(text),) for key, text in {**usual, **values}.items()}
    switch = {"from": (formula("arg0"),), "to": (formula("arg1"),), "blocked": (formula("from->state == 2"),)}
    hooks = (Hook(HookKind.SWITCH, ("switch_to",), switch), Hook(HookKind.WAKE, (at,), places))
    names = {"id": (formula("thread->id"),), "name": (formula("thread->name"),)}
    return ObserveDefinition("thread", names, 16, hooks, ("", ""))


def lines(program: Path, of: ObserveDefinition) -> dict[str, str]:
    text = observed(of, addresses_of(program), types_of(program))
    return dict(line.partition(" ")[::2] for line in text.splitlines())


def test_the_whole_file(program: Path) -> None:
    where = addresses_of(program)
    text = observed(observation(), where, types_of(program))
    assert text.splitlines() == [
        "insn-observe 1",
        "text 0 0",
        "id t #8 + l4",
        "name 16 t #10 + l8",
        "hook switch",
        f"at {where['switch_to'][0]:x}",
        "from a0",
        "to a1",
        "blocked t #20 + l1 #0 > #7 & #2 =",
        "hook wake",
        f"at {where['wake'][0]:x}",
        "thread a1 #18 -",
        "cpu a0",
        "end",
    ]


def test_a_file_that_is_enough_to_count(program: Path) -> None:
    """A place of threads whose condition this kernel does not have is left out; one that is only counted is
    refused."""
    where = addresses_of(program)
    of = observation(when="arg1->gone")
    event = Hook(HookKind.EVENT, ("wake",), {"adds": (formula("arg0"),)}, name="woken")
    both = replace(of, hooks=(*of.hooks, Hook(HookKind.FAULT, ("switch_to", "none?")), event))
    text = observed(both, where, types_of(program), threads=False)
    assert text.splitlines() == [
        *("insn-observe 1", "text 0 0", "id t #8 + l4"),
        *("hook switch", f"at {where['switch_to'][0]:x}", "to a1"),
        *("hook fault", f"at {where['switch_to'][0]:x}"),
        *("hook event woken", f"at {where['wake'][0]:x}", "adds a0"),
        "end",
    ]
    with pytest.raises(VerifyError, match=r"observe.fault.at: this kernel has no symbol `none`"):
        observed(replace(of, hooks=(Hook(HookKind.FAULT, ("none",)),)), where, NoTypes(), threads=False)


def test_objects_and_interrupts_that_the_kernel_does_not_have_are_left_out(program: Path) -> None:
    where, put, get = addresses_of(program), HookKind.PUT, HookKind.GET
    moves = (
        Hook(put, ("wake",), {"object": (formula("arg0"),)}),
        Hook(get, ("wake",), {"object": (formula("arg1->gone"),)}),
        Hook(get, ("none",), {"object": (formula("arg0"),)}),
    )
    of = observation()
    names = {**of.values, "interrupt": (formula("none"),)}
    both = replace(of, values=names, hooks=(*of.hooks, *moves))
    for threads in (False, True):
        text = observed(both, where, types_of(program), threads=threads)
        at = f"at {where['wake'][0]:x}"
        assert text.splitlines()[-4:-1] == ["hook put", at, "object a0"]
        assert "interrupt" not in text
    known = {**of.values, "interrupt": (formula("none"), formula("cpu + 1"))}
    text = observed(replace(of, values=known), where, types_of(program), threads=False)
    assert text.splitlines()[3] == "interrupt v #1 +"


def test_a_workload_asks_for_spans_of_the_calls_that_a_system_has(program: Path) -> None:
    """Of each side the system's calls; if it names none of them, the functions of the program."""
    begin, end = next((at, to) for at, to, name in symbols(program) if name == "switch_to")
    operations = {
        "latency": SpanRule(("syscalls.write", "program.switch_to"), ("syscalls.none", "program.switch_to")),
        "sleep": SpanRule(("wake",), ("syscalls.read", "syscalls.write")),
        "never": SpanRule(("wake",), ("syscalls.none", "program.none")),
        "unrecorded": SpanRule(("wake",), ("record.0",)),
        "unrecorded_parts": SpanRule(("syscalls.write",), ("record.1",)),
    }
    calls = {"write": SystemCall(1), "read": SystemCall(0), "restart_syscall": SystemCall(219)}
    text = with_operations("insn-observe 1\ntext 0 0\nend\n", operations, calls, program)
    assert text.splitlines() == [
        *("insn-observe 1", "text 0 0", "restart 219"),
        *("operation latency", "from call 1", f"to function {begin:x} {end:x}"),
        *("operation sleep", "from wake", "to call 0", "to call 1"),
        "end",
    ]


def symbols(program: Path) -> list[tuple[int, int, str]]:
    read = read_symbols(program)
    return list(zip(read.addresses, read.ends, read.names, strict=True))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("arg1->cpu", "a1 #4 + l4"),
        ("((thread *)arg0)->late", "a0 #20 + l1 #3 > #3 &"),
        ("((thread *)arg0)->allowed", "a0 #28 + l8"),
        ("((thread *)arg0)->allowed[2]", "a0 #28 + #2 #8 * + l8"),
        ("cpus[cpu].current->id", "#{cpus} v #10 * + #8 + l8 #8 + l4"),
        ("percpu(runqueues).before", "#{runqueues} #{__per_cpu_offset} v #8 * + l8 + l8"),
        ("u16(arg0 + 6)", "a0 #6 + l2"),
        ("arg0 && arg1 != 3", "a0 ! ! a1 #3 = ! &"),
        ("arg0 > 3", "#3 a0 <"),
        ("arg0 * 5 >> 40", "a0 #5 * #28 >"),
        ("arg0 >= &cpus[1]", "a0 #{cpus} #1 #10 * + < !"),
        ("arg0 <= 3", "#3 a0 < !"),
        ("&cpus[cpu].current == arg1", "#{cpus} v #10 * + #8 + a1 ="),
    ],
)
def test_expressions(program: Path, text: str, steps: str) -> None:
    names = {name: f"{places[0]:x}" for name, places in addresses_of(program).items()}
    assert lines(program, observation(queue=text))["queue"] == steps.format(**names)


def test_the_first_expression_whose_names_the_kernel_has(program: Path) -> None:
    of = observation()
    hook = of.hooks[1]
    choices = tuple(map(formula, ("arg1->gone", "arg1->weight", "arg1->cpu")))
    newer = Hook(hook.kind, hook.at, {**hook.values, "queue": choices})
    both = ObserveDefinition(of.type, of.values, 16, (of.hooks[0], newer), of.text)
    assert lines(program, both)["queue"] == "a1 l4"


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (observation(at="wak"), r"observe\.wake\.at: this kernel has no symbol `wak`; it has `wake`"),
        (observation(queue="arg1->wieght"), r"observe\.wake\.queue: .*no field `wieght`; it has `weight`"),
        (observation(queue="runqueue"), "no symbol `runqueue`; it has `runqueues`"),
        (observation(queue="arg0->cpu"), "no pointer of a known type"),
        (observation(queue="((task *)arg0)->cpu"), "describes no struct `task`"),
        (observation(queue="arg1->cpu[1]"), "no array"),
        (observation(queue="((thread *)arg0)->entity"), "is no number"),
    ],
)
def test_a_name_that_the_kernel_does_not_have_is_answered_with_those_that_it_has(
    program: Path, of: ObserveDefinition, why: str
) -> None:
    with pytest.raises(VerifyError, match=why):
        lines(program, of)


def test_an_optional_symbol_may_be_missing(program: Path) -> None:
    of = observation()
    hook = Hook(HookKind.WAKE, ("wake", "enqueue_scx?"), of.hooks[1].values)
    both = ObserveDefinition(of.type, of.values, 16, (of.hooks[0], hook), of.text)
    text = observed(both, addresses_of(program), types_of(program))
    assert text.count("\nat ") == 2


def test_a_hook_whose_symbols_are_all_missing_is_left_out(program: Path) -> None:
    of = observation()
    send = Hook(HookKind.SEND, ("send_scx?",), {"thread": (formula("arg1"),)})
    both = ObserveDefinition(of.type, of.values, 16, (*of.hooks, send), of.text)
    text = observed(both, addresses_of(program), types_of(program))
    assert text == observed(of, addresses_of(program), types_of(program))


def test_offsets_without_any_types(program: Path) -> None:
    of = observation(thread="arg1 - 24", queue="u32(cpus + 8)")
    switch = Hook(HookKind.SWITCH, ("switch_to",), {"blocked": (formula("u8(from + 32) == 2"),)})
    plain = ObserveDefinition("", {"id": (formula("u32(thread + 8)"),)}, 16, (switch, of.hooks[1]), of.text)
    text = observed(plain, addresses_of(program), NoTypes())
    assert "\nid t #8 + l4\n" in text
    assert "\nblocked t #20 + l1 #2 =\n" in text


def test_a_program_without_dwarf_has_no_types(program: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-g", str(program), "-o", str(stripped)], check=True, timeout=60)
    assert read_dwarf(stripped) is None
    with pytest.raises(VerifyError, match="needs BTF or DWARF"):
        lines(stripped, observation())
