"""The one loop of the program: ask `decide` what is still needed, run that, repeat.

Takes a `SweepPlan` and a `Lab` (whatever carries out attempts), gives a `SweepResult`. Everything that it
concludes is concluded by the pure `judge` and `arms`, which `rejudge` calls again on what stands on disk.
A guest that fails is a judged run, never an exception; what the Lab cannot carry out passes through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol, TypeVar

from benchgate import plan
from benchgate.decide import arm_of, decide
from benchgate.errors import VerifyError
from benchgate.gates.base import Arm, CapacityBound, Gate, Policy
from benchgate.measure import outcome_of
from benchgate.model import Cell, Lane, Outcome, RawRun, Verdict, VerifiedRun
from benchgate.options import Options
from benchgate.plan import PlannedCell, SweepPlan
from benchgate.repeat import difference


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """An attempt and what became of it; `reason` where it is no result."""

    run: RawRun
    verified: VerifiedRun | None
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    planned: PlannedCell
    order: int
    warmup: bool
    seed: int
    label: str
    """What the progress line calls it: `warm-up`, `run 3 of 5`."""


class Lab(Protocol):
    """What carries out a plan: boots, keeps records, measures the host beside it."""

    def at_once(self, planned: PlannedCell) -> int:
        """How many attempts at such cells can run side by side without feeling each other."""
        ...

    def attempts(self, group: Sequence[Attempt]) -> Iterator[JudgedRun]:
        """Carries out a group side by side; gives each in the group's order, once all have ended."""
        ...

    def capacity(self, row: str, counts: tuple[int, ...]) -> Mapping[int, CapacityBound]:
        """Takes one more sample of the host's capacity at each count; gives this row's bounds so far."""
        ...


@dataclass(frozen=True, slots=True)
class SweepResult:
    plan: SweepPlan
    runs: tuple[JudgedRun, ...]
    arms: Mapping[str, Arm]
    verdicts: tuple[Verdict, ...]
    order: tuple[str, ...]


_T = TypeVar("_T")
Verifier = Callable[[RawRun], VerifiedRun]


def judge(run: RawRun, verify: Verifier) -> JudgedRun:
    """Correctness first: a run is a result only where its verifier completed; noise excuses no wrong one."""
    try:
        verified = verify(run)
    except VerifyError as error:
        # Named from the session's folder, so that a copy of it, judged elsewhere, says the same.
        reason = str(error).replace(f"{run.folder.parent.parent}/", "")
        return JudgedRun(run, None, outcome_of(run, None), reason)
    return JudgedRun(run, verified, outcome_of(run, verified), run.void_reason)


def arm(cell: Cell, runs: Sequence[JudgedRun], skipped: str, odds: Sequence[str] = ()) -> Arm:
    """One arm from its judged runs, in the order in which they were taken. `odds`: what is wrong with the
    instruction clock on this host."""
    good = [judged.verified for judged in runs if judged.verified]
    bad = [f"{judged.run.folder.name}: {judged.reason}" for judged in runs if not judged.verified]
    exact = any(judged.run.lane is Lane.INSN for judged in runs)
    return arm_of(cell, good, [*bad, *(odds if exact else ())], skipped=skipped)


def unrepeated(runs: Sequence[RawRun]) -> list[str]:
    """Runs of one seed on the instruction clock that are not one run: this host cannot carry the lane."""
    exact = [run for run in runs if run.lane is Lane.INSN]
    pairs = [(one, two) for one, two in combinations(exact, 2) if one.seed == two.seed]
    return [words for one, two in pairs if (words := difference(one, two))]


def arms(cells: Sequence[tuple[Cell, str]], runs: Sequence[JudgedRun]) -> dict[str, Arm]:
    """Every planned cell's arm; `cells` are pairs of a cell and why it was skipped. Only one arm repeats a
    seed, and it speaks for the clock of all of them."""
    of: dict[str, list[JudgedRun]] = {cell.id: [] for cell, _ in cells}
    for judged in runs:
        of[judged.run.cell.id].append(judged)
    odds = [words for some in of.values() for words in unrepeated([one.run for one in some if one.verified])]
    return {cell.id: arm(cell, of[cell.id], skipped, odds) for cell, skipped in cells}


def conclude(
    cells: Sequence[tuple[Cell, str]],
    gates: Sequence[Gate],
    runs: Sequence[JudgedRun],
    policy: Policy,
    bounds: Mapping[int, CapacityBound],
) -> tuple[Verdict, ...]:
    """What one sweep's judged runs amount to; the same now and whenever it is asked again."""
    own = {cell.id for cell, _ in cells}
    mine = [judged for judged in runs if judged.run.cell.id in own]
    return decide(gates, arms(cells, mine), policy, bounds).verdicts


def run_sweep(sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> SweepResult:
    """Runs until nothing more is needed; the verdicts are `decide`'s last word."""
    state = _State(sweep, options, lab, seed)
    while wanted := state.wanted(policy):
        state.round(wanted)
        if state.broken:
            break
    verdicts = conclude(sweep.pairs, state.gates, state.runs, policy, state.bounds)
    return SweepResult(sweep, tuple(state.runs), state.arms(), verdicts, tuple(state.order))


@dataclass(frozen=True, slots=True)
class _Wish:
    """A run that is wanted, before its turn gives it a place and a seed."""

    cell_id: str
    warmup: bool
    label: str


def _cut(things: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (things[start : start + size] for start in range(0, len(things), size))


class _State:
    """What one sweep has so far."""

    def __init__(self, sweep: SweepPlan, options: Options, lab: Lab, seed: int) -> None:
        self.sweep, self.options, self.lab, self.seed = sweep, options, lab, seed
        self.cells = {planned.cell.id: planned for planned in sweep.runnable}
        self.gates = tuple(planned.gate for planned in sweep.gates)
        self.runs: list[JudgedRun] = []
        self.order: list[str] = []
        self.bounds: Mapping[int, CapacityBound] = {}
        self.at_once = min((lab.at_once(planned) for planned in sweep.runnable), default=1)
        self.warm_ups = self._warm_ups()

    @property
    def broken(self) -> bool:
        """A wrong answer decides: more runs cannot mend it, they only cost time."""
        return any(judged.outcome in (Outcome.INVALID, Outcome.CRASHED) for judged in self.runs)

    def arms(self) -> dict[str, Arm]:
        return arms(self.sweep.pairs, self.runs)

    def _warm_ups(self) -> list[_Wish]:
        """One discarded run an arm. The instruction clock needs none: there one arm's first seed is run
        twice, and a difference makes the lane INVALID on this host."""
        wall = [cell_id for cell_id, one in self.cells.items() if one.seats.lane is not Lane.INSN]
        exact = [cell_id for cell_id in self.cells if cell_id not in wall]
        discarded = [_Wish(cell_id, True, "warm-up") for cell_id in plan.order(wall, 1, self.seed)]
        return discarded + [_Wish(cell_id, True, "seed 1, to be repeated") for cell_id in exact[:2][-1:]]

    def wanted(self, policy: Policy) -> dict[str, int]:
        """Cell id -> verified runs that are wanted in all, where some are still missing."""
        if self.broken:
            return {}
        first = {cell_id: plan.runs_of(planned, self.options) for cell_id, planned in self.cells.items()}
        needs = decide(self.gates, self.arms(), policy, self.bounds).needs if self.options.gates else {}
        target = {cell_id: max(first[cell_id], needs.get(cell_id, 0)) for cell_id in self.cells}
        return {cell_id: count for cell_id, count in target.items() if self._good(cell_id) < count}

    def round(self, wanted: Mapping[str, int]) -> None:
        """Brings every wanted arm to its count, interleaved, with the host's capacity in between."""
        have = Counter({cell_id: self._good(cell_id) for cell_id in self.cells})
        missing = max(count - have[cell_id] for cell_id, count in wanted.items())
        order = plan.order(tuple(self.cells), missing, self.seed)
        for stretch in _cut(order, len(self.cells) * self.at_once):
            wishes, self.warm_ups = [*self.warm_ups, *self._wishes(stretch, have, wanted)], []
            for group in _cut(wishes, self.at_once):
                if self.broken:
                    return
                self._attempt(group)
            if not self.broken:
                self._take_capacity()

    def _wishes(
        self, stretch: Sequence[str], have: Counter[str], wanted: Mapping[str, int]
    ) -> Iterator[_Wish]:
        """The runs of a stretch that are still missing; counts them in `have`."""
        for cell_id in stretch:
            if have[cell_id] < wanted.get(cell_id, 0):
                have[cell_id] += 1
                yield _Wish(cell_id, False, self._label(cell_id, have[cell_id], wanted[cell_id]))

    def _take_capacity(self) -> None:
        arms = [p for p in self.cells.values() if not p.cell.variant]  # a variant is never gated
        wall = [p for p in arms if p.seats.lane in (Lane.KVM, Lane.TCG) and p.seats.pins]
        counts = tuple(sorted({p.cell.cpus for p in wall if 1 < p.cell.cpus <= len(p.seats.pins)}))
        if counts:
            self.bounds = self.lab.capacity(self.sweep.row, counts)

    def _attempt(self, wishes: Sequence[_Wish]) -> None:
        counted = Counter(judged.run.cell.id for judged in self.runs if not judged.run.warmup)
        group = []
        for wish in wishes:
            counted[wish.cell_id] += not wish.warmup
            self.order.append(wish.cell_id)
            seed = 1 if wish.warmup else counted[wish.cell_id]
            planned = self.cells[wish.cell_id]
            group.append(Attempt(planned, len(self.order), wish.warmup, seed, wish.label))
        self.runs.extend(self.lab.attempts(group))

    def _label(self, cell_id: str, run: int, of: int) -> str:
        what = "seed" if self.cells[cell_id].seats.lane is Lane.INSN else "run"
        return f"{what} {run} of {of}"

    def _good(self, cell_id: str) -> int:
        return sum(j.run.cell.id == cell_id and j.outcome is Outcome.OK for j in self.runs)


def reseat(sweep: SweepPlan, ground: plan.Ground, options: Options) -> SweepPlan:
    """The same sweep on what the host turned out to offer (`lane as last known` was a guess)."""

    def fresh(planned: PlannedCell) -> PlannedCell:
        if planned.cell.variant:
            return replace(planned, seats=plan.smt_seats(planned.system, planned.workload, ground))
        return replace(
            planned, seats=plan.seats(planned.system, planned.workload, planned.cell.cpus, ground, options)
        )

    cells = {planned.cell.id: fresh(planned) for planned in sweep.cells}
    gates = tuple(
        replace(gate, base=cells[gate.base.cell.id], arm=cells[gate.arm.cell.id]) for gate in sweep.gates
    )
    return replace(sweep, cells=tuple(cells.values()), gates=gates)
