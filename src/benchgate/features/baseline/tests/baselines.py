"""Baselines for tests. Arguments that a test omits have valid values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.runs import Measurement
from benchgate.base.workload.metrics import WINDOWS
from benchgate.features.baseline import baseline_file
from benchgate.features.baseline.baselines import (
    Baseline,
    BaselineArm,
    BaselineSet,
    Origin,
    SymbolCounts,
    SystemOrigin,
)
from benchgate.features.baseline.feature import BASELINE
from tests.unit.factories import cell

FILE = "reports/baselines/main.json"
CLOCK = "full serial " + "c" * 64
SYSTEM = SystemOrigin(definition="d" * 64, qemu="e" * 64, clock=CLOCK)
ORIGIN = Origin({"cpu_model": "Example", "cores": "2"}, {"linux": SYSTEM})
GUEST = "a" * 64
SEEDS = (1, 2, 3, 4, 5)


def figures(
    of: Cell,
    samples: Sequence[float],
    *,
    name: str = "work",
    lane: Lane = Lane.TCG,
    unit: str = "ns",
    guest: str = GUEST,
    seeds: Sequence[int] = SEEDS,
) -> Measurement:
    place, metric = Placement.PHYSICAL, WINDOWS[name]
    return Measurement(of, lane, place, metric, unit, tuple(samples), seeds=tuple(seeds), guest=guest)


def arm(of: Cell, samples: Sequence[float], *more: Measurement, **facts: Any) -> BaselineArm:
    """`total` is `work` unless `more` has it."""
    measurements = [figures(of, samples, name=name, **facts) for name in ("work", "total")]
    every = {measurement.metric.name: measurement for measurement in (*measurements, *more)}
    measurement = measurements[0]
    return BaselineArm(
        of, measurement.lane, measurement.placement, measurement.guest, measurement.seeds, every
    )


def baseline(*arms: BaselineArm, origin: Origin = ORIGIN) -> Baseline:
    return Baseline(
        session="20260102T030405Z-abcdef",
        finished="2026-01-02T03:06:00Z",
        accepted="2026-01-03",
        manifest="b" * 64,
        commit="0123abc",
        origin=origin,
        arms=arms or (arm(cell(2), [100] * 5),),
    )


def against(found: Baseline | None, here: Origin = ORIGIN) -> dict[str, object]:
    return {BASELINE.name: BaselineSet(here, {} if found is None else {FILE: found})}


def symbols(counts: Mapping[tuple[str, str], int]) -> SymbolCounts:
    return SymbolCounts(1, 1000, counts)


def forged(text: str, edit: Callable[[dict[str, Any]], object]) -> str:
    """The text of a baseline after an edit by somebody who makes its digest again."""
    result = json.loads(text)
    edit(result)
    result.pop("digest", None)
    result["digest"] = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    return json.dumps(result)


def written(*arms: BaselineArm) -> str:
    return baseline_file.render(baseline(*arms))
