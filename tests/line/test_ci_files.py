"""The GitHub action and the GitLab template: their shell steps run, with stand-ins for pip and apt only.

`pytest` and `benchgate` are the real ones; nothing boots, because pytest gets `--plan`, and the session that
is verified was made without a boot.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchgate.render.reports import rendered
from tests import forgerykit, optional
from tests.line.sessions import REPO
from tests.machines import PATIENCE_S
from tests.unit.evidence.test_chain import line_of, new_key
from tests.unit.factories import scaled_view

ACTION = yaml.safe_load((REPO / "action.yml").read_text())
DOC = (REPO / "docs" / "how-to" / "run-in-ci.md").read_text()
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
TEMPLATE = yaml.safe_load((REPO / "templates" / "benchgate.gitlab-ci.yml").read_text())
JOB = TEMPLATE[".benchgate"]
TEST = """
import pytest

@pytest.mark.smp
@pytest.mark.workload("primes")
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
def test_scales(verdict):
    verdict.require_pass()
"""
STAND_IN = """#!/bin/sh
echo "{name} $*" >>"$CALLS"
"""
BENCHGATE = """#!/bin/sh
# Set-up needs a network, so only its words are tried.
case "$1" in
  setup | doctor) echo "benchgate $*" >>"$CALLS"; exec "$PYTHON" -m benchgate.cli "$@" --help ;;
  *) exec "$PYTHON" -m benchgate.cli "$@" ;;
esac
"""
PYTEST = """#!/bin/sh
# Only Hypothesis is left out: it takes a third of the time, and there is no property to test.
exec "$PYTHON" -m pytest -p no:hypothesispytest "$@"
"""
VENV = """#!/bin/sh
mkdir -p .benchgate-venv/bin
cp "$PROGRAMS"/pip "$PROGRAMS"/benchgate "$PROGRAMS"/pytest .benchgate-venv/bin
"""


MAKES_NOTHING = "--version"
"""With this word pytest succeeds and leaves the reports as they are."""


class Runner:
    """A folder with a user's repository, and the programs that a runner has."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder / "repository", folder / "programs"
        self.calls, self.output = folder / "calls", folder / "output"
        for path in (self.folder, self.programs):
            path.mkdir()
        (self.folder / "test_scaling.py").write_text(TEST)
        (self.folder / "pytest.ini").write_text("[pytest]\n")
        self.calls.write_text("")
        self.output.write_text("")
        texts = {name: STAND_IN.format(name=name) for name in ("pip", "apt-get")}
        for name, text in {**texts, "benchgate": BENCHGATE, "pytest": PYTEST, "python3": VENV}.items():
            path = self.programs / name
            path.write_text(text)
            path.chmod(0o755)

    def run(self, script: str, *shell: str, **given: str) -> subprocess.CompletedProcess[str]:
        result = {
            name: value for name, value in os.environ.items() if not name.startswith(("GITHUB", "PYTEST"))
        }
        return subprocess.run(
            [*(shell or ("bash", "--noprofile", "--norc", "-eo", "pipefail")), "-c", script],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            env={
                **result,
                "PATH": f"{self.programs}:{os.environ['PATH']}",
                "PYTHON": sys.executable,
                "PYTHONPATH": str(REPO / "src"),
                "PROGRAMS": str(self.programs),
                "CALLS": str(self.calls),
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_ACTION_PATH": str(REPO),
                **given,
            },
        )

    def step(self, name: str, **given: str) -> subprocess.CompletedProcess[str]:
        """A step of the action, with exactly the variables that it declares."""
        assert given.keys() <= STEPS[name]["env"].keys()
        empty = dict.fromkeys(STEPS[name]["env"], "")
        return self.run(STEPS[name]["run"], **{**empty, **given})

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


# ---- the action


def test_no_input_can_become_part_of_a_script() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(scripts) >= 4
    assert [script for script in scripts if "${{" in script] == []


def test_every_output_and_input_is_used() -> None:
    text = (REPO / "action.yml").read_text()
    assert {name for name in ACTION["inputs"] if f"inputs.{name}" not in text} == set()
    for name in ACTION["outputs"]:
        assert f'echo "{name}=' in STEPS["gate"]["run"]
    assert all(step.get("shell") == "bash" for step in ACTION["runs"]["steps"] if "run" in step)


def test_the_install_step_installs_the_action_or_what_is_named(runner: Runner) -> None:
    done = runner.step("install")
    assert done.returncode == 0, done.stderr
    assert "usage: benchgate setup" in done.stdout
    runner.step("install", PACKAGE="pytest-benchgate==0.1.0; echo hello")
    pip = [line for line in runner.calls.read_text().splitlines() if line.startswith("pip")]
    assert pip == [f"pip install {REPO}", "pip install pytest-benchgate==0.1.0; echo hello"]


def test_the_gate_step_passes_quoted_words_to_pytest(runner: Runner) -> None:
    done = runner.step("gate", ARGUMENTS="--plan -m 'smp or threads' --clock insn", REPORTS="out")
    assert runner.outputs == {"status": "0"}, done.stdout + done.stderr
    assert "primes-linux-smp2" in done.stdout
    assert not (runner.folder / "out").exists()


def test_a_failure_of_pytest_is_an_output_and_decides_at_the_end(runner: Runner) -> None:
    done = runner.step("gate", ARGUMENTS="--plan --clock moon", REPORTS="out")
    assert done.returncode == 0
    assert runner.outputs["status"] == "4"
    assert runner.step("decide", STATUS="4").returncode == 4
    assert runner.step("gate", ARGUMENTS="--plan 'no end", REPORTS="out").returncode != 0


@pytest.mark.parametrize(
    ("status", "inconclusive", "code"),
    [("0", "fail", 0), ("1", "accept", 1), ("75", "fail", 75), ("75", "accept", 0), ("5", "accept", 5)],
)
def test_the_last_step_decides(runner: Runner, status: str, inconclusive: str, code: int) -> None:
    assert runner.step("decide", STATUS=status, INCONCLUSIVE=inconclusive).returncode == code


def test_a_session_is_found_signed_and_verified(runner: Runner, tmp_path: Path) -> None:
    session = forgerykit.made(runner.folder / "reports")
    runner.step("gate", ARGUMENTS=MAKES_NOTHING, REPORTS="reports")
    assert runner.outputs["session"] == str(session)
    assert runner.outputs["headline"].startswith("PASS: 1 of 1 verdicts")
    if not optional.program("ssh-keygen").missing:
        key = new_key(tmp_path / "key")
        done = runner.step("sign", SIGNING_KEY=key.read_text(), SESSION=str(session))
        assert done.returncode == 0, done.stderr
        (tmp_path / "signers").write_text(line_of(key, "ci"))
        assert f"wrote {session}/manifest.sha256.sig" in done.stdout
    done = runner.step("verify", SESSION=str(session), STATUS="0")
    assert done.returncode == 0, done.stdout
    assert "intact" in done.stdout
    (session / "summary.md").write_text("# PASS\n")
    assert runner.step("verify", SESSION=str(session), STATUS="0").returncode == 10


# ---- the template


def gitlab(runner: Runner, part: str, **given: str) -> subprocess.CompletedProcess[str]:
    """GitLab joins the lines of a script, in a shell that may be a plain one."""
    variables = {name: str(value) for name, value in JOB["variables"].items()}
    return runner.run("\n".join(JOB[part]), "sh", "-e", **{**variables, **given})


@pytest.fixture
def prepared(runner: Runner) -> Runner:
    """It has the environment that the template's `before_script` makes."""
    assert runner.run(VENV).returncode == 0
    return runner


SERVER = {
    "CI_SERVER_PROTOCOL": "https",
    "CI_SERVER_HOST": "gitlab.invalid",
    "CI_SERVER_PORT": "443",
    "CI_JOB_TOKEN": "t0",
}


@pytest.mark.parametrize(
    ("given", "installed"),
    [
        (
            {"BENCHGATE_PROJECT": "kernels/benchgate"},
            "git+https://gitlab-ci-token:t0@gitlab.invalid:443/kernels/benchgate.git@main",
        ),
        (
            {"BENCHGATE_PROJECT": "a/b", "BENCHGATE_REF": "6bab095"},
            "git+https://gitlab-ci-token:t0@gitlab.invalid:443/a/b.git@6bab095",
        ),
        ({"BENCHGATE_PACKAGE": "git+https://host.invalid/b.git@v1"}, "git+https://host.invalid/b.git@v1"),
        ({"BENCHGATE_PROJECT": "a/b", "BENCHGATE_PACKAGE": "./a wheel.whl"}, "./a wheel.whl"),
    ],
)
def test_the_template_installs_what_is_named(runner: Runner, given: dict[str, str], installed: str) -> None:
    done = gitlab(runner, "before_script", **SERVER, **given)
    assert done.returncode == 0, done.stderr
    assert (runner.folder / ".benchgate-venv" / "bin" / "pytest").exists()
    calls = runner.calls.read_text()
    assert f"pip install --quiet {installed}\n" in calls
    assert "benchgate setup\nbenchgate doctor\n" in calls
    assert "python3-venv" in calls


def test_the_template_installs_nothing_that_nobody_named(runner: Runner) -> None:
    """There is no release on a package index."""
    done = gitlab(runner, "before_script", **SERVER)
    assert done.returncode == 4
    assert "set BENCHGATE_PROJECT" in done.stderr
    assert runner.calls.read_text() == ""


def test_the_caches_depend_on_the_locks(runner: Runner) -> None:
    def digest(action: Path, **given: str) -> str:
        runner.output.write_text("")
        runner.run(STEPS["locks"]["run"], **{"PACKAGE": "", "GITHUB_ACTION_PATH": str(action), **given})
        return runner.outputs["digest"]

    action = runner.folder / "action"
    (action / "fixtures").mkdir(parents=True)
    names = ("requirements.lock", *(f"fixtures/{path.name}" for path in (REPO / "fixtures").glob("*.lock")))
    assert len(names) > 5
    for name in names:
        (action / name).write_text("first\n")
    seen = [digest(action), digest(action, PACKAGE="another")]
    for name in names:
        (action / name).write_text("second\n")
        seen.append(digest(action))
    assert len({*seen}) == len(seen)
    assert digest(action) == seen[-1]
    (cache,) = (step["with"] for step in ACTION["runs"]["steps"] if "cache" in step.get("uses", ""))
    assert "steps.locks.outputs.digest" in cache["key"]
    assert "requirements.lock" in JOB["cache"]["key"]["files"]
    assert "$BENCHGATE_REF" in JOB["cache"]["key"]["prefix"]


def test_the_job_has_the_status_of_pytest(prepared: Runner) -> None:
    assert gitlab(prepared, "script", BENCHGATE_ARGUMENTS="--plan --clock moon").returncode == 4


def test_the_job_verifies_its_session(prepared: Runner) -> None:
    session = forgerykit.made(prepared.folder / "reports")
    done = gitlab(prepared, "script", BENCHGATE_ARGUMENTS="--plan -m 'smp or threads' --clock insn")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "primes-linux-smp2" in done.stdout
    assert "intact" in done.stdout
    (session / "summary.md").write_text("# PASS\n")
    assert gitlab(prepared, "script", BENCHGATE_ARGUMENTS=MAKES_NOTHING).returncode == 10


def test_a_job_without_a_session_is_no_success(prepared: Runner) -> None:
    """pytest succeeds, and there is nothing to verify."""
    assert gitlab(prepared, "script", BENCHGATE_ARGUMENTS=MAKES_NOTHING).returncode == 11


def test_the_reports_that_gitlab_gets_are_those_of_a_session(runner: Runner) -> None:
    session = forgerykit.made(runner.folder / "reports")
    reports: dict[str, Any] = JOB["artifacts"]["reports"]
    assert set(reports) == {"junit"}
    for pattern in reports.values():
        assert [path.parent for path in runner.folder.glob(pattern)] == [session]
    assert JOB["allow_failure"] == {"exit_codes": [75]}


# ---- the page


def block(heading: str, language: str) -> str:
    """The first block of a section of docs/how-to/run-in-ci.md."""
    section = DOC.split(f"## {heading}\n")[1]
    return re.split(rf"```{language}[^\n]*\n", section)[1].split("```")[0]


def test_the_examples_use_what_the_files_offer() -> None:
    (_, step) = yaml.safe_load(block("The action for GitHub", "yaml"))["jobs"]["gate"]["steps"]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    example = yaml.safe_load(block("The template for GitLab", "yaml"))
    assert (REPO / example["include"][0]["file"]).is_file()
    assert example["gate"]["extends"] in TEMPLATE
    assert example["gate"]["variables"].keys() <= JOB["variables"].keys()


def test_the_words_of_the_examples_reach_pytest(runner: Runner) -> None:
    (_, step) = yaml.safe_load(block("The action for GitHub", "yaml"))["jobs"]["gate"]["steps"]
    (runner.folder / "bench").mkdir()
    (runner.folder / "test_scaling.py").rename(runner.folder / "bench" / "test_scaling.py")
    done = runner.step(
        "gate", ARGUMENTS=f"{step['with']['arguments']} --plan --clock insn", REPORTS="reports"
    )
    assert runner.outputs["status"] == "0", done.stdout
    assert "primes-linux-smp2" in done.stdout


@optional.needs("ssh-keygen")
def test_the_commands_that_sign_work(runner: Runner, tmp_path: Path) -> None:
    forgerykit.made(runner.folder / "reports")
    key = new_key(tmp_path / "key")
    (runner.folder / ".github").mkdir()
    (runner.folder / ".github" / "allowed_signers").write_text(line_of(key, "ci@example.org"))
    done = runner.run(block("Sign the session", "sh"), KEY_FILE=str(key))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "signed by ci@example.org" in done.stdout


@optional.needs("jq")
def test_the_command_for_kcidb_works(runner: Runner) -> None:
    session = forgerykit.made(runner.folder / "reports")
    made = rendered(scaled_view(), [REPO / "contrib" / "reports" / "kcidb.py"])
    (session / "kcidb.json").write_text(made.texts["kcidb.json"])
    done = runner.run(block("Reports for other programs", "sh"))
    assert done.returncode == 0, done.stderr
    data = json.loads((runner.folder / "submission.json").read_text())
    assert (data["checkouts"], data["builds"]) == ([], [])
    (test,) = data["tests"]
    assert (test["origin"], test["build_id"]) == ("myorigin", "myorigin:BUILD")
    assert test["id"].startswith("myorigin:20260102T030405Z")
