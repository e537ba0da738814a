"""What the search of the site lists for a query: as `searchtools.js` of Sphinx does, from the same index.

Takes the index of a built site and the words that somebody types; gives the names of pages, best first. A
page is there once for itself, and once for each of its headings that is nearly the query. Fails with KeyError
if the index has another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypedDict

from sphinx.search.en import SearchEnglish

TITLE, PART_OF_TITLE, TERM, PART_OF_TERM = 15, 7, 5, 2
"""Scores: of a word in a heading, in a part of one there, in the text, in a part of one there."""

Pages = Mapping[str, int | list[int]]


class Index(TypedDict):
    docnames: list[str]
    titles: list[str]
    alltitles: dict[str, list[tuple[int, str | None]]]
    terms: Pages
    titleterms: Pages


def hits(index: Index, query: str) -> list[str]:
    found: dict[tuple[str, str, str], float] = {}
    for page, title, anchor, score in (*_headings(index, query.lower().strip()), *_texts(index, query)):
        key = (title, index["docnames"][page], anchor)
        found[key] = max(score, found.get(key, 0))
    return [key[1] for key in sorted(found, key=lambda key: (-found[key], key[0].lower()))]


def _headings(index: Index, query: str) -> Iterator[tuple[int, str, str, float]]:
    """Those of which the query is at least half."""
    for heading, places in index["alltitles"].items():
        if query not in heading.lower() or len(query) < len(heading) / 2:
            continue
        for page, anchor in places:
            title = index["titles"][page]
            own = title == heading
            score = int(TITLE * len(query) / len(heading) + 0.5) + own
            yield page, title if own else f"{title} > {heading}", anchor or "", score


def _texts(index: Index, query: str) -> Iterator[tuple[int, str, str, float]]:
    """Those that have every word, but for words of one or two letters."""
    words = set(_stems(query))
    scores = {word: _scores(index, word) for word in words}
    enough = {len(words), len([word for word in words if len(word) > 2])}
    for page, title in enumerate(index["titles"]):
        seen = [of[page] for of in scores.values() if page in of]
        if seen and len(seen) in enough:
            yield page, title, "", max(seen)


def _stems(query: str) -> Iterator[str]:
    language = SearchEnglish({})
    for word in re.split(r"\W+", query.lower()):
        if word and word not in language.stopwords and not word.isdigit():
            yield language.stem(word)


def _scores(index: Index, word: str) -> dict[int, int]:
    """Of each page that has the word; a later kind of place replaces an earlier one."""
    result: dict[int, int] = {}
    result |= dict.fromkeys(_pages(index["terms"], word), TERM)
    result |= dict.fromkeys(_pages(index["titleterms"], word), TITLE)
    for terms, score in ((index["terms"], PART_OF_TERM), (index["titleterms"], PART_OF_TITLE)):
        if len(word) > 2 and word not in terms:
            for term in terms:
                result |= dict.fromkeys(_pages(terms, term) if word in term else (), score)
    return result


def _pages(terms: Pages, word: str) -> list[int]:
    pages = terms.get(word, [])
    return [pages] if isinstance(pages, int) else pages
