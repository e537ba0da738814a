"""Judges every run of a study again, from its evidence, and compares it with its result.

Takes a StudyFolder; gives a sentence for each difference. Fails with UsageError if the study cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchgate.base.errors import BenchgateError
from benchgate.judge.mixed import verify_mix
from benchgate.mix import vectors
from benchgate.mix.limits import Amount, amount
from benchgate.mix.measured import Done, Measured, Runs, alone
from benchgate.mix.orders import Order
from benchgate.mix.study import Study
from benchgate.plan import catalog
from benchgate.run.record import load
from benchgate.session.mixing.folder import StudyFolder
from benchgate.session.mixing.lab import limited_machine, measured, mix_of, ways_of
from benchgate.session.mixing.measure import Job


def differences(folder: StudyFolder) -> list[str]:
    study, runs = folder.study(), folder.runs()
    by_key = {one.key: one for one in folder.orders()}
    return [*_differences(folder, study, runs, by_key)]


def _differences(folder: StudyFolder, study: Study, runs: Runs, orders: dict[str, Order]) -> Iterator[str]:
    for key, done in runs.items():
        if done.measured is None:
            continue
        if key not in orders:
            yield f"{key}: it is not in the plan"
            continue
        try:
            again = judged(study, runs, orders[key], folder.path / done.folder)
        except BenchgateError as error:
            yield f"{key}: its files give no result: {error}"
            continue
        if again != done.measured:
            yield f"{key}: its files say something else than its result: {_first(again, done)}"


def judged(study: Study, runs: Runs, order: Order, attempt: Path) -> Measured:
    machine = catalog.load_machine(study.machine) if study.machine else None
    system = catalog.load_system(study.system)
    limit = _limit(study, runs, order, ways_of(machine))
    if machine is not None:
        system = system.on(limited_machine(machine, limit))
    return measured(verify_mix(load(attempt), mix_of(Job(order, study, limit), system)), machine, study)


def _limit(study: Study, runs: Runs, order: Order, ways: int | None) -> Amount | None:
    if order.limit is None:
        return None
    name = order.parts[0].input
    found = next(one for one in vectors.of(study, runs) if one.input.name == name)
    limit = amount(order.limit, found, [*alone(study, runs, name).values()], ways)
    return None if isinstance(limit, str) else limit


def _first(again: Measured, done: Done) -> str:
    """One figure that differs."""
    if done.measured is None or len(again.parts) != len(done.measured.parts):
        return "other parts"
    for one, other in zip(again.parts, done.measured.parts, strict=True):
        if one != other:
            return f"{one.name}: {float(one.score):.6g} runs per second, and not {float(other.score):.6g}"
    return "the use of resources"
