"""A fleet as the maker of a session's runs (hooks.RunMaker).

Takes the options; gives a `Runner`, or a worker as the host of wall time. Fails with UsageError for an
address that may not be used, and with FleetError if the optional packages are missing or no scheduler
answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.clocks import Clock
from benchgate.base.errors import UsageError
from benchgate.base.snapshots import FORK
from benchgate.build.cache_storage import Notice
from benchgate.features.fleet import allow, certificates, dask_settings
from benchgate.features.fleet.engine import Engine
from benchgate.features.fleet.far_host import FarHost
from benchgate.features.fleet.option import CERTIFICATES, FLEET, KEY
from benchgate.features.fleet.packing import Vouch
from benchgate.features.fleet.runner import FleetRunner
from benchgate.features.fleet.task import Item, Task
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.run.runner import Runner
from benchgate.session.measuring_host import MeasuringHost


def host_of(options: Options, note: Notice) -> MeasuringHost | None:
    """Chooses a worker if --clock is `wall`."""
    if options.clock != Clock.WALL:
        return None
    engine = _engine(options)
    try:
        return FarHost(engine, note, vouch=_vouch(options))
    except BaseException:
        engine.close()
        raise


def runner_of(options: Options, note: Notice) -> Runner:
    return FleetRunner(_engine(options), note, vouch=_vouch(options), forks=options.start == FORK)


def _engine(options: Options) -> Engine:
    folder = _path(options, CERTIFICATES)
    where = certificates.checked_address(str(options.of_features[FLEET]), certificates=folder is not None)
    dask_settings.require()
    from benchgate.features.fleet.dask_engine import DaskEngine  # noqa: PLC0415 - `require` has found Dask

    return DaskEngine(where, certificates.security(folder, "client") if folder else None)


def _path(options: Options, name: str) -> Path | None:
    value = options.of_features.get(name)
    return Path(str(value)) if value else None


def _vouch(options: Options) -> Vouch:
    key = _path(options, KEY)

    @cache
    def signature(items: tuple[Item, ...]) -> str:
        return allow.vouched(items, key) if key else ""

    def vouch(task: Task) -> str:
        return signature(task.items)

    return vouch


def require_makeable(options: Options, cells: Iterable[PlannedCell]) -> None:
    """UsageError that names a row of which a worker makes no run."""
    lanes = (Lane.TCG, Lane.KVM) if options.clock == Clock.WALL else (Lane.INSN,)
    for planned in cells:
        if planned.seats.lane not in lanes:
            why = f"{planned.cell.row} is on lane {planned.seats.lane}, of which a worker makes no run"
            advice = "leave the row out, or measure it here"
            raise UsageError(f"--fleet with --clock {options.clock}: {why}: {advice}")
        if planned.system.ports:
            advice = f"measure {planned.cell.row} here"
            raise UsageError(f"--fleet: guests of {planned.cell.system} have ports of their host: {advice}")
