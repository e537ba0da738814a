"""Boots a kernel of which nothing is known, and listens until it has nothing more to say.

Takes how to boot it, and lines to type if it comes to a prompt; gives a `BootObservation`: all that it
printed, why listening ended, and how each typed line ended. Everything is shown as it is printed. A kernel
that misbehaves is a `BootObservation` too. Fails with BootError only if QEMU cannot be executed.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

import pexpect
import psutil

from benchgate.base.console_text import Stream
from benchgate.base.errors import BootError
from benchgate.base.runs import BootSpec
from benchgate.base.system.boots import REPEAT_BYTES
from benchgate.features.new_system.firmware import stays_in_firmware
from benchgate.features.new_system.spinning import where_it_spins
from benchgate.run.console import FloodError
from benchgate.run.guest import RunningGuest, boot_interactive
from benchgate.run.suspicion import Repetition, Suspicion

Show = Callable[[str], None]
_UTF8 = codecs.getincrementaldecoder("utf-8")
_READ_BYTES = 1 << 16
_SLICE_S = 0.2
_LONGEST_PROMPT = 100


class ListeningEnd(StrEnum):
    """Why listening ended."""

    PROMPT = "prompt"  # it waits for input, and prompts again after an empty line
    EXITED = "exited"
    QUIET = "quiet"
    REPEATS = "repeats"
    FIRMWARE = "firmware"  # it printed no more, and its CPU stays in the firmware
    SUSPECT = "suspect"  # its last lines look like a panic, and it waits or has ended
    BUSY = "busy"  # it printed until the time was over
    NO_START = "no-start"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for more. A guest that computes is given time of the CPU, so that a busy host cuts
    nothing short; one that sleeps is given the host's time."""

    computing_s: float
    sleeping_s: float


_AFTER_OUTPUT = Patience(5.0, 4.0)
_BEFORE_OUTPUT = Patience(10.0, 10.0)
_AT_A_PROMPT = Patience(0.7, 0.7)
_WORKED_S = 0.3
"""A typed line that took less of the host's CPU time does not show what was printed before its work."""
_FIRMWARE_S = 2.0
"""A guest that has used so much of the host's CPU without a byte is asked where it is."""
_SLEEPS_SHARE = 0.02
"""A guest sleeps if it uses less than this share of a CPU."""


@dataclass(frozen=True, slots=True)
class PromptStep:
    """A line that was typed, and what came of it."""

    line: str
    stop: ListeningEnd
    """PROMPT: its prompt came back. QUIET: silence until the time was over."""
    output: str = ""
    """What the guest printed, without the line's echo and the prompt."""
    early: str = ""
    """The part of the output that came before half of its work was done."""
    note: str = ""
    """What is repeated, or the line that looks like a panic."""

    @property
    def is_answered(self) -> bool:
        """Only then its output may be an answer: a panic is none, nor is what a kernel prints while it goes
        on working."""
        return self.stop is ListeningEnd.PROMPT

    @property
    def how(self) -> str:
        return {
            ListeningEnd.PROMPT: "its prompt came back",
            ListeningEnd.EXITED: "it ended QEMU",
            ListeningEnd.QUIET: "it printed nothing more, and its prompt did not come back",
            ListeningEnd.REPEATS: f"it printed nothing but {self.note} any more",
            ListeningEnd.SUSPECT: f"it printed a line that looks like a panic: {self.note}",
        }.get(self.stop, "it was still printing when the time was over")


@dataclass(frozen=True, slots=True)
class BootObservation:
    cpus: int
    stop: ListeningEnd
    text: str
    """What it printed until then, as plain text."""
    note: str = ""
    """What is repeated, the line that looks like a panic, the firmware's file, where a CPU spins, or why QEMU
    did not start."""
    status: int | None = None
    """QEMU's exit status if the guest ended it, by itself or after the last typed line."""
    ends: tuple[str, ...] = ()
    """QEMU's reasons, such as `guest-reset`."""
    prompt: str = ""
    steps: tuple[PromptStep, ...] = ()
    """The lines that were typed: none after one whose prompt did not come back."""

    @property
    def ended(self) -> bool:
        """True if the guest ended QEMU, and printed nothing that looks like a panic before."""
        return (self.steps[-1].stop if self.steps else self.stop) is ListeningEnd.EXITED


@dataclass
class _Listener:
    guest: RunningGuest
    until: float
    show: Show
    stream: Stream = field(default_factory=Stream)
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: _UTF8("replace"))
    """As a run's console is read (judge/console/output.py), so that guesses match there, too."""
    text: str = ""
    repetition: Repetition = field(default_factory=lambda: Repetition(REPEAT_BYTES))
    suspicion: Suspicion = field(default_factory=Suspicion)
    repeated: str = ""
    tried: int = -1
    """How long the text was when an incomplete line turned out to be no prompt."""

    firmware: str = ""
    """The file of the firmware in which the guest stays."""
    looked: int = -1
    """How long the text was when it was last asked where the guest is."""

    spins: str = ""
    """Where its CPUs are, if it computed until it was taken to be quiet."""

    woken: bool = False
    """True if an empty line was sent to a guest that had printed no prompt."""
    heard: list[tuple[int, float]] = field(default_factory=list)
    """How long the text was after each piece, and how much CPU time QEMU had used then."""

    def listen(self) -> ListeningEnd:
        """Listens until the guest is quiet, or something ends it."""
        began, used = time.monotonic(), self.used()
        while True:
            try:
                piece = self.stream.feed(self.guest.console.read_nonblocking(_READ_BYTES, _SLICE_S))
            except pexpect.TIMEOUT:
                piece = b""
            except pexpect.EOF:
                return self._unless_suspect(ListeningEnd.EXITED)
            except FloodError:
                return ListeningEnd.BUSY
            if piece:
                began, used = time.monotonic(), self.used()
                self._hear(piece, used)
                if self.repeated:
                    return ListeningEnd.REPEATS
            elif self._is_in_firmware(self.used() - used):
                return ListeningEnd.FIRMWARE
            elif self._has_waited(time.monotonic() - began, self.used() - used):
                self._look_where(self.used() - used)
                return self._unless_suspect(ListeningEnd.QUIET)
            if self.is_over:
                return ListeningEnd.BUSY if piece else self._unless_suspect(ListeningEnd.QUIET)

    def _is_in_firmware(self, used: float) -> bool:
        """After seconds of the CPU without a byte: does it only execute a ROM that is not the kernel's?"""
        if used < _FIRMWARE_S or self.looked == len(self.text):
            return False
        self.looked = len(self.text)
        self.firmware = stays_in_firmware(self.guest.qmp, self.guest.spec.argv)
        return bool(self.firmware)

    def _look_where(self, used: float) -> None:
        """Of a guest that has computed for so long, and does not wait at what may be a prompt."""
        computes = used >= _AFTER_OUTPUT.computing_s
        self.spins = where_it_spins(self.guest.qmp, self.guest.spec.argv) if computes else ""

    def _unless_suspect(self, stop: ListeningEnd) -> ListeningEnd:
        """A kernel that panics may wait for ever, or switch its machine off."""
        return ListeningEnd.SUSPECT if self.suspicion.line else stop

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.until

    @property
    def incomplete(self) -> str:
        """The last line, if it has no end."""
        return self.text.rpartition("\n")[2]

    @property
    def may_be_prompt(self) -> bool:
        waits = self.incomplete
        return bool(waits.strip()) and len(waits) <= _LONGEST_PROMPT and len(self.text) != self.tried

    def note(self, stop: ListeningEnd) -> str:
        notes = {
            ListeningEnd.REPEATS: self.repeated,
            ListeningEnd.SUSPECT: self.suspicion.line,
            ListeningEnd.FIRMWARE: self.firmware,
            ListeningEnd.QUIET: self.spins,
        }
        return notes.get(stop, "")

    def _hear(self, piece: bytes, used: float) -> None:
        heard = self.decoder.decode(piece)
        self.text += heard
        self.heard.append((len(self.text), used))
        self.show(heard)
        self.suspicion.feed(piece)
        self.repeated = self.repetition.feed(piece)

    def _has_waited(self, waited: float, used: float) -> bool:
        patience = _AFTER_OUTPUT if self.text.strip() else _BEFORE_OUTPUT
        if self.may_be_prompt:
            patience = _AT_A_PROMPT
        sleeps = used < waited * _SLEEPS_SHARE
        return used >= patience.computing_s or (sleeps and waited >= patience.sleeping_s)

    def used(self) -> float:
        """QEMU's CPU time, in s."""
        with suppress(psutil.Error):
            times = psutil.Process(self.guest.child.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0


def listen(  # noqa: PLR0913 - keyword arguments
    spec: BootSpec, mark: str, lines: tuple[str, ...], *, seconds: float, show: Show, patient: bool
) -> BootObservation:
    """Boots and listens for at most `seconds`, and again after each line that is typed. `patient`: it came to
    a prompt or to its end with fewer CPUs, so silence means no more than that the host is busy."""
    try:
        with boot_interactive(spec, mark=mark) as guest:
            listener = _Listener(guest, time.monotonic() + seconds, show)
            stop, prompt = _to_prompt(listener, patient=patient)
            observation = BootObservation(spec.cpus, stop, listener.text, listener.note(stop), prompt=prompt)
            for line in lines if prompt else ():
                listener.until = time.monotonic() + seconds
                observation = replace(observation, steps=(*observation.steps, _typed(listener, line, prompt)))
                if not observation.steps[-1].is_answered:
                    break
            status = guest.exit_status if observation.ended and guest.child.wait(_SLICE_S) else None
            guest.qmp.drain(_SLICE_S)
            return replace(observation, status=status, ends=guest.qmp.guest_ends)
    except BootError as error:
        return BootObservation(spec.cpus, ListeningEnd.NO_START, "", str(error))


def _to_prompt(listener: _Listener, *, patient: bool) -> tuple[ListeningEnd, str]:
    """Why listening ended, and the prompt: an incomplete line that comes back after an empty line."""
    while True:
        stop = listener.listen()
        is_silent = stop is ListeningEnd.QUIET and not listener.may_be_prompt and not listener.is_over
        if is_silent and not listener.woken:
            listener.woken = True
            listener.guest.console.send("\n")  # it may wait for a key, or have printed behind its prompt
            continue
        if is_silent and patient:
            continue
        if stop is not ListeningEnd.QUIET or not listener.may_be_prompt:
            return stop, ""
        waits, before = listener.incomplete, len(listener.text)
        listener.guest.console.send("\n")
        stop = listener.listen()
        if stop is not ListeningEnd.QUIET:
            return stop, ""
        if len(listener.text) > before and listener.incomplete == waits:
            return ListeningEnd.PROMPT, waits
        listener.tried = len(listener.text)


def _typed(listener: _Listener, line: str, prompt: str) -> PromptStep:
    """Types a line, and listens until its prompt is back, something ends it or the time is over."""
    before, used = len(listener.text), listener.used()
    listener.guest.console.send(line + "\n")
    while (stop := listener.listen()) is ListeningEnd.QUIET:
        if listener.incomplete == prompt:
            stop = ListeningEnd.PROMPT
            break
        if listener.is_over:
            break
        listener.tried = len(listener.text)
    own = slice(before, _half_done(listener, before, used))
    early, printed = (_without_echo(text, line) for text in (listener.text[own], listener.text[before:]))
    return PromptStep(line, stop, printed.removesuffix(prompt), early, listener.note(stop))


def _without_echo(printed: str, line: str) -> str:
    return printed.removeprefix(line).lstrip("\n")


def _half_done(listener: _Listener, before: int, used: float) -> int:
    """How long the text was when half of the work was done that came before the last piece."""
    pieces = [(length, at - used) for length, at in listener.heard if length > before]
    worked = pieces[-1][1] if pieces else 0.0
    if worked < _WORKED_S:
        return before
    return max((length for length, at in pieces if at < worked / 2), default=before)
