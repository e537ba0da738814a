"""Reads the `metrics` of a workload's YAML file.

Takes the file's top mapping; gives frozen `Metric`s by name. Fails with CatalogError, which names file, line
and key, for anything that a metric of that kind cannot have. Whether the workload reports what a metric is
`of` shows in the first run (judge/metrics.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.cells import Window
from benchgate.base.workload.metrics import NS, WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.base.yaml.yaml_values import NAME
from benchgate.base.yaml.yamlfile import Section

_NAME = NAME.pattern.removesuffix(r"\Z")
_OF_WORKERS = re.compile(rf"{_NAME}\Z")
_REPORTED = re.compile(rf"{_NAME}(?:\.{_NAME})?\Z")
_UNIT = re.compile(r"[A-Za-z0-9%/_.-]{0,24}\Z")


def read(top: Section) -> Mapping[str, Metric]:
    found = {}
    with top.optional("metrics") as section:
        for name in section.keys():  # noqa: SIM118 - a Section, not a dict
            if not NAME.match(name):
                section.fail(f"`{name}` is not a name: use lower-case letters, digits and _", name)
            if name in WINDOWS:
                section.fail(f"`{name}` is a metric of every workload; choose another name", name)
            with section.optional(name) as words:
                found[name] = _metric(name, words)
    return found


def _metric(name: str, words: Section) -> Metric:
    """Reads only the keys that the kind has, so that closing the section refuses the others."""
    kind = MetricKind(words.choice("kind", tuple(MetricKind)))
    about = words.text("about", "")
    match kind:
        case MetricKind.TIME:
            of = _reported(words, "of", "")
            window = Window.WORK if of else _window(words)
            per = _reported(words, "per", "")
            return Metric(
                name, kind, _better(words, MetricDirection.LESS), NS, of, per, window=window, about=about
            )
        case MetricKind.RATE:
            of, per, unit = _reported(words, "of"), _reported(words, "per", ""), f"{_unit(words)}/s"
            window = Window.WORK if per else _window(words)
            return Metric(
                name, kind, _better(words, MetricDirection.MORE), unit, of, per, window=window, about=about
            )
        case MetricKind.PERCENTILE:
            of, at = _of_workers(words), words.number("at", high=100)
            unit = _unit(words, NS)
            return Metric(name, kind, _better(words, MetricDirection.LESS), unit, of, at=at, about=about)
        case MetricKind.COUNT:
            of, unit = _reported(words, "of"), _unit(words)
            return Metric(name, kind, _better(words), unit, of, about=about)
        case MetricKind.SHARE:
            per = _reported(words, "per", "")
            of = _reported(words, "of") if per else _of_workers(words)
            return Metric(name, kind, _better(words), "", of, per, about=about)


def _reported(words: Section, key: str, default: str | None = None) -> str:
    found = words.text(key, default)
    if found and not _REPORTED.match(found):
        words.fail(f"`{found}` is not `VALUE`, `result.VALUE` or `HISTOGRAM.FIGURE`", key)
    return found


def _of_workers(words: Section) -> str:
    found = words.text("of")
    if not _OF_WORKERS.match(found):
        words.fail(f"`{found}` is not the plain name of what each worker reports", "of")
    return found


def _window(words: Section) -> Window:
    return Window(words.choice("window", tuple(Window), Window.WORK))


def _unit(words: Section, default: str = "") -> str:
    found = words.text("unit", default)
    if not _UNIT.match(found):
        words.fail(f"`{found}` is not a unit: at most 24 letters, digits and %/_.-", "unit")
    return found


def _better(words: Section, default: MetricDirection | None = None) -> MetricDirection:
    return MetricDirection(words.choice("better", tuple(MetricDirection), default))
