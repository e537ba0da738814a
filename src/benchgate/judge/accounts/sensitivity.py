"""What a session could have seen: its arms' noise floors, its clock's resolutions, and what no gate uses.

Takes arms, judged runs, or the planned cells and the gates; gives a `NoiseFloor` for each arm with enough
runs, the largest value of each field of the resolutions of each cell's runs, and an `UngatedRow` for each row
with CPU counts that no gate uses. Nothing fails.

The floor is an A/A test without more runs. If the arm were measured twice, both times with as many runs, the
ratio of both medians would be 1 but for noise. The exact bootstrap gives the distribution of that ratio, both
arms being resamples of the arm's own runs, and the floor is the end of its interval, at the policy's alpha: a
difference below it is no difference. On the instruction clock the samples are seeds, so the floor is that of
interleavings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchgate.base.cells import Cell, Lane
from benchgate.base.gates import SMALLEST_LOOK, VERIFIED, Arm, Gate
from benchgate.base.runs import Disorder, Resolution
from benchgate.base.statistics.stats import coefficient_of_variation, median, ratio_interval
from benchgate.judge.judged_run import JudgedRun, counted_by_cell


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The noise floor of the metric `work` in one arm."""

    cell_id: str
    lane: Lane
    runs: int
    floor: float
    """A share: 0.021 if two such arms differ by up to 2.1%."""
    halves: float
    """The median of every second run over that of the others, in the order of execution: what this session's
    own halves differ by."""
    cv: float | None
    """The standard deviation divided by the mean."""


def floors(arms: Mapping[str, Arm], alpha: float) -> Iterator[NoiseFloor]:
    for arm in arms.values():
        of = arm.work
        if of is None or len(of.samples) < SMALLEST_LOOK or min(of.samples) <= 0 or arm.invalid:
            continue
        interval = ratio_interval(of.samples, of.samples, alpha)
        yield NoiseFloor(
            cell_id=arm.cell.id,
            lane=of.lane,
            runs=len(of.samples),
            floor=max(interval.high, 1 / interval.low) - 1,
            halves=median(of.samples[1::2]) / median(of.samples[::2]),
            cv=coefficient_of_variation(of.samples),
        )


def resolutions(runs: Iterable[JudgedRun]) -> dict[str, Resolution]:
    cells = counted_by_cell(runs).items()
    result = {cell_id: [run.resolution for run in of if run.resolution] for cell_id, of in cells}
    return {cell_id: _largest_resolution(known) for cell_id, known in result.items() if known}


def _largest_resolution(found: Sequence[Resolution]) -> Resolution:
    in_total = (resolution.late_in_total for resolution in found)
    return Resolution(
        **_largest(found, "step", "handovers", "late", "printed"),
        order=_worst_disorder([resolution.order for resolution in found if resolution.order]),
        late_in_total=max((late for late in in_total if late is not None), default=None),
    )


def _largest(found: Sequence[object], *names: str) -> dict[str, Any]:
    return {name: max(getattr(value, name) for value in found) for name in names}


def _worst_disorder(disorders: Sequence[Disorder]) -> Disorder | None:
    """The most accesses of one run, and the worst access of all runs with its line."""
    if not disorders:
        return None
    worst = max(disorders, key=lambda disorder: disorder.worst_ns)
    return replace(worst, **_largest(disorders, "count", "total_ns", "crossed"))


@dataclass(frozen=True, slots=True)
class UngatedRow:
    row: str
    cpus: tuple[int, ...]

    def __str__(self) -> str:
        """`ungated (no threshold): primes-linux smp4, smp8`."""
        counts = ", ".join(f"smp{count}" for count in self.cpus)
        return f"ungated (no threshold): {self.row} {counts}"


def ungated(cells: Iterable[Cell], gates: Iterable[Gate]) -> tuple[UngatedRow, ...]:
    """A variant is never gated, so it is not declared."""
    used = {cell.id for gate in gates if gate.kind != VERIFIED for cell in gate.cells}
    rows: dict[str, dict[int, bool]] = {}
    for cell in cells:
        if not cell.variant:
            rows.setdefault(cell.row, {})[cell.cpus] = cell.id in used
    result = ((row, tuple(sorted(count for count in of if not of[count]))) for row, of in rows.items())
    return tuple(UngatedRow(row, counts) for row, counts in result if counts)
