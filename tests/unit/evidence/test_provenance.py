"""Plan, policy and capacity are read back from session.json; anything invalid is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.gates import CapacityBound
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence import provenance
from benchgate.evidence.facts import bounds_of, read_bounds, read_machine, read_plan, read_policy
from benchgate.plan.options import Options
from benchgate.plan.planned import SweepPlan
from tests.unit.factories import POLICY
from tests.unit.machines import DUO, duo
from tests.unit.plans import sweep

BOUNDS = {2: CapacityBound(Lane.TCG, 2, 1.5, 1.4, 1.6)}


def facts() -> dict[str, Any]:
    """The facts after a round trip through JSON."""
    made = provenance.planned([sweep(2, 4), sweep(2, hi=100_000)], POLICY, {"labels": ["user QEMU"]})
    made["capacity"]["primes-linux"] = bounds_of(BOUNDS)
    result: dict[str, Any] = json.loads(json.dumps(made))
    return result


def test_the_plan_is_read_back_unchanged() -> None:
    first, second = read_plan(facts(), "session.json")
    assert first.row == "primes-linux"
    assert first.cells == sweep(2, 4).pairs
    assert "4 CPUs need 4 host CPUs" in dict(first.cells)[sweep(2, 4).cells[2].cell]
    assert first.gates == tuple(gate.gate for gate in sweep(2, 4).gates)
    assert [cell.id for cell, _ in second.cells] == [f"primes.hi-100000-linux-smp{n}" for n in (1, 2)]


P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def with_p99() -> dict[str, Any]:
    """The facts of a workload that declares a metric, with a gate of it."""
    plan = sweep(2)
    cells = tuple(
        replace(cell, workload=replace(cell.workload, metrics={"wake_p99": P99})) for cell in plan.cells
    )
    gate = replace(plan.gates[0], gate=replace(plan.gates[0].gate, metric="wake_p99"))
    made = provenance.planned([replace(plan, cells=cells, gates=(gate,))], POLICY, {})
    result: dict[str, Any] = json.loads(json.dumps(made))
    return result


def test_the_metrics_of_a_workload_are_stored_with_the_plan() -> None:
    (stored_sweep,) = read_plan(with_p99(), "session.json")
    assert stored_sweep.declared == {"wake_p99": P99}
    assert stored_sweep.gates[0].metric == "wake_p99"


def with_law() -> dict[str, Any]:
    """The facts of a gate over three arms."""
    plan = sweep(2, 4)
    one, two, four = (planned.cell for planned in plan.cells)
    law = replace(
        plan.gates[0].gate, kind="scaling", base=one, cell=four, more=(two,), at_least=None, at_most=0.1
    )
    gate = replace(plan.gates[0], gate=replace(law, settings=(("model", "amdahl"), ("parameter", "serial"))))
    made = provenance.planned([replace(plan, gates=(gate,))], POLICY, {})
    result: dict[str, Any] = json.loads(json.dumps(made))
    return result


def law_of(found: dict[str, Any]) -> dict[str, Any]:
    gate: dict[str, Any] = found["plan"][0]["gates"][0]
    return gate


def test_a_gate_over_several_arms_is_read_back_unchanged() -> None:
    (stored_sweep,) = read_plan(with_law(), "session.json")
    (law,) = stored_sweep.gates
    assert law.more == (stored_sweep.cells[1][0],)
    assert law.settings == (("model", "amdahl"), ("parameter", "serial"))
    assert [cell.cpus for cell in law.cells] == [1, 2, 4]


def test_a_gate_of_an_earlier_version_has_no_further_arms() -> None:
    result = with_law()
    del law_of(result)["more"], law_of(result)["settings"]
    (law,) = read_plan(result, "session.json")[0].gates
    assert (law.more, law.settings) == ((), ())


@pytest.mark.parametrize(
    "change",
    [
        {"more": 3},
        {"more": [{"cpus": 2}]},
        {"settings": []},
        {"settings": {"model": 3}},
        {"settings": {"m": "a b"}},
    ],
)
def test_further_arms_and_settings_are_untrusted(change: dict[str, object]) -> None:
    result = with_law()
    law_of(result).update(change)
    with pytest.raises(EvidenceError, match=r"session\.json: the plan cannot be read"):
        read_plan(result, "session.json")


def test_a_gate_of_a_metric_that_is_not_stored_is_refused() -> None:
    result = with_p99()
    result["plan"][0]["metrics"] = []
    with pytest.raises(EvidenceError, match="is of wake_p99, which is not a metric of its workload"):
        read_plan(result, "session.json")


def test_a_session_of_an_earlier_version_has_windows_and_no_metrics() -> None:
    result = facts()
    for one in result["plan"]:
        del one["metrics"]
        for gate in one["gates"]:
            gate["window"] = "total"
            del gate["metric"]
    first, _ = read_plan(result, "session.json")
    assert first.declared == {}
    assert {gate.metric for gate in first.gates} == {"total"}


def test_a_policy_of_an_earlier_version_has_one_factor_for_all_lanes() -> None:
    result = facts()
    del result["policy"]["superlinear_ideal"]
    assert read_policy(result, "s").superlinear_ideal == POLICY.superlinear


def test_policy_and_capacity_are_read_back_unchanged() -> None:
    assert read_policy(facts(), "s") == POLICY
    assert read_bounds(facts(), "primes-linux", "s") == BOUNDS
    assert read_bounds(facts(), "another-row", "s") == {}


def test_systems_workloads_and_inputs_are_stored() -> None:
    result = facts()
    assert "name: linux" in result["systems"]["linux"]
    assert result["workloads"] == {"primes": "primes"}
    assert result["inputs"] == {"labels": ["user QEMU"]}


def first_cell(found: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = found["plan"][0]["cells"][0]["cell"]
    return cell


@pytest.mark.parametrize(
    "edit",
    [
        lambda f: f.pop("plan"),
        lambda f: f.update(plan=7),
        lambda f: f.update(plan=[{"row": "x"}]),
        lambda f: first_cell(f).update(cpus=0),
        lambda f: first_cell(f).update(cpus="2"),
        lambda f: first_cell(f).update(cpus=True),
        lambda f: first_cell(f).update(mode="warp"),
        lambda f: first_cell(f).update(more=1),
        lambda f: first_cell(f).pop("system"),
        lambda f: first_cell(f).update(params={"hi": [1]}),
        lambda f: f["plan"][0]["gates"][0].update(metric="door"),
        lambda f: f["plan"][0].update(metrics=[{"name": "rps"}]),
        lambda f: f["plan"][0]["gates"][0].pop("base"),
    ],
)
def test_an_invalid_plan_is_refused(edit: Callable[[dict[str, Any]], object]) -> None:
    result = facts()
    edit(result)
    with pytest.raises(EvidenceError, match=r"session\.json: the plan cannot be read"):
        read_plan(result, "session.json")


@pytest.mark.parametrize(
    "edit",
    [
        lambda f: f.pop("policy"),
        lambda f: f.update(policy=None),
        lambda f: f["policy"].pop("looks"),
        lambda f: f["policy"].update(looks=5),
        lambda f: f["policy"].update(looks=[9, 5]),
        lambda f: f["policy"].update(alpha=0.9),
        lambda f: f["policy"].update(alpha="0.01"),
        lambda f: f["policy"].update(more=1),
    ],
)
def test_an_invalid_policy_is_refused(edit: Callable[[dict[str, Any]], object]) -> None:
    result = facts()
    edit(result)
    with pytest.raises(EvidenceError, match=r"session\.json: the policy cannot be read"):
        read_policy(result, "session.json")


@pytest.mark.parametrize(
    "bad",
    [7, {"two": {}}, {"2": 1}, {"2": {"lane": "tcg"}}, {"2": {"lane": "warp", "cpus": 2}}],
)
def test_an_invalid_capacity_is_refused(bad: object) -> None:
    result = {**facts(), "capacity": {"primes-linux": bad}}
    with pytest.raises(EvidenceError, match=r"session\.json: the capacity cannot be read"):
        read_bounds(result, "primes-linux", "session.json")


def test_without_git_the_commit_is_unavailable(tmp_path: Path) -> None:
    assert provenance.source(tmp_path) == ("unavailable", "unavailable")


def test_the_description_is_plain_json() -> None:
    said = provenance.described(Options(qemu=Path("/q")), {"pins": (0, 1)})
    assert json.loads(json.dumps(said.options))["qemu"] == "/q"
    assert said.envelope == {"pins": [0, 1]}
    assert "pytest" in said.versions


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["/usr/lib/python3/site-packages/pytest/__main__.py", "-k", "a b"], "python -m pytest -k 'a b'"),
        (["/opt/venv/bin/pytest", "tests/smp"], "pytest tests/smp"),
    ],
)
def test_the_command_can_be_pasted(argv: list[str], said: str) -> None:
    assert provenance.command(argv) == said


# ---- machines


def on_duo() -> SweepPlan:
    plan = sweep(2)
    return replace(plan, cells=tuple(replace(cell, system=cell.system.on(duo())) for cell in plan.cells))


def test_a_machine_is_recorded_with_its_text_and_read_back() -> None:
    made = provenance.planned([on_duo()], POLICY, {})
    assert made["machines"] == {"duo": {"text": DUO, "digest": duo().digest}}
    assert read_machine(made, "duo", "session.json").digest == duo().digest
    assert "machines" not in provenance.planned([sweep(2)], POLICY, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", DUO.replace("atomic_ns: 4", "atomic_ns: 5")),
        ("text", DUO.replace("name: duo", "name: trio")),
        ("text", "memory: none"),
        ("digest", "0" * 64),
        ("digest", None),
    ],
)
def test_a_recorded_machine_that_was_changed_is_refused(name: str, value: object) -> None:
    made = provenance.planned([on_duo()], POLICY, {})
    made["machines"]["duo"][name] = value
    with pytest.raises(EvidenceError, match="machine duo"):
        read_machine(made, "duo", "session.json")
