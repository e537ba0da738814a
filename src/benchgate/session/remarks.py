"""What a reader should know besides a session's verdicts: programs, policy, thresholds, machines and guests.

Takes a session folder, the programs that the caller trusts, and the differences of the session's thresholds
from those of tests; gives sentences. Takes sweeps; gives sentences of the machines whose memory is simulated,
of guests that differ in a row, and of gates on latencies that would hold although a CPU stays
idle. Does not fail: if session.json cannot be read, there are none, and
`verify` reports why.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchgate import hooks
from benchgate.base.clocks import Clocks
from benchgate.base.errors import EvidenceError
from benchgate.base.files import file_digest
from benchgate.base.gates import VERIFIED, Gate, Policy
from benchgate.base.system.guest_topology import is_told
from benchgate.base.text import counted
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind, every_metric
from benchgate.evidence.facts import AskedFeature, read_clocks, read_features, read_plan, read_policy
from benchgate.evidence.files import SESSION, read_object
from benchgate.hooks import Good
from benchgate.plan import catalog
from benchgate.plan.mark_table import OF_KIND
from benchgate.plan.planned import PlannedGate, SweepPlan
from benchgate.session.rejudging.trust import TrustedPrograms, compared

_SET_BY_OPTIONS = ("first", "max_runs")
"""--runs and --max-runs change these, and on the instruction clock --seeds does."""
_POLICY_FIELDS = [
    field.name
    for field in dataclasses.fields(Policy)
    if field.name not in ("name", *_SET_BY_OPTIONS) and field.metadata.get("of") != "session"
]
_DIGITS = 12


def remarks(
    folder: Path, trusted: TrustedPrograms, differing: Sequence[str] | None = None
) -> tuple[str, ...]:
    """`differing`: from thresholds.py; None if the thresholds were not compared with any tests."""
    where = str(folder / SESSION)
    with contextlib.suppress(EvidenceError):
        facts = read_object(folder, SESSION)
        gates = [gate for sweep in read_plan(facts, where) for gate in sweep.gates]
        return (
            *compared(facts, where, trusted),
            *_policy_remarks(read_policy(facts, where)),
            *_clock_remarks(read_clocks(facts, where)),
            *_remarks_of_files(facts),
            *_feature_remarks(facts, where),
            *(_threshold_remarks(gates) if differing is None else _compared_thresholds(gates, differing)),
        )
    return ()


def _policy_remarks(used: Policy) -> list[str]:
    if used.name not in catalog.names("policy"):
        return [f"policy {used.name} is the user's own: {_numbers(used, _POLICY_FIELDS)}"]
    shipped = catalog.load_policy(used.name)
    changed = [name for name in _POLICY_FIELDS if getattr(used, name) != getattr(shipped, name)]
    if not changed:
        return []
    return [
        f"policy {used.name} differs from the shipped one: {_numbers(used, changed)} "
        f"(shipped: {_numbers(shipped, changed)})"
    ]


def _clock_remarks(clocks: Clocks | None) -> list[str]:
    """A verifier cannot measure the host again, so a reader must know what was found."""
    return [] if clocks is None else [f"--clock both: {clocks.sentence}"]


def _remarks_of_files(facts: Mapping[str, object]) -> Iterator[str]:
    """Whoever made the session chose what its gates compare with, so a reader compares it with the files of
    the checkout."""
    for kept in hooks.kept_files():
        words = facts.get(kept.folder)
        if isinstance(words, dict):
            yield from (f"{kept.name} {word}: {_here(word, digest)}" for word, digest in words.items())


def _here(word: str, digest: object) -> str:
    try:
        same = file_digest(Path(word)) == digest
    except OSError:
        return "there is no such file here to compare with the session's copy"
    return f"the file here is {'that' if same else 'not the one'} of the session"


def _feature_remarks(facts: Mapping[str, object], where: str) -> list[str]:
    try:
        return [_feature_remark(feature) for feature in read_features(facts, where)]
    except EvidenceError as error:
        return [str(error)]


def _feature_remark(feature: AskedFeature) -> str:
    """Nobody can verify what code did that is not here; that it made runs is what a reader must know."""
    named = f"feature {feature.name} of {feature.distribution} {feature.version} (SHA-256 {feature.sha256})"
    did = "made the session's runs" if feature.makes_runs else "made no run"
    return f"{named} was asked for by an option: it {did}; it is not needed to judge the session"


def _numbers(policy: Policy, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {getattr(policy, name)}" for name in names)


def _threshold_remarks(gates: Sequence[Gate]) -> list[str]:
    """Thresholds that are compared with no tests are only as good as session.json."""
    stated = [" ".join([gate.kind, *_limits(gate)]) for gate in gates if gate.kind != VERIFIED]
    counts = [f"{text} ({counted(count, 'gate')})" for text, count in sorted(Counter(stated).items())]
    said = f"thresholds, to compare with the tests' own: {'; '.join(counts)}"
    return [f"{said}; next: --tests PATH compares them"] if counts else []


def _limits(gate: Gate) -> Iterator[str]:
    for name in ("at_least", "at_most", "insn"):
        if (value := getattr(gate, name)) is not None:
            yield f"{name}={value:g}"


def _compared_thresholds(gates: Sequence[Gate], differing: Sequence[str]) -> Sequence[str]:
    if differing:
        return differing
    compared = sum(gate.kind != VERIFIED for gate in gates)
    return [f"the thresholds of {counted(compared, 'gate')} are those of the tests"] if compared else []


def machine_notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    systems = {planned.system.name: planned.system for sweep in sweeps for planned in sweep.runnable}
    machines = {system.machine.name: system.machine for system in systems.values() if system.machine}
    said = [f"machine {one.name} ({one.digest[:_DIGITS]}): {one.source}" for one in machines.values()]
    said += [
        f"{name} has a topology of its own in its YAML, so the guest is not told of the sockets and nodes of "
        "its machine; its memory system is the machine's all the same"
        for name, system in systems.items()
        if system.memory_machine and not is_told(system)
    ]
    return tuple(said)


def guest_notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    rows: dict[str, list[int]] = {}
    for planned in (cell for sweep in sweeps for cell in sweep.runnable if cell.system.has_guest_per_count):
        rows.setdefault(planned.cell.row, []).append(planned.cell.cpus)
    return tuple(
        f"{row}: its kernels differ: each of {', '.join(f'smp{cpus}' for cpus in sorted(set(counts)))} boots "
        "files of its own (`{n}` in its system's YAML), so a gate compares builds, too"
        for row, counts in rows.items()
    )


def count_notes(sweeps: Iterable[SweepPlan], asked: Iterable[int]) -> tuple[str, ...]:
    """A sentence if no test measures at a CPU count that --smp asks for."""
    measured = {planned.cell.cpus for sweep in sweeps for planned in sweep.cells}
    missing = [str(cpus) for cpus in sorted(set(asked) - measured)] if measured else []
    if not missing:
        return ()
    said = f"--smp {','.join(missing)}: no selected test measures at this CPU count"
    return (f"{said}; a gate's own `cpus` is not changed by --smp, which only leaves gates out",)


# ---- latencies


def idle_cpus_notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    """A sentence for each CPU count of a row whose latency is gated, but neither a rate nor wasted time. All
    threads on one CPU can have short latencies, so such a gate alone proves less than it seems."""
    return tuple(line for sweep in sweeps for line in _of_sweep(sweep))


def _of_sweep(sweep: SweepPlan) -> list[str]:
    gates = [gate for gate in sweep.gates if not gate.skip]
    seen = {cell.id for gate in gates if _sees_idle_cpus(gate) for cell in (gate.gate.cell, *gate.gate.more)}
    blind: dict[str, PlannedGate] = {}
    for gate in gates:
        if _is_latency(gate) and gate.gate.cell.cpus > 1 and gate.gate.cell.id not in seen:
            blind.setdefault(gate.gate.cell.id, gate)
    return [_sentence(planned_gate) for planned_gate in blind.values()]


def _metric(planned: PlannedGate) -> Metric:
    return every_metric(planned.arm.workload.metrics)[planned.gate.metric]


def _is_latency(planned: PlannedGate) -> bool:
    metric = _metric(planned)
    return metric.kind is MetricKind.PERCENTILE and _demands_good(planned.gate, metric)


def _sees_idle_cpus(planned: PlannedGate) -> bool:
    """Whether the gate notices an idle CPU. A gate on a window's length may not, because it can be fixed."""
    gate, metric = planned.gate, _metric(planned)
    if gate.file:
        return True
    is_fixed = _good(gate) == "better" and metric.name in WINDOWS
    is_share = metric.kind is MetricKind.SHARE and bool(metric.per)
    is_rate = metric.kind in (MetricKind.RATE, MetricKind.TIME) and not is_fixed
    return (is_rate or is_share) and _demands_good(gate, metric)


def _demands_good(gate: Gate, metric: Metric) -> bool:
    """Whether the gate needs a good metric, unlike a negative control, which holds if it is bad enough."""
    good = _good(gate)
    if good == "better":
        return (gate.at_least is not None) == (metric.better is MetricDirection.MORE)
    return good == "always" or (good == "at_least" and gate.at_least is not None)


def _good(gate: Gate) -> Good:
    return OF_KIND[gate.kind].good if gate.kind in OF_KIND else "never"


def _sentence(planned: PlannedGate) -> str:
    gate, metrics = planned.gate, planned.arm.workload.metrics
    rates = [name for name, metric in metrics.items() if metric.kind is MetricKind.RATE]
    example = f'limit(cpus={gate.cell.cpus}, metric="{rates[0]}", at_least=...)' if rates else ""
    none = "the workload declares no rate: add one and gate it"
    advice = f"add one, such as {example}" if example else none
    more = f"no gate on a rate or on wasted time holds for {gate.cell.id}; {advice}"
    return f"{gate.id}: {gate.metric} does not see a CPU that stays idle, and {more}"
