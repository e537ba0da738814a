"""Makes samples of verified runs, and of nothing else.

Takes the VerifiedRuns of one cell; gives a Measurement of one window with every counted sample in the order
of execution. Warm-up and void runs are not samples, and no run is left out because of its value. Fails with
DecideError if the runs are not one arm: different cells, lanes, placements, units or guests, a duplicate
attempt, or no counted run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base.cells import Cell, Window
from benchgate.base.errors import DecideError
from benchgate.base.runs import Measurement, VerifiedRun


def measurement(runs: Iterable[VerifiedRun], window: Window) -> Measurement:
    """One arm, one window."""
    given = list(runs)
    for run in given:
        if not isinstance(run, VerifiedRun):
            raise TypeError(f"only a VerifiedRun can be measured, not {type(run).__name__}")
    counted = sorted((run for run in given if is_sample(run)), key=lambda run: run.run.attempt)
    if not counted:
        raise DecideError("there is no counted run to measure")
    _same_arm(counted)
    first = counted[0]
    windows = [float(run.work if window is Window.WORK else run.total) for run in counted]
    busy = [run.busy for run in counted]
    late = [
        run.resolution.late / whole if run.resolution else None
        for run, whole in zip(counted, windows, strict=True)
    ]
    return Measurement(
        cell=first.run.cell,
        lane=first.run.lane,
        placement=first.run.placement,
        window=window,
        unit=first.unit,
        samples=tuple(windows),
        busy=_of_all(busy),
        late=_of_all(late),
    )


def _of_all(values: Sequence[float | None]) -> tuple[float, ...]:
    known = tuple(float(one) for one in values if one is not None)
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
