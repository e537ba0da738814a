"""Weak scaling through pytest: two CPUs with twice the work, in two rows, judged again from disk."""

from __future__ import annotations

import json

import jsonschema
import pytest

from benchgate import cli
from benchgate.base.paths import data_root
from benchgate.evidence.check import verify_session
from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import HI, Rig, console

TEST = """\
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.weak(cpus=2, grows="hi", at_least=0.9)
def test_keeps_up(verdict):
    verdict.require_pass()
"""
FIGURE = "primes.hi-20000-fake-smp2 over primes.hi-10000-fake-smp1 weak efficiency = "


@pytest.fixture
def weak(rig: Rig) -> Rig:
    rig.pytester.makepyfile(test_scaling=TEST)
    return rig


def consoles(rig: Rig, base: int, cell: int) -> None:
    (rig.folder / "smp1.log").write_text(console(1, base))
    (rig.folder / "smp2.log").write_text(console(2, cell, hi=2 * HI))


@pytest.mark.parametrize(
    ("cell", "word", "value"),
    [
        (20_000_000, "PASS", "0.95 [0.95, 0.95] >= 0.9"),
        (38_000_000, "FAIL", "0.50 [0.50, 0.50] < 0.9"),
        (10_000_000, "INVALID", "1.90 [1.90, 1.90], above 1.05: the work cannot have grown with the CPUs"),
    ],
)
def test_the_verdict_names_both_cells_and_is_repeated_from_disk(
    weak: Rig, cell: int, word: str, value: str
) -> None:
    consoles(weak, 19_000_000, cell)
    result = weak.run("--cpus=0,1")
    assert result.ret == (0 if word == "PASS" else 1)
    (found,) = verdicts = json.loads((weak.latest / "verdicts.json").read_text())
    assert found["reason"].startswith(f"{word}: {FIGURE}{value}")
    assert (found["params"]["hi"], found["base_cpus"], found["cpus"]) == (20_000, 1, 2)
    assert (found["gate"], found["id"]) == ("weak", "primes.hi-20000-fake-smp2-weak-hi")
    jsonschema.validate(verdicts, json.loads((data_root() / "reports/schema/verdicts-2.json").read_text()))
    rows = (weak.latest / "results.csv").read_text()
    assert "hi=10000" in rows
    assert "hi=20000" in rows
    assert verify_session(weak.latest, rejudge.recompute).exit_code == 0


def test_verify_compares_its_threshold_with_that_of_the_test(
    weak: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    consoles(weak, 19_000_000, 20_000_000)
    assert weak.run("--cpus=0,1").ret == 0
    capsys.readouterr()
    assert cli.main(["verify", str(weak.latest), "--tests", "test_scaling.py"]) == 0
    assert "the thresholds of 1 gate are those of the tests" in capsys.readouterr().out


def test_the_plan_has_both_rows_in_one_sweep(weak: Rig) -> None:
    result = weak.run("--plan", "--cpus=0,1", "--set=primes.hi=30000", play="cannot-start")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "sweep primes.hi-30000-fake and primes.hi-60000-fake",
            "  gate   primes.hi-60000-fake-smp2-weak-hi: weak of work over smp1, grows hi, at least 0.9",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (
            'weak(cpus=2, grows="split", at_least=0.9)',
            "*mark weak: grows='split' is no parameter of workload *",
        ),
        (
            'weak(cpus=2, grows="nosuch", at_least=0.9)',
            "*mark weak: grows='nosuch' is no parameter of *has hi",
        ),
        ("weak(cpus=3, base=2, at_least=0.9)", "*mark weak: cpus=3 is no multiple of base=2"),
        ("weak(cpus=2, grows=2, at_least=0.9)", "*mark weak: grows=2 is not a word*"),
        ("weak(cpus=2, at_least=0.4)", "*weak: at_least=0.4 decides nothing: *"),
    ],
)
def test_a_mark_that_cannot_be_meant_is_refused(rig: Rig, mark: str, message: str) -> None:
    text = (
        f'import pytest\n\n@pytest.mark.workload("primes")\n@pytest.mark.{mark}\ndef test_it(verdict): pass\n'
    )
    rig.pytester.makepyfile(test_scaling=text)
    result = rig.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
