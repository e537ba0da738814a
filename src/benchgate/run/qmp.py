"""A synchronous QMP client with deadlines.

Takes a connected socket; gives answers as plain Python values, and a transcript with one JSON object per
line. Between calls it sends nothing, and events wait in the socket until `drain`. Fails with QmpError, which
the caller turns into the run's ending. QEMU's messages are untrusted: one that is too long, or no message of
QMP, ends the session, and `cpu_threads` checks its answer. An interrupt between two messages passes through.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from benchgate.base.errors import BootError
from benchgate.base.files import read_json
from benchgate.base.interrupts import held
from benchgate.base.text import one_line
from benchgate.run.console import readable, writable

_TRANSCRIPT_BYTES = 1 << 20
_MESSAGE_BYTES = 1 << 20
_READ_BYTES = 1 << 16


class QmpError(BootError):
    """QEMU did not speak QMP, did not answer in time, or refused a command."""


class _TooLate(Exception):
    """The deadline came first."""


class Qmp:
    """One QMP session. As a context manager it closes the socket at the end of the block."""

    def __init__(self, connection: socket.socket, transcript: Path) -> None:
        connection.setblocking(False)
        self._socket, self._transcript = connection, transcript.open("ab", buffering=0)
        self._left = _TRANSCRIPT_BYTES
        self._unread = b""
        self._asked = 0
        self._has_ended = False
        self._guest_ends: list[str] = []
        self.stopped_by_disk = ""
        """Why QEMU stopped the guest for good when it wrote to a disk; empty if it said nothing of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, seconds: float) -> None:
        """Waits for the greeting and negotiates capabilities."""
        what, deadline = "the greeting", time.monotonic() + seconds
        greeting = self._answer(what, seconds, deadline, "QMP")
        offered = greeting.get("capabilities") if isinstance(greeting, dict) else ()
        enabled = {"enable": ["oob"]} if isinstance(offered, list) and "oob" in offered else {}
        request = {"execute": "qmp_capabilities", "arguments": enabled}
        self._ask(request if enabled else {"execute": "qmp_capabilities"}, what, seconds, deadline)

    def execute(
        self, name: str, arguments: Mapping[str, object] | None = None, *, seconds: float = 10.0
    ) -> object:
        request: dict[str, object] = {"execute": name}
        if arguments:
            request["arguments"] = dict(arguments)
        request["id"] = f"__qmp#{self._asked:05d}"
        self._asked += 1
        return self._ask(request, name, seconds, time.monotonic() + seconds)

    def cpu_threads(self, seconds: float) -> tuple[int, ...]:
        """The host thread of each vCPU, by vCPU index."""
        answer = self.execute("query-cpus-fast", seconds=seconds)
        threads: dict[int, int] = {}
        for entry in answer if isinstance(answer, list) else [answer]:
            about = entry if isinstance(entry, dict) else {}
            index, thread = about.get("cpu-index"), about.get("thread-id")
            if not isinstance(index, int) or not isinstance(thread, int) or index in threads:
                raise QmpError("QEMU's answer to query-cpus-fast is not a list of vCPUs and their threads.")
            threads[index] = thread
        if sorted(threads) != list(range(len(threads))):
            raise QmpError(f"QEMU numbered its vCPUs {sorted(threads)}, not 0, 1, 2 and so on without a gap.")
        return tuple(threads[index] for index in sorted(threads))

    @property
    def guest_ends(self) -> tuple[str, ...]:
        """QEMU's reason for each end that it reported and that the guest caused, such as `guest-reset`."""
        return tuple(self._guest_ends)

    def drain(self, seconds: float) -> bool:
        """Reads what QEMU says by itself, such as its SHUTDOWN event. Sends nothing. False: more may come."""
        deadline = time.monotonic() + seconds
        try:
            while not self._has_ended:
                self._message(deadline)
        except _TooLate:
            return False
        except (OSError, ValueError):  # it is closed, or says no more that can be read
            self._has_ended = True
        return True

    def close(self) -> None:
        self._has_ended = True
        self._socket.close()
        self._transcript.close()

    # ---- messages

    def _ask(self, request: Mapping[str, object], what: str, seconds: float, deadline: float) -> object:
        with suppress(OSError):  # QEMU has ended: what it said before is still to be read
            self._send(request, deadline)
        return self._answer(what, seconds, deadline, "return", request.get("id"))

    def _answer(self, what: str, seconds: float, deadline: float, key: str, number: object = None) -> object:
        """What the message with this key and number has there. Events may come before it."""
        try:
            while "event" in (message := self._message(deadline)):
                pass
        except _TooLate:
            raise QmpError(f"QEMU did not answer {what} over QMP within {seconds:g} s.") from None
        except (OSError, ValueError) as error:
            self._has_ended = True
            raise QmpError(f"QMP failed at {what}: {one_line(str(error), 200)}.") from error
        if "error" in message:
            raise QmpError(f"QMP failed at {what}: {_description(message['error'])}")
        if key not in message or message.get("id") != number:
            self._has_ended = True
            raise QmpError(f"QMP failed at {what}: QEMU answered something else.")
        return message[key]

    def _send(self, message: Mapping[str, object], deadline: float) -> None:
        with held():
            self._record("sent", message)
        rest = json.dumps(message).encode()
        while rest:
            if not writable(self._socket.fileno(), max(0.0, deadline - time.monotonic())):
                return  # there will be no answer in time
            rest = rest[self._socket.send(rest) :]

    def _message(self, deadline: float) -> dict[str, Any]:
        """The next message. OSError or ValueError: there is none, and no other one can be read."""
        while True:
            line, end, rest = self._unread.partition(b"\n")
            if end and line.strip():
                break
            self._unread = rest if end else line
            if end:
                continue
            if len(line) > _MESSAGE_BYTES:
                raise ValueError(f"QEMU sent more than {_MESSAGE_BYTES} bytes without an end of line")
            self._receive(deadline)
        with held():
            self._unread = rest
            message = _object(line)
            self._record("received", message)
            self._note(message)
        return message

    def _receive(self, deadline: float) -> None:
        if not readable(self._socket.fileno(), max(0.0, deadline - time.monotonic())):
            raise _TooLate
        with held():
            piece = self._socket.recv(_READ_BYTES)
            if not piece:
                raise ConnectionError("QEMU has closed it")
            self._unread += piece

    def _note(self, message: Mapping[str, Any]) -> None:
        event, data = message.get("event"), message.get("data")
        about = data if isinstance(data, dict) else {}
        if event in ("SHUTDOWN", "RESET") and about.get("guest"):
            self._guest_ends.append(str(about.get("reason")))
        if event == "BLOCK_IO_ERROR" and about.get("action") == "stop":
            self.stopped_by_disk = one_line(str(about.get("reason")), 200)

    def _record(self, direction: str, message: Mapping[str, object]) -> None:
        line = json.dumps({"t_ns": time.monotonic_ns(), direction: message}) + "\n"
        if len(line) <= self._left:
            self._left -= len(line)
            self._transcript.write(line.encode())


def _object(line: bytes) -> dict[str, Any]:
    message = read_json(line)
    if isinstance(message, dict):
        return message
    raise ValueError("QEMU sent something else than an object")


def _description(error: object) -> str:
    """What QEMU says about an error."""
    said = error.get("desc") if isinstance(error, dict) else None
    return one_line(said, 300) if isinstance(said, str) else "QEMU gave no reason."
