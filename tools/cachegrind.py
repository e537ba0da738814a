"""Compares the memory model with valgrind's cachegrind: one static program, the same caches.

`python -m tools.cachegrind` prints a table. The program is the case
`mixed` of tests/data/memory: sort, matrix product, sieve and random increments, in one function. Fails as
tools/valgrind.py does.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from benchgate.build import programs
from tests.memory_reference import Level, Place, Range, Shape
from tests.memorykit import Figures, Model, load
from tools.clock_lab import Boot, lab, workload
from tools.valgrind import Counts, Geometry, Valgrind, valgrind

FIRST = Geometry(32 * 1024, 8)
LAST = Geometry(1024 * 1024, 16)
FUNCTION = "memory_mixed"
ROUNDS = (1, 4)
"""What a boot has besides the function's own accesses is the same in each: the difference has none of it."""
GUEST_MEMORY = 512 << 20  # clock_lab's guests
ADDRESSES = 1 << 32  # of data/memory/lackey.c


@dataclass(frozen=True)
class Comparison:
    cachegrind: Counts
    model: Figures
    """The model's figures, from lackey's trace of the same program."""


def machine(memory: int) -> Shape:
    """One CPU with cachegrind's caches."""
    first = Level(FIRST.sets, FIRST.ways, 1)
    return Shape(
        l1d=first,
        l1i=first,
        l2=Level(LAST.sets, LAST.ways, 10),
        l3=None,
        cpus=(Place(0, 0, 0),),
        ranges=(Range(0, memory, 0),),
    )


def words(rounds: int) -> str:
    return f"bench.case=mixed bench.steps={rounds}"


def command(rounds: int) -> list[str]:
    program = programs.guest_program(workload("memory"))
    manifest = "bench.workload=memory bench.mode=thread bench.workers=1 bench.cpus=1 bench.nonce=lab"
    return [str(program), *manifest.split(), *words(rounds).split()]


def span(program: Path, function: str) -> tuple[int, int]:
    """The addresses of a function: the first, and the one behind the last."""
    with program.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection), f"{program} is stripped"
        (symbol,) = symbols.get_symbol_by_name(function) or []
        begin = int(symbol["st_value"])
        return begin, begin + int(symbol["st_size"])


def on_a_trace(outsider: Valgrind) -> Comparison:
    """The model gets lackey's trace of the program, so all accesses must be equal. Misses can differ by what
    the caches hold when the function begins, because the program's other thread has run in between or not: by
    at most all lines of a cache."""
    argv = command(1)
    counted = outsider.cachegrind(argv, FIRST, LAST, FUNCTION)
    with (
        tempfile.TemporaryDirectory(prefix="cachegrind-") as folder,
        Model(load(Path(folder)), Path(folder), machine(ADDRESSES).text()) as model,
        outsider.lackey(argv) as trace,
    ):
        return Comparison(counted, model.lackey(trace, *span(Path(argv[0]), FUNCTION)))


@dataclass(frozen=True)
class Guest:
    """One round in the Linux guest. Its kernel is in it too: mostly the timer, every 4 ms."""

    instructions: float
    reads: float
    writes: float
    misses: float
    """Misses of data and of instructions."""


def in_the_guest() -> Guest:
    with tempfile.TemporaryDirectory(prefix="cachegrind-") as folder:
        shape = Path(folder) / "shape"
        shape.write_text(machine(GUEST_MEMORY).text())
        setup = lab(shape=shape)
        few, many = (_counted(setup.boot("memory", 1, words(rounds))) for rounds in ROUNDS)
    names = ("executed", "reads", "writes", "l2", "local")
    each = {name: (many[name] - few[name]) / (ROUNDS[1] - ROUNDS[0]) for name in names}
    return Guest(each["executed"], each["reads"], each["writes"], each["l2"] + each["local"])


def _counted(boot: Boot) -> dict[str, int]:
    assert boot.good, f"{boot.console}\n{boot.errors}"
    assert boot.log
    assert boot.log.memory
    (cpu,) = boot.log.memory.phases["window"]
    return {**cpu.counts, "executed": cpu.spent.executed}


def table() -> None:
    seen, guest = on_a_trace(valgrind()), in_the_guest()
    modifies = seen.model["modifies"]
    print("| what | cachegrind | the model, on lackey's trace |\n|---|---|---|")
    for name in Counts.__slots__:
        outside, ours = getattr(seen.cachegrind, name), seen.model[name]
        print(f"| {name.replace('_', ' ')} | {outside:,} | {ours:,} ({ours / outside - 1:+.2%}) |")
    print(f"\nOf the reads, {modifies:,} are of instructions that also write the place.\n")
    print("| what | cachegrind | the Linux guest, a round |\n|---|---|---|")
    for name, outside, inside in beside(seen, guest):
        print(f"| {name} | {outside:,} | {inside:,.0f} ({inside / outside - 1:+.2%}) |")


def beside(seen: Comparison, guest: Guest) -> list[tuple[str, int, float]]:
    """What both count: its name, cachegrind's count and the guest's."""
    counted = seen.cachegrind
    misses = counted.fetch_misses + counted.read_misses + counted.write_misses
    return [
        ("instructions", counted.instructions, guest.instructions),
        ("reads", counted.reads, guest.reads),
        ("writes, with those after reads", counted.writes + seen.model["modifies"], guest.writes),
        ("first-level misses", misses, guest.misses),
    ]


if __name__ == "__main__":
    table()
