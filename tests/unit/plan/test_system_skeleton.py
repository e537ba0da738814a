"""The YAML with which a system begins: the reader accepts it, and its comments say what holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.yaml.keys import Block, Table
from benchgate.plan import systemfile
from benchgate.plan.system_keys import SYSTEM
from benchgate.plan.system_skeleton import skeleton

TEXT = skeleton("mine", "build/mine.elf", "x86_64")
PATH = Path("/bench/mine.yaml")
BLOCKS = {"deadlines", "cpus", "qemu", "console", "end"}
"""These may stand alone; `build` and `smoke` have keys that need a value, and `input` needs `ask: prompt`."""
COMMENT = re.compile(r" *# (?P<inner> *)(?P<key>[a-z_]+):(?P<value> *[^ #]*)")


def uncommented(text: str) -> str:
    """The file with its defaults as values."""
    lines, block = [], ""
    for line in text.splitlines():
        found = COMMENT.match(line)
        if found and not found["inner"]:
            block = found["key"]
        holds = found and (found["value"].strip() or block == found["key"] in BLOCKS)
        inside = found and (not found["inner"] or block in BLOCKS)
        lines.append(line.replace("# ", "", 1) if holds and inside else line)
    return "\n".join(lines)


def every_key(table: Table) -> Iterator[str]:
    for key, row in table.items():
        yield key
        if isinstance(row, Block) and len(row.forms) == 1:
            yield from every_key(row.forms[0])


def test_the_reader_accepts_it() -> None:
    system = systemfile.parse(TEXT, PATH, {})
    assert (system.name, system.arch.name, system.boot.kernel) == ("mine", "x86_64", "build/mine.elf")


def test_every_key_of_the_table_has_a_line_with_its_meaning() -> None:
    lines = [line for line in TEXT.splitlines() if not re.match(r"# [A-Z`]", line)]
    assert [re.findall(r"[a-z_]+", line)[0] for line in lines] == [*every_key(SYSTEM.forms[0])]
    assert all(re.search(r"\S +# \S", line) for line in lines)


def test_a_value_in_a_comment_is_what_holds_without_it() -> None:
    text = uncommented(TEXT)
    assert "\n  memory: 256M " in text
    assert "\n  boot_s: 60 " in text
    assert systemfile.parse(text, PATH, {}) == systemfile.parse(TEXT, PATH, {})


@pytest.mark.parametrize(("arch", "shown"), [("riscv64", "\narch: riscv64 "), ("", "\n# arch: x86_64 ")])
def test_another_processor_is_named(arch: str, shown: str) -> None:
    text = skeleton("mine", "k.elf", arch)
    assert shown in text
    assert systemfile.parse(text, PATH, {}).arch.name == (arch or "x86_64")


@pytest.mark.parametrize("kernel", ["my kernel.elf", "a: b", 'quo"te', "käse-{n}.elf"])
def test_any_path_can_be_named(kernel: str) -> None:
    assert systemfile.parse(skeleton("mine", kernel, ""), PATH, {}).boot.kernel == kernel
