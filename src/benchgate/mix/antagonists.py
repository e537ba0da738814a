"""What an input uses of a resource that nobody counts, by who disturbs it: a declared proxy. Pure.

Takes a Study that names antagonists, and its runs; gives what an input keeps of its score beside each, and
what follows from that; or the reason why nothing does. Does not fail.

On wall time no counter says how much of a cache one part holds. So the input runs beside a neighbour that
takes a known share of it, once for each of several shares. All neighbours of one resource keep a CPU as
busy; the one that takes least is what the others are compared with. An input needs what is left over by the
largest neighbour beside which, and beside all smaller ones, it keeps 95% of its score: it is known in steps
of the shares that were tried, and an input that keeps its score beside all of them has the share 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from benchgate.mix import runs as runs_
from benchgate.mix.orders import pressed_key, seeds
from benchgate.mix.runs import Runs
from benchgate.mix.study import Study

KEPT = Fraction(95, 100)
"""An input loses to a neighbour if it keeps less than this of its score beside the one that takes least."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One neighbour: what it leaves of the resource, and what the input keeps of its score."""

    left: Fraction
    kept: Fraction


def beside(study: Study, runs: Runs, name: str, resource: str) -> Mapping[int, tuple[Beside, ...]]:
    """The runs beside each neighbour but the first, by seed; seeds with a missing result are left out."""
    found = {seed: _of_seed(study, runs, name, resource, seed) for seed in seeds(study)}
    return {seed: each for seed, each in found.items() if each}


def needed(each: Sequence[Beside]) -> Fraction:
    """The share that the input uses. `each`: the neighbour that leaves most first."""
    lost = next((n for n, one in enumerate(each) if one.kept < KEPT), None)
    if lost is None:
        return Fraction(0)
    return each[lost - 1].left if lost else Fraction(1)


def limits(each: Sequence[Beside]) -> Iterator[Beside]:
    """The neighbours that leave less than is needed; `left` in parts of what is needed."""
    used = needed(each)
    return (Beside(one.left / used, one.kept) for one in each if one.left < used)


def why_none(study: Study, runs: Runs, name: str, resource: str) -> str:
    made = {
        n: runs.get(pressed_key(name, resource, neighbour, seed))
        for n, (neighbour, seed) in enumerate(product(study.antagonists[resource].takes, seeds(study)))
    }
    without = {n: one for n, one in made.items() if one is None or one.measured is None}
    return runs_.why_none(without) if without else "it completed nothing beside the one that takes least"


def _of_seed(study: Study, runs: Runs, name: str, resource: str, seed: int) -> tuple[Beside, ...]:
    of = study.antagonists[resource]
    done = {n: runs.get(pressed_key(name, resource, one, seed)) for n, one in enumerate(of.takes)}
    scores = [run.parts[0].score for run in runs_.valid(done).values()]
    if len(scores) < len(done) or not scores[0]:
        return ()
    left = [1 - takes / of.whole for takes in of.takes.values()]
    return tuple(Beside(part, score / scores[0]) for part, score in zip(left[1:], scores[1:], strict=True))
