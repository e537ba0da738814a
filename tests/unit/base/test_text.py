"""Untrusted text becomes one safe line."""

from __future__ import annotations

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.base.text import one_line, visible, visible_lines


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
