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


def test_a_file_may_define_a_dataclass(tmp_path: Path) -> None:
    source = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    (tmp_path / "mine.py").write_text(source + "@dataclass(frozen=True)\nclass One:\n    n: int\n")
    assert load_module(tmp_path / "mine.py", "gate").One(3).n == 3
