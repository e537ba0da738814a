"""The tables of the time of the window on a machine with memory, and the bound of the order of accesses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.runs import Disorder, Resolution
from benchgate.render.files import memory_csv, summary
from benchgate.render.page.details import memory as part
from benchgate.render.page.page_view import page_view
from benchgate.render.tables import memory, terminal
from benchgate.render.tables.memory import shared_lines_text
from benchgate.render.view import SessionView
from tests.unit.factories import cell, rows, view
from tests.unit.judge.accounts.test_memory_books import books
from tests.unit.memory_logs import LOG, ONE_CPU
from tests.unit.moved_lines import sharing


@pytest.fixture
def seen(tmp_path: Path) -> SessionView:
    """Two cells of a row, with one run each."""
    one, two = (cell(cpus, system="linux-toy2") for cpus in (1, 2))
    given = [*rows(one, [12_500], lane=Lane.INSN), *rows(two, [9_000], first=2, lane=Lane.INSN)]
    result = (
        books(tmp_path, ONE_CPU, 1, 12_800, cell=one.id, row=one.row),
        books(tmp_path, LOG, 2, 10_000, cell=two.id, row=two.row),
    )
    orders = {one.id: Disorder(0, 0, 0, 0), two.id: Disorder(3, 120, 170, 0x1000, 1)}
    resolutions = {name: Resolution(5_000, 0, 0, order=order) for name, order in orders.items()}
    return view(*given, books=result, resolutions=resolutions)


def test_the_terminal_says_where_the_time_went_and_why_a_row_does_not_scale(seen: SessionView) -> None:
    text = terminal.render(seen, 200)
    part = text[text.index(memory.TITLE) :]
    (line,) = (splitline for splitline in part.splitlines() if splitline.startswith("smp2  "))
    # Of 20,000 ns: 12,000 instructions, 4,400 shared lines, 140 caches, 200 memory, 440 remote, ...
    assert line.split()[1:] == [
        *("20.00", "us", "60.0%", "22.0%", "0.7%", "1.0%", "2.2%", "2.5%", "0.6%", "0.5%", "0.5%", "10.0%"),
    ]
    said = " ".join(text.split())
    assert re.search(r"primes-linux-toy2: from 1 CPU to 2 .* 64% of the ideal", said)
    assert "shared lines 57%, halted 26%, queueing 7%" in said


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_keeps_the_largest_parts(seen: SessionView, width: int) -> None:
    lines = memory.text(seen, width)
    assert max(map(len, lines)) <= width
    head = next(line for line in lines if line.startswith("arm "))
    assert "instructions" in head
    assert ("atomics" in head) == (width == 120)
    assert "page walks" not in head


def test_a_row_that_scales_needs_no_sentence(seen: SessionView) -> None:
    one, two = seen.books
    assert memory.sentences(replace(seen, books=(one, replace(two, total=7_000)))) == []
    assert len(memory.sentences(replace(seen, books=(one, replace(two, total=7_200))))) == 1


def test_the_bound_of_the_order_stands_beside_each_row(seen: SessionView) -> None:
    text = terminal.render(seen, 200)
    assert "out of order" in text
    assert any(line.startswith("smp1") and line.endswith("none") for line in text.splitlines())
    assert any(line.startswith("smp2") and line.endswith("3, 120 ns") for line in text.splitlines())
    assert "| 3, 120 ns |" in summary.render(seen)


def test_the_ideal_machine_has_neither() -> None:
    ideal = view(*rows(cell(2), [9_000], lane=Lane.INSN))
    assert "out of order" not in terminal.render(ideal, 200)
    for text in (terminal.render(ideal, 200), summary.render(ideal)):
        assert memory.TITLE not in text
    assert memory_csv.render(ideal) is None
    assert part.body(page_view(ideal)) is None


def test_the_summary_has_the_table(seen: SessionView) -> None:
    text = summary.render(seen)
    assert f"## {memory.TITLE}" in text
    assert "| primes-linux-toy2-smp2 | 20.00 us | 60.0% | 22.0% |" in text


def test_the_lines_that_moved_most_are_shown_with_a_sentence_each() -> None:
    lines = shared_lines_text(sharing())
    (counters,) = (line for line in lines if line.startswith("counters "))
    # 400 within a cluster, 1000 + 1100 + 1200 + 1300 across; four CPUs, 5,000 reads and writes each.
    assert counters.split() == ["counters", "0x404000", "5,000", "400", "4,600", "0", "20,000", "20,000"]
    said = [line for line in lines if "one line of" in line]
    assert said[0].endswith("CPU 3 writes bytes 24-31 of one line of `counters`: false sharing")
    assert said[1] == "CPUs 0-3 write bytes 0-3 of one line of `big_lock`: true sharing"
    assert len(said) == 3  # the third in any case, the others moved once each
    assert lines[-1].startswith("8 lines of 64 bytes moved in the window, 5245 times in all; ")


def test_dropped_lines_are_said() -> None:
    lines = shared_lines_text(replace(sharing(), dropped=70, dropped_moves=2))
    assert re.search("70 lines more were dropped .* more than 2 times", lines[-1])


def test_a_window_without_moves_is_said() -> None:
    assert shared_lines_text(replace(sharing(), lines=(), known=0)) == [
        "no line of memory moved between CPUs in the window"
    ]
