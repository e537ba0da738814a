"""What to look for on a console, and what a machine's end means; pure.

Takes patterns as data (so that a foreign kernel's come from its YAML) and what was seen; gives the run's
`Ending` with one sentence. Fails with ValueError on a pattern that is no regular expression.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum

from benchgate.model import Deadlines, Ending

_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Watch:
    """The patterns are regular expressions over bytes, tried on plain lines (plaintext.py). A failure or
    panic beats everything else."""

    ready: bytes | None = None
    """Ends the boot. None: the whole console counts as the run, under both deadlines together."""
    result: bytes | None = None
    """The window is over: the moment to ask the host what the vCPU threads got."""
    ends: tuple[bytes, ...] = ()
    """What a good run has printed when it ends, in any order. Empty: the exit status alone decides."""
    panics: tuple[bytes, ...] = ()
    failures: tuple[bytes, ...] = ()
    success: frozenset[int] = frozenset({0})
    """Exit statuses of a machine that left as it should."""
    kill_after_end: bool = False
    """For systems that cannot power off: the end line is the end."""

    def __post_init__(self) -> None:
        for pattern in (self.ready, self.result, *self.ends, *self.panics, *self.failures):
            if pattern is None:
                continue
            try:
                expression = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
            if expression.match(b""):
                raise ValueError(f"{pattern!r} matches nothing at all, so it would match any console")


# A line's begin is the byte before it: `^` would also match where a read happens to begin. The console begins
# with a line end of its own, so that the first line has one too.
_PANICS = (rb"Kernel panic - not syncing[^\n]*", rb"\npanic:[^\n]*")
_FAILURES = (rb"\nbenchfail:[^\n]*",)

# Systems that speak the wire format (docs/wire.md). QEMU exits with 33 for a success through isa-debug-exit.
GUEST_WATCH = Watch(
    ready=rb"\nbenchready\b[^\n]*",
    result=rb"\n@bench begin ",
    ends=(rb"\n@bench end [^\n]*(?=\n)",),
    panics=_PANICS,
    failures=_FAILURES,
    success=frozenset({0, 33}),
)
NATIVE_WATCH = Watch(
    result=GUEST_WATCH.result, ends=GUEST_WATCH.ends, failures=_FAILURES, success=frozenset({0})
)


class Cause(StrEnum):
    """Why watching stopped."""

    CLOSED = "closed"
    PANIC = "panic"
    FAILURE = "failure"
    DEADLINE = "deadline"
    FLOOD = "flood"
    FINISHED = "finished"
    """The end line came and `kill_after_end` says that this is enough."""


class Stage(StrEnum):
    """How far the console got."""

    BOOTING = "booting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a console until watching stopped."""

    cause: Cause
    stage: Stage
    line: str = ""
    """The line that a pattern matched, or the last one; cleaned for display."""
    note: str = ""
    """Which bound was passed, on FLOOD."""


def clean(raw: bytes) -> str:
    """One line, printable ASCII, short: what a guest printed may be shown but not obeyed."""
    words = raw.decode("ascii", errors="replace").split()
    line = "".join(c if " " <= c <= "~" else "?" for c in " ".join(words))
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def judge(  # noqa: PLR0911 - one return per cause
    sight: Sight, status: int | None, watch: Watch, deadlines: Deadlines, complaint: str = ""
) -> tuple[Ending, str]:
    """The ending and its sentence. `complaint`: the last line of the program's standard error."""
    last = f"; the last line was: {sight.line}" if sight.line else "; it printed nothing"
    match sight.cause:
        case Cause.PANIC:
            return Ending.PANIC, f"the guest panicked: {sight.line}"
        case Cause.FAILURE:
            return Ending.FAILED, f"the guest said that it failed: {sight.line}"
        case Cause.FLOOD:
            return Ending.OUTPUT_LIMIT, f"stopped {_where(sight.stage)}: {sight.note}"
        case Cause.DEADLINE if sight.stage is Stage.BOOTING:
            return Ending.BOOT_DEADLINE, f"not ready within {deadlines.boot_s:g} s{last}"
        case Cause.DEADLINE if sight.stage is Stage.ENDED:
            return Ending.RUN_DEADLINE, "it printed its end line but did not leave, and was stopped"
        case Cause.DEADLINE:
            return Ending.RUN_DEADLINE, f"not finished within its deadline ({_spans(watch, deadlines)}){last}"
        case Cause.FINISHED:
            return Ending.DONE, ""
        case _:
            return _judge_exit(sight, status, watch, complaint)


def _judge_exit(sight: Sight, status: int | None, watch: Watch, complaint: str) -> tuple[Ending, str]:
    said = f": {complaint}" if complaint else ""
    finished = not watch.ends or sight.stage is Stage.ENDED
    if status is None or status < 0:
        how = f"killed by {_signal_name(-status)}" if status else "closed its console and had to be stopped"
        return Ending.EOF, f"the machine was {how} {_where(sight.stage)}{said}"
    if status in watch.success:
        if finished:
            return Ending.DONE, ""
        return Ending.EOF, f"the machine left with status {status} {_where(sight.stage)}, before its end line"
    if status == 1:
        # QEMU's own way to give up; a guest that fails by isa-debug-exit leaves with 3 or more.
        return Ending.EOF, f"the program gave up with status 1 {_where(sight.stage)}{said}"
    return Ending.FAILED, f"the machine left with status {status} {_where(sight.stage)}{said}"


def _where(stage: Stage) -> str:
    return {
        Stage.BOOTING: "while it booted",
        Stage.RUNNING: "while it ran",
        Stage.ENDED: "after its end line",
    }[stage]


def _spans(watch: Watch, deadlines: Deadlines) -> str:
    if watch.ready is None:
        return f"{deadlines.boot_s + deadlines.run_s:g} s for boot and run"
    return f"{deadlines.run_s:g} s"


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
