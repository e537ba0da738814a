"""ram.c finds the guest's memory among QEMU's mappings."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from tests.unit.insn.c.native import load

NOWHERE = 2**64 - 1
MIB = 1 << 20
HOST = 0x7F0000000000


class Part(ctypes.Structure):
    _fields_ = (("first", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("node", ctypes.c_uint))


class Ram:
    def __init__(self, folder: Path, mapped: Sequence[tuple[int, int]]) -> None:
        self.library = load(folder, "ram")
        self.library.ram_physical.restype = ctypes.c_uint64
        self.library.ram_find.restype = ctypes.c_bool
        for at, length in mapped:
            self.library.ram_mapped(ctypes.c_void_p(at), ctypes.c_size_t(length))

    def find(self, *parts: tuple[int, int, int]) -> bool:
        array = (Part * len(parts))(*(Part(*part) for part in parts))
        return bool(self.library.ram_find(array, ctypes.c_size_t(len(parts))))

    def at(self, host: int) -> int:
        return int(self.library.ram_physical(ctypes.c_void_p(host)))


def test_one_mapping_holds_all_memory(tmp_path: Path) -> None:
    ram = Ram(tmp_path, [(HOST, 3 * MIB), (HOST + 16 * MIB, 512 * MIB)])
    assert ram.find((0x40000000, 512 * MIB, 0))
    assert ram.at(HOST + 16 * MIB + 5) == 0x40000005
    assert ram.at(HOST + 528 * MIB) == NOWHERE
    assert ram.at(HOST) == NOWHERE


def test_a_hole_in_the_guest_s_memory_is_none_in_the_host_s(tmp_path: Path) -> None:
    ram = Ram(tmp_path, [(HOST, 6 * MIB)])
    assert ram.find((0, 2 * MIB, 0), (16 * MIB, 4 * MIB, 0))
    assert ram.at(HOST + 2 * MIB - 1) == 2 * MIB - 1
    assert ram.at(HOST + 2 * MIB) == 16 * MIB


def test_nodes_of_equal_size_are_in_the_order_of_their_mappings(tmp_path: Path) -> None:
    later, earlier = HOST, HOST + 64 * MIB
    ram = Ram(tmp_path, [(earlier, 8 * MIB), (HOST + 32 * MIB, 2 * MIB), (later, 8 * MIB)])
    assert ram.find((0, 8 * MIB, 0), (8 * MIB, 8 * MIB, 1))
    assert ram.at(earlier + 7) == 7
    assert ram.at(later + 7) == 8 * MIB + 7


def test_other_sizes_than_the_machine_s_are_not_found(tmp_path: Path) -> None:
    ram = Ram(tmp_path, [(HOST, 8 * MIB)])
    assert not ram.find((0, 8 * MIB, 0), (8 * MIB, 8 * MIB, 1))
    assert not ram.find()
