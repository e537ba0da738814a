"""The view of a session: its facts, and `unavailable` for missing ones."""

from __future__ import annotations

from benchgate.render import view
from tests.unit.factories import POLICY


def test_missing_facts_are_unavailable() -> None:
    shown = view.session_view(facts={}, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.id, shown.version, shown.commit) == ("unavailable",) * 3
    machine = dict(shown.machine)
    assert machine["processor"] == (
        "unavailable; sockets unavailable, cores unavailable, threads unavailable"
    )
    assert machine["qemu"] == machine["accelerators"] == "unavailable"
    assert shown.isolation == "none seen"
    assert shown.notes == ()


def test_the_view_has_the_facts_of_session_json() -> None:
    facts = {
        "id": "20260102T030405Z-abcdef",
        "state": "partial",
        "state_reason": "interrupted",
        "command": "pytest -m smp",
        "notes": ["profile of x: unavailable: no perf"],
        "inputs": {"labels": ["user QEMU"], "qemu": {"version": "10.0.2", "origin": "user"}},
        "envelope": {"isolation": {"isolcpus": "1", "cpuset": "none"}, "cpu_model": "Example"},
    }
    shown = view.session_view(facts=facts, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.state, shown.state_reason) == ("partial", "interrupted")
    assert shown.notes == ("profile of x: unavailable: no perf",)
    assert shown.labels == ("user QEMU",)
    assert shown.isolation == "isolcpus 1"
    assert dict(shown.machine)["qemu"] == "10.0.2 user"
    assert shown.repeat == ("pytest -m smp", "benchgate rejudge reports/runs/20260102T030405Z-abcdef")
