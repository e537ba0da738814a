"""Compares the thresholds of a session with those in the marks of its tests.

Takes a session folder and paths of tests; gives one sentence per difference. The tests are imported, in a
process of their own, so they are only those that the caller names. Fails with UsageError if they cannot be
collected, and with EvidenceError if session.json cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.cells import Params
from benchgate.base.gates import VERIFIED, Gate
from benchgate.base.jsonfields import read
from benchgate.evidence.facts import read_letters, read_plan
from benchgate.evidence.files import SESSION, read_object
from benchgate.judge.gates import name_of
from benchgate.plan.planned import GateRequest
from benchgate.session import inner_pytest

PLUGIN = "benchgate.session.rejudging.marks_plugin"
_BOUNDS = ("at_least", "at_most", "insn")


@dataclass(frozen=True, slots=True)
class FunctionMarks:
    """What the marks of one test function say."""

    workload: str
    gates: tuple[GateRequest, ...]


def of_session(folder: Path, paths: Sequence[str]) -> tuple[str, ...] | None:
    """The differences between a session and the tests below `paths`; None without paths."""
    if not paths:
        return None
    facts = read_object(folder, SESSION)
    plan = read_plan(facts, str(folder / SESSION))
    tests = with_letters(collected(paths), read_letters(facts, str(folder / SESSION)))
    return differences([gate for sweep in plan for gate in sweep.gates], tests)


def with_letters(tests: Mapping[str, FunctionMarks], letters: Mapping[str, str]) -> dict[str, FunctionMarks]:
    """The tests, with the names of the session's systems in the place of letters."""

    def named(marks: FunctionMarks) -> FunctionMarks:
        gates = (replace(gate, to=letters.get(gate.to, gate.to)) for gate in marks.gates)
        return replace(marks, gates=tuple(gates))

    return {test: named(marks) for test, marks in tests.items()}


def differences(gates: Sequence[Gate], tests: Mapping[str, FunctionMarks]) -> tuple[str, ...]:
    """One sentence for each threshold that is not, or not known to be, that of its tests. `tests`: by node id
    of the function."""
    return tuple(text for gate in gates if gate.kind != VERIFIED for text in _of_gate(gate, tests))


def _of_gate(gate: Gate, tests: Mapping[str, FunctionMarks]) -> Iterator[str]:
    if not gate.tests:
        yield f"{gate.id}: the session does not say which test has this gate, so nothing was compared"
    for test in gate.tests:
        if test not in tests:
            yield f"{gate.id}: {test} is not among the tests that you named, so nothing was compared"
        else:
            yield from _of_test(gate, test, tests[test])


def _of_test(gate: Gate, test: str, marked: FunctionMarks) -> Iterator[str]:
    if marked.workload != gate.cell.workload:
        yield f"{gate.id}: the session measured {gate.cell.workload}, and {test} asks for {marked.workload}"
    asked = next((request for request in marked.gates if _key_of(request, gate) == _key(gate)), None)
    if asked is None:
        kind, cpus, metric, base, to, against, *_ = _key(gate)
        other = to or against
        over = f" over {base}" if base is not None else f" compared with {other}" if other else ""
        yield f"{gate.id}: {test} has no gate {kind} of {metric} at {cpus} CPUs{over}"
        return
    for name in _BOUNDS:
        used, own = getattr(gate, name), getattr(asked, name)
        if used != own:
            yield f"{gate.id}: {name} is {_number(used)} in the session and {_number(own)} in {test}"


_Key = tuple[str, int, str, int | None, str, str, tuple[int, ...], Params]
"""What identifies a gate within a test function: kind, CPUs, metric, the CPUs or system of its base, the file
with which it compares, the CPUs between both, and its settings."""


def _key(gate: Gate) -> _Key:
    base, to = None, ""
    if gate.base is not None and gate.base.system == gate.cell.system:
        base = gate.base.cpus
    elif gate.base is not None:
        to = gate.base.system
    more = tuple(cell.cpus for cell in gate.more)
    kind, cpus = name_of(gate.kind), gate.cell.cpus
    return kind, cpus, gate.metric, base, to, gate.against, more, gate.settings


def _key_of(asked: GateRequest, gate: Gate) -> _Key:
    """A mark without a CPU count has the one of the gate."""
    cpus = asked.cpus or gate.cell.cpus
    result = asked.metric, asked.base, asked.to, asked.against, asked.more, asked.settings
    return asked.kind, cpus, *result


def _number(value: float | None) -> str:
    return "absent" if value is None else f"{value:g}"


def collected(paths: Sequence[str]) -> dict[str, FunctionMarks]:
    """The tests with gates below these paths, by node id of the function."""
    answer = json.loads(inner_pytest.collected(PLUGIN, paths))
    return read(dict[str, FunctionMarks], answer, "tests")
