"""All of the wasted time of runs in a few lines: how it began and who waited, in words and tables.

Takes the books of runs with their names and symbols; gives text for a terminal, and rows. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchgate.base.text import first_few, percent, visible
from benchgate.judge.accounts.threads.accounting import conserved
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.judge.accounts.threads.wasted_causes import (
    WastedAccount,
    WastedCause,
    named_books,
    wasted_account,
)
from benchgate.render.tables import columns
from benchgate.render.tables.columns import NOTHING
from benchgate.render.tables.threads import ThreadView
from benchgate.render.tables.units import shown

MOST_BESIDE, MOST_TOLD, MOST_ROWS = 4, 3, 12
"""So many runs are shown side by side; a sentence tells so many causes, and a table has so many rows."""
HEADS = ("time", "share", "times", "longest")


@dataclass(frozen=True, slots=True)
class ToldRun:
    name: str
    books: ThreadBooks
    view: ThreadView


def account(runs: Sequence[ToldRun]) -> WastedAccount:
    return wasted_account([named_books(run.books, run.view.symbols) for run in runs])


def lines(of: WastedAccount) -> Iterator[str]:
    """A sentence and two tables; nothing if nothing was wasted."""
    if not of.time:
        return
    yield sentence(of)
    yield ""
    yield from _table("how the wasted time began", of.how)
    yield ""
    yield from _table("who waited then", of.who)


def sentence(of: WastedAccount) -> str:
    first, *rest = of.how
    began = [f"{percent(first.share)} of the wasted time began with {first.what}"]
    began += [f"{percent(row.share)} with {row.what}" for row in rest]
    one, *more = of.who
    waited = [f"{visible(one.what)} waited in {percent(one.share)} of it"]
    waited += [f"{visible(row.what)} in {percent(row.share)}" for row in more]
    return f"{first_few(began, MOST_TOLD)}; {first_few(waited, MOST_TOLD)}"


def _table(head: str, rows: Sequence[WastedCause]) -> list[str]:
    rest = rows[MOST_ROWS:]
    return [*columns.drawn([[head, *HEADS], *cause_rows(rows)]), *([f"and {len(rest)} more"] if rest else [])]


def cause_rows(rows: Sequence[WastedCause]) -> list[list[str]]:
    """The first MOST_ROWS of them, below HEADS."""
    return [
        [
            visible(row.what),
            shown(row.time, "ns"),
            percent(row.share),
            f"{row.stretches:,}",
            shown(row.longest, "ns"),
        ]
        for row in rows[:MOST_ROWS]
    ]


def beside(runs: Sequence[ToldRun]) -> list[str]:
    """Several runs: one line for each, what they have in common, and up to MOST_BESIDE side by side."""
    heads = ("run", "length", "wasted", "longest", "settling", "longest wait", "threads")
    result = columns.drawn([heads, *map(_run_row, runs)])
    together = account(runs)
    if together.time:
        result += ["", *lines(together)]
    if 1 < len(runs) <= MOST_BESIDE and together.time:
        each = [account([run]) for run in runs]
        names = [run.name for run in runs]
        for head, which in (("how it began", "how"), ("who waited", "who")):
            result += ["", *_side_by_side(head, names, [getattr(one, which) for one in each])]
    return result


def _run_row(run: ToldRun) -> list[str]:
    of = conserved(run.books)
    settling = of.settling / of.settled if of.settled else 0
    times = (run.books.end - run.books.begin, of.longest, settling, max(run.books.wait_lengths, default=0))
    length, longest, settles, waited = (shown(ns, "ns") if ns else NOTHING for ns in times)
    share = percent(of.share) if of.wasted else "0%"
    return [run.name, length, share, longest, settles, waited, f"{len(run.books.threads):,}"]


def _side_by_side(head: str, names: Sequence[str], tables: Sequence[Sequence[WastedCause]]) -> list[str]:
    """The time of each cause in each run, the largest in all of them first."""
    times = [{row.what: row.time for row in table} for table in tables]
    every = {what: sum(of.get(what, 0) for of in times) for of in times for what in of}
    rows = [[head, *names]]
    for what in sorted(every, key=lambda what: (-every[what], what))[:MOST_ROWS]:
        rows.append([visible(what), *(shown(of[what], "ns") if what in of else NOTHING for of in times)])
    return columns.drawn(rows)
