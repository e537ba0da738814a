"""Digests of a guest's memory at its end: what is written, what is read back, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.files import PAGE
from benchgate.base.runs import Ending
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord
from benchgate.base.system.machines import MemoryRange
from benchgate.run.end_memory import (
    EndMemory,
    KeptMemory,
    keeps_memory,
    leaves_memory,
    path_of,
    read_memory,
)

FIRST = 0x4000_0000
SIZE = 200 * PAGE
Memory = Callable[..., EndMemory]


def page(letter: str) -> bytes:
    return letter.encode() * PAGE


def begin(letter: str) -> str:
    return sha256(page(letter)).hexdigest()[:8]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """The digests of a guest with these pages, by their number."""

    def made(pages: dict[int, bytes], *parts: MemoryRange) -> EndMemory:
        parts = parts or (MemoryRange(FIRST, SIZE, 0),)
        with closing(KeptMemory(parts, None)) as kept:
            for number, content in pages.items():
                place, at = divmod(number * PAGE, parts[0].size)
                os.pwrite(list(kept.descriptors.values())[place], content, at)
            kept.save(tmp_path)
        end_memory = read_memory(tmp_path)
        assert end_memory is not None
        return end_memory

    return made


def test_each_page_that_is_not_zero_has_a_digest_at_its_address(memory: Memory) -> None:
    end_memory = memory({0: page("a"), 1: page("b"), 7: page("a"), 199: b"c"})
    assert end_memory.pages == {
        FIRST: begin("a"),
        FIRST + PAGE: begin("b"),
        FIRST + 7 * PAGE: begin("a"),
        FIRST + 199 * PAGE: sha256(b"c".ljust(PAGE, b"\0")).hexdigest()[:8],
    }
    whole = sha256()
    for number, content in ((0, page("a")), (1, page("b")), (7, page("a")), (199, b"c".ljust(PAGE, b"\0"))):
        whole.update((FIRST + number * PAGE).to_bytes(8, "little") + sha256(content).digest())
    assert end_memory.digest == whole.hexdigest()


def test_many_pages_are_as_many_digests(memory: Memory) -> None:
    end_memory = memory({number: page("a") for number in range(3, 195)})
    assert end_memory.pages == {FIRST + number * PAGE: begin("a") for number in range(3, 195)}


def test_memory_that_was_written_and_is_zero_again_is_as_if_it_never_was(memory: Memory) -> None:
    assert memory({2: page("a"), 5: bytes(PAGE)}) == memory({2: page("a")})
    assert memory({}).pages == {}


def test_nodes_are_one_after_the_other(memory: Memory) -> None:
    parts = MemoryRange(0, 4 * PAGE, 0), MemoryRange(4 * PAGE, 4 * PAGE, 1)
    end_memory = memory({1: page("a"), 6: page("b")}, *parts)
    assert end_memory.pages == {PAGE: begin("a"), 6 * PAGE: begin("b")}


def test_pages_that_differ_are_named_in_order(memory: Memory) -> None:
    end_memory = memory({1: page("a"), 2: page("a"), 30: page("b")})
    other = memory({1: page("a"), 2: page("c"), 9: page("d")})
    assert end_memory.differing(other) == [FIRST + number * PAGE for number in (2, 9, 30)]
    assert end_memory.differing(other) == other.differing(end_memory)
    assert end_memory.differing(end_memory) == []
    assert end_memory.digest != other.digest


def test_a_guest_from_a_snapshot_begins_with_its_memory(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    (start / "ram-node0").write_bytes(page("a") + bytes(PAGE))
    (start / "ram-node1").write_bytes(bytes(PAGE) + page("b"))
    parts = MemoryRange(0, 2 * PAGE, 0), MemoryRange(2 * PAGE, 2 * PAGE, 1)
    with closing(KeptMemory(parts, GuestSnapshot(start, SnapshotRecord(1, 1, 1, {}, {})))) as kept:
        kept.save(tmp_path)
        os.pwrite(kept.descriptors[5], page("c"), 0)
    end_memory = read_memory(tmp_path)
    assert end_memory is not None
    assert end_memory.pages == {0: begin("a"), 3 * PAGE: begin("b")}
    assert (start / "ram-node0").read_bytes() == page("a") + bytes(PAGE)


def test_its_files_are_closed() -> None:
    with closing(KeptMemory([MemoryRange(0, PAGE, 0)], None)) as kept:
        (file,) = kept.descriptors.values()
        assert os.fstat(file).st_size == PAGE
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_a_run_without_the_file_has_no_digests(tmp_path: Path) -> None:
    assert read_memory(tmp_path) is None


GOOD = f"benchgate-memory 1\ndigest {'a' * 64}\n1000 00000001 00000002\n4000 00000003\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("memory 1", "memory 2"),
        ("digest", "sum"),
        ("a" * 64, "a" * 63),
        ("4000 ", "2000 "),
        ("4000 ", "1000 "),
        ("4000 ", "4001 "),
        ("4000 ", "04000 "),
        ("4000 ", "4000  "),
        ("4000 00000003", "4000"),
        ("00000003", "0000003"),
        ("00000003", "0000000G"),
        ("00000003\n", "00000003"),
        ("00000003\n", "00000003\n\n"),
        (GOOD, ""),
        (GOOD, "\n"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "memory.txt"
    path.write_text(GOOD)
    assert read_memory(tmp_path) == EndMemory(
        "a" * 64, {0x1000: "00000001", 0x2000: "00000002", 0x4000: "00000003"}
    )
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(VerifyError, match=r"memory\.txt"):
        read_memory(tmp_path)


def test_no_more_of_a_file_is_read_than_it_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.txt").write_text(GOOD)
    monkeypatch.setattr("benchgate.run.end_memory._MOST_BYTES", len(GOOD) - 1)
    with pytest.raises(VerifyError, match="has at most"):
        read_memory(tmp_path)


def test_a_command_line_asks_for_it_by_the_path_of_the_memory() -> None:
    word = f"memory-backend-file,id=ram,size=512M,mem-path={path_of(0)},share=on"
    assert keeps_memory(["-object", word])
    assert not keeps_memory(["-object", word.replace("fd/5", "fd/55")])
    assert not keeps_memory(["-object", "memory-backend-file,id=ram,size=1M,mem-path=/cache/ram,share=on"])


@pytest.mark.parametrize("ending", Ending)
def test_only_a_guest_that_came_to_its_end_leaves_its_memory(ending: Ending) -> None:
    assert leaves_memory(ending, 33) == (ending is Ending.DONE)
    assert not leaves_memory(ending, None)
