"""The page: well-formed, complete, the same twice; untrusted text is text."""

from __future__ import annotations

import pytest

from benchgate.base.gates import Word
from benchgate.render.page.chapters.rows import all_details
from benchgate.render.page.page import SCRIPT, all_chapters, document, session_page
from tests import pagekit
from tests.unit.factories import failing, scaled_view, view
from tests.unit.render.test_escape import evil_view


def test_the_page_is_well_formed_and_begins_with_the_verdict() -> None:
    page = pagekit.read(session_page(scaled_view()))
    assert page.text.strip().startswith("benchgate: PASS: 1 of 1 verdicts")
    assert page.parts[0] == "gates"
    assert page.parts[-1] == "words"


@pytest.mark.parametrize("word", list(Word))
def test_the_headline_has_the_class_of_its_word(word: Word) -> None:
    page = pagekit.read(session_page(failing(word)))
    assert page.attributes("h1")[0]["class"] == f"head {word.lower()}"


def test_untrusted_text_is_no_markup() -> None:
    text = session_page(evil_view())
    page = pagekit.read(text)
    assert text.count("<script") == 1
    assert page.script == SCRIPT
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in page.text
    assert "\\x1b[2J" in page.text


def test_a_page_that_is_not_well_formed_is_refused() -> None:
    good = session_page(scaled_view())
    for bad in (
        good.replace("</main>", ""),
        good.replace("</h1>", "</h1><script></script>"),
        good.replace("</h1>", "</h1><b style='x:y'></b>"),
        good.replace("script-src", "script-src 'unsafe-inline'"),
        good.replace("loads nothing.", "loads all."),
    ):
        with pytest.raises(AssertionError):
            pagekit.read(bad)


def test_the_page_is_the_same_each_time_and_needs_no_network() -> None:
    text = session_page(scaled_view())
    assert text == session_page(scaled_view())
    assert "http" not in text.replace("http-equiv", "")


def test_an_empty_session_has_a_page() -> None:
    pagekit.read(session_page(view()))


def test_parts_have_titles_that_differ_and_an_order() -> None:
    for parts in (all_chapters(), all_details()):
        assert [part.ORDER for part in parts] == sorted({part.ORDER for part in parts})
    titles = [part.TITLE for part in (*all_chapters(), *all_details())]
    assert all(titles)
    begins = [" ".join(title.lower().split()[:4]) for title in titles]
    assert len(set(begins)) == len(titles)


def test_every_table_has_a_caption_and_scopes() -> None:
    page = pagekit.read(session_page(scaled_view()))
    names = [name for name, _ in page.seen]
    assert names.count("table") == names.count("caption") > 0
    assert all(
        attribute.get("scope") in ("col", "row", "rowgroup", "colgroup")
        for attribute in page.attributes("th")
    )


def test_another_page_has_the_same_frame() -> None:
    page = pagekit.read(document("history of primes", "three sessions", []))
    assert "history of primes" in page.text
