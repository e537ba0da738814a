"""Chooses who carries out a session's attempts: a session that is resumed, then this machine or a fleet.

Takes the options; gives a `Runner`. Fails with UsageError for an address that may not be used, with
FleetError if the optional packages are missing or no scheduler answers, and with EvidenceError for a folder
that cannot be resumed. A session without a fleet imports nothing of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.cells import Lane
from benchgate.base.clocks import Clock
from benchgate.base.errors import UsageError
from benchgate.base.snapshots import FORK
from benchgate.build.cache_storage import Notice
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.run.runner import LocalRunner, Runner
from benchgate.run.templates import Templates
from benchgate.session.measuring_host import MeasuringHost, ThisHost
from benchgate.session.resume import ResumingRunner

if TYPE_CHECKING:
    from benchgate.fleet.engine import Engine
    from benchgate.fleet.packing import Vouch
    from benchgate.fleet.task import Item, Task


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that a command was told of; an empty address: none."""

    address: str = ""
    certificates: Path | None = None
    key: Path | None = None
    """What vouches for what its workers run."""

    def within(self, options: Options) -> Options:
        if not self.address:
            return options
        return replace(options, fleet=self.address, fleet_certificates=self.certificates, fleet_key=self.key)

    def require(self) -> None:
        """UsageError if its words can be no fleet's. Asks nobody."""
        if self.address:
            _address(self.within(Options()))


NO_FLEET = Fleet()


def host_of(options: Options, note: Notice) -> MeasuringHost:
    """Chooses a worker if --fleet is given and --clock is `wall`."""
    if not (options.fleet and options.clock == Clock.WALL):
        return ThisHost()
    from benchgate.fleet.far_host import FarHost

    engine = _engine(options)
    try:
        return FarHost(engine, note, vouch=_vouch(options))
    except BaseException:
        engine.close()
        raise


def runner_of(options: Options, note: Notice, host: MeasuringHost) -> Runner:
    runner = host.runner or maker_of(options, note)
    return ResumingRunner(runner, options.resume, note) if options.resume else runner


def maker_of(options: Options, note: Notice) -> Runner:
    """Chooses who makes runs, apart from a session that is resumed."""
    if options.fleet:
        from benchgate.fleet.runner import FleetRunner

        return FleetRunner(_engine(options), note, vouch=_vouch(options), forks=options.start == FORK)
    return local_runner(options, note)


def local_runner(options: Options, note: Notice) -> LocalRunner:
    return LocalRunner(Templates(note) if options.start == FORK else None)


def _address(options: Options) -> str:
    """Checks the key, too: a scheduler that does not answer is waited for."""
    from benchgate.fleet import allow, certificates

    result = certificates.checked_address(options.fleet, certificates=options.fleet_certificates is not None)
    if options.fleet_key:
        allow.require_key(options.fleet_key)
    return result


def _engine(options: Options) -> Engine:
    from benchgate.fleet import certificates, dask_settings

    where, folder = _address(options), options.fleet_certificates
    dask_settings.require()
    from benchgate.fleet.dask_engine import DaskEngine  # with Dask, which `require` has found

    return DaskEngine(where, certificates.security(folder, "client") if folder else None)


def _vouch(options: Options) -> Vouch:
    from benchgate.fleet import allow

    @cache
    def signature(items: tuple[Item, ...]) -> str:
        return allow.vouched(items, options.fleet_key) if options.fleet_key else ""

    def vouch(task: Task) -> str:
        return signature(task.items)

    return vouch


def require_makeable(options: Options, cells: Iterable[PlannedCell]) -> None:
    """UsageError that names a row of which a fleet can make no run."""
    lanes = (Lane.TCG, Lane.KVM) if options.clock == Clock.WALL else (Lane.INSN,)
    for planned in cells:
        if planned.seats.lane not in lanes:
            why = f"{planned.cell.row} is on lane {planned.seats.lane}, of which a worker makes no run"
            advice = "leave the row out, or measure it here"
            raise UsageError(f"--fleet with --clock {options.clock}: {why}: {advice}")
        if planned.system.ports:
            advice = f"measure {planned.cell.row} here"
            raise UsageError(f"--fleet: guests of {planned.cell.system} have ports of their host: {advice}")
