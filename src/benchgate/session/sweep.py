"""The loop of a sweep: asks judge/decide.py which runs are still needed, makes them, and repeats.

Takes a `SweepPlan` and a `Lab`, which carries out attempts; gives a `SweepResult`. All conclusions come from
pure functions of `judge`, which `rejudge` calls again with the files. A guest's failure is a judged run, not
an exception; errors of the Lab pass through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm, CapacityBound, GateInput, Policy, Verdict
from benchgate.base.runs import Outcome
from benchgate.judge.arms import arms
from benchgate.judge.decide import decide
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, SweepPlan, run_order, runs_of


@dataclass(frozen=True, slots=True)
class PlannedRun:
    planned: PlannedCell
    order: int
    warmup: bool
    seed: int
    label: str
    """Its name in the progress line: `warm-up`, `run 3 of 5, look 1 of 4`."""
    sweep: str
    """The first row of its sweep."""
    sweep_runs: int
    """How many runs the sweep has, including those that its gates need so far."""


class Lab(Protocol):
    """Carries out a plan: boots guests, keeps records, measures the host."""

    @property
    def against(self) -> Mapping[str, object]:
        """What gates compare with besides arms (GateInput.against)."""
        ...

    def now_s(self) -> float:
        """The time of a clock that never goes back, in seconds."""
        ...

    def at_once(self, planned: PlannedCell) -> int:
        """The number of attempts at this cell that can run in parallel without influencing each other."""
        ...

    def judged(self) -> Sequence[JudgedRun]:
        """The runs of the session's sweeps so far."""
        ...

    def attempts(self, group: Sequence[PlannedRun]) -> Iterator[JudgedRun]:
        """Carries out a group, some in parallel; gives the runs in the group's order. After a run that ends
        the sweep no other begins."""
        ...

    def capacity(self, row: str, counts: tuple[int, ...]) -> Mapping[int, CapacityBound]:
        """Samples the host's capacity at each count once more; gives this row's bounds so far."""
        ...


@dataclass(frozen=True, slots=True)
class SweepResult:
    plan: SweepPlan
    runs: tuple[JudgedRun, ...]
    arms: Mapping[str, Arm]
    verdicts: tuple[Verdict, ...]
    order: tuple[str, ...]


_T = TypeVar("_T")


def ends_group(runs: Iterable[JudgedRun]) -> bool:
    """True after an invalid run: its arm is INVALID, and more runs cannot change that."""
    return bool(_refused(runs))


def _refused(runs: Iterable[JudgedRun]) -> frozenset[str]:
    """The ids of the cells with an invalid run."""
    wrong = (Outcome.INVALID, Outcome.CRASHED)
    return frozenset(judged.run.cell.id for judged in runs if judged.outcome in wrong)


def run_sweep(sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> SweepResult:
    """Runs until nothing more is needed. The verdicts come from all runs."""
    state = _State(sweep, options, policy, lab, seed)
    while wanted := state.wanted():
        state.round(wanted)
        if state.ended:
            break
    result = state.arms()
    verdicts = decide(state.gates, result, policy, state.bounds, lab.against).verdicts
    return SweepResult(sweep, tuple(state.runs), result, verdicts, tuple(state.order))


def first_runs(sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> list[PlannedRun]:
    """What `run_sweep` will ask for first, if its attempts can run at once; nothing if they cannot."""
    state = _State(sweep, options, policy, lab, seed)
    wanted = state.wanted()
    return state.first(wanted) if wanted and state.at_once > 1 else []


@dataclass(frozen=True, slots=True)
class _Wish:
    """A run that is needed. Its order and seed are assigned when it starts."""

    cell_id: str
    warmup: bool
    label: str


def _cut(things: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (things[start : start + size] for start in range(0, len(things), size))


class _State:
    """The state of one sweep."""

    def __init__(self, sweep: SweepPlan, options: Options, policy: Policy, lab: Lab, seed: int) -> None:
        self.sweep, self.options, self.policy = sweep, options, policy
        self.lab, self.seed = lab, seed
        self.earlier = tuple(lab.judged())
        self.cells = {planned.cell.id: planned for planned in sweep.runnable}
        self.gates = tuple(planned.gate for planned in sweep.gates)
        self.runs: list[JudgedRun] = []
        self.order: list[str] = []
        self.bounds: Mapping[int, CapacityBound] = {}
        self.at_once = min((lab.at_once(planned) for planned in sweep.runnable), default=1)
        self.warm_ups = self._warm_ups()
        self.began_s = lab.now_s()
        self.expected = 0

    @property
    def ended(self) -> bool:
        """True if no run can decide anything, and if the host disturbs more runs than can be replaced."""
        return not self.open or GateInput(self.arms(), self.policy, self.bounds).too_many_void

    @property
    def open(self) -> frozenset[str]:
        """The cells whose runs can still decide something: after an invalid run those of the other gates."""
        refused = _refused(self.runs)
        if not refused:
            return frozenset(self.cells)
        used = [frozenset(cell.id for cell in gate.cells) for gate in self.gates]
        return frozenset().union(*(cells for cells in used if not cells & refused))

    def arms(self) -> dict[str, Arm]:
        return arms(self.sweep.pairs, [*self.earlier, *self.runs], self.sweep.declared)

    def _warm_ups(self) -> list[_Wish]:
        """The discarded runs of each arm. On the instruction clock only one arm of a system and workload has
        such a run: it runs its first seed twice, and a difference makes all their arms INVALID."""
        wall = [cell_id for cell_id, cell in self.cells.items() if cell.seats.lane is not Lane.INSN]
        repeated = [planned_cell.cell.id for planned_cell in self.sweep.repeated]
        order = run_order(wall, self.policy.warmups, self.seed)
        discarded = [_Wish(cell_id, True, "warm-up") for cell_id in order]
        return discarded + [_Wish(cell_id, True, "seed 1, to be repeated") for cell_id in repeated]

    def wanted(self) -> dict[str, int]:
        """Cell id -> the total number of verified runs needed, for the cells that have fewer."""
        if self.ended:
            return {}
        first = {cell_id: runs_of(planned, self.options) for cell_id, planned in self.cells.items()}
        needs = self._needs() if self.options.gates else {}
        target = {cell_id: max(first[cell_id], needs.get(cell_id, 0)) for cell_id in self.cells}
        still = self.open
        return {cell: count for cell, count in target.items() if cell in still and self._good(cell) < count}

    def _needs(self) -> Mapping[str, int]:
        """The runs that gates still need. On the wall-time lanes a further look must begin in time."""
        needs = decide(self.gates, self.arms(), self.policy, self.bounds, self.lab.against).needs
        is_wall = any(cell.seats.lane is not Lane.INSN for cell in self.cells.values())
        is_late = is_wall and self.lab.now_s() - self.began_s > 60 * self.policy.minutes
        return {cell_id: runs for cell_id, runs in needs.items() if not is_late or runs <= self.policy.first}

    def round(self, wanted: Mapping[str, int]) -> None:
        """Brings every wanted arm to its count, interleaved, with samples of the host's capacity."""
        have = Counter({cell_id: self._good(cell_id) for cell_id in self.cells})
        missing = max(count - have[cell_id] for cell_id, count in wanted.items())
        still = sum(count - have[cell_id] for cell_id, count in wanted.items())
        self.expected = len(self.runs) + len(self.warm_ups) + still
        order = run_order(tuple(self.cells), missing, self.seed)
        alone = self.at_once == 1
        for part in _cut(order, len(self.cells) if alone else len(order)):
            wishes, self.warm_ups = [*self.warm_ups, *self._wishes(part, have, wanted)], []
            for group in _cut(wishes, 1 if alone else len(wishes)):
                if self.ended:
                    return
                still_open = self.open
                if useful := [wish for wish in group if wish.cell_id in still_open]:
                    self._attempt(useful)
            if not self.ended:
                self._take_capacity()

    def _wishes(self, part: Sequence[str], have: Counter[str], wanted: Mapping[str, int]) -> Iterator[_Wish]:
        """The runs of this part of the order that are still missing; counts them in `have`."""
        for cell_id in part:
            if have[cell_id] < wanted.get(cell_id, 0):
                have[cell_id] += 1
                yield _Wish(cell_id, False, self._label(cell_id, have[cell_id], wanted[cell_id]))

    def _take_capacity(self) -> None:
        arms = [p for p in self.cells.values() if not p.cell.variant]  # a variant is never gated
        wall = [p for p in arms if p.seats.lane in (Lane.KVM, Lane.TCG) and p.seats.pins]
        counts = tuple(sorted({p.cell.cpus for p in wall if 1 < p.cell.cpus <= len(p.seats.pins)}))
        if counts and len({p.cell.cpus for p in wall}) > 1:  # else there is no speedup that it could limit
            self.bounds = self.lab.capacity(self.sweep.row, counts)

    def _attempt(self, wishes: Sequence[_Wish]) -> None:
        group = self._planned(wishes)
        self.order += [wish.cell_id for wish in wishes]
        self.runs.extend(self.lab.attempts(group))

    def _planned(self, wishes: Sequence[_Wish]) -> list[PlannedRun]:
        counted = Counter(judged.run.cell.id for judged in self.runs if not judged.run.warmup)
        group = []
        for order, wish in enumerate(wishes, len(self.order) + 1):
            counted[wish.cell_id] += not wish.warmup
            seed = 1 if wish.warmup else counted[wish.cell_id]
            facts = (wish.label, self.sweep.row, self.expected)
            group.append(PlannedRun(self.cells[wish.cell_id], order, wish.warmup, seed, *facts))
        return group

    def first(self, wanted: Mapping[str, int]) -> list[PlannedRun]:
        """The runs of the first round, of which none has begun."""
        order = run_order(tuple(self.cells), max(wanted.values()), self.seed)
        return self._planned([*self.warm_ups, *self._wishes(order, Counter(), wanted)])

    def _label(self, cell_id: str, run: int, of: int) -> str:
        what = "seed" if self.cells[cell_id].seats.lane is Lane.INSN else "run"
        looks = self.policy.session_looks
        look = f", look {looks.index(of) + 1} of {len(looks)}" if len(looks) > 1 and of in looks else ""
        return f"{what} {run} of {of}{look}"

    def _good(self, cell_id: str) -> int:
        return sum(j.run.cell.id == cell_id and j.outcome is Outcome.OK for j in self.runs)
