"""GitHub's files: the step summary and the workflow commands."""

from __future__ import annotations

from pathlib import Path

from benchgate.base.gates import Word
from benchgate.render import github
from benchgate.render.files import summary
from tests.unit.factories import failing, scaled_view


def test_github_output_only_on_a_github_runner() -> None:
    assert github.wanted({}) == github.Wanted(None, False)
    there = github.wanted({"GITHUB_STEP_SUMMARY": "/tmp/s", "GITHUB_ACTIONS": "true"})
    assert there == github.Wanted(Path("/tmp/s"), True)
    assert github.workflow_commands(scaled_view()) == ()
    assert github.workflow_commands(failing(Word.FAIL)) == (
        "::error title=benchgate primes-linux-smp2::FAIL: primes-linux smp2/smp1 ...",
    )
    assert github.workflow_commands(failing(Word.INCONCLUSIVE))[0].startswith("::warning ")
    assert summary.PICTURE not in github.step_summary(scaled_view())


def test_a_summary_too_long_for_github_names_the_file() -> None:
    many = scaled_view(notes=tuple("n" * 1000 for _ in range(1100)))
    text = github.step_summary(many)
    assert len(text) < 1000
    assert "summary.md" in text
