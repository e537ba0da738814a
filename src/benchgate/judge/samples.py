"""Makes samples of verified runs, and of nothing else.

Takes the VerifiedRuns of one cell; gives a Measurement of one metric with every counted sample in the order
of execution. Warm-up and void runs are not samples, and no run is left out because of its value. Fails with
DecideError if the runs are not one arm: different cells, lanes, placements, units or guests, a duplicate
attempt, no counted run, or a run without this metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base.cells import Cell, Lane, Window
from benchgate.base.errors import DecideError
from benchgate.base.runs import Measurement, Resolution, VerifiedRun
from benchgate.base.workload.metrics import SETTLING, WASTED_LONGEST, WINDOWS, Metric, MetricKind


def measurement(runs: Iterable[VerifiedRun], metric: Metric) -> Measurement:
    """One arm, one metric."""
    given = list(runs)
    for run in given:
        if not isinstance(run, VerifiedRun):
            raise TypeError(f"only a VerifiedRun can be measured, not {type(run).__name__}")
    counted = sorted((run for run in given if is_sample(run)), key=lambda run: run.run.attempt)
    if not counted:
        raise DecideError("there is no counted run to measure")
    _same_arm(counted)
    first = counted[0]
    if lacking := next((run for run in counted if metric.name not in run.metrics), None):
        raise DecideError(f"{first.run.cell.id}: run {lacking.run.attempt} has no metric {metric.name}")
    return Measurement(
        cell=first.run.cell,
        lane=first.run.lane,
        placement=first.run.placement,
        metric=metric,
        unit=first.unit if metric.name in WINDOWS else metric.unit,
        samples=tuple(run.metrics[metric.name] for run in counted),
        busy=_of_all([run.busy for run in counted]) if metric.grows_with_cpus_at_most else (),
        blur=_of_all([_blur(run, metric) for run in counted]),
        step=max(printed_step(run, metric) for run in counted),
        seeds=tuple(run.run.seed for run in counted),
        guest=first.run.guest_digest,
        hz=_hz(counted) if metric.name in WINDOWS else (),
        arch=first.arch,
        cpu_work=tuple(run.cpu_work for run in counted),
        runs=tuple(f"runs/{run.run.folder.name}" for run in counted),
    )


def printed_step(run: VerifiedRun, metric: Metric) -> float:
    """The amount by which the metric may be off because the guest prints its window in steps; 0: it does not.
    A rate is off most where the window is a step shorter."""
    step = float(run.resolution.printed) if run.resolution else 0.0
    if not step or metric.name in WINDOWS:
        return step
    value, length = run.metrics[metric.name], run.work if metric.window is Window.WORK else run.total
    if metric.kind is MetricKind.TIME and not metric.of:
        return value * step / length
    if metric.kind is MetricKind.RATE and not metric.per:
        return value * step / max(length - step, 1)
    return 0.0


def _hz(runs: Sequence[VerifiedRun]) -> tuple[int, ...]:
    """A guest that counts cycles measures their rate in each boot."""
    known = tuple(run.hz for run in runs if run.hz and run.run.lane is not Lane.INSN)
    return known if len(known) == len(runs) else ()


def _blur(run: VerifiedRun, metric: Metric) -> float | None:
    """The share by which the metric may be off. A count is not a time: an interleaving decides it."""
    known = run.resolution if run.run.lane is Lane.INSN else run.foreign
    if known is None:
        return None
    if metric.kind is MetricKind.PERCENTILE or metric.name in {WASTED_LONGEST, SETTLING}:
        value = run.metrics[metric.name]
        return known.step / value if isinstance(known, Resolution) and value else 0.0
    if metric.kind not in (MetricKind.TIME, MetricKind.RATE):
        return 0.0
    window = run.work if metric.window is Window.WORK else run.total
    if isinstance(known, Resolution):
        return known.late_in(metric.window) / window
    # All that other tasks of the guest used in wall time may have been taken from the workers.
    return known / max(window - known, 1)


def _of_all(values: Sequence[float | None]) -> tuple[float, ...]:
    known = tuple(float(value) for value in values if value is not None)
    return known if len(known) == len(values) else ()


def is_sample(run: VerifiedRun) -> bool:
    return not run.run.warmup and not run.void


def _same_arm(runs: list[VerifiedRun]) -> None:
    cell = runs[0].run.cell.id
    attempts = [run.run.attempt for run in runs]
    if len(set(attempts)) != len(attempts):
        raise DecideError(f"{cell}: a duplicate attempt in {attempts}")
    properties: dict[str, set[str]] = {
        "cells": {_named(run.run.cell) for run in runs},
        "lanes": {run.run.lane for run in runs},
        "placements": {run.run.placement for run in runs},
        "units": {run.unit for run in runs},
        "guest digests": {run.run.guest_digest for run in runs},
    }
    for name, found in properties.items():
        if len(found) > 1:
            words = ", ".join(sorted(found))
            raise DecideError(f"{cell}: runs with different {name} are not one arm: {words}")


def _named(cell: Cell) -> str:
    """The id and all parameters, because a badly chosen label can give two cells the same id."""
    return " ".join([cell.id, *(f"{name}={value}" for name, value in cell.params)])
