"""Histograms of which much is shorter than the clock's step say so; thresholds of metrics are drawn."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate, GateInput
from benchgate.base.runs import Resolution
from benchgate.evidence.rows import RunRow
from benchgate.judge.accounts.distributions import Distribution, distributions
from benchgate.judge.gates import judge
from benchgate.render.page.details import metrics
from benchgate.render.page.details.metrics import ShownDistribution, draw
from benchgate.render.page.page_view import page_view
from benchgate.render.page.pictures import by_cpus
from benchgate.render.view import SessionView
from tests.pageviews import P99, judged_with_histogram
from tests.unit.factories import POLICY, arm, cell, rows, view

WARNING = 'class="warning"'


def latencies(step: int) -> SessionView:
    """900, 1000, 1100, 1100 and 9000 ns, and a clock with this step."""
    of = cell(1)
    return view(
        *rows(of, [100_000] * 5, lane=Lane.INSN, unit="insn"),
        distributions=distributions([judged_with_histogram()], {"primes-linux": {"wake_p99": P99}}),
        resolutions={of.id: Resolution(step, 0, 0)} if step else {},
    )


def test_much_below_the_clocks_step_is_pointed_out() -> None:
    html = metrics.body(page_view(latencies(5_000))) or ""
    assert "linux, insn, smp1: 80% of the values are below the clock&#x27;s step of 5.000 us" in html


def test_little_below_it_and_wall_time_are_not() -> None:
    assert WARNING not in (metrics.body(page_view(latencies(800))) or "")
    assert WARNING not in (metrics.body(page_view(latencies(0))) or "")


def test_the_threshold_of_a_metric_is_drawn_at_its_count() -> None:
    of = cell(2)
    gate = Gate("x", "limit", None, of, "work", None, 120_000.0)
    verdict = judge(gate, GateInput({of.id: arm(of, [100_000.0] * 5)}, POLICY, {})).verdict
    ran = [*rows(of, [100_000] * 5), *rows(cell(1), [200_000] * 5, first=20)]
    page = page_view(view(*ran, verdicts=(verdict,)))
    (drawn,) = metrics.panels_of(page)
    assert [(limit.cpus, limit.value, limit.title) for limit in drawn.panel.limits] == [
        (2, 120_000.0, "threshold: smp2 <= 120.0 us")
    ]


def ran(
    name: str, first: int, value: float, system: str = "linux", counts: tuple[int, ...] = (1, 2)
) -> list[RunRow]:
    return [
        replace(row, metrics=((P99, value),))
        for cpus in counts
        for row in rows(cell(cpus, workload=name, system=system), [100] * 5, first=first + 10 * cpus)
    ]


def axes(*given: RunRow) -> list[tuple[float, float]]:
    panels = metrics.panels_of(page_view(view(*given)))
    return [by_cpus.reach(one.panel) for one in panels]


def test_panels_of_one_metric_have_one_axis() -> None:
    assert axes(*ran("primes", 1, 1000.0), *ran("pipe", 100, 9000.0)) == [(0.0, 9000.0)] * 2


def test_what_would_be_flat_on_the_axis_of_another_has_its_own() -> None:
    """9 us and 50 ms: of two rows, and of two systems of a row."""
    apart = [(0.0, 9_000.0), (0.0, 50_000_000.0)]
    assert axes(*ran("primes", 1, 9_000.0), *ran("pipe", 100, 50_000_000.0)) == apart
    assert axes(*ran("primes", 1, 9_000.0), *ran("primes", 100, 50_000_000.0, "kernel")) == apart
    near = axes(*ran("primes", 1, 9_000.0), *ran("primes", 100, 50_000.0, "kernel"))
    assert near == [(0.0, 50_000.0)]


def test_a_picture_has_something_to_compare() -> None:
    assert axes(*ran("primes", 1, 9_000.0, counts=(2,))) == []
    assert axes(*ran("primes", 1, 9_000.0, counts=(2,)), *ran("pipe", 100, 8_000.0)) == [(0.0, 9_000.0)]
    alone = metrics.body(page_view(view(*ran("primes", 1, 9_000.0, counts=(2,))))) or ""
    assert "<svg" not in alone
    assert "9.000 us" in alone  # the table has it
    assert "<svg" not in (metrics.body(page_view(latencies(0))) or "")  # a histogram of one arm


def shape(look: int, *columns: tuple[float, float, int]) -> ShownDistribution:
    count = sum(values for _, _, values in columns)
    return ShownDistribution(look, "linux", Distribution("wake", "ns", count, 0.0, 0.0, columns, ()), 0)


TWO = shape(0, (8.0, 9.0, 30), (64.0, 70.0, 10))


def test_the_height_is_the_share_of_the_values() -> None:
    picture = draw("wake", [TWO], lambda value: f"{value:g}")
    track = re.search(r'<path d="M([^"]+)" fill="currentColor"', picture)
    assert track is not None
    heights = [float(point.split()[1]) for point in track[1].split("L")]
    ground, top = max(heights), min(heights)
    assert heights.count(ground) == 4  # before, on both sides of the gap, after
    second = sorted(set(heights))[1]
    assert abs((ground - second) / (ground - top) - 10 / 30) < 0.01


def test_every_system_has_its_outline_and_an_empty_one_none() -> None:
    empty = shape(1)
    picture = draw("wake", [TWO, empty, shape(2, (1.0, 2.0, 1))], str)
    assert re.findall(r'<g class="(s\d)">', picture) == ["s0", "s2"]
    assert "<path" not in draw("wake", [empty], str)
