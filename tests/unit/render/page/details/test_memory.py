"""The part with the books of a machine, and the order of accesses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.runs import Disorder, Resolution
from benchgate.judge.judged_run import Recording
from benchgate.render.page.details import memory
from benchgate.render.page.page_view import page_view
from benchgate.render.view import SessionView
from tests import pagekit
from tests.unit.factories import cell, rows, view
from tests.unit.judge.accounts.test_memory_books import books
from tests.unit.memory_logs import LOG
from tests.unit.moved_lines import sharing

CELL = "primes-linux-smp2"


@pytest.fixture
def seen(tmp_path: Path) -> SessionView:
    order = Resolution(5_000, 0, 0, order=Disorder(3, 120, 170, 0x2000, 1))
    return view(
        *rows(cell(2), [9_000], lane=Lane.INSN),
        books=(books(tmp_path, LOG, 2, 10_000, cell=CELL),),
        resolutions={CELL: order},
    )


def text_of(given: SessionView) -> str:
    html = memory.body(page_view(given)) or ""
    page = pagekit.Page()
    page.feed(html)
    assert page.problems == []
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def test_each_cpu_and_phase_has_its_figures(seen: SessionView) -> None:
    text = text_of(seen)
    assert "Phase window: stalled for, in ns" in text
    assert "CPU 1 60 - 440 3,000 500 - -" in text  # the classes that some CPU has
    assert "CPU 1 400 300 100 - 750 6 - 4 40" in text
    assert "Phase boot: accesses and events" in text


def test_the_worst_access_out_of_order_has_its_line_and_a_recorded_name(seen: SessionView) -> None:
    assert f"{CELL} 3 1 120 170 physical 0x2000" in text_of(seen)
    recorded = replace(seen, moved_lines=(Recording(CELL, 1, "runs/0001", sharing()),))
    assert f"{CELL} 3 1 120 170 big_lock, physical 0x2000" in text_of(recorded)


def test_the_order_of_the_ideal_machine_has_its_table_too(seen: SessionView) -> None:
    text = text_of(replace(seen, books=()))
    assert "Accesses out of order" in text
    assert "Phase window" not in text
    assert memory.body(page_view(view())) is None
