"""The verdicts, worst first, each with its sentence.

Takes a SessionView; gives the chapter, or None without any verdict. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.base.text import counted, with_interval
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.tables import NOTHING, listed, more, table, used, word
from benchgate.render.tables import units
from benchgate.render.view import SessionView, sentences_of

TITLE = "Verdicts"
ORDER = 10

HEADS = ("verdict", "gate", "metric", "figure, interval", "threshold", "smallest effect", "runs")


def body(view: SessionView) -> Html | None:
    if not view.shown_verdicts:
        return None
    quiet = [one for one in view.shown_verdicts if (one.gate, one.outcome) == (VERIFIED, Word.PASS)]
    loud = [one for one in view.shown_verdicts if one not in quiet]
    figures = [one for one in loud if one.outcome is not Word.SKIP]
    told = f"{counted(len(quiet), 'cell')} with every run verified"
    parts = [
        _sentences(loud) if loud else None,
        _chance(view),
        _table("The verdicts and their figures, worst first", figures) if figures else None,
        more(told, _sentences(quiet), is_open=not loud) if quiet else None,
        listed([str(one) for one in view.ungated]) if view.ungated else None,
    ]
    return join(parts)


def _sentences(verdicts: Sequence[Verdict]) -> Html:
    """Each begins with its word."""
    told = (join([word(str(outcome)), f" {text}"]) for outcome, text in sentences_of(verdicts))
    return tag("ul", *(tag("li", one) for one in told), class_="verdicts")


def _table(caption: str, verdicts: Sequence[Verdict]) -> Html:
    heads, rows = used(HEADS, [_row(one) for one in verdicts])
    return table(caption, heads, rows, texts=3)


def _row(one: Verdict) -> list[Child]:
    return [
        word(str(one.outcome)),
        one.id,
        one.metric,
        _figure(one),
        _threshold(one),
        NOTHING if one.smallest_effect is None else f"{one.smallest_effect:.2%}",
        str(one.runs),
    ]


def _unit(one: Verdict) -> str:
    return one.unit or ("" if one.base_cpus is None or one.parameter else "x")


def _figure(one: Verdict) -> str:
    if one.figure is None:
        return NOTHING
    if _unit(one) == "x":
        interval = one.low is not None and one.high is not None
        return (
            with_interval(one.figure, one.low or 0, one.high or 0, "x") if interval else f"{one.figure:.2f}x"
        )
    return units.shown(one.figure, _unit(one))


def _threshold(one: Verdict) -> str:
    if one.threshold is None:
        return NOTHING
    sign = {"least": ">=", "most": "<="}.get(one.bound or "", "")
    shown = f"{one.threshold:g}x" if _unit(one) == "x" else units.shown(one.threshold, _unit(one))
    return f"{sign} {shown}".strip()


def _chance(view: SessionView) -> Html | None:
    if not view.compared:
        return None
    wrong = view.compared * view.overall_error
    return tag(
        "p",
        f"Verdicts that compare noisy figures: {view.compared}. Each is wrong by chance in at most "
        f"{view.overall_error:.0%} of sessions, so expect up to {wrong:.2g} wrong verdicts here.",
        class_="soft",
    )
