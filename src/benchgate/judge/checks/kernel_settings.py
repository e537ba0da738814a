"""Whether the kernel had the settings that a system asks for throughout the window. Pure.

Takes the console of a run and its system; gives nothing, or the kernel's own words for why it did not take a
setting. PID 1 (guest/init/tuned.c) prints what the kernel's files show directly before and after the
workload. Fails with VerifyError: a run on other settings is no run of the row that names these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchgate.base.console.console_text import plain
from benchgate.base.errors import VerifyError
from benchgate.base.system.boots import SettingFile, Shown
from benchgate.base.system.systems import System
from benchgate.base.text import one_line

_LINE = re.compile(rb"^benchset at=(begin|end) (\S+) ([=!])(?: ([^\r\n]*))?\r?$", re.MULTILINE)
_SAID = re.compile(rb"^benchset said: ([^\r\n]+)", re.MULTILINE)
_MARKED = re.compile(r"(?:^| )[(\[]([^\s()\[\]]+)[)\]](?= |$)")
_LONGEST_REASON = 240
_WHEN = {"begin": "before", "end": "after"}


def check_kernel_settings(console: bytes, system: System) -> None:
    files = system.boot.kernel_files
    if not files:
        return
    text = plain(console)
    expected = [(at, one) for at in _WHEN for one in files]
    found = _LINE.findall(text)
    if [(at.decode(), path.decode()) for at, path, _, _ in found] != [(at, one.path) for at, one in expected]:
        raise VerifyError(
            "the guest must print once before and once after the workload what each file of its settings "
            f"shows, and it printed {len(found)} such lines of {len(expected)}"
        )
    for (at, one), (_, _, sign, shown) in zip(expected, found, strict=True):
        if wrong := _wrong(one, shown.decode(errors="replace"), is_read=sign == b"="):
            why = _kernel_words(console)
            raise VerifyError(
                f"the kernel did not run with {one.setting}: {_WHEN[at]} the workload {wrong}"
                f"{why and f'; {why}'}"
            )


def why_not_made(console: bytes, reason: str, system: System) -> str:
    """Why PID 1 could not write the file that `reason` names; empty if it names none, or nothing says why."""
    refused = [one for one in system.boot.kernel_files if f" init: {one.path}: " in reason]
    if refused and "No such file" in reason and refused[0].needs:
        return f"so it is if the kernel was built without {refused[0].needs}"
    return _kernel_words(console) if refused else ""


def _kernel_words(console: bytes) -> str:
    """What the kernel's log says of the settings; empty if nothing."""
    said = [one_line(line) for line in dict.fromkeys(_SAID.findall(plain(console)))]
    return f"the kernel says: {one_line('; '.join(said), _LONGEST_REASON)}" if said else ""


def _wrong(one: SettingFile, shown: str, *, is_read: bool) -> str:
    if not is_read:
        lacks = f"; so it is if the kernel was built without {one.needs}" if one.needs else ""
        return f"{one.path} could not be read: {one_line(shown)}{lacks}"
    if _shows(one, " ".join(shown.split())):
        return ""
    return f"{one.path} showed `{one_line(shown)}`, not `{one.value}`"


def _shows(one: SettingFile, text: str) -> bool:
    match one.shown:
        case Shown.WORDS:
            return one.value in text.split()
        case Shown.CPUS:
            return sorted(_cpus(text)) == sorted(set(_cpus(one.value)))
        case Shown.TEXT:
            return text == one.value or _MARKED.findall(text) == [one.value]


def _cpus(text: str) -> Iterator[int]:
    """The CPUs of a list such as 1,3-5; -1, which no CPU is, for what is no such list."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        is_range = first.isdecimal() and (last or first).isdecimal() and len(part) <= 9
        yield from range(int(first), int(last or first) + 1) if is_range else (-1,)
