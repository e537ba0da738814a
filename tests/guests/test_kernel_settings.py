"""Settings of Linux in real guests: what its kernel took, what it did not, and what the run is then."""

from __future__ import annotations

import re

import pytest

from benchgate.build.fetch import inputs
from benchgate.judge.judged_run import JudgedRun
from tests.ternkit import Bootkit

SMALL = {"hi": 20_000}


@pytest.fixture(scope="module")
def insn(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("settings"), inputs.qemu(), True)


def shown(judged: JudgedRun) -> list[str]:
    text = (judged.run.folder / "serial.log").read_text()
    return [" ".join(line.split()) for line in re.findall(r"^benchset at=(.*)", text, re.MULTILINE)]


@pytest.mark.parametrize(
    ("word", "seen"),
    [
        (
            "preempt=full:nohz_full=1",
            [
                "/sys/kernel/debug/sched/preempt = none voluntary (full)",
                "/sys/devices/system/cpu/nohz_full = 1",
            ],
        ),
        (
            "base_slice_ns=1234567:features=NO_RUN_TO_PARITY",
            ["/sys/kernel/debug/sched/base_slice_ns = 1234567", "NO_RUN_TO_PARITY"],
        ),
        (
            "sysctl=kernel.sched_autogroup_enabled=0+vm.swappiness=7",
            ["/proc/sys/kernel/sched_autogroup_enabled = 0", "/proc/sys/vm/swappiness = 7"],
        ),
    ],
    ids=["command line", "debugfs", "sysctl"],
)
def test_a_setting_is_made_and_shown_before_and_after(insn: Bootkit, word: str, seen: list[str]) -> None:
    judged = insn.run(f"linux:{word}", "primes", 2, SMALL)
    assert judged.verified, judged.reason
    lines = shown(judged)
    assert [line.partition(" ")[0] for line in lines] == ["begin", "begin", "end", "end"]
    for expected, begin, end in zip(seen, lines[:2], lines[2:], strict=True):
        assert expected in begin
        assert begin.removeprefix("begin") == end.removeprefix("end")


@pytest.mark.parametrize(
    ("word", "cpus", "said"),
    [
        ("isolcpus=7", 1, "did not run with isolcpus=7: before the workload .*/isolated showed ``, not `7`"),
        (
            "preempt=eager",
            1,
            "not `eager`; the kernel says: Dynamic Preempt: unsupported mode: eager",
        ),
        (
            "features=NO_SUCH",
            1,
            "benchfail: init: /sys/kernel/debug/sched/features: NO_SUCH: Invalid argument",
        ),
        (
            "sysctl=kernel.no_such=1",
            1,
            "init: /proc/sys/kernel/no_such: 1: No such file or directory.*; so it is if",
        ),
        ("rv=wwnr", 1, "/rv/monitors/wwnr/reactors: printk: No such file.*built without CONFIG_RV"),
    ],
    ids=["command line", "command line, with a reason", "debugfs", "sysctl", "tracefs"],
)
def test_what_a_kernel_does_not_take_makes_the_run_no_result(
    insn: Bootkit, word: str, cpus: int, said: str
) -> None:
    judged = insn.run(f"linux:{word}", "primes", cpus, SMALL)
    assert not judged.verified
    assert re.search(said, judged.reason), judged.reason
