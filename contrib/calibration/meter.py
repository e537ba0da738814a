"""Runs the program that measures the memory system (c/), and gives what it printed.

Takes the words of measure.h; gives samples in the order in which they came, each handed to `seen` at once.
Fails with BuildError without a C compiler, with HostError if the program fails, is silent for too long or
prints something else: then it was not measured here, and the message says why.
"""

from __future__ import annotations

import math
import os
import re
import select
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import HostError
from benchgate.base.files import last_line
from benchgate.base.interrupts import held
from benchgate.base.process import base_environment, start
from benchgate.build.programs import compiled

SOURCES = ("chase.c", "measure.c", "pair.c", "share.c", "single.c", "stream.c")
HEADERS = ("measure.h",)
SILENT_S = 300.0
"""No sample takes so long: even the largest chase needs a second, and a busy host may be 100 times slower."""
_FLAGS = (
    *("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes"),
    *("-Wmissing-declarations", "-pthread", "-static"),
)
_LINE = re.compile(r"([a-z_]{1,16})(?: ([0-9]{1,19}))? ([0-9]{1,20}\.[0-9]{4})")


@dataclass(frozen=True, slots=True)
class MeterSample:
    name: str
    size: int
    """The bytes of the array that a chase goes through; 0 for others."""
    value: float


def program() -> Path:
    """The measuring program, built once."""
    return compiled("memory", "measure", Path(__file__).parent / "c", [*SOURCES, *HEADERS], _FLAGS)


def measure(
    words: Sequence[object],
    seen: Callable[[MeterSample], None] = lambda _: None,
    *,
    argv: Sequence[str] = (),
    silent_s: float = SILENT_S,
) -> tuple[MeterSample, ...]:
    """`argv`: the command instead of the program itself."""
    command = [*(argv or (str(program()),)), *map(str, words)]
    samples = []
    with closing(_lines(command, silent_s)) as lines:  # the program ends here in any case
        for line in lines:
            sample = read(line)
            seen(sample)
            samples.append(sample)
    return tuple(samples)


def read(line: str) -> MeterSample:
    match = _LINE.fullmatch(line)
    if not match or not math.isfinite(value := float(match[3])):
        raise HostError(f"the measuring program printed `{line[:80]}`, which is not a sample")
    return MeterSample(match[1], int(match[2] or 0), value)


def _lines(command: Sequence[str], silent_s: float) -> Generator[str, None, None]:
    """What the program prints, line by line, until it ends well."""
    with ExitStack() as ours:
        errors = ours.enter_context(tempfile.TemporaryFile())
        output, their_output = os.pipe()
        ours.callback(os.close, output)
        with ExitStack() as theirs:
            theirs.callback(os.close, their_output)
            nothing = os.open(os.devnull, os.O_RDONLY)
            theirs.callback(os.close, nothing)
            where = base_environment({})
            with held():
                child = start(command, where, stdin=nothing, stdout=their_output, stderr=errors.fileno())
                ours.callback(child.stop, 0)
        yield from _lines_of(output, silent_s)
        child.wait(silent_s)
        status = child.stop(0)
        if status:
            why = last_line(errors) or f"status {status}"
            raise HostError(f"cannot measure this host's memory: {why}")


def _lines_of(output: int, silent_s: float) -> Iterator[str]:
    kept, limit = b"", time.monotonic() + silent_s
    while True:
        if not select.select([output], [], [], max(0.0, limit - time.monotonic()))[0]:
            why = "is the host overloaded?"
            raise HostError(f"the measuring program printed nothing for {silent_s:g} s; {why}")
        new = os.read(output, 65_536)
        if not new:
            if kept:
                raise HostError("the measuring program ended in the middle of a line")
            return
        *whole, kept = (kept + new).split(b"\n")
        limit = time.monotonic() + silent_s
        yield from (line.decode(errors="replace") for line in whole)
