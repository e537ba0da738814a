"""The YAML of a system to begin with: what is known holds, every other key is a comment.

Takes a name and the kernel's path; gives the file's text, by the table of keys. Does not fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from benchgate.base.system.arch import X86_64
from benchgate.base.yaml.keys import Block, Key, Table
from benchgate.plan.system_keys import SYSTEM

HEAD = """\
# Keys in comments are not set. A value there is what holds; without one the words behind it say what holds.
# `benchgate docs yaml-system` also has the keys of lists, and of names that you choose.
"""
_COLUMN = 34
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+\Z")
Known = Mapping[str, "str | Known"]
"""Values by key; a mapping for a block."""


def skeleton(name: str, kernel: str, arch: str) -> str:
    """`kernel` is relative to the file. `arch` may be empty: the default is in a comment then."""
    known: Known = {"version": "1", "name": name, "kind": "qemu", "boot": {"kernel": _scalar(kernel)}}
    if arch not in ("", X86_64.name):
        known = {**known, "arch": arch}
    lines = (f"{text:{_COLUMN}}  # {about}\n" for text, about in _lines(SYSTEM.forms[0], known))
    return HEAD + "".join(lines)


def _lines(table: Table, known: Known, indent: str = "") -> Iterator[tuple[str, str]]:
    """Each key with what stands behind it."""
    for key, row in table.items():
        match known.get(key):
            case str(value):
                yield f"{indent}{key}: {value}", row.about
            case None:
                yield from ((f"{indent}# {text}", about) for text, about in _unset(key, row))
            case inner:
                yield f"{indent}{key}:", row.about
                yield from _lines(_inner(row), inner, f"{indent}  ")


def _unset(key: str, row: Key) -> Iterator[tuple[str, str]]:
    inner = _inner(row)
    otherwise = f"; without it: {row.otherwise}" if row.otherwise and not inner else ""
    yield f"{key}: {_default(row)}".rstrip(), row.about + otherwise
    for name, one in inner.items():
        yield from ((f"  {text}", about) for text, about in _unset(name, one))


def _inner(row: Key) -> Table:
    """The keys of a block, if they are the same in every file."""
    return row.forms[0] if isinstance(row, Block) and len(row.forms) == 1 else {}


def _default(row: Key) -> str:
    if row.default is None:
        return ""
    if isinstance(row.default, tuple):
        return f"[{', '.join(map(_scalar, row.default))}]"
    return _scalar(row.default)


def _scalar(value: object) -> str:
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)
