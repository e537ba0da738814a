"""A user's Python files: what cannot be loaded is answered with one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.pyfile import load_module


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mine.py")
    with pytest.raises(CatalogError, match=r"gate file .*/mine\.py cannot be read: it is not a regular file"):
        load_module(tmp_path / "mine.py", "gate")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"there is no report file .*/mine\.py"):
        load_module(tmp_path / "mine.py", "report")


def test_a_file_may_define_dataclasses_with_annotations_as_text(tmp_path: Path) -> None:
    """A dataclass then looks for its module among those that are known."""
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    (tmp_path / "mine.py").write_text(text + "@dataclass\nclass Mine:\n    seen: int\n")
    assert load_module(tmp_path / "mine.py", "report").Mine(3).seen == 3
