"""The files of one run that a verifier reads: the console and the instruction clock's log, each read once.

Takes a RawRun; gives the bytes of its console and its clock log. Fails with VerifyError if a file cannot be
read, if the clock reported a problem, or if the log has another seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_start
from benchgate.base.runs import RawRun
from benchgate.insn.log import ClockLog, read_log
from benchgate.judge.wire import MAX_CONSOLE_BYTES

CONSOLE = "serial.log"


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
    def clock(self) -> ClockLog:
        if self.run.clock_log is None:
            raise VerifyError("this run has no log of the instruction clock")
        log = read_log(self.run.clock_log)
        if log.problem:
            raise VerifyError(f"the instruction clock: {log.problem}")
        if log.seed != self.run.seed:
            raise VerifyError(f"the instruction clock ran with seed {log.seed}, not {self.run.seed}")
        return log


def read_console(run: RawRun) -> bytes:
    return RunFiles(run).console
