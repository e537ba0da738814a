"""Counters as real kernels print them. A missing counter must never read as no disturbance."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from benchgate.host import noise
from tests.unit.conftest import Tree

STAT_TAIL = "S " + " ".join(str(n) for n in range(4, 39)) + " 7 " + " ".join(str(n) for n in range(40, 53))
THREAD = {
    "proc/10/task/11/schedstat": "5000 700 3",
    "proc/10/task/11/status": "Name:\tCPU 0/TCG\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t9",
    "proc/10/task/11/sched": "CPU 0/TCG (11, #threads: 3)\n--\nse.nr_migrations  :   2\nnr_switches : 3",
    "proc/10/task/11/stat": f"11 (CPU) 0/TCG) {STAT_TAIL}",
}
STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 50 800 10 0 20 20 5 0\ncpu1 200 0 50 700 10 0 20 20 5 0\nintr 5"
HOST = {
    "proc/stat": STAT,
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.20 avg300=0.24 total=4000\nfull avg10=0.00 total=9",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2000000",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "2000000",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "4",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "5",
}


def test_a_threads_counters(tree: Tree) -> None:
    counters = noise.thread_counters(10, 11, tree(THREAD))
    assert (counters.thread, counters.name, counters.cpu) == (11, "CPU 0/TCG", 7)
    assert (counters.run_ns, counters.delay_ns) == (5000, 700)
    assert (counters.voluntary, counters.involuntary, counters.migrations) == (4, 9, 2)


def test_newer_kernels_have_another_name_for_migrations(tree: Tree) -> None:
    files = THREAD | {"proc/10/task/11/sched": "nr_migrations : 6"}
    assert noise.thread_counters(10, 11, tree(files)).migrations == 6


def test_counters_of_a_kernel_that_does_not_count_are_none(tree: Tree) -> None:
    counters = noise.thread_counters(10, 11, tree({"proc/10/task/11/schedstat": "7 0 0"}))
    assert (counters.run_ns, counters.delay_ns) == (None, None)


def test_the_hosts_counters(tree: Tree) -> None:
    root = tree(HOST)
    before = noise.host_snapshot(root)
    assert (before.steal_ticks, before.all_ticks) == ({0: 20, 1: 20}, {0: 1000, 1: 1000})
    assert (before.psi_cpu_us, before.throttles) == (4000, {0: 4, 1: 5})
    assert before.frequency_khz == {0: 2_000_000, 1: 2_000_000}


def test_every_counter_of_a_host_without_files_is_none(tmp_path: Path) -> None:
    result = asdict(noise.host_snapshot(tmp_path))
    del result["time_ns"]
    assert set(result.values()) == {None}
    assert not any(noise.detectors(tmp_path).values())


def test_a_counter_that_some_cpus_lack_is_none(tree: Tree) -> None:
    root = tree(HOST)
    (root / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count").unlink()
    assert noise.host_snapshot(root).throttles is None
    assert noise.host_snapshot(root, cpus=[0]).throttles == {0: 4}
    assert noise.host_snapshot(root, cpus=[0, 2]).steal_ticks is None
    assert noise.host_snapshot(root, cpus=[]).steal_ticks is None


def test_old_kernels_have_no_steal_column(tree: Tree) -> None:
    snapshot = noise.host_snapshot(tree({"proc/stat": "cpu0 1 2 3 4\n"}))
    assert (snapshot.steal_ticks, snapshot.all_ticks) == (None, {0: 10})


def test_the_counters_of_this_process_increase() -> None:
    pid = os.getpid()
    before = noise.thread_counters(pid, pid)
    limit = time.process_time() + 0.05
    while time.process_time() < limit:
        pass
    after = noise.thread_counters(pid, pid)
    if before.run_ns is None:
        pytest.skip("this kernel does not count the run time of threads (/proc/PID/schedstat)")
    assert after.run_ns is not None
    assert after.run_ns - before.run_ns > 10_000_000
