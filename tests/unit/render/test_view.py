"""From judged runs to what is shown: figures, exit codes, and a view that makes nothing up."""

from __future__ import annotations

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Word
from benchgate.base.runs import Ending, Outcome
from benchgate.evidence.rows import row_of
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan.options import Options
from benchgate.plan.schedule import expected_runs
from benchgate.plan.seats import reseated
from benchgate.render import view
from benchgate.session import progress
from benchgate.session.exit_codes import exit_code
from tests.unit.factories import POLICY, cell, raw_run, verified
from tests.unit.plans import GROUND, planned, sweep


def judged(work: int = 1_234_000_000, unit: str = "ns", *, warmup: bool = False) -> JudgedRun:
    run = raw_run(cell(1), warmup=warmup)
    return JudgedRun(run, verified(run, work, unit=unit))


def test_what_a_run_says_when_it_has_ended() -> None:
    assert progress.figure(judged()) == "1.234 s, verified"
    assert progress.figure(judged(12_345_678, "cycles")) == "12,345,678 cycles, verified"
    assert progress.figure(judged(warmup=True)) == "1.234 s, verified (warmup)"
    crashed = JudgedRun(raw_run(cell(1), ending=Ending.PANIC), None, "the guest panicked")
    assert progress.figure(crashed) == "CRASHED: the guest panicked"


def test_a_row_keeps_the_judges_outcome_and_reason() -> None:
    wrong = JudgedRun(raw_run(cell(2)), None, "wrong answer")
    row = row_of(wrong)
    assert (row.outcome, row.reason, row.work, row.verified) == (Outcome.INVALID, "wrong answer", None, False)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 5),
        ([Word.SKIP], 5),
        ([Word.PASS, Word.SKIP], 0),
        ([Word.PASS, Word.INCONCLUSIVE], 75),
        ([Word.INCONCLUSIVE, Word.FAIL], 1),
        ([Word.PASS, Word.INVALID], 1),
    ],
)
def test_exit_codes(words: list[Word], code: int) -> None:
    assert exit_code(words) == code


def test_runs_to_expect_count_warm_ups_and_leave_out_what_is_skipped() -> None:
    assert expected_runs(sweep(2, 4), Options(), POLICY) == 2 * (5 + 1)


def test_another_cpu_count_of_the_same_system() -> None:
    seated = reseated(planned(1), 2, GROUND, Options(smp=(1,)))
    assert (seated.cell.id, seated.seats.pins, seated.seats.skip) == ("primes-linux-smp2", (4, 5), "")
    assert seated.seats.lane is Lane.TCG


def test_what_is_not_known_is_unavailable() -> None:
    shown = view.session_view(facts={}, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.id, shown.version, shown.commit) == ("unavailable",) * 3
    machine = dict(shown.machine)
    assert machine["processor"] == (
        "unavailable; sockets unavailable, cores unavailable, threads unavailable"
    )
    assert machine["qemu"] == machine["accelerators"] == "unavailable"
    assert shown.isolation == "none seen"
    assert shown.notes == ()


def test_the_view_says_what_session_json_says() -> None:
    facts = {
        "id": "20260102T030405Z-abcdef",
        "state": "partial",
        "state_reason": "interrupted",
        "command": "pytest -m smp",
        "notes": ["profile of x: unavailable: no perf"],
        "inputs": {"labels": ["user QEMU"], "qemu": {"version": "10.0.2", "origin": "user"}},
        "envelope": {"isolation": {"isolcpus": "1", "cpuset": "none"}, "cpu_model": "Example"},
    }
    shown = view.session_view(facts=facts, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.state, shown.state_reason) == ("partial", "interrupted")
    assert shown.notes == ("profile of x: unavailable: no perf",)
    assert shown.labels == ("user QEMU",)
    assert shown.isolation == "isolcpus 1"
    assert dict(shown.machine)["qemu"] == "10.0.2 user"
    assert shown.repeat == ("pytest -m smp", "benchgate rejudge reports/runs/20260102T030405Z-abcdef")
