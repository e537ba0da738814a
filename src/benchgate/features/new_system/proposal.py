"""Writes the YAML of a new system from what its first boots showed. Pure.

Takes the machine on which it booted, the guesses and what was typed; gives the text, in which a comment says
where each guess is from, and the keys that nobody could guess, which the user fills in. A Linux needs no
first boot, because our own PID 1 and its words are known: its YAML is a copy of the built-in system's with
the user's image. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.system.boots import DEFAULT_FIRMWARE
from benchgate.base.system.qemu import Disk
from benchgate.base.system.results import TYPED
from benchgate.base.system.systems import System
from benchgate.base.text import one_line
from benchgate.features.new_system.guesses import Guesses, TimeLine

FILL_IN = "FILL IN"
"""Marks a line that the user has to change."""
_LONGEST = 300
"""A comment has at most so many characters of what the guest printed."""
_COMMENT = 100
"""The same of a line that is one of several."""
_SHOWN = 6
"""How many other candidates are listed."""
_BY_SETTINGS = re.compile(r"^  (?:source|config|scheduler): .*\n", re.MULTILINE)
"""The keys of `boot` that only a setting has a value for."""
_SETTINGS = re.compile(r"^settings:\n(?:[ ].*\n)+", re.MULTILINE)
_VALUE = re.compile(r"^(name|about|arch|  kernel): .*$", re.MULTILINE)
_ABOUT = "a Linux kernel of my own, one static workload in an initramfs"


@dataclass(frozen=True, slots=True)
class Proposal:
    system: System
    about: str
    guesses: Guesses
    typed: Sequence[str] = ()
    why_fewer: str = ""
    """Why it has fewer CPUs than came up; empty: it did not come as far with more."""

    def on_one_cpu(self, why: str) -> Proposal:
        return replace(self, guesses=replace(self.guesses, counts=(1,)), why_fewer=why)

    @property
    def text(self) -> str:
        return "\n".join([*_head(self), *_boot(self.system), *_asked(self), *_judged(self)]) + "\n"


def missing(text: str) -> tuple[str, ...]:
    """The lines that the user has to change, with their numbers."""
    numbered = enumerate(text.split("\n"), 1)
    return tuple(f"line {number}: {line.strip()}" for number, line in numbered if FILL_IN in line)


def quoted(text: str) -> str:
    """A YAML scalar that is read as this text, whatever a console has printed."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in {'"', "\\"}:
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def _flow(words: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def _head(of: Proposal) -> Iterator[str]:
    yield "version: 1"
    yield f"name: {of.system.name}"
    yield "kind: qemu"
    yield f"about: {quoted(of.about)}"
    if of.system.arch is not X86_64:
        yield f"arch: {of.system.arch}"


def _boot(system: System) -> Iterator[str]:
    words = system.qemu
    yield "qemu:"
    yield f"  machine: {words.machine}    # the plainest machine that was tried and on which it came up"
    if words.cpu:
        yield f"  cpu: {quoted(words.cpu)}"
    yield f"  memory: {words.memory}"
    yield f"  smp: {quoted(words.smp)}"
    if words.arguments:
        yield f"  arguments: {_flow(words.arguments)}"
    yield "boot:"
    if system.boot.kernel:
        each = ", one for each CPU count" if system.has_guest_per_count else ""
        yield f"  kernel: {quoted(system.boot.kernel)}    # relative to this file{each}"
    for key, value in (("initrd", system.boot.initrd), ("append", system.boot.append)):
        if value:
            yield f"  {key}: {quoted(value)}"
    if system.boot.firmware != DEFAULT_FIRMWARE:
        yield f"  firmware: {quoted(system.boot.firmware)}"
    if system.boot.disks:
        yield "  disks:    # each run gets a fresh snapshot"
        yield from (_disk(disk) for disk in system.boot.disks)


def _disk(disk: Disk) -> str:
    return f"    - {{image: {quoted(disk.image)}, format: {disk.format}, interface: {disk.interface}}}"


def _asked(of: Proposal) -> Iterator[str]:
    if not of.guesses.prompt:
        yield "ask: selftest    # it came to no prompt, so it runs what it always runs"
        return
    yield "ask: prompt"
    yield f"prompt: {quoted(of.guesses.prompt)}    # it came back after an empty line"
    yield "steps:    # {workers} is the CPU count of the run"
    for number, line in enumerate(of.typed):
        yield f"  - send: {quoted(line)}"
        if number < len(of.guesses.endings):
            yield f"    # {one_line(of.guesses.endings[number], _LONGEST)}"
    if not of.typed:
        yield f"  - send: 'COMMAND {{workers}}'    # {FILL_IN}: a command that works on all CPUs"


def _judged(of: Proposal) -> Iterator[str]:
    guesses = of.guesses
    yield "console:"
    if guesses.ready:
        yield f"  ready: {quoted(guesses.ready)}"
    yield from _online(guesses)
    yield "result:"
    yield "  format: patterns"
    yield from _work(guesses)
    yield from _answers(guesses)
    yield from _end(guesses, of.system.arch.exit_code)
    if guesses.counts[-1] < 4:
        lacks = ", or there was no kernel for them" if of.system.has_guest_per_count else ""
        why = one_line(of.why_fewer, _LONGEST) or f"with more it did not come as far{lacks}"
        yield f"cpus: {{maximum: {guesses.counts[-1]}}}    # {why}"
    yield from _smoke(of)


def _online(guesses: Guesses) -> Iterator[str]:
    counts = ", ".join(map(str, guesses.up))
    if guesses.online:
        yield f"  online: {quoted(guesses.online)}    # it said {counts} at {counts} CPUs"
    elif guesses.online_lines:
        yield f"  online_lines: {quoted(guesses.online_lines)}    # {counts} such lines at {counts} CPUs"
    else:
        yield "  online: clock    # it prints nothing of its CPUs, so each must work in the window"


def _work(guesses: Guesses) -> Iterator[str]:
    if guesses.figures:
        yield from _figure(guesses.figures[0], typed=bool(guesses.prompt))
        yield from _others("figures", [figure.line for figure in guesses.figures[1:]])
    elif guesses.lines:
        first, last = guesses.lines
        yield "  work:    # it printed no time, so the guest time between two lines (instruction clock only)"
        yield f"    from: {quoted(first)}"
        yield f"    to: {quoted(last)}"
    else:
        yield f"  work:    # {FILL_IN}: the lines between which it works, or the line with its own figure"
        yield "    from: '^begin$'"
        yield "    to: '^end$'"


def _figure(figure: TimeLine, *, typed: bool) -> Iterator[str]:
    """A time at a prompt begins with the typed line: no work of the command can come before it."""
    if typed or figure.unit == "ticks":
        finer = ", finer than its ticks" if figure.unit == "ticks" else ""
        yield f"  work:    # between two lines on the instruction clock{finer}"
        yield f"    from: {TYPED if typed else quoted(figure.begins)}"
        yield f"    to: {quoted(figure.ends)}"
        if figure.unit != "ticks" and figure.begins:
            yield "  # Or its own figure, on wall time too, if its time begins with the line of `begins`:"
            yield f"  #   begins: {quoted(figure.begins)}"
            yield f"  #   pattern: {quoted(figure.pattern)}"
            yield f"  #   unit: {figure.unit}"
        return
    yield "  work:"
    yield f"    begins: {quoted(figure.begins)}    # the work begins after this line; does it?"
    yield f"    pattern: {quoted(figure.pattern)}"
    yield f"    unit: {figure.unit}"


def _answers(guesses: Guesses) -> Iterator[str]:
    if not guesses.answers:
        why = "" if guesses.answered else "; nothing was taken from a line whose prompt did not come back"
        shows = f"{FILL_IN}: what shows that its work was done{why}"
        yield f"  answers: ['^answer=(?P<answer>[0-9]+)$']    # {shows}"
        yield "  expect: {answer: 0}"
        yield from _others("lines, printed before its work or about its set-up", guesses.doubtful)
        return
    answers = guesses.answers
    chosen = answers[0]
    yield f"  answers: [{quoted(chosen.pattern)}]    # equal at each CPU count; is it the answer of the work?"
    yield f"  expect: {{{', '.join(f'{name}: {quoted(value)}' for name, value in chosen.expect.items())}}}"
    yield from _others("lines that are equal at each CPU count", [answer.line for answer in answers[1:]])


def _others(what: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"  # other {what}:"
        yield from (f"  #   {one_line(line, _COMMENT)}" for line in lines[:_SHOWN])


def _smoke(of: Proposal) -> Iterator[str]:
    """A boot that types nothing ends by itself, or when it has come up."""
    guesses = of.guesses
    passes = guesses.ready if guesses.prompt or not guesses.answers else guesses.answers[0].pattern
    if passes and (guesses.exit_status is None or not guesses.prompt):
        yield "smoke:    # a boot without a workload, also for `benchgate explore --smoke`"
        yield f"  append: {quoted(of.system.boot.append)}"
        yield f"  pass: {quoted(passes)}"


def _end(guesses: Guesses, usual: int) -> Iterator[str]:
    if guesses.exit_status is None:
        yield "end: {by: kill}    # it did not turn the machine off"
        return
    reset = ", reset: allowed" if guesses.resets else ""
    why = "    # it ended by a reset, and so would a triple fault" if guesses.resets else ""
    if guesses.exit_status != usual or reset:
        yield f"end: {{by: exit, exit_codes: [{guesses.exit_status}]{reset}}}{why}"


def linux_text(built_in: str, name: str, kernel: str, arch: Architecture) -> str:
    """`kernel` is the image's path, relative to the YAML file."""
    text = _BY_SETTINGS.sub("", _SETTINGS.sub("", built_in))
    values = {"name": name, "about": _ABOUT, "arch": str(arch), "  kernel": quoted(kernel)}
    text = _VALUE.sub(lambda match: f"{match[1]}: {values[match[1]]}", text)
    return f"{text}result:\n  system: linux    # the name that our PID 1 prints\n"
