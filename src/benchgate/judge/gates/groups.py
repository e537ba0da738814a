"""What a gate knows of arms whose runs fall into groups: a median of them is the figure of no run.

Takes the measurements of a look, the policy and how a figure follows from one median per arm; gives the
figures with the groups, the span that the figure has over them, and a command that shows what differs. On the
instruction clock a single run is a group, because nothing but the system's own interleaving moves it; on wall
time it may be noise, so it is only named. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from benchgate.base.cells import Lane
from benchgate.base.gates import Policy
from benchgate.base.runs import Measurement
from benchgate.base.statistics.regimes import regimes
from benchgate.base.statistics.stats import Interval, median
from benchgate.base.system.machines import unit_on
from benchgate.base.text import counted, first_few
from benchgate.base.workload.metrics import OF_THREADS, WHOLE, in_unit
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.wording import command

MOST_SEEDS = 8


@dataclass(frozen=True, slots=True)
class ArmGroups:
    """The groups of one arm's runs, the smallest figures first; only one: there are none."""

    name: str
    of: Measurement
    places: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """The groups that decide."""
        if self.of.lane is Lane.INSN:
            return self.places
        return tuple(group for group in self.places if len(group) > 1)

    @property
    def medians(self) -> tuple[float, ...]:
        return tuple(median([self.of.samples[place] for place in group]) for group in self.counts)

    @property
    def said(self) -> str:
        """`the runs of smp4 fall into 2 groups: 21.3 ms (seeds 1, 2, 5), 64.1 ms (seed 3 alone)`."""
        shown = ", ".join(self._group(group) for group in self.places)
        if len(self.counts) > 1:
            return f"the runs of {self.name} fall into {counted(len(self.places), 'group')}: {shown}"
        return f"a run of {self.name} stands alone: {shown}"

    def _group(self, group: Sequence[int]) -> str:
        value = median([self.of.samples[place] for place in group])
        alone = " alone" if len(group) == 1 else ""
        return f"{_figure(value, unit_on(self.of.cell.system, self.of.unit))} ({self._runs(group)}{alone})"

    def _runs(self, group: Sequence[int]) -> str:
        of = self.of
        if of.lane is Lane.INSN and len(of.seeds) >= len(of.samples):
            noun, names = "seed", [str(of.seeds[place]) for place in group]
        elif of.runs:
            noun, names = "run", [of.runs[place].rpartition("/")[2].partition("-")[0] for place in group]
        else:
            return counted(len(group), "run")
        return f"{noun}{'s' if len(group) > 1 else ''} {first_few(names, MOST_SEEDS)}"

    @property
    def difference(self) -> str:
        """The command that shows what differs between the two groups that are farthest apart. Where the
        instructions went says little of CPUs that idle."""
        if not self.of.runs or len(self.places) < 2:
            return ""
        one, two = (self.of.runs[group[0]] for group in (self.places[0], self.places[-1]))
        if self.of.metric.name in OF_THREADS:
            return command("benchgate", "threads", one, two)
        if self.of.lane is Lane.INSN:
            return " and ".join(command("benchgate", "replay", run, "--profile") for run in (one, two))
        return f"compare {one}/serial.log with {two}/serial.log"


def of_arm(name: str, of: Measurement, policy: Policy, threshold: float = 0.0) -> ArmGroups:
    """`threshold`: of a gate on the figure itself; what lies closer together does not matter to it. Neither
    does what the printed steps, or the clock's, can have made of one figure."""
    apart = policy.apart and min(policy.apart + 2 * max(of.blur, default=0.0), 1.0)
    floor = max(policy.apart * abs(threshold), 2 * of.step)
    return ArmGroups(name, of, regimes(of.samples, apart, floor))


def with_groups(
    seen: GateFigures, arms: Iterable[ArmGroups], figure: Callable[[Sequence[float]], float]
) -> GateFigures:
    """`figure`: what the gate compares, of one median per arm, in the order of the arms."""
    arms = tuple(arms)
    split = [arm for arm in arms if len(arm.places) > 1]
    if not split or seen.unusable:
        return seen
    text = "; ".join(arm.said for arm in split)
    advice = next(filter(None, (arm.difference for arm in split)), "")
    if all(len(arm.counts) < 2 for arm in split):
        return replace(seen, groups=text, difference=advice)
    every = [figure(medians) for medians in product(*map(_medians, arms))]
    span = Interval(min(every), max(every))
    return replace(seen, groups=text, difference=advice, spanned=span, effect=None)


def _medians(arm: ArmGroups) -> tuple[float, ...]:
    return arm.medians if len(arm.counts) > 1 else (median(arm.of.samples),)


def names_of(arms: Sequence[Measurement]) -> Iterator[str]:
    """`smp4` where that tells the arms of a gate apart."""
    rows = {of.cell.row for of in arms}
    yield from (f"smp{of.cell.cpus}" if len(rows) == 1 else of.cell.id for of in arms)


def _figure(value: float, unit: str) -> str:
    return in_unit(value, unit, lambda plain: f"{plain:,.0f}" if abs(plain) >= WHOLE else f"{plain:.4g}")
