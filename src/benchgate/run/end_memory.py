"""The guest's memory at the end of a run: digests of its pages, which two runs of one seed have in common.

`KeptMemory` takes the parts of a guest's memory; gives a descriptor for each, to a file without a name, which
QEMU maps as the memory and which is gone when both processes are. After QEMU has ended, `save` writes the
digests to the run's folder. `read_memory` gives them as an `EndMemory`; the file is untrusted, and one of
another form raises VerifyError.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.base.files import PAGE, data_of, open_regular, pages
from benchgate.base.runs import Ending
from benchgate.base.snapshots import RAM, GuestSnapshot
from benchgate.base.system.machines import MemoryRange
from benchgate.insn.log_text import text_of

FILE = "memory.txt"
"""The file's name in a run's folder."""
DESCRIPTORS = range(5, 10)
"""QEMU's descriptors of the memory, one for each node; the talk with the clock has 4."""
_HEAD = "benchgate-memory 1"
_DIGITS, _PER_LINE = 8, 64
_MOST_BYTES = 16 << 20
_WHOLE = re.compile(r"digest ([0-9a-f]{64})")
_PAGES = re.compile(r"(0|[1-9a-f][0-9a-f]{0,15})((?: [0-9a-f]{8}){1,64})")


def path_of(place: int) -> str:
    """The path by which QEMU opens the memory of this number."""
    return f"/proc/self/fd/{DESCRIPTORS[place]}"


def keeps_memory(argv: Sequence[str]) -> bool:
    """Whether the guest of this command line leaves its memory behind."""
    return any(f",mem-path={path_of(0)}," in word for word in argv)


def leaves_memory(ending: Ending, exit_status: int | None) -> bool:
    """Whether a guest came to an end of its own. One that the host kills stops where the host was quick."""
    return ending is Ending.DONE and exit_status is not None


@dataclass(frozen=True, slots=True)
class EndMemory:
    digest: str
    """Of all pages that are not zero, with their addresses."""
    pages: Mapping[int, str]
    """The begin of the digest of each such page, by its guest-physical address."""

    def differing(self, other: EndMemory) -> list[int]:
        """The addresses of the pages that differ, in order."""
        both = self.pages.keys() | other.pages.keys()
        return sorted(number for number in both if self.pages.get(number) != other.pages.get(number))


class KeptMemory:
    """Whoever makes one closes it."""

    def __init__(self, parts: Sequence[MemoryRange], start: GuestSnapshot | None) -> None:
        """`start`: the snapshot whose memory it is at the begin."""
        self._parts = parts
        self.descriptors: dict[int, int] = {}
        """Maps QEMU's descriptors to ours."""
        with ExitStack() as stack:
            for descriptor, part in zip(DESCRIPTORS, parts, strict=False):
                file = os.memfd_create(f"benchgate-memory-{part.node}")
                stack.callback(os.close, file)
                os.ftruncate(file, part.size)
                self.descriptors[descriptor] = file
            if start is not None:
                kept = sorted(start.folder.glob(f"{RAM}*"))
                for path, file in zip(kept, self.descriptors.values(), strict=True):
                    _copy(path, file)
            self.close = stack.pop_all().close

    def save(self, folder: Path) -> None:
        whole, lines = hashlib.sha256(), list[list[str]]()
        due = -1
        for address, digest in self._digests():
            whole.update(address.to_bytes(8, "little") + digest)
            if address != due or len(lines[-1]) > _PER_LINE:
                lines.append([f"{address:x}"])
            lines[-1].append(digest.hex()[:_DIGITS])
            due = address + PAGE
        text = [_HEAD, f"digest {whole.hexdigest()}", *map(" ".join, lines), ""]
        (folder / FILE).write_text("\n".join(text), encoding="ascii")

    def _digests(self) -> Iterator[tuple[int, bytes]]:
        """The guest-physical address and the digest of each page that is not zero."""
        for part, file in zip(self._parts, self.descriptors.values(), strict=True):
            for number, page in pages(Path(f"/proc/self/fd/{file}")):
                yield part.first + number * PAGE, hashlib.sha256(page).digest()


def _copy(path: Path, file: int) -> None:
    with open_regular(path) as stream:
        for begin, end in data_of(stream.fileno()):
            at = os.lseek(file, begin, os.SEEK_SET)
            while at < end:
                at += os.sendfile(file, stream.fileno(), at, end - at)


def content_of(folder: Path) -> str | None:
    """The file as it is. Equal ones need not be read further. None: the run has none."""
    path = folder / FILE
    return text_of(path, _MOST_BYTES, "digests of memory") if os.path.lexists(path) else None


def read_memory(folder: Path) -> EndMemory | None:
    """None: the run has no such file."""
    path, content = folder / FILE, content_of(folder)
    if content is None:
        return None
    head, digest, *lines = [*content.split("\n"), "", ""]
    whole, result, least = _WHOLE.fullmatch(digest), dict[int, str](), 0
    if head != _HEAD or whole is None or lines[-3:] != [""] * 3:
        raise VerifyError(f"{path} is not a file of digests of memory that benchgate wrote")
    for number, line in enumerate(lines[:-3], 3):
        match = _PAGES.fullmatch(line)
        begin = int(match[1], 16) if match else -1
        if match is None or begin % PAGE or begin < least:
            raise VerifyError(f"{path}, line {number}: expected an address of a page, and digests")
        of_line = match[2].split()
        result.update((begin + n * PAGE, one) for n, one in enumerate(of_line))
        least = begin + len(of_line) * PAGE
    return EndMemory(whole[1], result)
