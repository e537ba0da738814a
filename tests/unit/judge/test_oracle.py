"""Loading oracles."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError, VerifyError
from benchgate.judge import oracle


def test_a_users_own_oracle_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from benchgate import VerifyError\n"
        "def check(params, reports, result):\n    raise VerifyError('seen')\n"
    )
    with pytest.raises(VerifyError, match="seen"):
        oracle.load(tmp_path / "mine.py")({}, [], {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "defines no function check"),
        ("def check(:\n", "cannot be loaded"),
        ("import nosuch1\n", "nosuch1"),
        ("open('/nosuch')\n", "cannot be loaded: FileNotFoundError"),
    ],
)
def test_a_file_that_is_not_an_oracle_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(CatalogError, match=reason):
        oracle.load(tmp_path / "bad.py")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"there is no oracle file .*gone\.py"):
        oracle.load(tmp_path / "gone.py")
