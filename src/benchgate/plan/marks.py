"""Reads the `workload`, `system` and `machine` marks of a test, and its marks of gates (mark_table.py).

Takes the marks' arguments, gives a `MarkRequest`. Fails with UsageError, which names the mark and the
argument, and with CatalogError if a file that a mark names cannot be loaded. The plugin turns both into a
collection error of the test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate import hooks
from benchgate.base.cells import Params
from benchgate.base.errors import UsageError
from benchgate.base.gates import VERIFIED
from benchgate.base.jsonfields import MOST
from benchgate.base.system.systems import MAX_CPUS, SELFTEST
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import NS, SHARE, Metric, every_metric, time_of
from benchgate.base.workload.workloads import UNVERIFIED, Workload
from benchgate.hooks import BOUNDS, GATE, THRESHOLDS, GateMark, PlainMark
from benchgate.plan import catalog
from benchgate.plan.mark_table import GROWS, MACHINE, RENAMED, SHIPPED, SYSTEM, WORKLOAD
from benchgate.plan.planned import GateRequest, MarkRequest
from benchgate.plan.workloadfile import fill

EACH_COUNT = 0
_PERCENT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?%")
MOST_RATIO = 1e6
"""A larger ratio is refused."""


@dataclass(frozen=True, slots=True)
class MarkArguments:
    """A mark's arguments, independent of pytest's type."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


def read(  # noqa: PLR0913, PLR0917
    workload: MarkArguments | None,
    gates: Mapping[str, Sequence[MarkArguments]],
    systems: Iterable[MarkArguments] = (),
    test: str = "",
    machine: MarkArguments | None = None,
    table: Mapping[str, GateMark] = SHIPPED,
) -> MarkRequest:
    """Reads a test's marks. `gates` has its marks of gates by name, `test` is its node id, `machine` is the
    mark nearest to the test, and `table` has all known marks of gates by name."""
    if workload is None:
        raise UsageError('a test that uses `cell` or `verdict` needs @pytest.mark.workload("primes", ...)')
    name = _word(WORKLOAD, workload.args, "one name")
    found = catalog.load_workload(name)
    fill(found, workload.kwargs)
    known = every_metric(found.metrics)
    if name == SELFTEST:
        for word in _systems(systems):
            known = {**known, **catalog.load_system(word).metrics}
    for mark, now in RENAMED.items():
        if gates.get(mark):
            raise UsageError(f"mark {mark} is now `{now}`, with the same arguments: write that")
    requests = tuple(
        _gate(table[mark], arguments, found, known) for mark, marks in gates.items() for arguments in marks
    )
    _refuse_unverified(found, requests)
    distinct = {replace(request, file="", at_least=None, at_most=None, insn=None) for request in requests}
    if len(distinct) < len(requests):
        raise UsageError("two gates of one test have the same kind, cpus, base and metric: remove one")
    ordered = tuple(sorted(requests, key=lambda request: request.cpus))
    return MarkRequest(name, dict(workload.kwargs), ordered, _systems(systems), test, _machine(machine))


def _word(row: PlainMark, args: tuple[object, ...], what: str, *, extra: object = None) -> str:
    """The only argument of a mark; any `extra` argument is refused."""
    if extra or len(args) != 1 or not isinstance(args[0], str):
        raise UsageError(f"mark {row.name}: expected {what}, such as {row.shown}")
    return args[0]


def _refuse_unverified(workload: Workload, requests: Sequence[GateRequest]) -> None:
    tool = workload.tool
    if tool and not tool.verifies and any(request.kind != VERIFIED for request in requests):
        raise UsageError(
            f"workload {workload.name} is {UNVERIFIED} (`verified: no` in its YAML), so its figures are for "
            "information and no gate may use them: request the fixture `cell` instead"
        )


def _systems(marks: Iterable[MarkArguments]) -> tuple[str, ...]:
    words: list[str] = []
    for mark in marks:
        for word in mark.args or ((),):
            words.append(_word(SYSTEM, (word,), "names or paths", extra=mark.kwargs))
    return tuple(words)


def _machine(mark: MarkArguments | None) -> str:
    if mark is None:
        return ""
    word = _word(MACHINE, mark.args, "one name or path", extra=mark.kwargs)
    catalog.load_machine(word)
    return word


def _gate(
    row: GateMark, given: MarkArguments, workload: Workload, known: Mapping[str, Metric]
) -> GateRequest:
    _check_arguments(row, given)
    metric = _metric(row, given, workload.name, known)
    if "metric" in row.takes and row.name != GATE:
        _refuse_given_length(row, metric, workload, known)
    at_least, at_most, insn = (_threshold(row, given, key, metric) for key in THRESHOLDS)
    kind, file = _named_kind(given) if row.name == GATE else (_kind(row, at_least, at_most), row.file)
    base, more, cpus = _counts(row, given)
    rest = _to(row, given), more, _settings(row, given) + _unit(row, given, metric), _against(row, given)
    return GateRequest(kind, file, cpus, base, metric.name, at_least, at_most, insn, *rest)


def _check_arguments(row: GateMark, given: MarkArguments) -> None:
    if given.args and row.name != GATE:
        raise UsageError(f"mark {row.name}: use keyword arguments, as in {row.shown}, not {given.args[0]!r}")
    for key, value in given.kwargs.items():
        if key == "window":
            raise UsageError(f"mark {row.name}: `window` is now `metric`: write metric={value!r}")
        if key not in row.takes:
            hint = suggestion(key, row.takes, f"it takes {', '.join(row.takes)}")
            raise UsageError(f"mark {row.name}: no argument `{key}`; {hint}")
    for key in row.needs:
        if key not in given.kwargs:
            raise UsageError(f"mark {row.name}: the argument `{key}` is missing, as in {row.shown}")


def _kind(row: GateMark, at_least: float | None, at_most: float | None) -> str:
    if (row.takes_either or not row.file) and (at_least is None) == (at_most is None):
        raise UsageError(f"mark {row.name}: needs one of `at_least` and `at_most`, not both")
    return row.name if at_most is None else row.at_most_kind or row.name


def _named_kind(given: MarkArguments) -> tuple[str, str]:
    """The kind's name, and for a user's own kind the absolute path of its file."""
    if len(given.args) != 1 or not isinstance(given.args[0], str):
        raise UsageError(
            'mark gate: expected one kind or file, such as @pytest.mark.gate("verified", cpus=2)'
        )
    word = given.args[0]
    if not word.endswith(".py"):
        return word, ""
    path = Path(word).absolute()
    return catalog.gate_kind(path), str(path)


def _base(row: GateMark, given: MarkArguments) -> int | None:
    if row.base is None and given.kwargs.get("base") is None:
        return None
    return _count(row.name, "base", given.kwargs.get("base", row.base))


def _counts(row: GateMark, given: MarkArguments) -> tuple[int | None, tuple[int, ...], int]:
    """The CPU counts of base, further arms and cell. A gate over one arm has no base."""
    value, base = given.kwargs.get("cpus"), _base(row, given)
    if value is None:  # each CPU count that the session measures
        return None, (), EACH_COUNT
    if row.is_of_several and isinstance(value, list | tuple):
        counts = tuple(_count(row.name, "cpus", one) for one in value)
        if len(counts) < 2 or list(counts) != sorted(set(counts)) or base is not None:
            raise UsageError(
                f"mark {row.name}: cpus={value!r} must be two or more CPU counts in ascending order, of "
                "which the first one is the base"
            )
        return counts[0], counts[1:-1], counts[-1]
    cpus = _count(row.name, "cpus", value)
    if base is not None and cpus <= base:
        raise UsageError(f"mark {row.name}: cpus={cpus} is not above base={base}")
    if GROWS in row.takes and base is not None and cpus % base:
        raise UsageError(f"mark {row.name}: cpus={cpus} is no multiple of base={base}")
    return base, (), cpus


def _settings(row: GateMark, given: MarkArguments) -> Params:
    """The given settings, as plain words because they become part of the gate's id."""
    words = {key: given.kwargs[key] for key in row.settings if key in given.kwargs}
    for key in row.lengths:
        if key in words:
            words[key] = _length(row, key, words[key])
    for key in row.shares:
        if key in words:
            words[key] = _share(row, key, words[key])
    for key, word in words.items():
        if key not in (*row.lengths, *row.shares) and not (isinstance(word, str) and word.isidentifier()):
            raise UsageError(f"mark {row.name}: {key}={word!r} is not a word, as in {row.shown}")
    return tuple((key, str(word)) for key, word in words.items())


def _unit(row: GateMark, given: MarkArguments, metric: Metric) -> Params:
    """A guest may count its windows in cycles, while a threshold such as `20ms` is a length of time."""
    has_unit = any(isinstance(given.kwargs.get(key), str) for key in BOUNDS)
    return (("unit", NS),) if metric.is_window and not row.is_ratio and has_unit else ()


def _length(row: GateMark, key: str, value: object) -> str:
    """A length of time as it is written; a number is one of ns."""
    word = f"{value}ns" if isinstance(value, int) and not isinstance(value, bool) else value
    try:
        time_of(str(word))
    except ValueError as error:
        raise UsageError(f"mark {row.name}: {key}: {error}") from None
    return str(word)


def _share(row: GateMark, key: str, value: object) -> str:
    """A share as a number from 0 to 1."""
    is_percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    number = float(str(value)[:-1]) / 100 if is_percent else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= 1:
        raise UsageError(f"mark {row.name}: {key}={value!r} is not a share such as `10%`")
    return f"{round(number, 12):g}"


def _count(mark: str, key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_CPUS:
        raise UsageError(f"mark {mark}: {key}={value!r} is not a CPU count from 1 to {MAX_CPUS}")
    return value


def _threshold(row: GateMark, given: MarkArguments, key: str, metric: Metric) -> float | None:
    value = given.kwargs.get(key)
    if value is None:
        return None
    if not row.is_ratio and isinstance(value, str):
        value = _with_unit(row, key, value, metric)
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if row.is_ratio and not 0 < number <= MOST_RATIO:
        raise UsageError(f"mark {row.name}: {key}={value!r} is not a ratio above 0 and up to {MOST_RATIO:g}")
    if not 0 <= number <= MOST:
        raise UsageError(f"mark {row.name}: {key}={value!r} is not a number from 0 to {MOST:g}")
    return number


def _with_unit(row: GateMark, key: str, word: str, metric: Metric) -> float:
    """The figure that `20ms` or `0.5%` stands for, in the metric's unit."""
    if metric.unit == SHARE and _PERCENT.fullmatch(word):
        return round(float(word[:-1]) / 100, 12)
    if metric.unit == SHARE or not (metric.unit == NS or metric.is_window):
        takes = "a share such as `0.5%`" if metric.unit == SHARE else f"a number in its unit, {metric.unit!r}"
        raise UsageError(f"mark {row.name}: {key}={word!r}: {metric.name} takes {takes}")
    try:
        return time_of(word)
    except ValueError as error:
        raise UsageError(f"mark {row.name}: {key}: {error}") from None


def _metric(row: GateMark, given: MarkArguments, workload: str, known: Mapping[str, Metric]) -> Metric:
    value = given.kwargs.get("metric", row.metric)
    if not isinstance(value, str) or value not in known:
        near = suggestion(value, known) if isinstance(value, str) else ""
        raise UsageError(
            f"mark {row.name}: metric={value!r} is not one of the metrics of workload {workload}: "
            f"{', '.join(known)}" + (f"; {near}" if near else "")
        )
    return known[value]


def _refuse_given_length(
    row: GateMark, metric: Metric, workload: Workload, known: Mapping[str, Metric]
) -> None:
    """A gate on how long it takes cannot fail if the workload runs for a given time."""
    if workload.lasts and metric.is_window:
        others = ", ".join(name for name, one in known.items() if not one.is_window)
        raise UsageError(
            f"mark {row.name}: workload {workload.name} runs for as long as its parameter `{workload.lasts}` "
            f"says, so `{metric.name}` is the same on every system: name another `metric`: {others}"
        )


def _to(row: GateMark, given: MarkArguments) -> str:
    """The system to compare with: its name or path, or the letter of one of --system."""
    value = given.kwargs.get("to", "")
    if "to" in row.takes and (not isinstance(value, str) or not value):
        raise UsageError(
            f"mark {row.name}: to={value!r} is not a system's name or path, or a letter such as A"
        )
    return str(value)


def _against(row: GateMark, given: MarkArguments) -> str:
    """The path of the file to compare with, for a mark that takes one."""
    kept = next((file for file in hooks.kept_files() if file.name in row.takes), None)
    if kept is None:
        return ""
    value = given.kwargs.get(kept.name, kept.default)
    if not isinstance(value, str) or not value.endswith(kept.suffix) or not value.isprintable():
        raise UsageError(
            f'mark {row.name}: {kept.name}={value!r} is not the path of a file such as "{kept.default}"'
        )
    return value
