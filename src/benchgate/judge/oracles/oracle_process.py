"""One oracle in a process of its own, which answers one question at a time.

Takes the oracle's file and questions as plain JSON values; gives a word and a text. The process is not
trusted: it has limits of memory, CPU time and waiting; what it prints is discarded; its answers are bounded
and read strictly. It dies with the thread that started it. Fails with NoAnswerError, which says what the
process did instead and after which it has ended; with cpu_limit.Exhausted; and with BootError if the host
cannot start it.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import cpu_limit, process
from benchgate.base.files import read_json
from benchgate.base.jsonfields import read
from benchgate.host.noise import run_delay_ns

PROGRAM = Path(__file__).with_name("oracle_main.py")
MOST_ANSWER_BYTES = 64 * 1024
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("MKL", "OMP", "OPENBLAS")}
"""Thread pools would reserve much of the memory that is allowed, on a host with many CPUs."""
_CHANNEL = 3
_TICK_MS = 100
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class OracleLimits:
    """Each answer has these limits; the memory limit is for the whole process."""

    cpu_s: float = 60.0
    waiting_s: float = 60.0
    """The time without computing or waiting for a CPU, so that a busy host is not the oracle's fault."""
    memory_bytes: int = 4 * 2**30


LIMITS = OracleLimits()


class NoAnswerError(Exception):
    """The process gave no answer, or none that can be read."""


class OracleKilledError(NoAnswerError):
    """A signal ended the process: the host sent it, or a fault of the process caused it."""


@dataclass(frozen=True, slots=True)
class _ProcessUse:
    """What a process has used since its start."""

    at_s: float
    cpu_s: float
    ready_s: float
    """The time in which it could have run, but the host gave it no CPU."""


class OracleProcess:
    """It starts now, and ends at `end` or when it gives no answer."""

    def __init__(self, file: Path, limits: OracleLimits = LIMITS) -> None:
        self._limits = limits
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        try:
            with theirs, Path(os.devnull).open("r+b", buffering=0) as nothing:
                self._child = process.start(
                    [sys.executable, "-I", str(PROGRAM), str(_CHANNEL)],
                    process.base_environment(_ONE_THREAD),
                    stdin=nothing.fileno(),
                    stdout=nothing.fileno(),
                    stderr=nothing.fileno(),
                    descriptors={_CHANNEL: theirs.fileno()},
                )
        except BaseException:
            self._channel.close()
            raise
        setup = {"oracle": str(file), "path": [os.path.abspath(text) for text in sys.path]}  # noqa: PTH100
        self._unsent = _line({**setup, "memory_bytes": limits.memory_bytes})
        self._counted_s = 0.0
        """The CPU time that was reported to cpu_limit."""

    @property
    def is_ready(self) -> bool:
        """False if it ended, or said something, without being asked."""
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        return not poller.poll(0) and not self._child.has_ended()

    def ask(self, question: Mapping[str, object]) -> tuple[str, str]:
        """The word and the text of its answer. Any other end of this call ends the process."""
        token = secrets.token_hex(8)
        try:
            return _read(self._exchange(_line({**question, "token": token})), token)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Ends the process and those that it started, as long as they are in its group."""
        self._channel.close()
        self._child.stop(0)

    def _exchange(self, question: bytes) -> bytes:
        began, answer = self._spent(), b""
        self._unsent += question
        poller = select.poll()
        while not answer.endswith(b"\n"):
            poller.register(self._channel, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            had_ended = self._child.has_ended()
            events = dict(poller.poll(_TICK_MS)).get(self._channel.fileno(), 0)
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                answer += self._receive(most=MOST_ANSWER_BYTES + 1 - len(answer))
            elif had_ended:
                raise self._end()
            elif events & select.POLLOUT:
                self._send()
                continue
            self._count(began, has_answered=answer.endswith(b"\n"))
        return answer

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._channel.send(self._unsent) :]
        except OSError:
            raise self._end() from None

    def _receive(self, most: int) -> bytes:
        try:
            piece = self._channel.recv(most)
        except OSError:
            piece = b""
        if not piece:
            raise self._end()
        if len(piece) == most:
            raise NoAnswerError(
                f"its process wrote more than {MOST_ANSWER_BYTES} bytes on its answer channel"
            )
        return piece

    def _end(self) -> NoAnswerError:
        """Why the channel is closed."""
        if not self._child.wait(_END_S):
            return NoAnswerError("its process closed its answer channel")
        status = self._child.stop(0)
        if status >= 0:
            return NoAnswerError(f"its process ended (exit status {status})")
        return OracleKilledError(f"its process ended (signal {signal.Signals(-status).name})")

    def _count(self, began: _ProcessUse, *, has_answered: bool) -> None:
        """Reports the CPU time to the caller's limit, and checks our own limits of one answer."""
        now, limits = self._spent(), self._limits
        counted_s, self._counted_s = self._counted_s, now.cpu_s
        cpu_limit.charge(now.cpu_s - counted_s)
        cpu_s, ready_s = now.cpu_s - began.cpu_s, now.ready_s - began.ready_s
        if has_answered:
            return
        if cpu_s > limits.cpu_s:
            raise NoAnswerError(f"it used more than {limits.cpu_s:g} s of CPU time")
        if now.at_s - began.at_s - cpu_s - ready_s > limits.waiting_s:
            raise NoAnswerError(f"it waited for more than {limits.waiting_s:g} s without computing")

    def _spent(self) -> _ProcessUse:
        cpu_s, delay_ns = self._child.cpu_s(with_children=True), run_delay_ns(self._child.pid)
        used = self._counted_s if cpu_s is None else cpu_s
        return _ProcessUse(time.monotonic(), used, (delay_ns or 0) / 1e9)


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"


@dataclass(frozen=True)
class _OracleAnswer:
    token: str
    word: str
    text: str


def _read(answer: bytes, token: str) -> tuple[str, str]:
    try:
        said = read(_OracleAnswer, read_json(answer), "the answer")
    except ValueError as error:
        raise NoAnswerError(f"its process wrote something else on its answer channel: {error}") from None
    if said.token != token:
        raise NoAnswerError("its process answered another question")
    return said.word, said.text
