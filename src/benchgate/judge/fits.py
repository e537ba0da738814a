"""Fits scaling laws to the arms of a row: for a gate, and for the curves of the reports.

Takes measurements of one metric by CPU count; gives fitted laws. Does not fail: a row with too few CPU counts
has no fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base import grouped
from benchgate.base.cells import Lane, Placement
from benchgate.base.gates import SMALLEST_LOOK, Arm
from benchgate.base.runs import Measurement
from benchgate.base.statistics.laws import Model, ScalingFit, fitted
from benchgate.base.workload.metrics import MetricDirection


@dataclass(frozen=True, slots=True)
class Fit:
    """One law over the arms of a row, of the metric `work`, over all counted runs."""

    row: str
    system: str
    label: str
    lane: Lane
    scaling: ScalingFit

    @property
    def said(self) -> str:
        """`primes-linux: Amdahl, serial 0.031 [0.028, 0.034]; residuals -0.2% 0.1% 0.1% (smp1,2,4)`."""
        fit = self.scaling
        if fit.model is Model.AMDAHL:
            law = f"Amdahl, serial {_with_interval(fit, 'sigma')}"
        else:
            parts = [f"{name} {_with_interval(fit, name)}" for name in ("sigma", "kappa")]
            peak = fit.law.peak
            at = f"largest speedup at {peak:.3g} CPUs" if peak < MOST_CPUS else "no largest speedup"
            law = f"USL, {', '.join(parts)}, {at}"
        rest = " ".join(f"{residual:+.1%}" for residual in fit.residuals)
        counts = ",".join(map(str, fit.counts))
        shaped = "" if fit.is_shaped else f"; {residuals(fit)}"
        return f"{self.row}: {law}; residuals {rest} (smp{counts}){shaped}"


def fits(arms: Mapping[str, Arm], alpha: float) -> Iterator[Fit]:
    """Fits to each row the laws for which it has enough CPU counts."""
    for row, of in grouped(filter(is_usable, arms.values()), key=lambda arm: arm.cell.row).items():
        ordered = sorted(of, key=lambda arm: arm.cell.cpus)
        kinds = {(arm.lane, arm.placement, arm.work.unit if arm.work else "") for arm in of}
        for model in Model:
            if len(of) >= model.fewest and len(kinds) == 1:
                works = [arm.work for arm in ordered if arm.work is not None]
                cell = ordered[0].cell
                yield Fit(row, cell.system, cell.label, works[0].lane, fit_of(model, works, None, alpha))


def is_usable(arm: Arm) -> bool:
    """True if the arm may be in a fit for information: its runs are verified, on CPUs of their own."""
    of = arm.work
    own = arm.placement not in (Placement.SMT, Placement.OVERSUBSCRIBED) and not arm.cell.variant
    sound = not arm.invalid and not arm.unrepeated and not arm.informs
    return own and sound and of is not None and arm.runs >= SMALLEST_LOOK and min(of.samples) > 0


def fit_of(model: Model, of: Sequence[Measurement], look: int | None, alpha: float) -> ScalingFit:
    """Fits the first `look` runs of each arm; None: all of them."""
    arms = tuple((measurement.cell.cpus, times(measurement)[:look]) for measurement in of)
    off = tuple(
        max(measurement.blur[:look], default=0.0) + measurement.step / min(measurement.samples[:look])
        for measurement in of
    )
    return fitted(model, arms, alpha, off)


def times(of: Measurement) -> tuple[float, ...]:
    """A rate is the reciprocal of a time."""
    is_time = of.metric.better is MetricDirection.LESS
    return tuple(float(sample) if is_time else 1 / sample for sample in of.samples)


def residuals(fit: ScalingFit) -> str:
    """Why a law does not describe its arms."""
    count, residual = fit.worst
    name = {Model.AMDAHL: "Amdahl", Model.USL: "USL"}[fit.model]
    side = "longer" if residual > 0 else "shorter"
    return (
        f"the row is not {name}-shaped: smp{count} takes {abs(residual):.1%} {side} than the fitted law, "
        "which noise does not explain"
    )


MOST_CPUS = 1e6
"""A largest speedup beyond this is none."""


def _with_interval(fit: ScalingFit, name: str) -> str:
    value, interval = getattr(fit.law, name), fit.intervals[name]
    return f"{value:.3g} [{interval.low:.3g}, {interval.high:.3g}]"
