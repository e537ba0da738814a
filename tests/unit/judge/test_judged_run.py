"""The outcome of a run, and the reason of a run that is not verified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending, Outcome, RawRun, VerifiedRun
from benchgate.judge.judged_run import JudgedRun, judge_run, judge_to_end
from tests.unit.factories import cell, raw_run, verified


@pytest.mark.parametrize(
    ("ending", "good", "more", "outcome"),
    [
        (Ending.DONE, True, {}, Outcome.OK),
        (Ending.DONE, True, {"warmup": True}, Outcome.WARMUP),
        (Ending.DONE, False, {}, Outcome.INVALID),
        (Ending.FAILED, False, {"warmup": True}, Outcome.INVALID),
        (Ending.PANIC, False, {}, Outcome.CRASHED),
        (Ending.EOF, False, {}, Outcome.CRASHED),
        (Ending.RUN_DEADLINE, False, {}, Outcome.CRASHED),
    ],
)
def test_outcomes(ending: Ending, good: bool, more: dict[str, object], outcome: Outcome) -> None:
    raw = raw_run(cell(1), ending=ending, **more)  # type: ignore[arg-type]
    assert JudgedRun(raw, verified(raw, 10) if good else None).outcome is outcome


def test_a_verify_error_is_the_reason_and_its_paths_are_relative_to_the_session() -> None:
    def refuse(run: RawRun) -> VerifiedRun:
        raise VerifyError(f"{run.folder}/serial.log has no end line")

    raw = replace(raw_run(cell(1)), folder=Path("/reports/runs/session/runs/0001-x"))
    judged = judge_run(raw, refuse)
    assert (judged.verified, judged.outcome) == (None, Outcome.INVALID)
    assert judged.reason == "runs/0001-x/serial.log has no end line"


def test_a_run_that_its_verifier_accepts_is_ok() -> None:
    judged = judge_run(raw_run(cell(1)), lambda run: verified(run, 1000))
    assert (judged.outcome, judged.reason) == (Outcome.OK, "")


def test_a_reason_is_one_line_that_is_safe_to_show() -> None:
    def refuse(run: RawRun) -> VerifiedRun:
        raise VerifyError(f"{run.folder}/serial.log has\n::error::\x1b[2J")

    raw = replace(raw_run(cell(1)), folder=Path("/rep\torts/runs/session/runs/0001-x"))
    assert judge_run(raw, refuse).reason == "runs/0001-x/serial.log has\\x0a\\x3a:error::\\x1b[2J"


def test_an_interrupt_does_not_cost_a_run_that_is_complete() -> None:
    raw, kept = raw_run(cell(1)), list[BaseException]()
    stops = [KeyboardInterrupt("SIGINT")]

    def interrupted(run: RawRun) -> VerifiedRun:
        if stops:
            raise stops.pop()
        return verified(run, 1000)

    assert judge_to_end(raw, interrupted, kept).outcome is Outcome.OK
    assert [str(one) for one in kept] == ["SIGINT"], "it ends the session later"


@pytest.mark.parametrize("error", [KeyboardInterrupt("SIGINT"), ZeroDivisionError("x")])
def test_what_ends_a_judgement_every_time_is_kept_and_is_the_reason(error: BaseException) -> None:
    def ended(run: RawRun) -> VerifiedRun:
        raise error

    kept: list[BaseException] = []
    judged = judge_to_end(raw_run(cell(1)), ended, kept)
    assert (judged.outcome, judged.reason) == (
        Outcome.INVALID,
        f"it could not be judged: {type(error).__name__}: {error}",
    )
    assert set(kept) == {error}


@pytest.mark.parametrize(
    ("ending", "lane", "unfinished"),
    [
        (Ending.PANIC, Lane.TCG, True),
        (Ending.BOOT_DEADLINE, Lane.KVM, True),
        (Ending.FAILED, Lane.TCG, True),
        (Ending.DONE, Lane.TCG, False),  # a wrong answer, or broken evidence
        (Ending.OUTPUT_LIMIT, Lane.TCG, False),
        (Ending.NO_START, Lane.TCG, False),
        (Ending.PANIC, Lane.INSN, False),  # no load of the host can be the reason
        (Ending.FAILED, Lane.NATIVE, False),  # a program that fails without a guest
    ],
)
def test_only_a_guest_in_wall_time_may_come_to_no_result(
    ending: Ending, lane: Lane, unfinished: bool
) -> None:
    run = replace(raw_run(cell()), ending=ending, lane=lane)
    assert JudgedRun(run, None, "why").is_unfinished is unfinished
