"""Where the window's instructions went: by vCPU, by user, kernel and halted time, by symbol, and by call
stack.

Takes the plugin's profile, its file of call stacks (c/record/stacks.c) and symbol tables (`insn.symbols`);
gives a `Profile`, a top table, or instructions by stack, outermost function first. Both are written as folded
stacks, which flame graph tools read: a line `main;work;do_syscall_64_[k] 1234` for each, where `_[k]` marks
the kernel's functions. `read_folded` reads that text back. Files are untrusted: a line outside the format is
a VerifyError.

An instruction counts as kernel if its block's address has a kernel symbol or is in the upper half of the
address space. A block belongs to the symbol in which it begins.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.insn.log_text import text_of
from benchgate.insn.symbols import Symbols

FILE_LIMIT = 256 << 20
MOST_SYMBOLS = 20
_UPPER_HALF = 1 << 63
_VCPU = re.compile(
    r"vcpu ([0-9]{1,3}) executed ([0-9]{1,20}) paused ([0-9]{1,20}) skipped ([0-9]{1,20}) "
    r"halted ([0-9]{1,20}) stalled ([0-9]{1,20})"
)
_BLOCK = re.compile(r"block ([0-9a-f]{1,16}) ([0-9]{1,6}) ([0-9]{1,3}) ([0-9]{1,20})")


@dataclass(frozen=True, slots=True)
class VcpuShare:
    """The parts of one vCPU's window, in ns. Executed time is user plus kernel."""

    user: int
    kernel: int
    paused: int
    skipped: int
    halted: int
    stalled: int
    """The time for which it waited for memory; 0 on the ideal machine."""


@dataclass(frozen=True, slots=True)
class Profile:
    window: int
    vcpus: tuple[VcpuShare, ...]
    symbols: Mapping[tuple[int, str, str], int]
    """Maps (vCPU, `user` or `kernel`, symbol) to a number of instructions."""

    def by_symbol(self) -> Counter[tuple[str, str]]:
        """Instructions of all vCPUs by (`user` or `kernel`, symbol)."""
        total: Counter[tuple[str, str]] = Counter()
        for (_, space, symbol), count in self.symbols.items():
            total[space, symbol] += count
        return total


def read_profile(path: Path, kernel: Symbols, user: Symbols | None = None) -> Profile:
    """The plugin's file at `path`, with addresses replaced by names."""
    lines = _lines(path)
    if next(lines, (0, ""))[1] != "insn-profile 1":
        raise VerifyError(f"{path}: not an instruction profile of a known version")
    window = 0
    shares: list[tuple[int, ...]] = []
    symbols: defaultdict[tuple[int, str, str], int] = defaultdict(int)
    spent: defaultdict[tuple[int, str], int] = defaultdict(int)
    ended = False
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if ended:
            raise VerifyError(f"{path}:{number}: there is text after the end")
        if word == "block" and (match := _BLOCK.fullmatch(line)):
            address, vcpu = int(match[1], 16), int(match[3])
            if vcpu >= len(shares):
                raise VerifyError(f"{path}:{number}: vCPU {vcpu} does not exist")
            count = int(match[2]) * int(match[4])
            space, name = place(address, kernel, user)
            symbols[vcpu, space, name] += count
            spent[vcpu, space] += count
        elif word == "vcpu" and (match := _VCPU.fullmatch(line)) and int(match[1]) == len(shares):
            shares.append(tuple(map(int, match.groups()[1:])))
        elif word == "window" and rest.isdecimal() and not window:
            window = int(rest)
        elif word == "end" and rest.isdecimal():
            ended = True
        else:
            raise VerifyError(f"{path}:{number}: this is not a line of an instruction profile")
    if not ended:
        raise VerifyError(f"{path}: the instruction profile is incomplete: it has no end line")
    own = [(spent[vcpu, "user"], spent[vcpu, "kernel"]) for vcpu in range(len(shares))]
    vcpus = tuple(VcpuShare(*mine, *rest) for mine, (_, *rest) in zip(own, shares, strict=True))
    return Profile(window, vcpus, dict(symbols))


def place(address: int, kernel: Symbols, user: Symbols | None) -> tuple[str, str]:
    """Gives `user` or `kernel`, and the symbol."""
    if (name := kernel.name_of(address)) is not None:
        return "kernel", name
    if address >= _UPPER_HALF:
        return "kernel", "[kernel]"
    return "user", (user.name_of(address) if user else None) or "[user]"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        size = path.stat().st_size
        if size > FILE_LIMIT:
            raise VerifyError(f"{path}: an instruction profile has at most {FILE_LIMIT} bytes")
        with path.open(encoding="ascii", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.rstrip("\n")
    except FileNotFoundError as error:
        raise VerifyError(
            f"there is no instruction profile {path}: the guest did not execute the marks of a window"
        ) from error
    except OSError as error:
        raise VerifyError(f"cannot read the instruction profile {path}: {error.strerror}") from error


# ---- output


def folded(profile: Profile) -> str:
    """Writes a line per vCPU, space and symbol: `vcpu0;kernel;schedule 1234`."""
    lines = [f"vcpu{vcpu};{space};{name} {count}" for (vcpu, space, name), count in profile.symbols.items()]
    for vcpu, share in enumerate(profile.vcpus):
        rest = {name: getattr(share, name) for name in ("halted", "paused", "skipped", "stalled")}
        lines += [f"vcpu{vcpu};{word} {count}" for word, count in rest.items() if count]
    return "".join(f"{line}\n" for line in sorted(lines))


def top_table(profile: Profile) -> str:
    """Writes the parts of each vCPU's window, then the MOST_SYMBOLS symbols with the most instructions."""
    names = ["user", "kernel", "paused", "skipped", "halted"]
    if any(share.stalled for share in profile.vcpus):
        names.append("stalled")
    lines = [f"window {profile.window} ns", "vcpu" + "".join(f" {name:>10}" for name in names)]
    for vcpu, share in enumerate(profile.vcpus):
        figures = [getattr(share, name) for name in names]
        lines.append(f"{vcpu:4}" + "".join(f" {figure / max(profile.window, 1):10.2%}" for figure in figures))
    lines.append("  instructions   share  symbol")
    total = sum(profile.symbols.values()) or 1
    for (space, name), count in profile.by_symbol().most_common(MOST_SYMBOLS):
        lines.append(f"{count:14} {count / total:7.2%}  {space} {name}")
    return "\n".join(lines) + "\n"


# ---- call stacks

Stack = tuple[str, ...]
Stacks = Mapping[Stack, int]

STACKS_LIMIT = 8 << 20
FOLDED_LIMIT = 4 << 20
MOST_DEPTH = 256
KERNEL = "_[k]"
ELSEWHERE = "[entry]"
"""The name for what ran while no called function was known."""
_NODE = re.compile(r"node ([0-9]{1,5}) ([0-9]{1,5}) ([0-9a-f]{1,16}) ([0-9]{1,19})")
_FOLDED = re.compile(r"([^\s]+) ([1-9][0-9]{0,18})")


def read_stacks(path: Path, kernel: Symbols, user: Symbols | None = None) -> Stacks:
    lines = text_of(path, STACKS_LIMIT, "call stacks").split("\n")
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


def folded_stacks(stacks: Stacks) -> str:
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
