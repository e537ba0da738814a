"""The verdicts, worst first, each with its sentence.

Takes a SessionView; gives the part, or None without any verdict. Does not fail.
"""

from __future__ import annotations

from benchgate.base.gates import Verdict
from benchgate.base.text import with_interval
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.tables import NOTHING, table, used, word
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Verdicts"
ORDER = 10

HEADS = ("verdict", "gate", "metric", "figure, interval", "threshold", "runs", "reason")


def body(view: SessionView) -> Html | None:
    if not view.shown_verdicts:
        return None
    heads, rows = used(HEADS, [_row(one) for one in view.shown_verdicts])
    return join([table("The verdicts, worst first", heads, rows, texts=3), _chance(view)])


def _row(one: Verdict) -> list[Child]:
    reason = one.reason.removeprefix(f"{one.outcome}: ")
    return [
        word(str(one.outcome)),
        one.id,
        one.metric,
        _figure(one),
        _threshold(one),
        str(one.runs),
        tag("span", reason, class_="reason"),
    ]


def _unit(one: Verdict) -> str:
    return one.unit or ("" if one.base_cpus is None else "x")


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
