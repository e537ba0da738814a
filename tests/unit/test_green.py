"""Green only where something was decided: in no report, for no session, row or cell."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.judge.decide import decide
from benchgate.render.files import junit, report_html, summary
from benchgate.render.page.page_view import page_view
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView, headline
from benchgate.session.exit_codes import UNDECIDED, exit_code
from tests.unit.factories import BASE_NS, POLICY, TWO_NS, arm, cell, right, rows, speedup, view

RENDERERS: dict[str, Callable[[SessionView], str | None]] = {
    "terminal": terminal.render,
    "summary": summary.render,
    "page": report_html.render,
    "junit": junit.render,
}
GREEN = re.compile(r"\bPASS\b")
_NOT_GREEN = re.compile("<style.*?</style>|<script.*?</script>", re.DOTALL)


def session(*words: Word) -> SessionView:
    """A row of two verified cells, with a speedup gate for each of these words."""
    arms = {one.cell.id: one for one in (arm(cell(1), BASE_NS), arm(cell(2), TWO_NS))}
    gates = [right(1), right(2), speedup(2)]
    *verified, gate = decide(gates, arms, POLICY).verdicts
    thresholds = [
        replace(gate, id=f"gate-{n}", outcome=word, reason=f"{word}: primes-linux smp2/smp1: why")
        for n, word in enumerate(words)
    ]
    return view(*rows(cell(1), BASE_NS), *rows(cell(2), TWO_NS, first=6), verdicts=[*verified, *thresholds])


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("gates", [1, 3])
def test_no_report_says_pass_where_every_threshold_was_skipped(renderer: str, gates: int) -> None:
    """`micro --quick`: SKIP at the top of the page, and PASS beside 0 of 3 gates passed in each row."""
    seen = session(*[Word.SKIP] * gates)
    assert headline(seen).startswith("SKIP: nothing was decided")
    assert exit_code(seen) == UNDECIDED
    text = _NOT_GREEN.sub("", RENDERERS[renderer](seen) or "")
    assert not GREEN.search(text), GREEN.search(text)


def test_junit_counts_no_success_where_nothing_was_decided() -> None:
    text = junit.render(session(Word.SKIP))
    assert 'tests="3" failures="0" errors="0" skipped="3"' in text
    assert text.count("<skipped ") == 3


@pytest.mark.parametrize("words", [*product(Word, repeat=2)])
def test_a_row_is_pass_exactly_if_a_gate_passed_and_none_is_worse(words: tuple[Word, Word]) -> None:
    seen = session(*words)
    (row,) = page_view(seen).rows
    expected = Word.PASS in words and not {Word.FAIL, Word.INVALID, Word.INCONCLUSIVE} & set(words)
    assert (row.worst is Word.PASS) == expected
    assert headline(seen).startswith("PASS") == expected
    assert (exit_code(seen) == 0) == expected


@pytest.mark.parametrize("others", [(Word.INVALID,), (Word.INVALID, Word.INVALID, Word.PASS)])
def test_a_fail_is_never_hidden_behind_an_invalid_of_another_cell(others: tuple[Word, ...]) -> None:
    seen = session(*others, Word.FAIL)
    assert headline(seen).startswith("FAIL: 1 of ")
    assert exit_code(seen) == 1
    assert seen.shown_verdicts[0].outcome is Word.FAIL
    (row,) = page_view(seen).rows
    assert row.worst is Word.FAIL


def test_verified_is_a_pass_where_no_test_has_a_threshold() -> None:
    seen = session()
    assert headline(seen).startswith("PASS: 2 of 2 verdicts")
    assert "PASS: 2 tests that a cell is right: 10 runs, all verified" in terminal.render(seen, 200)


def test_a_row_without_a_decision_is_no_pass_beside_one_that_has_one() -> None:
    """Two rows: the gate of one was skipped."""
    seen, other = session(Word.PASS), session(Word.SKIP)
    renamed: list[Verdict] = [replace(one, id=f"{one.id}-2", workload="tasks") for one in other.verdicts]
    both = replace(seen, verdicts=(*seen.verdicts, *renamed))
    assert [row.worst for row in page_view(both).rows] == [Word.PASS, Word.SKIP]
    assert headline(both).startswith("PASS")
    assert {verdict.outcome for verdict in both.shown_verdicts if verdict.workload == "tasks"} == {Word.SKIP}
    assert {verdict.gate for verdict in both.verdicts if verdict.outcome is Word.PASS} == {
        VERIFIED,
        "speedup",
    }
