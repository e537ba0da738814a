"""The page of a study of mixed workloads: each point with its picture and its table.

Takes a StudyOutcome; gives HTML in one text, by the same means as a session's page. A point that the study
does not have is left out. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchgate.base.text import counted, percent
from benchgate.features.mix.isolation import BOUND, Validity
from benchgate.features.mix.outcome import MixResult, StudyOutcome
from benchgate.features.mix.page import study_tables as tables
from benchgate.features.mix.selection import Robustness
from benchgate.features.mix.sensitivity import Sigma
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.look import legend
from benchgate.render.page.page import Section, document
from benchgate.render.page.pictures import bars, by_cpus, spans
from benchgate.render.page.pictures.bars import Bar
from benchgate.render.page.pictures.by_cpus import Panel, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.pictures.spans import Spans, ValueSpan
from benchgate.render.page.tables import figure, grid, listed, more
from benchgate.render.tables.columns import Grid

ALONE, MIXED = 0, 1
"""The looks of the same thing alone and in a mix."""


def page(outcome: StudyOutcome) -> str:
    study = outcome.study
    machine = f" on {study.machine}" if study.machine else ""
    seeds = counted(study.seeds, "seed")
    clock = "the instruction clock" if study.clock == "insn" else "wall time"
    told = f"study {study.name}: {study.system}{machine}, {counted(study.cpus, 'CPU')}, {clock}, {seeds}; "
    told += f"{counted(outcome.made, 'run')}, {len(outcome.invalid)} of them invalid; {tables.UNWITNESSED}"
    return document(headline(outcome), told, [*_sections(outcome)])


def headline(outcome: StudyOutcome) -> str:
    best = outcome.best
    if best is None:
        return f"{outcome.study.name}: vectors and sensitivities; no mix has run"
    if best.isolation.missing:
        return f"{outcome.study.name}: the best mix has no result: {best.isolation.missing}"
    value, worst = best.isolation.value, best.isolation.worst.part
    return f"{outcome.study.name}: the best mix has isolation {value:.3f}; {worst} loses most"


def _sections(outcome: StudyOutcome) -> Iterator[Section]:
    if outcome.findings:
        yield "findings", "What is odd", listed(outcome.findings)
    yield "vectors", "Use of resources, alone", _both(_vector_panels(outcome), tables.vectors(outcome))
    yield "sensitivity", "Sensitivity", _both(_level_panels(outcome), tables.sensitivities(outcome))
    if outcome.mixes:
        yield "mixes", "Mixes", grid(tables.mixes(outcome))
    best = outcome.best
    if best is not None and not best.isolation.missing:
        yield "isolation", "Isolation in the best mix", _both(_slowdowns(best), tables.slowdowns(best))
        yield "bottlenecks", "Bottlenecks", _both(_use(best), tables.bottlenecks(best))
    if outcome.sweep:
        yield "sweep", "One application over CPU counts", _both(_sweep(outcome), tables.sweep(outcome))
    if outcome.mixes and any(point.slowdown for point in outcome.scaling):
        yield "scaling", "Scaling while others run", _both(_scaling(outcome), tables.scaling(outcome))
    if outcome.overcommit:
        yield "overcommit", "Overcommitment", _both(_overcommit(outcome), tables.overcommit(outcome))
    if outcome.validity is not None:
        yield "validity", "Does the composition matter?", _validity(outcome, outcome.validity)
    if outcome.robustness is not None:
        yield "robustness", "Does the choice survive the noise?", _robustness(outcome, outcome.robustness)
    if outcome.invalid:
        runs = counted(len(outcome.invalid), "run")
        yield "invalid", "Runs without a result", more(runs, listed(outcome.invalid), is_open=True)


def _both(drawn: Html, of: Grid) -> Html:
    return join([drawn, grid(of)])


def _vector_panels(outcome: StudyOutcome) -> Html:
    """A panel for each resource."""
    panels = []
    for resource in outcome.study.resources:
        uses = [(vector.input.name, vector.use.get(resource)) for vector in outcome.vectors]
        drawn = [
            Bar(n, name, (("share", float(used.value)),), percent(float(used.value)))
            for n, (name, used) in enumerate(uses)
            if used is not None
        ]
        if drawn:
            title = f"{resource}: share of the capacity"
            left = spans.room([bar.name for bar in drawn])
            panels.append(figure(bars.draw(title, drawn, percent, left), title))
    return tag("div", *panels, class_="panels")


def _level_panels(outcome: StudyOutcome) -> Html:
    """A panel for each application: what is left of the score at each limit."""
    panels = []
    looks = {name: n for n, name in enumerate(outcome.study.resources)}
    for application in outcome.study.applications:
        mine = [sigma for sigma in outcome.sigmas if sigma.application == application and sigma.levels]
        if not mine:
            continue
        lines = tuple(_kept(sigma, looks[sigma.resource]) for sigma in mine)
        title = f"{application}: score at a limit, of that alone"
        panel = Panel(title, lines, least=0.0, most=1.0, ideal=1.0, below="percent of what it uses alone")
        names = legend(panel.names)
        panels.append(figure(by_cpus.draw(panel, percent), title, names))
    return tag("div", *panels, class_="panels")


def _kept(sigma: Sigma, look: int) -> PlotLine:
    """The line of the last limited input. A point is where the limit was: caches have whole ways."""
    last = sigma.levels[-1].input
    at_limits = sorted(
        (round(100 * level.fraction), float(level.kept)) for level in sigma.levels if level.input == last
    )
    points = [
        PlotPoint(at, kept, title=f"{sigma.resource} {at}%: {percent(kept)}")
        for at, kept in [*at_limits, (100, 1.0)]
    ]
    return PlotLine(look, sigma.resource, tuple(points))


def _slowdowns(best: MixResult) -> Html:
    drawn = tuple(
        ValueSpan(n, part.part, part.value, part.low, part.high, f"{part.part}: {part.value:+.1%}")
        for n, part in enumerate(best.isolation.parts)
    )
    title = "slowdown of each part: the share of its score that it loses in the mix"
    return figure(spans.draw(Spans(title, drawn, ((0.0, "none"),), 0.0, 0.1), _signed), title)


def _use(best: MixResult) -> Html:
    drawn = []
    for use in best.isolation.use:
        drawn.append(Bar(ALONE, f"{use.resource}, sum", (("alone", use.alone),), percent(use.alone)))
        drawn.append(Bar(MIXED, f"{use.resource}, mix", (("mixed", use.mixed),), percent(use.mixed)))
    title = "what the best mix uses, and the sum of what its parts use alone"
    names = legend([(ALONE, "sum of the parts alone"), (MIXED, "the mix")])
    left = spans.room([bar.name for bar in drawn])
    return figure(bars.draw(title, drawn, percent, left), title, names)


def _sweep(outcome: StudyOutcome) -> Html:
    known = [(point.cpus, point.slowdown) for point in outcome.sweep if point.slowdown is not None]
    points = tuple(
        PlotPoint(cpus, of.value, (), of.low, of.high, title=f"{cpus} CPUs: {of.value:+.1%}")
        for cpus, of in known
    )
    if not points:
        return join([])
    of = outcome.study.sweep
    name = "" if of is None else f"{of.input} beside {of.beside}"
    title = "slowdown over CPU counts, against beside a dummy"
    panel = Panel(title, (PlotLine(0, name, points),), ideal=0.0, most=0.1)
    return figure(by_cpus.draw(panel, _signed), title, legend(panel.names))


def _scaling(outcome: StudyOutcome) -> Html:
    slowdowns = [(point.workers, point.slowdown) for point in outcome.scaling if point.slowdown is not None]
    lines = []
    for look, name in ((ALONE, "beside a dummy"), (MIXED, "in a mix")):
        points = []
        for workers, slowdown in slowdowns:
            scores = sorted(map(float, slowdown.alone if look == ALONE else slowdown.mixed))
            middle = scores[len(scores) // 2]
            points.append(PlotPoint(workers, middle, tuple(scores), title=f"{workers} workers: {middle:.4g}"))
        lines.append(PlotLine(look, name, tuple(points)))
    title = f"score of {outcome.study.scaling} over its workers"
    panel = Panel(title, tuple(lines), below="workers")
    return figure(by_cpus.draw(panel, short), title, legend(panel.names))


def _overcommit(outcome: StudyOutcome) -> Html:
    ran = [(by, result.isolation) for by, result in outcome.overcommit]
    isolations = [(round(100 * by), isolation) for by, isolation in ran if not isolation.missing]
    if not isolations:
        return join([])
    worst = tuple(
        PlotPoint(at, of.value, (), of.interval.low, of.interval.high, title=f"{at}%: {of.value:.3f}")
        for at, of in isolations
    )
    total = tuple(PlotPoint(at, 1 - of.total, title=f"{at}%: {1 - of.total:.3f}") for at, of in isolations)
    fair = tuple(PlotPoint(at, min(1.0, 100 / at)) for at, _ in isolations)
    lines = (
        PlotLine(0, "the slowest part", worst),
        PlotLine(1, "sum of scores", total),
        PlotLine(2, "a fair share", fair),
    )
    title = "what is left of the scores, over the capacity that the programme was given"
    panel = Panel(title, lines, most=1.0, below="capacity in percent")
    return figure(by_cpus.draw(panel, percent), title, legend(panel.names))


def _validity(outcome: StudyOutcome, validity: Validity) -> Html:
    said = tag("p", f"{validity.outcome}: {validity.reason}")
    mixes = [result for result in tables.near(outcome) if not result.isolation.missing]
    if not mixes:
        return said
    values = [mix.isolation.value for mix in mixes]
    middle = sum(values) / len(values)
    intervals = [mix.isolation.interval for mix in mixes]
    drawn = tuple(
        ValueSpan(n, f"mix {n + 1}", value, interval.low, interval.high)
        for n, (value, interval) in enumerate(zip(values, intervals, strict=True))
    )
    levels = ((middle - BOUND, "bound"), (middle + BOUND, "bound"))
    title = "isolation of near-optimal mixes; dashed: the bound on both sides of their mean"
    names = legend([(n, f"mix {n + 1}: {tables.told(mix)}") for n, mix in enumerate(mixes)])
    low = min(*values, middle - BOUND)
    return join([said, figure(spans.draw(Spans(title, drawn, levels, low, low), percent), title, names)])


def _robustness(outcome: StudyOutcome, robustness: Robustness) -> Html:
    drawn = [
        Bar(n, f"mix {n + 1}", (("draws", count / robustness.draws),), percent(count / robustness.draws))
        for n, (_, count) in enumerate(robustness.chosen[:8])
    ]
    title = "mixes that resampled figures choose, by their share of the draws"
    names = legend([(n, f"mix {n + 1}: {name}") for n, (name, _) in enumerate(robustness.chosen[:8])])
    said = tag("p", tables.robustness_told(outcome))
    return join([said, figure(bars.draw(title, drawn, percent), title, names)])


def _signed(value: float) -> str:
    return f"{100 * value:g}%"
