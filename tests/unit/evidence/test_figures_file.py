"""Figures of sessions and programs, read to be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.runs import Outcome
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence import figures_file, metrics_csv, results_csv
from benchgate.evidence.figures_file import FigureKey
from benchgate.evidence.rows import RunRow
from tests.unit.factories import cell, rows

COST = Metric("cost", MetricKind.TIME, MetricDirection.LESS, "ns", of="time", per="ops")
KEVLAR = {
    "label": "kevlar-balanced",
    "benchmarks": {
        "getpid": {"iterations": 10000, "total_ns": 2640007, "per_iter_ns": 264},
        "pipe_throughput_MBps": {"value": 3.5},
    },
}


def micro(system: str, costs: list[float], op: str = "getpid", cpus: int = 1) -> list[RunRow]:
    made = rows(cell(cpus, workload="micro", system=system), [1000 for _ in costs])
    params = (("iters", 1000), ("op", op))
    return [
        replace(row, cell=replace(row.cell, params=params), metrics=((COST, cost),))
        for row, cost in zip(made, costs, strict=True)
    ]


def session(folder: Path, *given: RunRow) -> Path:
    numbered = [replace(row, run=number) for number, row in enumerate(given, start=1)]
    folder.mkdir()
    (folder / "results.csv").write_text(results_csv.render(numbered))
    (folder / "metrics.csv").write_text(metrics_csv.render(numbered))
    return folder


def test_a_session_has_the_samples_of_its_counted_runs(tmp_path: Path) -> None:
    warm, *good = micro("linux", [900.0, 300.0, 310.0])
    side = figures_file.read(str(session(tmp_path / "one", replace(warm, outcome=Outcome.WARMUP), *good)))
    key = FigureKey("micro", (("iters", 1000), ("op", "getpid")), 1, "cost", "linux")
    assert side.samples[key].values == (300.0, 310.0)
    assert (side.samples[key].unit, side.samples[key].lane) == ("ns", "tcg")
    assert side.operations.samples[FigureKey("getpid", system="linux")].values == (300.0, 310.0)


def test_one_system_of_a_session(tmp_path: Path) -> None:
    folder = session(tmp_path / "one", *micro("linux", [300.0]), *micro("kernel", [70.0]))
    side = figures_file.read(f"{folder}:kernel")
    assert side.systems == ("kernel",)
    assert {samples.values for key, samples in side.samples.items() if key.metric == "cost"} == {(70.0,)}
    with pytest.raises(UsageError, match="has no system mine; it has kernel, linux"):
        figures_file.read(f"{folder}:mine")


def test_the_json_of_kevlars_runner(tmp_path: Path) -> None:
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    side = figures_file.read(str(tmp_path / "kevlar.json"))
    assert {key.what: samples.values for key, samples in side.samples.items()} == {"getpid": (264.0007,)}
    assert side.name.endswith("kevlar.json (kevlar-balanced)")


def test_bench_lines(tmp_path: Path) -> None:
    (tmp_path / "serial.log").write_text("boot\r\nBENCH_START me\r\nBENCH stat 2 10 5\r\nBENCH_END\r\n")
    side = figures_file.read(str(tmp_path / "serial.log"))
    assert side.samples[FigureKey("stat")].values == (5.0,)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[1]", "the file is not an object"),
        ("a.json", "{", "a.json: Expecting"),
        ("a.json", "[" * 100_000, "a.json: it is nested too deeply"),
        ("a.json", '{"benchmarks": {}, "benchmarks": {}}', "a.json: duplicate key 'benchmarks'"),
        ("a.json", '{"benchmarks": {"x": {"per_iter_ns": "3"}}}', "x"),
        (
            "a.json",
            '{"benchmarks": {"x": {"iterations": 10, "total_ns": 10, "per_iter_ns": 3}}}',
            "10 ns for 10 operations is not 3 ns for each",
        ),
        ("a.log", "BENCH_START\nBENCH x 1 1 1\n", "printed no BENCH_END"),
    ],
)
def test_a_file_that_is_damaged_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(EvidenceError) as caught:
        figures_file.read(str(tmp_path / name))
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"none\.json"):
        figures_file.read(str(tmp_path / "none.json"))
