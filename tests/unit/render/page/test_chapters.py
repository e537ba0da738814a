"""The parts of the page: what each must show, from a view with something in each."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.render.page.chapters import envelope, runs, side
from benchgate.render.page.chapters.runs import MOST
from benchgate.render.page.details import attribution, curves, metrics, phases
from benchgate.render.page.page import session_page
from benchgate.render.page.page_view import page_view
from tests import pagekit
from tests.pageviews import VOID_WHY, full_view, long_view, wide_view
from tests.unit.factories import cell, raw_run, rows, run_row, view

FULL = full_view()
PAGE = page_view(FULL)
NAMES = ["gates", "rows", "side", "runs", "floor", "envelope", "again", "words"]


def text_of(html: str | None) -> str:
    page = pagekit.Page()
    page.feed(html or "")
    assert page.problems == []
    return page.text


def test_every_part_is_there_and_well_formed() -> None:
    page = pagekit.read(session_page(FULL))
    assert page.parts == NAMES
    names = [name for name, _ in page.seen]
    assert names.count("table") == names.count("caption") >= len(NAMES)
    assert all(attribute.get("scope") in ("col", "row", "colgroup") for attribute in page.attributes("th"))
    assert all(
        attribute.get("aria-label") for attribute in page.attributes("svg") if attribute.get("role") == "img"
    )


def test_efficiency_has_a_panel_a_workload_and_a_dot_a_run() -> None:
    (drawn,) = curves.panels_of(PAGE)
    assert [line.name for line in drawn.lines] == ["linux, tcg", "kernel, tcg"]
    linux, kernel = drawn.lines
    assert [point.cpus for point in linux.points] == [1, 2]  # smp4 is broken
    assert [point.cpus for point in kernel.points] == [1, 2, 4]
    assert [len(point.runs) for point in kernel.points] == [5, 5, 5]
    assert kernel.points[2].value == pytest.approx(1_202_000_000 / 352_000_000 / 4)
    assert drawn.host == ((2, 0.97),)


def test_a_workload_that_runs_for_a_fixed_time_has_no_efficiency() -> None:
    timed = [replace(row, cell=replace(row.cell, params=(("time_ns", 1000),))) for row in FULL.rows]
    assert curves.panels_of(page_view(replace(FULL, rows=tuple(timed)))) == ()
    untimed = [replace(row, cell=replace(row.cell, params=(("time_ns", 0),))) for row in FULL.rows]
    assert len(curves.panels_of(page_view(replace(FULL, rows=tuple(untimed))))) == 1


def test_systems_are_side_by_side_with_absolute_figures_and_intervals() -> None:
    shown = text_of(side.body(PAGE))
    assert "1.202 s" in shown
    assert re.search(r"352\.0 ms350\.0 \.\. 354\.0 ms", shown)
    assert re.search(r"primes smp2kernel, tcg5642\.0 ms640\.0 \.\. 644\.0 ms1\.87x \[1\.8\d, 1\.8\d\]", shown)
    assert re.search(r"1\.027x \[1\.0\d\d, 1\.0\d\d\]", shown)  # 659.5 ms of linux over 642.0 ms


def test_runs_are_in_order_with_voids_broken_ones_and_commands() -> None:
    html = runs.body(PAGE) or ""
    shown = text_of(html)
    assert f"run 60, primes-linux-smp2, void 900.0 ms: {VOID_WHY}" in shown
    assert 'class="void"' in html
    assert 'class="bad"' in html
    assert "benchgate replay reports/runs/20260102T030405Z-abcdef/runs/0062-primes-own-smp1" in shown
    assert shown.count("benchgate replay") == sum(row.lane is Lane.INSN for row in FULL.rows) == 1
    assert "at 95.0 s for 1.9 s; run delay 6%, steal 1%" in shown
    numbers = [int(one) for one in re.findall(r"<th scope=\"row\">(\d{4})</th>", html)]
    assert numbers == sorted(row.run for row in FULL.rows)


def test_a_void_run_is_drawn_even_if_no_run_of_its_arm_counts() -> None:
    only = replace(rows(cell(1), [500])[0], outcome=full_view().rows[-3].outcome, reason=VOID_WHY)
    html = runs.body(page_view(view(only))) or ""
    assert 'class="void"' in html
    assert 'class="bad"' not in html


def test_a_command_is_quoted_for_the_shell() -> None:
    odd = run_row(raw_run(replace(cell(1), label="a b;c"), lane=Lane.INSN), None, "x")
    assert runs.replay_command(view(odd), odd).endswith(
        "'reports/runs/20260102T030405Z-abcdef/runs/0001-a b;c-linux-smp1'"
    )


def test_phases_add_up_to_the_total() -> None:
    assert "smp2 0.00%" in (phases.body(PAGE) or "")
    shown = text_of(side.body(PAGE))
    assert "640.0 .. 644.0 ms400.0 ns600.0 ns" in shown  # 1000 ns beyond the work, 400 before it


def test_metrics_have_percentiles_of_all_runs_together() -> None:
    shown = text_of(metrics.body(PAGE))
    assert "primes: wake_p99 (less is better)" in shown
    assert "primes: wakelinux, tcg, smp15" in shown  # five values, by hand: 900, 1000, 1100, 1100, 9000
    row = shown.partition("primes: wakelinux, tcg, smp15")[2]
    assert re.match(r"1\.(09|10)\d us9\.000 us9\.000 us", row)  # buckets are 1/128 wide


def test_the_machine_has_all_its_facts() -> None:
    shown = text_of(envelope.body(PAGE))
    for due in ("Example CPU, 2 sockets", "6.12", "1.94x [1.90, 1.97]", "lane tcg:"):
        assert due in shown


def test_attribution_is_there_only_with_measure() -> None:
    assert "busy_timens4,100" in text_of(attribution.body(PAGE))
    assert attribution.body(page_view(replace(FULL, attributions=None))) is None


def test_two_hundred_cells_stay_below_1_5_mb_in_few_tables() -> None:
    text = session_page(wide_view(10, 5, 4))
    assert len(text.encode()) < 1_500_000
    assert text.count("<table") < 50


def test_five_hundred_runs_stay_below_2_mb() -> None:
    text = session_page(long_view(500))
    page = pagekit.read(text)
    assert len(text.encode()) < 2_000_000
    pictures = [
        attribute for attribute in page.attributes("svg") if "runs " in str(attribute.get("aria-label"))
    ]
    assert len(pictures) == 500 / MOST + 0.5  # 12 full ones and a half
