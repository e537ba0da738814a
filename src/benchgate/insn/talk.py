"""Talks with the instruction clock: hears where the guest stopped, says what to type and how far to run.

Takes a connected socket whose other end the plugin has (option `talk`; the messages are in c/console/talk.h);
gives a `GuestStop` each time the guest stops, and sends one answer to each. Guest time stands still between
the two. The plugin's messages are untrusted: another one than expected raises VerifyError. EndOfTalk: QEMU
has ended.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from enum import StrEnum

from benchgate.base.errors import UsageError, VerifyError

TALK_DESCRIPTOR = 4
"""QEMU's descriptor of the socket; QMP has 3."""
MOST_TYPED = 2048
"""The most bytes in one answer (TALK_BYTES in c/console/talk.h)."""
NEVER = 2**64 - 1
"""This time means no limit."""
_MESSAGE = re.compile(
    rb"stop (start|quiet|full|late|halted) ([0-9]{1,18}) ([0-9]{1,19}) ([0-9]{1,9}) ([01]) ([01]{1,256})"
)
_LONGEST = 400


class EndOfTalk(Exception):
    """QEMU has closed its end of the socket."""


class StopKind(StrEnum):
    START = "start"
    """The guest has executed nothing yet."""
    QUIET = "quiet"
    """The guest printed nothing, and nothing was typed, for `TypingPace.quiet_ns`."""
    FULL = "full"
    """The guest has printed a few KiB since its last stop."""
    LATE = "late"
    """The limit of the last answer is reached."""
    HALTED = "halted"
    """The limit is reached, and no CPU has run for a second."""


@dataclass(frozen=True, slots=True)
class GuestStop:
    """The point at which the guest stands still."""

    kind: StopKind
    console: int
    """How many bytes it has printed, all of which can be read now."""
    time: int
    """The guest's time, in ns."""
    unread: int
    """The number of typed bytes that the guest has not taken."""
    rests: bool = False
    """Whether every CPU is halted."""
    unstarted: tuple[int, ...] = ()
    """The vCPUs that have executed nothing yet."""


@dataclass(frozen=True, slots=True)
class TypingPace:
    """The timing of a system's input, in guest time."""

    quiet_ns: int = 1_000_000
    """How long the guest must print nothing before it is answered."""
    byte_ns: int = 100_000
    """The time from one typed byte to the next."""


class Talk:
    def __init__(self, connection: socket.socket, pace: TypingPace) -> None:
        self._socket = connection
        self.pace = pace

    def fileno(self) -> int:
        """A descriptor that is readable when the guest has stopped, or QEMU has ended."""
        return self._socket.fileno()

    def stop(self) -> GuestStop:
        """Waits for a stop that the plugin announces, and gives it."""
        try:
            message = self._socket.recv(_LONGEST)
        except ConnectionError as error:
            raise EndOfTalk from error
        if not message:
            raise EndOfTalk
        match = _MESSAGE.fullmatch(message)
        if match is None:
            raise VerifyError(f"the instruction clock sent {message[:60]!r} where it stops the guest")
        console, time, unread, rests = map(int, match.groups()[1:5])
        unstarted = tuple(vcpu for vcpu, has in enumerate(match[6].decode()) if has == "0")
        return GuestStop(StopKind(match[1].decode()), console, time, unread, bool(rests), unstarted)

    def run(self, until_ns: int, typed: bytes = b"") -> None:
        """Answers a stop: types these bytes and lets the guest run until it is quiet, at the latest until its
        time is `until_ns`."""
        if len(typed) > MOST_TYPED:
            raise UsageError(f"{len(typed)} bytes are too many to type at once; the most are {MOST_TYPED}")
        limit = min(max(until_ns, 0), NEVER)
        self._answer(f"go {self.pace.quiet_ns} {limit} {self.pace.byte_ns} {typed.hex() or '-'}")

    def free(self) -> None:
        """Answers a stop so that the guest runs to its end without another one."""
        self._answer("free")

    def pause(self) -> None:
        """Answers a stop at which every CPU is halted: QEMU may be stopped by QMP, and no time passes."""
        self._answer("pause")

    def begin(self) -> None:
        """Ends a pause, and lets a guest begin that was restored. The stop is announced again."""
        self._answer("begin")

    def _answer(self, text: str) -> None:
        try:
            self._socket.send(text.encode())
        except (BrokenPipeError, ConnectionError) as error:
            raise EndOfTalk from error


def pair() -> tuple[socket.socket, socket.socket]:
    """Makes a pair of sockets: our end and the plugin's."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
