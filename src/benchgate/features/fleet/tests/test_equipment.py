"""A guest's file on a worker is what its digest says, or it is sent again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchgate.features.fleet.equipment import InputStore
from benchgate.features.fleet.errors import FleetError

CONTENT = b"kernel" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_file_is_kept_under_its_digest(tmp_path: Path) -> None:
    store = InputStore(tmp_path / "inputs")
    assert store.find(SHA256) is None
    store.put(SHA256, CONTENT)
    result = store.find(SHA256)
    assert result is not None
    assert result.read_bytes() == CONTENT
    assert InputStore(tmp_path / "inputs").find(SHA256) == result  # another process, later
    assert [path.name for path in result.parent.iterdir()] == [SHA256]


def test_another_content_is_refused(tmp_path: Path) -> None:
    store = InputStore(tmp_path)
    with pytest.raises(FleetError, match="announced as"):
        store.put(SHA256, CONTENT + b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../x", "A" * 64, "0" * 63])
def test_what_is_no_digest_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FleetError, match="needs a SHA-256"):
        InputStore(tmp_path).put(name, CONTENT)


def test_a_file_that_changed_is_sent_again(tmp_path: Path) -> None:
    store = InputStore(tmp_path)
    store.put(SHA256, CONTENT)
    path = store.find(SHA256)
    assert path is not None
    path.write_bytes(CONTENT[:-1] + b"X")
    assert store.find(SHA256) is None
    assert not path.exists()
