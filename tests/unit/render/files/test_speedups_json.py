"""speedups.json: valid ratios only."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchgate.base.gates import Word
from benchgate.render.files import benchmark_json, speedups_json
from benchgate.render.tables import terminal
from tests.unit.factories import cell, rows, scaled_view, view


def test_speedups_json_has_valid_ratios_only() -> None:
    data = json.loads(speedups_json.render(scaled_view()))
    assert {name for one in data for name in one} == {"name", "unit", "value", "range", "extra"}
    first = data[0]
    assert (first["name"], first["unit"]) == ("primes-linux smp2/smp1 work (tcg)", "x")
    assert first["value"] == pytest.approx(1.93357, abs=1e-5)
    assert first["extra"].startswith("PASS")
    one = scaled_view().verdicts[0]
    invalid = scaled_view(verdicts=(replace(one, outcome=Word.INVALID),))
    assert json.loads(speedups_json.render(invalid)) == []  # of total neither: it is the same runs


def test_an_impossible_ratio_without_a_gate_is_invalid() -> None:
    """A slow base arm or a wrong clock: five runs each, 4.00x with two CPUs."""
    impossible = view(*rows(cell(1), [400_000] * 5), *rows(cell(2), [100_000] * 5, first=6))
    assert json.loads(speedups_json.render(impossible)) == []
    (two,) = (line for line in terminal.render(impossible, 120).splitlines() if line.startswith("smp2"))
    assert two.split()[-1] == "INVALID"
    entries = json.loads(benchmark_json.render(impossible))["benchmarks"]
    assert [one["extra_info"].get("verdict") for one in entries] == [None, None, "INVALID", "INVALID"]
