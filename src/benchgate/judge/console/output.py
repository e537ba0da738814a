"""What a guest printed by itself: its console without escapes, prompts and the echo of what was typed. Pure.

Takes the bytes of a console and, of a system that is asked at a prompt, the filled script and the record of
what was typed. The conversation is repeated from these: each line must have been typed at a prompt, echoed,
and answered. Gives a `GuestOutput`, whose lines are numbered as on the console. Fails with VerifyError if the
conversation was not like that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base import console_text
from benchgate.base.conversation import Conversation, TypedLine
from benchgate.base.errors import VerifyError
from benchgate.base.system.script import Script
from benchgate.base.text import one_line
from benchgate.judge.wire import MAX_CONSOLE_BYTES


@dataclass(frozen=True, slots=True)
class GuestOutput:
    text: str
    """Lines end with a newline. An ESC stands where a line moves the cursor within its text."""
    steps: tuple[str, ...] = ()
    """The part that each step of the script printed."""
    typed: tuple[int, ...] = ()
    """The line of the console on which each step was typed."""


def of_console(console: bytes) -> GuestOutput:
    """The guest is one into which nothing was typed."""
    return GuestOutput(_plain(console))


def of_conversation(console: bytes, script: Script, typed: Sequence[TypedLine]) -> GuestOutput:
    said = repeated(console, script, typed)
    lines = _plain(console).split("\n")
    for number, cut in said.cuts.items():
        lines[number] = _without(lines[number], cut, number)
    ends = (*said.begins[1:], len(lines))
    parts = zip(said.begins, ends, strict=True)
    return GuestOutput(
        "\n".join(lines), tuple("\n".join(lines[begin:end]) for begin, end in parts), said.begins
    )


def repeated(console: bytes, script: Script, typed: Sequence[TypedLine]) -> Conversation:
    said, place = Conversation(script), 0
    for line in typed:
        said.feed(console[place : max(place, line.at)])
        place = max(place, line.at)
        if said.failure:
            break
        if said.pending is None or (said.pending.step, said.pending.text) != (line.step, line.text):
            raise VerifyError(
                f"`{one_line(line.text, 60)}` is recorded as typed after {line.at} bytes of the console, "
                f"where it was not due: {said.waits_for or 'another line was'}"
            )
        said.typed(line.time)
    said.feed(console[place:])
    if not said.is_over:
        raise VerifyError(said.failure or said.waits_for)
    return said


def _without(line: str, cut: str, number: int) -> str:
    """A typed line has nothing of the guest's behind its echo; otherwise its output follows the prompt."""
    if line.replace("\x1b", "") == cut:
        return ""
    if not line.startswith(cut):
        raise VerifyError(
            f"line {number + 1} of the console has a prompt and moves the cursor in it, so it is not clear "
            "what the guest printed: use a prompt without escape sequences"
        )
    return line[len(cut) :]


def _plain(console: bytes) -> str:
    if len(console) > MAX_CONSOLE_BYTES:
        raise VerifyError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    return console_text.plain_with_moves(console).decode("utf-8", "replace")
