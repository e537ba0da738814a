"""The files of one run that a verifier reads, each read once.

Takes a RawRun; gives the bytes of its console, its transcript, its clock log, its command line and the CPUs
of its threads. Fails with VerifyError if a file cannot be read or is not what benchgate writes, if the clock
reported a problem, or if its log has another seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_json, read_start
from benchgate.base.jsonfields import Fields
from benchgate.base.runs import RawRun
from benchgate.insn.log import ClockLog, read_log
from benchgate.judge import wire
from benchgate.judge.wire import MAX_CONSOLE_BYTES, Transcript

CONSOLE, ARGV, AFFINITY = "serial.log", "argv.json", "affinity.json"
_JSON_BYTES = 1 << 20


@dataclass(frozen=True)
class RunFiles:
    run: RawRun

    @cached_property
    def console(self) -> bytes:
        path = self.run.folder / CONSOLE
        try:
            return read_start(path, MAX_CONSOLE_BYTES)
        except OSError as error:
            raise VerifyError(f"the console {path} cannot be read: {error.strerror}") from error

    @cached_property
    def transcript(self) -> Transcript:
        return wire.parse(self.console, nonce=self.run.nonce)

    @cached_property
    def argv(self) -> tuple[str, ...]:
        """The command line that was executed."""
        words = self._list(ARGV)
        if not all(isinstance(word, str) for word in words):
            raise VerifyError(f"{self.run.folder / ARGV} is not a command line")
        return tuple(words)

    @cached_property
    def affinity(self) -> tuple[tuple[int | None, tuple[int, ...]], ...]:
        """Of each thread: its vCPU, if it is one, and the host CPUs that it was read back to have."""
        try:
            return tuple(map(_placed, self._list(AFFINITY)))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / AFFINITY}: {error}") from error

    def _list(self, name: str) -> list[Any]:
        path = self.run.folder / name
        try:
            found = read_json(read_start(path, _JSON_BYTES))
        except OSError as error:
            raise VerifyError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise VerifyError(f"{path} is not JSON: {error}") from error
        if not isinstance(found, list):
            raise VerifyError(f"{path} is not a JSON list")
        return found

    @cached_property
    def clock(self) -> ClockLog:
        if self.run.clock_log is None:
            raise VerifyError("this run has no log of the instruction clock")
        log = read_log(self.run.clock_log)
        if log.problem:
            raise VerifyError(f"the instruction clock: {log.problem}")
        if log.seed != self.run.seed:
            raise VerifyError(f"the instruction clock ran with seed {log.seed}, not {self.run.seed}")
        return log


def _placed(value: object) -> tuple[int | None, tuple[int, ...]]:
    fields = Fields(value, "a thread")
    return fields.number_or_none("vcpu"), fields.numbers("found")


def read_console(run: RawRun) -> bytes:
    return RunFiles(run).console
