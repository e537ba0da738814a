"""The terminal's table: never wider than the terminal, with the complete reason of a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.gates import Word
from benchgate.render.tables import terminal
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
def test_a_command_with_a_long_path_can_be_pasted(width: int) -> None:
    """It was cut within the name of the run's folder, and two spaces stood in the gap."""
    run = "runs/0002-schbench.threads-6.time_ns-50000000-kernel.fault-half.sched-wfq-smp4"
    view = failing(Word.FAIL)
    reason = f"FAIL: it is so; next: benchgate threads {run}"
    told = replace(view, verdicts=tuple(replace(one, reason=reason) for one in view.verdicts))
    assert f"{run}\n" in terminal.render(told, width)
