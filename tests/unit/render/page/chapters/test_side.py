"""One table of all arms: one reference for the whole session, and no spread of one run."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.render.page.chapters import side
from benchgate.render.page.page_view import page_view
from tests.pageviews import wide_view
from tests.unit.factories import cell, rows, view


def lines_of(html: str) -> dict[str, str]:
    result = re.findall(r"<tr class=\"item\"[^>]*>(.*?)</tr>", html)
    texts = [re.sub("<[^>]*>", "|", one) for one in result]
    return {re.sub(r"\|+", "|", text).strip("|").split("|")[0]: text for text in texts}


def test_one_table_has_all_arms() -> None:
    html = side.body(page_view(wide_view(6, 2, 3))) or ""
    assert html.count("<table") == 1
    assert html.count('<tr class="item"') == 6 * 2 * 3


def test_the_reference_is_one_system_in_all_rows() -> None:
    """The second row ran on the other system first, so its own first system is not the session's."""
    given = [
        *rows(cell(1), [100] * 5),
        *rows(cell(1, system="kernel"), [50] * 5, first=10),
        *rows(cell(1, workload="pipe", system="kernel"), [200] * 5, first=20),
        *rows(cell(1, workload="pipe"), [100] * 5, first=30),
    ]
    html = side.body(page_view(view(*given))) or ""
    assert "faster than linux" in html
    assert re.findall(r"(\d\.\d{3}x) \[", html) == ["2.000x", "0.500x"]


def test_systems_on_different_lanes_are_not_compared() -> None:
    given = [*rows(cell(1), [100] * 5), *rows(cell(1, system="own"), [50] * 5, first=9, lane=Lane.INSN)]
    assert "faster" not in (side.body(page_view(view(*given))) or "")


def test_one_run_has_no_smallest_and_largest() -> None:
    one = rows(cell(1), [637_700_000])
    assert ".." not in (side.body(page_view(view(*one))) or "")
    two = rows(cell(1), [637_700_000, 640_000_000])
    assert "637.7 .. 640.0 ms" in (side.body(page_view(view(*two))) or "")


def test_a_machine_with_memory_counts_ns() -> None:
    given = rows(replace(cell(1), system="linux-desktop8"), [62_900_000], lane=Lane.INSN, unit="insn")
    assert "62.90 ms" in (side.body(page_view(view(*given))) or "")
    ideal = rows(cell(1), [62_900_000], lane=Lane.INSN, unit="insn")
    assert "62,900,000 insn" in (side.body(page_view(view(*ideal))) or "")
