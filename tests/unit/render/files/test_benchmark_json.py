"""benchmark.json: pytest-benchmark reads it, and cycles are never seconds."""

from __future__ import annotations

import builtins
import functools
import json
import math
import operator
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind, SeenBy
from benchgate.render.files import benchmark_json
from tests.machines import PATIENCE_S
from tests.unit.factories import cell, rows, scaled_view, view

P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def compare(
    *files: Path, name: str = "pytest-benchmark", by: str = "group"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / name), "compare", f"--group-by={by}", *map(str, files)],
        cwd=files[0].parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONWARNINGS": "default", "COLUMNS": "200"},
    )


def test_pytest_benchmark_compare_reads_benchmark_json(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(benchmark_json.render(scaled_view()))
    done = compare(path)
    assert done.returncode == 0, done.stderr
    assert "Failed to load" not in done.stdout + done.stderr
    assert "primes-linux-smp1-tcg[work]" in done.stdout
    assert "primes-linux-smp2-tcg[total]" in done.stdout
    path.write_text("{}")
    assert "primes" not in compare(path).stdout


def plain_sum(values: Iterable[float], start: float = 0) -> float:
    """`sum` of Python 3.11."""
    return functools.reduce(operator.add, values, start)


def careful_sum(values: Iterable[float], start: float = 0) -> float:
    """`sum` from Python 3.12 on: it makes up for what each addition of floats rounds off."""
    parts = [start, *values]
    return math.fsum(parts) if any(isinstance(number, float) for number in parts) else plain_sum(parts)


def test_every_python_writes_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session is judged again by other versions of Python than the one that made it."""
    seen = view(*rows(cell(1), [100_000_000] * 10))
    assert plain_sum([0.1] * 10) != careful_sum([0.1] * 10)
    texts = set()
    for adds in (plain_sum, careful_sum):
        monkeypatch.setattr(builtins, "sum", adds)
        texts.add(benchmark_json.render(seen))
    assert len(texts) == 1


def test_benchmark_json_has_every_field_and_seconds_only_in_stats() -> None:
    data = json.loads(benchmark_json.render(scaled_view()))
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} <= set(data)
    one = next(entry for entry in data["benchmarks"] if entry["name"] == "primes-linux-smp2-tcg[work]")
    wanted = "group name fullname params param extra_info options stats"
    assert set(one) == set(wanted.split())
    fields = (
        "min max mean stddev rounds median iqr q1 q3 iqr_outliers stddev_outliers outliers "
        "ld15iqr hd15iqr ops total data iterations"
    )
    assert set(one["stats"]) == set(fields.split())
    assert one["stats"]["median"] == pytest.approx(0.6595)
    assert one["stats"]["min"] == pytest.approx(0.655)
    assert one["stats"]["q1"] == pytest.approx(0.659218025)
    assert one["stats"]["mean"] == pytest.approx(0.659743605)
    # The fences are 1.5 x (661.0 - 659.218) ms beyond the quartiles: 655 and 664 ms lie outside.
    assert one["stats"]["ld15iqr"] == pytest.approx(0.659218025)
    assert one["stats"]["hd15iqr"] == pytest.approx(0.661)
    assert (one["stats"]["rounds"], one["stats"]["iqr_outliers"]) == (5, 2)
    assert one["extra_info"]["speedup"] == pytest.approx(1.93357, abs=1e-5)


def test_cycles_are_not_reported_as_seconds() -> None:
    seen = view(*rows(cell(1), [1639] * 5, unit="cycles"), *rows(cell(2), [875] * 5, unit="cycles"))
    data = json.loads(benchmark_json.render(seen))
    assert data["benchmarks"] == []
    other = data["benchgate"]["other_units"]
    assert [one["name"] for one in other][:2] == [
        "primes-linux-smp1-tcg[work]",
        "primes-linux-smp1-tcg[total]",
    ]
    assert other[0]["extra_info"]["unit"] == "cycles"
    assert other[0]["extra_info"]["samples"] == [1639] * 5
    assert "stats" not in other[0]


def test_a_percentile_has_that_of_all_runs_together() -> None:
    given = [replace(row, metrics=((P99, 4.0 + row.run),)) for row in rows(cell(2), [1000] * 3)]
    data = json.loads(benchmark_json.render(view(*given, merged={"primes-linux-smp2": {"wake_p99": 6.5}})))
    result = {one["param"]: one["extra_info"] for one in data["benchmarks"]}
    assert (result["wake_p99"]["samples"], result["wake_p99"]["merged"]) == ([5.0, 6.0, 7.0], 6.5)
    assert "merged" not in result["work"]


def test_a_figure_that_only_the_guest_has_says_so_on_the_instruction_clock_alone() -> None:
    """In wall time no figure is the machine's."""
    who = {"primes-linux-smp2": {"work": SeenBy.MACHINE, "total": SeenBy.BOTH, "wake_p99": SeenBy.GUEST}}
    for lane, unit in ((Lane.INSN, "insn"), (Lane.TCG, "ns")):
        given = rows(cell(2), [1000] * 3, lane=lane, unit=unit)
        seen = view(*(replace(row, metrics=((P99, 4.0),)) for row in given), who_says=who)
        data = json.loads(benchmark_json.render(seen))
        said = {one["param"] for one in data["benchmarks"] if "claimed_by" in one["extra_info"]}
        assert said == ({"total", "wake_p99"} if lane is Lane.INSN else set())


def test_the_instruction_clock_is_reported_in_seconds_of_the_guest() -> None:
    seen = view(*rows(cell(2), [659_218_025, 655_000_000, 664_000_000], lane=Lane.INSN, unit="insn"))
    data = json.loads(benchmark_json.render(seen))
    assert data["benchgate"]["other_units"] == []
    work, total = data["benchmarks"]
    assert work["stats"]["data"] == pytest.approx([0.659218025, 0.655, 0.664])
    assert (work["stats"]["rounds"], work["stats"]["iterations"]) == (3, 1)
    assert total["stats"]["min"] == pytest.approx(0.655001)
    assert (work["extra_info"]["lane"], work["extra_info"]["unit"]) == ("insn", "insn")
    assert work["group"] == "primes-linux work (lane insn, unit insn)"


def test_compare_never_sets_two_lanes_side_by_side(tmp_path: Path) -> None:
    for lane, unit, work in ((Lane.INSN, "insn", 655_000_000), (Lane.TCG, "ns", 1_655_000_000)):
        text = benchmark_json.render(view(*rows(cell(2), [work] * 3, lane=lane, unit=unit)))
        (tmp_path / f"{lane}.json").write_text(text)
    (tmp_path / "again.json").write_text((tmp_path / "tcg.json").read_text())
    for by in ("group", "name", "func", "fullname", "fullfunc"):
        done = compare(*sorted(tmp_path.glob("*.json")), by=by)
        assert done.returncode == 0, done.stderr
        tables = done.stdout.split(" benchmark '")[1:]
        lanes = [{lane for lane in ("insn", "tcg") if f"smp2-{lane}[" in table} for table in tables]
        assert {len(found) for found in lanes} == {1}, done.stdout
        assert {"insn"} in lanes, done.stdout
        assert {"tcg"} in lanes, done.stdout
