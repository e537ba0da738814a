"""A synchronous QMP client with deadlines, on top of the library qemu.qmp.

Takes a connected socket; gives answers as plain Python values, and a transcript with one JSON object per
line. Between calls it sends nothing, and events wait in the socket until `drain`. Fails with QmpError, which
the caller turns into the run's ending. QEMU's answers are untrusted: `cpu_threads` checks them. However a
session ends, `close` leaves no transport, stream or task open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from qemu.qmp import Message, QMPClient, QMPError, Runstate

from benchgate.base.errors import BootError, UsageError
from benchgate.base.interrupts import held

_Answer = TypeVar("_Answer")
_TRANSCRIPT_BYTES = 1 << 20
_MESSAGE_BYTES = 1 << 20
_INTERRUPT_S = 0.05
"""The longest time for which an interrupt may wait."""
_CLOSE_S = 30.0
"""The deadline for closing, which waits for no peer. It guards against a defect of the library."""
_LOOP_FILES = 3
"""An event loop opens this many files: a selector and a pair of sockets."""


class QmpError(BootError):
    """QEMU did not speak QMP, did not answer in time, or refused a command."""


class _Client(QMPClient):
    """Writes every message to the transcript."""

    def __init__(self, path: Path) -> None:
        super().__init__("benchgate", readbuflen=_MESSAGE_BYTES)
        self._path = path
        self._left = _TRANSCRIPT_BYTES
        self.guest_ends: list[str] = []

    def _cb_outbound(self, msg: Message) -> Message:
        self._record("sent", msg)
        return msg

    def _cb_inbound(self, msg: Message) -> Message:
        self._record("received", msg)
        data = msg.get("data")
        if msg.get("event") in {"SHUTDOWN", "RESET"} and isinstance(data, dict) and data.get("guest"):
            self.guest_ends.append(str(data.get("reason")))
        return msg

    def _record(self, direction: str, message: Message) -> None:
        line = json.dumps({"t_ns": time.monotonic_ns(), direction: dict(message)}) + "\n"
        if len(line) <= self._left:
            self._left -= len(line)
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write(line)


class Qmp:
    """One QMP session. As a context manager it closes the socket at the end of the block."""

    def __init__(self, connection: socket.socket, transcript: Path) -> None:
        _refuse_running_loop()
        connection.setblocking(False)
        self._socket = connection
        self._loop = _new_loop(connection)
        self._client = _Client(transcript)
        self._call: asyncio.Task[Any] | None = None
        """The latest call. It is still pending if an interrupt ended the wait for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, seconds: float) -> None:
        """Waits for the greeting and negotiates capabilities."""
        self._run(self._client.connect(self._socket), seconds, "the greeting")

    def adopt(self, seconds: float) -> None:
        """Goes on with a session whose greeting and capabilities another connection had."""
        self._client.await_greeting = self._client.negotiate = False
        self._run(self._client.connect(self._socket), seconds, "a session that is adopted")

    def execute(
        self, name: str, arguments: Mapping[str, object] | None = None, *, seconds: float = 10.0
    ) -> object:
        call = self._client.execute(name, dict(arguments) if arguments else None)
        answer: object = self._run(call, seconds, name)
        return answer

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
        return tuple(self._client.guest_ends)

    def drain(self, seconds: float) -> bool:
        """Reads QEMU's last messages (its SHUTDOWN event). Sends nothing. False if more may come."""
        if self._loop.is_closed():
            return True

        async def until_closed() -> None:
            deadline = time.monotonic() + seconds
            while self._client.runstate == Runstate.RUNNING and time.monotonic() < deadline:
                await asyncio.sleep(0.001)

        self._complete(until_closed())
        return self._client.runstate != Runstate.RUNNING

    def close(self) -> None:
        if self._loop.is_closed():
            return
        with held():
            # End of file in both directions ends whatever waits for QEMU. What is left ends by itself.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            try:
                with contextlib.suppress(TimeoutError):
                    self._loop.run_until_complete(asyncio.wait_for(self._leave(), _CLOSE_S))
            finally:
                self._loop.run_until_complete(_cancel_rest())
                self._loop.close()
                self._socket.close()

    async def _leave(self) -> None:
        """Closes the streams. The failure of a call or of the reader has no use any more."""
        if self._call is not None:
            await asyncio.gather(self._call, return_exceptions=True)
        await asyncio.gather(self._client.disconnect(), return_exceptions=True)

    def _run(self, call: Coroutine[Any, Any, _Answer], seconds: float, what: str) -> _Answer:
        try:
            return self._complete(asyncio.wait_for(call, seconds))
        except TimeoutError as error:
            raise QmpError(f"QEMU did not answer {what} over QMP within {seconds:g} s.") from error
        except (QMPError, EOFError, OSError) as error:
            raise QmpError(f"QMP failed at {what}: {str(error) or type(error).__name__}.") from error

    def _complete(self, call: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Runs the loop until the call is done. An interrupt is raised only while the loop stands still:
        inside it, it would lose a callback, and with it a transport or a task."""
        task: asyncio.Task[_Answer] = self._loop.create_task(call)
        self._call = task
        while not task.done():
            with held():
                self._loop.run_until_complete(asyncio.wait({task}, timeout=_INTERRUPT_S))
        return task.result()


def _new_loop(connection: socket.socket) -> asyncio.AbstractEventLoop:
    """OSError if this process may not open enough files. A loop that gets only some of its files would fail
    again when it is deleted, and Python would print that as an ignored exception."""
    with contextlib.ExitStack() as stack:
        for _ in range(_LOOP_FILES):
            stack.callback(os.close, os.dup(connection.fileno()))
    return asyncio.new_event_loop()


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    advice = "boot it in a thread, with asyncio.to_thread."
    raise UsageError(f"a guest cannot be booted inside a running event loop; {advice}")


async def _cancel_rest() -> None:
    """Cancels the tasks that are left after an interrupt inside the loop, as Python's own handler raises it.
    Such a task may never end, so the wait is bounded."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        ended, _ = await asyncio.wait(rest, timeout=_CLOSE_S)
        await asyncio.gather(*ended, return_exceptions=True)
