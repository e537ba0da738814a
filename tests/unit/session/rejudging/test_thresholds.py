"""Thresholds of a session against the marks of its tests, by value. The program that collects the marks is
tested with real sessions, in tests/plugin/test_thresholds.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.gates import Gate
from benchgate.plan.planned import GateRequest
from benchgate.session.rejudging.thresholds import FunctionMarks, differences, with_letters
from tests.unit.plans import sweep

TEST = "tests/test_scaling.py::test_scales"
ASKED = GateRequest("speedup", "", 2, 1, "work", 1.6, None, None)
MARKED = {TEST: FunctionMarks("primes", (ASKED,))}


@pytest.fixture
def gate() -> Gate:
    """`primes`, 2 CPUs over 1, at least 1.6."""
    (planned_gate,) = sweep(2).gates
    return replace(planned_gate.gate, tests=(TEST,))


def test_equal_thresholds_are_no_difference(gate: Gate) -> None:
    assert differences([gate], MARKED) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at_least": 1.2}, f"at_least is 1.2 in the session and 1.6 in {TEST}"),
        ({"insn": 1.1}, f"insn is 1.1 in the session and absent in {TEST}"),
        ({"metric": "total"}, f"{TEST} has no gate speedup of total at 2 CPUs over 1"),
        ({"kind": "control"}, f"{TEST} has no gate control of work at 2 CPUs over 1"),
        ({"tests": ()}, "the session does not say which test has this gate, so nothing was compared"),
        (
            {"tests": ("tests/test_gone.py::test_scales",)},
            "tests/test_gone.py::test_scales is not among the tests that you named, so nothing was compared",
        ),
    ],
)
def test_each_difference_is_named(gate: Gate, change: dict[str, object], said: str) -> None:
    changed = replace(gate, **change)  # type: ignore[arg-type]
    assert differences([changed], MARKED) == (f"{gate.id}: {said}",)


def test_the_gate_of_another_workload_is_a_difference(gate: Gate) -> None:
    assert differences([gate], {TEST: FunctionMarks("tasks", (ASKED,))}) == (
        f"{gate.id}: the session measured primes, and {TEST} asks for tasks",
    )


def test_every_test_of_a_gate_must_agree(gate: Gate) -> None:
    other = "tests/test_other.py::test_scales"
    known = {**MARKED, other: FunctionMarks("primes", (replace(ASKED, at_least=1.7),))}
    (said,) = differences([replace(gate, tests=(TEST, other))], known)
    assert said == f"{gate.id}: at_least is 1.6 in the session and 1.7 in {other}"


def test_a_comparison_is_found_by_its_other_system(gate: Gate) -> None:
    base = replace(gate.cell, system="kernel")
    compared = replace(gate, kind="compare", base=base, at_least=1.0)
    asked = [GateRequest("ratio", "", 2, None, "work", limit, None, None, to) for to, limit in
             (("native", 0.5), ("kernel", 1.0))]  # fmt: skip
    assert differences([compared], {TEST: FunctionMarks("primes", tuple(asked))}) == ()
    said = differences([compared], {TEST: FunctionMarks("primes", (replace(asked[1], at_least=1.2),))})
    assert said == (f"{gate.id}: at_least is 1 in the session and 1.2 in {TEST}",)
    said = differences([compared], MARKED)
    assert said == (f"{gate.id}: {TEST} has no gate ratio of work at 2 CPUs compared with kernel",)
    only_native = {TEST: FunctionMarks("primes", (asked[0],))}
    assert "has no gate ratio" in differences([compared], only_native)[0]


def test_a_letter_is_the_system_that_the_session_says(gate: Gate) -> None:
    compared = replace(gate, kind="ratio", base=replace(gate.cell, system="kernel"), at_least=1.0)
    tests = {
        TEST: FunctionMarks("primes", (GateRequest("ratio", "", 2, None, "work", 1.0, None, None, "A"),))
    }
    assert differences([compared], with_letters(tests, {"A": "kernel", "B": "linux"})) == ()
    assert "has no gate ratio" in differences([compared], with_letters(tests, {"A": "native"}))[0]


def test_a_gate_over_several_arms_is_found_by_all_of_them_and_by_its_settings(gate: Gate) -> None:
    cells = tuple(replace(gate.cell, cpus=count) for count in (1, 2, 4))
    law = replace(
        gate, kind="scaling", base=cells[0], more=cells[1:2], cell=cells[2], at_least=None, at_most=0.05
    )
    law = replace(law, settings=(("model", "amdahl"),))
    asked = GateRequest("scaling", "", 4, 1, "work", None, 0.05, None, "", (2,), law.settings)
    assert differences([law], {TEST: FunctionMarks("primes", (asked,))}) == ()
    for other in (replace(asked, more=()), replace(asked, settings=(("model", "usl"),))):
        (said,) = differences([law], {TEST: FunctionMarks("primes", (other,))})
        assert said == f"{law.id}: {TEST} has no gate scaling of work at 4 CPUs over 1"
    (said,) = differences([replace(law, at_most=0.5)], {TEST: FunctionMarks("primes", (asked,))})
    assert "at_most is 0.5 in the session and 0.05" in said
