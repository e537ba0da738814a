"""Where the window's instructions went: by vCPU, by user, kernel and halted time, and by symbol.

Takes the plugin's attribution file and a symbol table (an ELF file, or lines as in /proc/kallsyms and
System.map); gives an `Attribution`, a top table, and folded stacks as flame graph tools read them. Both
inputs are untrusted. Fails with VerifyError, with the line where the attribution file does not fit.

An instruction counts as the kernel's when its block's address is in the kernel's symbol table's range or in
the upper half of the address space. A block belongs to the symbol in which it begins.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.errors import VerifyError

FILE_LIMIT = 256 << 20
_UPPER_HALF = 1 << 63
_VCPU = re.compile(
    r"vcpu (\d{1,3}) executed (\d{1,20}) paused (\d{1,20}) skipped (\d{1,20}) halted (\d{1,20})"
)
_BLOCK = re.compile(r"block ([0-9a-f]{1,16}) (\d{1,6}) (\d{1,3}) (\d{1,20})")
_KALLSYMS = re.compile(r"([0-9a-f]{1,16}) ([a-zA-Z]) ([^\s\x00-\x1f]{1,200})")
_TEXT_KINDS = frozenset("tTwWvV")
_FUNCTION = 2  # STT_FUNC
_LONGEST = 1 << 16  # a symbol of unknown size ends after this many bytes at the latest


@dataclass(frozen=True, slots=True)
class VcpuShare:
    """One vCPU's window, in ns; executed is user plus kernel."""

    user: int
    kernel: int
    paused: int
    skipped: int
    halted: int


@dataclass(frozen=True, slots=True)
class Symbols:
    """Text symbols in the order of their addresses; each ends where the next begins, or sooner."""

    addresses: tuple[int, ...]
    ends: tuple[int, ...]
    names: tuple[str, ...]

    def name_of(self, address: int) -> str | None:
        at = bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 and address < self.ends[at] else None


NO_SYMBOLS = Symbols((), (), ())


@dataclass(frozen=True, slots=True)
class Attribution:
    window: int
    vcpus: tuple[VcpuShare, ...]
    symbols: Mapping[tuple[int, str, str], int]
    """Instructions by (vCPU, `user` or `kernel`, symbol)."""

    def by_symbol(self) -> Counter[tuple[str, str]]:
        """Instructions of all vCPUs by (`user` or `kernel`, symbol)."""
        whole: Counter[tuple[str, str]] = Counter()
        for (_, space, symbol), count in self.symbols.items():
            whole[space, symbol] += count
        return whole


def read_attribution(path: Path, kernel: Symbols, user: Symbols | None = None) -> Attribution:
    """The plugin's file at `path`, with addresses turned into names."""
    lines = _lines(path)
    if next(lines, (0, ""))[1] != "insn-attribution 1":
        raise VerifyError(f"{path}: no attribution file of a known version")
    window = 0
    shares: list[tuple[int, ...]] = []
    symbols: defaultdict[tuple[int, str, str], int] = defaultdict(int)
    spent: defaultdict[tuple[int, str], int] = defaultdict(int)
    whole = False
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if whole:
            raise VerifyError(f"{path}:{number}: something follows the end")
        if word == "block" and (found := _BLOCK.fullmatch(line)):
            address, vcpu = int(found[1], 16), int(found[3])
            if vcpu >= len(shares):
                raise VerifyError(f"{path}:{number}: a vCPU that does not exist")
            count = int(found[2]) * int(found[4])
            space, name = _place(address, kernel, user)
            symbols[vcpu, space, name] += count
            spent[vcpu, space] += count
        elif word == "vcpu" and (found := _VCPU.fullmatch(line)) and int(found[1]) == len(shares):
            shares.append(tuple(map(int, found.groups()[1:])))
        elif word == "window" and rest.isdecimal() and not window:
            window = int(rest)
        elif word == "end" and rest.isdecimal():
            whole = True
        else:
            raise VerifyError(f"{path}:{number}: a line that does not belong into an attribution file")
    if not whole:
        raise VerifyError(f"{path}: the attribution file is not whole")
    vcpus = tuple(
        VcpuShare(spent[vcpu, "user"], spent[vcpu, "kernel"], paused, skipped, halted)
        for vcpu, (_, paused, skipped, halted) in enumerate(shares)
    )
    return Attribution(window, vcpus, dict(symbols))


def _place(address: int, kernel: Symbols, user: Symbols | None) -> tuple[str, str]:
    if (name := kernel.name_of(address)) is not None:
        return "kernel", name
    if address >= _UPPER_HALF:
        return "kernel", "[kernel]"
    return "user", (user.name_of(address) if user else None) or "[user]"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        size = path.stat().st_size
        if size > FILE_LIMIT:
            raise VerifyError(f"{path}: an attribution file has at most {FILE_LIMIT} bytes")
        with path.open(encoding="ascii", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.rstrip("\n")
    except OSError as error:
        raise VerifyError(f"no attribution at {path}: {error.strerror}") from error


# ---- symbols


def read_symbols(path: Path) -> Symbols:
    """Text symbols of an ELF64 file, or of lines as in System.map."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise VerifyError(f"no symbols at {path}: {error.strerror}") from error
    if raw[:4] == b"\x7fELF":
        try:
            return sorted_symbols(_elf_symbols(raw))
        except (struct.error, IndexError, ValueError) as error:
            raise VerifyError(f"{path}: a damaged ELF file: {error}") from error
    found = (_KALLSYMS.match(line) for line in raw.decode("ascii", "replace").splitlines())
    return sorted_symbols((int(m[1], 16), 0, m[3]) for m in found if m and m[2] in _TEXT_KINDS)


def sorted_symbols(found: Iterable[tuple[int, int, str]]) -> Symbols:
    """From (address, size or 0, name); of several of one address the longest stays."""
    known: dict[int, tuple[str, int]] = {}
    for address, size, name in found:
        if address and (address not in known or (-size, name) < (-known[address][1], known[address][0])):
            known[address] = (name, size)
    order = sorted(known)
    ends = (
        min(following, address + (known[address][1] or _LONGEST))
        for address, following in zip(order, [*order[1:], 1 << 65], strict=True)
    )
    return Symbols(tuple(order), tuple(ends), tuple(known[address][0] for address in order))


def _elf_symbols(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """Functions of the symbol table of an ELF64 little-endian file (System V ABI, chapter 4)."""
    if raw[4:6] != b"\x02\x01":
        raise ValueError("not 64-bit little-endian")
    offset, size, count = struct.unpack_from("<Q10xHH", raw, 40)
    sections = [struct.unpack_from("<IIQQQQIIQQ", raw, offset + number * size) for number in range(count)]
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, index, value, length = struct.unpack_from("<IBBHQQ", raw, at)
            if index and info & 15 in (0, _FUNCTION):  # functions, and labels of assembly
                stop = raw.index(b"\0", strings + name)
                text = raw[strings + name : stop].decode("ascii", "replace")
                if (text and info & 15 == _FUNCTION) or _is_text(sections, index):
                    yield value, length, text or "[nameless]"


def _is_text(sections: list[tuple[int, ...]], index: int) -> bool:
    return index < len(sections) and bool(sections[index][2] & 4)  # SHF_EXECINSTR


# ---- for people


def folded(seen: Attribution) -> str:
    """One line a vCPU, space and symbol: `vcpu0;kernel;schedule 1234`."""
    lines = [f"vcpu{vcpu};{space};{name} {count}" for (vcpu, space, name), count in seen.symbols.items()]
    for vcpu, share in enumerate(seen.vcpus):
        rest = {"halted": share.halted, "paused": share.paused, "skipped": share.skipped}
        lines += [f"vcpu{vcpu};{word} {count}" for word, count in rest.items() if count]
    return "".join(f"{line}\n" for line in sorted(lines))


def top_table(seen: Attribution, rows: int = 20) -> str:
    """How each vCPU spent the window, then the symbols that took most."""
    lines = [f"window {seen.window} ns", "vcpu       user     kernel     paused    skipped     halted"]
    for vcpu, share in enumerate(seen.vcpus):
        figures = (share.user, share.kernel, share.paused, share.skipped, share.halted)
        lines.append(f"{vcpu:4}" + "".join(f" {figure / max(seen.window, 1):10.2%}" for figure in figures))
    lines.append("  instructions   share  symbol")
    whole = sum(seen.symbols.values()) or 1
    for (space, name), count in seen.by_symbol().most_common(rows):
        lines.append(f"{count:14} {count / whole:7.2%}  {space} {name}")
    return "\n".join(lines) + "\n"
