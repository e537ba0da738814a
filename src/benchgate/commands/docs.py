"""`benchgate docs`: prints the documents that this version came with, or one of them.

Takes the name of a page, which is unique among the folders of docs/; prints its Markdown. UsageError if there
is no such page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.base.text import suggestion

PARTS = ("tutorial", "how-to", "reference", "explanation", "measured")
"""The folders of docs/, in the order in which a newcomer needs them."""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", help="its name, such as gates (default: a list of all pages)")


def run(words: argparse.Namespace) -> int:
    pages = _pages()
    if words.page is None:
        print(_list(pages))
        return 0
    page = words.page.rpartition("/")[2].removesuffix(".md")  # as links between the pages have it
    if page not in pages:
        known = suggestion(page, pages, "`benchgate docs` lists all")
        raise UsageError(f"there is no page `{words.page}`; {known}")
    print(pages[page].read_text(encoding="utf-8"), end="")
    return 0


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
    return "\n".join(lines)


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
