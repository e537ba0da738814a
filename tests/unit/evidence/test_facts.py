"""Facts of session.json that a session reads again while it runs."""

from __future__ import annotations

from benchgate.evidence.facts import stored_symbols, symbols_of
from benchgate.insn.symbols import NO_SYMBOLS, Symbols


def test_symbols_are_added_to_those_that_this_session_has_kept_already() -> None:
    """With --measure each run of a cell adds its own; the first ones have not been through a file yet."""
    first, second = Symbols((1,), (5,), ("a",)), Symbols((7,), (9,), ("b",))
    kept = {"symbols": {"guest": symbols_of(NO_SYMBOLS, first)}}
    assert symbols_of(stored_symbols(kept, "this session", "guest"), second) == [[1, 5, "a"], [7, 9, "b"]]
