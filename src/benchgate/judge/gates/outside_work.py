"""Whether an arm with more CPUs does part of its work outside of its window, where no time counts.

Takes the measurements of two arms of one row, and how many of their runs count; gives a sentence, or an empty
one. Pure. Nothing fails.

Only a window between lines of the console has an outside that can be compared: from the line that is typed to
the window's begin, and from its end to the last answer (base/runs.py, Outside). There a kernel reads a line,
starts a program and prints, and that takes no more instructions with more CPUs.
"""

from __future__ import annotations

from benchgate.base.runs import Measurement

LONGER = 0.01
"""By how much more of a CPU's share of the work its busiest CPU may execute outside, so a ratio may be too
large by as much: `superlinear_ideal` allows the same. The start of a few more workers fits in."""
MORE = 0.05
"""The same of all CPUs and all work. While the busiest CPU starts the program, others that poll execute as
much as it does, and nothing tells that from work."""


def found(base: Measurement, arm: Measurement, runs: int) -> str:
    """The runs of an arm that say least count."""
    ones, twos = ([one.outside for one in of.cpu_work[:runs] if one.outside] for of in (base, arm))
    if not ones or not twos:
        return ""
    inside, cpus = min(two.inside for two in twos), arm.cell.cpus
    pairs = (
        (
            "its busiest CPU",
            LONGER * inside / cpus,
            [one.busiest for one in ones],
            [two.busiest for two in twos],
        ),
        ("all CPUs", MORE * inside, [one.together for one in ones], [two.together for two in twos]),
    )
    for who, most, of_base, of_arm in pairs:
        if min(of_arm) - max(of_base) > most:
            return (
                f"outside of its window, from the typed line to its begin and from its end to the answers, "
                f"{who} executed {min(of_arm)} instructions at smp{cpus} and {max(of_base)} at "
                f"smp{base.cell.cpus}, and at most {most:.0f} more may be"
            )
    return ""
