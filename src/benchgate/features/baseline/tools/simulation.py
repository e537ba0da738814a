"""How often the gate `regression` is right, for tools/simulation.py.

Takes a policy and the number of draws; gives a table in Markdown. Does not fail.
"""

from __future__ import annotations

import random
from collections import Counter

from benchgate.base.cells import Lane, Placement
from benchgate.base.gates import Gate, GateInput, Policy, Word
from benchgate.features.baseline.baselines import Baseline, BaselineArm, BaselineSet, Origin
from benchgate.features.baseline.feature import BASELINE
from benchgate.judge.gates import judge
from tools.simulation import Row, drawn, drawn_arm, simulated_cell

LOSS = 1.02
"""The threshold of the simulated regression gate."""
KEPT = 5
"""The runs of its baseline, which later looks cannot add to."""


def against_baseline(policy: Policy, loss: float, cv: float, draws: int, seed: int) -> Row:
    """Like `simulate`, for a regression gate: new runs, and a baseline that stays as it is."""
    source = random.Random(f"baseline {seed} {loss} {cv}")
    gate = Gate("simulated", "regression", None, simulated_cell(1), at_most=LOSS, baseline="simulated.json")
    words: Counter[Word] = Counter()
    runs = 0
    for _ in range(draws):
        now = drawn_arm(1, drawn(source, loss, cv, policy.max_runs))
        then = drawn_arm(1, drawn(source, 1.0, cv, KEPT)).measurements
        arm = BaselineArm(now.cell, Lane.TCG, Placement.PHYSICAL, "", (), then)
        against = BaselineSet(Origin(), {gate.baseline: Baseline("", "", "", "", "", Origin(), (arm,))})
        verdict = judge(gate, GateInput({now.cell.id: now}, policy, {}, {BASELINE.name: against})).verdict
        words[verdict.outcome] += 1
        runs += verdict.runs
    return Row(loss, cv, {word: words[word] / draws for word in words}, runs / draws)


def lines(policy: Policy, draws: int, seed: int) -> list[str]:
    result = [
        f"| true loss, CV 1%, at most {LOSS}, {KEPT} runs kept | PASS | FAIL | INCONCLUSIVE | mean n |",
        "|---|---|---|---|---|",
    ]
    for loss in (1.0, LOSS, 1.05):
        row = against_baseline(policy, loss, 0.01, draws, seed)
        words = (Word.PASS, Word.FAIL, Word.INCONCLUSIVE)
        shares = " | ".join(f"{row.shares.get(word, 0.0):.3f}" for word in words)
        result.append(f"| loss {loss - 1:.0%} | {shares} | {row.mean_runs:.1f} |")
    return result
