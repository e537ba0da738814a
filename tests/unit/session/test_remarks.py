"""Notes on a session: a policy that is not the shipped one, and the thresholds."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.jsonfields import as_json
from benchgate.evidence import provenance
from benchgate.evidence.files import SESSION
from benchgate.plan import catalog, marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedGate, SweepPlan
from benchgate.session.rejudging.trust import TrustedPrograms
from benchgate.session.remarks import count_notes, guest_notes, idle_cpus_notes, machine_notes, remarks
from tests.unit import plans
from tests.unit.factories import POLICY
from tests.unit.machines import duo
from tests.unit.plans import GROUND, sweep
from tests.unit.sessions import END, new_session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = new_session(tmp_path / "reports")
    made.update(**provenance.planned([sweep(2, hi=100_000)], POLICY, {}))
    made.close(END)
    return made.folder


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / SESSION
    facts = json.loads(path.read_text())
    edit(facts)
    path.write_text(json.dumps(facts))


def test_a_policy_that_differs_from_the_shipped_one_is_said(folder: Path) -> None:
    shipped = {"name": "default", "looks": [5, 9, 15, 25], "alpha": 0.0276, "overall_error": 0.05}
    shipped |= {
        "first": 5,
        "max_runs": 25,
        "minutes": 5.0,
        "superlinear": 1.05,
        "superlinear_ideal": 1.01,
        "capacity_reach": 0.9,
        "warmups": 1,
        "apart": 0.2,
        "void": asdict(POLICY.void),
    }
    change(folder, lambda facts: facts.update(policy=shipped | {"informs": ""}))
    assert not [remark for remark in remarks(folder, TrustedPrograms()) if "policy" in remark]
    change(folder, lambda facts: facts["policy"].update(first=7, max_runs=9))
    assert not [remark for remark in remarks(folder, TrustedPrograms()) if "policy" in remark]
    change(folder, lambda facts: facts["policy"].update(alpha=0.049, superlinear=3.0))
    (said,) = (remark for remark in remarks(folder, TrustedPrograms()) if "policy" in remark)
    assert said.endswith(": alpha 0.049, superlinear 3.0 (shipped: alpha 0.0276, superlinear 1.05)")


def test_a_session_from_before_groups_says_that_it_looked_for_none(folder: Path) -> None:
    shipped = as_json(catalog.load_policy("default"))
    del shipped["apart"]
    change(folder, lambda facts: facts.update(policy={**shipped, "informs": ""}))
    (said,) = (remark for remark in remarks(folder, TrustedPrograms()) if "policy" in remark)
    assert said.endswith("apart 0.0 (shipped: apart 0.2)")


def test_which_clock_decides_is_said(folder: Path) -> None:
    assert not [remark for remark in remarks(folder, TrustedPrograms()) if "clock" in remark]
    looks = {"wall": [5, 25], "insn": [5, 5]}
    change(
        folder,
        lambda facts: facts.update(
            clocks={"decides": "insn", "because": "wall time does not qualify: two\nlines", "looks": looks}
        ),
    )
    (said,) = (remark for remark in remarks(folder, TrustedPrograms()) if "clock" in remark)
    assert said.endswith("the instruction clock decides, because wall time does not qualify: two lines")


def test_the_thresholds_are_said(folder: Path) -> None:
    change(folder, lambda facts: facts["plan"][0]["gates"][0].update(at_least=1.2, insn=1.25))
    (said,) = (remark for remark in remarks(folder, TrustedPrograms()) if "thresholds" in remark)
    assert re.search(r": speedup at_least=1\.2 insn=1\.25 \(1 gate\); next: --tests PATH", said)


def test_the_result_of_a_comparison_replaces_the_list_of_thresholds(folder: Path) -> None:
    assert remarks(folder, TrustedPrograms(), ("one differs",))[1:] == ("one differs",)
    assert remarks(folder, TrustedPrograms(), ())[1:] == ("the thresholds of 1 gate are those of the tests",)


@pytest.mark.parametrize("edit", [lambda f: f.pop("plan"), lambda f: f.update(policy=3)])
def test_a_session_that_cannot_be_read_has_no_remarks(
    folder: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    change(folder, edit)
    assert remarks(folder, TrustedPrograms()) == ()


def on_duo(**words: str) -> SweepPlan:
    """A sweep whose cells are on the machine, of a system with these words for QEMU."""
    plan = plans.sweep(2)
    cells = tuple(
        replace(cell, system=replace(cell.system, qemu=replace(cell.system.qemu, **words)).on(duo()))  # type: ignore[arg-type]
        for cell in plan.cells
    )
    return replace(plan, cells=cells)


def test_each_machine_is_named_once_with_its_source() -> None:
    assert machine_notes([on_duo(), on_duo()]) == (f"machine duo ({duo().digest[:12]}): invented",)


def test_a_guest_that_is_not_told_is_named() -> None:
    (_, told) = machine_notes([on_duo(smp="{n},sockets={n}")])
    assert told.startswith("linux-duo has a topology of its own in its YAML, so the guest is not told")


def test_the_ideal_machine_needs_no_words() -> None:
    assert machine_notes([plans.sweep(2)]) == ()


def test_a_row_whose_kernels_differ_is_named() -> None:
    plan = plans.sweep(2)
    cells = tuple(
        replace(cell, system=replace(cell.system, boot=replace(cell.system.boot, kernel="k{n}.elf")))
        for cell in plan.cells
    )
    (said,) = guest_notes([replace(plan, cells=cells)])
    assert said.startswith("primes-linux: its kernels differ: each of smp1, smp2 boots files of its own")
    assert guest_notes([plan]) == ()


def test_a_count_of_smp_that_no_test_measures_is_named() -> None:
    (said,) = count_notes([plans.sweep(2)], (2, 3, 16))
    assert said.startswith("--smp 3,16: no selected test measures at this CPU count")
    assert count_notes([plans.sweep(2)], (1, 2)) == ()
    assert count_notes([], (2,)) == ()


P99 = ("limit", {"cpus": 2, "metric": "wakeup_p99", "at_most": 50_000})
RPS = ("limit", {"cpus": 2, "metric": "rps", "at_least": 1600})


def notes(*gates: tuple[str, dict[str, object]], options: Options | None = None) -> tuple[str, ...]:
    """The notes of a session in which each gate has a test of its own."""
    chosen = options or Options()
    planned: list[PlannedGate] = []
    for kind, arguments in gates:
        result: dict[str, list[MarkArguments]] = defaultdict(list)
        result[kind].append(MarkArguments((), arguments))
        request = marks.read(MarkArguments(("schbench",), {}), result)
        planned.extend(planner.plan_gates(request, chosen, GROUND))
    return idle_cpus_notes(planner.sweeps([], planned))


def test_a_limit_on_a_percentile_alone_is_pointed_out() -> None:
    (note,) = notes(P99)
    assert note.startswith("schbench-linux-smp2-limit-wakeup_p99: wakeup_p99 ")
    assert note.endswith('limit(cpus=2, metric="rps", at_least=...)')


@pytest.mark.parametrize(
    "other",
    [
        RPS,
        ("speedup", {"cpus": 2, "metric": "rps", "at_least": 1.6}),
        ("ratio", {"to": "kernel", "cpus": 2, "metric": "rps", "at_least": 1.0}),
        ("efficiency", {"cpus": 2, "metric": "rps", "at_least": 0.8}),
    ],
)
def test_a_rate_at_the_same_count_sees_it(other: tuple[str, dict[str, object]]) -> None:
    assert notes(P99, other) == ()
    assert notes(other, P99) == ()


@pytest.mark.parametrize(
    "other",
    [
        ("limit", {"cpus": 2, "metric": "rps", "at_most": 1600}),
        ("speedup", {"cpus": 2, "metric": "rps", "at_most": 1.1}),
        ("speedup", {"cpus": 4, "metric": "rps", "at_least": 3}),
        ("limit", {"cpus": 2, "metric": "request_p99", "at_most": 10**9}),
        ("overhead", {"cpus": 2, "at_most": 1.1}),
    ],
)
def test_what_does_not_see_it_is_no_excuse(other: tuple[str, dict[str, object]]) -> None:
    (note,) = [
        text for text in notes(P99, other, options=Options(oversubscribe=True)) if "smp2-limit" in text
    ]
    assert note.startswith("schbench-linux-smp2-limit-")


@pytest.mark.parametrize(
    "alone",
    [
        RPS,
        ("limit", {"cpus": 1, "metric": "wakeup_p99", "at_most": 50_000}),
        ("limit", {"cpus": 2, "metric": "wakeup_p99", "at_least": 50_000}),
        ("limit", {"cpus": 4, "metric": "wakeup_p99", "at_most": 50_000}),  # skipped: there are two CPUs
    ],
)
def test_nothing_is_pointed_out_where_it_does_not_apply(alone: tuple[str, dict[str, object]]) -> None:
    assert notes(alone) == ()


@pytest.mark.parametrize(
    "alone",
    [
        ("ratio", {"to": "kernel", "cpus": 2, "metric": "wakeup_p99", "at_least": 1.0}),
    ],
)
def test_comparing_latencies_alone_is_the_same(alone: tuple[str, dict[str, object]]) -> None:
    assert len(notes(alone)) == 1
