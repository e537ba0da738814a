"""`benchgate docs`: prints the documents that this version came with, one of them, or what a word means.

Takes the name of a page, which is unique among the folders of docs/, a word of the glossary, a mark or an
option; prints the page's Markdown, or a sentence. UsageError if there is neither.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.base.text import suggestion
from benchgate.hooks import GateMark, PlainMark
from benchgate.plan import glossary, mark_table, option_table
from benchgate.render.tables import columns

PARTS = ("tutorial", "how-to", "reference", "explanation", "measured")
"""The folders of docs/, in the order in which a newcomer needs them."""
WIDTH = 80
_PAGES_NAMED = 3
SITE = "as a site: `./run docs` in a checkout makes build/site/index.html"


def declare(parser: argparse.ArgumentParser) -> None:
    about = "a page, a word (`noise floor`), a mark (speedup) or an option (quick); default: a list"
    parser.add_argument("page", nargs="*", help=about)


def run(words: argparse.Namespace) -> int:
    pages = _pages()
    if not words.page:
        print(_list(pages))
        return 0
    asked = " ".join(words.page)
    page = asked.rpartition("/")[2].removesuffix(".md")  # as links between the pages have it
    if page in pages:
        print(pages[page].read_text(encoding="utf-8"), end="")
        return 0
    written = _written()
    if term := glossary.term_of(page):
        print(f"{term.word}: {term.meaning}\nMore: benchgate docs {term.page}")
    elif page in written:
        print(written[page])
    else:
        known = suggestion(page, {*pages, *glossary.WORDS, *written}, _elsewhere(asked, pages))
        raise UsageError(f"there is no page and no word `{asked}`; {known}")
    return 0


def _written() -> dict[str, str]:
    """What tests and command lines may have, by name."""
    rows: tuple[PlainMark | GateMark, ...] = (*mark_table.plain(), *mark_table.TABLE)
    marks = {
        mark.name: f"{mark.name}: {mark.about}\nAs in: {mark.shown}\nMore: benchgate docs marks"
        for mark in rows
    }
    options = {
        option.name: f"{option.flag}: {option.about}\nMore: benchgate docs options"
        for option in option_table.known()
    }
    return {**options, **marks}


def _elsewhere(asked: str, pages: dict[str, Path]) -> str:
    """Names the pages that have the word most often."""
    word = re.compile(rf"(?<!\w){re.escape(asked)}(?!\w)", re.IGNORECASE)
    found: Counter[str] = Counter()
    for name, path in pages.items():
        found[name] = len(word.findall(path.read_text(encoding="utf-8")))
    best = [f"`benchgate docs {name}`" for name, count in found.most_common(_PAGES_NAMED) if count]
    return f"pages that have it: {', '.join(best)}" if best else "`benchgate docs` lists all"


def names() -> tuple[str, ...]:
    return tuple(_pages())


def _pages() -> dict[str, Path]:
    docs = data_root() / "docs"
    return {path.stem: path for part in PARTS for path in sorted((docs / part).glob("*.md"))}


def _list(pages: dict[str, Path]) -> str:
    """Each page with its title, below its folder's name."""
    width = max(map(len, pages))
    lines: list[str] = []
    for name, path in pages.items():
        if (part := f"{path.parent.name}:") not in lines:
            lines.append(part)
        lines.append(f"  {name:{width}}  {_title(path)}")
    terms = columns.wrapped(f"words: {', '.join(glossary.WORDS)}", WIDTH)
    return "\n".join([*lines, *terms, SITE])


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
