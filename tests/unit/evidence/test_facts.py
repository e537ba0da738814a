"""Facts of session.json that a session reads again while it runs."""

from __future__ import annotations

import pytest

from benchgate.evidence.facts import machine_of, stored_symbols, symbols_of
from benchgate.insn.symbols import NO_SYMBOLS, Symbols


def test_symbols_are_added_to_those_that_this_session_has_kept_already() -> None:
    """With --measure each run of a cell adds its own; the first ones have not been through a file yet."""
    first, second = Symbols((1,), (5,), ("a",)), Symbols((7,), (9,), ("b",))
    kept = {"symbols": {"guest": symbols_of(NO_SYMBOLS, first)}}
    assert symbols_of(stored_symbols(kept, "this session", "guest"), second) == [[1, 5, "a"], [7, 9, "b"]]


HOST = {
    "cpu_model": "Example",
    "sockets": 1,
    "cores": 2,
    "threads": 4,
    "hypervisor": True,
    "provider": "somebody",
    "instance": "small",
}


def test_the_facts_that_matter_make_the_machine() -> None:
    same = {**HOST, "kernel": "6.1", "memory_kib": 1, "qemu_digest": "x"}
    assert machine_of({"envelope": HOST}) == machine_of({"envelope": same})
    for name in HOST:
        assert machine_of({"envelope": {**HOST, name: "other"}}) != machine_of({"envelope": HOST})


@pytest.mark.parametrize("facts", [{}, {"envelope": None}, {"envelope": {"cpu_model": ["a"]}}])
def test_what_is_missing_is_unavailable(facts: dict[str, object]) -> None:
    assert machine_of(facts).startswith("cpu_model unavailable, sockets unavailable")
    assert "\x1b" not in machine_of({"envelope": {"cpu_model": "\x1b[2J"}})
