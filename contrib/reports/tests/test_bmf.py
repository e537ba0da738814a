"""bmf.json: the form that Bencher documents, and trusted figures only."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.gates import Word
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from contrib.reports import bmf
from tests.unit.factories import BASE_NS, TWO_NS, cell, raw_run, rows, run_row, scaled_view, view

LATENCY = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def read(text: str | None) -> dict[str, dict[str, dict[str, float]]]:
    """Reads like Bencher's `json` adapter; fails on anything that its page does not allow."""
    assert text is not None
    data: Any = json.loads(text)
    assert isinstance(data, dict)
    for name, measures in data.items():
        assert 0 < len(name) <= 1024
        assert isinstance(measures, dict)
        for measure, values in measures.items():
            assert 0 < len(measure) <= 64
            assert "value" in values
            assert values.keys() <= {"value", "lower_value", "upper_value"}
            assert all(type(value) in (int, float) for value in values.values())
            assert values.get("lower_value", values["value"]) <= values["value"]
            assert values["value"] <= values.get("upper_value", values["value"])
    return data


def test_arms_are_benchmarks_and_metrics_are_measures() -> None:
    data = read(bmf.render(scaled_view()))
    assert list(data) == ["primes-linux smp1 (tcg, physical)", "primes-linux smp2 (tcg, physical)"]
    one, two = data.values()
    assert one["work (ns)"] == {
        "value": 1_275_187_210,
        "lower_value": min(BASE_NS),
        "upper_value": max(BASE_NS),
    }
    assert set(one) == {"work (ns)", "total (ns)"}
    assert set(two) == {"work (ns)", "total (ns)", "speedup of work", "speedup of total"}
    assert two["speedup of work"]["value"] == pytest.approx(1_275_187_210 / 659_500_000)


def test_declared_metrics_have_their_unit() -> None:
    given = [replace(row, metrics=((LATENCY, 4.0 + row.run),)) for row in rows(cell(2), TWO_NS)]
    measures = read(bmf.render(view(*given)))["primes-linux smp2 (tcg, physical)"]
    assert measures["wake_p99 (ns)"] == {"value": 7.0, "lower_value": 5.0, "upper_value": 9.0}


def test_what_cannot_be_trusted_is_left_out() -> None:
    first = scaled_view()
    invalid = replace(first, verdicts=(replace(first.verdicts[0], outcome=Word.INVALID),))
    assert "speedup of work" not in read(bmf.render(invalid))["primes-linux smp2 (tcg, physical)"]
    broken = run_row(raw_run(cell(2), attempt=20), None, "a wrong answer")
    assert list(read(bmf.render(view(*first.rows, broken)))) == ["primes-linux smp1 (tcg, physical)"]


def test_without_a_figure_there_is_no_file() -> None:
    assert bmf.render(view()) is None
    assert bmf.render(scaled_view(is_verified=False)) is None
