"""What was asked: every gate with its figure, its threshold and its verdict. No other part of the page says a
verdict again.

Takes a PageView; gives the chapter, or None for a session without a verdict. What is not PASS comes first,
with its sentence, the advice and the command to look closer. Gates that share a reason share a table. Does
not fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchgate import hooks
from benchgate.base.cells import Cell, Lane, Window
from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.base.text import NEXT, counted
from benchgate.base.workload.metrics import WINDOWS
from benchgate.plan.mark_table import OWN_FIGURE
from benchgate.render.figures import ArmFigures, ArmSeries
from benchgate.render.page.chapters.runs import replay_command, run_name
from benchgate.render.page.html import Html, join, prose, tag
from benchgate.render.page.page_view import PageRow, PageView
from benchgate.render.page.tables import NOTHING, TableLine, commands, more, table, word
from benchgate.render.tables import units
from benchgate.render.view import WORST_FIRST, ToldVerdicts, is_counted, told_of

TITLE = "What was asked"
ORDER = 0
IS_FOLDED = False
HEADS = ("gate", "verdict", "measured", "asked", "how")
MANY = 24
"""More lines than these are folded, if their gates hold or were skipped."""
UNVERIFIED = "its runs are not verified"
_SUBJECT = re.compile(r"(?P<subject>.+?)(?P<sign> = |: )(?P<rest>.*)", re.DOTALL)
_FIGURE = re.compile(r"(?P<figure>\S+ \[[^\]]*\][^\s,;]*(?: (?![<>])[^\s(,;]+)?)(?P<rest>.*)", re.DOTALL)
_ORDER = re.compile(r" [<>]=? [^\s(]+(?: [^\s(]+)?(?= \()")
"""How figure and threshold compare, which the verdict and its threshold say in columns of their own."""


@dataclass(frozen=True, slots=True)
class GateLine:
    verdict: Verdict
    subject: str
    figure: str
    said: str = ""
    """The rest of the sentence."""
    advice: str = ""

    @property
    def word(self) -> Word:
        return self.verdict.outcome


def body(page: PageView) -> Html | None:
    every = page.view.shown_verdicts
    if not every:
        return None
    told = told_of(_without_echoes(every))
    alone = [_line(page, one) for one in told if not (one.shared or _is_count(one))]
    alone += [_echo(page, verdict) for verdict in _echoes(every)]
    loud = [line for line in alone if line.word not in (Word.PASS, Word.SKIP)]
    loud.sort(key=lambda line: WORST_FIRST.index(line.word))
    parts = [_table(page, "Gates that do not hold", loud)]
    parts += [_shared(page, one) for one in told if one.shared and one.word not in (Word.PASS, Word.SKIP)]
    parts.append(_table(page, "Gates that hold", [line for line in alone if line.word is Word.PASS]))
    parts += [_shared(page, one) for one in told if one.shared and one.word is Word.PASS]
    parts.append(_table(page, "Gates that were skipped", [line for line in alone if line.word is Word.SKIP]))
    parts += [_shared(page, one) for one in told if one.shared and one.word is Word.SKIP]
    parts += [tag("p", word(str(one.word)), f" {page.rooted(one.text)}") for one in told if _is_count(one)]
    return tag("div", *parts, class_="gates")


def _is_count(told: ToldVerdicts) -> bool:
    return all(map(is_counted, told.of))


def _line(page: PageView, told: ToldVerdicts) -> GateLine:
    """What the sentence says, in its parts."""
    (verdict,) = told.of
    what, _, advice = page.rooted(told.text).partition(NEXT)
    found = _SUBJECT.fullmatch(what)
    if found is None:
        return GateLine(verdict, verdict.id, _measured(page, verdict), what, advice)
    subject, rest = found["subject"], found["rest"]
    seen = _FIGURE.fullmatch(rest) if found["sign"] == " = " else None
    if seen is None:
        return GateLine(verdict, subject, _measured(page, verdict), rest, advice)
    said = _ORDER.sub("", seen["rest"], count=1).lstrip(" ,").removeprefix("and ")
    return GateLine(verdict, subject.removesuffix(f" {verdict.metric}"), seen["figure"], said, advice)


def _echo(page: PageView, verdict: Verdict) -> GateLine:
    return GateLine(verdict, _name(verdict), _measured(page, verdict), UNVERIFIED)


def _without_echoes(of: Sequence[Verdict]) -> list[Verdict]:
    """A cell without a right answer makes its thresholds INVALID, too: its own sentence says why."""
    echoes = set(map(id, _echoes(of)))
    return [verdict for verdict in of if id(verdict) not in echoes]


def _echoes(of: Sequence[Verdict]) -> list[Verdict]:
    wrong = (VERIFIED, Word.INVALID)
    broken = {_cell_of(verdict) for verdict in of if (verdict.gate, verdict.outcome) == wrong}
    invalid = (one for one in of if one.gate != VERIFIED and one.outcome is Word.INVALID)
    return [verdict for verdict in invalid if _cell_of(verdict) in broken]


def _cell_of(of: Verdict | Cell) -> tuple[object, ...]:
    return of.system, of.workload, of.params, of.mode, of.cpus


# ---- tables


def _table(page: PageView, caption: str, lines: Sequence[GateLine]) -> Html | None:
    if not lines:
        return None
    drawn = table(caption, HEADS, [_cells(page, line) for line in lines], texts=len(HEADS))
    quiet = lines[0].word in (Word.PASS, Word.SKIP)
    return more(f"{caption}: {len(lines)}", drawn) if quiet and len(lines) > MANY else drawn


def _shared(page: PageView, told: ToldVerdicts) -> Html:
    """One reason, said once, and a line for each of its gates."""
    why, _, advice = page.rooted(told.shared).partition(NEXT)
    caption = f"{counted(len(told.of), 'gate')}: {why}"
    lines = [GateLine(of, _name(of), _measured(page, of)) for of in told.of]
    drawn = table(caption, HEADS[:-1], [_cells(page, line) for line in lines], texts=len(HEADS) - 1)
    then = _next(advice, [page.rooted(one) for one in told.of[0].commands])
    return more(caption, drawn, then) if len(lines) > MANY else join([drawn, then])


def _name(of: Verdict) -> str:
    """The gate's subject, as its sentence begins with it."""
    found = _SUBJECT.fullmatch(of.reason.removeprefix(f"{of.outcome}: "))
    return found["subject"] if found else of.id


def _cells(page: PageView, line: GateLine) -> TableLine:
    verdict, row = line.verdict, _row_of(page, line.verdict)
    badge = tag("span", "negative control", class_="badge") if verdict.gate == "control" else None
    name = join([tag("a", line.subject, href=f"#{row.id}"), badge])
    against = hooks.kept_by(verdict.gate) if verdict.against and verdict.figure is not None else None
    cells = [
        name,
        word(str(line.word)),
        tag("span", f"{line.figure} {against.ratio_is}" if against else line.figure, class_="seen"),
        _asked(page, verdict),
        _how(page, line),
    ]
    places = sorted({page.looks[of.place] for of in row.series if of.system == verdict.system})
    where = " ".join(map(str, places)) or None
    return TableLine(cells, f"{line.subject} {verdict.id}", where, line.word.lower())


def _row_of(page: PageView, verdict: Verdict) -> PageRow:
    return next(row for row in page.rows if any(one is verdict for one in row.verdicts))


def _asked(page: PageView, verdict: Verdict) -> str:
    """`work > 1.6x`; of a cell without a threshold, what else is asked. A verdict without a figure does not
    name the unit of its threshold, but the runs do."""
    if verdict.unit is None and verdict.base_cpus is None and not verdict.against:
        series = (page.metrics[of.key] for of in _row_of(page, verdict).series if of.system == verdict.system)
        units_ = (of.unit for every in series for of in every if of.metric.name == verdict.metric)
        verdict = replace(verdict, unit=next(units_, None))
    limit = units.limit(verdict)
    return f"{verdict.parameter or verdict.metric} {limit}" if limit else verdict.gate


def _how(page: PageView, line: GateLine) -> Html:
    is_loud = line.word not in (Word.PASS, Word.SKIP) and line.said != UNVERIFIED
    pasted = [page.rooted(one) for one in line.verdict.commands] if line.advice else []
    advice = line.advice
    if is_loud and not pasted and (again := _command(page, line.verdict)):
        pasted, advice = [again], "; ".join(filter(None, [advice, f"{again} repeats the run"]))
    said = prose(line.said) if line.said else None
    return tag("div", said, _next(advice, pasted), class_="how")


def _next(advice: str, pasted: Sequence[str]) -> Html:
    """What to do next; each command stands by itself, to be pasted."""
    for n, one in enumerate(pasted, start=1):
        advice = advice.replace(one, f"command {n} below" if pasted[1:] else "this command")
    told = tag("p", prose(f"Next: {advice}"), class_="soft") if advice else None
    return join([told, commands(*pasted) if pasted else None])


def _command(page: PageView, of: Verdict) -> str:
    """Repeats the run that the reason names, or the first one that is at fault, or else the first one of the
    cell, and says where its time went. Only a run on the instruction clock can be repeated."""
    runs = [row for row in page.view.rows if row.lane is Lane.INSN]
    mine = [row for row in runs if _cell_of(row.cell) == _cell_of(of)]
    bad, good = [row for row in mine if row.is_broken], [row for row in mine if row.counts]
    named = [row for row in runs if row.is_broken and f"runs/{run_name(row)}/" in of.reason]
    if named or bad:
        return replay_command(page.view, [*named, *bad][0])
    return f"{replay_command(page.view, good[0])} --profile" if good else ""


# ---- the figure of a gate that decided nothing


def _measured(page: PageView, verdict: Verdict) -> str:
    """The figure; of a gate that decided nothing, that of the runs that there are."""
    if verdict.figure is not None:
        return units.figure(verdict)
    is_own = verdict.gate in OWN_FIGURE or verdict.base_system or verdict.against or verdict.parameter
    if is_own or verdict.gate == VERIFIED:
        return NOTHING
    for series in _row_of(page, verdict).series:
        arm = series.arm(f"smp{verdict.cpus}")
        if series.system == verdict.system and arm is not None and verdict.lane in (series.lane, None):
            return _of_arm(page, series, arm, verdict)
    return NOTHING


def _of_arm(page: PageView, series: ArmSeries, arm: ArmFigures, verdict: Verdict) -> str:
    seen = arm.speedups.get(Window(verdict.metric)) if verdict.metric in WINDOWS else None
    if verdict.base_cpus is not None and verdict.metric in WINDOWS:
        return f"{seen.ratio:.2f}x" if seen else NOTHING
    mine = [of for of in page.metrics[series.key] if (of.arm, of.metric.name) == (arm, verdict.metric)]
    if not mine:
        return NOTHING
    if verdict.base_cpus is None:
        return units.shown(mine[0].spread.median, mine[0].unit)
    return f"{mine[0].factor:.2f}x" if mine[0].factor is not None else NOTHING
