"""Attributes the instructions of a window to call stacks.

Takes the plugin's file (c/record/stacks.c) and symbol tables; gives instructions by stack, outermost function
first, and the same as folded stacks: a line `main;work;do_syscall_64_[k] 1234` for each, which flame graph
tools read. `_[k]` marks the kernel's functions. `read_folded` reads that text back. Files are untrusted: a
line outside the format is a VerifyError.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.insn.log_text import text_of
from benchgate.insn.profile import place
from benchgate.insn.symbols import Symbols

Stack = tuple[str, ...]
Stacks = Mapping[Stack, int]

FILE_LIMIT = 8 << 20
FOLDED_LIMIT = 4 << 20
MOST_DEPTH = 256
KERNEL = "_[k]"
ELSEWHERE = "[entry]"
"""The name for what ran while no called function was known."""
_NODE = re.compile(r"node ([0-9]{1,5}) ([0-9]{1,5}) ([0-9a-f]{1,16}) ([0-9]{1,19})")
_FOLDED = re.compile(r"([^\s]+) ([1-9][0-9]{0,18})")


def read_stacks(path: Path, kernel: Symbols, user: Symbols | None = None) -> Stacks:
    lines = text_of(path, FILE_LIMIT, "call stacks").split("\n")
    if lines[:1] != ["insn-stacks 1"]:
        raise VerifyError(f"{path}: not a file of call stacks of a known version")
    nodes: dict[int, Stack] = {0: ()}
    counts: defaultdict[Stack, int] = defaultdict(int)
    for number, line in enumerate(lines[1:], 2):
        if line.startswith("end ") and lines[number - 1 :] == [line, ""]:
            return dict(counts)
        if not line and number == len(lines):
            break
        node = _NODE.fullmatch(line)
        if node is None or int(node[2]) not in nodes or len(nodes[int(node[2])]) >= MOST_DEPTH:
            raise VerifyError(f"{path}:{number}: this is not a line of a file of call stacks")
        name = _name(int(node[3], 16), kernel, user)
        stack = (*nodes[int(node[2])], name) if int(node[1]) else ()
        nodes[int(node[1])] = stack
        if int(node[4]):
            counts[stack or (ELSEWHERE,)] += int(node[4])
    raise VerifyError(f"{path}: the file of call stacks is incomplete: it has no end line")


def _name(address: int, kernel: Symbols, user: Symbols | None) -> str:
    """The name at an address, without the separators of the format."""
    space, name = place(address, kernel, user)
    return re.sub(r"[;\s]", "_", name) + (KERNEL if space == "kernel" else "")


def folded(stacks: Stacks) -> str:
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))


def read_folded(path: Path) -> Stacks:
    stacks: dict[Stack, int] = {}
    for number, line in enumerate(text_of(path, FOLDED_LIMIT, "call stacks").splitlines(), 1):
        seen = _FOLDED.fullmatch(line)
        stack = tuple(seen[1].split(";")) if seen else ()
        if seen is None or stack in stacks or not all(stack) or len(stack) > MOST_DEPTH:
            raise VerifyError(f"{path}:{number}: this is not a folded stack, each once")
        stacks[stack] = int(seen[2])
    return stacks
