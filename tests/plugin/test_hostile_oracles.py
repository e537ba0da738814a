"""An oracle that does anything but answer makes its runs INVALID, and nothing else: neither the session nor a
healthy row beside it ends, hangs or becomes quiet. The sessions run in processes of their own, so that an
oracle that ends its process cannot end this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines import PATIENCE_S
from tests.plugin.conftest import Rig, console
from tests.plugin.test_extensions import WORKLOAD

TESTS = """\
import pytest

pytestmark = pytest.mark.smp

@pytest.mark.workload("{folder}/mine")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_hostile(verdict):
    verdict.require_pass()

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_healthy(verdict):
    verdict.require_pass()
"""

OWN_CONSOLE = """
from benchgate.session.measuring import MeasuringSession
import shutil
from pathlib import Path

folder, attempts = Path({folder!r}), MeasuringSession.attempts

def chosen(self, group):
    (asked,) = group
    cell = asked.planned.cell
    shutil.copy(folder / f"{{cell.workload}}-smp{{cell.cpus}}.log", folder / f"smp{{cell.cpus}}.log")
    return attempts(self, group)

MeasuringSession.attempts = chosen
"""


def check(body: str) -> str:
    return f"import os, sys\ndef check(params, reports, result):\n    {body}\n"


HOSTILE = {  # more of them, without a session, are in tests/unit/judge/oracles/test_oracle.py
    "skip": (check("import pytest; pytest.skip('so green')"), "Skipped: so green"),
    "os-exit": (check("os._exit(0)"), "exit status 0"),
    "interrupt": (check("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "exit-at-import": ("import os\nos._exit(0)\n", "exit status 0"),
}


@pytest.fixture
def hostile(rig: Rig, tmp_path: Path) -> Rig:
    """A row of the user's own workload, whose oracle each test writes, and a healthy row."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workload.yaml").write_text(WORKLOAD)
    (tmp_path / "mine" / "mine.c").write_text("")
    rig.pytester.makepyfile(test_scaling=TESTS.format(folder=tmp_path))
    for cpus, work in enumerate((19_000_000, 10_000_000), 1):
        text = console(cpus, work)
        (tmp_path / f"primes-smp{cpus}.log").write_text(text)
        (tmp_path / f"mine-smp{cpus}.log").write_text(text.replace("workload=primes", "workload=mine"))
    conftest = rig.pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + OWN_CONSOLE.format(folder=str(tmp_path)))
    return rig


def run(rig: Rig, oracle: str) -> pytest.RunResult:
    (rig.folder / "mine" / "oracle.py").write_text(oracle)
    return rig.pytester.runpytest_subprocess(*rig.arguments())


def judge_again(rig: Rig, command: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "benchgate.cli", command, str(rig.latest), f"--workload={rig.folder}/mine"]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def outcomes(rig: Rig) -> dict[str, str]:
    result = json.loads((rig.latest / "verdicts.json").read_text())
    return {one["workload"]: one["outcome"] for one in result}


def recorded(rig: Rig) -> tuple[int, int]:
    """The attempts that began, and those that results.csv has."""
    rows = (rig.latest / "results.csv").read_text().splitlines()[1:]
    return len(list((rig.latest / "runs").iterdir())), len(rows)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "skip" else pytest.mark.long) for name in HOSTILE]
)
def test_an_oracle_that_does_not_answer_makes_only_its_own_runs_invalid(hostile: Rig, name: str) -> None:
    oracle, why = HOSTILE[name]
    result = run(hostile, oracle)
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    assert outcomes(hostile) == {"mine": "INVALID", "primes": "PASS"}
    result.stdout.fnmatch_lines([f"INVALID: mine-fake smp2/smp1: *oracle.py*{why}*"])
    began, kept = recorded(hostile)
    assert began == kept >= 2 * 5
    verified = judge_again(hostile, "verify")
    assert (verified.returncode, "intact" in verified.stdout) == (0, True)
    rejudged = judge_again(hostile, "rejudge")
    assert rejudged.returncode == 1
    assert why in rejudged.stdout.replace("\n  ", " ")


def test_an_oracle_that_was_killed_is_no_contradiction_when_it_answers_later(hostile: Rig) -> None:
    """The host seems to have run out of memory, and to have some later."""
    sign = hostile.folder / "no-memory"
    sign.touch()
    body = f"if os.path.exists({str(sign)!r}): os.kill(os.getpid(), 9)"
    assert run(hostile, check(body)).ret == 1
    assert outcomes(hostile) == {"mine": "INVALID", "primes": "PASS"}
    sign.unlink()
    verified = judge_again(hostile, "verify")
    assert (verified.returncode, "intact" in verified.stdout) == (0, True), verified.stdout
    assert "signal SIGKILL), in each of 3 tries" in judge_again(hostile, "rejudge").stdout.replace(
        "\n  ", " "
    )


def test_an_oracles_text_cannot_control_the_terminal_or_the_ci_runner(hostile: Rig) -> None:
    text = "\\x1b[2Jgone\\n::set-output name=x::y\\r\\n##[set-output name=x]y ::add-mask::z"
    result = run(hostile, f"from benchgate import VerifyError\n{check(f'raise VerifyError({text!r})')}")
    assert result.ret == 1
    assert outcomes(hostile)["mine"] == "INVALID"
    shown = [result.stdout.str(), result.stderr.str()]
    shown += [judge_again(hostile, command).stdout for command in ("verify", "rejudge")]
    assert "gone" in shown[0]
    assert "gone" in shown[1]  # the progress line
    for each in shown:
        assert "\x1b" not in each
        assert "##[" not in each
        assert [line for line in each.splitlines() if line.strip().startswith("::")] == []


def test_what_an_oracle_prints_stays_in_its_process(hostile: Rig) -> None:
    oracle = check("print('spoken'); os.write(1, b'spoken'); os.write(2, b'spoken')")
    result = run(hostile, oracle)
    assert result.ret == 0
    assert "spoken" not in result.stdout.str() + result.stderr.str()


NO_PROCESS = """
from benchgate.judge.oracles import oracle

def refused(*_):
    raise OSError(24, "Too many open files")

oracle.OracleProcess = refused
"""


def test_a_host_that_cannot_start_an_oracle_ends_the_session_and_loses_no_attempt(hostile: Rig) -> None:
    conftest = hostile.pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + NO_PROCESS)
    result = run(hostile, check("pass"))
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert "cannot start the process of the oracle" in said
    assert "Too many open files" in said
    assert "Traceback" not in said
    assert recorded(hostile) == (1, 1)
    assert judge_again(hostile, "verify").returncode == 11


UNLOADABLE = {
    "module": ("import os\nimport nosuch_module\n", "oracle.py:2: ModuleNotFoundError: *nosuch_module*"),
    "syntax": ("\n\ndef check(:\n", "oracle.py:3: SyntaxError: *"),
    "no function": ("def verify(params, reports, result): pass\n", "oracle.py:1: TypeError: it defines no *"),
}


@pytest.mark.parametrize("name", UNLOADABLE)
def test_an_oracle_that_cannot_be_loaded_is_refused_before_anything_is_measured(
    hostile: Rig, name: str
) -> None:
    oracle, why = UNLOADABLE[name]
    (hostile.folder / "mine" / "oracle.py").write_text(oracle)
    for words, code in (((), 4), (("--collect-only",), 0), (("--plan",), 0), (("-k", "healthy"), 0)):
        result = hostile.run(*words)
        assert (words, result.ret) == (words, code)
        if code:
            result.stderr.fnmatch_lines([f"ERROR: *{why}"])
            assert "oracle of workload mine" in result.stderr.str()
            assert not (hostile.folder / "reports").exists()
