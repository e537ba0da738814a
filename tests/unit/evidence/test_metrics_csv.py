"""metrics.csv: one line per verified run and metric."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind, SeenBy
from benchgate.evidence import metrics_csv
from tests.unit.factories import cell, raw_run, rows, run_row

RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def test_windows_and_declared_metrics_have_a_line_per_run() -> None:
    (good,) = rows(cell(2), [1_275_187_210])
    bad = run_row(raw_run(cell(4), attempt=2), None, "wrong answer")
    good = replace(
        good,
        metrics=((RPS, 1250.0), (P99, 0.1 + 0.2)),
        steps=(("work", 1e7), ("rps", 0.5)),
        seen_by=(("work", SeenBy.MACHINE), ("rps", SeenBy.BOTH)),
    )
    head = "1,linux,primes,hi=3000000;split=balanced,process,2,tcg"
    assert metrics_csv.render([good, bad]).splitlines() == [
        "run,system,workload,params,mode,cpus,lane,metric,kind,better,unit,value,step,seen_by",
        f"{head},work,time,less,ns,1275187210,10000000,machine",
        f"{head},total,time,less,ns,1275188210,0,guest",
        f"{head},rps,rate,more,requests/s,1250,0.5,both",
        f"{head},wake_p99,percentile,less,ns,0.30000000000000004,0,guest",
    ]


def test_a_unit_of_a_yaml_file_cannot_add_columns_or_formulas() -> None:
    (row,) = rows(cell(1), [10])
    row = replace(row, metrics=((replace(RPS, unit="=a,b"), 1.0),))
    assert metrics_csv.render([row]).splitlines()[-1].endswith(",rps,rate,more,%3Da%2Cb,1,0,guest")


def test_steps_are_read_back_and_version_1_has_none() -> None:
    (row,) = rows(cell(2), [460])
    text = metrics_csv.render([replace(row, steps=(("work", 10.0),))])
    assert [(value.metric, value.step) for value in metrics_csv.parse(text, "x")] == [
        ("work", 10.0),
        ("total", 0.0),
    ]
    older = metrics_csv.as_of_version(1, text)
    assert older.splitlines()[0].endswith(",unit,value")
    assert [(metric_value.value, metric_value.step) for metric_value in metrics_csv.parse(older, "x")] == [
        (460.0, None),
        (1460.0, None),
    ]


def test_who_saw_a_metric_is_read_back_and_version_2_does_not_say() -> None:
    (row,) = rows(cell(2), [460])
    text = metrics_csv.render([replace(row, seen_by=(("total", SeenBy.MACHINE),))])
    assert [value.seen_by for value in metrics_csv.parse(text, "x")] == [SeenBy.GUEST, SeenBy.MACHINE]
    older = metrics_csv.as_of_version(2, text)
    assert older.splitlines()[0].endswith(",value,step")
    assert [(value.step, value.seen_by) for value in metrics_csv.parse(older, "x")] == [
        (0.0, None),
        (0.0, None),
    ]
    with pytest.raises(EvidenceError, match=r"x:2: seen_by: 'nobody' is not one of"):
        metrics_csv.parse(text.replace(",guest", ",nobody"), "x")


@pytest.mark.parametrize("step", ["-1", "", "inf", "nan", "1,1"])
def test_a_step_that_is_none_is_refused(step: str) -> None:
    text = metrics_csv.render(rows(cell(2), [460])).replace(",460,0", f",460,{step}")
    with pytest.raises(EvidenceError, match=r"x:2: "):
        metrics_csv.parse(text, "x")


def test_a_row_that_was_not_judged_has_no_lines() -> None:
    (row,) = rows(cell(2), [460])
    with pytest.raises(ValueError, match="its steps are not known"):
        metrics_csv.lines(replace(row, steps=None))
