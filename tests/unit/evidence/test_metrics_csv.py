"""metrics.csv: one line per verified run and metric."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.evidence import metrics_csv
from tests.unit.factories import cell, raw_run, rows, run_row

RPS = Metric("rps", MetricKind.RATE, Better.MORE, "requests/s", of="done")
P99 = Metric("wake_p99", MetricKind.PERCENTILE, Better.LESS, "ns", of="wake", at=99.0)


def test_windows_and_declared_metrics_have_a_line_per_run() -> None:
    (good,) = rows(cell(2), [1_275_187_210])
    bad = run_row(raw_run(cell(4), attempt=2), None, "wrong answer")
    good = replace(good, metrics=((RPS, 1250.0), (P99, 0.1 + 0.2)))
    head = "1,linux,primes,hi=3000000;split=balanced,process,2,tcg"
    assert metrics_csv.render([good, bad]).splitlines() == [
        "run,system,workload,params,mode,cpus,lane,metric,kind,better,unit,value",
        f"{head},work,time,less,ns,1275187210",
        f"{head},total,time,less,ns,1275188210",
        f"{head},rps,rate,more,requests/s,1250",
        f"{head},wake_p99,percentile,less,ns,0.30000000000000004",
    ]


def test_a_unit_of_a_yaml_file_cannot_add_columns_or_formulas() -> None:
    (row,) = rows(cell(1), [10])
    row = replace(row, metrics=((replace(RPS, unit="=a,b"), 1.0),))
    assert metrics_csv.render([row]).splitlines()[-1].endswith(",rps,rate,more,%3Da%2Cb,1")
