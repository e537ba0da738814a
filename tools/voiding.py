"""Measures how often verdicts are wrong beside a bursting neighbour, with voiding and without.

`python -m tools.voiding record DIR [--runs N]` makes a session of real runs: the workload primes in the Linux
guest, TCG on wall time, pinned, on one CPU and on two. In half of the runs, drawn beforehand, a neighbour on
the first of these CPUs is busy for half of the time, in bursts of 50 ms. Run nothing else meanwhile.

`python -m tools.voiding table DIR [--draws N]` prints a table. It draws sessions from the recorded runs (with
replacement), and the shipped sweep and gates decide them: with the shipped policy, and without a rule for
void runs. The true ratio is that of the runs without the neighbour; each threshold is on the wrong side of it
by 4%, so that a PASS above it is false, and a FAIL below it, too. The same seed prints the same table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound, Policy, Word
from benchgate.base.runs import VerifiedRun
from benchgate.base.void_rule import NO_RULE
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.verify import verify_on
from benchgate.plan import catalog, marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, SweepPlan
from benchgate.run.record import load
from benchgate.session.sweep import PlannedRun, run_sweep

HI = 3_000_000
MARGIN = 0.04
SHARES = (0.0, 0.3, 0.6)
"""How many of a noisy arm's runs the neighbour disturbs."""
TEST = f"""\
import pytest

pytestmark = pytest.mark.smp

@pytest.mark.workload("primes", hi={HI})
def test_every_run_is_right(cell):
    cell.require_verified()
"""
POLICY = """\
name: recorded
looks: [{runs}]
alpha: 0.0276
overall_error: 0.05
first: {runs}
max_runs: {runs}
void: {{run_delay: off, steal: off, migrations: off, frequency: off, throttles: off, most: 199}}
"""
CONFTEST = """\
import json, os, random, subprocess, sys
from benchgate.session.measuring import MeasuringSession

attempts, source, found = MeasuringSession.attempts, random.Random(1), {{}}
CODE = '''
import os, time
os.sched_setaffinity(0, {{{cpu}}})
while os.getppid() == PARENT:
    end = time.monotonic() + 0.05
    while time.monotonic() < end: pass
    time.sleep(0.05)
'''

def beside_a_neighbour(self, group):
    busy = source.random() < 0.5
    found[group[0].order] = busy
    with open({path!r}, "w") as stream:
        json.dump(found, stream)
    code = CODE.replace("PARENT", str(os.getpid()))
    beside = [subprocess.Popen([sys.executable, "-I", "-c", code])] if busy else []
    try:
        yield from attempts(self, group)
    finally:
        for one in beside:
            one.kill()
            one.wait()

MeasuringSession.attempts = beside_a_neighbour
"""
NEIGHBOUR = "neighbour.json"
Pool = Mapping[tuple[int, bool], Sequence[VerifiedRun]]
"""The recorded runs by CPU count, and by whether the neighbour was there."""


def record(where: Path, runs: int) -> int:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    where.mkdir(parents=True)
    (where / "test_recorded.py").write_text(TEST)
    (where / "recorded.yaml").write_text(POLICY.format(runs=runs))
    path = str((where / NEIGHBOUR).resolve())
    (where / "conftest.py").write_text(CONFTEST.format(cpu=cpus[0], path=path))
    words = ["--clock=wall", "--accel=tcg", "--smp=1,2", f"--cpus={cpus[0]},{cpus[1]}", f"--runs={runs}"]
    words += ["--policy=recorded.yaml", "--reports=reports", "-q", "-p", "no:cacheprovider"]
    return subprocess.call([sys.executable, "-m", "pytest", *words], cwd=where)


def recorded(where: Path, policy: Policy) -> Pool:
    """The verified runs; each says whether it is void by the policy."""
    busy = json.loads((where / NEIGHBOUR).read_text())
    workload, system = catalog.load_workload("primes"), catalog.load_system("linux")
    result: dict[tuple[int, bool], list[VerifiedRun]] = {}
    for folder in sorted((where / "reports" / "latest" / "runs").iterdir()):
        raw = load(folder)
        if not raw.warmup:
            run = verify_on(raw, workload, system, policy.void)
            result.setdefault((raw.cell.cpus, busy[str(raw.order)]), []).append(run)
    return result


@dataclass
class DrawnLab:
    """A Lab whose runs are drawn from recorded ones."""

    pool: Pool
    noisy: Mapping[int, float]
    """The share of runs beside the neighbour, by CPU count."""
    source: random.Random
    voids: bool
    drawn: int = 0
    void: int = 0
    against: Mapping[str, object] = field(default_factory=dict)

    def now_s(self) -> float:
        return 0.0

    def at_once(self, planned: PlannedCell) -> int:  # noqa: ARG002
        return 1

    def judged(self) -> Sequence[JudgedRun]:
        return ()

    def attempts(self, group: Sequence[PlannedRun]) -> Iterator[JudgedRun]:
        for planned_run in group:
            self.drawn += 1
            cpus = planned_run.planned.cell.cpus
            run = self.source.choice(self.pool[cpus, self.source.random() < self.noisy[cpus]])
            raw = replace(
                run.run, cell=planned_run.planned.cell, attempt=self.drawn, warmup=planned_run.warmup
            )
            why = run.void if self.voids else ""
            self.void += bool(why) and not planned_run.warmup
            yield JudgedRun(raw, replace(run, run=raw, void=why), why)

    def capacity(self, row: str, counts: tuple[int, ...]) -> Mapping[int, CapacityBound]:  # noqa: ARG002
        return {}


def planned(threshold: float) -> SweepPlan:
    ground = Ground(pins=(0, 1), smt_pins=(0, 1), lanes={"qemu": (Lane.TCG, ""), "native": (Lane.NATIVE, "")})
    gates = [MarkArguments((), {"cpus": 2, "at_least": threshold})]
    request = marks.read(MarkArguments(("primes",), {"hi": HI}), {"speedup": gates})
    cells = planner.plan_cells(request, Options(), ground)
    (plan,) = planner.sweeps(cells, planner.plan_gates(request, Options(), ground))
    return plan


def true_ratio(pool: Pool) -> float:
    """The ratio of the runs without the neighbour that are not void for another reason."""
    base, two = ([run.work for run in pool.get((cpus, False), ()) if not run.void] for cpus in (1, 2))
    if not base or not two:
        raise SystemExit("every run without the neighbour is void: record again on an idle host")
    return statistics.median(base) / statistics.median(two)


def table(where: Path, draws: int, seed: int) -> str:
    policy = catalog.load_policy("default")
    pool = recorded(where, policy)
    ratio = true_ratio(pool)
    sizes = [f"{sum(bool(run.void) for run in runs)} of {len(runs)} void" for runs in pool.values()]
    names = [f"smp{cpus} {'beside the neighbour' if busy else 'alone'}" for cpus, busy in pool]
    lines = [
        "| noisy arm | disturbed runs | voiding | false PASS | false FAIL | INCONCLUSIVE | void a session |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm, shares in _mixes():
        for voids in (False, True):
            source = random.Random(f"{seed} {arm} {shares} {voids}")
            rule = policy if voids else replace(policy, void=NO_RULE)
            words: Counter[tuple[float, Word]] = Counter()
            void = 0
            for threshold in (ratio * (1 + MARGIN), ratio * (1 - MARGIN)):
                for _ in range(draws):
                    lab = DrawnLab(pool, shares, source, voids)
                    (verdict,) = run_sweep(planned(threshold), Options(), rule, lab, 1).verdicts
                    words[threshold > ratio, verdict.outcome] += 1
                    void += lab.void
            open_ = sum(count for (_, word), count in words.items() if word is Word.INCONCLUSIVE)
            figures = (words[True, Word.PASS] / draws, words[False, Word.FAIL] / draws, open_ / (2 * draws))
            cells = [
                arm,
                f"{max(shares.values()):.0%}",
                "yes" if voids else "no",
                *(f"{figure:.1%}" for figure in figures),
            ]
            lines.append(f"| {' | '.join(cells)} | {void / (2 * draws):.1f} |")
    told = "; ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
    return "\n".join(
        [*lines, "", f"True ratio {ratio:.3f}; {told}; {draws} draws, seed {seed}; {policy.void}."]
    )


def _mixes() -> Iterator[tuple[str, dict[int, float]]]:
    for share in SHARES:
        if not share:
            yield "none", {1: 0.0, 2: 0.0}
            continue
        yield "smp1", {1: share, 2: 0.0}
        yield "smp2", {1: 0.0, 2: share}
        yield "both", {1: share, 2: share}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.voiding", description=__doc__)
    parser.add_argument("what", choices=("record", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=25, help="runs per arm to record (default 25)")
    parser.add_argument("--draws", type=int, default=200, help="sessions per row and threshold (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.what == "record":
        return record(options.folder, options.runs)
    print(table(options.folder, options.draws, options.seed))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
