"""What hosts made of files tell of their caches."""

from __future__ import annotations

from benchgate.host.caches import CacheDescription, caches
from tests.unit.conftest import Tree


def cache_files(cpu: int, index: int, *facts: str) -> dict[str, str]:
    """`facts`: level, kind, size, who shares it, ways."""
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    names = ("level", "type", "size", "shared_cpu_list", "ways_of_associativity", "coherency_line_size")
    return {f"{folder}/{name}": text for name, text in zip(names, (*facts, "64"), strict=True)}


def all_caches(cpu: int, l3: str) -> dict[str, str]:
    return {
        **cache_files(cpu, 0, "1", "Data", "48K", str(cpu), "12"),
        **cache_files(cpu, 1, "1", "Instruction", "32K", str(cpu), "8"),
        **cache_files(cpu, 2, "2", "Unified", "1M", str(cpu), "16"),
        **cache_files(cpu, 3, "3", "Unified", "32768K", l3, "16"),
    }


def test_the_caches_of_one_cpu(tree: Tree) -> None:
    root = tree(all_caches(0, "0-1") | all_caches(2, "2-3"))
    assert caches(0, root) == (
        CacheDescription(1, "Data", 48 << 10, 12, 64, (0,)),
        CacheDescription(1, "Instruction", 32 << 10, 8, 64, (0,)),
        CacheDescription(2, "Unified", 1 << 20, 16, 64, (0,)),
        CacheDescription(3, "Unified", 32 << 20, 16, 64, (0, 1)),
    )
    assert caches(1, root) == ()


def test_nonsense_is_as_good_as_nothing(tree: Tree) -> None:
    files = cache_files(0, 0, "1", "Data", "many", "0", "8")
    files |= cache_files(0, 1, "1", "Magic", "32K", "0", "8")
    files |= cache_files(0, 2, "0", "Unified", "1M", "0", "8")
    files |= cache_files(0, 3, "3", "Unified", "0K", "0", "8")
    files |= cache_files(0, 4, "2", "Unified", "512K", "x-y", "0")
    assert caches(0, tree(files)) == (CacheDescription(2, "Unified", 512 << 10, None, 64, ()),)
