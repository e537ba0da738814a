"""Counters as real kernels print them; absence must never read as quiet."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.host import noise

from .conftest import Tree

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
    (found,) = noise.process_snapshot(10, tree(THREAD))
    assert (found.tid, found.name, found.cpu) == (11, "CPU 0/TCG", 7)
    assert (found.run_ns, found.run_delay_ns) == (5000, 700)
    assert (found.voluntary, found.involuntary, found.migrations) == (4, 9, 2)


def test_newer_kernels_name_migrations_otherwise(tree: Tree) -> None:
    files = THREAD | {"proc/10/task/11/sched": "nr_migrations : 6"}
    assert noise.thread_snapshot(10, 11, tree(files)).migrations == 6


def test_a_kernel_that_does_not_count_is_not_quiet(tree: Tree) -> None:
    found = noise.thread_snapshot(10, 11, tree({"proc/10/task/11/schedstat": "0 0 0"}))
    assert (found.run_ns, found.run_delay_ns) == (None, None)


def test_what_grew(tree: Tree) -> None:
    before = noise.thread_snapshot(10, 11, tree(THREAD))
    after = replace(
        before, time_ns=before.time_ns + 50, run_delay_ns=750, involuntary=12, migrations=3, cpu=1
    )
    grown = noise.thread_delta(before, after)
    assert (grown.elapsed_ns, grown.run_delay_ns, grown.involuntary, grown.migrations) == (50, 50, 3, 1)
    assert (grown.run_ns, grown.voluntary) == (0, 0)
    assert (grown.cpu_before, grown.cpu_after) == (7, 1)


def test_a_thread_that_ended_has_no_growth(tree: Tree, tmp_path: Path) -> None:
    before = noise.thread_snapshot(10, 11, tree(THREAD))
    gone = noise.thread_snapshot(10, 11, tmp_path / "nothing")
    plain = noise.plain(noise.thread_delta(before, gone))
    assert {name: plain[name] for name in ("run_delay_ns", "involuntary", "migrations", "cpu_after")} == {
        "run_delay_ns": "unavailable",
        "involuntary": "unavailable",
        "migrations": "unavailable",
        "cpu_after": "unavailable",
    }
    assert noise.process_snapshot(10, tmp_path / "nothing") == ()


def test_another_thread_with_the_same_counters_is_refused(tree: Tree) -> None:
    before = noise.thread_snapshot(10, 11, tree(THREAD))
    with pytest.raises(ValueError, match="two threads"):
        noise.thread_delta(before, replace(before, tid=12))


def test_the_hosts_counters(tree: Tree) -> None:
    root = tree(HOST)
    before = noise.host_snapshot(root)
    assert (before.steal_ticks, before.all_ticks) == ({0: 20, 1: 20}, {0: 1000, 1: 1000})
    tree(
        {
            "proc/stat": "cpu0 190 0 50 800 10 0 20 30 5 0\ncpu1 300 0 50 700 10 0 20 20 5 0",
            "proc/pressure/cpu": "some avg10=0.00 total=4600",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "2100000",
            "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "7",
        }
    )
    found = noise.host_delta(before, noise.host_snapshot(root))
    assert found.steal_share == {0: 0.1, 1: 0.0}
    assert (found.psi_cpu_us, found.throttles) == (600, 2)
    assert found.frequency_spread == pytest.approx(0.05)


def test_a_host_that_says_nothing_is_unavailable_throughout(tmp_path: Path) -> None:
    before, after = noise.host_snapshot(tmp_path), noise.host_snapshot(tmp_path)
    plain = noise.plain(noise.host_delta(before, after))
    del plain["elapsed_ns"]
    assert set(plain.values()) == {"unavailable"}
    assert not any(noise.detectors(tmp_path).values())


def test_a_detector_that_some_cpus_lack_is_unavailable(tree: Tree) -> None:
    root = tree(HOST)
    (root / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count").unlink()
    assert noise.host_snapshot(root).throttles is None
    assert noise.host_snapshot(root, cpus=[0]).throttles == {0: 4}
    assert noise.host_snapshot(root, cpus=[0, 2]).steal_ticks is None
    assert noise.host_snapshot(root, cpus=[]).steal_ticks is None


def test_old_kernels_without_a_steal_column(tree: Tree) -> None:
    found = noise.host_snapshot(tree({"proc/stat": "cpu0 1 2 3 4\n"}))
    assert (found.steal_ticks, found.all_ticks) == (None, {0: 10})


def test_no_tick_is_no_share(tree: Tree) -> None:
    root = tree(HOST)
    assert noise.host_delta(noise.host_snapshot(root), noise.host_snapshot(root)).steal_share is None


def test_a_counter_that_went_back_is_unavailable(tree: Tree) -> None:
    root = tree(HOST)
    before = noise.host_snapshot(root)
    tree({"proc/stat": "cpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 900 0 50 700 10 0 20 20 5 0"})
    assert noise.host_delta(before, noise.host_snapshot(root)).steal_share is None


def test_this_very_process_is_seen_to_run() -> None:
    pid = os.getpid()
    before = noise.thread_snapshot(pid, pid)
    limit = time.process_time() + 0.05
    while time.process_time() < limit:
        pass
    grown = noise.thread_delta(before, noise.thread_snapshot(pid, pid))
    assert grown.elapsed_ns > 0
    if before.run_ns is not None:
        assert grown.run_ns is not None
        assert grown.run_ns > 10_000_000
