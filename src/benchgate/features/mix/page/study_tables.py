"""The tables of a study of mixed workloads: rows for a terminal and for the page.

Takes a StudyOutcome; gives grids, whose first row is the heading, and all of them as text. A part that the
study does not have is left out. Does not fail.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import median

from benchgate.base.text import percent
from benchgate.features.mix.isolation import Slowdown
from benchgate.features.mix.measurement import Estimate
from benchgate.features.mix.outcome import MixResult, StudyOutcome
from benchgate.features.mix.programme import MixChoice
from benchgate.features.mix.selection import NEAR
from benchgate.render.tables import columns
from benchgate.render.tables.columns import Grid

NOTHING = columns.NOTHING
UNAVAILABLE = "unavailable"
UNWITNESSED = (
    "not witnessed: the machine counts what all parts do together, so what each one's workload promises "
    "(`witness:`) is held against it in runs of that workload alone"
)


def text(outcome: StudyOutcome) -> list[str]:
    lines: list[str] = []
    for grid in grids(outcome):
        lines += ["", f"{grid.title}:", "", *columns.drawn(grid.rows)]
    if outcome.validity is not None:
        lines += ["", f"validity: {outcome.validity.outcome}: {outcome.validity.reason}"]
    if (robust := robustness_told(outcome)) is not None:
        lines += ["", f"robustness: {robust}"]
    return [*lines[1:], "", UNWITNESSED]


def grids(outcome: StudyOutcome) -> Iterator[Grid]:
    yield vectors(outcome)
    yield sensitivities(outcome)
    if outcome.mixes:
        yield mixes(outcome)
    for mix in outcome.mixes:
        if mix is outcome.best:
            yield slowdowns(mix)
            yield bottlenecks(mix)
    if outcome.sweep:
        yield sweep(outcome)
    if outcome.scaling and outcome.mixes:
        yield scaling(outcome)
    if outcome.overcommit:
        yield overcommit(outcome)


def vectors(outcome: StudyOutcome) -> Grid:
    resources = outcome.study.resources
    rows: list[Sequence[str]] = [("alone", "score", *resources)]
    for vector in outcome.vectors:
        score = UNAVAILABLE if vector.score is None else f"{float(vector.score.value):.5g}"
        rows.append((vector.input.name, score, *(_share(vector.use.get(name)) for name in resources)))
    return Grid("what each input uses alone, of the capacity", tuple(rows))


def sensitivities(outcome: StudyOutcome) -> Grid:
    resources = outcome.study.resources
    estimates = {(sigma.application, sigma.resource): sigma.figure for sigma in outcome.sigmas}
    rows: list[Sequence[str]] = [("application", *resources)]
    for name in outcome.study.applications:
        rows.append((name, *(_sigma(estimates.get((name, resource))) for resource in resources)))
    return Grid("how much each score depends on each resource, from 0 to 1", tuple(rows))


def mixes(outcome: StudyOutcome) -> Grid:
    rows: list[Sequence[str]] = [
        ("mix", "objective", "isolation", "worst part", "sum", "noise floor", "chosen as")
    ]
    for mix in outcome.mixes:
        rows.append((told(mix), f"{float(mix.objective):.4g}", *_isolated(mix), ", ".join(mix.planned.roles)))
    return Grid("mixes that ran, against the same parts beside a dummy", tuple(rows), 1, 1)


def slowdowns(result: MixResult) -> Grid:
    rows: list[Sequence[str]] = [("part", "alone", "mixed", "slowdown", "interval", "noise floor")]
    rows += [(part.part, *_slowdown(part)) for part in result.isolation.parts]
    return Grid("the best mix: slowdown of each part", tuple(rows))


def bottlenecks(result: MixResult) -> Grid:
    rows: list[Sequence[str]] = [("resource", "sum of its parts alone", "the mix", "difference")]
    for use in result.isolation.use:
        rows.append((use.resource, percent(use.alone), percent(use.mixed), f"{use.mixed - use.alone:+.1%}"))
    return Grid("the best mix: use of resources", tuple(rows))


def sweep(outcome: StudyOutcome) -> Grid:
    of = outcome.study.sweep
    beside = "" if of is None else f": {of.input} beside {of.beside}, against beside a dummy"
    rows = ((str(point.cpus), *_slowdown(point.slowdown), point.missing) for point in outcome.sweep)
    heading = ("CPUs", "dummy", "partner", "slowdown", "interval", "noise floor", "")
    return Grid(f"sweep over CPUs{beside}", (heading, *rows), 1, 1)


def scaling(outcome: StudyOutcome) -> Grid:
    rows = ((point.input, *_slowdown(point.slowdown), point.missing) for point in outcome.scaling)
    heading = ("input", "alone", "mixed", "slowdown", "interval", "noise floor", "")
    return Grid(f"scaling of {outcome.study.scaling} while others run", (heading, *rows), 1, 1)


def overcommit(outcome: StudyOutcome) -> Grid:
    rows: list[Sequence[str]] = [("capacity", "mix", "isolation", "worst part", "sum", "noise floor")]
    for by, result in outcome.overcommit:
        rows.append((f"{float(by):g}", told(result), *_isolated(result)))
    return Grid("the best mix for each capacity", tuple(rows), 2)


def near(outcome: StudyOutcome) -> tuple[MixResult, ...]:
    return tuple(mix for mix in outcome.mixes if NEAR in mix.planned.roles)


def told(result: MixResult) -> str:
    return " ".join(f"{count} x {name}" for name, count in result.planned.counts.items())


def robustness_told(outcome: StudyOutcome) -> str | None:
    robustness = outcome.robustness
    if robustness is None:
        return None
    return (
        f"of {robustness.draws} draws from the samples, {percent(robustness.same)} choose the same mix; "
        f"it fits into the capacities in {percent(robustness.fits)} of them, and there has at least "
        f"{math.floor(1000 * robustness.least) / 10:g}% of the best objective"
    )


def _isolated(result: MixResult) -> tuple[str, str, str, str]:
    isolation = result.isolation
    if isolation.missing:
        return (isolation.missing, NOTHING, NOTHING, NOTHING)
    floor = UNAVAILABLE if isolation.floor is None else percent(isolation.floor)
    worst = f"{isolation.worst.part} {isolation.worst.value:+.1%}"
    return (f"{isolation.value:.3f}", worst, f"{isolation.total:+.1%}", floor)


def _slowdown(slowdown: Slowdown | None) -> tuple[str, str, str, str, str]:
    if slowdown is None:
        return NOTHING, NOTHING, NOTHING, NOTHING, NOTHING
    floor = UNAVAILABLE if slowdown.floor is None else percent(slowdown.floor)
    scores = (_median(slowdown.alone), _median(slowdown.mixed))
    return (*scores, f"{slowdown.value:+.1%}", f"[{slowdown.low:+.1%}, {slowdown.high:+.1%}]", floor)


def _median(values: Sequence[Fraction]) -> str:
    return f"{float(median(values)):.5g}"


def _share(estimate: Estimate | None) -> str:
    return UNAVAILABLE if estimate is None else percent(float(estimate.value))


def _sigma(estimate: Estimate | None) -> str:
    if estimate is None:
        return UNAVAILABLE
    return f"{float(estimate.value):.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


# ---- mixes that a programme chose


def mixes_json(mixes: Sequence[MixChoice], resources: Sequence[str]) -> str:
    listed = [
        {
            "objective": float(mix.objective),
            "mix": {application_input.name: count for application_input, count in mix.counts},
            "totals": {name: float(total) for name, total in zip(resources, mix.totals, strict=True)},
        }
        for mix in mixes
    ]
    return json.dumps(listed, indent=2)


def mixes_text(mixes: Sequence[MixChoice], resources: Sequence[str]) -> list[str]:
    rows = [("objective", *resources, "mix")]
    for mix in mixes:
        totals = (percent(float(total)) for total in mix.totals)
        names = " ".join(f"{count} x {application_input.name}" for application_input, count in mix.counts)
        rows.append((f"{float(mix.objective):.6g}", *totals, names))
    return columns.drawn(rows)
