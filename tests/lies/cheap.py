"""Lies about turns: a loop of three instructions stands for each, where a turn has four (x86, RISC-V)."""

from __future__ import annotations

from collections.abc import Mapping

from tests.lies.elsewhere import jumps

THREE = """
static void dummy(uint64_t turns) {
    for (; turns != 0; turns--)
        __asm__ volatile("nop");
}

"""

_CHEAP: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "barrier": ("x = bench_turns(x, share);", "static uint64_t weight(", {"phases": 20}),
    "counters": ("own = bench_turns(own, delay);", "static void work(", {"steps": 20_000, "delay": 2000}),
    "dynamic": (
        "uint64_t answer = bench_turns(random, cost);",
        "static uint64_t cost_of(",
        {"items": 1000, "grain": 4000},
    ),
    "jobs": ("bench_turns(hash, graph->grain)", "static void job_body(", {"jobs": 60, "grain": 500_000}),
    "locks": (
        "own = bench_turns(own, asked.delay);",
        "static uint64_t larger(",
        {"takes": 1000, "delay": 20_000},
    ),
    "mapreduce": (
        "bench_turns(bench_mix(i), data->grain)",
        "static void merge(",
        {"words": 10_000, "grain": 2000},
    ),
    "overload": ("bench_turns(worker, shared->turns)", "static void work(", {"turns": 1_000_000}),
    "spawn": (
        "bench_turns(bench_mix(errand->number), errand->grain)",
        "static void run_errand(",
        {"errands": 200, "grain": 50_000},
    ),
    "wake": (
        "number = bench_turns(number, shared->turns);",
        "static uint64_t pong(",
        {"rounds": 400, "turns": 5000},
    ),
}
ALL = tuple(
    jumps(workload, old, before, "cheap-turns", THREE, **params)
    for workload, (old, before, params) in _CHEAP.items()
)
