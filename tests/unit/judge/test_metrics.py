"""Each kind of metric by hand; what cannot be computed is refused by the metric's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Window
from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.judge.metrics import MetricSource, computed, without_value

REPORTS = [
    WorkerReport(0, 0, 0, 0, 9, {"done": 30, "waited": 4000}),
    WorkerReport(1, 1, 1, 0, 9, {"done": 10, "waited": 2000}),
]
WAKEUP = Histogram(4, 2136, 3, 2000, {3: 2, 130: 1, 634: 1})
# A guest that counts cycles at 2 GHz; its work window is half a second long, its total window a whole one.
SEEN = MetricSource(
    REPORTS,
    {"lost": 5, "measured": 500_000_000},
    {"wakeup": WAKEUP},
    2_000_000_000,
    {Window.WORK: 5e8, Window.TOTAL: 1e9},
)


def of(kind: MetricKind, unit: str = "ns", seen: MetricSource = SEEN, **more: Any) -> float:
    metric = replace(Metric("m", kind, MetricDirection.LESS, unit), **more)
    return computed({"m": metric}, seen)["m"]


@pytest.mark.parametrize(
    ("kind", "more", "value"),
    [
        (MetricKind.RATE, {"of": "done"}, 80.0),
        (MetricKind.RATE, {"of": "done", "window": Window.TOTAL}, 40.0),
        (MetricKind.RATE, {"of": "result.lost"}, 10.0),
        (MetricKind.RATE, {"of": "done", "per": "result.measured"}, 160.0),
        (MetricKind.TIME, {"of": "waited"}, 3000.0),
        (MetricKind.TIME, {"of": "waited", "per": "done"}, 75.0),
        (MetricKind.TIME, {"of": "wakeup.sum", "per": "wakeup.count"}, 267.0),
        (MetricKind.TIME, {"of": "wakeup.max"}, 1000.0),
        (MetricKind.TIME, {"per": "done"}, 12_500_000.0),
        (MetricKind.TIME, {"window": Window.TOTAL}, 1e9),
        (MetricKind.PERCENTILE, {"of": "wakeup", "at": 50.0}, 1.5),
        (MetricKind.PERCENTILE, {"of": "wakeup", "at": 75.0}, 65.0),
        (MetricKind.PERCENTILE, {"of": "wakeup", "at": 100.0}, 1000.0),
        (MetricKind.PERCENTILE, {"of": "wakeup", "at": 100.0, "unit": "items"}, 2000.0),
        (MetricKind.COUNT, {"of": "result.lost"}, 5.0),
        (MetricKind.COUNT, {"of": "done"}, 40.0),
        (MetricKind.SHARE, {"of": "done"}, 1 / 3),
        (MetricKind.SHARE, {"of": "result.lost", "per": "done"}, 0.125),
    ],
)
def test_each_kind(kind: MetricKind, more: dict[str, Any], value: float) -> None:
    assert of(kind, **more) == pytest.approx(value)


IDLE = replace(SEEN, reports=[replace(one, values={"done": 0, "waited": 7}) for one in REPORTS])
UNTIMED = replace(SEEN, hz=None, windows_ns=None)
EMPTY = replace(SEEN, histograms={"wakeup": Histogram(0, 0, 0, 0, {})})


@pytest.mark.parametrize(
    ("kind", "more", "seen", "reason"),
    [
        (MetricKind.TIME, {"of": "waited", "per": "done"}, IDLE, "metric m: done is 0"),
        (MetricKind.RATE, {"of": "waited", "per": "done"}, IDLE, "metric m: done is 0"),
        (MetricKind.SHARE, {"of": "done"}, IDLE, "metric m: the largest done is 0"),
        (MetricKind.SHARE, {"of": "waited", "per": "done"}, IDLE, "metric m: done is 0"),
        (MetricKind.RATE, {"of": "dome"}, SEEN, "no value of worker 0 `dome`; did you mean `done`"),
        (MetricKind.COUNT, {"of": "result.lots"}, SEEN, "no result `lots`; did you mean `lost`"),
        (MetricKind.PERCENTILE, {"of": "request"}, SEEN, "no histogram `request`; there are wakeup"),
        (MetricKind.COUNT, {"of": "wakeup.mean"}, SEEN, "a histogram has no `mean`; it has count, sum"),
        (MetricKind.RATE, {"of": "done"}, UNTIMED, "the guest did not say its hz"),
        (MetricKind.TIME, {"of": "waited"}, UNTIMED, "the guest did not say its hz"),
        (MetricKind.PERCENTILE, {"of": "wakeup"}, UNTIMED, "the guest did not say its hz"),
    ],
)
def test_what_cannot_be_computed_is_refused(
    kind: MetricKind, more: dict[str, Any], seen: MetricSource, reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        of(kind, seen=seen, **more)


def test_a_percentile_of_nothing_has_no_value_and_the_others_have_theirs() -> None:
    metrics = {
        "p99": Metric("p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wakeup", at=99.0),
        "worst": Metric("worst", MetricKind.TIME, MetricDirection.LESS, "ns", of="wakeup.max"),
        "woken": Metric("woken", MetricKind.COUNT, MetricDirection.MORE, "", of="wakeup.count"),
    }
    assert computed(metrics, EMPTY) == {"woken": 0}
    assert without_value(metrics, EMPTY) == dict.fromkeys(("p99", "worst"), "its histogram `wakeup` is empty")
    assert without_value(metrics, SEEN) == {}
    assert without_value(metrics, replace(EMPTY, histograms={})) == {}


def test_plain_numbers_need_no_clock() -> None:
    assert of(MetricKind.COUNT, seen=UNTIMED, of="done") == 40
    assert of(MetricKind.PERCENTILE, seen=UNTIMED, of="wakeup", at=100.0, unit="items") == 2000
