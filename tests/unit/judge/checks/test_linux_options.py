"""A refused run of a Linux whose kernel lacks an option names it; other refusals stay as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.judge.checks.linux_options import missing
from tests.unit.factories import cell, raw_run

ENDED = b"benchready\n@bench end\nbenchquiet quiet=yes waited_ms=63\nbenchexit status=0\n"


@pytest.mark.parametrize(
    ("console", "status", "reason", "option"),
    [
        (ENDED, 0, "the process exited with status 0 after its end line", "CONFIG_X86_IOPL_IOPERM"),
        (b"\nbenchfail: init: /proc: No such device\n", 35, "", "CONFIG_PROC_FS"),
        (b"\nbenchfail: init: /sys: No such device\r\n", 35, "", "CONFIG_SYSFS"),
        (b"benchready\nbenchfail: init: /sys/kernel/debug: No such device\n", 35, "", "CONFIG_DEBUG_FS"),
        (b"Kernel panic - not syncing: VFS: Unable to mount root fs on unknown\n", 0, "", "BLK_DEV_INITRD"),
        (b"Failed to execute /init (error -8)\n", 0, "", "CONFIG_BINFMT_ELF"),
        (ENDED, 33, "the guest did not count foreign CPU time (foreign time=na), so", "CONFIG_SCHEDSTATS"),
        (ENDED, 33, "2 CPUs were requested, but 1 came up", "CONFIG_SMP"),
        (b"Decompressing\n", 35, "the process exited with status 35 while it booted", "CONFIG_DEVTMPFS"),
    ],
)
def test_what_a_kernel_lacks_is_named(console: bytes, status: int, reason: str, option: str) -> None:
    said = missing(replace(raw_run(cell(2)), exit_status=status), console, reason)
    assert said.startswith("; so it is if the kernel is built without ")
    assert option in said
    assert said.endswith("(`benchgate docs linux-options`)")


@pytest.mark.parametrize(
    ("console", "status", "reason"),
    [
        (ENDED, 33, "wrong answer: count is 3"),
        (ENDED, None, "not finished within its deadline"),
        (b"benchready\nbenchexit status=256\n", 0, "the process exited with status 0"),
        (
            b"benchready\nbenchfail: init: /proc: Operation not permitted\n",
            35,
            "the guest reported a failure",
        ),
        (b"benchready\nbenchfail: a task could not be started\n", 35, "the guest reported a failure"),
        (ENDED, 33, "4 CPUs were requested, but 2 came up"),
    ],
)
def test_another_refusal_names_no_option(console: bytes, status: int | None, reason: str) -> None:
    assert missing(replace(raw_run(cell(2)), exit_status=status), console, reason) == ""
