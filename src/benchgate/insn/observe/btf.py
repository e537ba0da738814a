"""Reads the C types of a Linux kernel from the BTF in its own image; no debug package is needed.

Takes the path of an image; gives `Btf`. The format is the kernel's Documentation/bpf/btf.rst. The
image is untrusted: fails with VerifyError if what begins as BTF is damaged.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.build.fetch.unpack import kernel_content
from benchgate.insn.observe.ctypes import UNTYPED, CKind, CType, Field

_MAGIC = b"\x9f\xeb\x01\x00\x18\x00\x00\x00"
"""The magic number, version 1, no flags and the header's length, in little-endian order."""
_HEADER = struct.Struct("<4xIIIII")
_TYPE = struct.Struct("<III")
_INT, _PTR, _ARRAY, _STRUCT, _UNION, _ENUM = 1, 2, 3, 4, 5, 6
_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _FUNC, _FUNC_PROTO = 8, 9, 10, 11, 12, 13
_VAR, _DATASEC, _DECL_TAG, _TYPE_TAG, _ENUM64 = 14, 15, 17, 18, 19
_OTHER_NAMES = frozenset({_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _TYPE_TAG})
_MORE = {_INT: 4, _ARRAY: 12, _VAR: 4, _DECL_TAG: 4}
"""The bytes after a type of a fixed size."""
_EACH = {_STRUCT: 12, _UNION: 12, _ENUM: 8, _FUNC_PROTO: 8, _DATASEC: 12, _ENUM64: 12}
"""The bytes after a type for each of its parts."""
_DEEPEST = 32
_FEWEST = 1000
"""A kernel has tens of thousands of types; a module's, or a match by chance, are not its."""


class Btf:
    """The types of one image (insn/observe/ctypes.py)."""

    def __init__(self, types: bytes, strings: bytes) -> None:
        self._types, self._strings = types, strings
        self._at: list[int] = [0]
        self._named: dict[tuple[int, str], int] = {}
        at = 0
        while at < len(types):
            name, info, _ = _TYPE.unpack_from(types, at)
            kind, parts = info >> 24 & 31, info & 0xFFFF
            if kind in (_STRUCT, _FUNC, _VAR) and name:
                self._named.setdefault((kind, self._text(name)), len(self._at))
            self._at.append(at)
            at += _TYPE.size + _MORE.get(kind, 0) + _EACH.get(kind, 0) * parts

    def _text(self, at: int) -> str:
        return self._strings[at : self._strings.index(b"\0", at)].decode("ascii", "replace")

    def _read(self, number: int) -> tuple[int, int, int, int]:
        """Kind, the second word, the third one, and where the rest begins."""
        at = self._at[number]
        _, info, size = _TYPE.unpack_from(self._types, at)
        return info >> 24 & 31, info, size, at + _TYPE.size

    def _name(self, number: int) -> str:
        return self._text(_TYPE.unpack_from(self._types, self._at[number])[0])

    def _type(self, number: int) -> CType:
        for _ in range(_DEEPEST):
            if number == 0:  # void
                return UNTYPED
            kind, _, size, at = self._read(number)
            if kind not in _OTHER_NAMES:
                break
            number = size
        if kind in (_STRUCT, _UNION):
            return CType(CKind.STRUCTURE, self._name(number), size, number)
        if kind == _PTR:
            return CType(CKind.POINTER, size=8, key=number)
        if kind == _ARRAY:
            element, _, count = _TYPE.unpack_from(self._types, at)
            return CType(CKind.ARRAY, size=self._type(element).size * count, key=number)
        if kind in (_INT, _ENUM, _ENUM64):
            return CType(CKind.NUMBER, size=size, key=number)
        return CType(CKind.OTHER, key=number)

    def structure(self, name: str) -> CType | None:
        number = self._named.get((_STRUCT, name))
        return None if number is None else self._type(number)

    def _members(self, of: CType, offset: int = 0, depth: int = 0) -> Iterator[tuple[str, Field]]:
        """Each field with its name; the fields of nameless members are among them."""
        _, info, _, at = self._read(of.key)
        for part in range(info & 0xFFFF):
            name, number, place = _TYPE.unpack_from(self._types, at + part * _TYPE.size)
            kind = self._type(number)
            has_bits = info >> 31
            bit, bits = (place & 0xFFFFFF, place >> 24) if has_bits else (place, 0)
            field = Field(offset + bit // 8, kind, (bit % 8, bits) if bits else None)
            if name:
                yield self._text(name), field
            elif kind.c_kind is CKind.STRUCTURE and depth < _DEEPEST:
                yield from self._members(kind, field.offset, depth + 1)

    def field(self, of: CType, name: str) -> Field | None:
        return next((found for text, found in self._members(of) if text == name), None)

    def fields(self, of: CType) -> Collection[str]:
        return [name for name, _ in self._members(of)]

    def target(self, of: CType) -> CType:
        kind, _, number, at = self._read(of.key)
        return self._type(_TYPE.unpack_from(self._types, at)[0] if kind == _ARRAY else number)

    def parameters(self, function: str) -> tuple[CType, ...]:
        number = self._named.get((_FUNC, function))
        if number is None:
            return ()
        kind, info, _, at = self._read(self._read(number)[2])
        if kind != _FUNC_PROTO:
            return ()
        parts = (struct.unpack_from("<II", self._types, at + part * 8) for part in range(info & 0xFFFF))
        return tuple(self._type(number) for _, number in parts)

    def variable(self, name: str) -> CType | None:
        number = self._named.get((_VAR, name))
        return None if number is None else self._type(self._read(number)[2])


def read_btf(path: Path) -> Btf | None:
    """The types in an image; None if it has none."""
    try:
        image = kernel_content(path)
    except OSError as error:
        raise VerifyError(f"{path} cannot be read: {error.strerror}") from error
    at = image.find(_MAGIC)
    while at >= 0:
        head = image[at : at + 24].ljust(24)
        types_at, types_size, strings_at, strings_size = _HEADER.unpack_from(head)[1:]
        begin = at + 24
        types = image[begin + types_at : begin + types_at + types_size]
        strings = image[begin + strings_at : begin + strings_at + strings_size]
        if len(types) == types_size and len(strings) == strings_size and types_size > _FEWEST * _TYPE.size:
            try:
                return Btf(types, strings)
            except (struct.error, ValueError, IndexError) as error:
                raise VerifyError(f"the BTF in {path} is damaged: {error}") from error
        at = image.find(_MAGIC, at + 1)
    return None
