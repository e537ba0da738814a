"""Call stacks: the plugin's file, and folded stacks, which other programs read too."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.stacks import folded, read_folded, read_stacks
from benchgate.insn.symbols import Symbols

KERNEL = Symbols((0xFFFFFFFF81000000,), (0xFFFFFFFF81001000,), ("schedule",))
USER = Symbols((0x401000, 0x402000), (0x402000, 0x403000), ("main", "operator;() x"))
FILE = """insn-stacks 1
node 0 0 0 5
node 3 0 401000 10
node 4 3 402010 20
node 7 4 ffffffff81000010 40
node 9 4 ffffffff99000000 80
node 12 3 402020 1
end 6
"""
SEEN = {
    ("[entry]",): 5,
    ("main",): 10,
    ("main", "operator_()_x"): 21,
    ("main", "operator_()_x", "schedule_[k]"): 40,
    ("main", "operator_()_x", "[kernel]_[k]"): 80,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stacks"


def test_stacks_have_names_and_the_kernel_is_marked(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    assert read_stacks(path, KERNEL, USER) == SEEN


def test_folded_stacks_are_lines_of_frames_and_a_count_and_are_read_back(path: Path) -> None:
    assert folded({("main", "work"): 7, ("main",): 3}) == "main 3\nmain;work 7\n"
    path.write_text(folded(SEEN), encoding="ascii")
    assert read_folded(path) == SEEN


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("insn-stacks 1", "insn-stacks 2", "known version"),
        ("end 6\n", "", "incomplete"),
        ("end 6\n", "end 6\nnode 20 0 1 1\n", "not a line"),
        ("node 3 0 401000 10", "node 3 2 401000 10", "not a line"),
        ("node 3 0 401000 10", "node 3 0 0x401000 10", "not a line"),
        ("node 3 0 401000 10", "node 3 0 401000", "not a line"),
    ],
)
def test_a_damaged_file_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in FILE
    path.write_text(FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_stacks(path, KERNEL, USER)


def test_a_path_without_end_is_refused(path: Path) -> None:
    nodes = "".join(f"node {n + 1} {n} 1 1\n" for n in range(1_000))
    path.write_text(f"insn-stacks 1\n{nodes}end 1000\n", encoding="ascii")
    with pytest.raises(VerifyError, match="not a line"):
        read_stacks(path, KERNEL)


@pytest.mark.parametrize(
    "bad", ["main", "main 0", "main -1", "main 1 2", ";main 1", "a 1\na 1", "a b 1", "a 1e3"]
)
def test_a_text_that_is_no_folded_stack_is_refused(path: Path, bad: str) -> None:
    path.write_text(f"{bad}\n", encoding="ascii")
    with pytest.raises(VerifyError, match="not a folded stack"):
        read_folded(path)
