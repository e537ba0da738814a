"""Digests and sizes of files and folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.base.files import count_and_size, file_digest, locked, read_start, tree_digest


def test_the_digest_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "abc"
    path.write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert file_digest(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_tree_digest_covers_names_contents_and_links_but_not_times(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = tree_digest(tmp_path)
    os.utime(tmp_path / "a", (0, 0))
    assert tree_digest(tmp_path) == first
    seen = {first}
    (tmp_path / "a").write_text("2")
    seen.add(tree_digest(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    seen.add(tree_digest(tmp_path))
    (tmp_path / "link").symlink_to("b")
    seen.add(tree_digest(tmp_path))
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("c")
    seen.add(tree_digest(tmp_path))
    assert len(seen) == 5


def test_a_tree_digest_skips_the_given_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = tree_digest(tmp_path, skip=("out",))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("made")
    assert tree_digest(tmp_path, skip=("out",)) == first
    assert tree_digest(tmp_path) != first


def test_count_and_size_cover_files_and_links_and_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("12345")
    (tmp_path / "loop").symlink_to(".")
    assert count_and_size(tmp_path) == (2, 6)


@pytest.mark.parametrize("what", ["fifo", "endless device"])
def test_only_a_regular_file_is_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file"
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for read in (file_digest, lambda one: read_start(one, 10, follow=True)):
        with pytest.raises(OSError, match=f"it is not a regular file: '{path}'"):
            read(path)
    path.unlink()
    path.write_text("0123456789abc")
    assert read_start(path, 10) == b"0123456789a"


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
