"""Untrusted text becomes one safe line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.base.text import gathered, located, one_line, visible, visible_lines


def test_untrusted_text_is_made_safe_to_show() -> None:
    assert one_line("a\x1b[31mb\n\tc") == "a\\x1b[31mb c"
    assert one_line("x" * 300, 10) == "xxxxxxx..."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::set-output name=x::y", "\\x3a:set-output name=x::y"),
        ("a ::warning::b", "a \\x3a:warning::b"),
        ("##[error]gone", "\\x23#[error]gone"),
        ("##vso[task.complete]", "\\x23#vso[task.complete]"),
        ("core::fmt::write", "core::fmt::write"),
        ("## heading [1]", "## heading [1]"),
    ],
)
def test_text_from_outside_cannot_command_a_ci_runner(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown
    assert visible_lines(f"first\n  {text}") == f"first\n  {shown}"


def test_every_error_of_ours_is_safe_to_show() -> None:
    error = BenchgateError("mine.yaml: `\x1b[2J`\n::error::gone")
    assert str(error) == "mine.yaml: `\\x1b[2J`\n\\x3a:error::gone"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("read runs/0003-a-smp2/serial.log first", "read s/runs/0003-a-smp2/serial.log first"),
        ("next: benchgate replay runs/0003-a --profile", "next: benchgate replay s/runs/0003-a --profile"),
        ("(runs/0003-a.b) and runs/0004-c; end", "(s/runs/0003-a.b) and s/runs/0004-c; end"),
        ("reports/runs/0003-a, 0003-a: nothing", "reports/runs/0003-a, 0003-a: nothing"),
    ],
)
def test_a_runs_folder_is_named_with_its_sessions(
    text: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert located(text, tmp_path / "s") == found


def test_a_path_with_a_space_is_quoted_for_the_shell() -> None:
    assert located("runs/0003-a", Path("/my reports/s")) == "'/my reports/s/runs/0003-a'"


def test_many_names_of_one_cause_share_a_line_that_counts_them() -> None:
    causes = [("a", "x"), *((f"n{number}", "y") for number in range(8)), ("b", "x")]
    assert gathered(causes, "cell") == ["a: x", "b: x", "8 cells: y: n0, n1, n2, n3, n4, n5 and 2 more"]


def test_no_cause_gives_no_line() -> None:
    assert gathered([], "cell") == []
