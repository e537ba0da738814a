"""Reads the `metrics` of a workload's YAML file.

Takes the file's top mapping; gives frozen `Metric`s by name. Fails with CatalogError, which names file, line
and key, for anything that a metric of that kind cannot have. Whether the workload reports what a metric is
`of` shows in the first run (judge/metrics.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.cells import Window
from benchgate.base.workload.metrics import NS, OF_THREADS, WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.base.yaml.yaml_values import NAME
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.workload_keys import OF_WORKERS


def read(top: Section) -> Mapping[str, Metric]:
    found = {}
    with top.optional("metrics") as section:
        for name in section.keys():  # noqa: SIM118 - a Section, not a dict
            if not NAME.match(name):
                section.fail(f"`{name}` is not a name: use lower-case letters, digits and _", name)
            if name in WINDOWS or name in OF_THREADS:
                section.fail(f"`{name}` is a metric of every workload; choose another name", name)
            with section.optional(name) as words:
                found[name] = _metric(name, words)
    return found


def _metric(name: str, words: Section) -> Metric:
    """Reads only the keys that the kind has, so that closing the section refuses the others."""
    kind = MetricKind(words.choice("kind"))
    of, per, unit = (words.text(key) if words.knows(key) else "" for key in ("of", "per", "unit"))
    if kind is MetricKind.SHARE and not per and not re.match(OF_WORKERS.form, of):
        words.fail(f"`{of}` {OF_WORKERS.wrong}", "of")
    has_window = (kind is MetricKind.TIME and not of) or (kind is MetricKind.RATE and not per)
    return Metric(
        name,
        kind,
        MetricDirection(words.choice("better")),
        {MetricKind.TIME: NS, MetricKind.RATE: f"{unit}/s"}.get(kind, unit),
        of,
        per,
        at=words.number("at") if words.knows("at") else 0.0,
        window=Window(words.choice("window")) if has_window else Window.WORK,
        about=words.text("about"),
    )
