"""Finding what is shipped beside the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import data
from benchgate.errors import HostError


def test_the_checkout_has_the_contract_and_the_fixtures() -> None:
    root = data.data_root()
    assert (root / "guest" / "bench.h").is_file()
    assert (root / "pyproject.toml").is_file()


def test_the_first_folder_with_the_contract_wins(tmp_path: Path) -> None:
    for name in ("wheel", "checkout"):
        (tmp_path / name / "guest").mkdir(parents=True)
        (tmp_path / name / "guest" / "bench.h").touch()
    assert data._first_with_landmark((tmp_path / "wheel", tmp_path / "checkout")) == tmp_path / "wheel"
    assert data._first_with_landmark((tmp_path / "none", tmp_path / "checkout")) == tmp_path / "checkout"


def test_a_broken_install_is_said(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="own files are missing"):
        data._first_with_landmark((tmp_path,))
