"""The memory model in C, compiled and given traces; and the same traces for the reference.

A trace is an array of steps: accesses, walks, flushes, interrupts between CPUs and changes of phase, in the
order in which the model sees them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchgate.insn.plugin import SOURCE, c_file
from tests.ckit import FLAGS, linked
from tests.memory_reference import KINDS, Move, Reference, Shape

FILES = ("lines", *sorted(path.stem for path in SOURCE.rglob("memory*.c")))
HEADERS = (c_file("lines.h"), *SOURCE.rglob("memory*.h"))
DRIVERS = tuple(Path(__file__).parent / "data/memory" / name for name in ("replay.c", "lackey.c"))
STEP = np.dtype([("at", "u8"), ("now", "u8"), ("cpu", "u4"), ("op", "u4")])
Steps = npt.NDArray[Any]
WALK, WALK_CODE, FLUSH, INTERRUPT, PHASE = range(4, 9)
CLASSES = (
    "l1",
    "l2",
    "l3",
    "local",
    "remote",
    "transfer_cluster",
    "transfer_across",
    "transfer_socket",
    "upgrade",
    "busy",
    "queue",
    "atomic",
    "walk",
    "interrupt",
)
COUNTS = ("invalidations", "written_back", "outside", "touched")
ORDER = ("count", "worst_ns", "worst_line", "total_ns", "crossed")
MOVE = np.dtype(
    [("kind", "u4"), ("access", "u4"), ("line", "u8"), ("now", "u8"), ("taker", "u4"), ("giver", "u4")]
)
MOVES = ("transfer", "l3_out", "l3", "fill", "invalidate", "back_l3", "back", "l3_back")
MOST_MOVES = 70
"""The most moves of one access: a copy of each CPU, and a few lines that make room."""
MESI = "ISEM"
Figures = dict[str, int]


@dataclass(frozen=True)
class Seen:
    """What one of the two models gave for a trace."""

    stalls: list[int]
    lates: list[int]
    books: dict[tuple[int, int], Figures]
    """The books of each phase and CPU."""
    order: tuple[Figures, Figures]
    moves: list[Move]
    held: dict[int, list[str]]
    """The states of each line in every CPU's L2 and L3, such as `ES` or `IM`."""


def build(made: Path, drivers: Sequence[Path], words: Sequence[str], *change: str) -> Path:
    """The model with its drivers. `change`: a file in which one text is first replaced by another."""
    file, old, new = change or ("", "", "")
    texts = {}
    for path in (*HEADERS, *(c_file(f"{name}.c") for name in FILES), *drivers):
        text = path.read_text(encoding="utf-8")
        if path.name == file:
            assert text.count(old) == 1, f"{file} has the text to replace {text.count(old)} times: {old}"
            text = text.replace(old, new)
        texts[path.name] = text
    headers = {path.name: texts.pop(path.name) for path in HEADERS}
    return linked(made, (*FLAGS, *words), texts, headers)


def load(folder: Path, *change: str) -> ctypes.CDLL:
    """The model as a library. With a `change` (see build) it proves that a test can fail."""
    made = ctypes.CDLL(str(build(folder / "memory.so", DRIVERS, ("-shared",), *change)))
    made.replay_new.restype = ctypes.c_void_p
    made.replay.restype = ctypes.c_size_t
    made.lackey.restype = ctypes.c_bool
    return made


class Model:
    """One machine in C."""

    def __init__(self, library: ctypes.CDLL, folder: Path, text: str) -> None:
        self._library = library
        path, problem = folder / "shape", ctypes.create_string_buffer(500)
        path.write_text(text)
        self._memory = ctypes.c_void_p(library.replay_new(str(path).encode(), problem, len(problem)))
        assert self._memory, problem.value.decode()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.memory_free(self._memory)

    def run(self, steps: Steps, *, quick: bool = True) -> tuple[list[int], list[int], Steps]:
        """The stall of each step, by how much it was late, and what moved."""
        stalls, lates = np.zeros(len(steps), "u4"), np.zeros(len(steps), "u8")
        moves = np.zeros(MOST_MOVES * len(steps), MOVE)
        trace, *out = (one.ctypes.data_as(ctypes.c_void_p) for one in (steps, stalls, lates, moves))
        room = ctypes.c_size_t(len(moves))
        count = self._library.replay(
            self._memory, trace, ctypes.c_size_t(len(steps)), quick, *out[:2], out[2], room
        )
        return stalls.tolist(), lates.tolist(), moves[:count]

    def held(self, cpus: int, lines: list[int]) -> dict[int, list[str]]:
        asked, out = np.array(lines, "u8"), np.zeros((len(lines), cpus, 2), "u1")
        given, taken = (one.ctypes.data_as(ctypes.c_void_p) for one in (asked, out))
        self._library.replay_held(self._memory, cpus, given, ctypes.c_size_t(len(lines)), taken)
        names = [["".join(MESI[state] for state in cpu) for cpu in line] for line in out.tolist()]
        return dict(zip(lines, names, strict=True))

    def books(self, phase: int, cpu: int) -> Figures:
        names = [*(f"accesses {text}" for text in KINDS)]
        names += [f"{kind} {text}" for kind in ("count", "stall_ns") for text in CLASSES]
        return self._figures("replay_books", [*names, *COUNTS], phase, cpu)

    def order(self, phase: int) -> Figures:
        return self._figures("replay_order", list(ORDER), phase)

    def lackey(self, trace: Path, begin: int, end: int) -> Figures:
        """What the accesses of these instructions in lackey's trace count; see data/memory/lackey.c."""
        names = ("instructions", "fetch_misses", "reads", "read_misses", "writes", "write_misses")
        out = (ctypes.c_uint64 * 8)()
        span = (ctypes.c_uint64(begin), ctypes.c_uint64(end))
        assert self._library.lackey(self._memory, str(trace).encode(), *span, out), trace
        return dict(zip((*names, "modifies", "two_lines"), out, strict=True))

    def _figures(self, function: str, names: list[str], *which: int) -> Figures:
        out = (ctypes.c_uint64 * 64)()
        count = getattr(self._library, function)(self._memory, *which, out)
        assert count == len(names), f"{function}: {count} figures, {len(names)} names"
        return dict(zip(names, out, strict=False))


def by_model(library: ctypes.CDLL, folder: Path, shape: Shape, steps: Steps, *, quick: bool) -> Seen:
    with Model(library, folder, shape.text()) as model:
        stalls, lates, moves = model.run(steps, quick=quick)
        books = {(phase, n): model.books(phase, n) for phase in range(2) for n in range(len(shape.cpus))}
        if quick:  # a short path does not see that a line is touched
            for figures in books.values():
                del figures["touched"]
        held = model.held(len(shape.cpus), _lines(steps))
        order = model.order(0), model.order(1)
        return Seen(stalls, lates, books, order, [_named(shape, move) for move in moves.tolist()], held)


def _lines(steps: Steps) -> list[int]:
    return sorted(set(steps["at"][steps["op"] < len(KINDS)].tolist()))


def _named(shape: Shape, move: tuple[int, ...]) -> Move:
    """The move in the form of the reference, which names an L3 by its cluster."""
    kind, _, line, _, taker, giver = move
    name = MOVES[kind]
    if name in ("l3_out", "l3_back"):
        giver = shape.cpus[giver].cluster
    return name, line, giver if name == "l3_back" else taker, giver


def by_reference(shape: Shape, steps: Steps) -> Seen:
    slow = Reference(shape)
    stalls, lates = [], []
    for at, now, cpu, op in steps.tolist():
        slow.late = 0
        stalls.append(_take(slow, at, now, cpu, op))
        lates.append(slow.late)
    books = {}
    for key, one in slow.books.items():
        figures = {f"accesses {name}": one.accesses[name] for name in KINDS}
        figures |= {f"count {name}": one.count[name] for name in CLASSES}
        figures |= {f"stall_ns {name}": one.stall_ns[name] for name in CLASSES}
        books[key] = figures | {name: getattr(one, name) for name in COUNTS}
    first, second = ({name: getattr(order, name) for name in ORDER} for order in slow.order)
    held = {line: _held(slow, line) for line in _lines(steps)}
    return Seen(stalls, lates, books, (first, second), slow.moves, held)


def _held(slow: Reference, line: int) -> list[str]:
    result = []
    for cpu in slow.cpus:
        cluster = cpu.place.cluster
        shared = "I" if cluster not in slow.l3s(line) else "M" if (cluster, line) in slow.modified else "S"
        result.append(cpu.held.get(line, "I") + shared)
    return result


def _take(slow: Reference, at: int, now: int, cpu: int, op: int) -> int:
    if op in (WALK, WALK_CODE):
        return slow.walk(cpu, op == WALK_CODE, at)
    if op == FLUSH:
        slow.flush(cpu)
        return 0
    if op == INTERRUPT:
        return slow.interrupt(cpu)
    if op == PHASE:
        slow.phase = at
        return 0
    return slow.access(cpu, op, at, now)


def first_difference(seen: Seen, other: Seen, steps: Steps) -> str:
    """Empty if they are equal."""
    for n, (a, b) in enumerate(
        zip(zip(*_each(seen), strict=True), zip(*_each(other), strict=True), strict=True)
    ):
        if a != b:
            return f"step {n} {steps[n]}: stall and late {a}, and {b}"
    for key, figures in seen.books.items():
        for name in figures.keys() & other.books[key].keys():
            value = figures[name]
            if value != other.books[key][name]:
                return f"phase and CPU {key}: {name}: {value}, and {other.books[key][name]}"
    if seen.order != other.order:
        return f"order: {seen.order}, and {other.order}"
    for n, (x, y) in enumerate(zip_longest(seen.moves, other.moves)):
        if x != y:
            return f"move {n}: {x}, and {y}"
    for line, held in seen.held.items():
        if held != other.held[line]:
            return f"line {line} is held as {held}, and {other.held[line]}"
    return ""


def _each(seen: Seen) -> tuple[list[int], list[int]]:
    return seen.stalls, seen.lates
