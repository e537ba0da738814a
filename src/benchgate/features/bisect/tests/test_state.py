"""The state of a bisect: what is written is read again, and what somebody changed is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.bisect import state
from benchgate.features.bisect.state import BisectQuestion, BisectState, BisectStep, Term

GOOD, BAD, MIDDLE = "a" * 40, "b" * 40, "c" * 40
QUESTION = BisectQuestion(GOOD, BAD, "mine.yaml", ("tests", "-k", "a b"))
KNOWN = BisectState(
    QUESTION,
    (BisectStep(GOOD, Term.GOOD, "PASS: x", "steps/01-aaaaaaaaaa/runs/20260102T030405Z-abcdef"),
     BisectStep(MIDDLE, Term.SKIP, "it does not build: cc")),
)  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert state.read(tmp_path, QUESTION) == BisectState(QUESTION)
    state.write(tmp_path, KNOWN)
    assert state.read(tmp_path, QUESTION) == KNOWN
    assert (tmp_path / "bisect.log").read_text() == (
        "aaaaaaaaaa good: PASS: x\ncccccccccc skip: it does not build: cc\n"
    )


def test_the_answer_has_paths_that_work_from_here_and_the_log_no_advice(tmp_path: Path) -> None:
    """`read the values in runs/0002-x/serial.log` was nowhere below the folder of the caller."""
    session = "steps/01-aaaaaaaaaa/runs/20260102T030405Z-abcdef"
    step = BisectStep(GOOD, Term.BAD, "FAIL: x; next: read runs/0002-mine-smp2/serial.log", session)
    assert state.line(step) == "aaaaaaaaaa bad: FAIL: x"
    there = f"{tmp_path}/{session}/runs/0002-mine-smp2/serial.log"
    assert state.reason(step, tmp_path) == f"FAIL: x; next: read {there}"
    assert state.reason(KNOWN.steps[1], tmp_path) == "it does not build: cc"


def test_the_folder_of_another_bisect_is_refused(tmp_path: Path) -> None:
    state.write(tmp_path, KNOWN)
    with pytest.raises(UsageError, match=r"is of another bisect, from aaaaaaaaaa to bbbbbbbbbb of mine.yaml"):
        state.read(tmp_path, BisectQuestion(GOOD, BAD, "mine.yaml", ("tests",)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", 2),
        ("good", "HEAD"),
        ("steps", [{"commit": GOOD, "term": "better", "why": "", "session": ""}]),
        ("steps", [{"commit": GOOD, "term": "good", "why": "", "session": "../../elsewhere"}]),
        ("steps", [{"commit": "--help", "term": "good", "why": "", "session": ""}]),
        ("more", 1),
    ],
)
def test_a_state_that_was_changed_is_refused(tmp_path: Path, name: str, value: object) -> None:
    state.write(tmp_path, KNOWN)
    result = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps(result | {name: value}))
    with pytest.raises(UsageError, match=r"state.json cannot be read: .*; name another folder with --out"):
        state.read(tmp_path, QUESTION)
