"""A metric in session.json: written, read back, refused."""

from __future__ import annotations

import pytest

from benchgate.base.cells import Window
from benchgate.base.metric_json import metric_as_json, metric_from_json
from benchgate.base.metrics import Better, Metric, MetricKind

P99 = Metric("wake_p99", MetricKind.PERCENTILE, Better.LESS, "ns", of="wake", at=99.9, window=Window.TOTAL)


def test_a_metric_is_read_back_unchanged() -> None:
    assert metric_as_json(P99)["kind"] == "percentile"
    assert metric_from_json(metric_as_json(P99)) == P99


@pytest.mark.parametrize(
    "change", [{"kind": "speed"}, {"better": "bigger"}, {"name": "work"}, {"at": None}, {"more": 1}]
)
def test_an_invalid_metric_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        metric_from_json(metric_as_json(P99) | change)
