"""What the kernel of our Linux guest had of what its system asks: scheduler in BPF, settings, options. Pure.

Takes the console of a run and its system. PID 1 (guest/init/scx.c, tuned.c) prints what the kernel says of
its scheduler and its settings directly before and after the workload; a run that the kernel's own scheduler
served, or on other settings, is no run of the row that names these. Fails with VerifyError, which has the
kernel's own words for the reason. `hint` takes why a run is refused, and does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from benchgate.base.console_text import plain
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.system.boots import SettingDisplay, SettingFile
from benchgate.base.system.systems import System
from benchgate.base.text import one_line

_SCHEDULER = re.compile(rb"^benchscx at=(\w+)((?: [a-z_]+=\S+)*)\r?$", re.MULTILINE)
_KERNEL = re.compile(rb"sched_ext: ([^\r\n]+)")
_EXIT = re.compile(rb"^benchscx said: (EXIT: [^\r\n]+)", re.MULTILINE)
_BY_PROGRAM = re.compile(rb"^benchscx said: ([^\r\n]+)", re.MULTILINE)
_REFUSED = re.compile(rb"^benchscx said: ([^\r\n]+)\r?\nbenchscx said: processed \d+ insns", re.MULTILINE)
"""What the kernel's verifier of BPF says last, before it counts the instructions."""
_DISABLED = re.compile(rb"sched_ext: BPF scheduler [^\r\n]* disabled")
_FACTS = ("state", "ops", "switch_all", "enable_seq", "nr_rejected")
_SETTING = re.compile(rb"^benchset at=(begin|end) (\S+) ([=!])(?: ([^\r\n]*))?\r?$", re.MULTILINE)
_OF_SETTINGS = re.compile(rb"^benchset said: ([^\r\n]+)", re.MULTILINE)
_MARKED = re.compile(r"(?:^| )[(\[]([^\s()\[\]]+)[)\]](?= |$)")
_LONGEST_REASON = 240
_WHEN = {"begin": "before", "end": "after"}
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
_UNTOLD_END = "exited with status 0 "
"""What a run is refused for whose system ends with another status; other machines than x86 end with 0."""
_BAD_BY_PORT = 35
"""QEMU's status after PID 1 has written a failure to isa-debug-exit."""


def check_kernel(console: bytes, system: System) -> None:
    """The kernel had the scheduler and the settings that the system asks for throughout the window."""
    text = plain(console)
    if system.boot.scheduler:
        _check_scheduler(text)
    if system.boot.kernel_files:
        _check_settings(text, system.boot.kernel_files)


def hint(run: RawRun, console: bytes, reason: str, system: System) -> str:
    """What the console shows of why the run is refused, as the end of the sentence `reason`; or empty."""
    text = plain(console)
    why = _said_of_scheduler(text) if system.boot.scheduler else ""
    why = why or _why_not_made(text, reason, system)
    if why:
        return "" if why in reason else f"; {why}"
    options = _missing(run, text, reason)
    return options and f"; so it is if the kernel is built without {options} ({DOCUMENT})"


def _said_of_scheduler(text: bytes) -> str:
    """For a run that is refused for any reason: whether its scheduler left, which can be the cause of it."""
    if [at for at, _ in _SCHEDULER.findall(text)] == [b"begin", b"end"]:
        try:
            _check_scheduler(text)
        except VerifyError as error:
            return str(error)
        return ""
    return _scheduler_words(text)


def _check_scheduler(text: bytes) -> None:
    begin, end = _facts(text)
    wrong = _wrong_scheduler(begin, end)
    if not wrong and _DISABLED.search(text):
        wrong = "the kernel disabled it"
    if wrong:
        why = _scheduler_words(text)
        raise VerifyError(f"the scheduler in BPF was not in charge throughout: {wrong}{why and f'; {why}'}")


def _scheduler_words(text: bytes) -> str:
    """The kernel's own reason, else what the scheduler's program printed last; empty if nothing did."""
    kernel = [one_line(line) for line in dict.fromkeys(_KERNEL.findall(text))]
    if kernel:
        return f"the kernel says: {'; '.join(kernel[:3])}"
    said = _EXIT.findall(text) or _REFUSED.findall(text) or _BY_PROGRAM.findall(text)
    return f"its program says: {one_line(said[-1])}" if said else ""


def _facts(text: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
    lines = [(at.decode(), words.decode(errors="replace")) for at, words in _SCHEDULER.findall(text)]
    if [at for at, _ in lines] != ["begin", "end"]:
        printed = ", ".join(at for at, _ in lines) or "nothing"
        raise VerifyError(
            f"the guest must print once before and once after the workload which scheduler is in charge, and "
            f"it printed {printed}"
        )
    begin, end = (dict(word.split("=", 1) for word in words.split()) for _, words in lines)
    for at, seen in (("begin", begin), ("end", end)):
        if lacks := [name for name in _FACTS if name not in seen]:
            raise VerifyError(f"the guest's line `benchscx at={at}` has no {lacks[0]}")
    return begin, end


def _wrong_scheduler(begin: Mapping[str, str], end: Mapping[str, str]) -> str:
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
    if seen["ops"] == "none":
        return "the kernel had no name of a scheduler"
    if seen["switch_all"] != "1":
        return f"it scheduled only threads that ask for SCHED_EXT (switch_all={seen['switch_all']})"
    return (
        "" if seen["nr_rejected"] == "0" else f"it had rejected threads (nr_rejected={seen['nr_rejected']})"
    )


def _check_settings(text: bytes, files: Sequence[SettingFile]) -> None:
    expected = [(at, file) for at in _WHEN for file in files]
    lines = _SETTING.findall(text)
    printed = [(at.decode(), path.decode()) for at, path, _, _ in lines]
    if printed != [(at, file.path) for at, file in expected]:
        raise VerifyError(
            "the guest must print once before and once after the workload what each file of its settings "
            f"shows, and it printed {len(lines)} such lines of {len(expected)}"
        )
    for (at, file), (_, _, sign, shown) in zip(expected, lines, strict=True):
        if wrong := _wrong_setting(file, shown.decode(errors="replace"), is_read=sign == b"="):
            why = _settings_words(text)
            raise VerifyError(
                f"the kernel did not run with {file.setting}: {_WHEN[at]} the workload {wrong}"
                f"{why and f'; {why}'}"
            )


def _why_not_made(text: bytes, reason: str, system: System) -> str:
    """Why PID 1 could not write the file that `reason` names; empty if it names none, or nothing says why."""
    refused = [
        kernel_file for kernel_file in system.boot.kernel_files if f" init: {kernel_file.path}: " in reason
    ]
    if refused and "No such file" in reason and refused[0].needs:
        return f"so it is if the kernel was built without {refused[0].needs}"
    return _settings_words(text) if refused else ""


def _settings_words(text: bytes) -> str:
    """What the kernel's log says of the settings; empty if nothing."""
    said = [one_line(line) for line in dict.fromkeys(_OF_SETTINGS.findall(text))]
    return f"the kernel says: {one_line('; '.join(said), _LONGEST_REASON)}" if said else ""


def _wrong_setting(file: SettingFile, shown: str, *, is_read: bool) -> str:
    if not is_read:
        lacks = f"; so it is if the kernel was built without {file.needs}" if file.needs else ""
        return f"{file.path} could not be read: {one_line(shown)}{lacks}"
    if _shows(file, " ".join(shown.split())):
        return ""
    return f"{file.path} showed `{one_line(shown)}`, not `{file.value}`"


def _shows(file: SettingFile, text: str) -> bool:
    match file.shown:
        case SettingDisplay.WORDS:
            return file.value in text.split()
        case SettingDisplay.CPUS:
            return sorted(_cpus(text)) == sorted(set(_cpus(file.value)))
        case SettingDisplay.TEXT:
            return text == file.value or _MARKED.findall(text) == [file.value]


def _cpus(text: str) -> Iterator[int]:
    """The CPUs of a list such as 1,3-5; -1, which no CPU is, for what is no such list."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        is_range = first.isdecimal() and (last or first).isdecimal() and len(part) <= 9
        yield from range(int(first), int(last or first) + 1) if is_range else (-1,)


def _missing(run: RawRun, text: bytes, reason: str) -> str:
    """The options of which something shows that the kernel was built without them. It is taken from what
    PID 1 and the kernel print anyway: each byte of PID 1 counts in the figures of the guest."""
    for line, options in _PRINTED.items():
        if re.search(line, text, re.MULTILINE):
            return options
    if _UNCOUNTED in reason:
        return "CONFIG_SCHEDSTATS"
    if _ONE_CPU.search(reason):
        return "CONFIG_SMP or what tells it of its CPUs (on x86 CONFIG_ACPI)"
    if _UNTOLD_END in reason and _GOOD_END.search(text):
        return "CONFIG_X86_IOPL_IOPERM, or locked down: PID 1 cannot tell QEMU that the run went well"
    if run.exit_status == _BAD_BY_PORT and not _READY.search(text):
        return "CONFIG_DEVTMPFS, or the console that `boot.append` names"
    return ""
