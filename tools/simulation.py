"""Simulates how often the shipped rules are right: `nox -s simulate -- [--draws N] [--seed S]`.

Takes a policy and the number of draws; gives a table in Markdown. It draws lognormal arms with a known ratio
and judges them with the real gate, so that the figures in the documents are those of the code. The same seed
prints the same table. Does not fail.
"""

from __future__ import annotations

import argparse
import importlib
import math
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchgate import hooks
from benchgate.base.cells import Cell, Lane, Mode, Placement
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Verdict, Word
from benchgate.base.runs import Measurement
from benchgate.base.statistics import stats
from benchgate.base.statistics.laws import Law, Model
from benchgate.base.workload.metrics import WINDOWS
from benchgate.judge.gates import judge

DEFAULT = Policy("simulated", (5, 9, 15, 25), alpha=0.0276, overall_error=0.05, first=5, max_runs=25)
"""All four looks of fixtures/gates/default.yaml (a test compares the two)."""

ROWS = (1.87, 1.70, 1.65, 1.60, 1.55)
THRESHOLD = 1.6
CORRELATIONS = (0.5, 0.9)
SLOWED = 1.8
"""How many times as long a run of the bad regime takes."""
SLOWER, SLOWEST = 40, 200
"""One of so many draws is made where each takes long: of effects, and of fitted laws."""


@dataclass(frozen=True, slots=True)
class Row:
    ratio: float
    cv: float
    shares: dict[Word, float]
    mean_runs: float


def simulate(policy: Policy, ratio: float, cv: float, draws: int, seed: int, *, phi: float = 0.0) -> Row:
    """The shares of the verdicts in `draws` sessions with a known true ratio. `phi` is the correlation of the
    noise of neighbouring runs of an arm."""
    source = random.Random(f"{seed} {ratio} {cv}" + (f" {phi}" if phi else ""))  # a simulation, not a secret
    gate = Gate("simulated", "speedup", simulated_cell(1), simulated_cell(2), at_least=THRESHOLD)
    words: Counter[Word] = Counter()
    runs = 0
    for _ in range(draws):
        arms = (
            drawn_arm(cpus, drawn(source, centre, cv, policy.max_runs, phi))
            for cpus, centre in ((1, ratio), (2, 1.0))
        )
        verdict = judge(gate, GateInput({arm.cell.id: arm for arm in arms}, policy, {})).verdict
        words[verdict.outcome] += 1
        runs += verdict.runs
    return Row(ratio, cv, {word: words[word] / draws for word in words}, runs / draws)


def with_regimes(policy: Policy, share: float, draws: int, seed: int) -> Row:
    """Like `simulate`, but of the larger arm's runs this share takes SLOWED times as long: its speedup is
    then below the threshold. The lane is the instruction clock's, whose runs are seeds."""
    source = random.Random(f"regimes {seed} {share}")
    gate = Gate("simulated", "speedup", simulated_cell(1), simulated_cell(2), at_least=THRESHOLD)
    words: Counter[Word] = Counter()
    runs = 0
    for _ in range(draws):
        base = drawn(source, ROWS[0], 0.01, policy.max_runs)
        other = [
            sample * (SLOWED if source.random() < share else 1.0)
            for sample in drawn(source, 1.0, 0.01, policy.max_runs)
        ]
        arms = (drawn_arm(1, base, Lane.INSN), drawn_arm(2, other, Lane.INSN))
        verdict = judge(gate, GateInput({arm.cell.id: arm for arm in arms}, policy, {})).verdict
        words[verdict.outcome] += 1
        runs += verdict.runs
    return Row(share, 0.01, {word: words[word] / draws for word in words}, runs / draws)


def naive_pass_share(ratio: float, cv: float, draws: int, seed: int) -> float:
    """How often the rule "the ratio of the medians of five runs is at least the threshold" passes a
    kernel."""
    source = random.Random(f"naive {seed} {ratio} {cv}")
    passed = 0
    for _ in range(draws):
        base, other = drawn(source, ratio, cv, 5), drawn(source, 1.0, cv, 5)
        passed += stats.ratio_of_medians(base, other) >= THRESHOLD
    return passed / draws


def effect_shares(runs: int, cv: float, draws: int, seed: int) -> tuple[float, float, float]:
    """The smallest effect that sessions of one look state (their median), and how often a session finds an
    effect of that size, and of half of it."""
    source = random.Random(f"effect {seed} {runs} {cv}")
    policy = replace(DEFAULT, first=runs, max_runs=runs)
    gate = Gate("simulated", "speedup", simulated_cell(1), simulated_cell(2), at_least=THRESHOLD)

    def session(ratio: float) -> Verdict:
        pairs = ((1, ratio), (2, 1.0))
        arms = (drawn_arm(cpus, drawn(source, centre, cv, runs)) for cpus, centre in pairs)
        return judge(gate, GateInput({arm.cell.id: arm for arm in arms}, policy, {})).verdict

    size = statistics.median(session(1.9).smallest_effect or 0.0 for _ in range(draws))

    def found(part: float) -> float:
        truth = THRESHOLD * (1 + part * size)
        return sum(session(truth).outcome is Word.PASS for _ in range(draws)) / draws

    return size, found(1.0), found(0.5)


def law_shares(law: Law, model: Model, draws: int, seed: int) -> Counter[Word]:
    """The verdicts on a row of that law, with a CV of 3%, whose sigma is exactly at its threshold."""
    source = random.Random(f"law {seed} {law} {model}")
    cells = tuple(simulated_cell(2**n) for n in range(max(model.fewest, 4)))
    settings = (("model", str(model)), ("parameter", "serial" if model is Model.AMDAHL else "sigma"))
    gate = Gate(
        "simulated", "scaling", cells[0], cells[-1], at_most=law.sigma, more=cells[1:-1], settings=settings
    )
    words: Counter[Word] = Counter()
    for _ in range(draws):
        arms = {
            cell.id: drawn_arm(cell.cpus, drawn(source, law.time(cell.cpus), 0.03, DEFAULT.max_runs))
            for cell in cells
        }
        words[judge(gate, GateInput(arms, DEFAULT, {})).verdict.outcome] += 1
    return words


def _effects(draws: int, seed: int) -> list[str]:
    lines = [
        "| runs an arm, CV | smallest effect | found | half of it found |",
        "|---|---|---|---|",
    ]
    for runs in DEFAULT.looks:
        for cv in (0.03, 0.10):
            size, full, half = effect_shares(runs, cv, draws, seed)
            lines.append(f"| {runs}, {cv:.0%} | {size:.1%} | {full:.0%} | {half:.0%} |")
    return [*lines, f"({draws} draws each)", ""]


def _laws(draws: int, seed: int) -> list[str]:
    lines = []
    laws = ((Model.AMDAHL, Law(100.0, 0.05, 0.0)), (Model.USL, Law(100.0, 0.05, 0.002)))
    for model, law in laws:
        words = law_shares(law, model, draws, seed)
        shares = ", ".join(f"{words[word] / draws:.1%} {word}" for word in (Word.PASS, Word.FAIL))
        lines.append(f"{model}, sigma at its threshold of {law.sigma:g}: {shares}.")
    return [*lines, f"({draws} draws each)"]


def report(draws: int, seed: int, policy: Policy = DEFAULT) -> str:
    lines = [
        f"| true ratio, CV 3%, threshold {THRESHOLD} | PASS | FAIL | INCONCLUSIVE | mean n |",
        "|---|---|---|---|---|",
    ]
    for ratio in ROWS:
        row = simulate(policy, ratio, 0.03, draws, seed)
        words = (Word.PASS, Word.FAIL, Word.INCONCLUSIVE)
        shares = " | ".join(f"{row.shares.get(word, 0.0):.3f}" for word in words)
        lines.append(f"| {ratio:.2f} | {shares} | {row.mean_runs:.1f} |")
    lines += _of_features(policy, draws, seed)
    power = simulate(replace(policy, max_runs=5), 1.87, 0.065, draws, seed).shares.get(Word.PASS, 0.0)
    drift = [simulate(policy, THRESHOLD, 0.03, draws, seed, phi=phi) for phi in CORRELATIONS]
    wrong = [
        f"{row.shares.get(Word.PASS, 0.0):.1%} at AR({phi})"
        for phi, row in zip(CORRELATIONS, drift, strict=True)
    ]
    naive = [f"{naive_pass_share(1.55, cv, draws, seed):.1%} at CV {cv:.0%}" for cv in (0.03, 0.10)]
    return "\n".join(
        [
            *lines,
            "",
            f"Five runs pass a true 1.87 at CV 6.5% in {power:.1%} of sessions.",
            f"Correlated runs pass a true {THRESHOLD:.2f} at CV 3%: {', '.join(wrong)}.",
            f'The naive rule "median ratio >= {THRESHOLD}" passes a true 1.55: {", ".join(naive)}.',
            f"({draws} draws per row, seed {seed}, looks {list(policy.session_looks)}, alpha {policy.alpha})",
            "",
            *_regimes(policy, max(1, draws // SLOWER), seed),
            *_effects(max(1, draws // SLOWER), seed),
            *_laws(max(1, draws // SLOWEST), seed),
        ]
    )


def _regimes(policy: Policy, draws: int, seed: int) -> list[str]:
    lines = [
        f"| runs {SLOWED} times as long, CV 1%, true ratio {ROWS[0]} | runs an arm | PASS, FAIL | apart: 0 |",
        "|---|---|---|---|",
    ]
    for share in (0.0, 0.1, 0.3, 0.5, 0.9):
        for runs in (5, 25):
            now = replace(policy, first=runs, max_runs=runs)
            seen = [
                with_regimes(replace(now, apart=apart), share, draws, seed) for apart in (policy.apart, 0.0)
            ]
            shown = [
                f"{row.shares.get(Word.PASS, 0.0):.3f}, {row.shares.get(Word.FAIL, 0.0):.3f}" for row in seen
            ]
            lines.append(f"| {share:.0%} | {runs} | {' | '.join(shown)} |")
    return [*lines, f"({draws} draws each)", ""]


def _of_features(policy: Policy, draws: int, seed: int) -> list[str]:
    """The tables of features' gates."""
    names = [path.parents[1].name for path in sorted(hooks.FOLDER.glob("*/tools/simulation.py"))]
    modules = [importlib.import_module(f"benchgate.features.{name}.tools.simulation") for name in names]
    return [line for module in modules for line in ("", *module.lines(policy, draws, seed))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="nox -s simulate --", description=__doc__)
    parser.add_argument("--draws", type=int, default=20_000, help="sessions per row (default 20000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    print(report(options.draws, options.seed))
    return 0


def simulated_cell(cpus: int) -> Cell:
    return Cell("simulated", "lognormal", Mode.PROCESS, (), cpus)


def drawn_arm(cpus: int, samples: Sequence[float], lane: Lane = Lane.TCG) -> Arm:
    cell = simulated_cell(cpus)
    facts = (cell, lane, Placement.PHYSICAL)
    measurements = {
        name: Measurement(*facts, metric, "ns", tuple(samples)) for name, metric in WINDOWS.items()
    }
    return Arm(*facts, measurements, attempted=len(samples))


def drawn(source: random.Random, centre: float, cv: float, runs: int, phi: float = 0.0) -> list[float]:
    sigma = math.sqrt(math.log1p(cv**2))
    samples, noise = [], source.gauss(0.0, sigma)
    for _ in range(runs):
        samples.append(centre * math.exp(noise))
        noise = phi * noise + source.gauss(0.0, sigma * math.sqrt(1 - phi**2))
    return samples


if __name__ == "__main__":
    raise SystemExit(main())
