"""A conversation with a guest at its console: what to type, when, and whether the guest took it.

Takes a filled `Script` and the console's bytes, in any pieces; gives the next line to type, the step that was
reached, and a failure as one sentence. Pure: it neither reads, types nor waits. The same code accompanies a
running guest and repeats the conversation from the console's log afterwards, so both agree.

A line is typed only while a prompt is the last thing on the console. The guest's echo of the line is no
answer: only what follows it is searched. An echo that differs from what was typed is lost input.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from benchgate.base.console_text import Stream
from benchgate.base.jsonfields import As, as_json, read, without_head
from benchgate.base.system.script import Script, ScriptStep
from benchgate.base.text import one_line

_LONGEST_PROMPT = 1000
"""An incomplete line that is longer than this is no prompt."""
_LONGEST_UTF8 = 4
_KEPT_LINES = 20
_SCHEMA = 1


class _AwaitedText(StrEnum):
    READY = "ready"
    PROMPT = "prompt"
    ECHO = "echo"
    ANSWER = "answer"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class NextLine:
    """What to type if the guest prints nothing more for the script's delay."""

    step: int
    text: bytes
    """The line; empty after the last step, when only the prompt has to be confirmed."""


@dataclass(frozen=True, slots=True)
class TypedLine:
    """A line that was typed; an empty text records that the last prompt was confirmed."""

    step: int
    at: int
    """How many bytes the console had then."""
    text: Annotated[bytes, As(str, str.encode, bytes.decode)]
    time: int | None
    """The guest's time in ns; None on the lanes of wall time."""


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """conversation.json: what was typed into one run's guest, and where on its console."""

    typed: tuple[TypedLine, ...]

    def as_json(self) -> dict[str, object]:
        return {"schema": _SCHEMA, **as_json(self)}


def record_from_json(value: object) -> tuple[TypedLine, ...]:
    """Reads the record from an untrusted file; ValueError says what is wrong."""
    rest = without_head(value, "the conversation", "use the benchgate that wrote it", schema=_SCHEMA)
    return read(TypedRecord, rest, "the conversation").typed


class Conversation:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._stream = Stream()
        self._line = b""
        self._lines = 0
        """The number of complete lines, which is also the number of the incomplete one."""
        self._prompted = ""
        """The prompt behind which the current step's line was typed."""
        self._wanted: list[re.Pattern[str]] = []
        """What the current step has not printed yet."""
        self._unprompted: deque[str] = deque(maxlen=_KEPT_LINES)
        """The last lines that the guest printed instead of a prompt."""
        self.step = -1
        """The step that was begun last; -1 until the first one."""
        self.offset = 0
        """The number of bytes that the console has had so far."""
        self.failure = ""
        self.record: tuple[TypedLine, ...] = ()
        self.cuts: dict[int, str] = {}
        """Maps a line (from 0) to what comes before its output: a prompt and, if echoed, the input."""
        self.begins: tuple[int, ...] = ()
        """The line on which each step began."""
        self._awaits = _AwaitedText.READY
        if not script.ready:
            self._end_step()

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the console, as the guest printed them."""
        self.offset += len(data)
        first, *others = self._stream.feed(data).split(b"\n")
        self._line += first
        for rest in others:
            self._end_of_line(_text(self._line))
            self._line = rest
            self._lines += 1

    @property
    def pending(self) -> NextLine | None:
        """What to type now, if the guest prints nothing more for the script's delay."""
        if self._awaits is not _AwaitedText.PROMPT or len(self._line) > _LONGEST_UTF8 * _LONGEST_PROMPT:
            return None
        if not self._is_prompt(_text(self._line)):
            return None
        step = self._next
        text = "" if step is None else f"{step.send}{self._script.line_end}"
        return NextLine(self.step + 1, text.encode())

    def typed(self, time: int | None) -> None:
        """Notes that the first byte of `pending` was typed at this guest time, or its prompt confirmed."""
        typing = self.pending
        if typing is None:
            raise ValueError("nothing was to be typed")
        self.record = (*self.record, TypedLine(typing.step, self.offset, typing.text, time))
        self._prompted = self.cuts[self._lines] = _text(self._line)
        if self._wanted:
            self._fail(f"it prompts again, and nothing before that matches `{self._wanted[0].pattern}`")
        elif self._next is None:
            self._awaits = _AwaitedText.NOTHING
        else:
            self._begin(self._next)

    @property
    def is_over(self) -> bool:
        """Whether every step has its answer."""
        return self._awaits is _AwaitedText.NOTHING and not self.failure

    @property
    def is_answered(self) -> bool:
        """Whether the last step has printed all that its script wants; only the prompt may be missing. False
        for a step that wants nothing, because anything may be its answer."""
        is_last = self.step >= 0 and self._next is None and bool(self._current.wants)
        return is_last and not self._wanted and self._awaits in {_AwaitedText.PROMPT, _AwaitedText.NOTHING}

    @property
    def deadline_s(self) -> float:
        """The deadline of the step that was begun last; 0 before the first step."""
        return self._current.deadline_s if self.step >= 0 else 0.0

    @property
    def waits_for(self) -> str:
        """What is missing, for the message about a deadline; empty if nothing is."""
        match self._awaits:
            case _AwaitedText.READY:
                what = f"no line matches `{self._script.ready}` (`console.ready`)"
            case _AwaitedText.ECHO:
                echoed = one_line(_text(self._line).removeprefix(self._prompted), 80)
                what = f"input was lost: the guest echoed only `{echoed}`"
            case _AwaitedText.ANSWER:
                what = f"nothing that it printed matches `{self._wanted[0].pattern}`"
            case _AwaitedText.PROMPT:
                what = f"the prompt `{self._prompt}` is not the last thing on the console"
            case _:
                return ""
        return f"{self._where}: {what}{self._overrun}"

    # ---- the steps

    @property
    def _current(self) -> ScriptStep:
        return self._script.steps[self.step]

    @property
    def _next(self) -> ScriptStep | None:
        following = self._script.steps[self.step + 1 :]
        return following[0] if following else None

    @property
    def _prompt(self) -> str:
        return self._next.prompt if self._next else self._script.prompt

    @property
    def _where(self) -> str:
        return f"step {self.step + 1}, {self._current.name}" if self.step >= 0 else "before the first step"

    def _is_prompt(self, line: str) -> bool:
        return len(line) <= _LONGEST_PROMPT and re.fullmatch(self._prompt, line) is not None

    def _begin(self, step: ScriptStep) -> None:
        self.step += 1
        self.begins = (*self.begins, self._lines)
        self._unprompted.clear()
        self._wanted = [re.compile(want) for want in step.wants]
        if step.send is not None and step.echo:
            self.cuts[self._lines] += step.send
            self._awaits = _AwaitedText.ECHO
        else:
            self._await_answer()

    def _await_answer(self) -> None:
        """A step without an answer of its own has it when the next prompt is back."""
        self._awaits = _AwaitedText.ANSWER if self._current.expect else _AwaitedText.PROMPT

    def _end_step(self) -> None:
        if self._next is not None and self._next.send is None:
            self._begin(self._next)
        else:
            self._awaits = _AwaitedText.NOTHING if self._next is None else _AwaitedText.PROMPT

    def _fail(self, why: str) -> None:
        self.failure = f"{self._where}: {why}"
        self._awaits = _AwaitedText.NOTHING

    # ---- the lines

    def _end_of_line(self, line: str) -> None:
        match self._awaits:
            case _AwaitedText.READY if re.search(self._script.ready, line):
                self._end_step()
            case _AwaitedText.ECHO:
                self._check_echo(line)
            case _AwaitedText.ANSWER | _AwaitedText.PROMPT:
                self._unprompted.append(line)
                self._search(line.removeprefix(self.cuts.get(self._lines, "")))

    def _check_echo(self, line: str) -> None:
        if line == self.cuts[self._lines]:
            self._await_answer()
            return
        shown = one_line(line.removeprefix(self._prompted), 80)
        self._fail(
            f"the guest echoed `{shown}`: input was lost or changed, or the prompt "
            f"`{one_line(self._prompted, 80)}` was not the last thing that it printed"
        )

    def _search(self, output: str) -> None:
        """Looks for what the step still lacks in a line of its output."""
        if self._lines in self.cuts and output and output == self._current.send:
            self._fail("the guest echoes its input: leave `echo: false` out")
            return
        self._wanted = [one for one in self._wanted if not one.search(output)]
        if self._awaits is _AwaitedText.ANSWER and not self._wanted:
            self._end_step()

    @property
    def _overrun(self) -> str:
        """Names a line that would have been a prompt, had the guest not printed on."""
        if self._awaits is not _AwaitedText.PROMPT:
            return ""
        result = [line for line in self._unprompted if any(map(self._is_prompt, _beginnings(line)))]
        return f": more follows it in the line `{one_line(result[-1], 80)}`" if result else ""


def _beginnings(line: str) -> list[str]:
    return [line[:end] for end in range(1, min(len(line), _LONGEST_PROMPT) + 1)]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
