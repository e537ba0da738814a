"""thunk.c: what it leaves of a CPU's state, which code it changes, and what it does where it may not.

tests/data/thunk/native.c compares each read with its twin, in which constants are moved instead.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import linked
from tests.machines import PATIENCE_S

NATIVE = Path(__file__).parents[4] / "data" / "thunk" / "native.c"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-DINSN_API=4")
SOURCES = ("tsc.c", "thunk.c")
AVX = 4
"""The bit of the vectors' upper halves."""


def answer(folder: Path, mode: str, *change: str) -> subprocess.CompletedProcess[str]:
    """The program's. `change`: one text of thunk.c and another in its place."""
    texts = {name: c_file(name).read_text(encoding="utf-8") for name in SOURCES}
    if change:
        old, new = change
        assert old in texts["thunk.c"], f"no longer in thunk.c: {old}"
        texts["thunk.c"] = texts["thunk.c"].replace(old, new)
    words = (*FLAGS, *(f"-I{c_folder}" for c_folder in c_folders()), "-pthread")
    sources = {NATIVE.name: NATIVE.read_text(encoding="utf-8"), **texts}
    program = linked(folder / "native", words, sources, {})
    argv = [str(program), mode]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize(
    "mode",
    [
        "all",  # ten places get a thunk, and seven of other shapes keep their signal
        "no-mprotect",  # as SELinux may: all keep it
        "no-mmap",
        "no-membarrier",
        "race",  # another thread reads at 16 places while each is replaced
    ],
)
def test_a_read_leaves_what_the_instruction_leaves(tmp_path: Path, mode: str) -> None:
    done = answer(tmp_path, mode)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ('"popfq\\n"', '"lea 8(%rsp), %rsp\\n"', "flags"),
        ("pop %rcx\\n", "lea 8(%rsp), %rsp\\n", "general registers"),
        ("push %r10\\n", "push %r11\\n", "general registers"),
        ("mov %ebx, %eax\\n", "mov %rbx, %rax\\n", "general registers"),
        ('"lea -128(%rsp)', '"lea 0(%rsp)', "red zone"),
        ("& 0xe7;", "& 0xe6;", "x87 and mxcsr"),
        ("& 0xe7;", "& 0xe5;", "xmm"),
        ("mov $0, %ecx", "", ""),  # a comment: this change shows that what follows is of the change
    ],
)
def test_a_thunk_that_loses_something_is_seen(tmp_path: Path, old: str, new: str, differs: str) -> None:
    done = answer(tmp_path, "all", old, new)
    assert (done.returncode != 0) == bool(differs), done.stdout
    assert differs in done.stdout


def test_lost_halves_of_vectors_are_seen(tmp_path: Path) -> None:
    """By fxsave, which does not keep them."""
    whole = answer(tmp_path, "all")
    done = answer(tmp_path, "all", "!(c & bit_OSXSAVE)", "(c & bit_OSXSAVE)")
    if not int(whole.stdout.split()[-1], 16) & AVX:
        pytest.skip("this host has no vectors beyond xmm")
    assert "wider vectors differ" in done.stdout
    assert "xmm differ" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(distance & ~fixed) | (HLT * 0x01010101u & fixed)", "distance + fixed - fixed"),
        ('        at = put(at, "\\xb9\\0\\0\\0\\0", 5);', "        at += 0;"),
        ("code[rex + 1] >> 6 != 3", "0"),  # the operand may be relative to where the instruction is
    ],
)
def test_code_that_is_moved_wrongly_is_seen(tmp_path: Path, old: str, new: str) -> None:
    assert answer(tmp_path, "all", old, new).returncode != 0
