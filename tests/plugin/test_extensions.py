"""A user's own workload, system, policy, gate and report: one folder and four files outside the package.

One session uses all five. `benchgate verify` and `rejudge` run the programs among them only if the command
line names them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate import cli
from tests.plugin.conftest import Rig, console

WORKLOAD = """\
name: mine
mode: process
source: mine.c
oracle: oracle.py
params:
  hi: {default: 10_000, minimum: 10, maximum: 100_000}
  split: {default: cost, choices: [cost]}
  wait: {default: join, choices: [join]}
"""

ORACLE = """\
from benchgate import expect, ranges, whole

PRIMES_BELOW_10_001 = 1229  # a table's value, e.g. OEIS A006880

def check(params, reports, result):
    ranges(reports, 2, whole(params, "hi") + 1)
    expect("the sum of the workers' counts", {"count": sum(one.values["count"] for one in reports)},
           {"count": PRIMES_BELOW_10_001})
"""

POLICY = """\
name: patient
looks: [7, 13]
alpha: 0.02
overall_error: 0.05
first: 7
max_runs: 7
superlinear: 1.05
capacity_reach: 0.9
warmups: 2
"""

GATE = """\
from benchgate import Ruling, Word, verdict

KIND = "steady"

def judge(gate, measured):
    samples = measured.arms[gate.cell.id].work.samples
    spread = max(samples) / min(samples)
    word = Word.PASS if spread <= gate.at_most else Word.FAIL
    facts = {"threshold": gate.at_most, "runs": len(samples), "lane": measured.arms[gate.cell.id].lane}
    return Ruling(verdict(gate, word, f"{word}: {gate.cell.id}: the slowest run took {spread:.3f}x", facts))
"""

MARKED_GATE = (
    GATE.replace("import Ruling", "import GateMark, Ruling")
    + """
MARK = GateMark(
    "steady",
    about="the slowest run over the fastest",
    example="cpus=2, at_most=1.1",
    takes=("cpus", "at_most", "metric", "among"),
    needs=("cpus", "at_most"),
)
"""
)

MARKED_TESTS = """\
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.steady(cpus=2, at_most=1.1, among="all")
def test_is_steady(verdict):
    verdict.require_pass()
"""

REPORT = """\
NAME = "words.txt"

def render(view):
    return "".join(f"{one.id} {one.gate} {one.outcome}\\n" for one in view.verdicts)
"""

TESTS = """\
import pytest

pytestmark = [pytest.mark.smp, pytest.mark.workload("{folder}/mine")]

def test_every_run_is_right(cell):
    cell.require_verified()

@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()

@pytest.mark.gate("{folder}/steady.py", cpus=2, at_most=1.1)
def test_is_steady(verdict):
    verdict.require_pass()
"""


@dataclass(frozen=True)
class Own:
    """A session with all five, and the options that name its programs to `verify` and `rejudge`."""

    rig: Rig
    folder: Path

    def run(self) -> pytest.RunResult:
        more = (f"--policy={self.folder}/patient.yaml", f"--extra-report={self.folder}/words.py")
        return self.rig.run(*more)

    @property
    def programs(self) -> dict[str, str]:
        """Option -> file."""
        names = {"--workload": "mine", "--gate": "steady.py", "--extra-report": "words.py"}
        return {option: str(self.folder / name) for option, name in names.items()}

    def outcomes(self) -> dict[str, str]:
        result = json.loads((self.rig.latest / "verdicts.json").read_text())
        return {one["gate"]: one["outcome"] for one in result if one["gate"] != "verified"}


@pytest.fixture
def own(rig: Rig, tmp_path: Path) -> Own:
    folder = tmp_path / "own"
    (folder / "mine").mkdir(parents=True)
    for name, text in (
        ("mine/workload.yaml", WORKLOAD),
        ("mine/mine.c", ""),
        ("mine/oracle.py", ORACLE),
        ("patient.yaml", POLICY),
        ("steady.py", GATE),
        ("words.py", REPORT),
    ):
        (folder / name).write_text(text)
    rig.pytester.makepyfile(test_scaling=TESTS.format(folder=folder))
    for cpus, work in enumerate((19_000_000, 10_000_000), 1):
        text = console(cpus, work).replace("workload=primes", "workload=mine")
        (rig.folder / f"smp{cpus}.log").write_text(text)
    return Own(rig, folder)


def unwrapped(result: pytest.RunResult) -> str:
    """What it printed, without line breaks: a terminal has a width."""
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_a_session_uses_all_five(own: Own) -> None:
    result = own.run()
    result.assert_outcomes(passed=4)
    assert own.outcomes() == {"speedup": "PASS", "steady": "PASS"}
    assert (
        (own.rig.latest / "words.txt")
        .read_text()
        .startswith("mine-fake-smp2 speedup PASS\nmine-fake-smp2-steady steady PASS\n")
    )
    outcomes = [line.split(",")[11] for line in (own.rig.latest / "results.csv").read_text().splitlines()[1:]]
    assert (outcomes.count("warmup"), outcomes.count("ok")) == (2 * 2, 2 * 7)  # as the policy says


def test_an_answer_that_the_users_oracle_refuses_makes_every_gate_invalid(own: Own) -> None:
    oracle = own.folder / "mine" / "oracle.py"
    oracle.write_text(ORACLE.replace("1229 ", "1230 "))
    assert own.run().ret == 1
    assert own.outcomes() == {"speedup": "INVALID", "steady": "INVALID"}


def test_the_users_gate_decides(own: Own) -> None:
    (own.folder / "steady.py").write_text(GATE.replace("<= gate.at_most", "> gate.at_most"))
    assert own.run().ret == 1
    assert own.outcomes() == {"speedup": "PASS", "steady": "FAIL"}


@pytest.mark.parametrize("stop", ["raise SystemExit(0)", "import pytest; pytest.skip('so green')", "1 / 0"])
def test_what_a_users_gate_raises_ends_the_session_with_an_error(own: Own, stop: str) -> None:
    (own.folder / "steady.py").write_text(GATE.replace("    samples", f"    {stop}\n    samples"))
    result = own.run()
    assert result.ret == 4
    said = result.stdout.str() + result.stderr.str()
    assert re.search(
        "judge\\(\\) of .*steady.py raised (SystemExit: 0|Skipped: so green|ZeroDivisionError)", said
    )
    assert "Traceback" not in said


@pytest.mark.parametrize("stop", ["raise SystemExit(0)", "import pytest; pytest.skip('so green')"])
def test_what_a_users_report_raises_ends_the_session_with_an_error(own: Own, stop: str) -> None:
    (own.folder / "words.py").write_text(REPORT.replace("    return", f"    {stop}\n    return"))
    result = own.run()
    assert result.ret == 4
    said = "render\\(\\) raised (SystemExit: 0|Skipped: so green); the session is whole and sealed without"
    assert re.search(said, unwrapped(result))


def test_a_session_without_the_file_of_a_report_that_failed_is_verified_without_that_report(
    own: Own, capsys: pytest.CaptureFixture[str]
) -> None:
    (own.folder / "words.py").write_text(REPORT.replace("    return", "    1 / 0\n    return"))
    assert own.run().ret == 4
    assert own.outcomes() == {"speedup": "PASS", "steady": "PASS"}
    assert not (own.rig.latest / "words.txt").exists()
    for text in ("no Python any more", REPORT):
        (own.folder / "words.py").write_text(text)
        assert cli.main(["verify", str(own.rig.latest)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", ["session.json", "results.csv", "runs", "summary.md"])
def test_a_report_that_would_overwrite_a_file_of_the_session_is_refused_before_anything_is_measured(
    own: Own, name: str
) -> None:
    (own.folder / "words.py").write_text(REPORT.replace("words.txt", name))
    result = own.run()
    assert result.ret != 0
    assert f"writes {name}; give NAME another file name" in unwrapped(result)
    assert not (own.rig.latest / "session.json").exists()


def test_two_reports_with_one_name_are_refused_before_anything_is_measured(own: Own) -> None:
    (own.folder / "again.py").write_text(REPORT)
    more = (f"--extra-report={own.folder}/words.py", f"--extra-report={own.folder}/again.py")
    assert own.rig.run(*more).ret != 0
    assert not (own.rig.latest / "session.json").exists()


@pytest.mark.parametrize(
    "text", ["NAME = 'a.txt'\n", "def render(view): ...\n", REPORT.replace("words.txt", "../w")]
)
def test_a_file_that_is_no_report_is_refused_before_anything_is_measured(own: Own, text: str) -> None:
    (own.folder / "words.py").write_text(text)
    result = own.run()
    assert result.ret != 0
    assert "words.py: a report must define NAME (a plain file name) and render(view); " in unwrapped(result)
    assert "Traceback" not in unwrapped(result)
    assert not (own.rig.latest / "session.json").exists()


@pytest.mark.parametrize("name", ["steady.py", "words.py"])
def test_what_a_users_file_raises_when_it_is_loaded_is_reported(own: Own, name: str) -> None:
    (own.folder / name).write_text("raise SystemExit(0)\n")
    result = own.run()
    assert result.ret != 0
    assert re.search(f"{name} cannot be loaded: SystemExit: 0", result.stdout.str() + result.stderr.str())


def test_verify_with_the_programs_named_finds_the_session_intact(own: Own) -> None:
    own.run()
    named = [word for pair in own.programs.items() for word in pair]
    assert cli.main(["verify", str(own.rig.latest), *named]) == 0
    (own.rig.latest / "words.txt").write_text("mine-fake-smp2 speedup FAIL\n")
    assert cli.main(["verify", str(own.rig.latest), *named]) != 0


def test_who_made_the_session_need_not_name_its_programs_again(
    own: Own, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run()
    for command in ("verify", "rejudge"):
        assert cli.main([command, str(own.rig.latest)]) == 0
    text = (own.folder / "steady.py").read_text()
    (own.folder / "steady.py").write_text(f"{text}# changed\n")
    capsys.readouterr()
    assert cli.main(["verify", str(own.rig.latest)]) == 14
    said = "".join(capsys.readouterr())
    assert f"{own.folder / 'steady.py'} has changed since the session" in said
    assert "only programs that you name are run: --gate steady" in said
    (own.folder / "steady.py").write_text(text)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another-machine"))
    assert cli.main(["verify", str(own.rig.latest)]) == 14


@pytest.mark.parametrize("left_out", ["--workload", "--gate", "--extra-report"])
def test_a_program_that_is_not_named_is_not_run_and_the_command_is_said(
    own: Own, left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is wrong with the session, so the status is not that of a mismatch or of a mistake."""
    own.run()
    files = {"--workload": "mine/oracle.py", "--gate": "steady.py", "--extra-report": "words.py"}
    digest = hashlib.sha256((own.folder / files[left_out]).read_bytes()).hexdigest()
    ran = own.folder / "ran"
    with (own.folder / files[left_out]).open("a") as stream:
        stream.write(f"__import__('pathlib').Path({str(ran)!r}).touch()\n")
    recorded = own.programs | {"--workload": str(own.folder / "mine" / "workload.yaml")}
    named = [word for option, path in own.programs.items() if option != left_out for word in (option, path)]
    for command in ("verify", "rejudge"):
        capsys.readouterr()
        assert cli.main([command, str(own.rig.latest), *named]) == 14
        said = "".join(capsys.readouterr())
        assert f"{left_out} " in said
        assert f"(its Python file had SHA-256 {digest})" in said
        words = shlex.split(said.partition("next, if you trust them: ")[2].partition("\n")[0])
        assert words[:3] == ["benchgate", command, str(own.rig.latest)]
        assert dict(zip(words[3::2], words[4::2], strict=True)) == recorded
        assert not ran.exists()
    assert cli.main(words[1:]) == 0
    assert ran.exists()


def test_an_oracle_that_is_not_the_sessions_is_named(own: Own, capsys: pytest.CaptureFixture[str]) -> None:
    own.run()
    named = [word for pair in own.programs.items() for word in pair]
    capsys.readouterr()
    assert cli.main(["verify", str(own.rig.latest), *named]) == 0
    same = capsys.readouterr().out
    assert "note: --workload mine is the program that judged the session\n" in same
    oracle = own.folder / "mine" / "oracle.py"
    oracle.write_text(ORACLE.replace("1229 ", "1230 "))
    assert cli.main(["verify", str(own.rig.latest), *named]) == 12
    changed = capsys.readouterr().out
    assert "note: --workload mine is not the program that judged the session" in changed
    assert "note: --gate steady is the program that judged the session\n" in changed


def test_a_policy_of_the_users_own_and_the_thresholds_are_said(
    own: Own, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run()
    named = [word for pair in own.programs.items() for word in pair]
    capsys.readouterr()
    cli.main(["rejudge", str(own.rig.latest), *named])
    said = capsys.readouterr().out
    assert re.search(r"note: policy patient .*: looks \(7, 13\), alpha 0\.02, overall_error 0\.05,", said)
    assert "speedup at_least=1.6 (1 gate); steady at_most=1.1 (1 gate); next: --tests" in said


# ---- a kind of gate with a mark, all in one file


@pytest.fixture
def marked(rig: Rig) -> Rig:
    """A kind of gate whose file the ini file names."""
    (rig.pytester.path / "steady.py").write_text(MARKED_GATE)
    rig.pytester.makeini("[pytest]\nbenchgate_gate = steady.py\n")
    rig.pytester.makepyfile(test_scaling=MARKED_TESTS)
    return rig


def test_a_kind_of_gate_in_one_file_has_a_mark(marked: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    """No other file names it. The rig refuses marks that are not registered."""
    marked.run().assert_outcomes(passed=1)
    (result,) = json.loads((marked.latest / "verdicts.json").read_text())
    assert (result["id"], result["gate"]) == ("primes.hi-10000-fake-smp2-steady-all", "steady")
    assert (result["outcome"], result["threshold"]) == ("PASS", 1.1)
    capsys.readouterr()
    words = ["verify", str(marked.latest), "--gate", "steady.py", "--tests", "test_scaling.py"]
    assert cli.main(words) == 0
    assert "the thresholds of 1 gate are those of the tests" in capsys.readouterr().out


def test_the_mark_is_registered_and_shown_by_pytest(marked: Rig) -> None:
    shown = marked.run("--markers").stdout.str()
    assert (
        "@pytest.mark.steady(cpus, at_most, metric='work', among=): the slowest run over the fastest" in shown
    )


def test_a_threshold_that_the_rule_does_not_hold_fails_the_test(marked: Rig) -> None:
    (marked.pytester.path / "steady.py").write_text(MARKED_GATE.replace("<= gate.at_most", "> gate.at_most"))
    marked.run().assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("at_most=1.1", "at_mst=1.1"), "mark steady: no argument `at_mst`; did you mean `at_most`?"),
        ((", at_most=1.1", ""), "mark steady: the argument `at_most` is missing"),
        (('among="all"', "among=3"), "mark steady: among=3 is not a word, as in steady(cpus=2, at_most=1.1)"),
        (('among="all"', "base=1"), "mark steady: no argument `base`"),
        (("(verdict)", "(cell)"), "gates nothing, because this test does not request `verdict`"),
    ],
)
def test_a_mistake_in_the_mark_is_one_sentence(marked: Rig, change: tuple[str, str], message: str) -> None:
    marked.pytester.makepyfile(test_scaling=MARKED_TESTS.replace(*change))
    result = marked.run(play="cannot-start")
    assert result.ret != 0
    said = result.stdout.str() + result.stderr.str()
    assert message in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GATE, "steady.py defines no mark; set MARK to a benchgate.GateMark of the name steady"),
        (MARKED_GATE.replace('KIND = "steady"', 'KIND = "even"'), "of the name even"),
        (MARKED_GATE.replace('"steady"', '"limit"'), "there is another mark limit; give KIND another name"),
        (MARKED_GATE.replace('needs=("cpus",', 'needs=("pins",'), "needs pins, which it does not take"),
    ],
)
def test_a_file_whose_mark_cannot_be_used_is_refused(marked: Rig, text: str, message: str) -> None:
    (marked.pytester.path / "steady.py").write_text(text)
    result = marked.run("--gate=steady.py", play="cannot-start")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()
