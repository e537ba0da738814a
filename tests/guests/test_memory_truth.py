"""The Linux guest's own clock agrees with arithmetic on what each level of the caches, each move of a line,
and each write to a line of others costs (docs/explanation/memory-model.md)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from benchgate.insn import arguments, plugin
from benchgate.insn.log import AccessOrder
from benchgate.insn.log_reader import read_log
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from tests.ternkit import Bootkit, transcript
from tests.unit.machines import with_memory
from tools.clock_lab import Boot
from tools.memory_lab import (
    CASES,
    CHASE,
    INCREMENTS,
    SHAPE,
    SHARING,
    STEPS,
    WRITES,
    Case,
    a_write,
    boot,
    in_order,
    server,
    values,
)

MEMORY = Path(__file__).parents[1] / "data" / "memory"
MACHINE = """\
name: levels
source: invented
cpus: 4
line: 64
l1d: {size: 32K, ways: 8}
l1i: {size: 32K, ways: 8}
l2: {size: 256K, ways: 8, latency_ns: 5}
l3: {size: 4M, ways: 16, latency_ns: 17}
clusters: ["0-1", "2", "3"]
sockets: ["0-2", "3"]
nodes:
  - {cpus: "0-2", memory: 99}
  - {cpus: "3", memory: 1}
memory: {local_ns: 83, remote_ns: 147}
transfer: {cluster_ns: 29, across_ns: 53, socket_ns: 127}
atomic_ns: 5
interrupt_ns: 500
order: watch
"""
"""That of SHAPE (tools/memory_lab.py), but that Linux is told of it."""
SLOW = 397
WITH_A_SLOW_CPU = f"""\
{MACHINE}cores:
  - {{cpus: "0-2", capacity: 1024}}
  - {{cpus: "3", capacity: {SLOW}}}
"""
OF_TWO = [one for one in SHARING if one[0] in ("padded", "shared", "increments") and one[1] == (0, 1)]
REFERENCE = min(in_order(server(4), 4, apart) for apart in range(0, 102, 3))
"""The shortest time for an increment of packed counters at 4 CPUs."""


@cache
def booted(case: Case) -> Boot:
    return boot(case.name, case.pins)


def check(case: Case, seen: Sequence[Sequence[int]]) -> None:
    """`seen`: the values of each worker."""
    for loop in case.loops:
        assert seen[loop.worker][loop.value] == pytest.approx(loop.steps * loop.step, rel=0.01), loop.about


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_step_takes_what_arithmetic_says(case: Case) -> None:
    check(case, values(booted(case)))


def levels(folder: Path, text: str) -> JudgedRun:
    """The case `levels` from a snapshot, which is a quarter of the CPU time. Each CPU has a worker."""
    machine = with_memory(text, Path("levels.yaml"))
    linux = catalog.load_system("linux:start=warm").on(machine)
    pinned = replace(linux, boot=replace(linux.boot, append=f"{linux.boot.append} bench.pin=0,1,2,3"))
    kit = Bootkit(folder, inputs.qemu(), insn=True)
    return kit.run(pinned, str(MEMORY), 4, {"case": "levels", "steps": STEPS})


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    return levels(tmp_path_factory.mktemp("warm"), MACHINE)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    """The same with an instruction of 1024 / SLOW ns on CPU 3."""
    return levels(tmp_path_factory.mktemp("uneven"), WITH_A_SLOW_CPU)


def test_each_step_of_a_warm_linux_takes_what_arithmetic_says(warm: JudgedRun) -> None:
    assert warm.verified is not None, warm.reason
    reports = transcript(warm).reports
    case = CASES[0]
    check(case, [[reports[cpu].values[f"v{n}"] for n in range(6)] for cpu in case.pins])


def test_a_slow_cpu_waits_as_many_ns_for_each_level_as_another(uneven: JudgedRun) -> None:
    """Only the instructions of a step take longer there."""
    assert uneven.verified is not None, uneven.reason
    reports = transcript(uneven).reports
    for cpu, instruction, memory in ((0, 1.0, SHAPE.local), (3, 1024 / SLOW, SHAPE.remote)):
        seen = [reports[cpu].values[f"v{n}"] / STEPS for n in range(4)]
        due = [CHASE * instruction + latency - 1 for latency in (1, 5, 17, memory)]
        assert seen == pytest.approx(due, rel=0.01), f"CPU {cpu}"


def test_the_books_of_a_slow_cpu_have_its_instructions_and_its_waits(uneven: JudgedRun) -> None:
    assert uneven.run.clock_log is not None
    log = read_log(uneven.run.clock_log)
    assert log.memory is not None
    assert log.capacities == (1024, 1024, 1024, SLOW)
    for c, (totals, capacity) in enumerate(zip(log.totals, log.capacities, strict=True)):
        counted = totals.executed + totals.paused
        waited = sum(sum(books[c].stalls.values()) for books in log.memory.phases.values())
        assert waited > 0
        assert totals.stalled == waited + counted * 1024 // capacity - counted


def test_the_books_of_time_close(warm: JudgedRun) -> None:
    assert warm.run.clock_log is not None
    log = read_log(warm.run.clock_log)
    assert log.memory is not None
    for c, totals in enumerate(log.totals):
        phases = [books[c] for books in log.memory.phases.values()]
        assert sum(part.spent.executed for part in phases) == totals.executed
        assert sum(part.spent.halted for part in phases) == totals.halted
        stalled = sum(part.spent.stalled for part in phases)
        assert 0 < stalled == sum(sum(part.stalls.values()) for part in phases)
        skew = totals.time - sum(part.spent.whole for part in phases)
        assert 0 <= skew < arguments.QUANTUM


@pytest.mark.long
@pytest.mark.parametrize(("name", "pins", "step"), OF_TWO, ids=str)
def test_a_line_that_two_write_serves_one_at_a_time(name: str, pins: tuple[int, ...], step: int) -> None:
    """test_insn_bare.py has two CPUs without a kernel, whose increments take as long."""
    assert a_write(boot(name, pins, steps=WRITES)) == pytest.approx(step, rel=0.03)


def counters(folder: Path) -> float:
    """The ns for an increment of packed counters at 4 CPUs, on tern."""
    machine = catalog.load_machine("server2x16")
    assert machine is not None
    kit = Bootkit(folder, inputs.qemu(), insn=True)
    given = {"steps": INCREMENTS, "delay": 20, "layout": "packed"}
    judged = kit.run(catalog.load_system("kernel").on(machine), "counters", 4, given)
    assert judged.verified is not None, judged.reason
    return judged.verified.work / INCREMENTS


def test_packed_counters_take_as_long_as_the_reference_says(tmp_path: Path) -> None:
    assert 1.02 * counters(tmp_path) >= REFERENCE


@pytest.mark.long
def test_a_clock_that_ends_turns_only_between_blocks_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CPU that waits for the line and then writes to it in the same block goes on out of turn."""
    source = tmp_path / "c"
    shutil.copytree(plugin.SOURCE, source)
    file, ends = source / "access/access.c", "    clock_stop_here(c, left, 0);\n"
    text = file.read_text(encoding="utf-8")
    assert text.count(ends) == 1
    file.write_text(text.replace(ends, "    (void)c, (void)left, clock_stop_soon();\n"), encoding="utf-8")
    monkeypatch.setattr(plugin, "SOURCE", source)
    assert counters(tmp_path / "runs") < 0.9 * REFERENCE


@pytest.mark.soak
@pytest.mark.parametrize(("name", "pins", "step"), SHARING, ids=str)
def test_in_strict_order_no_access_is_late(name: str, pins: tuple[int, ...], step: int) -> None:
    """With four CPUs a write takes 336 or 360 ns, by the order in which the line goes round."""
    done = boot(name, pins, order=AccessOrder.STRICT, steps=WRITES)
    assert done.log
    assert done.log.orders["window"].count == 0
    assert a_write(done) == pytest.approx(step, rel=0.03)
