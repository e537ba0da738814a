"""openmetrics.txt: verdicts and figures in the OpenMetrics text format 1.0, for Prometheus and its relatives.

Takes a SessionView; gives text that ends with `# EOF`. A verdict is a state set, so that an alert can ask for
`benchgate_verdict{benchgate_verdict="FAIL"} == 1`; figures of broken arms are left out. Without a verified
view there are no verdicts and no figures. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median

from benchgate import ArmFigures, ArmSeries, SessionView, Verdict, Word, series_of, visible

NAME = "openmetrics.txt"
Labels = Mapping[str, object]
Sample = tuple[Labels, float]


def render(view: SessionView) -> str:
    about = {"session": view.id, "state": view.state, "version": view.version, "commit": view.commit}
    verdicts = view.shown_verdicts
    rows = series_of(view) if view.is_verified else ()
    arms = [(series, arm) for series in rows for arm in series.arms if not arm.is_broken]
    lines = [
        *_family("session", "info", "The measured session.", [(about, 1)], suffix="_info"),
        *_family("verdict", "stateset", "The outcome of each gate.", _states(verdicts)),
        *_of_verdicts(verdicts),
        *_of_metrics(arms),
        *_of_speedups(arms),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, about: str, samples: Iterable[Sample], suffix: str = "") -> list[str]:
    """The lines of one family; none without a sample."""
    full = f"benchgate_{name}"
    lines = [f"{full}{suffix}{{{_labels(labels)}}} {_number(value)}" for labels, value in samples]
    return [f"# TYPE {full} {kind}", f"# HELP {full} {about}", *lines] if lines else []


def _labels(labels: Labels) -> str:
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


# ---- verdicts


def _states(verdicts: Iterable[Verdict]) -> list[Sample]:
    pairs = [(verdict, word) for verdict in verdicts for word in Word]
    return [({**_who(of), "benchgate_verdict": word}, int(of.outcome is word)) for of, word in pairs]


def _who(verdict: Verdict) -> Labels:
    return {
        "id": verdict.id,
        "gate": verdict.gate,
        "system": verdict.system,
        "workload": verdict.workload,
        "params": _params(verdict.params),
        "metric": verdict.metric,
        "cpus": verdict.cpus,
        "lane": verdict.lane or "none",
    }


def _params(params: Iterable[tuple[str, object]]) -> str:
    return " ".join(f"{name}={value}" for name, value in params)


def _of_verdicts(verdicts: Iterable[Verdict]) -> Iterable[str]:
    """Takes only figures with an interval: the gate knew them well enough to compare them."""
    parts = {
        "figure": "What the gate compares with its threshold: a ratio or a value.",
        "low": "The lower end of the figure's interval.",
        "high": "The upper end of the figure's interval.",
        "threshold": "The threshold of the gate.",
    }
    for part, about in parts.items():
        found = [(verdict, getattr(verdict, part)) for verdict in verdicts]
        samples = [
            ({**_who(verdict), "unit": verdict.unit or ""}, value)
            for verdict, value in found
            if value is not None and math.isfinite(value)
        ]
        yield from _family(f"verdict_{part}", "gauge", about, samples)


# ---- figures


def _whose(series: ArmSeries, arm: ArmFigures) -> Labels:
    return {
        "row": series.name,
        "arm": arm.name,
        "system": series.system,
        "workload": series.workload,
        "params": _params(series.params),
        "cpus": arm.cpus,
        "lane": series.lane,
        "placement": arm.placement,
    }


def _of_metrics(arms: Iterable[tuple[ArmSeries, ArmFigures]]) -> Iterable[str]:
    found = [
        ({**_whose(series, arm), "metric": metric.metric.name, "unit": metric.unit}, metric.values)
        for series, arm in arms
        for metric in arm.metrics
    ]
    for part, about, of in (
        ("median", "The median of a metric over the counted runs.", median),
        ("min", "The smallest of the counted runs.", min),
        ("max", "The largest of the counted runs.", max),
        ("runs", "How many runs count.", len),
    ):
        samples = [(labels, of(values)) for labels, values in found]
        yield from _family(f"metric_{part}", "gauge", about, samples)


def _of_speedups(arms: Iterable[tuple[ArmSeries, ArmFigures]]) -> Iterable[str]:
    found = [
        ({**_whose(series, arm), "window": window, "base_cpus": seen.base_cpus}, seen)
        for series, arm in arms
        for window, seen in arm.speedups.items()
        if seen.word != Word.INVALID
    ]
    ratios = [(labels, seen.ratio) for labels, seen in found]
    yield from _family("speedup", "gauge", "The speedup over the row's smallest arm.", ratios)
    known = [(labels, seen.interval) for labels, seen in found if seen.has_interval]
    for part, end in (("low", "lower"), ("high", "upper")):
        samples = [(labels, getattr(interval, part)) for labels, interval in known]
        yield from _family(f"speedup_{part}", "gauge", f"The {end} end of the speedup's interval.", samples)
