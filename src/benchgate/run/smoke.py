"""Boots a system's smokes: short checks that must pass at a CPU count before runs at it are accepted.

Takes the request for a boot without a workload, of a system that has a `smoke`; gives it as a smoke, which is
recorded like every run. judge/checks/smoke_check.py decides from the record whether the smoke passed. Fails
with UsageError if the system has no smoke.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import SMOKE, Cell
from benchgate.base.console_text import by_lines
from benchgate.base.errors import UsageError
from benchgate.base.runs import Deadlines
from benchgate.base.system.boots import EndBy, Smoke
from benchgate.base.system.systems import SELFTEST, System
from benchgate.base.workload.workloads import Workload
from benchgate.plan import catalog
from benchgate.run.attempt import RunRequest
from benchgate.run.watch import GUEST_WATCH, Watch, whole_line

ANY_WORKLOAD = "primes"
"""A kernel that is built with a workload is built with this one for its smokes, if no row names another."""


def smoke_watch(system: System, smoke: Smoke) -> Watch:
    """The watch of a smoke. It has no failure patterns of workloads, which a smoke may provoke on purpose."""
    is_killed = system.end.by is EndBy.KILL
    return replace(
        GUEST_WATCH,
        ready=by_lines(system.console.ready) if system.console.ready else None,
        result=None,
        ends=(whole_line(smoke.passes),) if is_killed else (),
        success=frozenset(system.end.exit_codes),
        kill_after_end=is_killed,
        may_reset=system.end.may_reset,
    )


def deadlines(stated: Deadlines) -> Deadlines:
    """The deadlines of a smoke. Smokes are short, so after the boot they get at most the boot's deadline
    again. A hang is then found in seconds, and not after the minutes that a workload may take."""
    return replace(stated, run_s=min(stated.run_s, stated.boot_s))


def smoke_of(system: System) -> Smoke:
    if system.smoke is None:
        raise UsageError(f"{system.file}: `smoke` is missing, so there is nothing to boot")
    return system.smoke


def as_smoke(made: RunRequest, system: System) -> RunRequest:
    """A boot of the system with the words of its smokes, watched and recorded as one of them."""
    spec = replace(made.spec, deadlines=deadlines(made.spec.deadlines))
    watch = smoke_watch(system, smoke_of(system))
    return replace(made, cell=cell_of(made.cell), spec=spec, warmup=True, watch=watch)


def stand_in(system: System) -> Workload:
    """The workload in whose image a system's smokes are booted alone. They do not run it."""
    return catalog.load_workload(SELFTEST if system.runs_selftest else ANY_WORKLOAD, system)


def cell_of(cell: Cell) -> Cell:
    """The cell of the smokes at the CPU count of this cell."""
    return Cell(cell.system, SMOKE, cell.mode, (), cell.cpus)
