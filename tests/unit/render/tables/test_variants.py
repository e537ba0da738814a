"""The settings of one system are compared with the plain system; nothing else is compared."""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.render.files import summary
from benchgate.render.tables import terminal, variants
from benchgate.render.view import SessionView
from tests.unit.factories import cell, rows, view

MS = 1_000_000
PLAIN = tuple(n * MS for n in (100, 100, 101, 102, 100))
SLOW = tuple(n * MS for n in (150, 151, 150, 149, 150))


def several(slow: tuple[int, ...] = SLOW, lane: Lane = Lane.TCG) -> SessionView:
    """The plain system is not first, so that it cannot be found by its position."""
    return view(
        *rows(cell(1, system="own.profile-debug"), slow, first=1, lane=lane),
        *rows(cell(1, system="own"), PLAIN, first=11),
        *rows(cell(2, system="own"), [n // 2 for n in PLAIN], first=21),
    )


def table(seen: SessionView) -> list[list[str]]:
    lines = [line for line in variants.lines_of_markdown(seen) if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_setting_is_compared_with_the_plain_system() -> None:
    heading, _, plain, slow = table(several())
    assert heading == ["system", "smp1", "smp2"]
    assert plain == ["own", "100.0 ms", "50.00 ms"]
    assert slow[0] == "own.profile-debug"
    assert slow[1].startswith("150.0 ms, 1.50x [1.4")
    assert slow[2] == "\\-"  # escaped for Markdown


def test_few_runs_have_no_interval() -> None:
    assert table(several(SLOW[:3]))[3][1] == "150.0 ms, 1.50x"


def test_two_lanes_and_two_systems_are_not_compared() -> None:
    assert variants.lines_of_markdown(several(lane=Lane.KVM)) == []
    others = view(*rows(cell(1), PLAIN, first=1), *rows(cell(1, system="native"), SLOW, first=11))
    assert variants.lines_of_markdown(others) == []
    assert variants.text(others, 80) == []


def test_without_the_plain_system_the_first_one_is_the_base() -> None:
    seen = view(
        *rows(cell(1, system="own.a-1"), SLOW, first=1), *rows(cell(1, system="own.a-2"), PLAIN, first=11)
    )
    assert [row[0] for row in table(seen)[2:]] == ["own.a-1", "own.a-2"]
    assert "0.67x" in table(seen)[3][1]


def test_the_table_is_in_both_reports_and_stacked_on_a_narrow_terminal() -> None:
    seen = several()
    assert f"## {variants.TITLE}" in summary.render(seen)
    assert variants.TITLE in terminal.render(seen, 100)
    narrow = variants.text(seen, 44)
    assert max(map(len, narrow)) <= 44
    assert any(line.startswith("own.profile-debug: smp1 150.0 ms") for line in narrow)
