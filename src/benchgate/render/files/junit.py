"""junit.xml: one test case per verdict.

Takes a SessionView; gives XML. The time of a case is that of its runs. Jenkins shows the properties of suite
and cases (`keepProperties: true`); GitLab shows none, so each case has its reason, with the figures, in its
failure or its system-out as well. INVALID and INCONCLUSIVE are failures, each of its own type. Does not fail.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from benchgate.base.gates import Verdict, Word
from benchgate.base.jsonfields import as_json
from benchgate.base.statistics import stats
from benchgate.base.workload.metrics import WINDOWS
from benchgate.evidence.rows import RunRow
from benchgate.render.escape import xml
from benchgate.render.figures import key_of, series_of
from benchgate.render.view import SessionView, headline, void_runs

NAME = "junit.xml"
FAILING = (Word.FAIL, Word.INVALID, Word.INCONCLUSIVE)


def render(view: SessionView) -> str:
    failing = [word for word in FAILING if view.inconclusive_fails or word is not Word.INCONCLUSIVE]
    verdicts = view.shown_verdicts
    failures = sum(verdict.outcome in failing for verdict in verdicts)
    skipped = sum(verdict.outcome is not Word.PASS and verdict.outcome not in failing for verdict in verdicts)
    seconds = _seconds(view)
    counts = f'tests="{len(verdicts)}" failures="{failures}" errors="0" skipped="{skipped}"'
    stamp = f' timestamp="{xml(view.started)}"' if view.started else ""
    cases = [_case(of, failing, _metrics(view, of), _time(seconds[_key(of)])) for of in verdicts]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="benchgate" {counts}>',
        f'  <testsuite name="benchgate" {counts} time="{_time(math.fsum(seconds.values()))}"{stamp}>',
        *_properties(_session(view), "    "),
        *(line for case in cases for line in case),
        f"    <system-out>{xml(chr(10).join([headline(view), *void_runs(view)]))}</system-out>",
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _session(view: SessionView) -> dict[str, object]:
    facts = {"session": view.id, "state": view.state, "version": view.version, "commit": view.commit}
    return {**facts, **{f"machine.{name}": text for name, text in view.machine}}


def _properties(values: Mapping[str, object], indent: str) -> list[str]:
    lines = [
        f'{indent}  <property name="benchgate.{xml(name)}" value="{xml(str(value))}"/>'
        for name, value in values.items()
        if value is not None
    ]
    return [f"{indent}<properties>", *lines, f"{indent}</properties>"]


def _metrics(view: SessionView, verdict: Verdict) -> dict[str, str]:
    """The medians of the metrics that the workload declares, in the gate's arm; and as `NAME.merged` each
    percentile of all runs together."""
    key = (verdict.system, verdict.workload, verdict.params, verdict.mode, verdict.lane)
    medians: dict[str, str] = {}
    for series in series_of(view):
        if series.key == key:
            arms = [arm for arm in series.arms if arm.cpus == verdict.cpus and not arm.is_variant]
            every = [metric for arm in arms for metric in arm.metrics if metric.metric.name not in WINDOWS]
            medians |= {of.metric.name: _figure(stats.median(of.values), of.unit) for of in every}
            both = [(of, of.merged) for of in every if of.merged is not None]
            medians |= {f"{of.metric.name}.merged": _figure(value, of.unit) for of, value in both}
    return medians


def _figure(value: float, unit: str) -> str:
    return f"{value:.9g} {unit}".rstrip()


_Key = tuple[str, str, str]


def _key(of: Verdict) -> _Key:
    return of.id, of.gate, of.metric


def _seconds(view: SessionView) -> Mapping[_Key, float]:
    """How long the runs of each verdict took on the host. A run counts once: for the first verdict of its
    cell, or else of its row."""
    result: defaultdict[_Key, float] = defaultdict(float)
    for row in view.rows:
        same = [verdict for verdict in view.verdicts if _is_of(verdict, row)]
        own = [verdict for verdict in same if verdict.cpus == row.cell.cpus and not row.cell.variant]
        for owner in (own or same)[:1]:
            result[_key(owner)] += (row.host_span_ns or 0) / 1e9
    return result


def _is_of(verdict: Verdict, row: RunRow) -> bool:
    lane = verdict.lane or row.lane
    return (verdict.system, verdict.workload, verdict.params, verdict.mode, lane) == key_of(row)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _case(verdict: Verdict, failing: list[Word], metrics: dict[str, str], time: str) -> list[str]:
    group, name = xml(f"benchgate.{verdict.gate}"), xml(f"{verdict.id}-{verdict.metric}")
    lines = [f'    <testcase classname="{group}" name="{name}" time="{time}">']
    fields = as_json(verdict) | {"params": " ".join(f"{name}={value}" for name, value in verdict.params)}
    fields |= {f"metric.{name}": text for name, text in metrics.items()}
    lines += _properties(fields, "      ")
    reason = xml(verdict.reason)
    if verdict.outcome in failing:
        lines.append(f'      <failure type="{verdict.outcome}" message="{reason}">{reason}</failure>')
    elif verdict.outcome is not Word.PASS:
        lines.append(f'      <skipped type="{verdict.outcome}" message="{reason}"/>')
    else:
        lines.append(f"      <system-out>{reason}</system-out>")
    return [*lines, "    </testcase>"]
