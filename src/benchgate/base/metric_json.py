"""A metric as plain JSON, as session.json holds it, and back.

Takes a metric and gives plain JSON; takes untrusted JSON and gives a metric. Reading fails with ValueError
that names the key.
"""

from __future__ import annotations

from benchgate.base.cells import Window
from benchgate.base.jsonfields import Fields
from benchgate.base.metrics import WINDOWS, Better, Metric, MetricKind


def metric_as_json(metric: Metric) -> dict[str, object]:
    return {
        "name": metric.name,
        "kind": str(metric.kind),
        "better": str(metric.better),
        "unit": metric.unit,
        "of": metric.of,
        "per": metric.per,
        "at": metric.at,
        "window": str(metric.window),
    }


def metric_from_json(value: object) -> Metric:
    fields = Fields(value, "a metric")
    metric = Metric(
        name=fields.word("name"),
        kind=fields.choice("kind", MetricKind),
        better=fields.choice("better", Better),
        unit=fields.text("unit"),
        of=fields.text("of"),
        per=fields.text("per"),
        at=fields.real("at"),
        window=fields.choice("window", Window),
    )
    fields.done()
    if metric.name in WINDOWS:
        raise ValueError(f"{metric.name} is a window, so no workload declares it")
    return metric
