"""What the machine measured of a workload's calls against what the workload measured itself, in the same run.

An honest guest reads its clock right before its calls and after them, so its values are those of the outer
spans, to the ns in which Linux computes its time from the CPU's. Where a wait found what it waited for, the
guest counts a wake-up, and the machine none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.statistics.histogram import Histogram, bounds
from benchgate.base.workload.operations import SpanRule
from benchgate.build.fetch import inputs
from benchgate.insn.counts import witnessed
from benchgate.insn.log import ClockLog
from benchgate.insn.operations import ThreadOperations
from benchgate.judge import verify
from benchgate.judge.judged_run import judge_run
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.ternkit import Bootkit

SEND = ("syscalls.write", "program.port_send")
RECEIVE = ("syscalls.read", "program.port_receive")
SPANS = {
    "service": {"latency": SpanRule(SEND, RECEIVE)},
    "sockets": {"latency": SpanRule(SEND, RECEIVE)},
    "wake": {"wakeup": SpanRule(("wake",), ("syscalls.futex", "program.port_wait"))},
    "micro": {"sample": SpanRule(("syscalls.getpid",), ("syscalls.getpid",))},
}
TICKS = {"x86_64": 2, "riscv64": 100, "aarch64": 16}
"""By how many ns a time that the guest read may be wrong: Linux multiplies and shifts, and the clocks of the
other processors tick so seldom in QEMU."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("operations")


class Measured:
    def __init__(
        self,
        folder: Path,
        system: str,
        workload: str,
        cpus: int,
        *,
        is_compared: bool = True,
        **given: object,
    ) -> None:
        """`is_compared`: the judge compares its histogram value by value, so spans must be its values."""
        booted, of = catalog.load_system(system), catalog.load_workload(workload)
        kit = Bootkit(folder, inputs.qemu(guest=booted.arch), insn=True)
        of = replace(of, machine=SPANS[workload])
        planned = kit.planned(booted, of, cpus, given)
        run = kit.run(booted, of, cpus, given, observed=kit.observed(planned, threads=False), counted=True)
        if not is_compared:
            run = judge_run(run.run, lambda raw: verify.verify_on(raw, replace(of, machine={}), booted))
        assert run.verified, run.reason
        self.workers = run.verified.workers
        self.tick = TICKS[booted.arch.name]
        self.hz = run.verified.hz or 0
        files = RunFiles(run.run)
        self.log: ClockLog = files.clock
        self.transcript = files.transcript
        assert booted.observe
        self.calls = {name: call.number for name, call in booted.observe.calls.items()}

    def pairs(self, name: str) -> list[tuple[Histogram, ThreadOperations]]:
        """The guest's histogram of each worker that has values, and what the machine measured of it: its
        thread read as its first time what the worker reports as its start."""
        threads, ns = self.log.operations[name], 10**9 / self.hz
        assert len(threads) == len(self.workers)
        shifts = (round(self.workers[0].start * ns) - (thread.started or 0) for thread in threads)
        of = next(found for shift in shifts if (found := self._matched(threads, shift)) is not None)
        histograms = enumerate(self.transcript.histograms[name])
        return [(histogram, of[worker]) for worker, histogram in histograms if histogram.count]

    def _matched(self, threads: Sequence[ThreadOperations], shift: int) -> dict[int, ThreadOperations] | None:
        result = {}
        for worker in self.workers:
            start = round(worker.start * 10**9 / self.hz) - shift
            near = [thread for thread in threads if abs((thread.started or 0) - start) <= self.tick]
            if len(near) != 1:
                return None
            result[worker.id] = near[0]
        return result

    def seen(self, name: str) -> int:
        assert self.log.counts
        assert self.log.counts.work
        return witnessed(self.log.counts.work.vcpus, self.calls)[name]


def values(histogram: Histogram, side: int, ns: float = 1.0) -> list[float]:
    """Of each value the smallest (0) or the largest one (1) that its bucket has."""
    clamped = (min(max(bounds(b)[side], histogram.min), histogram.max) for b in histogram.buckets)
    return [
        value * ns for value, n in zip(clamped, histogram.buckets.values(), strict=True) for _ in range(n)
    ]


def assert_equal(measured: Measured, name: str) -> None:
    ns = 10**9 / measured.hz
    for histogram, thread in measured.pairs(name):
        assert thread.inner.count == thread.outer.count == histogram.count
        assert abs(histogram.sum * ns - thread.outer.sum) <= measured.tick * histogram.count
        for figure in ("min", "max"):
            assert abs(getattr(histogram, figure) * ns - getattr(thread.outer, figure)) <= measured.tick
        own, outer = values(histogram, 0, ns), values(thread.outer, 1)
        assert all(one <= other + measured.tick for one, other in zip(own, outer, strict=True))
        own, inner = values(histogram, 1, ns), values(thread.inner, 0)
        assert all(one + measured.tick >= other for one, other in zip(own, inner, strict=True))
        assert thread.inner.sum > 0.9 * thread.outer.sum


@pytest.mark.parametrize(
    "system",
    [
        "linux:start=warm",
        "kernel",
        pytest.param("linux:arch=riscv64", marks=pytest.mark.long),
        pytest.param("linux:arch=aarch64:start=warm", marks=pytest.mark.long),
    ],
)
def test_requests_are_as_long_as_clients_say(folder: Path, system: str) -> None:
    measured = Measured(folder, system, "service", 2, requests=200)
    assert_equal(measured, "latency")
    if system == "kernel":
        return
    # two messages end the two servers
    assert measured.seen("done.write") == measured.seen("done.read") == 402
    assert measured.seen("moved.write") == measured.seen("exchanged.read") == 402 * 64


def test_messages_over_tcp_are_exchanged(folder: Path) -> None:
    measured = Measured(folder, "linux:start=warm", "sockets", 2, requests=100, bytes=1024)
    assert_equal(measured, "latency")
    assert measured.seen("exchanged.read") == measured.seen("moved.read") == 200 * 1032


@pytest.mark.parametrize("system", ["linux:start=warm", "kernel"])
def test_wake_ups_are_as_long_as_sleepers_say(folder: Path, system: str) -> None:
    """The r-th longest that the machine saw is not longer than the guest's."""
    measured = Measured(folder, system, "wake", 2, rounds=200)
    for histogram, thread in measured.pairs("wakeup"):
        assert 0.2 * histogram.count <= thread.inner.count <= histogram.count
        own = sorted(values(histogram, 1, 10**9 / measured.hz), reverse=True)
        inner = sorted(values(thread.inner, 0), reverse=True)
        assert all(one + measured.tick >= other for one, other in zip(own, inner, strict=False))


def test_each_call_is_an_operation(folder: Path) -> None:
    given = {"op": "getpid", "iters": 100, "samples": 3}
    measured = Measured(folder, "linux:start=warm", "micro", 1, is_compared=False, **given)
    ((histogram, thread),) = measured.pairs("sample")
    assert thread.inner.count == measured.seen("done.getpid") == 300
    assert 0.8 * histogram.sum <= thread.inner.sum <= histogram.sum


@pytest.mark.parametrize("system", ["linux:start=warm", "kernel"])
def test_the_guest_sees_nothing_of_it(folder: Path, system: str) -> None:
    """With a program that makes calls, wakes, and reads its clock."""
    booted = catalog.load_system(system)
    of = replace(catalog.load_workload("wake"), machine=SPANS["wake"])
    kit = Bootkit(folder, inputs.qemu(), insn=True, nonce="0123456789abcdef")
    planned = kit.planned(booted, of, 2, {"rounds": 100})
    observed = kit.observed(planned, threads=False)
    plain = kit.run(booted, of, 2, {"rounds": 100})
    seen = kit.run(booted, of, 2, {"rounds": 100}, observed=observed, counted=True)
    without, log = RunFiles(plain.run).clock, RunFiles(seen.run).clock
    assert log.operations
    assert not without.operations
    assert without.repeatable == log.repeatable


@pytest.mark.parametrize(
    "system",
    [
        "linux:arch=aarch64:start=warm",
        pytest.param("linux:arch=riscv64", marks=pytest.mark.long),
        pytest.param("linux:start=warm", marks=pytest.mark.long),
    ],
)
def test_where_threads_are_not_seen_either_call_makes_one(folder: Path, system: str) -> None:
    """As on a fleet. A libc makes threads by clone3 or by clone, which depends on the architecture."""
    booted = catalog.load_system(system)
    kit = Bootkit(folder, inputs.qemu(guest=booted.arch), insn=True)
    judged = kit.run(booted, "spawn", 1, {"kind": "thread", "errands": 20})
    assert judged.verified, judged.reason


@pytest.mark.parametrize("system", ["kernel", pytest.param("linux:start=warm", marks=pytest.mark.long)])
def test_a_cpu_that_only_waits_works_not_less_than_nothing(folder: Path, system: str) -> None:
    """The holder keeps the lock for 4 ms; the other CPU executes nothing but the loop that waits. What that
    spins is part of what it executes."""
    given = {"takes": 20, "hold": 1_000_000, "delay": 10, "lock": "spin"}
    kit = Bootkit(folder, inputs.qemu(), insn=True)
    judged = kit.run(system, "contend", 2, given)
    assert judged.verified, judged.reason
    counts = RunFiles(judged.run).clock.counts
    assert counts
    assert counts.total
    waits = 0
    for cpu in (vcpu.values for vcpu in counts.total.vcpus):
        spun, worked = cpu.get("spun", 0), cpu.get("worked", 0)
        waits = max(waits, spun)
        assert spun <= 2 * cpu["programs"]  # each `pause` counts once more, and so may a loop in a loop
        assert worked <= cpu["instructions"]
        assert cpu["instructions"] - worked >= 0.9 * min(spun, cpu["programs"])
    assert waits > 100_000
