"""The C of scenario on this host, which has no service `control`: right answers, and refused lies."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.workload.workloads import Workload
from benchgate.judge.wire import failure_line
from benchgate.plan import catalog
from tests.nativekit import execute, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")
MS = 1_000_000
KINDS = {
    "spin": "Gt2r500",
    "sleep": "Gt2k1r500o100",
    "burst": "Gt2k2r500o1000",
    "pipe": "Gt4k3r500",
    "chain": "Gt3k4r500",
    "yield": "Gt2k5r500",
    "faults": "Gt2k6r500o4",
    "calls": "Gt2k7r500o10",
    "alone in a chain": "Gt1k4r500",
    "two groups and phases": "Gt1r500b5000Gt1k1r500o100e4000",
}


def planned(plan: str, folder: Path | None = None) -> Workload:
    """The workload with this plan, of a copy of its sources."""
    workload = catalog.load_workload("scenario")
    pieces = {"p1": plan, "p2": ".", "p3": ".", "p4": "."}
    params = {
        name: replace(spec, default=pieces[name], choices=(pieces[name],)) if name in pieces else spec
        for name, spec in workload.params.items()
    }
    source = workload.source if folder is None else folder / workload.source.name
    return replace(workload, params=params, source=source)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_gives_right_answers(kind: str, tmp_path: Path) -> None:
    workload = planned(KINDS[kind])
    verified = verified_by(run_of(tmp_path, workload, 2, time_ns=10 * MS), workload)
    assert verified.metrics["turns_per_s"] > 0


def test_a_group_that_begins_later_makes_no_round_before(tmp_path: Path) -> None:
    workload = planned("Gt1r500b9000000")
    run = verified_by(run_of(tmp_path, workload, 1, time_ns=10 * MS), workload)
    assert run.result["rounds"] == 0


LIES = [
    ("spin", "kinds.h", "bench_turns(me->number, turns)", "me->number", "worker 0 reported number"),
    ("spin", "kinds.h", "me->turns += turns", "me->turns += turns / 2", "worker 0 reported turns"),
    ("spin", "scenario.c", ": job->deadline,", ": start,", "the work window has"),
    ("pipe", "scenario.c", "= me.rounds;", "= me.rounds + worker;", "worker 1 reported turns"),
    (
        "chain",
        "kinds.h",
        "        bench_post(next, round);",
        "        if (me->place == 1)\n            one_round(me);\n        bench_post(next, round);",
        "the threads of the chain",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=[one[4] for one in LIES])
def test_a_lie_is_refused(lie: tuple[str, str, str, str, str], tmp_path: Path) -> None:
    kind, file, old, new, said = lie
    folder = tmp_path / "sources"
    shutil.copytree(catalog.load_workload("scenario").source.parent, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    workload = planned(KINDS[kind], folder)
    with pytest.raises(VerifyError, match=said):
        verified_by(run_of(tmp_path, workload, 2, time_ns=100 * MS), workload)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("t2r5", "the plan begins with no entry"),
        ("Xt2r5", "the plan has an entry too many, or of no known kind"),
        ("Gt1r1" * 9, "an entry too many"),
        ("G12", "a number that cannot be read"),
        ("Gt1r99999999999999999999", "a number that cannot be read"),
        ("Gt1r1:2", "a number that cannot be read"),
        ("Gr5", "a group of the plan has no thread"),
        ("Gt64r5", "a group of the plan has no thread, or all have more than 63"),
        ("Gt1k8r5", "no known kind"),
        ("Gt1r0", "no known kind, or turns"),
        ("Gt3k3r5", "the threads of a pipe are pairs"),
        ("Gt1k6r5o4097", "too many pages"),
        ("Gt1r5c5", "in no control group of it"),
        ("Gt1r5Et0g1n5", "a change of the plan is of no group of it"),
        ("Gt1r5Et0l1w5", "a change of the plan is of no group of it"),
        ("Gt1r5Lw5Et0g0c2", "moves to no control group of it"),
        ("Gt1r5n25", "needs the service `control`, and this program is built without it"),
        (".", "the plan has no group"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_ends_the_run(plan: str, said: str) -> None:
    workload = planned(plan)
    done = execute(workload, words(workload, 1))
    assert done.returncode != 0
    assert said in failure_line(done.stdout)
