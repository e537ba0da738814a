"""A against B through pytest: one system twice with other settings, a ratio to A, and its evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate.evidence.check import verify_session
from benchgate.session.rejudging import rejudge, thresholds
from tests.plugin.conftest import Rig, console

TESTS = """
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.ratio(to="A", cpus=2, at_least=0.98)
def test_is_not_slower(verdict):
    verdict.require_pass()
"""
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(rig: Rig) -> Run:
    """Runs the test on `fake.yaml` (A), whose work takes 10 ms, and on the other words of --system. With
    `speed=half` it takes 20 ms; `kernel` is a file."""
    for name, work in (("full", 10_000_000), ("half", 20_000_000)):
        (rig.folder / name).mkdir()
        (rig.folder / name / "smp2.log").write_text(console(2, work))
    (rig.folder / "new").mkdir()
    (rig.folder / "new/kernel").write_bytes(b"patched")
    rig.pytester.makepyfile(test_scaling=TESTS)
    rig.more = "settings: {kernel: {file: kernel}, speed: {choices: [full, half], default: full}}\n"

    def with_systems(*systems: str, more: tuple[str, ...] = ()) -> pytest.RunResult:
        words = rig.arguments(*(f"--system={system}" for system in systems), *more)
        file = rig.folder / "fake.yaml"
        text = file.read_text().replace("kernel: kernel", 'kernel: "{kernel}"')
        file.write_text(text.replace(f"={rig.folder}/smp", f"={rig.folder}/{{speed}}/smp"))
        return rig.pytester.runpytest_inprocess(*words)

    return with_systems


def other(rig: Rig, settings: str) -> str:
    return f"{rig.folder}/fake.yaml:{settings}"


def facts(rig: Rig) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((rig.latest / "session.json").read_text())
    return result


def test_a_second_kernel_is_gated_against_the_first_and_its_evidence_is_intact(rig: Rig, run: Run) -> None:
    result = run(other(rig, f"kernel={rig.folder}/new/kernel"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["PASS: primes.hi-10000 smp2 fake.kernel-kernel/fake = 1.00 ?1.00, 1.00? >= *"]
    )
    found = facts(rig)
    assert found["letters"] == {"A": "fake", "B": "fake.kernel-kernel"}
    digests = {row: value["kernel"] for row, value in found["inputs"].items() if "primes" in row}
    assert digests == {
        "primes.hi-10000-fake": hashlib.sha256(b"kernel").hexdigest(),
        "primes.hi-10000-fake.kernel-kernel": hashlib.sha256(b"patched").hexdigest(),
    }
    assert "B is fake.kernel-kernel (kernel=" in (rig.latest / "summary.md").read_text().replace("\\", "")
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


def test_a_slower_one_fails(rig: Rig, run: Run) -> None:
    result = run(other(rig, "speed=half"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL: primes.hi-10000 smp2 fake.speed-half/fake = 0.50 ?0.50, 0.50? < *"])


def test_alone_nothing_is_decided(run: Run) -> None:
    result = run()
    assert result.ret == 5
    result.assert_outcomes(skipped=1)


def test_the_plan_says_which_is_which(rig: Rig, run: Run) -> None:
    result = run(other(rig, f"kernel={rig.folder}/new/kernel"), more=("--plan",))
    result.stdout.fnmatch_lines(
        [
            "A is fake",
            f"B is fake.kernel-kernel (kernel={rig.folder}/new/kernel)",
            "*ratio of work to fake, at least 0.98",
        ]
    )
    assert not rig.latest.exists()


def test_the_plan_names_the_letters_of_a_setting(rig: Rig, run: Run) -> None:
    result = run(other(rig, "speed=half"), more=("--plan",))
    result.stdout.fnmatch_lines(
        ["A is fake", "B is fake.speed-half", "*: ratio of work to fake, at least 0.98"]
    )


def test_the_plan_of_one_system_skips_its_ratio(run: Run) -> None:
    result = run(more=("--plan",))
    result.stdout.fnmatch_lines(
        ["  gate *: ratio of work to fake, at least 0.98: SKIP: *not compared with itself*"]
    )


def test_the_thresholds_of_a_letter_are_those_of_the_marks(rig: Rig, run: Run) -> None:
    run(other(rig, "speed=half"))
    assert thresholds.of_session(rig.latest, [str(rig.pytester.path / "test_scaling.py")]) == ()
    lowered = (rig.latest / "session.json").read_text().replace("0.98", "0.48")
    (rig.latest / "session.json").write_text(lowered)
    (said,) = thresholds.of_session(rig.latest, [str(rig.pytester.path / "test_scaling.py")]) or ()
    assert "at_least is 0.48 in the session and 0.98 in" in said


def test_a_gate_of_an_earlier_version_is_judged_again(rig: Rig, run: Run) -> None:
    """Sessions of earlier versions have the kind `compare`, and no letters."""
    run(other(rig, "speed=half"))
    result = facts(rig)
    del result["letters"]
    text = json.dumps(result).replace('"kind": "ratio"', '"kind": "compare"')
    (rig.latest / "session.json").write_text(text)
    (verdict,) = json.loads(rejudge.recompute(rig.latest)["verdicts.json"])
    assert (verdict["gate"], verdict["outcome"], verdict["ratio"]) == ("compare", "FAIL", 0.5)


def test_a_kernel_that_changes_during_the_session_ends_it(rig: Rig, run: Run, tmp_path: Path) -> None:
    patched = tmp_path / "new/kernel"
    rig.pytester.makepyfile(test_scaling=TESTS.replace(
        "    verdict.require_pass()", f'    open({str(patched)!r}, "wb").write(b"built again")') + '''
@pytest.mark.workload("primes", hi=11_000)
@pytest.mark.ratio(to="A", cpus=2, at_least=0.98)
def test_later(verdict):
    verdict.require_pass()
''')  # fmt: skip
    result = run(other(rig, f"kernel={patched}"))
    assert result.ret == 4
    result.stdout.fnmatch_lines([f"*{patched} was changed while primes-fake.kernel-kernel was*"])
