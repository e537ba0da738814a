"""Whether the scheduler in BPF that a system asks for was in charge of the whole window. Pure.

Takes the console of a run and its system; gives nothing, or the kernel's own words for why a scheduler was
not in charge. PID 1 (guest/init/scx.c) prints what the kernel says of it directly before and after the
workload. Fails with VerifyError: a run that the kernel's own scheduler served instead is no run of the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.console.console_text import plain
from benchgate.base.errors import VerifyError
from benchgate.base.system.systems import System
from benchgate.base.text import one_line

_LINE = re.compile(rb"^benchscx at=(\w+)((?: [a-z_]+=\S+)*)\r?$", re.MULTILINE)
_KERNEL = re.compile(rb"sched_ext: ([^\r\n]+)")
_EXIT = re.compile(rb"^benchscx said: (EXIT: [^\r\n]+)", re.MULTILINE)
_SAID = re.compile(rb"^benchscx said: ([^\r\n]+)", re.MULTILINE)
_REFUSED = re.compile(rb"^benchscx said: ([^\r\n]+)\r?\nbenchscx said: processed \d+ insns", re.MULTILINE)
"""What the kernel's verifier of BPF says last, before it counts the instructions."""
_DISABLED = re.compile(rb"sched_ext: BPF scheduler [^\r\n]* disabled")
_FACTS = ("state", "ops", "switch_all", "enable_seq", "nr_rejected")
_NONE = "none"
_BEGIN, _END = "begin", "end"


def check_scheduler(console: bytes, system: System) -> None:
    if not system.boot.scheduler:
        return
    text = plain(console)
    begin, end = _facts(text)
    wrong = _wrong(begin, end)
    if not wrong and _DISABLED.search(text):
        wrong = "the kernel disabled it"
    if wrong:
        why = kernel_reason(console)
        raise VerifyError(f"the scheduler in BPF was not in charge throughout: {wrong}{why and f'; {why}'}")


def kernel_reason(console: bytes) -> str:
    """The kernel's own reason, else what the scheduler's program printed last; empty if nothing did."""
    text = plain(console)
    kernel = [one_line(line) for line in dict.fromkeys(_KERNEL.findall(text))]
    if kernel:
        return f"the kernel says: {'; '.join(kernel[:3])}"
    said = _EXIT.findall(text) or _REFUSED.findall(text) or _SAID.findall(text)
    return f"its program says: {one_line(said[-1])}" if said else ""


def _facts(text: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
    found = [(at.decode(), words.decode(errors="replace")) for at, words in _LINE.findall(text)]
    if [at for at, _ in found] != [_BEGIN, _END]:
        printed = ", ".join(at for at, _ in found) or "nothing"
        raise VerifyError(
            f"the guest must print once before and once after the workload which scheduler is in charge, and "
            f"it printed {printed}"
        )
    begin, end = (dict(word.split("=", 1) for word in words.split()) for _, words in found)
    for at, seen in ((_BEGIN, begin), (_END, end)):
        if lacks := [name for name in _FACTS if name not in seen]:
            raise VerifyError(f"the guest's line `benchscx at={at}` has no {lacks[0]}")
    return begin, end


def _wrong(begin: Mapping[str, str], end: Mapping[str, str]) -> str:
    """What shows that another scheduler served the workload; empty if nothing does."""
    for at, seen in (("before the workload", begin), ("after the workload", end)):
        if wrong := _wrong_now(seen):
            return f"{at} {wrong}"
    if begin["ops"] != end["ops"]:
        return f"it was `{begin['ops']}` before the workload and `{end['ops']}` after it"
    if begin["enable_seq"] != end["enable_seq"] or not begin["enable_seq"].isdecimal():
        return (
            f"schedulers were enabled meanwhile (enable_seq {begin['enable_seq']}, then {end['enable_seq']})"
        )
    return ""


def _wrong_now(seen: Mapping[str, str]) -> str:
    if seen["state"] != "enabled":
        return f"its state was `{seen['state']}`"
    if seen["ops"] == _NONE:
        return "the kernel had no name of a scheduler"
    if seen["switch_all"] != "1":
        return f"it scheduled only threads that ask for SCHED_EXT (switch_all={seen['switch_all']})"
    return (
        "" if seen["nr_rejected"] == "0" else f"it had rejected threads (nr_rejected={seen['nr_rejected']})"
    )
