"""What the session could have seen: ungated CPU counts, fitted laws, the noise floor of each arm; and with
--clock both what wall time was good for.

Takes a SessionView; gives sentences for a terminal or lines of Markdown, none of what there is nothing to say
about. Does not fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchgate.base.cells import Lane, Window
from benchgate.base.clocks import Clocks
from benchgate.base.text import counted, percent, with_interval
from benchgate.judge.accounts.sensitivity import NoiseFloor
from benchgate.render.escape import markdown, markdown_table
from benchgate.render.figures import ArmSeries, Speedup, series_of
from benchgate.render.view import SessionView

ABOUT = (
    "Two arms of nothing but the noise of these runs differ by no more than the noise floor (their exact "
    "bootstrap against themselves, at the policy's alpha). On the instruction clock the noise is that of "
    "interleavings. Halves: the median of every second run over that of the others."
)
HEADS = ("arm", "runs", "noise floor", "halves", "CV")


def sentences(view: SessionView) -> list[str]:
    """Gives a terminal one line for each row with ungated counts, one per law, and one for all floors."""
    return [*map(str, view.ungated), *(fit.said for fit in view.fits), *_range(view)]


def _range(view: SessionView) -> list[str]:
    if not view.floors:
        return []
    most = max(view.floors, key=lambda noise_floor: noise_floor.floor)
    if most.floor == 0:
        return ["noise floor: with nothing changed, an arm measured twice does not differ"]
    what = f"an arm measured twice differs by {percent(most.floor)} at most ({most.cell_id})"
    return [f"noise floor: with nothing changed, {what}"]


def lines_of_markdown(view: SessionView) -> list[str]:
    lines = [f"- {markdown(text)}" for text in (*map(str, view.ungated), *(fit.said for fit in view.fits))]
    lines = ["## Coverage and scaling laws", "", *lines, ""] if lines else []
    if view.floors:
        table = markdown_table([HEADS, *map(cells, view.floors)])
        lines += ["## Noise floor", "", ABOUT, "", *table, ""]
    return lines


def cells(floor: NoiseFloor) -> tuple[str, ...]:
    name = floor.cell_id + (" (seeds)" if floor.lane is Lane.INSN else "")
    cv = "-" if floor.cv is None else percent(floor.cv)
    return name, str(floor.runs), percent(floor.floor), f"{floor.halves:.4f}", cv


MEETS, MISSES, UNDECIDED = "it meets", "misses", "leaves open"


def wall_time_sentences(view: SessionView) -> tuple[str, ...]:
    if view.clocks is None:
        return ()
    return _which(view, view.clocks), _how_good(series_of(view))


def _which(view: SessionView, clocks: Clocks) -> str:
    sizes = [
        f"{bound.cpus} probe guests ({bound.lane}) computed "
        f"{with_interval(bound.ratio, bound.low, bound.high, 'x')} as much as one"
        for _, bound in sorted(view.capacity.items())
    ]
    who = clocks.sentence
    if view.informs:
        who = f"no threshold is decided: {view.informs} (otherwise {who})"
    text = "; ".join([who, *sizes])
    return f"{text[0].upper()}{text[1:]}."


def _how_good(every: Sequence[ArmSeries]) -> str:
    widest: dict[str, float] = {}
    gated: list[Speedup] = []
    for series in every:
        for seen in _in_wall_time(series):
            name = series.place
            half = (seen.interval.high - seen.interval.low) / 2 / seen.ratio
            widest[name] = max(widest.get(name, 0.0), half)
            gated += [seen] if seen.threshold is not None else []
    if not widest:
        return "Wall time gave no speedup with an interval here, so it was good for single times only."
    places = " and ".join(f"{share:.1%} on {name}" for name, share in widest.items())
    text = f"Wall time was good for speedups to within {places} (half of the widest interval)"
    if gated:
        found = Counter(_standing(seen) for seen in gated)
        text += f"; of {counted(len(gated), 'threshold')} "
        text += ", ".join(f"{words} {found[words]}" for words in (MEETS, MISSES, UNDECIDED))
    return f"{text}."


def _standing(seen: Speedup) -> str:
    limit, low, high = seen.threshold or 0.0, seen.interval.low, seen.interval.high
    if low <= limit <= high:
        return UNDECIDED
    return MEETS if (high < limit) is seen.sign.startswith("<") else MISSES


def _in_wall_time(series: ArmSeries) -> list[Speedup]:
    """The speedups of the work of its whole arms, if they have intervals."""
    if series.lane is Lane.INSN:
        return []
    whole = [arm for arm in series.arms if not (arm.is_broken or arm.is_variant)]
    speedups = [arm.speedups[Window.WORK] for arm in whole if Window.WORK in arm.speedups]
    return [seen for seen in speedups if seen.has_interval]
