"""A latency alone does not see a CPU that stays idle: such gates are pointed out, and no others."""

from __future__ import annotations

from collections import defaultdict

import pytest

from benchgate.plan import idle_cpus, marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedGate
from tests.unit.plans import GROUND

P99 = ("limit", {"cpus": 2, "metric": "wakeup_p99", "at_most": 50_000})
RPS = ("limit", {"cpus": 2, "metric": "rps", "at_least": 1600})


def notes(*gates: tuple[str, dict[str, object]], options: Options | None = None) -> tuple[str, ...]:
    """The notes of a session in which each gate has a test of its own."""
    chosen = options or Options()
    planned: list[PlannedGate] = []
    for kind, arguments in gates:
        found: dict[str, list[MarkArguments]] = defaultdict(list)
        found[kind].append(MarkArguments((), arguments))
        request = marks.read(MarkArguments(("schbench",), {}), found)
        planned.extend(planner.plan_gates(request, chosen, GROUND))
    return idle_cpus.notes(planner.sweeps([], planned))


def test_a_limit_on_a_percentile_alone_is_pointed_out() -> None:
    (note,) = notes(P99)
    assert note.startswith("schbench-linux-smp2-limit-wakeup_p99: wakeup_p99 ")
    assert note.endswith('limit(cpus=2, metric="rps", at_least=...)')


@pytest.mark.parametrize(
    "other",
    [
        RPS,
        ("speedup", {"cpus": 2, "metric": "rps", "at_least": 1.6}),
        ("ratio", {"to": "kernel", "cpus": 2, "metric": "rps", "at_least": 1.0}),
        ("regression", {"cpus": 2, "metric": "rps", "at_most": 1.02}),
        ("efficiency", {"cpus": 2, "metric": "rps", "at_least": 0.8}),
        ("speedup", {"cpus": 2, "at_least": 1.6}),
    ],
)
def test_a_rate_at_the_same_count_sees_it(other: tuple[str, dict[str, object]]) -> None:
    assert notes(P99, other) == ()
    assert notes(other, P99) == ()


@pytest.mark.parametrize(
    "other",
    [
        ("limit", {"cpus": 2, "metric": "rps", "at_most": 1600}),
        ("speedup", {"cpus": 2, "metric": "rps", "at_most": 1.1}),
        ("speedup", {"cpus": 4, "metric": "rps", "at_least": 3}),
        ("limit", {"cpus": 2, "metric": "work", "at_most": 10**9}),
        ("limit", {"cpus": 2, "metric": "request_p99", "at_most": 10**9}),
        ("overhead", {"cpus": 2, "at_most": 1.1}),
    ],
)
def test_what_does_not_see_it_is_no_excuse(other: tuple[str, dict[str, object]]) -> None:
    (note,) = [one for one in notes(P99, other, options=Options(oversubscribe=True)) if "smp2-limit" in one]
    assert note.startswith("schbench-linux-smp2-limit-")


@pytest.mark.parametrize(
    "alone",
    [
        RPS,
        ("limit", {"cpus": 1, "metric": "wakeup_p99", "at_most": 50_000}),
        ("limit", {"cpus": 2, "metric": "wakeup_p99", "at_least": 50_000}),
        ("limit", {"cpus": 4, "metric": "wakeup_p99", "at_most": 50_000}),  # skipped: there are two CPUs
    ],
)
def test_nothing_is_pointed_out_where_it_does_not_apply(alone: tuple[str, dict[str, object]]) -> None:
    assert notes(alone) == ()


@pytest.mark.parametrize(
    "alone",
    [
        ("ratio", {"to": "kernel", "cpus": 2, "metric": "wakeup_p99", "at_least": 1.0}),
        ("regression", {"cpus": 2, "metric": "wakeup_p99", "at_most": 1.02}),
    ],
)
def test_comparing_latencies_alone_is_the_same(alone: tuple[str, dict[str, object]]) -> None:
    assert len(notes(alone)) == 1
