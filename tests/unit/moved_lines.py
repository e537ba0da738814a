"""Moved lines of a run, made by hand: counters in one line, a lock, and a line without a name."""

from __future__ import annotations

from benchgate.insn.sharing import LineCpu, MovedLine, Sharing, Touch, VariableBytes


def both(offset: int, times: int, size: int = 8) -> Touch:
    return Touch(offset, size, times, times)


def sharing(vcpus: int = 4) -> Sharing:
    every = range(vcpus)
    counters = tuple(LineCpu(n, (100, 1_000 + 100 * n, 0), 1_100, (both(8 * n % 64, 5_000),)) for n in every)
    lock = tuple(LineCpu(n, (0, 0, 50), 50, (both(0, 300, 4),)) for n in every)
    passed = (LineCpu(0, (0, 0, 0), 40, (both(0, 40),)), LineCpu(1, (40, 0, 0), 0, (Touch(0, 8, 40, 0),)))
    lines = (
        MovedLine(0x1000, 0, 0x404000, 5_000, counters, (VariableBytes(0, 64, 0, "counters"),)),
        MovedLine(0x2000, 0xFFFFFFFF82000000, 0, 200, lock, (VariableBytes(0, 4, 0, "big_lock"),)),
        MovedLine(0x3000, 0xFFFF888000003000, 0, 40, passed),
        *(MovedLine(0x4000 + 64 * n, 0, 0x500000 + 64 * n, 1, passed) for n in range(5)),
    )
    return Sharing(64, vcpus, 100_000, 0, 0, 8, lines)
