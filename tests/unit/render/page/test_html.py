"""The builder of the page: text is never markup, and what is not a name is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.render.page.html import Html, join, number, prose, tag
from tests import pagekit


def test_children_are_text_unless_they_are_markup() -> None:
    assert tag("p", "<b>", tag("i", "x"), None) == "<p>&lt;b&gt;<i>x</i></p>"
    assert join(["<", Html("<br>")], between="&") == "&lt;&amp;<br>"


def test_attributes_are_escaped_and_may_be_absent() -> None:
    made = tag("td", class_="a\"b<'", data_x=None, hidden=False, open=True, aria_label="y", width=1.50)
    assert made == '<td class="a&quot;b&lt;&#x27;" open="" aria-label="y" width="1.5"></td>'


def test_line_breaks_are_shown_and_not_kept() -> None:
    assert tag("p", "a\nb") == "<p>a\\x0ab</p>"


@pytest.mark.parametrize("name", ["", "a b", "a>", "1a", "a\n", 'on"x'])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        tag(name)
    with pytest.raises(ValueError, match="no name"):
        tag("p", **{name: "x"})


def test_only_void_elements_have_no_end() -> None:
    assert [tag("br"), tag("path", d="M0 0"), tag("p"), tag("path", tag("title", "x"))] == [
        "<br>", '<path d="M0 0"/>', "<p></p>", "<path><title>x</title></path>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (0.004, "0"), (-0.001, "0"), (12.345, "12.35"), (100, "100")]
)
def test_numbers_are_short(value: float, shown: str) -> None:
    assert number(value) == shown


@given(st.text())
def test_any_text_is_read_back_as_text(text: str) -> None:
    made = tag("a", text, title=text)
    element = ET.fromstring(made)
    assert not list(element)
    page = pagekit.Page()
    page.feed(made)
    assert page.problems == []
    assert len(page.seen) == 1
    if text.isprintable():
        assert page.text == text
        assert element.get("title") == text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("run `pytest --plan` first", "run <samp>pytest --plan</samp> first"),
        ("`a`, `<b>`", "<samp>a</samp>, <samp>&lt;b&gt;</samp>"),
        ("no end of `this <i>", "no end of `this &lt;i&gt;"),
        ("``", "``"),
        ("", ""),
    ],
)
def test_words_between_backticks_are_set_apart(said: str, shown: str) -> None:
    assert prose(said) == shown
