"""Types a conversation's lines into a running guest, on either clock.

Takes a filled script and the guest's console; types a line when its prompt was the last thing on the console
for the script's delay. In wall time that is silence of the console, and bytes go out one by one. On the
instruction clock the guest stands still whenever it is silent, so nothing depends on the host. Gives what the
conversation has reached, and its record. Fails with pexpect.TIMEOUT if the guest's end of the pipe is full.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchgate.base.conversation import Conversation, NextLine, TypedLine
from benchgate.base.system.script import Script
from benchgate.run.clock_console import ClockConsole
from benchgate.run.console import Console
from benchgate.run.watch import PatternMatch

_SETTLED_S = 0.05
"""In wall time a prompt must be the last thing for at least this long: a busy host may stop the guest in the
middle of a line."""
_IDLE_S = 1.0


@dataclass
class Talker:
    script: Script
    console: Console
    monotonic: Callable[[], float] = time.monotonic
    _said: Conversation = field(init=False)
    _left: bytes = b""
    """The rest of the current line that was not typed yet."""
    _heard_at: float = 0.0
    _typed_at: float = 0.0
    _told: list[str] = field(default_factory=list)
    """The news that were already given."""

    def __post_init__(self) -> None:
        self._said = Conversation(self.script)
        self.console.listener = self._hear

    @property
    def record(self) -> tuple[TypedLine, ...]:
        return self._said.record

    @property
    def is_answered(self) -> bool:
        return self._said.is_answered

    @property
    def deadline_s(self) -> float:
        """The deadline of the current step."""
        return self._said.deadline_s

    @property
    def waits_for(self) -> str:
        return self._said.waits_for

    def wait_s(self) -> float:
        """The time without output after which `tick` has something to do."""
        if self._left:
            return max(0.0, self._typed_at + self.script.byte_ns / 1e9 - self.monotonic())
        if self._said.pending is None or isinstance(self.console, ClockConsole):
            return _IDLE_S
        return max(0.0, self._heard_at + self._settled_s - self.monotonic())

    def tick(self) -> bool:
        """Types what is due; True if the conversation has moved on."""
        if self._left:
            self._type_byte()
            return False
        typing = self._said.pending
        if typing is None:
            return False
        if isinstance(self.console, ClockConsole):
            return self._type_on_clock(typing, self.console)
        if self.monotonic() < self._heard_at + self._settled_s:
            return False
        self._said.typed(None)
        self._left = typing.text
        return True

    def news(self) -> tuple[PatternMatch, ...]:
        """The progress of the conversation since the last call: its first step (ready), another one (step),
        its end, or a failure (lost)."""
        said = self._said
        reached = [f"step {number}" for number in range(said.step + 1)]
        reached += ["lost"] if said.failure else ["end"] if said.is_over else []
        fresh = [name for name in reached if name not in self._told]
        self._told += fresh
        names = ["ready" if name == "step 0" else name.partition(" ")[0] for name in fresh]
        return tuple(PatternMatch(name, said.failure.encode()) for name in names)

    @property
    def _settled_s(self) -> float:
        return max(_SETTLED_S, self.script.delay_ns / 1e9)

    def _hear(self, data: bytes) -> None:
        self._heard_at = self.monotonic()
        self._said.feed(data)

    def _type_byte(self) -> None:
        now = self.monotonic()
        if now >= self._typed_at + self.script.byte_ns / 1e9:
            self.console.send(self._left[:1])
            self._left, self._typed_at = self._left[1:], now

    def _type_on_clock(self, typing: NextLine, console: ClockConsole) -> bool:
        if not console.is_quiet:
            return False
        self._said.typed(console.time_ns)
        console.send(typing.text)
        return True
