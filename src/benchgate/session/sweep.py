"""The one loop of the program: ask `decide` what is still needed, run that, repeat.

Takes a `SweepPlan` and a `Lab` (whatever carries out attempts), gives a `SweepResult`. Everything that it
concludes is concluded by the pure `judge` and `arms`, which `rejudge` calls again on what stands on disk.
A guest that fails is a judged run, never an exception; what the Lab cannot carry out passes through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm, CapacityBound, Policy, Verdict
from benchgate.base.runs import Outcome
from benchgate.judge.arms import arms
from benchgate.judge.decide import conclude, decide
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, SweepPlan
from benchgate.plan.schedule import run_order, runs_of


@dataclass(frozen=True, slots=True)
class PlannedRun:
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

    def attempts(self, group: Sequence[PlannedRun]) -> Iterator[JudgedRun]:
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


def run_sweep(sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> SweepResult:
    """Runs until nothing more is needed; the verdicts are `decide`'s last word."""
    state = _State(sweep, options, policy, lab, seed)
    while wanted := state.wanted():
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

    def __init__(self, sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> None:
        self.sweep, self.options, self.policy = sweep, options, policy
        self.lab, self.seed = lab, seed
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
        """The discarded runs of each arm. The instruction clock needs none: there one arm's first seed is run
        twice, and a difference makes the lane INVALID on this host."""
        wall = [cell_id for cell_id, one in self.cells.items() if one.seats.lane is not Lane.INSN]
        exact = [cell_id for cell_id in self.cells if cell_id not in wall]
        order = run_order(wall, self.policy.warmups, self.seed)
        discarded = [_Wish(cell_id, True, "warm-up") for cell_id in order]
        return discarded + [_Wish(cell_id, True, "seed 1, to be repeated") for cell_id in exact[:2][-1:]]

    def wanted(self) -> dict[str, int]:
        """Cell id -> verified runs that are wanted in all, where some are still missing."""
        if self.broken:
            return {}
        first = {cell_id: runs_of(planned, self.options) for cell_id, planned in self.cells.items()}
        needs = decide(self.gates, self.arms(), self.policy, self.bounds).needs if self.options.gates else {}
        target = {cell_id: max(first[cell_id], needs.get(cell_id, 0)) for cell_id in self.cells}
        return {cell_id: count for cell_id, count in target.items() if self._good(cell_id) < count}

    def round(self, wanted: Mapping[str, int]) -> None:
        """Brings every wanted arm to its count, interleaved, with the host's capacity in between."""
        have = Counter({cell_id: self._good(cell_id) for cell_id in self.cells})
        missing = max(count - have[cell_id] for cell_id, count in wanted.items())
        order = run_order(tuple(self.cells), missing, self.seed)
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
            group.append(PlannedRun(planned, len(self.order), wish.warmup, seed, wish.label))
        self.runs.extend(self.lab.attempts(group))

    def _label(self, cell_id: str, run: int, of: int) -> str:
        what = "seed" if self.cells[cell_id].seats.lane is Lane.INSN else "run"
        return f"{what} {run} of {of}"

    def _good(self, cell_id: str) -> int:
        return sum(j.run.cell.id == cell_id and j.outcome is Outcome.OK for j in self.runs)
