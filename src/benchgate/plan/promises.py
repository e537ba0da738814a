"""Reads the promises of a workload: `witness`, whose lines say what the machine must have seen.

Takes the top section with the workload's parameters and metrics; gives frozen `Promise`s. Fails with
CatalogError, which names file and line, for a claim that is none, for a name that does not exist, and for
units that do not fit. What a guest reports under a name shows in the first run, as for a metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchgate.base.text import suggestion
from benchgate.base.workload import witness
from benchgate.base.workload.metrics import NS, Metric, MetricKind, is_length
from benchgate.base.workload.witness import COUNT, TIME, UNITS, Promise, Sees, Unit
from benchgate.base.workload.workloads import ParamSpec
from benchgate.base.yaml.yamlfile import Section

MOST = 64


def read(top: Section, params: Mapping[str, ParamSpec], metrics: Mapping[str, Metric]) -> tuple[Promise, ...]:
    names = _Names(params, metrics)
    lines = top.sections("witness")
    if len(lines) > MOST:
        top.fail(f"has more than {MOST} lines", "witness")
    return tuple(_promise(words, names) for words in lines)


def _promise(words: Section, names: _Names) -> Promise:
    claims: tuple[witness.Claim, ...] = ()
    histogram, sees = "", Sees.WAKES
    since = until = None
    if words.has("histogram"):
        histogram, sees = words.text("histogram"), Sees(words.choice("sees"))
        since, until = _length(words, "since", names), _length(words, "until", names)
    else:
        claims = tuple(_claim(words, text, names) for text in words.one_or_more("claim"))
        if not claims:
            words.fail("is missing: a claim, or a histogram", "claim")
    because = words.text("because")
    with words.optional("when") as section:
        when = {name: _words(section, name, names) for name in section.keys()}  # noqa: SIM118 - a Section
    words.close()
    return Promise(because, when, claims, histogram, sees, since, until)


def _length(words: Section, key: str, names: _Names) -> witness.Term | None:
    if not words.has(key):
        return None
    try:
        found = witness.parse_length(words.text(key), names.unit)
    except ValueError as error:
        words.fail(str(error), key)
    if others := [name for name in found.names() if name not in names.params]:
        words.fail(f"`{others[0]}` is no parameter", key)
    return found


def _claim(words: Section, text: str, names: _Names) -> witness.Claim:
    try:
        found = witness.parse(text, names.unit)
    except ValueError as error:
        words.fail(str(error), "claim")
    if not any(witness.of_machine(name) for name in found.names):
        words.fail(f"`{text}` names nothing that the machine saw: {_known(witness.MACHINE)}", "claim")
    return found


def _words(section: Section, name: str, names: _Names) -> tuple[str, ...]:
    if name not in names.params:
        section.fail(f"is no parameter; {suggestion(name, names.params, _listed(names.params))}", name)
    choices, found = names.params[name].choices, section.one_or_more(name)
    for word in found:
        if choices and word not in choices:
            section.fail(f"`{word}` is no choice of it; {suggestion(word, choices, _listed(choices))}", name)
        if not choices and not re.fullmatch("[0-9]{1,18}", word):
            section.fail(f"`{word}` is no value of it: a whole number", name)
    return found


def _listed(names: Iterable[str]) -> str:
    return f"there are {', '.join(names) or 'none'}"


class _Names:
    """Which names a claim may have, and their units."""

    def __init__(self, params: Mapping[str, ParamSpec], metrics: Mapping[str, Metric]) -> None:
        self.params, self.metrics = params, metrics

    def unit(self, name: str) -> Unit:
        spec = self.params.get(name)
        if spec is not None:
            if spec.choices:
                raise ValueError(f"`{name}` is a word, not a number: use it under `when`")
            return UNITS.get(spec.unit, (COUNT, 1))[0]
        if name in witness.RUN:
            return COUNT
        unit = witness.of_machine(name) or self._reported(name)
        if unit is None:
            known = [*self.params, *self.metrics, *witness.MACHINE, *witness.WINDOWS, *witness.RUN]
            raise ValueError(f"there is no `{name}`; {suggestion(name, known, _known(known))}")
        return unit

    def _reported(self, name: str) -> Unit | None:
        """What the guest reports. It is a length if a metric takes it for one."""
        if name in self.metrics:
            return _unit_of_metric(self.metrics[name])
        first, _, rest = name.partition(".")
        what = rest if first in witness.OF_WORKERS else name
        if not rest:
            return None
        figure = what.rpartition(".")[2]
        if first not in (*witness.OF_WORKERS, "result") and figure not in witness.FIGURES:
            return None
        return TIME if is_length(what, self.metrics) and figure != "count" else COUNT


def _unit_of_metric(metric: Metric) -> Unit:
    if metric.kind is MetricKind.RATE:
        return Unit(ns=-1)
    return TIME if metric.unit == NS else COUNT


def _known(names: Mapping[str, object] | list[str]) -> str:
    return f"there are {', '.join(names)}, and {', '.join(f'{one}NAME' for one in witness.FAMILIES)}"
