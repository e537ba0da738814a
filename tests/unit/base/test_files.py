"""Digests and sizes of files and folders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from benchgate.base import files
from benchgate.base.errors import UsageError
from benchgate.base.files import (
    PAGE,
    count_and_size,
    file_digest,
    locked,
    pages,
    pages_digest,
    read_start,
    tree_digest,
)


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


# ---- pages


def written(path: Path, content: Mapping[int, bytes], size: int) -> Path:
    """A file of this size, with holes around these pieces."""
    with path.open("wb") as stream:
        stream.truncate(size)
        for at, piece in content.items():
            stream.seek(at)
            stream.write(piece)
    return path


SIZE = 600 * PAGE + 100
"""More pages than are read at once, and a part of one."""
CONTENT = {5: b"a", 3 * PAGE: b"b" * PAGE, 299 * PAGE - 1: b"cc", SIZE - 1: b"d"}
NUMBERS = [0, 3, 298, 299, 600]


def extents(*parts: tuple[int, int]) -> Callable[[int], Iterator[tuple[int, int]]]:
    return lambda _: iter(parts)


@pytest.mark.parametrize(
    "data",
    [
        None,
        extents((0, SIZE)),
        extents((0, PAGE), (3 * PAGE, SIZE)),
        # Blocks of 512 bytes: a page is in several parts.
        extents(
            (0, 512),
            (1024, 1536),
            (3 * PAGE, 4 * PAGE),
            (299 * PAGE - 512, 299 * PAGE + 512),
            (SIZE - 100, SIZE),
        ),
        extents((0, 299 * PAGE - 512), (299 * PAGE - 512, SIZE)),
    ],
)
def test_pages_are_those_that_are_not_zero_however_the_file_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Callable[[int], Iterator[tuple[int, int]]] | None
) -> None:
    sparse = written(tmp_path / "sparse", CONTENT, SIZE)
    whole = sparse.read_bytes()
    if data is not None:
        monkeypatch.setattr(files, "data_of", data)
    assert list(pages(sparse)) == [(number, whole[number * PAGE : (number + 1) * PAGE]) for number in NUMBERS]


def test_a_digest_of_pages_does_not_depend_on_holes(tmp_path: Path) -> None:
    sparse, full = written(tmp_path / "sparse", CONTENT, SIZE), tmp_path / "full"
    full.write_bytes(sparse.read_bytes())
    assert sparse.stat().st_blocks < full.stat().st_blocks
    own = hashlib.sha256()
    for number in NUMBERS:
        own.update(number.to_bytes(8, "little") + full.read_bytes()[number * PAGE : (number + 1) * PAGE])
    assert pages_digest(sparse) == pages_digest(full) == own.hexdigest()
    assert pages_digest(written(tmp_path / "hole", {}, SIZE)) == hashlib.sha256().hexdigest()
    assert pages_digest(written(tmp_path / "empty", {}, 0)) == hashlib.sha256().hexdigest()


@pytest.mark.parametrize(
    "changed",
    [
        {**CONTENT, 5: b"A"},
        {**CONTENT, 6: b"x"},
        {**CONTENT, 100 * PAGE: b"x"},
        {**CONTENT, SIZE - 1: b"\0"},
        {**{at: text for at, text in CONTENT.items() if at != 3 * PAGE}, 4 * PAGE: b"b" * PAGE},
    ],
    ids=["a byte", "one more byte", "one more page", "one byte less", "a page elsewhere"],
)
def test_a_digest_of_pages_changes_with_each_byte_and_its_place(
    tmp_path: Path, changed: Mapping[int, bytes]
) -> None:
    one, two = written(tmp_path / "one", CONTENT, SIZE), written(tmp_path / "two", changed, SIZE)
    assert pages_digest(one) != pages_digest(two)


def test_a_tree_digest_reads_only_large_files_by_their_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is 64 MiB. A large file has another digest if it only has another length."""
    read: list[int] = []
    by_pages = files.pages_digest

    def noted(path: Path) -> str:
        read.append(path.stat().st_size)
        return by_pages(path)

    monkeypatch.setattr(files, "pages_digest", noted)
    seen = set()
    for size in ((64 << 20) - 1, 64 << 20, (64 << 20) + 1):
        written(tmp_path / "memory", {7: b"x"}, size)
        seen.add(tree_digest(tmp_path))
    assert read == [64 << 20, (64 << 20) + 1]
    assert len(seen) == 3
