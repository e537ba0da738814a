"""The kinds of gate: an unknown one is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Verdict, Word
from benchgate.base.workload.metrics import WINDOWS
from benchgate.hooks import Feature, GateMark
from benchgate.judge import gates
from benchgate.judge.arms import arm_of
from benchgate.judge.decide import decide
from benchgate.judge.gates import check, find
from tests.unit.factories import POLICY, arm, cell, control, raw_run, right, speedup, verified


def test_an_unknown_kind_of_gate_lists_the_known_kinds() -> None:
    with pytest.raises(
        DecideError,
        match="'fair'; use one of control, efficiency, limit, overhead, ratio,",
    ):
        gates.judge(replace(speedup(), kind="fair"), GateInput({}, POLICY, {}))


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (speedup(2, 2.1), r"at_least=2\.1 decides nothing: .* 2 CPUs over 1 is between 0\.5 and 2\.1;"),
        (speedup(2, 0.5), r"at_least=0\.5 decides nothing"),
        (speedup(2, 1.6, insn=0.1), r"insn=0\.1 decides nothing"),
        (speedup(2, 1.6, insn=2.5), r"insn=2\.5 decides nothing"),
        (control(4, 4.2), r"at_most=4\.2 decides nothing: .* 4 CPUs over 1 is between 0\.25 and 4\.2;"),
        (replace(speedup(), base=None), "needs a base"),
        (replace(speedup(), at_most=1.9), "takes at_least"),
        (replace(right(), at_least=1.6), "takes only a cell"),
    ],
)
def test_a_gate_that_can_never_be_decided_is_refused_before_measuring(gate: Gate, said: str) -> None:
    with pytest.raises(DecideError, match=said):
        gates.check(gate, WINDOWS["work"], POLICY)


@pytest.mark.parametrize("gate", [speedup(2, 2.09), speedup(2, 0.51, insn=1.99), control(4, 4.1), right()])
def test_a_gate_with_a_threshold_within_reach_is_accepted(gate: Gate) -> None:
    gates.check(gate, WINDOWS["work"], POLICY)


def test_the_reach_follows_the_policy() -> None:
    gates.check(speedup(2, 2.5), WINDOWS["work"], replace(POLICY, superlinear=1.3))


def warm_arm(starts: Sequence[tuple[int, str]], cpus: int = 2) -> Arm:
    runs = [verified(raw_run(cell(cpus), attempt=n), 1000 + n) for n in range(1, len(starts) + 1)]
    return arm_of(cell(cpus), [replace(run, start=start) for run, start in zip(runs, starts, strict=True)])


FIVE = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
ONE = [(number, "a") for number, _ in FIVE]


@pytest.mark.parametrize(
    ("starts", "boots"),
    [(FIVE, 5), ([*FIVE, *FIVE[:4]], 5), (ONE, 1), ([(1, "a")] * 5, 1), ([*FIVE[:2]] * 2, 2)],
)
def test_an_arm_has_as_many_boots_as_its_runs_have_snapshots(
    starts: Sequence[tuple[int, str]], boots: int
) -> None:
    """Whatever number their records have."""
    assert warm_arm(starts).boots == boots


@pytest.mark.parametrize("gate", [right(2), speedup(2)])
def test_runs_that_began_at_too_few_boots_give_no_verdict(gate: Gate) -> None:
    def outcome(starts: Sequence[tuple[int, str]], **policy: int) -> Verdict:
        arms = {cell(n).id: warm_arm(FIVE if n == 1 else starts, n) for n in (1, 2)}
        return gates.judge(gate, GateInput(arms, replace(POLICY, **policy), {})).verdict  # type: ignore[arg-type]

    said = "primes-linux-smp2 has only 1 boot behind its 5 runs, and the policy asks for 5"
    few = outcome(ONE)
    assert (few.outcome, said in few.reason.replace("smp2: has", "smp2 has")) == (Word.INVALID, True)
    assert outcome(FIVE[:4] + FIVE[:1]).outcome is Word.INVALID
    for good in (outcome(FIVE), outcome(ONE, boots=1), outcome(FIVE[:4] + FIVE[:1], boots=4)):
        assert "boot" not in good.reason


def test_each_run_of_a_cold_arm_has_booted() -> None:
    assert arm_of(cell(2), [verified(raw_run(cell(2)), 1000)]).boots == 0


OWN_KIND = """\
from benchgate import Ruling, Word, verdict

KIND = "always"

def judge(gate, measured):
    return Ruling(verdict(gate, Word.PASS, "PASS: always", {}))
"""


def own_gate(folder: Path) -> Gate:
    file = folder / "always.py"
    file.write_text(OWN_KIND)
    return replace(speedup(), kind="always", file=str(file))


def test_a_users_rule_cannot_pass_on_figures_that_only_inform(tmp_path: Path) -> None:
    arms = {one.cell.id: one for one in (arm(cell(1), [192] * 5), arm(cell(2), [100] * 5))}
    gate = own_gate(tmp_path)
    assert gates.judge(gate, GateInput(arms, POLICY, {})).verdict.outcome is Word.PASS
    informs = replace(POLICY, informs="another clock decides")
    verdict = gates.judge(gate, GateInput(arms, informs, {})).verdict
    assert (verdict.outcome, verdict.gate) == (Word.SKIP, "always")
    assert re.search("^SKIP: primes-linux smp2/smp1: .*another clock decides$", verdict.reason)


def test_a_users_gate_is_invalid_at_a_wrong_answer_even_if_it_informs(tmp_path: Path) -> None:
    bad = arm(cell(2), [100] * 5, invalid=("0007: the sum is wrong",))
    arms = {one.cell.id: one for one in (arm(cell(1), [192] * 5), bad)}
    informs = replace(POLICY, informs="another clock decides")
    assert gates.judge(own_gate(tmp_path), GateInput(arms, informs, {})).verdict.outcome is Word.INVALID


@pytest.mark.parametrize("informing", [1, 2])
def test_no_gate_of_a_stored_session_decides_by_a_program_that_does_not_verify_its_work(
    tmp_path: Path, informing: int
) -> None:
    """Whichever arm it is; a user's own kind is not asked either."""
    plain = {one.cell.id: one for one in (arm(cell(1), [200] * 5), arm(cell(2), [100] * 5))}
    name = cell(informing).id
    told = {**plain, name: replace(plain[name], informs=True)}
    for gate in (speedup(), own_gate(tmp_path)):
        assert gates.judge(gate, GateInput(plain, POLICY, {})).verdict.outcome is Word.PASS
        verdict = gates.judge(gate, GateInput(told, POLICY, {})).verdict
        assert verdict.outcome is Word.SKIP
        assert "for information only: primes is unverified by the tool" in verdict.reason


def test_an_arm_informs_if_its_runs_are_of_such_a_program() -> None:
    runs = [verified(raw_run(cell(2), attempt=number), 100) for number in (1, 2)]
    assert not arm_of(cell(2), runs).informs
    assert arm_of(cell(2), [runs[0], replace(runs[1], unverified=True)]).informs


OF_FEATURE = """
from benchgate import Ruling, Word, verdict
from benchgate import hooks
from benchgate.base.errors import DecideError
from dataclasses import replace

KIND = "odd"

def check(gate, metric, policy):
    raise DecideError(f"{gate.id}: {metric.name} of policy {policy.name} is even")

def judge(gate, measured):
    return Ruling(verdict(gate, Word.PASS, "PASS: odd", {}))

def completed(verdicts):
    return tuple(replace(one, reason=f"{one.reason}, of {len(verdicts)}") for one in verdicts)
"""


def test_a_kind_of_a_feature_is_imported_when_a_gate_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = GateMark("odd", "", "", takes=("cpus",), place="a_module_of_a_kind")
    monkeypatch.setattr(hooks, "shipped", lambda: {"x": Feature(gates=(row,))})
    monkeypatch.syspath_prepend(tmp_path)
    plain = Gate("p", "verified", None, cell(2))
    arms = {cell(2).id: arm(cell(2), [100] * 5)}
    with pytest.raises(DecideError, match=r"use one of control, efficiency, limit, odd, overhead"):
        find("even")
    (before,) = decide([plain], arms, POLICY).verdicts
    assert "of 1" not in before.reason
    asked = replace(plain, id="o", kind="odd")
    with pytest.raises(ImportError):
        decide([asked], arms, POLICY)
    (tmp_path / f"{row.place}.py").write_text(OF_FEATURE)
    first, _ = decide([asked, plain], arms, POLICY).verdicts
    assert first.reason == "PASS: odd, of 2"
    with pytest.raises(DecideError, match="o: work of policy test is even"):
        check(asked, WINDOWS["work"], POLICY)
