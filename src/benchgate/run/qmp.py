"""A synchronous QMP client with deadlines, on top of the library qemu.qmp.

Takes a connected socket; gives answers as plain Python values, and a transcript with one JSON object per
line. Between calls it sends nothing, and events wait in the socket until `drain`. Fails with QmpError, which
the caller turns into the run's ending. QEMU's answers are untrusted: `cpu_threads` checks them.
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
from types import TracebackType
from typing import Any, Self, TypeVar

from qemu.qmp import Message, QMPClient, QMPError, Runstate

from benchgate.base.errors import BootError, UsageError

_Answer = TypeVar("_Answer")
_TRANSCRIPT_BYTES = 1 << 20
_MESSAGE_BYTES = 1 << 20
_CLOSE_S = 2.0
_LOOP_FILES = 3
"""An event loop opens a selector and a pair of sockets."""


class QmpError(BootError):
    """QEMU did not speak QMP, did not answer in time, or refused a command."""


class _Client(QMPClient):
    """Writes every message to the transcript."""

    def __init__(self, path: Path) -> None:
        super().__init__("benchgate", readbuflen=_MESSAGE_BYTES)
        self._path = path
        self._left = _TRANSCRIPT_BYTES

    def _cb_outbound(self, msg: Message) -> Message:
        self._record("sent", msg)
        return msg

    def _cb_inbound(self, msg: Message) -> Message:
        self._record("received", msg)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(polite=kind is None or issubclass(kind, Exception))

    def connect(self, seconds: float) -> None:
        """Waits for the greeting and negotiates capabilities."""
        self._run(self._client.connect(self._socket), seconds, "the greeting")

    def execute(
        self, name: str, arguments: Mapping[str, object] | None = None, *, seconds: float = 10.0
    ) -> object:
        answer: object = self._run(
            self._client.execute(name, dict(arguments) if arguments else None), seconds, name
        )
        return answer

    def cpu_threads(self, seconds: float) -> tuple[int, ...]:
        """The host thread of each vCPU, by vCPU index."""
        answer = self.execute("query-cpus-fast", seconds=seconds)
        threads: dict[int, int] = {}
        for entry in answer if isinstance(answer, list) else [answer]:
            index = entry.get("cpu-index") if isinstance(entry, dict) else None
            thread = entry.get("thread-id") if isinstance(entry, dict) else None
            if not isinstance(index, int) or not isinstance(thread, int) or index in threads:
                raise QmpError("QEMU's answer to query-cpus-fast is not a list of vCPUs and their threads.")
            threads[index] = thread
        if sorted(threads) != list(range(len(threads))):
            raise QmpError(f"QEMU numbered its vCPUs {sorted(threads)}, not 0, 1, 2 and so on without a gap.")
        return tuple(threads[index] for index in sorted(threads))

    def drain(self, seconds: float) -> None:
        """Reads QEMU's last messages (its SHUTDOWN event) into the transcript. Sends nothing."""
        if self._loop.is_closed():
            return

        async def until_closed() -> None:
            deadline = time.monotonic() + seconds
            while self._client.runstate == Runstate.RUNNING and time.monotonic() < deadline:
                await asyncio.sleep(0.001)

        self._loop.run_until_complete(until_closed())

    def close(self, *, polite: bool = True) -> None:
        """`polite`: also disconnect. After an interrupt in the middle of a call this is not possible."""
        if self._loop.is_closed():
            return
        try:
            if polite:
                self._run(self._client.disconnect(), _CLOSE_S, "the disconnect")
        except QmpError:
            pass  # QEMU is gone, or does not speak QMP
        finally:
            self._loop.run_until_complete(_cancel_rest())
            self._loop.close()
            self._socket.close()

    def _run(self, call: Coroutine[Any, Any, _Answer], seconds: float, what: str) -> _Answer:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(call, seconds))
        except TimeoutError as error:
            raise QmpError(f"QEMU did not answer {what} over QMP within {seconds:g} s.") from error
        except (QMPError, EOFError, OSError) as error:
            raise QmpError(f"QMP failed at {what}: {str(error) or type(error).__name__}.") from error


def _new_loop(connection: socket.socket) -> asyncio.AbstractEventLoop:
    """OSError if this process may not open enough files. A loop that gets some of its files and not all would
    fail again when it is deleted, and Python would print that as an ignored exception."""
    with contextlib.ExitStack() as stack:
        for _ in range(_LOOP_FILES):
            stack.callback(os.close, os.dup(connection.fileno()))
    return asyncio.new_event_loop()


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "a guest cannot be booted inside a running event loop; boot it in a thread, with asyncio.to_thread."
    )


async def _cancel_rest() -> None:
    """Cancels the tasks that an interrupted call left, so that the loop can be closed without pending
    tasks."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
