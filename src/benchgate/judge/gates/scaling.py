"""scaling: a parameter of a scaling law that is fitted to the times of several CPU counts.

Takes a gate over the cells of one row, with the settings `model` (`amdahl`, `usl`) and `parameter`, and with
`at_least` or `at_most`; gives a Ruling. A law that the times do not follow decides nothing: INCONCLUSIVE, and
never PASS. Arms with more vCPUs than pins, or SMT siblings, are never in a fit. Fails with DecideError if the
gate is invalid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling
from benchgate.base.runs import Measurement
from benchgate.base.statistics.laws import Law, Model, ScalingFit, peak_of
from benchgate.base.statistics.stats import Interval
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import Metric, number
from benchgate.judge.fits import fit_of, residuals, times
from benchgate.judge.gates import figures, groups, looks, two_arms
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import GateFigures, dependence
from benchgate.judge.gates.looks import GateQuestion, require_between, require_one_bound, rule_of
from benchgate.judge.gates.wording import printed_step, where_time_goes

KIND = "scaling"
SERIAL, PEAK = "serial", "peak"
PARAMETERS = {Model.AMDAHL: (SERIAL,), Model.USL: ("sigma", "kappa", PEAK)}
"""`serial` is Amdahl's share of serial work, `peak` the CPU count with the largest speedup."""


def check(gate: Gate, metric: Metric | None = None, _policy: Policy | None = None) -> None:
    require_one_bound(gate)
    model, _ = _asked(gate)
    counts = [cell.cpus for cell in gate.cells]
    if len(counts) < model.fewest:
        example = (1, 2, 4, 8, 16)[: model.fewest]
        raise DecideError(
            f"{gate.id}: {model} needs {model.fewest} CPU counts, as in cpus={example}, not {len(counts)}"
        )
    if len({cell.row for cell in gate.cells}) > 1 or counts != sorted(set(counts)):
        raise DecideError(f"{gate.id}: its cells must be of one row, in the order of their CPU counts")
    if metric is not None and not metric.grows_with_cpus_at_most:
        raise DecideError(
            f"{gate.id}: {metric.name} can improve more than its CPUs allow, so no scaling law describes it"
        )
    _check_reach(gate)


def _check_reach(gate: Gate) -> None:
    """Sigma is a share, and a peak is at one CPU or more."""
    low, high = (1.0, math.inf) if _asked(gate)[1] == PEAK else (0.0, 1.0)
    below = f" and below {number(high)}" if high < math.inf else ""
    require_between(gate, low, high, f"it must be above {number(low)}{below}")


def _asked(gate: Gate) -> tuple[Model, str]:
    word = gate.setting("model")
    names = [str(one) for one in Model]
    if word not in names:
        raise DecideError(f"{gate.id}: model={word!r}: {suggestion(word, names, 'use amdahl or usl')}")
    model = Model(word)
    known = PARAMETERS[model]
    parameter = gate.setting("parameter") or (known[0] if len(known) == 1 else "")
    if parameter not in known:
        what = f"parameter={parameter!r} is not one of" if parameter else "needs one of the parameters"
        raise DecideError(f"{gate.id}: {model}: {what} {', '.join(known)}")
    return model, parameter


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arms = tuple(known_arm(cell, measured) for cell in gate.cells)
    pairs = (two_arms.contradiction(gate, arms[0], arm) for arm in arms[1:])
    found = next(filter(None, pairs), None)
    asked = GateQuestion(gate, measured, arms, rule_of(gate, where_time_goes(arms[-1], gate.metric)), found)
    return looks.judge(asked, partial(_figures, gate, measured, arms, asked.limit))


def _figures(gate: Gate, measured: GateInput, arms: tuple[Arm, ...], limit: float, look: int) -> GateFigures:
    of = [arm.measurement(gate.metric) for arm in arms]
    known = [
        measurement for measurement in of if measurement is not None and len(measurement.samples) >= look
    ]
    if len(known) < len(arms):
        raise DecideError(f"{gate.id}: an arm has too few samples of {gate.metric}")
    for cell in gate.cells[1:]:
        pair = Gate(gate.id, gate.kind, gate.base, cell, gate.metric)
        seen = two_arms.figures_of(pair, measured, cell.cpus / gate.cells[0].cpus, look)
        if seen.unusable:
            return seen
    model, parameter = _asked(gate)
    fit = fit_of(model, known, look, measured.policy.alpha)
    value, interval, errors = _parameter(fit, parameter)
    last, samples = known[-1], [measurement.samples[:look] for measurement in known]
    result = GateFigures(
        lane=last.lane,
        threshold=limit,
        runs=look,
        value=value,
        interval=interval,
        unit="",
        dependence=dependence(last.lane, *samples),
        effect=figures.effect_of_value(value, interval, errors, limit),
        step=printed_step(max(of.step for of in known), [*chain(*samples)], last.unit),
        name=parameter,
        misfit="" if fit.is_shaped else residuals(fit),
        of_host=_host(gate, measured, arms),
    )
    firsts = [figures.first_runs(measurement, look) for measurement in known]
    named = zip(groups.names_of(firsts), firsts, strict=True)
    every = [groups.of_arm(name, of, measured.policy) for name, of in named]
    return groups.with_groups(result, every, partial(_of_medians, gate, known))


def _of_medians(gate: Gate, known: Sequence[Measurement], medians: Sequence[float]) -> float:
    """The parameter of the law that is nearest to one time per arm."""
    model, parameter = _asked(gate)
    pairs = zip(known, medians, strict=True)
    one_each = [times(replace(of, samples=(value,)))[0] for of, value in pairs]
    law = Law.of(model, [of.cell.cpus for of in known], one_each)
    return float(getattr(law, "sigma" if parameter == SERIAL else parameter))


def _parameter(fit: ScalingFit, name: str) -> tuple[float, Interval, Interval]:
    """The parameter with its interval, and where it lies in three of five resamples."""
    if name == PEAK:
        intervals = (fit.intervals["droop"], fit.middles["droop"])
        whole, middle = (Interval(peak_of(interval.high), peak_of(interval.low)) for interval in intervals)
        return fit.law.peak, whole, middle
    name = "sigma" if name == SERIAL else name
    return float(getattr(fit.law, name)), fit.intervals[name], fit.middles[name]


def _host(gate: Gate, measured: GateInput, arms: tuple[Arm, ...]) -> float | None:
    """The parameter of the host's own capacity; None if it is not known, or the guest does not reach it."""
    model, parameter = _asked(gate)
    known = [measured.capacity.get(cell.cpus) for cell in gate.cells[1:]]
    bounds = [bound for bound in known if bound is not None and bound.lane is arms[-1].lane]
    if (
        gate.cells[0].cpus != 1
        or len(bounds) < len(known)
        or arms[-1].lane not in two_arms.EMULATED_OR_VIRTUAL
    ):
        return None
    measurement, last = (arm.measurement(gate.metric) for arm in (arms[0], arms[-1]))
    if measurement is None or last is None:
        return None
    reached = times(measurement)[0] / times(last)[0]
    if reached < measured.policy.capacity_reach * bounds[-1].ratio:
        return None
    own = Law.of(model, [1, *(bound.cpus for bound in bounds)], [1.0, *(1 / bound.ratio for bound in bounds)])
    return float(getattr(own, "sigma" if parameter == SERIAL else parameter))
