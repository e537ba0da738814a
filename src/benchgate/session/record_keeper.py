"""What a session with --measure records of each cell's first run on the instruction clock: call stacks, and,
on a machine with memory, the lines that moved between CPUs.

Takes planned runs; gives what the clock shall record of each, and replaces what it recorded by folded stacks
and named lines, before the run's folder is closed. A guest whose calls cannot be followed has no stacks
(insn/c/stacks.h). Fails with BuildError if a kernel's symbols cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchgate.base.arch import X86_64
from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.results import ResultFormat
from benchgate.base.runs import RawRun
from benchgate.insn.arguments import NO_RECORDS, Records
from benchgate.insn.plugin import INLINE_API, api_of
from benchgate.plan.planned import PlannedCell
from benchgate.session import recordings
from benchgate.session.guests import Guests


class RecordKeeper:
    def __init__(self, guests: Guests, note: Callable[[str], None], *, is_on: bool) -> None:
        self._guests, self._note, self._is_on = guests, note, is_on
        self._recorded: set[str] = set()

    def records(self, planned: PlannedCell, folder: Path) -> Records:
        if planned.cell.id in self._recorded or not self._is_on or planned.seats.lane is not Lane.INSN:
            return NO_RECORDS
        self._recorded.add(planned.cell.id)
        return recordings.records(
            folder, stacks=self._can_follow(planned), lines=planned.system.machine is not None
        )

    def keep(self, planned: PlannedCell, raw: RawRun) -> None:
        """Without the plugin's own files: they have addresses, which nobody can read without the symbols."""
        made = {recordings.STACKS: recordings.fold, recordings.SHARING: recordings.name_lines}
        for name, make in made.items():
            file = raw.folder / name
            if not file.exists():
                continue
            try:
                make(file, *self._guests.all_symbols(planned))
            except VerifyError as error:
                self._note(f"nothing of {name} of {planned.cell.id} is kept: {error}")
            file.unlink()

    def _can_follow(self, planned: PlannedCell) -> bool:
        if planned.system.result.format is not ResultFormat.BENCH:
            return False
        qemu = self._guests.machines.vm(planned).qemu
        return qemu.guest is X86_64 and api_of(qemu) >= INLINE_API
