"""The tutorial, done by a newcomer in an empty folder: its commands, in order, print what the page says.

The digits are of one compiler and one QEMU, so of other ones only the words are compared.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.line.sessions import REPO, run_benchgate, run_pytest
from tests.line.test_fences import FENCE

PAGE = (REPO / "docs" / "tutorial" / "first-gate.md").read_text()
DIGITS = re.compile(r"\d[\d,.]*")
VERDICTS = (
    "PASS: primes-kernel ",
    "FAIL: tasks.grain-20-kernel.sched-global ",
    "PASS: tasks.grain-20-kernel ",
)


def shown(beginning: str) -> str:
    """The sentence of a verdict on the page, on one line, up to what it is based on."""
    (result,) = (text for _, kind, _, text in FENCE.findall(PAGE) if kind == "text" and beginning in text)
    return " ".join(result[result.index(beginning) :].split()).partition(" (work")[0]


def commands() -> list[list[str]]:
    return [
        line.split()
        for _, kind, _, text in FENCE.findall(PAGE)
        if kind == "sh"
        for line in text.splitlines()
        if line.startswith(("pytest", "benchgate")) and "setup" not in line
    ]


@pytest.mark.long
def test_a_newcomer_sees_what_the_page_says(tmp_path: Path) -> None:
    """Boots 33 guests of tern, and one again."""
    verdicts: list[str] = []
    for program, *words in commands():
        if program == "pytest":
            session = run_pytest(tmp_path, *words)
            said = " ".join(session.output.split())
            verdicts += re.findall(r"((?:PASS|FAIL): \S+ smp\d/smp1 .*?) \(work", said)
            continue
        if words[0] == "replay":
            (run,) = tmp_path.glob(words[1])
            words[1] = str(run)
        code, output = run_benchgate(tmp_path, *words)
        assert code == 0, output
        if words[0] == "init":
            (tests,) = (text for _, kind, _, text in FENCE.findall(PAGE) if "def test_tasks_scale" in text)
            (tmp_path / "bench" / "test_tasks.py").write_text(tests)
        if words[0] == "replay":
            assert "the same run: marks, counts, console and memory are equal" in output
            assert "kernel lock_slow" in output
    page = [shown(beginning) for beginning in VERDICTS]
    assert [DIGITS.sub("N", fromkey) for fromkey in dict.fromkeys(verdicts)] == [
        DIGITS.sub("N", text) for text in page
    ]
