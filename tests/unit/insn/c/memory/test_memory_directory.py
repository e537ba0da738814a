"""memory_directory.c: how much of the host's memory a line of the guest takes."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import pytest

from tests.unit.insn.c.native import load

MOST_BYTES = 200


class Directory(ctypes.Structure):
    _fields_ = (
        ("lines", ctypes.c_void_p),
        ("entry", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
        ("words", ctypes.c_uint32),
        ("count", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("directory"), "memory_directory")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize(("cpus", "entry"), [(1, 64), (64, 64), (128, 64), (129, 128), (256, 128)])
def test_an_entry_has_room_for_all_cpus_and_is_small(library: ctypes.CDLL, cpus: int, entry: int) -> None:
    directory = Directory()
    assert library.memory_directory_setup(
        ctypes.byref(directory), ctypes.c_uint64(1024), ctypes.c_uint32(cpus)
    )
    assert directory.entry == entry <= MOST_BYTES
    assert directory.words * 64 >= cpus
    library.memory_directory_free(ctypes.byref(directory))


def test_only_lines_in_use_take_memory(library: ctypes.CDLL) -> None:
    """A guest with 64 GiB that uses 16 MiB of it."""
    directory, used = Directory(), (16 << 20) // 64
    assert library.memory_directory_setup(
        ctypes.byref(directory), ctypes.c_uint64(1 << 30), ctypes.c_uint32(64)
    )
    before = resident()
    ctypes.memset(directory.lines + (directory.bytes >> 1), 1, used * directory.entry)
    assert used * directory.entry <= resident() - before < used * MOST_BYTES
    library.memory_directory_free(ctypes.byref(directory))
