"""Classifies the end of a guest or program as one `Ending`. Pure.

Takes an `Observation` of the console and the exit status; gives the `Ending` and one sentence. Does not fail.
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from benchgate.base.runs import Deadlines, Ending
from benchgate.base.text import one_line
from benchgate.run.watch import Watch


class Cause(StrEnum):
    """The reason why watching stopped."""

    CLOSED = "closed"
    PANIC = "panic"
    FAILURE = "failure"
    DEADLINE = "deadline"
    FLOOD = "flood"
    REPEATS = "repeats"
    SUSPECT = "suspect"
    """A line looks like a panic, and nothing followed it."""
    LOST = "lost"
    """The conversation at its prompt failed: input was lost or changed."""
    UNANSWERED = "unanswered"
    """The prompt, or the answer of a step, did not come before its deadline."""
    FINISHED = "finished"
    """The end line was seen, and `kill_after_end` is set."""


class Stage(StrEnum):
    """The stage that the console reached."""

    BOOTING = "booting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Observation:
    """The observation of a console until watching stopped."""

    cause: Cause
    stage: Stage
    line: str = ""
    """The line that a pattern matched, or the last one; cleaned for display."""
    note: str = ""
    """The detail of the cause. FLOOD: the exceeded bound. DEADLINE: the kind of its seconds (run/pace.py).
    REPEATS: what is repeated. LOST, UNANSWERED: what failed. CLOSED: what the conversation still misses."""
    suspect: str = ""
    """One of the last lines looks like a panic that the YAML does not name (run/suspicion.py)."""


_ADVICE = {
    "guest-reset": ", a reset or a triple fault. If the kernel ends so on purpose, write `reset: allowed` "
    "under `end` in its YAML",
    "guest-shutdown": ". Its YAML says that it cannot (`end: {by: kill}`); write `by: exit` and `exit_codes`",
}


_OTHERWISE = "If it needs another machine or another device, see `qemu` in its YAML"
_SILENT = f". If it prints on the screen, let it use the first serial port (`boot.append`). {_OTHERWISE}"


def ending_of(  # noqa: PLR0911 - one return per cause
    seen: Observation, status: int | None, watch: Watch, deadlines: Deadlines, complaint: str = ""
) -> tuple[Ending, str]:
    """The ending and a sentence about it. `complaint` is the last line of the program's standard error."""
    if seen.cause is Cause.CLOSED and seen.suspect:
        ending, detail = _judge_exit(seen, status, watch, complaint)
        ending = Ending.PANIC if ending is Ending.DONE else ending
        return ending, f"{detail or 'the guest ended well by its status'}, but {_suspect(seen)}"
    last = f"; the last line was: {seen.line}" if seen.line else "; it printed nothing"
    match seen.cause:
        case Cause.PANIC:
            return Ending.PANIC, f"the guest panicked: {seen.line}"
        case Cause.FAILURE:
            return Ending.FAILED, f"the guest reported a failure: {seen.line}"
        case Cause.FLOOD:
            return Ending.OUTPUT_LIMIT, f"stopped {_where(seen.stage)}: {seen.note}"
        case Cause.REPEATS:
            return Ending.OUTPUT_LIMIT, (
                f"stopped {_where(seen.stage)}: for {watch.repeat_bytes} bytes it printed nothing but "
                f"{seen.note}. If that is no fault, raise `console.repeat_bytes` in its YAML (0: no limit)"
            )
        case Cause.LOST | Cause.UNANSWERED:
            return _at_its_prompt(seen), f"at its prompt, {seen.note}{last}"
        case Cause.SUSPECT:
            return Ending.PANIC, f"stopped {_where(seen.stage)}: {_suspect(seen)}{last}"
        case Cause.DEADLINE if seen.stage is Stage.BOOTING:
            advice = last if seen.line else f"{last}{_SILENT}"
            return Ending.BOOT_DEADLINE, f"not ready within {deadlines.boot_s:g} s{seen.note}{advice}"
        case Cause.DEADLINE if seen.stage is Stage.ENDED:
            return Ending.RUN_DEADLINE, "it printed its end line but did not exit, and was stopped"
        case Cause.DEADLINE:
            deadline = f"{_deadline_text(watch, deadlines)}{seen.note}"
            return Ending.RUN_DEADLINE, f"not finished within its deadline ({deadline}){last}"
        case Cause.FINISHED:
            return Ending.DONE, ""
        case _:
            return _judge_exit(seen, status, watch, complaint)


def _at_its_prompt(seen: Observation) -> Ending:
    if seen.cause is Cause.LOST:
        return Ending.FAILED
    return Ending.BOOT_DEADLINE if seen.stage is Stage.BOOTING else Ending.RUN_DEADLINE


def confirmed(
    judged: tuple[Ending, str], reports: Collection[str] | None, watch: Watch
) -> tuple[Ending, str]:
    """The judged ending, unless the guest ended itself in a way that the system's YAML does not name. A reset
    and a power-off have the same exit status, so the status is not enough. `reports` has QEMU's reasons for
    ends that the guest caused; None if they could not be read."""
    why = "nothing shows how the guest ended: QEMU's QMP socket was still open"
    if reports is not None:
        unnamed = [reason for reason in reports if not _is_named(reason, watch)]
        if not unnamed:
            return judged
        why = f"QEMU reports that the guest ended itself: {one_line(unnamed[0])}{_ADVICE.get(unnamed[0], '')}"
    ending, detail = judged
    return (Ending.FAILED, why) if ending is Ending.DONE else (ending, f"{detail}; {why}")


def _is_named(reason: str, watch: Watch) -> bool:
    if reason == "guest-shutdown":
        return not watch.kill_after_end  # then its exit status decides
    return reason == "guest-reset" and watch.may_reset


def _judge_exit(seen: Observation, status: int | None, watch: Watch, complaint: str) -> tuple[Ending, str]:
    said = "; ".join(text for text in (complaint, seen.note) if text)
    suffix = f": {said}" if said else ""
    finished = seen.stage is Stage.ENDED or not (watch.ends or seen.note)
    if status is None or status < 0:
        killed = f"was killed by {_signal_name(-status)}" if status else ""
        how = killed or "closed its console and had to be stopped"
        return Ending.EOF, f"the process {how} {_where(seen.stage)}{suffix}"
    if status in watch.success:
        if finished:
            return Ending.DONE, ""
        before = f"conversation was over: {seen.note}" if seen.note else "end line"
        return (
            Ending.EOF,
            f"the process exited with status {status} {_where(seen.stage)}, before its {before}",
        )
    if status == 1:
        # QEMU exits with 1 if it fails itself; a guest's failure through isa-debug-exit gives 3 or more.
        return Ending.EOF, f"the program failed with status 1 {_where(seen.stage)}{suffix}"
    return Ending.FAILED, f"the process exited with status {status} {_where(seen.stage)}{suffix}"


def _suspect(seen: Observation) -> str:
    advice = "Name it in `console.failures`, or in `console.harmless` if it is none"
    return f"this line looks like a panic that its YAML does not name: `{seen.suspect}`. {advice}"


def _where(stage: Stage) -> str:
    during = {Stage.BOOTING: "while it booted", Stage.RUNNING: "while it ran"}
    return during.get(stage, "after its end line")


def _deadline_text(watch: Watch, deadlines: Deadlines) -> str:
    if watch.ready is None:
        return f"{deadlines.boot_s + deadlines.run_s:g} s for boot and run"
    return f"{deadlines.run_s:g} s"


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
