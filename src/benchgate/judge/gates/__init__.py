"""The kinds of gate, one file each: ours in this folder, a feature's where its mark says (hooks.GateMark), a
user's own by path. Each defines KIND and judge().

Takes a gate and what was measured; gives its Ruling. A decision is a line: `decide` asks `judge` here, which
asks the kind's own `judge`; that one names the gate's arms, its rule and the figures of each look, and
looks.py gives the verdict at the first look that settles it. `check` refuses a gate before anything is
measured: a shipped kind may define check(gate, metric, policy), and EARLIER, its names in sessions of
earlier versions.
Fails with DecideError for an unknown kind or a gate that its kind cannot decide, and with CatalogError if a
user's file cannot be loaded.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType

from benchgate import hooks
from benchgate.base.cells import Cell
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Verdict, Word
from benchgate.base.pyfile import contained, load_module, modules_of
from benchgate.base.text import counted
from benchgate.base.workload.metrics import OF_THREADS, Metric
from benchgate.base.workload.workloads import UNVERIFIED
from benchgate.judge.gates import verified
from benchgate.judge.gates.arm_checks import broken_arm, known_arm
from benchgate.judge.gates.wording import about, claimed, informing, ruling, subject, with_words

Judge = Callable[[Gate, GateInput], Ruling]


@functools.cache
def _kinds() -> Mapping[str, ModuleType]:
    """The module of each shipped kind, by name."""
    kinds = [module for module in modules_of(sys.modules[__name__]) if hasattr(module, "KIND")]
    earlier = {name: module for module in kinds for name in getattr(module, "EARLIER", ())}
    return MappingProxyType({**earlier, **{module.KIND: module for module in kinds}})


def name_of(kind: str) -> str:
    """Gives today's name of a shipped kind; a user's own kind keeps its name."""
    return str(_kinds()[kind].KIND) if kind in _kinds() else kind


def find(kind: str, file: str = "") -> Judge:
    """The judge of a kind; `file` is the path of a user's own."""
    return _judge_of(_module(kind, file))


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    """DecideError if the gate's kind can never decide it, whatever is measured."""
    checks = None if gate.file else getattr(_module(gate.kind, ""), "check", None)
    if checks is not None:
        checks(gate, metric, policy)


def _module(kind: str, file: str) -> ModuleType:
    if file:
        module = load_module(Path(file), "gate")
        if getattr(module, "KIND", None) != kind:
            raise DecideError(f"{file}: its KIND is not {kind!r}")
        return module
    if (found := _shipped(kind)) is None:
        of_features = {row.name for row in hooks.gates()}
        known = ", ".join(sorted({module.KIND for module in _kinds().values()} | of_features))
        raise DecideError(f"unknown kind of gate {kind!r}; use one of {known}, or the path of a .py file")
    return found


def _shipped(kind: str) -> ModuleType | None:
    """The module of a kind of the core's or of a feature's, which is imported when a gate has it."""
    row = hooks.gate_of(kind)
    return importlib.import_module(row.place) if row else _kinds().get(kind)


def completed(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts, as their kinds word them by all of a session's or, as long as it goes on, by those that
    there are."""
    result = tuple(verdicts)
    for kind in dict.fromkeys(verdict.gate for verdict in result):
        if words := getattr(_shipped(kind), "completed", None):
            result = words(result)
    return result


def judge(gate: Gate, measured: GateInput) -> Ruling:
    rule = find(gate.kind, gate.file)
    if gate.kind != verified.KIND and (only_informs := _by_tool(gate, measured)):
        return only_informs
    if undecided := (
        _few_boots(gate, measured) or _skipped(gate, measured) or _without_value(gate, measured)
    ):
        return undecided
    if gate.file and (unasked := _unverified(gate, measured) or _informing(gate, measured)):
        return unasked
    with contained(DecideError, f"{gate.id}: judge() of {gate.file or gate.kind} raised"):
        result = rule(gate, measured)
    if not isinstance(result, Ruling):
        raise DecideError(f"{gate.id}: judge() of {gate.file or gate.kind} did not return a Ruling")
    return _with_claim(gate, measured, result)


def _arms(gate: Gate, measured: GateInput) -> list[tuple[Cell, Arm]]:
    return [(cell, measured.arms[cell.id]) for cell in gate.cells if cell.id in measured.arms]


def _with_claim(gate: Gate, measured: GateInput, result: Ruling) -> Ruling:
    """The ruling says who says its figure, if that is not the machine."""
    who = {arm.claimed[gate.metric] for _, arm in _arms(gate, measured) if gate.metric in arm.claimed}
    if not who or gate.kind == verified.KIND or result.verdict.figure is None:
        return result
    text = with_words(result.verdict.reason, f"{gate.metric} is {claimed(who)}")
    return replace(result, verdict=replace(result.verdict, reason=text))


def _by_tool(gate: Gate, measured: GateInput) -> Ruling | None:
    """No figure of a program that does not verify its own work decides anything. Planning refuses such a
    gate, but a stored session may have one."""
    if not any(arm.informs for _, arm in _arms(gate, measured)):
        return None
    return informing(gate, known_arm(gate.cell, measured), f"{gate.cell.workload} is {UNVERIFIED}")


def _few_boots(gate: Gate, measured: GateInput) -> Ruling | None:
    """Rules on an arm whose runs have fewer boots behind them than the policy asks for."""
    for cell, arm in _arms(gate, measured):
        due = min(measured.policy.boots, arm.runs) if arm.boots else 0
        if arm.boots < due:
            why = f"{cell.id} has only {counted(arm.boots, 'boot')} behind its {counted(arm.runs, 'run')}"
            what = about(subject(gate), f"{why}, and the policy asks for {due}")
            advice = "measure again: the snapshots, or the records of their runs, were exchanged"
            return ruling(gate, Word.INVALID, what, advice, lane=arm.lane, runs=arm.runs)
    return None


def _skipped(gate: Gate, measured: GateInput) -> Ruling | None:
    """Rules on a metric that the guest skipped in every run of a verified arm."""
    for _, arm in _arms(gate, measured):
        if gate.metric in arm.lacks and not arm.invalid:
            why = arm.lacks[gate.metric] or "it does not say why"
            is_of_threads = gate.metric in OF_THREADS or gate.cell.program in hooks.workload_kinds()
            did = f"{gate.metric} is not known" if is_of_threads else f"the guest skipped {gate.metric}"
            what = f"{subject(gate)}: {did}: {why}"
            return ruling(gate, Word.SKIP, what, lane=arm.lane, runs=arm.runs)
    return None


def _without_value(gate: Gate, measured: GateInput) -> Ruling | None:
    """Rules on a metric that a verified run has no value of. The gates of its other metrics are decided."""
    for cell, arm in _arms(gate, measured):
        if gate.metric in arm.absent and not broken_arm(arm):
            what = about(subject(gate), f"{cell.id} has no {gate.metric}: {arm.absent[gate.metric]}")
            advice = "give the run more work or time, or gate another metric"
            return ruling(gate, Word.INVALID, what, advice, lane=arm.lane, runs=arm.runs)
    return None


def _unverified(gate: Gate, measured: GateInput) -> Ruling | None:
    """The ruling of `verified` on an arm that does not pass it. A user's rule is asked only about arms of
    which every run was made and verified, so it cannot pass on anything else."""
    for cell in gate.cells:
        asked = Gate(id=gate.id, kind=verified.KIND, base=None, cell=cell, metric=gate.metric)
        result = verified.judge(asked, measured)
        if result.verdict.outcome is not Word.PASS:
            return replace(result, verdict=replace(result.verdict, gate=gate.kind))
    return None


def _informing(gate: Gate, measured: GateInput) -> Ruling | None:
    """A user's rule is not asked about figures that decide nothing: its PASS would count."""
    why = measured.policy.informs
    return informing(gate, known_arm(gate.cell, measured), why) if why else None


def _judge_of(module: ModuleType) -> Judge:
    function: Judge | None = getattr(module, "judge", None)
    if not callable(function):
        raise DecideError(f"{module.__file__}: it does not define judge(gate, measured)")
    return function
