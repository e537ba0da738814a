"""The page in a real browser: each part, no complaint, no sideways scrolling on a phone, dark and light.

Needs Chromium on PATH, else it skips and says so. With BENCHGATE_SCREENSHOTS=FOLDER it leaves pictures to
look at. BENCHGATE_SESSIONS=FOLDER:FOLDER adds the pages of finished sessions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.render.page.page import session_page
from benchgate.render.view import SessionView
from tests import browserkit, pagekit
from tests.browserkit import Browser
from tests.pageviews import full_view, long_view
from tests.unit.factories import failing
from tests.unit.render.test_escape import evil_view

PHONE, SCREEN = 390, 1200
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

VIEWS: dict[str, Callable[[], SessionView]] = {
    "full": full_view,
    "hostile": evil_view,
    "failing": lambda: failing(Word.FAIL),
    "long": lambda: long_view(500),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browserkit.browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def written(name: str, view: SessionView, folder: Path) -> Path:
    path = folder / f"{name}.html"
    path.write_text(session_page(view), encoding="utf-8", errors="backslashreplace")
    return path


def check(browser: Browser, page: Path, name: str) -> None:
    due = pagekit.read(page.read_text(encoding="utf-8")).parts
    grounds = set()
    for width, scheme in ((SCREEN, "light"), (PHONE, "dark"), (PHONE, "light")):
        browser.open(page, width, scheme=scheme)
        assert browser.value("[...document.querySelectorAll('section')].map(one => one.id)") == due
        browser.shoot(f"{name}-{width}-{scheme}")
        browser.value(OPEN_ALL)
        assert browser.value(HIDDEN_PARTS) == []
        whole, seen = browser.value(WIDTHS)
        assert whole <= seen, f"{name}: {whole - seen} px scroll sideways at {width} px"
        assert browser.value(CUT_TEXT) == []
        assert browser.complaints() == []
        grounds.add((scheme, browser.value(GROUND)))
    assert {scheme for scheme, _ in grounds} == {"light", "dark"}
    assert len({ground for _, ground in grounds}) == 2


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_in_a_browser(name: str, browser: Browser, tmp_path: Path) -> None:
    check(browser, written(name, VIEWS[name](), tmp_path), name)


def test_the_pages_of_real_sessions(browser: Browser) -> None:
    folders = [Path(one) for one in os.environ.get("BENCHGATE_SESSIONS", "").split(":") if one]
    if not folders:
        pytest.skip("BENCHGATE_SESSIONS names no session's folder")
    for folder in folders:
        check(browser, folder / "report.html", folder.name)


def test_a_page_that_scrolls_sideways_or_complains_is_found(browser: Browser, tmp_path: Path) -> None:
    page = written("bad", full_view(), tmp_path)
    good = page.read_text()
    for bad, problem in (
        (good.replace("</main>", "<svg width='900' height='9'></svg></main>"), "scroll sideways"),
        (good.replace("</main>", "<svg><image href='x.png'/></svg></main>"), "violates"),
        (good.replace('id="runs" aria', 'id="runs" hidden="" aria'), r"\['runs'\]"),
    ):
        assert bad != good
        page.write_text(bad)
        with pytest.raises(AssertionError, match=problem):
            check(browser, page, "bad")
