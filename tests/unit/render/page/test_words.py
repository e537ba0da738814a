"""A word of the glossary is explained where a page first has it, and in a list at its end."""

from __future__ import annotations

import re

from benchgate.plan import glossary
from benchgate.render.page import words
from benchgate.render.page.html import Html, tag
from benchgate.render.page.page import session_page
from tests import pagekit
from tests.pageviews import full_view, wide_view
from tests.unit.render.test_escape import evil_view

ARM = glossary.WORDS["arm"]


def test_the_first_one_is_a_link_with_the_meaning_and_the_others_are_not() -> None:
    parts, listed = words.linked([tag("p", "an arm and two arms"), tag("p", "the arm")])
    assert parts[0] == (
        f'<p>an <a href="#word-arm" title="{ARM.meaning}" class="term">arm</a> and two arms</p>'
    )
    assert parts[1] == "<p>the arm</p>"
    assert f'<dt id="word-arm">arm</dt><dd>{ARM.meaning}</dd>' in str(listed)


def test_links_headings_code_and_pictures_stay_as_they_are() -> None:
    for name in ("a", "h2", "h3", "code", "pre", "svg", "summary", "th"):
        part = tag(name, tag("b", "arm"), title="arm")
        assert words.linked([part]) == ([part], None)
    broken = tag("p", tag("br"), tag("code", "arm"), " arm")
    assert words.linked([broken])[0][0].count("<a ") == 1


def test_text_stays_escaped() -> None:
    (part,), _ = words.linked([tag("p", "<arm> & arm")])
    assert re.sub("</?a[^>]*>", "", part) == Html("<p>&lt;arm&gt; &amp; arm</p>")


def test_every_page_explains_what_it_uses_and_is_well_formed() -> None:
    for view in (full_view(), wide_view(3, 2, 3), evil_view()):
        page = pagekit.read(session_page(view))  # each link leads to an id that is there
        links = [str(one["href"]) for one in page.attributes("a") if one.get("class") == "term"]
        assert len(links) == len(set(links)) > 3
        assert len(page.attributes("dt")) >= len(links)
        assert page.parts[-1] == "words"
