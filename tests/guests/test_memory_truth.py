"""The Linux guest's own clock agrees with arithmetic on what each level of the caches, each move of a line,
and each write to a line of others costs. See docs/measured/machines-measured.md."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchgate.insn import plugin
from benchgate.insn.log import AccessOrder
from tools.memory_lab import CASES, SHARING, WRITES, Case, a_write, boot, counters, in_order, server, values

TWO_STORE, TWO_INCREMENT = (one for one in SHARING if one[0] in ("shared", "increments") and one[1] == (0, 1))
OF_TWO = [
    pytest.param(*one, id=str(one), marks=marks)
    for one, marks in ((SHARING[0], pytest.mark.long), (TWO_STORE, ()), (TWO_INCREMENT, pytest.mark.long))
]
REFERENCE = min(in_order(server(4), 4, apart) for apart in range(0, 102, 3))
"""The shortest time for an increment of packed counters at 4 CPUs."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case is CASES[0] else pytest.mark.long) for case in CASES],
)
def test_each_step_takes_what_arithmetic_says(case: Case) -> None:
    seen = values(boot(case.name, case.pins))
    for loop in case.loops:
        assert seen[loop.worker][loop.value] == pytest.approx(loop.steps * loop.step, rel=0.01), loop.about


@pytest.mark.parametrize(("name", "pins", "step"), OF_TWO)
def test_a_line_that_two_write_serves_one_at_a_time(name: str, pins: tuple[int, ...], step: int) -> None:
    assert a_write(boot(name, pins, steps=WRITES)) == pytest.approx(step, rel=0.03)


def test_packed_counters_take_as_long_as_the_reference_says() -> None:
    assert 1.02 * counters(4, AccessOrder.WATCH)[0] >= REFERENCE


@pytest.mark.long
def test_a_clock_that_ends_turns_only_between_blocks_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CPU that waits for the line and then writes to it in the same block goes on out of turn."""
    source = tmp_path / "c"
    shutil.copytree(plugin.SOURCE, source)
    file, ends = source / "access/access.c", "    clock_stop_here(c, left, 0);\n"
    text = file.read_text(encoding="utf-8")
    assert text.count(ends) == 1
    file.write_text(text.replace(ends, "    (void)c, (void)left, clock_stop_soon();\n"), encoding="utf-8")
    monkeypatch.setattr(plugin, "SOURCE", source)
    assert counters(4, AccessOrder.WATCH)[0] < 0.9 * REFERENCE


@pytest.mark.soak
@pytest.mark.parametrize(("name", "pins", "step"), SHARING, ids=str)
def test_in_strict_order_no_access_is_late(name: str, pins: tuple[int, ...], step: int) -> None:
    """With four CPUs a write takes 336 or 360 ns, by the order in which the line goes round."""
    done = boot(name, pins, order=AccessOrder.STRICT, steps=WRITES)
    assert done.log
    assert done.log.orders["window"].count == 0
    assert a_write(done) == pytest.approx(step, rel=0.03)
