"""The exit code of a session's verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.gates import Word
from benchgate.session.exit_codes import exit_code
from tests.unit.factories import scaled_view, view


def words(*outcomes: Word, verified: tuple[Word, ...] = (), **changes: object) -> int:
    """The exit code of a session with these outcomes: of thresholds, and of cells."""
    verdict = scaled_view().verdicts[0]
    verdicts = [replace(verdict, outcome=word) for word in outcomes]
    verdicts += [replace(verdict, gate="verified", base_cpus=None, outcome=word) for word in verified]
    return exit_code(view(verdicts=verdicts, **changes))


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], 5),
        ([Word.SKIP], 5),
        ([Word.PASS, Word.SKIP], 0),
        ([Word.PASS, Word.INCONCLUSIVE], 75),
        ([Word.INCONCLUSIVE, Word.FAIL], 1),
        ([Word.PASS, Word.INVALID], 1),
    ],
)
def test_exit_codes(outcomes: list[Word], code: int) -> None:
    assert words(*outcomes) == code


@pytest.mark.parametrize("inconclusive_fails", [True, False])
def test_a_partial_session_never_exits_with_0_or_75(inconclusive_fails: bool) -> None:
    facts: dict[str, Any] = {"state": "partial", "inconclusive_fails": inconclusive_fails}
    assert words(Word.PASS, **facts) == 5
    assert words(Word.PASS, Word.INCONCLUSIVE, **facts) == 5
    assert words(Word.PASS, Word.FAIL, **facts) == 1


def test_verified_cells_decide_only_if_no_threshold_was_requested() -> None:
    assert words(verified=(Word.PASS, Word.SKIP)) == 0
    assert words(verified=(Word.PASS, Word.INVALID)) == 1
    assert words(Word.SKIP, verified=(Word.PASS,)) == 5
    assert words(Word.PASS, verified=(Word.INVALID,)) == 1


def test_without_inconclusive_fails_another_gate_must_pass() -> None:
    assert words(Word.INCONCLUSIVE, inconclusive_fails=False) == 5
    assert words(Word.INCONCLUSIVE, verified=(Word.PASS,), inconclusive_fails=False) == 5
    assert words(Word.PASS, Word.INCONCLUSIVE, inconclusive_fails=False) == 0
