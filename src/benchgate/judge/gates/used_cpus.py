"""What the CPUs that two arms used allow: a speedup of N needs that the work ran on N CPUs.

Takes the measurements of two arms of one row, and how many of their runs count; gives a `CpuBound`, or None
if it is not known what the CPUs did, and a sentence if an arm works outside of its window. Nothing fails.

Both arms do the same work. So the ratio of their speeds is that of the CPUs on which it ran, unless the base
did more than the work: interrupts, a slow path, a wait. A ratio is therefore no larger than either of these:

- the CPUs that were awake in the larger arm, over those in the base, where a base that used less than one
  counts as one: what idles is not slow by its work. If the workload itself sleeps, that is part of its work.
- the same of the CPUs that were at work, outside loops that only wait: an idle CPU may poll. A program may
  have such loops too (`pause` in a yield), so the share of them in the base is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.runs import CpuUse, Measurement

TURNS = 1.25
"""How many times as long the CPUs of the base may need for the same work, and how much more its programs
execute, if workers share CPUs or make calls: how often they switch depends on the interleaving. Of the
shipped rows `service` with route=spread saves most by that, 5.1% of all that it executes (tern, 2 and 4
CPUs). `tasks` saves 18% where tern drops the interrupts that wake a CPU (fault=drop-ipi): its workers then
wait for the next tick, and find more to do."""

LONGER = 0.01
"""The busiest CPU may execute more by this share of one CPU's work outside of the window, so a ratio may be
too large by as much: `superlinear_ideal` allows the same. The start of a few more workers fits in."""
MORE = 0.05
"""The same share for all CPUs and all work. While the busiest CPU starts the program, others may poll, and
nothing tells that from work unless the clock knows the loop (insn/c/record/polls.h)."""


@dataclass(frozen=True, slots=True)
class CpuBound:
    """The largest ratio of speed that the CPUs allow, without a tolerance."""

    most: float
    base: float
    """How many CPUs the base used at least."""
    arm: float
    """How many CPUs the larger arm used at most."""
    how: str

    def __str__(self) -> str:
        return f"only {self.arm:.2f} CPUs {self.how} in its window, and {self.base:.2f} in that of the base"


def bound(base: Measurement, arm: Measurement, runs: int) -> CpuBound | None:
    """The runs of an arm are of one program, so those of an arm that allow most count."""
    ones, twos = (
        [use for work in of.cpu_work[:runs] if (use := work.used.get(of.metric.window))] for of in (base, arm)
    )
    if not ones or not twos:
        return None
    least = min(cpu_use.awake.low for cpu_use in ones)
    sleeps = any(work.sleeps for work in base.cpu_work)
    if sleeps and not least:
        return None
    base_cpus = least if sleeps else max(1.0, least)
    most = max(two.awake.high for two in twos)
    bounds = [CpuBound(most / base_cpus, least, most, "were awake"), *_at_work(ones, twos, base_cpus)]
    return min(bounds, key=lambda cpu_bound: cpu_bound.most)


def _at_work(ones: Sequence[CpuUse], twos: Sequence[CpuUse], base_cpus: float) -> list[CpuBound]:
    """There are none unless the use is known of every run."""
    of_base = [(use.worked.low, use.awake.high) for use in ones if use.worked and use.awake.high]
    of_arm = [two.worked.high for two in twos if two.worked]
    if len(of_base) < len(ones) or len(of_arm) < len(twos):
        return []
    share = min(worked / awake for worked, awake in of_base)
    if not share:
        return []
    most = max(of_arm)
    return [CpuBound(most / share / base_cpus, min(worked for worked, _ in of_base), most, "were at work")]


# ---- work outside of the window


def outside(base: Measurement, arm: Measurement, runs: int) -> str:
    """Why the larger arm does part of its work where no time counts; empty if it does not. Only a window
    between lines of the console has an outside that can be compared (base/runs.py, OutsideUse). There a
    kernel reads a line, starts a program and prints, and that takes no more instructions with more CPUs. An
    idle CPU that polls is not at work, unless its loop does the work. Then the arm has executed too little
    else in its window for all of that work, and as much of the loop as is missing there may be work outside,
    too. The runs of an arm that say least count."""
    ones, twos = ([work.outside for work in of.cpu_work[:runs] if work.outside] for of in (base, arm))
    if not ones or not twos:
        return ""
    inside, cpus = min(two.inside for two in twos), arm.cell.cpus
    needed = min(one.inside - one.polled_inside for one in ones) / TURNS
    missing = max(0, int(needed) - max(two.inside - two.polled_inside for two in twos))
    counts = (
        ("its busiest CPU", [one.busiest for one in ones], [two.busiest for two in twos], LONGER / cpus),
        (
            "all CPUs",
            [one.together for one in ones],
            [two.together + min(two.polled, missing) for two in twos],
            MORE,
        ),
    )
    for who, of_base, of_arm, share in counts:
        if min(of_arm) - max(of_base) > share * inside:
            return (
                f"outside of its window, from the typed line to its begin and from its end to the answers, "
                f"{who} executed {min(of_arm)} instructions at smp{cpus} and {max(of_base)} at "
                f"smp{base.cell.cpus}, and at most {share * inside:.0f} more may be"
            )
    return ""
