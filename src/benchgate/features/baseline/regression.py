"""regression: how many times worse a metric is than in the baseline of an earlier session.

Takes a gate with a cell, a baseline and `at_most`; gives a Ruling. PASS if the interval of the ratio is at or
below the threshold, FAIL if it is above. INVALID without a baseline, without the cell or the metric in it, if
it is of another lane, unit or (on wall time) machine, and if on the instruction clock the same program gave
other figures. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Verdict, Word
from benchgate.base.runs import Measurement
from benchgate.base.statistics.stats import Interval
from benchgate.base.text import NEXT, counted, visible, without_advice
from benchgate.base.workload.metrics import Metric, number
from benchgate.features.baseline import checks
from benchgate.features.baseline.baselines import NOTHING, BaselineArm, BaselineSet
from benchgate.features.baseline.feature import BASELINE
from benchgate.judge.gates import figures, looks, two_arms
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import RATIO, GateFigures
from benchgate.judge.gates.looks import GateQuestion, rule_of
from benchgate.judge.gates.wording import command, informing, reason, subject

KIND = "regression"
ACCEPT = ("benchgate", "baseline", "accept", "SESSION")


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None or gate.at_least is not None or gate.at_most is None or not gate.against:
        raise DecideError(f"{gate.id}: a regression gate takes a cell, at_most and a baseline, and no base")
    for name, limit in gate.thresholds.items():
        if limit < 1:
            raise DecideError(
                f"{gate.id}: {name}={number(limit)} would fail on figures that are equal to the baseline's: "
                "give the largest allowed ratio, such as 1.02 for 2% worse"
            )


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    problem = _problem(gate, measured, arm)
    if problem and measured.policy.informs:
        return informing(gate, arm, measured.policy.informs)
    # A baseline that is too slow would hide the next regression.
    stale = f"it is better than the baseline, which is stale: {_where(gate, arm)}"
    rule, found = rule_of(gate, _where(gate, arm), stale), (Word.INVALID, problem) if problem else None
    asked = GateQuestion(gate, measured, (arm,), rule, found)
    return looks.judge(asked, partial(_figures, gate, measured, asked.limit))


def baselines_in(against: Mapping[str, object]) -> BaselineSet:
    """The baselines that gates name, of all that they compare with."""
    result = against.get(BASELINE.name)
    return result if isinstance(result, BaselineSet) else NOTHING


# ---- what cannot be compared


def _problem(gate: Gate, measured: GateInput, arm: Arm) -> str:
    """The sentence of an INVALID verdict; empty if there is a baseline to compare with."""
    baseline = baselines_in(measured.against).baselines.get(gate.against)
    then = _then(gate, measured, arm)
    if baseline is None:
        return _invalid(gate, f"there is no baseline {gate.against}", _add(gate))
    if then is None and (others := baseline.other_machines_of(gate.cell)):
        why = f"the baseline {gate.against} has this cell only on machine {', '.join(others)}"
        return _invalid(gate, f"{why}, and figures of two machines are never compared", _add(gate))
    if then is None:
        return _invalid(gate, f"the baseline {gate.against} does not have this cell", _add(gate))
    if lacking := checks.missing(then, gate.metric):
        return _invalid(gate, lacking, OTHER_FILE)
    return _contradiction(gate, measured, arm, then)


def _contradiction(gate: Gate, measured: GateInput, arm: Arm, then: BaselineArm) -> str:
    """Known only when the arm has runs."""
    now, other = arm.measurement(gate.metric), then.measurements[gate.metric]
    if now is None:
        return ""
    here, there = (
        baselines_in(measured.against).origin,
        baselines_in(measured.against).baselines[gate.against].origin,
    )
    if wrong := checks.incomparable(now, other, here, there):
        return _invalid(gate, wrong, f"keep one baseline for each lane and machine: {OTHER_FILE}")
    if not checks.is_same_program(now, other, here, there):
        return ""
    differing = checks.unequal(arm, then, gate.metric)
    why = f"guest, system, QEMU and clock are those of the baseline, but {differing}"
    return _invalid(gate, why, _where(gate, arm)) if differing else ""


OTHER_FILE = f"{command(*ACCEPT, '--out', 'ANOTHER.json')}, which the mark names in `baseline`"


def _add(gate: Gate) -> str:
    """What the file has already stays as it is."""
    return command(*ACCEPT, "--add", "--out", gate.against)


def completed(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Each command that accepts the session names what it accepts the session despite of, as `accept` asks
    for. `verdicts`: all of a session or, as long as it goes on, those that there are."""
    every = tuple(verdicts)
    refused = [one for one in every if one.outcome in (Word.FAIL, Word.INVALID) and not _accepting(one)]
    if any(one.outcome is Word.INVALID and one.gate != KIND for one in refused):
        return tuple(_without_acceptance(one) if _accepting(one) else one for one in every)
    flags = [word for one in refused for word in ("--despite", one.id)]
    return tuple(_despite(one, flags) if _accepting(one) else one for one in every)


def _accepting(of: Verdict) -> str:
    """The command by which the verdict advises to accept the session."""
    return next((one for one in of.commands if one.startswith(shlex.join(ACCEPT))), "")


def _despite(of: Verdict, flags: Sequence[str]) -> Verdict:
    before = _accepting(of)
    whole = visible(" ".join([before.partition(" --despite ")[0], *map(shlex.quote, flags)]))
    commands = tuple(whole if one == before else one for one in of.commands)
    return replace(of, reason=of.reason.replace(before, whole), commands=commands)


def _without_acceptance(of: Verdict) -> Verdict:
    advice = "make right first what else is INVALID: a session with it is no baseline"
    return replace(of, reason=f"{without_advice(of.reason)}{NEXT}{advice}", commands=())


def _where(gate: Gate, arm: Arm) -> str:
    """The command that shows what differs."""
    symbols = ["--profile"] if arm.lane is Lane.INSN else []
    return command("benchgate", "baseline", "diff", gate.against, arm.sample, *symbols)


def _invalid(gate: Gate, why: str, advice: str) -> str:
    return reason(Word.INVALID, f"{subject(gate)}: {why}", advice)


def _then(gate: Gate, measured: GateInput, arm: Arm) -> BaselineArm | None:
    baseline = baselines_in(measured.against).baselines.get(gate.against)
    return checks.arm_for(baseline, gate.cell, arm.lane) if baseline else None


# ---- the figures


def _figures(gate: Gate, measured: GateInput, limit: float, look: int) -> GateFigures:
    """How many times worse the first runs of the arm are than all of the baseline's."""
    arm = known_arm(gate.cell, measured)
    kept, now = _then(gate, measured, arm), arm.measurement(gate.metric)
    if kept is None or now is None or len(now.samples) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of {gate.metric}")
    then = kept.measurements[gate.metric]
    beside, is_same = _beside(gate, measured, now, then)
    if is_same and set(now.seeds[:look]) <= set(then.seeds):
        # One program and one seed give one figure. `_contradiction` has compared them: no chance is left.
        equal = f"{beside}, equal to the last digit"
        return GateFigures(now.lane, limit, look, 1.0, Interval(1.0, 1.0), RATIO, beside=equal, effect=0.0)
    # How many times worse than the baseline is how many times better the baseline is.
    both = figures.first_runs(now, look), then
    seen = figures.of_ratio(gate, *both, alpha=measured.policy.alpha, limit=limit, look=look)
    if seen.unusable:
        return seen
    seen = two_arms.ratio_groups(seen, both, (gate.cell.id, "the baseline"), measured.policy)
    return replace(seen, beside=beside)


def _beside(gate: Gate, measured: GateInput, now: Measurement, then: Measurement) -> tuple[str, bool]:
    """What is compared with, and whether it is the same program."""
    baseline, here = (
        baselines_in(measured.against).baselines[gate.against],
        baselines_in(measured.against).origin,
    )
    names = checks.changed(now, then, here, baseline.origin)
    what = f"another {' and '.join(names)}" if names else "the same guest"
    is_same = checks.is_same_program(now, then, here, baseline.origin)
    return f"baseline of {baseline.finished[:10]}: {counted(len(then.samples), 'run')} of {what}", is_same
