"""Every relative link in Markdown leads to an existing file and heading, and every named document exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
IGNORED = [".git", *(REPO / ".gitignore").read_text().split()]


def is_ignored(path: Path) -> bool:
    """Whether .gitignore names the path. Git itself may be absent: the tests also run from an archive."""
    inside = str(path.relative_to(REPO))
    return any(
        fnmatch(inside if pattern.startswith("/") else path.name, pattern.strip("/")) for pattern in IGNORED
    )


def own_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if not is_ignored(path):
            yield from own_files(path) if path.is_dir() else [path]


FILES = [path for path in own_files(REPO) if path.is_file()]
PAGES = sorted(path for path in FILES if path.suffix == ".md")
DOCS = REPO / "docs"
NAMES = [path.stem for path in DOCS.glob("*/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def without_code(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*?) *$", without_code(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problem(page: Path, link: str) -> str:
    """What is wrong with a relative link; empty if nothing is."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_every_relative_link_resolves(page: Path) -> None:
    links = [link for link in LINK.findall(without_code(page)) if "://" not in link]
    assert [result for link in links if (result := problem(page, link))] == []


def test_the_pages_are_found_and_have_links() -> None:
    assert {"README.md", "docs/explanation/insn.md", "kernel/README.md"} <= {
        str(p.relative_to(REPO)) for p in PAGES
    }
    assert sum(len(LINK.findall(page.read_text(encoding="utf-8"))) for page in PAGES) > 50


@pytest.mark.parametrize(
    ("link", "what"),
    [("gone.md", "no such file"), ("page.md#gone", "no such heading"), ("#gone", "no such heading")],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, what: str) -> None:
    page = tmp_path / "page.md"
    page.write_text("# `--pdb` in a test\n\n```\n# gone\n```\n")
    assert problem(page, link) == f"{link}: {what}"
    assert problem(page, "page.md#--pdb-in-a-test") == ""


def test_every_test_that_a_document_names_exists() -> None:
    """docs/explanation/insn-internals.md names the test that holds each gap closed."""
    tests = "".join(path.read_text() for path in FILES if re.fullmatch(r"test_\w+\.py", path.name))
    named = {word for page in PAGES for word in re.findall(r"`(test_\w+)`", without_code(page))}
    assert len(named) > 10
    assert sorted(name for name in named if f"def {name}(" not in tests) == []


def test_every_document_that_is_named_exists() -> None:
    """Documents are named without a link in prose, docstrings, comments and messages."""
    named: dict[str, Path] = {}
    for path in FILES:
        if path.suffix in {".md", ".py", ".c", ".h", ".S", ".yaml", ".yml"} and DOCS not in path.parents:
            named |= dict.fromkeys(re.findall(r"\b((?:docs|kernel)/[\w/-]+\.md)\b", path.read_text()), path)
    assert {"docs/how-to/explore.md", "kernel/README.md"} <= named.keys()
    assert {word: path.name for word, path in named.items() if not is_a_page(word, path)} == {}


def is_a_page(word: str, source: Path) -> bool:
    """Where each byte is an input of an image, the page's folder is left out: `docs/wire.md`."""
    inputs = any((REPO / folder) in source.parents for folder in ("guest", "kernel", "src/benchgate/insn/c"))
    by_name = inputs and word == f"docs/{Path(word).name}" and Path(word).stem in NAMES
    return (REPO / word).is_file() or by_name


def test_every_page_that_benchgate_docs_shall_show_exists() -> None:
    """The package names a page by the command that prints it: where a wheel is installed, no docs/ is."""
    told: dict[str, Path] = {}
    for path in FILES:
        if path.suffix in {".md", ".py", ".yaml", ".yml"}:
            told |= dict.fromkeys(re.findall(r"benchgate docs ([a-z][\w-]*)`", path.read_text()), path)
    assert {"wire", "linux-options"} <= told.keys()
    assert {word: path.name for word, path in told.items() if word not in NAMES} == {}
    shipped = [path for path in FILES if not {"tests", "tools"} & {*path.relative_to(REPO).parts}]
    sources = [path for path in shipped if path.suffix == ".py" and (REPO / "src") in path.parents]
    assert [path.name for path in sources if re.search(r"\bdocs/[\w/-]+\.md", path.read_text())] == []


def test_the_name_of_a_page_is_unique() -> None:
    assert len(set(NAMES)) == len(NAMES) > 30
