"""Verified runs become samples. Nothing else can: a figure without its verifier does not exist here.

Takes the VerifiedRuns of one cell, gives a Measurement of one window with every counted sample in the
order in which it was taken. Warm-up runs and runs that a detector voided are no samples; no run is ever
left out for its value. Fails with DecideError where the runs cannot be one arm: several cells, lanes,
placements, units or guests, one attempt twice, or no counted run at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.errors import DecideError
from benchgate.model import Cell, Ending, Measurement, Outcome, RawRun, VerifiedRun, Window

OWN_ENDINGS = (Ending.DONE, Ending.FAILED)
"""The machine came to its end by itself; every other ending is a crash, seen from outside."""


def outcome_of(raw: RawRun, run: VerifiedRun | None) -> Outcome:
    """A run that is no result is invalid or crashed even as a warm-up, and noise does not excuse it."""
    if run is None:
        return Outcome.INVALID if raw.ending in OWN_ENDINGS else Outcome.CRASHED
    if raw.warmup:
        return Outcome.WARMUP
    return Outcome.VOID if raw.void_reason else Outcome.OK


def is_counted(run: VerifiedRun) -> bool:
    """Whether a run is a sample: neither a warm-up nor voided by a detector named beforehand."""
    return not run.run.warmup and not run.run.void_reason


def value(run: VerifiedRun, window: Window) -> int:
    return run.work if window is Window.WORK else run.total


def measure(runs: Iterable[VerifiedRun], window: Window) -> Measurement:
    """One arm, one window."""
    given = list(runs)
    for run in given:
        if not isinstance(run, VerifiedRun):
            raise TypeError(f"only a VerifiedRun can be measured, not {type(run).__name__}")
    counted = sorted((run for run in given if is_counted(run)), key=lambda run: run.run.attempt)
    if not counted:
        raise DecideError("there is no counted run to measure: an absent figure is not a figure")
    _same_arm(counted)
    first = counted[0]
    return Measurement(
        cell=first.run.cell,
        lane=first.run.lane,
        placement=first.run.placement,
        window=window,
        unit=first.unit,
        samples=tuple(float(value(run, window)) for run in counted),
    )


def _same_arm(runs: list[VerifiedRun]) -> None:
    cell = runs[0].run.cell.id
    attempts = [run.run.attempt for run in runs]
    if len(set(attempts)) != len(attempts):
        raise DecideError(f"{cell}: an attempt is counted twice among {attempts}")
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
    """The id and all parameters: two cells may share the id by a label that somebody chose badly."""
    return " ".join([cell.id, *(f"{name}={value}" for name, value in cell.params)])
