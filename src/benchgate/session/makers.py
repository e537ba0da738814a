"""Chooses who carries out attempts: a session that is resumed, then this machine or a feature's maker.

Takes the options; gives a `Runner` or a `MeasuringHost`. Fails with EvidenceError for a folder that cannot be
resumed, and as the maker does (hooks.RunMaker), of which a session without one imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.snapshots import FORK
from benchgate.build.cache_storage import Notice
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.run.runner import LocalRunner, Runner
from benchgate.run.templates import Templates
from benchgate.session.measuring_host import MeasuringHost, ThisHost
from benchgate.session.resume import ResumingRunner


def host_of(options: Options, note: Notice) -> MeasuringHost:
    host: MeasuringHost | None = options.maker.module().host_of(options, note) if options.maker else None
    return ThisHost() if host is None else host


def runner_of(options: Options, note: Notice, host: MeasuringHost) -> Runner:
    runner = host.runner or maker_of(options, note)
    return ResumingRunner(runner, options.resume, note) if options.resume else runner


def maker_of(options: Options, note: Notice) -> Runner:
    """Chooses who makes runs, apart from a session that is resumed."""
    if options.maker is None:
        return local_runner(options, note)
    runner: Runner = options.maker.module().runner_of(options, note)
    return runner


def local_runner(options: Options, note: Notice) -> LocalRunner:
    return LocalRunner(Templates(note) if options.start == FORK else None)


def require_makeable(options: Options, cells: Iterable[PlannedCell]) -> None:
    """UsageError that names a cell of which nobody can make a run."""
    if options.maker is not None:
        options.maker.module().require_makeable(options, cells)
