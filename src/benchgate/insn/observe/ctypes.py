"""The C types of a kernel, as its image describes them: the part that reading a field needs.

`Types` is what BTF (btf.py) and DWARF (dwarf.py) both give. It holds data only and does not fail.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class CKind(StrEnum):
    NUMBER = "number"
    POINTER = "pointer"
    ARRAY = "array"
    STRUCTURE = "structure"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CType:
    """A type without its qualifiers and its other names."""

    c_kind: CKind
    name: str = ""
    """Of a structure."""
    size: int = 0
    """In bytes; of an array the size of all of it."""
    key: int = 0
    """How `Types` finds it again."""


UNTYPED = CType(CKind.OTHER)


@dataclass(frozen=True, slots=True)
class Field:
    offset: int
    type: CType
    bits: tuple[int, int] | None = None
    """The lowest bit and the number of bits, from the byte at `offset`; None if it is no bit field."""


class Types(Protocol):
    def structure(self, name: str) -> CType | None: ...

    def field(self, of: CType, name: str) -> Field | None:
        """A field of a structure; those of its nameless members are its own."""

    def fields(self, of: CType) -> Collection[str]:
        """Their names."""

    def target(self, of: CType) -> CType:
        """What a pointer points to, or the element of an array."""

    def parameters(self, function: str) -> tuple[CType, ...]: ...

    def variable(self, name: str) -> CType | None: ...


class NoTypes:
    """For a kernel that has no description of its types."""

    def structure(self, name: str) -> CType | None:  # noqa: ARG002
        return None

    def field(self, of: CType, name: str) -> Field | None:  # noqa: ARG002
        return None

    def fields(self, of: CType) -> Collection[str]:  # noqa: ARG002
        return ()

    def target(self, of: CType) -> CType:  # noqa: ARG002
        return UNTYPED

    def parameters(self, function: str) -> tuple[CType, ...]:  # noqa: ARG002
        return ()

    def variable(self, name: str) -> CType | None:  # noqa: ARG002
        return None
