"""The page in a real browser: each part, no complaint, no sideways scrolling on a phone, dark and light.

Needs Chromium on PATH, else it skips and says so. With BENCHGATE_SCREENSHOTS=FOLDER it leaves pictures to
look at. BENCHGATE_SESSIONS=FOLDER:FOLDER adds the pages of finished sessions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.insn.activity import Wakes
from benchgate.render.page.page import session_page
from benchgate.render.view import SessionView
from tests import browserkit, pagekit
from tests.browserkit import Browser
from tests.pageviews import full_view, long_names_view, long_view, threads_view, wide_view
from tests.unit.factories import failing
from tests.unit.render.test_escape import evil_view

PHONE, HALF, SCREEN, BROAD = 390, 800, 1200, 1400
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
HIDDEN_PARTS = (
    "[...document.querySelectorAll('section')].filter(one => one.getBoundingClientRect().height < 20)"
    ".map(one => one.id)"
)
GROUND = "getComputedStyle(document.body).backgroundColor"
CUT_TEXT = """
[...document.querySelectorAll('figure svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect()
  return [...svg.querySelectorAll('text')].filter(one => {
    const text = one.getBoundingClientRect()
    return text.left < box.left - 1 || text.right > box.right + 1
  }).map(one => one.textContent)
})
"""

OVERRUN = """
[...document.querySelectorAll('main *')].filter(one => {
  if (one.closest('svg, .wide') || !one.clientWidth) return false
  return one.getBoundingClientRect().right > document.documentElement.clientWidth + 1
}).map(one => `${one.tagName} ${one.textContent.slice(0, 60)}`)
"""
"""What leaves the page and is in no box that scrolls by itself."""
COVERED = """
[...document.querySelectorAll('th, td')]
  .filter(one => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
  .map(one => one.textContent.slice(0, 60))
"""
"""Cells whose text runs over the next cell."""

VIEWS: dict[str, Callable[[], SessionView]] = {
    "full": full_view,
    "hostile": evil_view,
    "failing": lambda: failing(Word.FAIL),
    "long": lambda: long_view(500),
    "threads": lambda: threads_view(2, 8, 32),
    "long names": long_names_view,
    "4 cells": lambda: wide_view(2, 1, 2),
    "30 cells": lambda: wide_view(5, 2, 3),
    "200 cells": lambda: wide_view(10, 5, 4),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browserkit.browser(tmp_path_factory.mktemp("chromium")) as result:
        yield result


def written(name: str, view: SessionView, folder: Path) -> Path:
    path = folder / f"{name}.html"
    path.write_text(session_page(view), encoding="utf-8", errors="backslashreplace")
    return path


def check(browser: Browser, page: Path, name: str) -> None:
    due = pagekit.read(page.read_text(encoding="utf-8")).parts
    grounds = set()
    for width, scheme in ((BROAD, "light"), (PHONE, "dark"), (PHONE, "light")):
        browser.open(page, width, scheme=scheme)
        assert browser.value("[...document.querySelectorAll('section')].map(one => one.id)") == due
        browser.shoot(f"{name}-{width}-{scheme}")
        browser.value(OPEN_ALL)
        assert browser.value(HIDDEN_PARTS) == []
        whole, seen = browser.value(WIDTHS)
        assert whole <= seen, f"{name}: {whole - seen} px scroll sideways at {width} px"
        assert browser.value(CUT_TEXT) == []
        assert browser.value(OVERRUN) == []
        assert browser.value(COVERED) == []
        complaints = browser.complaints()
        assert not complaints, "\n".join(complaints)
        grounds.add((scheme, browser.value(GROUND)))
    assert {scheme for scheme, _ in grounds} == {"light", "dark"}
    assert len({ground for _, ground in grounds}) == 2


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_in_a_browser(name: str, browser: Browser, tmp_path: Path) -> None:
    check(browser, written(name, VIEWS[name](), tmp_path), name)


PLACES = """
['#gates', '.broad svg', '#side'].map(what => document.querySelector(what).getBoundingClientRect().top)
"""
FOLDED = """
[...document.querySelectorAll('main > section')].filter(one => one.querySelector(':scope > details[open]'))
  .map(one => one.id)
"""


def test_first_what_was_asked_then_why_and_the_rest_is_folded(browser: Browser, tmp_path: Path) -> None:
    page = written("order", wide_view(5, 2, 3), tmp_path)
    browser.open(page, BROAD)
    gates, timeline, side = browser.value(PLACES)
    assert 0 < gates < timeline < side
    assert browser.value("document.querySelector('#gates').getBoundingClientRect().top") < 200
    rest = ["side", "runs", "floor", "envelope", "again", "words"]
    assert browser.value(SECTIONS)[2:] == rest
    assert browser.value(FOLDED) == ["rows"]


SECTIONS = "[...document.querySelectorAll('section')].map(one => one.id)"
BROADS = """
[...document.querySelectorAll('#rows .broad svg')].filter(one => one.getClientRects().length)
  .map(one => one.getBoundingClientRect().width)
"""
ROOM = "document.querySelector('#rows').getBoundingClientRect().width"


@pytest.mark.parametrize("name", ["30 cells", "threads"])
def test_opened_timelines_are_as_wide_as_the_page(name: str, browser: Browser, tmp_path: Path) -> None:
    browser.open(written("broad", VIEWS[name](), tmp_path), BROAD)
    browser.value(OPEN_ALL)
    room, broads = browser.value(ROOM), browser.value(BROADS)
    assert room > 0.95 * (BROAD - 40)
    assert len(broads) > 3
    assert [width for width in broads if width < 0.99 * room] == []


FARTHEST = "Math.max(...[...document.querySelectorAll('.how, #rows .broad svg')]" + (
    ".filter(one => one.getClientRects().length).map(one => one.getBoundingClientRect().right))"
)


def test_on_half_a_screen_reasons_and_timelines_are_not_beyond_the_edge(
    browser: Browser, tmp_path: Path
) -> None:
    """The reason was a column of 100 px, half of it to be scrolled to."""
    for name, given in (("names", long_names_view()), ("half", wide_view(5, 2, 3))):
        browser.open(written(name, given, tmp_path), HALF)
        assert browser.value(FARTHEST) <= HALF


WOKEN = "[...document.querySelectorAll('table')].find(one => one.caption.textContent.includes('interrupted'))"
LAST_SHOWN = f"""
(() => {{
  const table = {WOKEN}, box = table.closest('.wide')
  box.scrollLeft = box.scrollWidth
  const cell = table.tHead.rows[0].lastElementChild.getBoundingClientRect()
  const seen = box.getBoundingClientRect()
  return [cell.right <= seen.right + 1, table.tHead.rows[0].cells.length, table.tBodies[0].rows.length]
}})()
"""


@pytest.mark.parametrize("width", [PHONE, BROAD])
def test_who_woke_whom_can_be_seen_to_its_last_cpu(width: int, browser: Browser, tmp_path: Path) -> None:
    given = wide_view(1, 1, 1)
    first = given.timelines[0]
    assert first.activity is not None
    wakes = tuple(Wakes(cpu, 31 - cpu, cpu + 1, 0) for cpu in range(32))
    all_woken = replace(first, activity=replace(first.activity, wakes=wakes))
    browser.open(written("woken", replace(given, timelines=(all_woken,)), tmp_path), width)
    browser.value(OPEN_ALL)
    assert browser.value(LAST_SHOWN) == [True, 33, 32]


SHOWN = "[...document.querySelectorAll('%s')].filter(one => !one.hidden).length"
CHOOSE = """
(([name, value]) => {
  const control = document.querySelector(`[aria-label="${name}"]`)
  control.value = value
  control.dispatchEvent(new Event(control.tagName === 'INPUT' ? 'input' : 'change'))
})(%s)
"""


@pytest.fixture
def thirty(browser: Browser, tmp_path: Path) -> Browser:
    browser.open(written("thirty", wide_view(5, 2, 3), tmp_path), SCREEN)
    return browser


def choose(browser: Browser, name: str, value: str) -> None:
    browser.value(CHOOSE % json.dumps([name, value]))


def test_the_filter_hides_what_does_not_fit(thirty: Browser) -> None:
    lines, rows = SHOWN % "#side tr.item", SHOWN % "details.row"
    assert (thirty.value(lines), thirty.value(rows)) == (30, 5)
    choose(thirty, "filter by word", "primes smp2")
    assert thirty.value(lines) == 2
    choose(thirty, "filter by word", "")
    choose(thirty, "all systems", "1")
    assert thirty.value(lines) == 15
    choose(thirty, "all verdicts", "fail")
    assert thirty.value(rows) == 1
    assert thirty.value(SHOWN % "#gates tr.item") == 1
    assert thirty.value("document.querySelector('.tools [role=status]').textContent").endswith("shown")
    choose(thirty, "all systems", "")
    choose(thirty, "all verdicts", "")
    assert thirty.value("document.querySelectorAll('.item[hidden]').length") == 0
    assert thirty.complaints() == []


def test_a_heading_sorts_by_size_and_the_third_click_restores_the_order(thirty: Browser) -> None:
    texts = "[...document.querySelectorAll('#side tbody tr')].map(one => one.cells[3].firstChild.textContent)"
    click = (
        "[...document.querySelectorAll('#side thead button')].find(one => one.textContent === 'work').click()"
    )
    before = thirty.value(texts)
    thirty.value(click)
    sizes = [int(one.partition(" ")[0].replace(",", "")) for one in thirty.value(texts)]
    assert sizes == sorted(sizes)
    thirty.value(click)
    assert thirty.value(texts)[0] == f"{max(sizes):,} insn"
    thirty.value(click)
    assert thirty.value(texts) == before


def test_a_gate_opens_its_row_and_the_contents_follow(thirty: Browser) -> None:
    assert thirty.value("document.querySelector('#row-1').open") is False
    thirty.value("document.querySelector('#gates a[href=\"#row-1\"]').click()")
    thirty.value("new Promise(done => setTimeout(done, 300))")
    assert thirty.value("document.querySelector('#row-1').open") is True
    assert thirty.value("document.querySelector('#row-1').getBoundingClientRect().top < innerHeight") is True
    thirty.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")
    assert thirty.value("document.querySelector('nav [aria-current]').textContent") == "Why"


def test_a_command_can_be_copied(thirty: Browser) -> None:
    texts = "[...document.querySelectorAll('.copy')].map(one => one.previousSibling.textContent)"
    commands = "[...document.querySelectorAll('.command code, td code')].map(one => one.textContent)"
    assert thirty.value(texts) == thirty.value(commands)
    assert len(thirty.value(commands)) > 150
    asked = "navigator.clipboard.writeText = text => { window.asked = text; return Promise.resolve() }"
    thirty.value(f"({asked}, document.querySelector('.copy').click())")
    assert thirty.value("window.asked") == thirty.value(commands)[0]


def test_without_a_script_the_page_is_whole(browser: Browser, tmp_path: Path) -> None:
    page = written("plain", wide_view(5, 2, 3), tmp_path)
    browser.open(page, SCREEN, scripts=False)
    assert browser.value("document.querySelectorAll('input, button, select').length") == 0
    assert browser.value("document.querySelectorAll('section').length") == len(
        pagekit.read(page.read_text()).parts
    )
    assert browser.value("document.querySelectorAll('#side tbody tr').length") == 30
    assert browser.value("getComputedStyle(document.querySelector('#side tbody th')).position") == "sticky"


def test_a_script_of_a_guest_does_not_run_even_if_it_were_markup(browser: Browser, tmp_path: Path) -> None:
    page = written("injected", full_view(), tmp_path)
    bad = "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
    page.write_text(page.read_text().replace("</main>", f"{bad}</main>"))
    browser.open(page, SCREEN)
    assert browser.value("window.owned") is None
    assert browser.value("document.querySelectorAll('.tools').length") == 1  # ours ran
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())


def test_the_pages_of_real_sessions(browser: Browser) -> None:
    folders = [Path(word) for word in os.environ.get("BENCHGATE_SESSIONS", "").split(":") if word]
    if not folders:
        pytest.skip("BENCHGATE_SESSIONS names no session's folder")
    for folder in folders:
        check(browser, folder / "report.html", folder.name)


def test_a_page_that_scrolls_sideways_or_complains_is_found(browser: Browser, tmp_path: Path) -> None:
    page = written("bad", full_view(), tmp_path)
    good = page.read_text()
    for bad, problem in (
        (
            good.replace('<h2 id="side-title">', '<h2 id="side-title"><br><nobr>' + "x" * 300 + "</nobr>"),
            "scroll",
        ),
        (good.replace("</main>", "<svg width='900' height='9'></svg></main>"), "scroll sideways"),
        (good.replace("</main>", "<svg><image href='x.png'/></svg></main>"), "violates"),
        (good.replace('id="runs" aria', 'id="runs" hidden="" aria'), r"\['runs'\]"),
    ):
        assert bad != good
        page.write_text(bad)
        with pytest.raises(AssertionError, match=problem):
            check(browser, page, "bad")
