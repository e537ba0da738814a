"""The metrics of a workload's YAML: each kind has its keys and defaults, and nothing else."""

from pathlib import Path

import pytest

from benchgate.base.cells import Window
from benchgate.base.errors import CatalogError
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.yaml import yamlfile
from benchgate.plan import metricsfile
from benchgate.plan.workload_keys import WORKLOAD

YAML = """\
metrics:
  rps: {kind: rate, of: requests, unit: requests, window: total, about: finished requests}
  ops: {kind: rate, of: result.done, per: result.measured}
  p99: {kind: percentile, of: wakeup, at: 99.9}
  depth: {kind: percentile, of: queue, at: 50, unit: items}
  cost: {kind: time, of: wakeup.sum, per: wakeup.count}
  each: {kind: time, per: ops, window: total}
  lost: {kind: count, of: lost, better: less}
  fairness: {kind: share, of: done, better: more}
  busy: {kind: share, of: used, per: result.had, better: more}
"""


def read(text: str) -> dict[str, Metric]:
    return dict(metricsfile.read(yamlfile.parse(text, Path("mine.yaml"), WORKLOAD)))


def test_each_kind_with_its_defaults() -> None:
    found = read(YAML)
    assert found["rps"] == Metric(
        "rps",
        MetricKind.RATE,
        MetricDirection.MORE,
        "requests/s",
        "requests",
        window=Window.TOTAL,
        about="finished requests",
    )
    assert found["ops"] == Metric(
        "ops", MetricKind.RATE, MetricDirection.MORE, "/s", "result.done", "result.measured"
    )
    assert found["p99"] == Metric("p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", "wakeup", at=99.9)
    assert found["depth"] == Metric(
        "depth", MetricKind.PERCENTILE, MetricDirection.LESS, "items", "queue", at=50.0
    )
    assert found["cost"] == Metric(
        "cost", MetricKind.TIME, MetricDirection.LESS, "ns", "wakeup.sum", "wakeup.count"
    )
    assert found["each"] == Metric(
        "each", MetricKind.TIME, MetricDirection.LESS, "ns", "", "ops", window=Window.TOTAL
    )
    assert found["lost"] == Metric("lost", MetricKind.COUNT, MetricDirection.LESS, "", "lost")
    assert found["fairness"] == Metric("fairness", MetricKind.SHARE, MetricDirection.MORE, "", "done")
    assert found["busy"] == Metric("busy", MetricKind.SHARE, MetricDirection.MORE, "", "used", "result.had")
    assert list(found) == ["rps", "ops", "p99", "depth", "cost", "each", "lost", "fairness", "busy"]


def test_a_workload_without_metrics_has_none() -> None:
    assert read("name: x\n") == {}


def test_the_direction_can_be_said() -> None:
    assert read("metrics: {a: {kind: rate, of: spins, better: less}}")["a"].better is MetricDirection.LESS


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("rps: {of: x}", r"mine\.yaml:2: metrics\.rps\.kind: is missing"),
        ("rps: {kind: rat, of: x}", r"metrics\.rps\.kind: is `rat`, not one of .*; did you mean `rate`\?"),
        ("rps: {kind: rate}", r"metrics\.rps\.of: is missing"),
        ("rps: {kind: rate, of: x, per: y, window: work}", r"metrics\.rps\.window: unknown key"),
        ("rps: {kind: rate, of: x, at: 9}", r"metrics\.rps\.at: unknown key"),
        ("rps: {kind: rate, of: x, windw: work}", r"windw: unknown key; did you mean `window`\?"),
        ("rps: {kind: rate, of: x, window: all}", r"window: is `all`, not one of work, total"),
        ("rps: {kind: rate, of: 2x}", r"of: `2x` is not `VALUE`, `result\.VALUE` or `HISTOGRAM\.FIGURE`"),
        ("rps: {kind: rate, of: a.b.c}", r"of: `a\.b\.c` is not"),
        ("rps: {kind: rate, of: x, unit: 'a b'}", r"unit: `a b` is not a unit"),
        ("rps: {kind: rate, of: x, better: up}", r"better: is `up`, not one of more, less"),
        ("p: {kind: percentile, of: wakeup}", r"metrics\.p\.at: is missing"),
        ("p: {kind: percentile, of: wakeup, at: 101}", r"at: is 101, not between 0 and 100"),
        ("p: {kind: percentile, of: wakeup.max, at: 9}", r"of: `wakeup\.max` is not the plain name"),
        ("t: {kind: time, of: x, window: total}", r"window: unknown key"),
        ("t: {kind: time, of: x, unit: us}", r"unit: unknown key"),
        ("n: {kind: count, of: x}", r"metrics\.n\.better: is missing"),
        ("s: {kind: share, of: x}", r"metrics\.s\.better: is missing"),
        ("s: {kind: share, of: result.x, better: more}", r"of: `result\.x` is not the plain name"),
        ("work: {kind: count, of: x, better: more}", r"work: `work` is a metric of every workload"),
        ("wasted: {kind: count, of: x, better: less}", r"wasted: `wasted` is a metric of every workload"),
        ("A: {kind: count, of: x, better: more}", r"metrics\.A: `A` is not a name"),
    ],
)
def test_an_invalid_metric_is_refused(metric: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        read(f"metrics:\n  {metric}\n")
