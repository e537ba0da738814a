from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.session.folder_lock import locked


def test_a_folder_is_made_and_only_one_holds_it(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    with (
        locked(place, "explores"),
        pytest.raises(UsageError, match=r"process \d+ explores in .*b; wait for it, or give --out"),
        locked(place, "explores"),
    ):
        pass
    with locked(place, "explores"):
        pass


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError, match=r"file/b cannot be written: Not a directory"),
        locked(tmp_path / "file" / "b", "explores"),
    ):
        pass
