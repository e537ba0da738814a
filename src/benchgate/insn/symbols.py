"""Reads symbol tables, which name addresses of code or data, from an ELF file or lines as in System.map.

Takes a path; gives `Symbols`, sorted by address. Also writes symbols as an ELF file for debuggers. The input
file is untrusted. Fails with VerifyError if it cannot be read.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from benchgate.base.errors import VerifyError
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.build.fetch.elf import DAMAGE

_KALLSYMS = re.compile(r"([0-9a-f]{1,16}) ([a-zA-Z]) ([^\s\x00-\x1f]{1,200})")
_TEXT_KINDS, _DATA_KINDS = frozenset("tTwWvV"), frozenset("bBdDrR")
_NO_TYPE, _OBJECT, _FUNCTION = 0, 1, 2  # STT_NOTYPE, STT_OBJECT, STT_FUNC
_NO_NAMES = ("$", ".L")
"""The labels that mark code and data within functions of AArch64 and RISC-V, and RISC-V's local labels."""
_LINUX_AT = {X86_64.name: 0xFFFF_FFFF_8000_0000}
"""The virtual address of physical address 0 where Linux maps itself, without KASLR."""
_MAX_UNSIZED = 1 << 16  # a symbol of unknown size ends after this many bytes at the latest


@dataclass(frozen=True, slots=True)
class Symbols:
    """Symbols sorted by address. Each ends where the next one begins, or earlier."""

    addresses: tuple[int, ...]
    ends: tuple[int, ...]
    names: tuple[str, ...]

    def name_of(self, address: int) -> str | None:
        at = bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 and address < self.ends[at] else None

    def containing(self, addresses: Iterable[int]) -> Symbols:
        """Only the symbols that contain one of these addresses."""
        known = filter(self.name_of, addresses)
        places = sorted({bisect_right(self.addresses, address) - 1 for address in known})
        ends = tuple(self.ends[at] for at in places)
        return Symbols(
            tuple(self.addresses[at] for at in places), ends, tuple(self.names[at] for at in places)
        )

    def within(self, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
        """The name, begin and end of each symbol that has an address from `begin` up to `end`."""
        at = max(bisect_right(self.addresses, begin) - 1, 0)
        while at < len(self.addresses) and self.addresses[at] < end:
            if self.ends[at] > begin:
                yield self.names[at], self.addresses[at], self.ends[at]
            at += 1


NO_SYMBOLS = Symbols((), (), ())


def is_elf(path: Path) -> bool:
    """Whether the file is an ELF file; OSError if it cannot be read."""
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def read_symbols(path: Path, *, data: bool = False) -> Symbols:
    """The text symbols of an ELF file or of lines as in System.map; with `data`, those of variables."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise VerifyError(f"cannot read symbols from {path}: {error.strerror}") from error
    if raw[:4] == b"\x7fELF":
        try:
            return sorted_symbols(_elf_objects(raw) if data else _elf_symbols(raw))
        except DAMAGE as error:
            raise VerifyError(f"{path} is a damaged ELF file: {error}") from error
    result = (_KALLSYMS.match(line) for line in raw.decode("ascii", "replace").splitlines())
    kinds = _DATA_KINDS if data else _TEXT_KINDS
    return sorted_symbols((int(m[1], 16), 0, m[3]) for m in result if m and m[2] in kinds)


def names_at(path: Path, guest: Architecture, begin: int, end: int) -> tuple[str, ...]:
    """The kernel's variables and functions from one guest-physical address up to another one: by the segments
    of its ELF file or, of lines as in System.map, by where Linux maps itself. None where that is unknown."""
    every = (read_symbols(path, data=True), read_symbols(path))
    return tuple(
        name
        for first, last, offset in _places(path, guest)
        if first < end and begin < last
        for symbols in every
        for name, _, _ in symbols.within(begin + offset, end + offset)
    )


def _places(path: Path, guest: Architecture) -> list[tuple[int, int, int]]:
    """The physical begin and end of each part of a kernel, and how much larger its virtual addresses are."""
    if not is_elf(path):
        return [(0, 1 << 30, _LINUX_AT[guest.name])] if guest.name in _LINUX_AT else []
    try:
        with path.open("rb") as stream:
            loaded = [segment.header for segment in ELFFile(stream).iter_segments("PT_LOAD")]
        return [(one.p_paddr, one.p_paddr + one.p_memsz, one.p_vaddr - one.p_paddr) for one in loaded]
    except DAMAGE as error:
        raise VerifyError(f"{path} is a damaged ELF file: {error}") from error


def addresses_of(path: Path) -> Mapping[str, tuple[int, ...]]:
    """The addresses of every symbol, of code and of data; several may have one name."""
    result: dict[str, list[int]] = {}
    if is_elf(path):
        try:
            elf = ELFFile(BytesIO(path.read_bytes()))
            table = [(text, value) for _, _, value, _, text in _elf_table(elf)]
        except DAMAGE as error:
            raise VerifyError(f"{path} is a damaged ELF file: {error}") from error
    else:
        lines = map(_KALLSYMS.match, path.read_text("ascii", "replace").splitlines())
        table = [(line[3], int(line[1], 16)) for line in lines if line]
    for name, address in table:
        result.setdefault(name, []).append(address)
    return {name: tuple(dict.fromkeys(places)) for name, places in result.items() if name}


def sorted_symbols(found: Iterable[tuple[int, int, str]]) -> Symbols:
    """Sorts triples (address, size or 0, name). If several symbols have one address, the longest is kept."""
    known: dict[int, tuple[str, int]] = {}
    for address, size, name in found:
        if address and (address not in known or (-size, name) < (-known[address][1], known[address][0])):
            known[address] = (name, size)
    order = sorted(known)
    own_ends = [address + (known[address][1] or _MAX_UNSIZED) for address in order]
    ends = tuple(map(min, own_ends, [*order, 1 << 65][1:]))
    return Symbols(tuple(order), ends, tuple(known[address][0] for address in order))


def _elf_symbols(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """The functions, and the labels of assembly code, in the symbol table of an ELF file of any machine."""
    elf = ELFFile(BytesIO(raw))
    executable = [bool(section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR) for section in elf.iter_sections()]
    for kind, index, value, size, text in _elf_table(elf):
        in_code = index < len(executable) and executable[index]
        is_label = kind == _NO_TYPE and text and in_code and not text.startswith(_NO_NAMES)
        if kind == _FUNCTION or is_label:
            yield value, size, text or "[nameless]"


def _elf_objects(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """The variables of an ELF file that have a size."""
    for kind, _, value, size, text in _elf_table(ELFFile(BytesIO(raw))):
        if kind == _OBJECT and size and text:
            yield value, size, text


def _elf_table(elf: ELFFile) -> Iterator[tuple[int, int, int, int, str]]:
    """Gives type, section, value, size and name of each defined symbol."""
    order = "<" if elf.little_endian else ">"
    entry = struct.Struct(order + ("IBBHQQ" if elf.elfclass == 64 else "IIIBBH"))
    for section in elf.iter_sections("SHT_SYMTAB"):
        strings = elf.get_section(section["sh_link"]).data()
        for fields in entry.iter_unpack(section.data()):
            if elf.elfclass == 64:
                name, info, _, index, value, size = fields
            else:
                name, value, size, info, _, index = fields
            if index:
                text = strings[name : strings.index(b"\0", name)].decode("ascii", "replace")
                yield info & 15, index, value, size, text


def symbol_file(symbols: Symbols, machine: int = X86_64.elf_machine) -> bytes:
    """An ELF64 file with these text symbols and nothing else, for debuggers (System V ABI, chapter 4).
    `machine` is the guest's e_machine."""
    names, table = bytearray(b"\0"), bytearray(24)
    for name, address in zip(symbols.names, symbols.addresses, strict=True):
        table += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, address, 0)  # a global function, in section 1
        names += name.encode("ascii", "replace") + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0"
    low, high = symbols.addresses[0], symbols.addresses[-1] + 1
    at_table, at_names = 64, 64 + len(table)
    at_sections = at_names + len(names)
    at_headers = at_sections + len(sections)
    headers = (
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 8, 6, low, 64, high - low, 0, 0, 16, 0),  # the code itself is in the guest only
        (7, 2, 0, 0, at_table, len(table), 3, 1, 8, 24),
        (15, 3, 0, 0, at_names, len(names), 0, 0, 1, 0),
        (15, 3, 0, 0, at_sections, len(sections), 0, 0, 1, 0),
    )
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, low, 0, at_headers, 0, 64, 0, 0, 64, len(headers), 4)
    tail = b"".join(struct.pack("<IIQQQQIIQQ", *header) for header in headers)
    return head + table + names + sections + tail
