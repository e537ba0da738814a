"""summary.md: the verdicts, the figures, and the conditions under which they were measured.

Takes a SessionView; gives Markdown, in which untrusted text is escaped. Does not fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchgate.base.cells import Lane, Window
from benchgate.base.runs import Outcome
from benchgate.base.text import rooted
from benchgate.render.escape import code, markdown
from benchgate.render.figures import ArmFigures, ArmSeries, series_of
from benchgate.render.files import metrics_svg
from benchgate.render.page.details import metrics as metrics_part
from benchgate.render.page.details import promises
from benchgate.render.page.page_view import page_view
from benchgate.render.tables import (
    columns,
    memory,
    metrics,
    sensitivity,
    side_by_side,
    threads,
    units,
    variants,
)
from benchgate.render.view import SessionView, headline, sentences_of, unwitnessed

NAME = "summary.md"
PICTURE = "speedup.svg"
MOST_FAILURES = 20

TEXTS = ("arm", "gate", "CPUs")
"""The columns of an arm's cells that are text. A column in which no arm has a value is left out."""

LANE_NOTES = {
    Lane.TCG: "emulated CPUs: no caches, no memory bandwidth; compare ratios of this lane only",
    Lane.KVM: "hardware virtualisation, wall time",
    Lane.NATIVE: "this host's own Linux, no virtual machine",
    Lane.INSN: "instruction clock: it shows scheduling, but not caches, memory bandwidth or frequency; "
    "its interval is over interleavings, not over noise",
}
_ON_MACHINES = (
    "instruction clock: it shows scheduling, and on {} caches and memory, but no frequency; its interval is "
    "over interleavings, not over noise"
)


def lane_notes(every: Sequence[ArmSeries]) -> list[str]:
    """What each lane shows. The rows of one on the ideal machine show no caches."""
    found = sorted({(series.lane, series.machine) for series in every})
    machines = [machine for _, machine in found if machine]
    told = [f"lane {lane}: {LANE_NOTES[lane]}" for lane, machine in found if not machine]
    return told + ([f"lane insn: {_ON_MACHINES.format(', '.join(machines))}"] if machines else [])


def render(view: SessionView) -> str:
    every = series_of(view)
    has_speedup = any(arm.speedups for series in every for arm in series.arms)
    blocks = [
        [f"# {markdown(headline(view))}", ""],
        _clocks(view),
        _verdicts(view),
        [line for series in every for line in _series(view, series)],
        [] if view.clocks else side_by_side.lines_of_markdown(view),
        variants.lines_of_markdown(view),
        [f"![efficiency over CPUs]({PICTURE})", ""] if has_speedup else [],
        [f"![metrics over CPUs]({metrics_svg.NAME})", ""] if metrics_part.panels_of(page_view(view)) else [],
        sensitivity.lines_of_markdown(view),
        memory.lines_of_markdown(view),
        threads.lines_of_markdown(view),
        _runs(view),
        _conditions(view, every),
        _machine(view),
        _repeat(view),
    ]
    return "\n".join(line for block in blocks for line in block).rstrip() + "\n"


def _clocks(view: SessionView) -> list[str]:
    """The page begins with what each clock is good for here, if --clock is `both`."""
    if view.clocks is None:
        return []
    told = " ".join(markdown(sentence) for sentence in sensitivity.wall_time_sentences(view))
    return [told, "", *side_by_side.lines_of_markdown(view)]


def _verdicts(view: SessionView) -> list[str]:
    told = sentences_of(view.shown_verdicts)
    lines = [f"- **{word}** {markdown(rooted(text, view.home))}" for word, text in told]
    if view.compared and view.is_verified:
        wrong = view.compared * view.overall_error
        lines += [
            "",
            f"Verdicts that compare noisy figures: m = {view.compared}. Each is wrong by chance in at most "
            f"{view.overall_error:.0%} of sessions, so expect up to {wrong:.2g} wrong verdicts here.",
        ]
    return [*lines, ""] if lines else []


def _series(view: SessionView, series: ArmSeries) -> list[str]:
    settings = " ".join(f"{name}={value}" for name, value in series.params)
    told = f"{series.mode} mode; {markdown(settings) or 'no parameters'}."
    lines = [f"## {markdown(series.name)}, {series.lane}", "", told, ""]
    cells = [_cells(view, series, arm) for arm in series.arms]
    rule = ("---" if name in TEXTS else "--:" for name in cells[0])
    rows = [tuple(cells[0]), tuple(rule), *(tuple(of.values()) for of in cells)]
    used = columns.used(rows[0], rows[2:])
    lines += [f"| {' | '.join(row[n] for n in used)} |" for row in rows]
    bars = [_bar(series, arm) for arm in series.arms]
    drawn = ["```text", *filter(None, bars), "```", ""] if any(bars) else []
    measured = [*metrics.lines_of_markdown(view, series), *promises.lines_of_markdown(series)]
    return [*lines, "", *measured, *drawn, *_paired(series), *_dependence(series)]


def _cells(view: SessionView, series: ArmSeries, arm: ArmFigures) -> dict[str, str]:
    cells = units.cells_of(series, arm, view.capacity)
    if cells["gate"] != columns.NOTHING:
        cells["gate"] = markdown(cells["gate"])
    return cells


def _paired(series: ArmSeries) -> list[str]:
    found = [(arm, arm.speedups.get(Window.WORK)) for arm in series.arms]
    known = [(arm, seen.paired) for arm, seen in found if seen and seen.paired]
    parts = [f"{arm.name} [{paired.low:.2f}, {paired.high:.2f}]" for arm, paired in known]
    return (
        [f"Paired log-t of work (a diagnostic, never the verdict): {', '.join(parts)}.", ""] if parts else []
    )


def _dependence(series: ArmSeries) -> list[str]:
    """Seeds of the instruction clock share no noise, so there is nothing to show."""
    found = [(arm.name, arm.dependence) for arm in series.arms if series.lane is not Lane.INSN]
    parts = [f"{name} {value:.1f}" for name, value in found if value is not None]
    what = (
        "Dependence of neighbouring runs of work, in standard deviations (intervals assume independent runs)"
    )
    return [f"{what}: {', '.join(parts)}.", ""] if parts else []


def _bar(series: ArmSeries, arm: ArmFigures, width: int = 40) -> str:
    """A bar of the speedup and the ideal one, scaled to the largest CPU count of the series."""
    seen = arm.speedups.get(Window.WORK)
    if seen is None:
        return ""
    scale = width / (max(figures.cpus for figures in series.arms) / seen.base_cpus)
    ideal = arm.cpus / seen.base_cpus
    done = min(round(seen.ratio * scale), width)
    drawn = "█" * done + "·" * max(round(ideal * scale) - done, 0)
    return f"{arm.name:<6} {drawn:<{width}} {seen.ratio:.2f}x of {ideal:g}x"


def _runs(view: SessionView) -> list[str]:
    outcomes = Counter(row.outcome for row in view.rows)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcomes[outcome])
    lines = ["## Runs", "", f"{len(view.rows)} attempts: {counts or 'none'}.", ""]
    named = [row for row in view.rows if row.outcome not in (Outcome.OK, Outcome.WARMUP)]
    for row in named[:MOST_FAILURES]:
        why = markdown(row.reason) or "no reason is recorded"
        lines.append(f"- run {row.run}, {markdown(row.cell.id)}, **{row.outcome}**: {why}")
    if len(named) > MOST_FAILURES:
        lines.append(f"- and {len(named) - MOST_FAILURES} more, see results.csv")
    lines += [f"- {markdown(text)}" for text in view.outliers]
    return [*lines, ""] if named or view.outliers else lines


def placed(every: Sequence[ArmSeries]) -> str:
    """The lanes and placements of these arms."""
    lanes = sorted({series.lane for series in every})
    placements = sorted({arm.placement for series in every for arm in series.arms})
    return f"lane: {', '.join(lanes) or 'none'}; placement: {', '.join(placements) or 'none'}"


def _conditions(view: SessionView, every: tuple[ArmSeries, ...]) -> list[str]:
    return [
        "## Conditions",
        "",
        f"- {placed(every)}",
        *(f"- {note}" for note in (*lane_notes(every), *unwitnessed(view))),
        *(f"- {markdown(text)}" for text in view.repeats),
        f"- isolation: {markdown(view.isolation)}. Pinning is not isolation: "
        "other work may still have run on the pinned CPUs.",
        *([f"- noise: {markdown(view.void_rule)}"] if view.void_rule else []),
        *(f"- {markdown(label)}" for label in view.labels),
        *(f"- {markdown(note)}" for note in view.notes),
        f"- speedups are ratios of medians, in brackets the exact bootstrap interval (alpha {view.alpha:g} "
        "per side and look)",
        *([f"- {metrics.MERGED}"] if view.merged else []),
        "",
    ]


def _machine(view: SessionView) -> list[str]:
    if not view.machine:
        return []
    rows = [f"- {markdown(name)}: {markdown(text)}" for name, text in view.machine]
    return ["## Host", "", *rows, ""]


def _repeat(view: SessionView) -> list[str]:
    facts = [f"session {view.id}", f"{view.started} to {view.finished or 'unfinished'}"]
    facts += [f"benchgate {view.version}"] if view.version else []
    facts += [f"commit {view.commit}"] if view.commit else []
    lines = ["## Repeat it", "", f"{markdown(', '.join(facts))}.", ""]
    if view.repeat:
        lines += ["```sh", *(code(command) for command in view.repeat), "```", ""]
    return lines
