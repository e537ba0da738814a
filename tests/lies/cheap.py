"""Lies about turns: a loop of three instructions stands for each, where a turn has four (x86, RISC-V)."""

from __future__ import annotations

from tests.lies.elsewhere import jumps

THREE = """
static void dummy(uint64_t turns) {
    for (; turns != 0; turns--)
        __asm__ volatile("nop");
}

"""

ALL = tuple(
    jumps(workload, "cheap-turns", THREE, **params)
    for workload, params in {
        "barrier": {"phases": 20},
        "counters": {"steps": 20_000, "delay": 2000},
        "dynamic": {"items": 1000, "grain": 4000},
        "jobs": {"jobs": 60, "grain": 500_000},
        "locks": {"takes": 1000, "delay": 20_000},
        "mapreduce": {"words": 10_000, "grain": 2000},
        "overload": {"turns": 1_000_000},
        "spawn": {"errands": 200, "grain": 50_000},
        "wake": {"rounds": 400, "turns": 5000},
    }.items()
)
