"""Which option the kernel of a Linux guest was built without, if that is why a run is no result. Pure.

Takes a run on our PID 1 (guest/init/init.c), its console and why it was refused; gives the end of a sentence
that names the options, empty if nothing shows that one is missing. It is taken from what PID 1 and the kernel
print anyway: each byte of PID 1 counts in the figures of the guest. Does not fail.
"""

from __future__ import annotations

import re

from benchgate.base.console.console_text import plain
from benchgate.base.runs import RawRun

DOCUMENT = "`benchgate docs linux-options`"
_PRINTED = {
    rb"^benchfail: init: /proc: No such device$": "CONFIG_PROC_FS",
    rb"^benchfail: init: /sys: No such device$": "CONFIG_SYSFS",
    rb"^benchfail: init: /sys/kernel/debug: No such device$": "CONFIG_DEBUG_FS",
    rb"VFS: Unable to mount root fs": "CONFIG_BLK_DEV_INITRD",
    rb"Failed to execute /init \(error -8\)": "CONFIG_BINFMT_ELF, CONFIG_64BIT",
}
_UNCOUNTED = "foreign time=na"
_ONE_CPU = re.compile(r"^[0-9]+ CPUs were requested, but 1 came up")
_GOOD_END = re.compile(rb"^benchexit status=0$", re.MULTILINE)
_READY = re.compile(rb"^benchready\b", re.MULTILINE)
_BAD_BY_PORT = 35
"""QEMU's status after PID 1 has written a failure to isa-debug-exit."""


def missing(run: RawRun, console: bytes, reason: str) -> str:
    """`reason`: why the run is refused."""
    options = _options(run, plain(console), reason)
    return options and f"; so it is if the kernel is built without {options} ({DOCUMENT})"


def _options(run: RawRun, text: bytes, reason: str) -> str:
    for line, options in _PRINTED.items():
        if re.search(line, text, re.MULTILINE):
            return options
    if _UNCOUNTED in reason:
        return "CONFIG_SCHEDSTATS"
    if _ONE_CPU.search(reason):
        return "CONFIG_SMP or what tells it of its CPUs (on x86 CONFIG_ACPI)"
    if run.exit_status == 0 and _GOOD_END.search(text):
        return "CONFIG_X86_IOPL_IOPERM, or locked down: PID 1 cannot tell QEMU that the run went well"
    if run.exit_status == _BAD_BY_PORT and not _READY.search(text):
        return "CONFIG_DEVTMPFS, or the console that `boot.append` names"
    return ""
