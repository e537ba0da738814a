"""Reads figures to compare: of a session's folder, of Kevlar's runner (JSON), or of a program's BENCH lines.

Takes a path, and for a folder the system to take; gives a `ComparisonSide`, the samples by what they are of.
Nothing is judged again: `benchgate verify` does that. Fails with EvidenceError that names the file, and with
UsageError for a system that the session does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from benchgate.base.cells import Params
from benchgate.base.errors import EvidenceError, IncompleteError, UsageError, VerifyError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import Between, read_key
from benchgate.base.jsonfields import read as read_typed
from benchgate.base.system.machines import IDEAL, machine_in, unit_on
from benchgate.base.system.systems import SELFTEST
from benchgate.base.workload.metrics import WINDOWS, MetricDirection
from benchgate.evidence import metrics_csv, results_csv
from benchgate.evidence.facts import machine_digests, machine_of
from benchgate.evidence.files import SESSION, read_object, read_text
from benchgate.evidence.metrics_csv import MetricValue
from benchgate.evidence.session_folder import METRICS, RESULTS
from benchgate.judge.console import bench_lines

OPERATION, COST = "op", "cost"
"""The parameter with an operation's name, and the metric with its cost, of workloads like micro."""


@dataclass(frozen=True, slots=True)
class FigureKey:
    """What a figure is of. Figures of the same key are compared."""

    what: str
    """The workload, or the operation."""
    params: Params = ()
    cpus: int = 1
    metric: str = COST
    system: str = ""
    """Empty if each side has only one system."""


@dataclass(frozen=True, slots=True)
class Samples:
    lane: str
    """Empty if the file does not say which clock it was."""
    unit: str
    better: MetricDirection
    values: tuple[float, ...]
    step: float | None = 0.0
    """Each value may be off by so much, all in the same direction, because it was printed in steps. None: an
    earlier version wrote them, which does not say."""


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    name: str
    systems: tuple[str, ...]
    """Empty: a file of one program."""
    samples: Mapping[FigureKey, Samples]
    machine: str = ""
    """The machine that a session measured on; empty if that is not known."""
    models: tuple[str, ...] = ()
    """The machines that the instruction clock simulated, with their digests."""

    @property
    def operations(self) -> ComparisonSide:
        """The costs of single operations on one CPU, by the operation's name."""
        result = {}
        for key, sample in self.samples.items():
            name = _operation(key)
            if name and key.cpus == 1:
                result[FigureKey(name, system=key.system)] = sample
        return replace(self, samples=result)

    def only(self, metrics: Collection[str]) -> ComparisonSide:
        kept = {key: sample for key, sample in self.samples.items() if not metrics or key.metric in metrics}
        return replace(self, samples=kept)

    @property
    def without_system(self) -> ComparisonSide:
        samples = {replace(key, system=""): sample for key, sample in self.samples.items()}
        return replace(self, samples=samples)


def read(word: str) -> ComparisonSide:
    """`PATH`, or `PATH:SYSTEM` for one system of a session."""
    if not Path(word).exists() and ":" in word:
        word, _, system = word.rpartition(":")
    else:
        system = ""
    path = Path(word)
    if path.is_dir():
        return _session(path, system)
    if system:
        raise UsageError(f"{path} is not a session's folder, so it has no system {system}")
    text = read_text(path.parent, path.name)
    return _json(path, text) if path.suffix == ".json" else _lines(path, text)


def short(key: FigureKey) -> str:
    """The operation's name, or the workload's, with the metric unless it is the cost, and the CPU count."""
    what = str(dict(key.params).get(OPERATION, key.what))
    return (
        what + ("" if key.metric == COST else f" {key.metric}") + ("" if key.cpus == 1 else f" smp{key.cpus}")
    )


def _operation(key: FigureKey) -> str:
    if not key.params and key.what != SELFTEST:
        return key.what if key.metric == COST else ""
    if key.what == SELFTEST:
        return "" if key.metric in WINDOWS else key.metric
    return str(dict(key.params).get(OPERATION, "")) if key.metric == COST else ""


def _session(folder: Path, system: str) -> ComparisonSide:
    rows = results_csv.parse(read_text(folder, RESULTS), str(folder / RESULTS))
    counted = {row.run for row in rows if row.counts}
    every = metrics_csv.parse(read_text(folder, METRICS), str(folder / METRICS))
    values = [value for value in every if value.run in counted]
    systems = sorted({value.system for value in values})
    if system and system not in systems:
        raise UsageError(f"{folder} has no system {system}; it has {', '.join(systems) or 'no verified run'}")
    kept = [value for value in values if system in ("", value.system)]
    chosen = (system,) if system else tuple(systems)
    return ComparisonSide(f"{folder} ({', '.join(chosen)})", chosen, _grouped(kept), *_machines(folder, kept))


def _machines(folder: Path, values: Iterable[MetricValue]) -> tuple[str, tuple[str, ...]]:
    """The host, which is not known without session.json: the two CSV files are enough to compare figures; and
    the simulated machines, whose files it names by digest. Without it, nothing tells that those of two
    folders are the same."""
    names = {machine_in(value.system) or IDEAL for value in values}
    try:
        facts = read_object(folder, SESSION)
    except IncompleteError:
        which = f"(which, only a session.json in {folder} could tell)"
        return "", tuple(sorted(name if name == IDEAL else f"{name} {which}" for name in names))
    digests = machine_digests(facts, str(folder / SESSION))
    return machine_of(facts), tuple(sorted(f"{name} {digests.get(name, '')}".strip() for name in names))


def larger_step(number: float | None, other: float | None) -> float | None:
    """None, not known, if one of them is not."""
    return None if number is None or other is None else max(number, other)


def _grouped(values: Iterable[MetricValue]) -> Mapping[FigureKey, Samples]:
    samples: dict[FigureKey, Samples] = {}
    for value in values:
        key = FigureKey(value.workload, value.params, value.cpus, value.metric, value.system)
        unit = unit_on(value.system, value.unit)
        before = samples.get(key, Samples(value.lane, unit, value.better, ()))
        if (before.lane, before.unit) != (value.lane, unit):
            key = replace(key, what=f"{value.workload} ({value.lane})")
            before = samples.get(key, Samples(value.lane, unit, value.better, ()))
        step = larger_step(before.step, value.step)
        samples[key] = replace(before, values=(*before.values, value.value), step=step)
    return samples


def _json(path: Path, text: str) -> ComparisonSide:
    try:
        top, result = read_typed(dict[str, object], read_json(text), "the file"), {}
        label = read_key(str, top, "label", "the file") if "label" in top else ""
        for name, one in read_key(dict[str, dict[str, object]], top, "benchmarks", "the file").items():
            if "per_iter_ns" in one:  # the others are figures without a unit
                result[name] = _exact(one, name)
    except ValueError as error:
        raise EvidenceError(f"{path}: {error}") from None
    return _program(path, label, result)


def _exact(one: Mapping[str, object], name: str) -> float:
    """The file's own figure is cut to whole ns."""
    each: float = read_key(float, one, "per_iter_ns", name)
    if "total_ns" in one and "iterations" in one:
        total: int = read_key(int, one, "total_ns", name)
        iters: int = read_key(Annotated[int, Between(1)], one, "iterations", name)
        if wrong := bench_lines.contradiction(iters, total, each):
            raise ValueError(wrong)
        return total / iters
    return each


def _lines(path: Path, text: str) -> ComparisonSide:
    try:
        operations = bench_lines.parse(text.replace("\r", ""))
    except VerifyError as error:
        raise EvidenceError(f"{path}: {error}") from None
    each_ns = {name: operation.each_ns for name, operation in operations.measured.items()}
    return _program(path, operations.label, each_ns)


def _program(path: Path, label: str, each_ns: Mapping[str, float]) -> ComparisonSide:
    samples = {
        FigureKey(name): Samples("", "ns", MetricDirection.LESS, (value,)) for name, value in each_ns.items()
    }
    return ComparisonSide(f"{path} ({label})" if label else str(path), (), samples)
