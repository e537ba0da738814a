"""What the verdicts of a session say of the tested commit."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.bisect import walk
from benchgate.features.bisect.state import Term
from benchgate.features.bisect.step import PLUGIN, Pair, _last_error, _walked, judged
from benchgate.plan import catalog
from benchgate.session import inner_pytest
from tests.line.sessions import TERN
from tests.line.test_wheel import STRICT

KERNEL = catalog.load_system("kernel")
GOOD, OTHER = (replace(KERNEL, name=f"kernel.rev-{name}") for name in ("good", "other"))
PAIR = Pair(GOOD, OTHER)


def verdict(outcome: str, system: str = OTHER.name, gate: str = "ratio") -> dict[str, str]:
    return {"system": system, "gate": gate, "outcome": outcome, "reason": f"{outcome}: because"}


@pytest.mark.parametrize(
    ("outcomes", "term"),
    [
        (["PASS", "SKIP"], Term.GOOD),
        (["PASS", "FAIL"], Term.BAD),
        (["INVALID", "FAIL"], Term.BAD),
        (["PASS", "INVALID"], Term.SKIP),
        (["PASS", "INCONCLUSIVE"], Term.SKIP),
        (["SKIP"], Term.SKIP),
    ],
)
def test_pass_is_good_and_fail_is_bad_and_what_is_undecided_is_skipped(
    outcomes: list[str], term: Term
) -> None:
    assert judged([verdict(outcome) for outcome in outcomes], PAIR)[0] is term


def test_verdicts_on_good_itself_say_nothing_of_the_other_commit() -> None:
    both = [verdict("FAIL", GOOD.name), verdict("PASS")]
    assert judged(both, PAIR) == (Term.GOOD, "PASS: because")


def test_good_alone_may_have_nothing_to_be_compared_with() -> None:
    alone = Pair(GOOD, None)
    assert judged([verdict("SKIP", GOOD.name)], alone)[0] is Term.GOOD
    assert judged([verdict("SKIP", GOOD.name, "speedup")], alone)[0] is Term.SKIP
    assert judged([verdict("INVALID", GOOD.name)], alone)[0] is Term.SKIP


@pytest.mark.parametrize(
    ("given", "word", "others"),
    [
        (["--start=warm"], "linux:start=warm", ()),
        (["--start", "warm", "--runs=9"], "linux:start=warm", ("--runs=9",)),
        (["--start=auto"], "linux:start=warm", ()),
        (["--start=cold", "-x"], "linux", ("-x",)),
        (["--runs=9"], "linux", ("--runs=9",)),
        (["--start=hot"], "linux", ("--start=hot",)),
    ],
)
def test_where_runs_start_is_part_of_both_systems(
    given: list[str], word: str, others: tuple[str, ...]
) -> None:
    """The session of a step names its systems so."""
    assert walk._with_start(["linux"], tuple(given)) == (word, others)


def test_the_start_of_a_system_precedes_the_option_and_one_that_cannot_is_refused() -> None:
    assert walk._with_start(["linux:start=cold"], ("--start=warm",)) == ("linux:start=cold", ())
    assert walk._with_start(["kernel"], ("--start=auto",)) == ("kernel:start=warm", ())
    assert walk._with_start(["native"], ("--start=auto",)) == ("native", ())
    with pytest.raises(UsageError, match="native cannot start warm: "):
        walk._with_start(["native"], ("--start=warm",))


def test_tests_that_do_not_measure_the_commit_are_refused() -> None:
    for result in ([], [verdict("PASS", "linux")]):
        with pytest.raises(UsageError, match=r"no gate of these tests is on kernel.rev-other"):
            judged(result, PAIR)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("= ERRORS =\nmark limit: no\nERROR a/test_a.py - Failed: mark limit: no\n!!!!\n= 1 error =\n",
         "a/test_a.py - Failed: mark limit: no"),
        ("ERROR: file or directory not found: tests/no\n\n", "file or directory not found: tests/no"),
        ("usage: pytest\n", ""),
    ],
)  # fmt: skip
def test_what_pytest_itself_refused_is_said(tmp_path: Path, output: str, said: str) -> None:
    (tmp_path / "pytest.log").write_text(output)
    assert _last_error(tmp_path) == said


@pytest.mark.parametrize("mark", [pytest.mark.workload("no-such"), pytest.mark.workload])
def test_a_mark_that_names_no_workload_stays_for_who_reads_it_to_say_so(mark: pytest.MarkDecorator) -> None:
    """It ended the step's pytest with the error's class and a traceback."""
    assert _walked(mark, "bench/mine.yaml", "step/workload.yaml") is mark.mark


def test_the_mark_of_the_walked_workload_names_the_one_of_the_commit() -> None:
    file = catalog.load_workload("primes").file
    mark = pytest.mark.workload("primes", hi=5)
    assert _walked(mark, str(file), "step.yaml") == pytest.mark.workload("step.yaml", hi=5).mark
    assert _walked(mark, "bench/mine.yaml", "step.yaml") is mark.mark


def test_a_step_begins_in_a_strict_project(tmp_path: Path) -> None:
    """pytest warns of a plugin that was imported before, and there a warning is an error."""
    (tmp_path / "pytest.ini").write_text(STRICT)
    (tmp_path / "test_row.py").write_text(TERN.format(system="kernel"))
    words = ["--clock=insn", "--plan", "test_row.py"]
    argv = inner_pytest.argv(PLUGIN, tmp_path / "ended.json", words)
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "sweep tasks.steps-4000-kernel" in done.stdout) == (0, True), done
    assert (tmp_path / "ended.json").read_text() == '{"error": "", "text": ""}'
