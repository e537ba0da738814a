"""Two systems with one workload: their figures side by side, without a ratio between them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.runs import Ending, Resolution
from benchgate.render.files import summary
from benchgate.render.tables import side_by_side, terminal
from benchgate.render.view import SessionView
from tests.unit.factories import cell, raw_run, rows, run_row, scaled_view, view

MS = 1_000_000
GUEST = (190 * MS, 200 * MS, 210 * MS), (100 * MS, 100 * MS, 100 * MS)
HOST = (60 * MS, 66 * MS, 70 * MS), (40 * MS, 44 * MS, 48 * MS)


def both(lane: Lane = Lane.NATIVE) -> SessionView:
    """The guest is twice as fast with two CPUs, this host's own Linux 1.5 times."""
    linux = [row for n, work in enumerate(GUEST) for row in rows(cell(n + 1), work, first=1 + 3 * n)]
    native = [
        row
        for n, work in enumerate(HOST)
        for row in rows(cell(n + 1, system="native"), work, first=7 + 3 * n, lane=lane)
    ]
    return view(*linux, *native)


def test_each_system_has_its_own_median_and_its_own_ratio() -> None:
    lines = side_by_side.text(both(), 120)
    assert [line.split() for line in lines if line.startswith("workload")] == [
        ["workload", "window", "linux,", "tcg", "native"]
    ]
    (work,) = (line for line in lines if line.startswith("primes") and "  work  " in line)
    assert "smp1 200.0 ms; smp2 2.00x" in work
    assert work.endswith("smp1 66.00 ms; smp2 1.50x")
    assert sum(line.startswith("primes") for line in lines) == 2


def test_a_ratio_never_mixes_two_lanes() -> None:
    """Mixed arms would give the ratios 200 over 44 and 66 over 100."""
    shown = "\n".join([*side_by_side.text(both(), 120), *side_by_side.lines_of_markdown(both())])
    assert "4.55x" not in shown
    assert "3.03x" not in shown
    assert "0.66x" not in shown


def test_where_a_gate_asks_how_a_rate_scales_the_window_has_no_ratio() -> None:
    """Each CPU has work of its own. A gate of the other system, or on the window, changes nothing."""
    given = both()
    asked = replace(
        next(iter(scaled_view().verdicts)), id="rate", metric="rate", system="linux", lane=Lane.TCG, cpus=2
    )
    for verdict, shown in (
        (asked, "smp1 200.0 ms; smp2 -"),
        (replace(asked, system="native"), "smp1 200.0 ms; smp2 2.00x"),
        (replace(asked, metric="work"), "smp1 200.0 ms; smp2 1.93x"),  # that of the gate
    ):
        lines = side_by_side.text(replace(given, verdicts=(verdict,)), 120)
        (work,) = (line for line in lines if line.startswith("primes") and "  work  " in line)
        assert shown in work
        assert work.endswith("smp1 66.00 ms; smp2 1.50x")


def test_one_system_has_no_side_by_side_table() -> None:
    assert side_by_side.text(scaled_view(), 120) == []
    assert side_by_side.lines_of_markdown(scaled_view()) == []
    assert side_by_side.TITLE not in terminal.render(scaled_view(), 120)


def test_an_arm_with_an_invalid_run_has_no_figure() -> None:
    bad = run_row(
        raw_run(cell(2, system="native"), attempt=99, ending=Ending.FAILED, lane=Lane.NATIVE), None, "wrong"
    )
    seen = view(*both().rows, bad)
    (work,) = (line for line in side_by_side.text(seen, 120) if "  work  " in line)
    assert "smp2 2.00x" in work
    assert work.endswith("smp1 66.00 ms; smp2 INVALID")


def test_an_impossible_ratio_is_invalid() -> None:
    runs = [*rows(cell(1), [400_000] * 5), *rows(cell(2), [100_000] * 5, first=6)]
    runs += rows(cell(1, system="native"), [400_000] * 5, first=11, lane=Lane.NATIVE)
    lines = side_by_side.text(view(*runs), 120)
    (work,) = (line for line in lines if line.startswith("primes") and "  work  " in line)
    assert "smp2 INVALID" in work


def on_the_clock(kernel: int, late: int, printed: int = 0) -> SessionView:
    """Linux 1.950x and another kernel, of which each window may be off by `late` ns."""
    runs = [
        *rows(cell(1), [195_000] * 5, lane=Lane.INSN),
        *rows(cell(2), [100_000] * 5, first=6, lane=Lane.INSN),
    ]
    other = (cell(n, system="kernel") for n in (1, 2))
    for n, (of, work) in enumerate(zip(other, (kernel, 100_000), strict=True)):
        runs += rows(of, [work] * 5, first=11 + 5 * n, lane=Lane.INSN)
    cells = {row.cell.id for row in runs}
    return replace(view(*runs), resolutions={text: Resolution(5_000, 3, late, printed) for text in cells})


@pytest.mark.parametrize(
    ("late", "printed", "resolved"), [(300, 0, True), (1_000, 0, False), (0, 300, True), (0, 1_000, False)]
)
def test_systems_that_the_clock_cannot_tell_apart_are_named(late: int, printed: int, resolved: bool) -> None:
    """1.95x and 1.98x: 1.5% apart. Four windows with a delay of 0.3% or 1% each can account for 1% or 3%; so
    can the steps of a figure that the guest prints."""
    seen = on_the_clock(198_000, late, printed)
    text = " ".join(side_by_side.text(seen, 200))
    named = (
        "Systems not told apart, because the clock's steps can account for the difference: primes work smp2"
    )
    assert (named in text) is not resolved
    assert (named in " ".join(side_by_side.lines_of_markdown(seen))) is not resolved


def test_the_step_of_the_clock_and_its_delay_stand_beside_each_row() -> None:
    seen = on_the_clock(198_000, 300)
    (heading, *_, two) = (
        line for line in terminal.render(seen, 120).splitlines() if line.startswith(("arm", "smp2"))
    )
    assert heading.split()[-3:] == ["step", "step", "error"]
    assert two.endswith("5.000 us  0.30%")
    assert "| 5.000 us | 0.30% |" in summary.render(seen)


@pytest.mark.parametrize("room", [40, 60])
def test_a_narrow_terminal_gets_stacked_lines(room: int) -> None:
    lines = side_by_side.text(both(), room)
    assert max(map(len, lines)) <= room
    assert "  native: smp1 66.00 ms; smp2 1.50x" in lines


def test_the_table_is_in_the_terminal_and_in_the_summary() -> None:
    assert side_by_side.TITLE in terminal.render(both(), 100)
    text = summary.render(both())
    assert "## Side by side" in text
    assert "| workload | window | linux, tcg | native |" in text
    assert "| primes | work | smp1 200.0 ms; smp2 2.00x | smp1 66.00 ms; smp2 1.50x |" in text
