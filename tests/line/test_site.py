"""The documents become a site without a warning: no link leads nowhere, and every page is in the contents."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.line.sessions import REPO, run

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


def test_the_search_works_without_a_server(site: Path) -> None:
    text = (site / "searchindex.js").read_text()
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    assert "docs/reference/wire" in index["docnames"]
    assert index["terms"]["lockstep"]


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
