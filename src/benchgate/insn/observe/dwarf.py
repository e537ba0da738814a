"""Reads the C types of a kernel from the DWARF in its ELF file (`-g`).

Takes a path; gives `Dwarf`, which answers as `Types` does (insn/observe/ctypes.py), or None. The file is
untrusted: fails with VerifyError if it is damaged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from benchgate.base.errors import VerifyError
from benchgate.build.fetch.elf import DAMAGE
from benchgate.insn.observe.ctypes import UNTYPED, CKind, CType, Field

_STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_class_type")
_NUMBERS = ("DW_TAG_base_type", "DW_TAG_enumeration_type")
_OTHER_NAMES = (
    *("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"),
    *("DW_TAG_restrict_type", "DW_TAG_atomic_type"),
)
_DEEPEST = 32
_PLUS_UCONST = 0x23


class Dwarf:
    """The types of one ELF file. Only what is outside of functions has a name here."""

    def __init__(self, elf: ELFFile) -> None:
        self._dwarf = elf.get_dwarf_info()
        self._named: dict[tuple[str, str], DIE] = {}
        for unit in self._dwarf.iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                name = _text(_declared(die), "DW_AT_name")
                if name and "DW_AT_declaration" not in die.attributes:
                    kind = "structure" if die.tag in _STRUCTURES else str(die.tag)
                    self._named.setdefault((kind, name), die)

    def _type(self, die: DIE) -> CType:
        """The type of what this entry describes."""
        die = die if "DW_AT_type" in die.attributes else _declared(die)
        for _ in range(_DEEPEST):
            if "DW_AT_type" not in die.attributes:
                return UNTYPED  # void
            die = die.get_DIE_from_attribute("DW_AT_type")
            if die.tag not in _OTHER_NAMES:
                return self._kind(die)
        return UNTYPED

    def _kind(self, die: DIE) -> CType:
        size = _number(die, "DW_AT_byte_size")
        if die.tag in _STRUCTURES:
            name = _text(die, "DW_AT_name")
            whole = self._named.get(("structure", name)) if "DW_AT_declaration" in die.attributes else die
            whole = whole or die
            return CType(CKind.STRUCTURE, name, _number(whole, "DW_AT_byte_size"), whole.offset)
        if die.tag == "DW_TAG_pointer_type":
            return CType(CKind.POINTER, size=8, key=die.offset)
        if die.tag == "DW_TAG_array_type":
            return CType(CKind.ARRAY, size=self._type(die).size * _count(die), key=die.offset)
        shape = CKind.NUMBER if die.tag in _NUMBERS else CKind.OTHER
        return CType(shape, size=size, key=die.offset)

    def structure(self, name: str) -> CType | None:
        die = self._named.get(("structure", name))
        return None if die is None else self._kind(die)

    def _members(self, of: CType, offset: int = 0, depth: int = 0) -> Iterator[tuple[str, Field]]:
        for die in self._dwarf.get_DIE_from_refaddr(of.key).iter_children():
            if die.tag != "DW_TAG_member":
                continue
            field = self._placed(die, offset)
            if name := _text(die, "DW_AT_name"):
                yield name, field
            elif field.type.c_kind is CKind.STRUCTURE and depth < _DEEPEST:
                yield from self._members(field.type, field.offset, depth + 1)

    def _placed(self, die: DIE, offset: int) -> Field:
        kind, at = self._type(die), offset + _location(die)
        bits = _number(die, "DW_AT_bit_size")
        bit = _number(die, "DW_AT_data_bit_offset")
        if "DW_AT_bit_offset" in die.attributes:  # before DWARF 4: from the highest bit of the whole number
            size = _number(die, "DW_AT_byte_size") or kind.size
            bit = 8 * size - _number(die, "DW_AT_bit_offset") - bits
        return Field(at + bit // 8, kind, (bit % 8, bits) if bits else None)

    def field(self, of: CType, name: str) -> Field | None:
        return next((found for text, found in self._members(of) if text == name), None)

    def fields(self, of: CType) -> Collection[str]:
        return [name for name, _ in self._members(of)]

    def target(self, of: CType) -> CType:
        return self._type(self._dwarf.get_DIE_from_refaddr(of.key))

    def parameters(self, function: str) -> tuple[CType, ...]:
        die = self._named.get(("DW_TAG_subprogram", function))
        if die is None:
            return ()
        if "DW_AT_abstract_origin" in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
        return tuple(
            self._type(child) for child in die.iter_children() if child.tag == "DW_TAG_formal_parameter"
        )

    def variable(self, name: str) -> CType | None:
        die = self._named.get(("DW_TAG_variable", name))
        return None if die is None else self._type(die)


def read_dwarf(path: Path) -> Dwarf | None:
    """The types in an ELF file; None if it has none."""
    try:
        elf = ELFFile(BytesIO(path.read_bytes()))
        return Dwarf(elf) if elf.has_dwarf_info() and elf.get_section_by_name(".debug_info") else None
    except OSError as error:
        raise VerifyError(f"{path} cannot be read: {error.strerror}") from error
    except DAMAGE as error:
        raise VerifyError(f"{path} is a damaged ELF file: {error}") from error


def _declared(die: DIE) -> DIE:
    """What has the name and the type of a variable whose declaration stands elsewhere."""
    key = "DW_AT_specification"
    return die.get_DIE_from_attribute(key) if key in die.attributes else die


def _text(die: DIE, key: str) -> str:
    value = die.attributes[key].value if key in die.attributes else b""
    return value.decode("ascii", "replace") if isinstance(value, bytes) else ""


def _number(die: DIE, key: str) -> int:
    value = die.attributes[key].value if key in die.attributes else 0
    return value if isinstance(value, int) else 0


def _location(die: DIE) -> int:
    """The offset of a member; DWARF 2 writes it as the operation that adds it."""
    key = "DW_AT_data_member_location"
    value = die.attributes[key].value if key in die.attributes else 0
    if isinstance(value, int):
        return value
    operation, *digits = value or [0]
    if operation != _PLUS_UCONST or not digits:
        name = _text(die, "DW_AT_name")
        raise VerifyError(f"the DWARF says where `{name}` lies in a way that is not known")
    return sum((digit & 0x7F) << 7 * place for place, digit in enumerate(digits))


def _count(die: DIE) -> int:
    for child in die.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            return _number(child, "DW_AT_count") or _number(child, "DW_AT_upper_bound") + 1
    return 0
