"""The documents become a site without a warning: no link leads nowhere, and every page is in the contents."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.line.sessions import REPO, run
from tests.line.site_search import Index, hits

OUTSIDE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//', re.IGNORECASE)


def build(source: Path, out: Path) -> tuple[int, str]:
    """As `nox -s docs` does."""
    words: list[str | Path] = ["-m", "sphinx", "-W", "-n", "-q", "--keep-going", "-d", out / "trees"]
    return run([sys.executable, *words, "-c", source / "docs", source, out / "site"], source)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    code, output = build(REPO, out)
    assert code == 0, output
    return out / "site"


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(REPO).with_suffix("") for path in (REPO / "docs").rglob("*.md")}
    made = {path.relative_to(site).with_suffix("") for path in (site / "docs").rglob("*.html")}
    assert len(pages) > 30
    assert made == pages
    assert (site / "ARCHITECTURE.html").is_file()
    assert 'url=docs/index.html"' in (site / "index.html").read_text()


def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    assert [page.name for page in site.rglob("*.html") if OUTSIDE.search(page.read_text())] == []


@pytest.fixture(scope="module")
def index(site: Path) -> Index:
    text = (site / "searchindex.js").read_text()
    result: Index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    return result


def test_the_search_works_without_a_server(index: Index) -> None:
    assert "docs/reference/wire" in index["docnames"]
    assert index["terms"]["lockstep"]


ASKED = {
    "docs/how-to/schbench": ("gate p99 wake-up latency at 8 CPUs", "wake-up latency", "p99 latency"),
    "docs/reference/glossary": ("what are late and step", "late", "step", "glossary"),
    "docs/how-to/history": ("results over months", "history"),
    "docs/how-to/wall-time": ("wall time on real KVM hosts", "wall time KVM", "KVM"),
    "docs/reference/evidence": ("a colleague's folder", "verify a session", "check a folder"),
    "docs/how-to/disk-use": ("disk use and cleaning up", "disk use", "clean up", "delete old sessions"),
    "docs/how-to/extend": ("a gate of my own", "own gate", "add a gate"),
    "docs/reference/witnesses": ("what is witnessed", "witness"),
}
"""What a newcomer types, by the page that answers it."""


@pytest.mark.parametrize("page", ASKED)
def test_a_newcomer_finds_the_page_among_the_first_three_hits(index: Index, page: str) -> None:
    found = {query: hits(index, query)[:3] for query in ASKED[page]}
    assert {query: pages for query, pages in found.items() if page not in pages} == {}


def test_a_page_that_lacks_a_word_is_no_hit_and_a_heading_comes_before_a_text() -> None:
    small: Index = {
        "docnames": ["a", "b", "c"],
        "titles": ["Clocks", "Seeds", "Late threads"],
        "alltitles": {"Clocks": [(0, None)], "Seeds": [(1, None)], "Late threads": [(2, None)]},
        "terms": {"clock": [0, 1], "seed": [0, 1, 2], "thread": 2},
        "titleterms": {"clock": 0, "seed": 1, "late": 2, "thread": 2},
    }
    assert hits(small, "the seeds") == ["b", "a", "c"]
    assert hits(small, "clock of a seed") == ["a", "b"]
    assert hits(small, "late threads") == ["c"]
    assert hits(small, "late clocks") == hits(small, "gone") == []


NOWHERE = {
    "[a page](gone.md)": "gone.md",
    "[a heading](wire.md#gone)": "gone",
    "[a file](../../src/gone.py)": "gone.py",
}


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    """Each kind of link is one error: the build goes on to the last, and fails."""
    copy = tmp_path / "copy"
    for name in ("docs/conf.py", "docs/_templates/to-index.html", "docs/reference/wire.md", "pyproject.toml"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, copy / name)
    (copy / "kernel").mkdir()
    (copy / "docs" / "reference" / "mix.md").write_text("# Mixes\n\n## How a mix runs\n")
    (copy / "docs" / "reference" / "sched-ext.md").write_text("# Schedulers\n")
    wire = copy / "docs/reference/wire.md"
    wire.write_text(wire.read_text().replace("../how-to/", ""))
    (copy / "docs/index.md").write_text("# Title\n\n```{toctree}\n:glob:\nreference/*\n```\n")
    assert build(copy, tmp_path / "good")[0] == 0
    first = len(wire.read_text().splitlines()) + 2
    wire.write_text("\n".join([wire.read_text(), *(f"{line}\n" for line in NOWHERE)]))
    code, output = build(copy, tmp_path / "bad")
    assert code != 0
    for place, message in enumerate(NOWHERE.values()):
        assert re.search(rf"wire\.md:{first + 2 * place}: WARNING: .*{message}", output), output
