"""What failed, was not decided or was skipped, worst first, each with its sentence and the command to look
closer.

Takes a PageView; gives the chapter, or None if every verdict is PASS. The verdicts of one word about one row
share a card, and skipped gates of one reason a line. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base import grouped
from benchgate.base.cells import Cell, Lane
from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.base.text import counted
from benchgate.render.page.chapters.runs import replay_command
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.page_view import PageRow, PageView
from benchgate.render.page.tables import commands, listed, more, word
from benchgate.render.view import ToldVerdicts, told_of

TITLE = "Failed, undecided or skipped"
ORDER = 5
FEW_SKIPPED = 4
"""So many sentences about skipped gates are shown at once."""


def body(page: PageView) -> Html | None:
    loud = [verdict for verdict in page.view.shown_verdicts if verdict.outcome not in (Word.PASS, Word.SKIP)]
    quiet = told_of(verdict for verdict in page.view.shown_verdicts if verdict.outcome is Word.SKIP)
    rows = {id(verdict): row for row in page.rows for verdict in row.verdicts}
    groups = grouped(loud, key=lambda verdict: (verdict.outcome, rows[id(verdict)].number))
    cards = [_problem(page, rows[id(of[0])], of) for of in groups.values()]
    return join([*cards, _skipped(page, quiet, is_alone=not loud)]) if loud or quiet else None


def _problem(page: PageView, row: PageRow, of: Sequence[Verdict]) -> Html:
    """All verdicts of one word about one row."""
    outcome = of[0].outcome
    told = told_of(_without_echoes(of))
    what, _, then = page.rooted(told[0].text).partition("; next: ")
    paste = _command(page, told[0].of)
    then = then.replace(paste, "this command") if paste else then
    others = [page.rooted(verdicts.text).partition("; next: ")[0] for verdicts in told[1:]]
    children: list[Child] = [
        tag("h3", word(str(outcome)), " ", tag("a", row.name, href=f"#{row.id}"), f" {_about(of)}"),
        tag("p", what),
        tag("p", f"Next: {then}", class_="soft") if then else None,
        commands(paste) if paste else None,
        more(f"{len(others)} more of this row", listed(others)) if others else None,
    ]
    systems = {verdict.system for verdict in of}
    places = {page.looks[series.place] for series in row.series if series.system in systems}
    kind, where = outcome.lower(), " ".join(map(str, sorted(places))) or None
    return tag("article", *children, class_=f"problem item {kind}", data_word=kind, data_place=where)


def _without_echoes(of: Sequence[Verdict]) -> list[Verdict]:
    """A cell without a right answer makes its thresholds INVALID, too: its own sentence says why."""
    wrong = (VERIFIED, Word.INVALID)
    broken = {_cell_of(verdict) for verdict in of if (verdict.gate, verdict.outcome) == wrong}
    return [verdict for verdict in of if verdict.gate == VERIFIED or _cell_of(verdict) not in broken]


def _cell_of(of: Verdict | Cell) -> tuple[object, ...]:
    return of.system, of.workload, of.params, of.mode, of.cpus


def _about(of: Sequence[Verdict]) -> str:
    """The systems, CPU counts and kinds of gate."""
    systems = ", ".join(dict.fromkeys(verdict.system for verdict in of))
    counts = ", ".join(f"smp{cpus}" for cpus in sorted({verdict.cpus for verdict in of}))
    kinds = ", ".join(
        dict.fromkeys("negative control" if verdict.gate == "control" else verdict.gate for verdict in of)
    )
    return f"{counts} on {systems}: {kinds}"


def _command(page: PageView, of: Iterable[Verdict]) -> str:
    """Repeats the first run that is at fault, or else the first one of the cell, and says where its time
    went. Only a run on the instruction clock can be repeated."""
    cells = set(map(_cell_of, of))
    mine = [row for row in page.view.rows if row.lane is Lane.INSN and _cell_of(row.cell) in cells]
    bad, good = [row for row in mine if row.is_broken], [row for row in mine if row.counts]
    if bad:
        return replay_command(page.view, bad[0])
    return f"{replay_command(page.view, good[0])} --profile" if good else ""


def _skipped(page: PageView, quiet: Sequence[ToldVerdicts], *, is_alone: bool) -> Html | None:
    if not quiet:
        return None
    gates = sum(len(verdicts.of) for verdicts in quiet)
    head = f"{counted(gates, 'gate')} skipped, {counted(len(quiet), 'reason')}"
    sentences = listed([page.rooted(verdicts.text) for verdicts in quiet])
    return more(head, sentences, is_open=is_alone and len(quiet) <= FEW_SKIPPED)
