"""work_conserving: CPUs may idle only as much while threads wait that may run there.

Takes a gate with a cell, no base, `at_most` as a share of all CPUs' time in the window and, if the setting
`longest` is given, the longest time for which one CPU may idle so; gives a Ruling. Idle time until a woken
thread has come to its CPU is not in that share. It has a limit of its own, `settling`: how long that may
take on average; there is a default. So has `held`, the share of their time for which the kernel spun, or took
for long, although threads waited that may run there: a CPU that stands still so has no idle time. PASS
if all figures are at most their thresholds, FAIL if one is above. Each is the median of the runs. The threads
are seen on the instruction clock only; on other lanes the gate is a SKIP. Fails with DecideError if the gate
is invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling, Word
from benchgate.base.text import without_advice
from benchgate.base.workload.metrics import HELD, SETTLING, WASTED_LONGEST, Metric, time_of
from benchgate.judge.gates import limit
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.wording import reason, where_time_goes

KIND = "work_conserving"
LONGEST = "longest"
SETTLES_NS = 8_000
"""Linux takes 1.5 us on average (3.8 on riscv64), tern 0.4. The clock tells it to its quantum, 5 us, so on
riscv64 this is INCONCLUSIVE in some rows."""
HOLDS = 0.2
"""tern has up to 2%, Linux 8%, and `sockets` with --quick 14% (`benchgate docs late-threads`)."""


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    limit.check(gate)
    if gate.at_most is None or gate.at_most >= 1:
        raise DecideError(f"{gate.id}: {KIND} needs `at_most` below 1 (100% of the CPUs' time)")
    _length(gate, LONGEST)
    _length(gate, SETTLING)
    _share(gate, HELD)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    advice = where_time_goes(arm, gate.metric)
    limits = {WASTED_LONGEST: _length(gate, LONGEST)}
    if arm.measurement(SETTLING):  # earlier versions did not record it
        given = _length(gate, SETTLING)
        limits[SETTLING] = SETTLES_NS if given is None else given
    if arm.measurement(HELD):
        share = _share(gate, HELD)
        limits[HELD] = HOLDS if share is None else share
    others = [replace(gate, metric=name, at_most=most) for name, most in limits.items() if most is not None]
    return _all([limit.judge_with(one, measured, advice) for one in (gate, *others)])


def _length(gate: Gate, name: str) -> float | None:
    """In ns."""
    word = gate.setting(name)
    try:
        return time_of(word) if word else None
    except ValueError as error:
        raise DecideError(f"{gate.id}: {name}: {error}") from None


def _share(gate: Gate, name: str) -> float | None:
    word = gate.setting(name)
    try:
        share = float(word) if word else None
    except ValueError:
        raise DecideError(f"{gate.id}: {name}: {word!r:.60} is not a share such as 0.1") from None
    if share is not None and not 0 <= share <= 1:
        raise DecideError(f"{gate.id}: {name}: {word!r:.60} is not from 0 to 1")
    return share


def _all(rulings: Sequence[Ruling]) -> Ruling:
    """A FAIL of any decides; a PASS needs all."""
    needs = {
        cell: max(ruling.needs.get(cell, 0) for ruling in rulings)
        for ruling in rulings
        for cell in ruling.needs
    }
    for ruling in rulings:
        if ruling.verdict.outcome is Word.FAIL:
            return ruling
    for ruling in rulings:
        if ruling.verdict.outcome is not Word.PASS:
            return replace(ruling, needs=needs)
    what = (without_advice(ruling.verdict.reason).removeprefix(f"{Word.PASS}: ") for ruling in rulings)
    verdict = replace(rulings[0].verdict, reason=reason(Word.PASS, "; ".join(what)), commands=())
    return replace(rulings[0], verdict=verdict)
