"""BTF that is built here by the kernel's documentation: names, offsets and kinds come back."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.observe.btf import read_btf
from benchgate.insn.observe.ctypes import UNTYPED, CKind

INT, PTR, ARRAY, STRUCT, TYPEDEF, CONST, FUNC, PROTO, VAR = 1, 2, 3, 4, 8, 10, 12, 13, 14


class Writer:
    """Types are numbered from 1, as BTF does."""

    def __init__(self) -> None:
        self.types, self.strings, self.count = b"", b"\0", 0

    def name(self, text: str) -> int:
        if not text:
            return 0
        at = len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def add(self, kind: int, name: str, size: int, *more: int, parts: int = 0, bits: bool = False) -> int:
        info = bits << 31 | kind << 24 | parts
        self.types += struct.pack(f"<III{len(more)}I", self.name(name), info, size, *more)
        self.count += 1
        return self.count

    def struct(self, name: str, size: int, *members: tuple[str, int, int], bits: bool = False) -> int:
        more = [word for text, kind, at in members for word in (self.name(text), kind, at)]
        return self.add(STRUCT, name, size, *more, parts=len(members), bits=bits)

    def image(self, folder: Path, before: bytes = b"\x9f\xeb nothing") -> Path:
        header = struct.pack(
            "<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings)
        )
        path = folder / "vmlinux"
        path.write_bytes(before + header + self.types + self.strings + b"more of the image")
        return path


def kernel() -> Writer:
    made = Writer()
    u32 = made.add(INT, "unsigned int", 4, 32)
    u8 = made.add(INT, "char", 1, 8)
    comm = made.add(ARRAY, "", 0, u8, u32, 16)
    inner = made.struct("", 8, ("on_rq", u32, 0), ("flag", u8, 32))
    pid_t = made.add(TYPEDEF, "pid_t", made.add(CONST, "", u32))
    mask = made.struct("mask", 4, ("low", u32, 3 << 24 | 0), ("high", u32, 5 << 24 | 11), bits=True)
    task = made.struct(
        "task", 40, ("pid", pid_t, 64), ("comm", comm, 96), ("", inner, 256), ("bits", mask, 320)
    )
    pointer = made.add(PTR, "", task)
    proto = made.add(PROTO, "", u32, made.name("p"), pointer, made.name("n"), u32, parts=2)
    made.add(FUNC, "wake", proto)
    made.add(VAR, "current", pointer, 1)
    while made.count < 1200:  # as a kernel, and no module, has
        made.add(INT, "more", 4, 32)
    return made


def test_fields_parameters_and_variables(tmp_path: Path) -> None:
    types = read_btf(kernel().image(tmp_path))
    assert types is not None
    task = types.structure("task")
    assert task is not None
    assert (task.c_kind, task.name, task.size) == (CKind.STRUCTURE, "task", 40)
    fields = {name: types.field(task, name) for name in ("pid", "comm", "on_rq", "flag")}
    assert {
        name: field and (field.offset, field.type.c_kind, field.type.size) for name, field in fields.items()
    } == {
        "pid": (8, CKind.NUMBER, 4),
        "comm": (12, CKind.ARRAY, 16),
        "on_rq": (32, CKind.NUMBER, 4),
        "flag": (36, CKind.NUMBER, 1),
    }
    first, second = types.parameters("wake")
    assert (first.c_kind, types.target(first), second.size) == (CKind.POINTER, task, 4)
    current = types.variable("current")
    assert current is not None
    assert types.target(current) == task
    assert list(types.fields(task)) == ["pid", "comm", "on_rq", "flag", "bits"]
    assert (types.field(task, "gone"), types.structure("gone"), types.variable("gone")) == (None, None, None)
    assert types.parameters("gone") == ()
    assert UNTYPED.c_kind is CKind.OTHER


def test_bit_fields(tmp_path: Path) -> None:
    types = read_btf(kernel().image(tmp_path))
    assert types is not None
    mask = types.structure("mask")
    assert mask is not None
    low, high = (types.field(mask, name) for name in ("low", "high"))
    assert low is not None
    assert (low.offset, low.bits) == (0, (0, 3))
    assert high is not None
    assert (high.offset, high.bits) == (1, (3, 5))


def test_an_image_without_btf_and_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(b"MZ" + bytes(5000))
    assert read_btf(path) is None
    broken = kernel()
    broken.add(FUNC, "gone", 1)
    broken.strings = broken.strings.rstrip(b"\0")[:-2]  # a name without an end
    with pytest.raises(VerifyError, match="damaged"):
        read_btf(broken.image(tmp_path))
