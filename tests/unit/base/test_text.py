"""Untrusted text becomes one safe line."""

from __future__ import annotations

from benchgate.base.text import one_line


def test_untrusted_text_is_made_safe_to_show() -> None:
    assert one_line("a\x1b[31mb\n\tc") == "a\\x1b[31mb c"
    assert one_line("x" * 300, 10) == "xxxxxxx..."
