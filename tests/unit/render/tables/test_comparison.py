"""The table of two sides: names, ratios and intervals."""

from __future__ import annotations

from benchgate.base.workload.metrics import MetricDirection
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.render.tables.comparison import table


def side(
    *values: float, better: MetricDirection = MetricDirection.MORE, op: str = "stat", other: str = "pipe"
) -> ComparisonSide:
    of = {
        FigureKey("micro", (("iters", 9), ("op", name)), 2, "rate"): Samples("insn", "ops/s", better, values)
        for name in (op, other)
    }
    return ComparisonSide("x", ("linux",), of)


def test_only_the_parameters_that_differ_are_named() -> None:
    result = [line.split("  ")[0] for line in table(side(3.0), side(2.0), 0.05)[2:]]
    assert result == ["micro.op-stat smp2", "micro.op-pipe smp2"]


def test_more_is_better_for_a_rate() -> None:
    assert table(side(3.0), side(2.0), 0.05)[2].endswith("1.50   A")
    assert table(side(1.0, better=MetricDirection.LESS), side(2.0), 0.05)[2].endswith("0.50   A")


def test_a_figure_of_zero_has_no_ratio() -> None:
    assert table(side(0.0), side(2.0), 0.05)[2].split()[-2:] == ["-", "-"]


def test_five_samples_have_an_interval() -> None:
    five = side(1.0, 2.0, 3.0, 4.0, 5.0)
    assert "1.00 [" in table(five, five, 0.05)[2]
