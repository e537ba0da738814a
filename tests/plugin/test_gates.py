"""Gates through pytest: outcomes, exit codes and the session's folder."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchgate.base.clocks import Clock, Clocks
from benchgate.base.runs import Outcome
from benchgate.evidence.check import INCOMPLETE, verify_session
from benchgate.insn.support import Support
from benchgate.plan.catalog import load_workload
from benchgate.session import vm_choice
from benchgate.session.rejudging import rejudge
from tests.machines import PATIENCE_S
from tests.plugin.conftest import CONFTEST, GATE, TEST_FILE, Rig


def results(rig: Rig) -> list[dict[str, str]]:
    with (rig.latest / "results.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_a_gate_that_passes_leaves_its_evidence(rig: Rig) -> None:
    result = rig.run("-v")
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*::test_every_run_is_right?primes.hi-10000-fake-smp1? PASSED*",
            "*::test_scales?primes.hi-10000-fake-smp2? PASSED*",
            "PASS: 3 of 3 verdicts",
            "report: *reports/latest/summary.md",
        ]
    )
    names = {path.name for path in rig.latest.iterdir()}
    assert {
        "session.json",
        "results.csv",
        "verdicts.json",
        "summary.md",
        "junit.xml",
        "benchmark.json",
        "manifest.sha256",
        "runs",
    } <= names
    verdict, *cells = json.loads((rig.latest / "verdicts.json").read_text())
    assert (verdict["outcome"], verdict["runs"], verdict["threshold"]) == ("PASS", 5, 1.6)
    assert verdict["ratio"] == pytest.approx(1.9)
    assert [(cell["gate"], cell["cpus"], cell["outcome"], cell["runs"]) for cell in cells] == [
        ("verified", 1, "PASS", 5),
        ("verified", 2, "PASS", 5),
    ]
    rows = results(rig)
    assert [row["outcome"] for row in rows].count("ok") == 10
    assert [row["outcome"] for row in rows].count("warmup") == 2
    assert {row["verified"] for row in rows} == {"true"}


def test_verify_and_rejudge_reach_the_same_verdict_from_the_files(rig: Rig) -> None:
    rig.run()
    check = verify_session(rig.latest, rejudge.recompute)
    assert (check.exit_code, check.text) == (
        0,
        f"{rig.latest}: intact (hashes, chain and every verdict agree)",
    )
    text, code = rejudge.show(rig.latest)
    assert code == 0
    assert "PASS: primes.hi-10000-fake smp2/smp1 = 1.90" in text
    text, code = rejudge.show(rig.latest / "results.csv")
    assert code == 5
    assert text.splitlines()[-1].startswith("UNVERIFIED")
    assert "PASS" not in text


@pytest.fixture
def informed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """The instruction clock decides, but this QEMU cannot carry it: only wall time has figures."""
    none = Support(False, "it is a stand-in")
    said = {Clock.WALL: (5, 25), Clock.INSN: (5, 5)}
    monkeypatch.setattr(vm_choice, "support", lambda _: none)
    monkeypatch.setattr(vm_choice, "clocks_of", lambda *_: Clocks(Clock.INSN, "this test says so", said))
    return rig


@pytest.mark.parametrize(
    ("work", "sign", "ratio"), [((19_000_000, 10_000_000), ">", 1.9), ((12_000_000, 10_000_000), "<", 1.2)]
)
def test_a_gate_that_informs_is_neither_a_pass_nor_a_fail(
    informed: Rig, work: tuple[int, int], sign: str, ratio: float
) -> None:
    informed.consoles(work)
    result = informed.run("--clock=both", "--smp=1,2", "-rs")
    assert result.ret == 5
    result.assert_outcomes(passed=2, skipped=4)  # wall: two cells and a gate; insn: the same, not run
    found = {load["id"]: load for load in json.loads((informed.latest / "verdicts.json").read_text())}
    gate = found["primes.hi-10000-fake-wall-smp2"]
    assert (gate["outcome"], gate["threshold"], gate["ratio"]) == ("SKIP", 1.6, pytest.approx(ratio))
    why = "for information only: the instruction clock decides, because this test says so"
    assert f"{sign} 1.6 (work, tcg, 5 runs per arm): {why}" in gate["reason"]
    assert "it is a stand-in" in found["primes.hi-10000-fake-insn-smp2"]["reason"]
    page = (informed.latest / "summary.md").read_text()
    assert page.startswith("# SKIP: nothing was decided; 2 cells verified")
    assert "The instruction clock decides, because this test says so; 2 " in page
    assert "Wall time was good for speedups to within 0.0% on fake, tcg" in page
    assert verify_session(informed.latest, rejudge.recompute).exit_code == 0
    assert rejudge.show(informed.latest)[1] == 5


def test_information_never_covers_a_wrong_answer(informed: Rig) -> None:
    informed.consoles((19_000_000, 10_000_000), wrong_worker=1)
    result = informed.run("--clock=both", "--smp=1,2")
    assert result.ret == 1
    found = {
        load["id"]: load["outcome"] for load in json.loads((informed.latest / "verdicts.json").read_text())
    }
    assert found["primes.hi-10000-fake-wall-smp2"] == "INVALID"
    assert rejudge.show(informed.latest)[1] == 1


def test_verify_finds_an_edited_console(rig: Rig) -> None:
    rig.run()
    log = next((rig.latest / "runs").glob("*smp2/serial.log"))
    log.write_bytes(log.read_bytes().replace(b"count=", b"count=1"))
    check = verify_session(rig.latest, rejudge.recompute)
    assert check.exit_code == 10


def test_a_gate_that_fails_says_so_in_one_line(rig: Rig) -> None:
    rig.consoles((19_000_000, 13_000_000))
    result = rig.run()
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    line, short, again = [line for line in result.outlines if "FAIL: " in line and "verdicts" not in line]
    assert line.startswith(again)  # after all other tables, in lines of the terminal's width
    assert short.startswith(f"FAILED {GATE} - FAIL: ")
    assert line.startswith(
        "FAIL: primes.hi-10000-fake smp2/smp1 = 1.46 [1.46, 1.46] < 1.6 (work, tcg, 5 runs "
    )
    assert line.endswith("; next: --measure shows where the time goes; metrics.csv has all runs' figures")
    text, _ = rejudge.show(rig.latest, width=1000)
    assert line in text.replace(str(rig.latest), str(rig.latest.resolve()))


@pytest.mark.parametrize("words", [("--tb=no",), ("--tb=line",)])
def test_a_fail_is_in_the_summary_if_pytest_does_not_show_it(rig: Rig, words: tuple[str, ...]) -> None:
    rig.consoles((19_000_000, 13_000_000))
    result = rig.run("--runs=5", *words)
    assert "FAIL: primes.hi-10000-fake smp2/smp1 = 1.46" in result.stdout.str().partition("= benchgate =")[2]


def test_a_skip_is_at_its_test(rig: Rig) -> None:
    result = rig.run("--runs=1", "-rs", "-k", "scales")
    line = TEST_FILE[
        : TEST_FILE.index('@pytest.mark.workload("primes", hi=10_000)\n@pytest.mark.speedup')
    ].count("\n")
    result.stdout.fnmatch_lines([f"SKIPPED [[]1] test_scaling.py:{line + 1}: SKIP: *--runs 1 is too few*"])


def test_an_invalid_run_is_named_with_its_real_folder(rig: Rig) -> None:
    rig.consoles((19_000_000, 9_600_000), wrong_worker=1)
    result = rig.run("-k", "scales")
    line, *_ = [line for line in result.outlines if "INVALID: " in line and "verdicts" not in line]
    log = re.search(r"; next: read (\S+) first, then the other logs beside it$", line)
    assert log is not None
    assert b"online=2" in Path(log[1]).read_bytes()


def test_a_fast_run_with_a_wrong_answer_is_invalid(rig: Rig) -> None:
    rig.consoles((19_000_000, 9_600_000), wrong_worker=1)
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["INVALID: primes.hi-10000-fake smp2/smp1: *worker 1*"])
    assert not any("PASS" in line for line in result.outlines if "smp2/smp1" in line)
    rows = results(rig)
    assert [row["outcome"] for row in rows if row["verified"] == "false"] == ["invalid"]
    assert [row["work"] for row in rows if row["verified"] == "false"] == [""]


def test_a_speedup_of_three_on_two_cpus_is_invalid(rig: Rig) -> None:
    rig.consoles((30_000_000, 10_000_000))
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["INVALID: primes.hi-10000-fake smp2/smp1 = 3.00*"])


def test_a_window_longer_than_the_run_on_the_host_is_invalid(rig: Rig) -> None:
    """The ratio is 1.9 and every CRC is valid, but the windows are 19 s and 10 s, the runs under a second."""
    rig.consoles((19_000_000_000, 10_000_000_000))
    result = rig.run("--runs", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["INVALID: primes.hi-10000-fake-smp?: *by the host's clock*"])
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0
    assert rejudge.show(rig.latest)[1] == 1


def test_a_console_that_names_another_system_is_invalid(rig: Rig) -> None:
    rig.more = "result: {system: moon}\n"
    result = rig.run("--runs", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["INVALID: primes.hi-10000-fake-smp?: *system moon, but * system fake*"])


@pytest.mark.parametrize("declared", ["", "result: {foreign: na}\n"])
def test_foreign_time_na_is_valid_only_if_the_system_declares_it(rig: Rig, declared: str) -> None:
    for path in rig.folder.glob("smp?.log"):
        path.write_text(path.read_text().replace("foreign time=0", "foreign time=na"))
    rig.more = declared
    result = rig.run("--runs", "1")
    assert result.ret == (5 if declared else 1)
    if not declared:
        result.stdout.fnmatch_lines(["INVALID: primes.hi-10000-fake-smp?: *foreign time=na*"])


@pytest.mark.parametrize(
    ("play", "message"),
    [
        ("panic", "*Kernel panic*"),
        ("killed", "*killed by SIGKILL*"),
        ("early", "*end line*"),
        ("torn", "*its CRC does not match*"),
        ("wrong-nonce", "*nonce*"),
        ("fail", "*benchfail: out of memory*"),
        ("cannot-start", "*failed to set MSR*"),
        ("few-cpus", "*vCPUs*"),
    ],
)
def test_a_guest_that_fails_makes_the_gate_invalid_with_the_reason(rig: Rig, play: str, message: str) -> None:
    result = rig.run(play=play)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"INVALID: primes.hi-10000-fake-smp{message}"])
    assert json.loads((rig.latest / "verdicts.json").read_text())[0]["outcome"] == "INVALID"


def test_selecting_one_gate_runs_both_of_its_arms(rig: Rig) -> None:
    result = rig.run(GATE)
    assert result.ret == 0
    rows = results(rig)
    assert {row["cpus"] for row in rows} == {"1", "2"}


def test_quick_measures_and_decides_nothing(rig: Rig) -> None:
    result = rig.run("--quick", "--set", "primes.hi=10000")
    assert result.ret == 5
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIP: nothing was decided; 2 cells verified"])
    assert rejudge.show(rig.latest)[1] == 5


def test_quick_rows_are_labelled_by_their_reduced_parameters(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=TEST_FILE.replace(", hi=10_000", ""))
    result = rig.run("--quick", "test_scaling.py::test_scales[primes-fake-smp2]")
    reduced = load_workload("primes").quick["hi"]
    assert json.loads((rig.latest / "verdicts.json").read_text())[0]["id"] == f"primes.hi-{reduced}-fake-smp2"
    assert {row["params"] for row in results(rig)} == {f"hi={reduced};split=cost;wait=join"}
    result.stdout.fnmatch_lines([f"INVALID: primes.hi-{reduced}-fake*", f"primes.hi-{reduced}-fake (tcg, *)"])


def test_a_single_run_decides_nothing(rig: Rig) -> None:
    result = rig.run("--runs", "1")
    assert result.ret == 5
    assert json.loads((rig.latest / "verdicts.json").read_text())[0]["outcome"] == "SKIP"


NOISY = """
import shutil
from pathlib import Path
from benchgate.session.measuring import MeasuringSession

folder, attempts = Path({folder!r}), MeasuringSession.attempts

def noisy(self, group):
    (asked,) = group
    other = folder / f"noisy-smp2-{{asked.seed % 2}}.log"
    shutil.copy(other, folder / "smp2.log")
    return attempts(self, group)

MeasuringSession.attempts = noisy
"""


@pytest.fixture
def noisy(rig: Rig) -> Rig:
    """Depending on the seed, two CPUs are 1.4 or 1.8 times as fast as one."""
    for turn, work in enumerate((13_570_000, 10_560_000)):
        rig.consoles((19_000_000, work))
        (rig.folder / "smp2.log").rename(rig.folder / f"noisy-smp2-{turn}.log")
    rig.pytester.makeconftest(CONFTEST + NOISY.format(folder=str(rig.folder)))
    return rig


def test_an_inconclusive_gate_exits_with_75(noisy: Rig) -> None:
    result = noisy.run("--max-runs", "9")
    assert result.ret == 75
    counts = re.findall(r"^benchgate: \[(\d+)/(\d+)\]", result.stderr.str(), re.MULTILINE)
    assert counts == [(str(n), "12" if n <= 12 else "20") for n in range(1, 21)]
    assert json.loads((noisy.latest / "verdicts.json").read_text())[0]["outcome"] == "INCONCLUSIVE"


def test_inconclusive_warn_skips_the_test_and_exits_with_5(noisy: Rig) -> None:
    result = noisy.run("--inconclusive", "warn")
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == 5


def test_a_failed_test_beside_an_inconclusive_gate_exits_with_1(noisy: Rig) -> None:
    noisy.pytester.makepyfile(test_other="def test_other():\n    assert 0\n")
    assert noisy.run().ret == 1


INTERRUPTED = """
import pytest
from benchgate.session.measuring import MeasuringSession

attempts, groups = MeasuringSession.attempts, []

def interrupted(self, group):
    groups.append(group)
    if len(groups) == 4:
        self._job(group[0])
        pytest.fail("Timeout (>60.0s) from pytest-timeout.")
    return attempts(self, group)

MeasuringSession.attempts = interrupted
"""


def test_an_interrupted_sweep_is_not_repeated_and_the_session_is_incomplete(rig: Rig) -> None:
    """pytest-timeout interrupts the first test of a sweep in this way."""
    rig.pytester.makeconftest(CONFTEST + INTERRUPTED)
    result = rig.run()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["INVALID: *-fake: measuring it was interrupted (Failed: Timeout*; next: *"])
    assert result.ret == 1
    assert len((rig.latest / "results.csv").read_text().splitlines()) == 1 + 3
    check = verify_session(rig.latest, rejudge.recompute)
    assert check.exit_code == INCOMPLETE, check.text


def test_junit_has_the_ratio_and_the_first_item_of_a_row_took_the_time_of_the_sweep(rig: Rig) -> None:
    result = rig.run("--junitxml", str(rig.folder / "mine.xml"), "--durations", "1")
    result.stdout.fnmatch_lines(["*s setup    test_scaling.py::test_every_run_is_right[[]*smp1]"])
    mine = ElementTree.parse(rig.folder / "mine.xml").getroot()
    properties = {one.get("name"): one.get("value") for one in mine.iter("property")}
    assert properties["benchgate.verdict"] == "PASS"
    assert float(properties["benchgate.ratio"] or 0) == pytest.approx(1.9)
    (suite,) = mine.iter("testsuite")
    first, *others = [float(case.attrib["time"]) for case in suite.iter("testcase")]
    assert first > float(suite.attrib["time"]) / 2
    assert sum(others) < first
    ours = [
        float(case.attrib["time"]) for case in ElementTree.parse(rig.latest / "junit.xml").iter("testcase")
    ]
    assert len(ours) == 3
    assert 0 < sum(ours) < first


def test_pytest_benchmark_reads_our_json(rig: Rig) -> None:
    rig.run()
    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", str(rig.latest / "benchmark.json")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert "primes.hi-10000-fake-smp2" in done.stdout


def test_on_github_failures_are_annotated_and_an_unwritable_summary_is_reported(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "gone" / "step.md"))
    rig.consoles((19_000_000, 13_000_000))
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["::error title=benchgate primes.hi-10000-fake-smp2::FAIL*"])
    result.stderr.fnmatch_lines(["benchgate: GITHUB_STEP_SUMMARY=*step.md cannot be written*"])
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


TWO_THRESHOLDS = """\
import pytest

pytestmark = pytest.mark.workload("primes", hi=10_000)

@pytest.mark.speedup(cpus=2, at_least={0})
def test_first(verdict):
    verdict.require_pass()

@pytest.mark.speedup(cpus=2, at_least={1})
def test_second(verdict):
    verdict.require_pass()
"""


@pytest.mark.parametrize("bounds", [(1.95, 1.2), (1.2, 1.95)])
def test_two_thresholds_over_the_same_arms_are_two_gates(rig: Rig, bounds: tuple[float, float]) -> None:
    rig.pytester.makepyfile(test_scaling=TWO_THRESHOLDS.format(*bounds))
    result = rig.run()
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    found = json.loads((rig.latest / "verdicts.json").read_text())
    assert sorted((one["threshold"], one["outcome"]) for one in found) == [(1.2, "PASS"), (1.95, "FAIL")]
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


def test_a_fail_that_no_test_requires_to_pass_still_exits_with_1(rig: Rig) -> None:
    rig.consoles((19_000_000, 19_000_000))
    rig.pytester.makepyfile(
        test_scaling=TEST_FILE.replace("    verdict.require_pass()", "    assert verdict")
    )
    assert rig.run().ret == 1


def test_a_session_that_skips_everything_exits_with_5(rig: Rig) -> None:
    assert rig.run("-k", "right", "--smp", "60").ret == 5


def test_a_row_of_which_no_cell_can_run_is_not_missing(rig: Rig) -> None:
    """The test of its cell is skipped at once; the other row is opened by its gate, which is skipped, too."""
    rig.pytester.makepyfile(
        test_scaling=TEST_FILE.replace(
            "hi=10_000)\ndef test_every", 'hi=10_000, wait="spin")\ndef test_every'
        )
    )
    result = rig.run("--smp", "60")
    result.assert_outcomes(skipped=2)
    assert result.ret == 5
    assert json.loads((rig.latest / "session.json").read_text())["state"] == "complete"
    assert verdicts(rig) == [
        ("primes.hi-10000.wait-spin-fake-smp60-verified", "SKIP"),
        ("primes.hi-10000-fake-smp2", "SKIP"),
    ]


def verdicts(rig: Rig) -> list[tuple[str, str]]:
    return [(load["id"], load["outcome"]) for load in json.loads((rig.latest / "verdicts.json").read_text())]


def cases(rig: Rig) -> list[tuple[str, list[str]]]:
    """The test cases of the session's junit.xml, and what each holds besides properties; a reason is text."""
    root = ElementTree.parse(rig.latest / "junit.xml").getroot()
    return [
        (case.attrib["name"], [one.tag for one in case if one.tag != "properties"])
        for case in root.iter("testcase")
    ]


def test_a_session_of_cells_alone_leaves_a_verdict_and_a_test_case_for_each(rig: Rig) -> None:
    result = rig.run("-k", "right")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["PASS: 2 tests that a cell is right: 10 runs, all verified", "PASS: 2 of 2 verdicts"]
    )
    assert result.stdout.str().count("not witnessed on lane tcg") == 1
    ids = [f"primes.hi-10000-fake-smp{cpus}-verified" for cpus in (1, 2)]
    assert verdicts(rig) == [(text, "PASS") for text in ids]
    assert cases(rig) == [(f"{text}-work", ["system-out"]) for text in ids]
    assert rejudge.show(rig.latest)[1] == 0
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


def test_a_wrong_answer_in_a_session_of_cells_alone_is_in_every_file(rig: Rig) -> None:
    rig.consoles((19_000_000, 9_600_000), wrong_worker=1)
    result = rig.run("-k", "right")
    assert result.ret == 1
    headline = "INVALID: 1 of 2 verdicts, 1 PASS"
    result.stdout.fnmatch_lines([headline])
    assert (rig.latest / "summary.md").read_text().startswith(f"# {headline}\n")
    assert sorted(word for _, word in verdicts(rig)) == ["INVALID", "PASS"]
    assert sorted(inside for _, inside in cases(rig)) == [["failure"], ["system-out"]]
    text, code = rejudge.show(rig.latest)
    assert (text.splitlines()[-1], code) == (headline, 1)
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0


def test_an_invalid_run_that_no_test_requires_to_be_verified_exits_with_1(rig: Rig) -> None:
    rig.consoles((19_000_000, 9_600_000), wrong_worker=1)
    rig.pytester.makepyfile(test_scaling=TEST_FILE.replace("cell.require_verified()", "assert cell"))
    result = rig.run("-k", "right")
    result.assert_outcomes(passed=2)
    assert result.ret == 1


def test_inconclusive_warn_is_judged_again_with_the_same_exit_code(noisy: Rig) -> None:
    assert noisy.run("--inconclusive", "warn").ret == 5
    assert rejudge.show(noisy.latest)[1] == 5


SKIPPED = """
@pytest.mark.skip
@pytest.mark.workload("primes", hi=10_000{more})
@pytest.mark.speedup(cpus=2, at_least=1.2{window})
def test_skipped(verdict):
    verdict.require_pass()
"""


def test_a_session_without_a_planned_row_is_partial_and_never_exits_with_0(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=TEST_FILE + SKIPPED.format(more=', wait="spin"', window=""))
    result = rig.run()
    result.assert_outcomes(passed=3, skipped=1)
    assert result.ret == 5
    missing = "no test that ran asked for primes.hi-10000.wait-spin-fake"
    headline = f"PARTIAL: {missing}; until then PASS: 3 of 4 verdicts, 1 SKIP"
    assert (rig.latest / "summary.md").read_text().startswith(f"# {headline}\n")
    assert rejudge.show(rig.latest)[1] == 5
    assert verify_session(rig.latest, rejudge.recompute).exit_code == INCOMPLETE


def test_a_skipped_test_leaves_no_gate_of_its_measured_row_undecided(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=TEST_FILE + SKIPPED.format(more="", window=', metric="total"'))
    result = rig.run()
    result.assert_outcomes(passed=3, skipped=1)
    assert result.ret == 0
    assert [word for _, word in verdicts(rig)] == ["PASS"] * 4
    assert json.loads((rig.latest / "session.json").read_text())["state"] == "complete"


JUDGING_IS_INTERRUPTED = """
from benchgate.judge import verify

judge = verify.verify_on

def interrupted(raw, *words):
    if raw.attempt == 2:
        raise KeyboardInterrupt("SIGINT")
    return judge(raw, *words)

verify.verify_on = interrupted
"""


def test_an_interrupt_while_a_run_is_judged_loses_nothing_that_was_measured(rig: Rig) -> None:
    rig.pytester.makeconftest(CONFTEST + JUDGING_IS_INTERRUPTED)
    assert rig.pytester.runpytest_subprocess(*rig.arguments("-k", "every_run")).ret == 2
    folders = sorted(f"runs/{path.name}" for path in (rig.latest / "runs").iterdir())
    chain = (rig.latest / "attempts.jsonl").read_text().splitlines()
    assert [json.loads(line)["folder"] for line in chain] == folders
    assert len(folders) == 2
    assert [row["outcome"] for row in results(rig)] == ["warmup", "invalid"]
    assert [row.outcome for row in rejudge.judge_session(rig.latest).rows] == [Outcome.WARMUP] * 2
