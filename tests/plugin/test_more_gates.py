"""Efficiency, overhead and scaling laws through pytest, with what the session could have seen."""

from __future__ import annotations

import json

import pytest

from benchgate.evidence.chain import manifest_text
from benchgate.evidence.check import MISMATCH, verify_session
from benchgate.evidence.files import MANIFEST, digest_of, files_below
from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import Rig

SHAPE = """\
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.efficiency(cpus=2, at_least=0.9)
@pytest.mark.overhead(cpus=2, at_most=1.1)
def test_shape(verdict):
    verdict.require_pass()
"""

LAW = """\
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.scaling(model="amdahl", cpus=(1, 2, 4), at_most=0.1)
def test_law(verdict):
    verdict.require_pass()

@pytest.mark.workload("primes", hi=10_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def test_efficiency_and_overhead_leave_their_evidence(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=SHAPE)
    result = rig.run("--cpus=0,1")
    assert result.ret == 0
    efficiency, overhead = json.loads((rig.latest / "verdicts.json").read_text())
    assert (efficiency["value"], efficiency["parameter"], efficiency["ratio"]) == (0.95, "efficiency", None)
    assert overhead["value"] == pytest.approx(1 + 1500 / 10_000_000)
    assert (efficiency["smallest_effect"], overhead["smallest_effect"]) == (0.0, 0.0)
    said = " ".join(result.stdout.str().split())  # the terminal wraps its lines
    assert "efficiency = 0.95 [0.95, 0.95] >= 0.9 (work, tcg, 5 runs per arm); smallest effect 0%" in said
    assert "## Noise floor" in (rig.latest / "summary.md").read_text()
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


def test_a_changed_effect_is_found_by_verify(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=SHAPE)
    rig.run("--cpus=0,1")
    path = rig.latest / "verdicts.json"
    path.write_text(path.read_text().replace('"smallest_effect": 0.0', '"smallest_effect": 0.1', 1))
    digests = {name: digest_of(rig.latest, name) for name in files_below(rig.latest) if name != MANIFEST}
    (rig.latest / MANIFEST).write_text(manifest_text(digests))
    assert verify_session(rig.latest, rejudge.recompute).exit_code == MISMATCH


def test_a_law_without_all_of_its_arms_decides_nothing(rig: Rig) -> None:
    """Two host CPUs cannot seat four vCPUs; the other arms are measured, and nobody gates them."""
    rig.pytester.makepyfile(test_scaling=LAW)
    result = rig.run("--cpus=0,1")
    assert result.ret == 5
    law, *_ = json.loads((rig.latest / "verdicts.json").read_text())
    assert (law["gate"], law["outcome"]) == ("scaling", "SKIP")
    assert "4 CPUs need 4 host CPUs" in law["reason"]


def test_a_count_that_no_threshold_uses_is_said(rig: Rig) -> None:
    rig.pytester.makepyfile(
        test_scaling=LAW.replace(
            'scaling(model="amdahl", cpus=(1, 2, 4), at_most=0.1)',
            'limit(cpus=2, metric="work", at_most=1e12)',
        )
    )
    result = rig.run("--cpus=0,1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ungated (no threshold): primes.hi-10000-fake smp1"])


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (
            'scaling(model="usl", parameter="sigma", cpus=(1, 2, 4), at_most=0.1)',
            "*usl needs 5 CPU counts, as in cpus=(1, 2, 4, 8, 16), not 3*",
        ),
        ('scaling(model="amdahl", cpus=4, at_most=0.1)', "*amdahl needs 3 CPU counts*not 1*"),
        ('scaling(model="gustafson", cpus=(1, 2, 4), at_most=0.1)', "*model='gustafson': use amdahl or usl*"),
        ("efficiency(cpus=2, at_least=1.2)", "*at_least=1.2 decides nothing: the efficiency of 2 CPUs*"),
        ("overhead(cpus=2, at_most=0.9)", "*the total is never shorter than the work*"),
    ],
)
def test_a_mistake_in_a_mark_is_one_sentence(rig: Rig, mark: str, said: str) -> None:
    rig.pytester.makepyfile(
        test_scaling=LAW.replace('scaling(model="amdahl", cpus=(1, 2, 4), at_most=0.1)', mark)
    )
    result = rig.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
