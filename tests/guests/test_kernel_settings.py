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


SETTINGS = (
    *("preempt=full", "nohz_full=1"),  # by the command line
    *("base_slice_ns=1234567", "migration_cost_ns=0", "features=NO_RUN_TO_PARITY"),  # in debugfs
    "sysctl=kernel.sched_autogroup_enabled=0+vm.swappiness=7",
)
SEEN = (
    "/sys/kernel/debug/sched/preempt = none voluntary (full)",
    "/sys/devices/system/cpu/nohz_full = 1",
    "/sys/kernel/debug/sched/base_slice_ns = 1234567",
    "/sys/kernel/debug/sched/migration_cost_ns = 0",
    "NO_RUN_TO_PARITY",
    "/proc/sys/kernel/sched_autogroup_enabled = 0",
    "/proc/sys/vm/swappiness = 7",
)


def test_each_setting_is_made_and_shown_before_and_after(insn: Bootkit) -> None:
    """One boot has one of each kind."""
    judged = insn.run(":".join(["linux", *SETTINGS]), "primes", 2, SMALL)
    assert judged.verified, judged.reason
    lines = shown(judged)
    begun, ended = ([line for line in lines if line.startswith(word)] for word in ("begin", "end"))
    assert lines == [*begun, *ended]
    assert [text.removeprefix("begin") for text in begun] == [text.removeprefix("end") for text in ended]
    assert len(begun) == len(SEEN)
    for expected in SEEN:
        assert len([text for text in begun if expected in text]) == 1, lines


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
