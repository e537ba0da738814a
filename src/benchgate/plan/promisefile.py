"""Reads the lines of `witness` in a workload's YAML file: its promises.

Takes the section of the whole file, the parameters and the metrics; gives `Promise`s. Fails with
CatalogError, which names file, line and key, for an unknown name, for units that do not fit, and for a claim
of which a name decides nothing (base/workload/vacuous.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from benchgate.base.text import suggestion
from benchgate.base.workload import witness
from benchgate.base.workload.metrics import NS, Metric, MetricKind, is_length
from benchgate.base.workload.vacuous import undecided_by
from benchgate.base.workload.witness import COUNT, TIME, UNITS, Promise, Sees, Unit
from benchgate.base.workload.workloads import ParamSpec
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.choices import read_when

_MOST_PROMISES = 64


def read_promises(
    top: Section, params: Mapping[str, ParamSpec], metrics: Mapping[str, Metric]
) -> tuple[Promise, ...]:
    names = _ClaimNames(params, metrics)
    lines = top.sections("witness")
    if len(lines) > _MOST_PROMISES:
        top.fail(f"has more than {_MOST_PROMISES} lines", "witness")
    return tuple(_promise(words, names) for words in lines)


def _promise(words: Section, names: _ClaimNames) -> Promise:
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
    when = read_when(words, names.params)
    for claim in claims:
        _require_decisive(words, claim, names, when)
    words.close()
    return Promise(because, when, claims, histogram, sees, since, until)


def _length(words: Section, key: str, names: _ClaimNames) -> witness.ClaimTerm | None:
    if not words.has(key):
        return None
    try:
        term = witness.parse_length(words.text(key), names.unit)
    except ValueError as error:
        words.fail(str(error), key)
    if others := [name for name in term.names() if name not in names.params]:
        words.fail(f"`{others[0]}` is no parameter", key)
    return term


def _claim(words: Section, text: str, names: _ClaimNames) -> witness.Claim:
    try:
        claim = witness.parse(text, names.unit)
    except ValueError as error:
        words.fail(str(error), "claim")
    is_asked_for = claim.signs == ("==",)  # what was to be done, and not the guest, says the figure
    if not is_asked_for and not any(witness.of_machine(name) for name in claim.names):
        words.fail(f"`{text}` names nothing that the machine saw: {_known(witness.MACHINE)}", "claim")
    return claim


def _require_decisive(
    words: Section, claim: witness.Claim, names: _ClaimNames, when: Mapping[str, tuple[str, ...]]
) -> None:
    params = {
        name: _tried(names.params[name], when.get(name, ())) for name in claim.names if name in names.params
    }
    if name := undecided_by(claim, params):
        words.fail(
            f"`{claim.text}` does not depend on `{name}`: with all values that it can have, the claim holds, "
            f"or with all of them it does not. Leave `{name}` out, or say what it must be",
            "claim",
        )


def _tried(spec: ParamSpec, only: Sequence[str]) -> tuple[Fraction, ...]:
    """Values of a parameter, in the unit of claims: those of `when`, or some from its smallest to its
    largest."""
    low, high, size = spec.minimum, spec.maximum, UNITS.get(spec.unit, UNITS[""])[1]
    default = spec.default if isinstance(spec.default, int) else low
    some = [int(word) for word in only] or [default, low, high, *(10**power for power in range(19))]
    return tuple(Fraction(value * size) for value in dict.fromkeys(some) if only or low <= value <= high)


class _ClaimNames:
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
    return f"there are {', '.join(names)}, and {', '.join(f'{family}NAME' for family in witness.FAMILIES)}"
