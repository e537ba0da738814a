"""The terminal's table: never wider than the terminal, with the complete reason of a failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView
from tests.unit.factories import failing, scaled_view


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_terminal_table_is_never_wider_than_the_terminal(width: int) -> None:
    text = terminal.render(scaled_view(labels=("a label that is rather long, " * 4,)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "1.93x [1.92, 1.96]" in text
    assert ("min .. max" in text) == (width >= 80)


def test_the_terminal_has_the_complete_reason_of_a_failure() -> None:
    text = terminal.render(failing(Word.FAIL), 60)
    assert text.endswith("\n\nFAIL: 1 of 1 verdicts\n")  # the verdict is last
    assert "FAIL: primes-linux smp2/smp1 ..." in text


@pytest.mark.parametrize("width", [40, 80])
def test_a_command_has_a_line_of_its_own_and_can_be_pasted(width: int) -> None:
    """It was broken after its second word, and what was pasted was the half of it."""
    run = "runs/0002-schbench.threads-6.time_ns-50000000-kernel.fault-half.sched-wfq-smp4"
    command = f"benchgate baseline diff reports/baselines/main.json {run} --profile"
    told = advising(f"FAIL: it is so; next: {command} shows where", command)
    assert f"{command}\n" in terminal.render(told, width)


def test_the_path_in_a_command_is_that_of_the_session_from_here() -> None:
    told = advising(
        "FAIL: it is so; next: benchgate replay runs/0002-x --profile",
        "benchgate replay runs/0002-x --profile",
    )
    whole = "benchgate replay reports/runs/20261129T184903Z-6c975c/runs/0002-x --profile\n"
    assert whole in terminal.render(told, 40, Path.cwd() / "reports/runs/20261129T184903Z-6c975c")


def advising(reason: str, command: str) -> SessionView:
    view = failing(Word.FAIL)
    verdicts = (replace(one, reason=reason, commands=(command,)) for one in view.verdicts)
    return replace(view, verdicts=tuple(verdicts))
