"""Finding the folder of guest/, kernel/ and fixtures/."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base import paths
from benchgate.base.errors import HostError


def test_the_checkout_is_found() -> None:
    root = paths.data_root()
    assert (root / "guest" / "bench.h").is_file()
    assert (root / "pyproject.toml").is_file()


def test_the_first_folder_with_bench_h_wins(tmp_path: Path) -> None:
    for name in ("wheel", "checkout"):
        (tmp_path / name / "guest").mkdir(parents=True)
        (tmp_path / name / "guest" / "bench.h").touch()
    assert paths._first_with_landmark((tmp_path / "wheel", tmp_path / "checkout")) == tmp_path / "wheel"
    assert paths._first_with_landmark((tmp_path / "none", tmp_path / "checkout")) == tmp_path / "checkout"


def test_a_broken_install_is_reported(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="own files are missing"):
        paths._first_with_landmark((tmp_path,))
