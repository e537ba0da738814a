"""The file of moved lines: what is read, what is refused, and how lines get their names."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.build.toolchain import compiler
from benchgate.insn.sharing import LineCpu, MovedLine, Touch, VariableBytes, named, read_sharing, text
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, read_symbols
from tests.machines import PATIENCE_S

FILE = """insn-sharing 1
line 64
vcpus 2
window 5000
dropped 3 7
moved 1000 0 404040 90
by 0 45 0 0 45
at 0 0 8 1000 1000
by 1 45 0 0 45
at 1 8 8 900 900
more 1 5 6
moved 2000 ffff888000002000 0 4
by 1 0 1 3 0
end 2
"""
COUNTERS = Symbols((0x404000, 0x404048), (0x404048, 0x404058), ("flags", "counters"))
"""`flags` ends 8 bytes into the line at 404040, `counters` has the next 16."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sharing.txt"


def test_lines_are_read(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    seen = read_sharing(path)
    first = LineCpu(0, (45, 0, 0), 45, (Touch(0, 8, 1000, 1000),))
    second = LineCpu(1, (45, 0, 0), 45, (Touch(8, 8, 900, 900),), 5, 6)
    assert seen.lines[0] == MovedLine(0x1000, 0, 0x404040, 90, (first, second))
    assert (second.accesses, seen.lines[0].address) == (1811, 0x404040)
    assert seen.lines[1].address == 0xFFFF888000002000
    assert (seen.line, seen.vcpus, seen.window, seen.dropped, seen.dropped_moves, seen.known) == (
        *(64, 2, 5000),
        *(3, 7, 2),
    )


def test_a_line_is_called_by_the_variables_in_it_and_is_written_so(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    seen = named(read_sharing(path), NO_SYMBOLS, COUNTERS)
    assert seen.lines[0].names == (VariableBytes(0, 8, 64, "flags"), VariableBytes(8, 16, 0, "counters"))
    assert seen.lines[1].names == ()
    path.write_text(text(seen), encoding="ascii")
    assert "called 8 16 0 counters\n" in path.read_text(encoding="ascii")
    assert read_sharing(path) == seen


def test_the_kernels_name_of_a_line_comes_first(path: Path) -> None:
    path.write_text(FILE.replace("1000 0 404040", "1000 ffffffff82000000 404040"), encoding="ascii")
    seen = read_sharing(path)
    kernel = Symbols((0xFFFFFFFF82000010,), (0xFFFFFFFF82000014,), ("tasklist_lock",))
    assert named(seen, kernel, COUNTERS).lines[0].names == (VariableBytes(16, 4, 0, "tasklist_lock"),)
    # An address of the kernel's for user memory has no symbol there.
    assert named(seen, NO_SYMBOLS, COUNTERS).lines[0].names[1].name == "counters"


def test_only_the_most_moved_lines_are_kept(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    seen = read_sharing(path)
    many = replace(seen, lines=seen.lines * 50)
    assert len(named(many, NO_SYMBOLS, NO_SYMBOLS).lines) == 64


def test_variables_of_a_program_have_names(tmp_path: Path) -> None:
    source = "long lonely[2]; static int hidden = 3; int main(void){return hidden + (int)lonely[1];}"
    (tmp_path / "a.c").write_text(source)
    argv = [*compiler().argv, "-O0", str(tmp_path / "a.c"), "-o", str(tmp_path / "a")]
    subprocess.run(argv, check=True, timeout=PATIENCE_S)
    symbols = read_symbols(tmp_path / "a", data=True)
    assert {"lonely", "hidden"} <= set(symbols.names)
    assert "main" not in symbols.names
    at = symbols.addresses[symbols.names.index("lonely")]
    assert [one[0] for one in symbols.within(at + 15, at + 16)] == ["lonely"]


def test_variables_of_a_kernels_own_list(tmp_path: Path) -> None:
    lines = "ffffffff81000000 T _text\nffffffff82000000 D init_task\nffffffff82001000 b counters\n"
    (tmp_path / "map").write_text(lines)
    assert read_symbols(tmp_path / "map", data=True).names == ("init_task", "counters")
    assert read_symbols(tmp_path / "map").names == ("_text",)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("insn-sharing 1", "insn-sharing 2", "known version"),
        ("window 5000\n", "", "head"),
        ("line 64", "line 0", "cannot be"),
        ("vcpus 2", "vcpus 257", "cannot be"),
        ("by 1 45", "by 2 45", "there is no vCPU 2"),
        ("at 1 8 8", "at 1 60 8", "8 bytes at 60 do not fit"),
        ("at 1 8 8", "at 1 8 0", "0 bytes at 8"),
        ("at 1 8 8 900 900", "at 1 8 8 900", "not a line of a file of moved lines"),
        ("moved 2000", "moved 02000", "expected `end LINES`"),
        ("moved 2000 ", "called 60 8 0 x\nmoved 2000 ", "expected `end LINES`"),
        ("by 0 45", "called 60 8 0 x\nby 0 45", "8 bytes at 60"),
        ("end 2", "end 1", "expected `end LINES`"),
        ("end 2\n", "end 2\nmoved 1 0 0 0\n", "expected `end LINES`"),
        ("end 2\n", "", "expected `end LINES`"),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in FILE
    path.write_text(FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_sharing(path)


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(VerifyError, match="cannot read the moved lines"):
        read_sharing(path)
