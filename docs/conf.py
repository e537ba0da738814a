"""Sphinx makes a site of the Markdown files of this folder, and of four others: `nox -s docs`.

Every warning is an error there: a link to a page, a heading or a file that does not exist, too. Nothing comes
from a network, and the search is Sphinx's own index, in the browser.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages of the site outside docs/. So the source folder of Sphinx is the checkout's, without all the rest."""

_about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = "benchgate"
version = release = _about["version"]
project_copyright = "the authors of benchgate, MIT licence"

root_doc = "docs/index"
include_patterns = ["docs/**", "kernel/README.md", *BESIDE]
exclude_patterns = [one.name for one in ROOT.iterdir() if one.name not in {"docs", "kernel", *BESIDE}]
exclude_patterns += [f"kernel/{one.name}" for one in (ROOT / "kernel").iterdir() if one.is_dir()]

extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub makes them
nitpicky = True

html_theme = "furo"
html_title = f"benchgate {release}"
html_show_sphinx = False
html_copy_source = False
html_additional_pages = {"index": "to-index.html"}
templates_path = ["_templates"]
html_use_index = False
