"""The clock's C files, compiled and called through ctypes; the types are those of lockstep.h."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import FLAGS, linked

MOST = 256
NEVER = 2**64 - 1
ABSENT, RUN, READY, HALT = range(4)
NONE, BUSY, WANTS, IDLE = range(4)


class Vcpu(ctypes.Structure):
    _fields_ = (
        ("state", ctypes.c_int),
        ("time", ctypes.c_uint64),
        ("until", ctypes.c_uint64),
        ("halted", ctypes.c_uint64),
        ("waits_since", ctypes.c_uint64),
        ("step", ctypes.c_uint64),
        ("spins", ctypes.c_int),
        ("stall", ctypes.c_uint64),
    )


class Rules(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint),
        ("quantum", ctypes.c_uint64),
        ("fine", ctypes.c_uint64),
        ("rush", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("strict", ctypes.c_bool),
    )


class Machine(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint),
        ("rules", Rules),
        ("window", ctypes.c_bool),
        ("now", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("met", ctypes.c_uint64),
        ("waited", ctypes.c_uint64),
        ("disordered", ctypes.c_uint64),
        ("closed", ctypes.c_uint64),
        ("contended", ctypes.c_uint64),
        ("longest", ctypes.c_uint64),
        ("handovers", ctypes.c_uint64),
        ("late", ctypes.c_uint64),
        ("late_until", ctypes.c_uint64),
        ("main", ctypes.c_int),
        ("grants", ctypes.c_uint64),
        ("jumps", ctypes.c_uint64),
        ("main_turns", ctypes.c_uint64),
        ("vcpu", Vcpu * MOST),
    )


class Grants(ctypes.Structure):
    _fields_ = (("main", ctypes.c_bool), ("count", ctypes.c_uint), ("vcpu", ctypes.c_uint * MOST))


@dataclass(frozen=True)
class Given:
    main: bool
    vcpus: tuple[int, ...]


class Lockstep:
    """One lockstep machine; each method is one C call."""

    def __init__(self, library: ctypes.CDLL, rules: Rules, now: int = 0) -> None:
        self.library = library
        self.machine = Machine()
        library.lockstep_init(ctypes.byref(self.machine), ctypes.byref(rules), ctypes.c_uint64(now))

    def __getattr__(self, name: str) -> Callable[..., object]:
        function = getattr(self.library, f"lockstep_{name}")

        def call(*values: int) -> object:
            typed = [ctypes.c_uint64(value) for value in values]
            return function(ctypes.byref(self.machine), *typed)

        return call

    def step(self) -> Given:
        out = Grants()
        self.library.lockstep_step(ctypes.byref(self.machine), ctypes.byref(out))
        return Given(bool(out.main), tuple(out.vcpu[: out.count]))


def load(
    folder: Path,
    name: str = "lockstep",
    *,
    beside: tuple[str, ...] = (),
    change: tuple[str, str] | None = None,
) -> ctypes.CDLL:
    """A C file of the clock as a library, with those `beside` it. `change` first replaces a text in the file,
    to prove that a test can fail."""
    text = c_file(f"{name}.c").read_text(encoding="utf-8")
    if change is not None:
        assert change[0] in text, f"the text to replace is no longer in {name}.c"
        text = text.replace(*change)
    sources = {f"{name}.c": text}
    sources |= {f"{other}.c": c_file(f"{other}.c").read_text(encoding="utf-8") for other in beside}
    words = (*FLAGS, "-shared", *(f"-I{c_folder}" for c_folder in c_folders()))
    return ctypes.CDLL(str(linked(folder / f"{name}.so", words, sources, {})))
