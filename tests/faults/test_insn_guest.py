"""The instruction clock under a Linux guest: it repeats, it tells the truth, and its books close.

A few boots here; `nox -s soak` runs all cases at all CPU counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import psutil
import pytest

from benchgate import insn
from benchgate.errors import VerifyError
from benchgate.insn import ClockMode, Level, plugin, read_attribution, read_symbols, top_table
from tests.insnlab import CASES, PRIMES, Boot, Case, Debugger, burning, errands, lab, run_case

NAMED_THREADS = ("-name", "guest=lab,debug-threads=on")
SMALL = PRIMES.format(hi=300_000)


@cache
def plain(cpus: int, seed: int = 0) -> Boot:
    """A boot with nothing special, made once for all who compare with it."""
    return lab().boot("primes", cpus, SMALL, seed=seed)


def told(boot: Boot) -> tuple[str, object]:
    """All that must repeat."""
    assert boot.status == 33, boot.errors
    assert boot.log is not None
    assert boot.log.closed
    return boot.console, boot.log.repeatable


@pytest.mark.parametrize(("cpus", "burners"), [(2, 0), (4, 2)])
def test_a_serial_run_repeats_bit_for_bit(cpus: int, burners: int) -> None:
    first = told(plain(cpus, 1))
    with burning(burners):
        assert told(lab().boot("primes", cpus, SMALL, seed=1)) == first


@pytest.mark.parametrize("attempt", [1, 2])
def test_what_qemu_does_in_the_background_does_not_reach_the_guest(tmp_path: Path, attempt: int) -> None:
    """Vcpus that are woken for QEMU's own business at the host's times do not run out of turn for it."""
    disturbed = lab().boot("primes", 4, SMALL, seed=1, extra=errands(tmp_path, every_us=20))
    assert told(disturbed) == told(plain(4, 1))
    assert disturbed.log is not None
    assert disturbed.log.host["errands"] > 1_000


def host_cpus_of_its_vcpus() -> set[int]:
    """Where the threads of this process's only QEMU may run: a CPU, or all while they float."""
    (qemu,) = (child for child in psutil.Process().children() if "qemu" in child.name())
    tasks = Path(f"/proc/{qemu.pid}/task").glob("*/comm")
    vcpus = [int(task.parent.name) for task in tasks if task.read_text().startswith("CPU ")]
    return set().union(*(os.sched_getaffinity(vcpu) for vcpu in vcpus))


def until(answer: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not answer():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one host CPU: nowhere else to be")
def test_a_serial_machine_stays_on_one_host_cpu_and_leaves_it_to_whoever_needs_it() -> None:
    seen: list[set[int]] = []

    def during(_folder: Path) -> None:
        until(lambda: len(host_cpus_of_its_vcpus()) == 1)
        seen.append(host_cpus_of_its_vcpus())
        with burning(2, seen[0]):
            until(lambda: len(host_cpus_of_its_vcpus() | seen[0]) == 2)
        seen.append(host_cpus_of_its_vcpus())

    words = PRIMES.format(hi=3_000_000)
    assert lab().boot("primes", 2, words, during=during, extra=NAMED_THREADS).window(2).work > 0
    assert len(seen) == 2


def test_another_build_of_the_plugin_gives_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    first = told(plain(2, 1))
    other = tuple("-O1" if flag == "-O2" else flag for flag in plugin.FLAGS)
    assert other != plugin.FLAGS
    monkeypatch.setattr(plugin, "FLAGS", other)
    assert told(lab().boot("primes", 2, SMALL, seed=1)) == first


def test_a_run_under_a_debugger_is_the_same_run_until_it_is_stopped() -> None:
    attached = told(lab().boot("primes", 2, SMALL, seed=1, debugger=Debugger()))
    assert attached == told(plain(2, 1))


def test_a_debugger_may_stop_a_run_for_as_long_as_it_likes() -> None:
    bench = lab()
    symbols = read_symbols(insn.linux_symbols(bench.qemu, bench.kernel))
    debugger = Debugger(dict(zip(symbols.names, symbols.addresses, strict=True))["do_exit"])
    stopped = bench.boot("primes", 2, SMALL, seed=1, debugger=debugger)
    assert debugger.stops == 1
    assert stopped.window(2).work == pytest.approx(plain(2, 1).window(2).work, rel=0.002)


def test_seeds_are_other_runs_of_the_same_speed() -> None:
    windows = [plain(2, seed).window(2).work for seed in (0, 1, 2)]
    assert len(set(windows)) == 3
    assert max(windows) / min(windows) < 1.01


def test_two_cpus_are_twice_as_fast_and_parallel_agrees_with_serial() -> None:
    one, two = (plain(cpus).window(cpus).work for cpus in (1, 2))
    assert 1.9 <= one / two <= 2.02
    parallel = lab(mode=ClockMode.PARALLEL).boot("primes", 2, SMALL).window(2).work
    assert parallel == pytest.approx(two, rel=0.002)


def test_level_count_counts_the_same_instructions() -> None:
    full = plain(2).window(2).work
    counted = lab(Level.COUNT, ClockMode.PARALLEL).boot("primes", 2, SMALL).window(2).work
    # Its timers tick on the host's time: a busy host brings more of them into one window, never fewer.
    assert full * 0.99 <= counted <= full * 1.2


def test_level_count_refuses_a_worker_that_sleeps() -> None:
    sleepers = next(case for case in CASES if case.name == "sleepers")
    with pytest.raises(VerifyError, match="waited inside its window: at level count"):
        run_case(lab(Level.COUNT, ClockMode.PARALLEL), sleepers, 2)


def name_of(case: Case) -> str:
    return f"{case.name}-{case.workers or 'all'}"


# A lock that all fight for is exact and slow.
FEW = [CASES[1], replace(CASES[6], work=CASES[6].work // 8), CASES[8]]


@pytest.mark.parametrize("case", FEW, ids=name_of)
def test_durations_are_those_of_arithmetic(case: Case) -> None:
    assert run_case(lab(), case, 4, seed=1).error < 0.01


@pytest.mark.soak
@pytest.mark.parametrize("cpus", [2, 4, 8])
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_every_duration_is_that_of_arithmetic(case: Case, cpus: int) -> None:
    assert run_case(lab(), case, cpus, seed=2).error < 0.01


def test_the_books_of_time_close(tmp_path: Path) -> None:
    path = tmp_path / "attribution"
    boot = lab().boot("primes", 2, SMALL, seed=9, attribution=path)
    assert boot.log is not None
    for vcpu in boot.log.totals:
        known = vcpu.executed + vcpu.paused + vcpu.skipped + vcpu.halted
        # A seed's start skew is all that is not one of the four.
        assert 0 <= vcpu.time - known < insn.QUANTUM
    # An HPET would make 41,000 round trips through the main loop at boot.
    assert 0 < boot.log.checks["notes"] < 2_000
    bench = lab()
    seen = read_attribution(path, read_symbols(insn.linux_symbols(bench.qemu, bench.kernel)))
    assert seen.window == pytest.approx(boot.window(2).total, abs=2)
    for share in seen.vcpus:
        known = share.user + share.kernel + share.paused + share.skipped + share.halted
        assert known == pytest.approx(seen.window, abs=insn.QUANTUM)
        assert share.user > 0.9 * seen.window
    assert "user [user]" in top_table(seen)
    named = {symbol for space, symbol in seen.by_symbol() if space == "kernel"}
    assert "do_exit" in named  # each worker is a process that ends inside the window
