"""tree.c counts by path and survives a restart; arch_x86.c knows calls and returns."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.unit.insn.c.arch.test_spin import LONGEST, Insn
from tests.unit.insn.c.native import load

STRAIGHT, NEAR, FAR, RETURNS = range(4)
EXPORTED = ("static enum arch_flow flow(", "enum arch_flow flow(")


@pytest.fixture(scope="module")
def x86(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The function with a name that others see."""
    folder = tmp_path_factory.mktemp("flow")
    return load(folder, "arch_x86", change=EXPORTED)


class Tree:
    def __init__(self, folder: Path) -> None:
        self.library = load(folder, "tree")
        self.folder = folder
        assert self.library.tree_setup()

    def child(self, node: int, address: int) -> int:
        return int(self.library.tree_child(ctypes.c_uint32(node), ctypes.c_uint64(address)))

    def count(self, node: int, instructions: int) -> None:
        self.library.tree_count(ctypes.c_uint32(node), ctypes.c_uint64(instructions))

    def lines(self) -> list[str]:
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        out = ctypes.c_void_p(libc.fopen(bytes(self.folder / "out"), b"w"))
        self.library.tree_write(out)
        libc.fclose(out)
        return (self.folder / "out").read_text().splitlines()


def test_a_function_is_counted_once_for_each_path(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    main = tree.child(0, 0x100)
    work, other = tree.child(main, 0x200), tree.child(0, 0x300)
    again = tree.child(other, 0x200)
    unused = tree.child(other, 0x400)
    assert len({main, work, other, again, unused}) == 5
    assert tree.child(main, 0x200) == work
    tree.count(work, 7)
    tree.count(work, 3)
    tree.count(again, 5)
    assert tree.lines() == [
        "node 0 0 0 0",
        f"node {main} 0 100 0",
        f"node {work} {main} 200 10",
        f"node {other} 0 300 0",
        f"node {again} {other} 200 5",
        "end 5",
    ]


def test_a_restart_keeps_the_paths_that_are_asked_for_and_no_counts(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    main = tree.child(0, 0x100)
    deep = main
    for _ in range(1_000):  # recursion
        deep = tree.child(deep, 0x200)
    tree.count(deep, 9)
    gone = tree.child(main, 0x500)
    tree.count(gone, 4)
    tree.library.tree_restart()
    new = int(tree.library.tree_again(ctypes.c_uint32(deep)))
    tree.count(new, 2)
    lines = tree.lines()
    assert len(lines) == 1_003  # the root, main, its thousand callees, and the end
    assert lines[-2].endswith(" 200 2")
    assert not any(line.endswith(" 500 4") for line in lines)
    assert tree.library.tree_again(ctypes.c_uint32(main)) == tree.child(0, 0x100)


def test_a_full_tree_counts_for_the_caller(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    last = 0
    for address in range(1, 1 << 16):
        last = tree.child(0, address)
    assert tree.library.tree_is_full() & 0xFF
    assert tree.child(last, 0xDEAD) == last


@pytest.mark.parametrize(
    ("code", "flow", "by"),
    [
        ("e8fbffffff", NEAR, -5),
        ("e800010000", NEAR, 256),
        ("ffd0", FAR, 0),  # call *%rax
        ("41ffd3", FAR, 0),  # call *%r11
        ("3effd0", FAR, 0),  # notrack call *%rax
        ("ff15aa000000", FAR, 0),  # call *0xaa(%rip)
        ("c3", RETURNS, 0),
        ("f3c3", RETURNS, 0),
        ("c21000", RETURNS, 0),
        ("ffe0", STRAIGHT, 0),  # jmp *%rax
        ("ff30", STRAIGHT, 0),  # push (%rax)
        ("ffc0", STRAIGHT, 0),  # inc %eax
        ("e900010000", STRAIGHT, 0),  # jmp
        ("0f05", STRAIGHT, 0),  # syscall
        ("48cf", STRAIGHT, 0),  # iretq
        ("b8e8000000", STRAIGHT, 0),  # mov $0xe8,%eax
    ],
)
def test_calls_and_returns_of_x86(x86: ctypes.CDLL, code: str, flow: int, by: int) -> None:
    raw, distance = bytes.fromhex(code), ctypes.c_int64()
    insn = Insn((ctypes.c_uint8 * LONGEST)(*raw), len(raw))
    assert x86.flow(ctypes.byref(insn), ctypes.byref(distance)) == flow
    assert distance.value == by
