"""The machine that a session measured on, as one line."""

from __future__ import annotations

import pytest

from benchgate.evidence.origins import machine_of

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
