"""A QEMU is asked for a fork of itself, as c/forks/forks.h says; and what a fork leaves in its run's folder.

`asked` takes the socket of such a QEMU and a request; `born` gives the child. What QEMU answers is untrusted.
ForkRefusal: it cannot be forked on this host. BootError: it has ended.
"""

from __future__ import annotations

import array
import re
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import BootError
from benchgate.base.process import AdoptedProcess, Child, start_time
from benchgate.base.runs import BootSpec
from benchgate.base.text import one_line
from benchgate.run.record import clock_log

FILE = "fork.json"
"""The file's name in a run's folder; a run that is no fork has none."""
_ANSWER_S = 180.0
_LONGEST = 1000
_PRIVATE = re.compile(rb"^host private_kib ([0-9]{1,12})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ForkedGuest:
    """A fork that can be made."""

    make: Callable[[Mapping[int, int]], Child]
    """Makes the child, with these descriptors; to be called as process.start."""
    is_restored: bool
    """Whether its snapshot is loaded; else it is to be loaded into the child."""
    go_on: Callable[[], None] | None = None
    """Lets the guest of a machine go on that had begun; None: it has not begun, and waits for QMP."""


Fork = Callable[[BootSpec, Path, str], ForkedGuest | None]
"""Prepares a fork for a guest with this folder and this mark. None: it starts by itself."""


class ForkRefusal(Exception):
    """The template says why this QEMU cannot be forked on this host."""


def is_fork(folder: Path) -> bool:
    return (folder / FILE).exists()


def private_kib(folder: Path) -> int | None:
    """The memory that the run in this folder shared with nobody at its end. None: it is no fork, it came to
    no end, or it was not weighed (c/forks/forks.c)."""
    found = _PRIVATE.search(clock_log(folder).read_bytes())
    return int(found[1]) if found else None


def request_text(rules: str, mark: str, folder: Path, *more: str) -> str:
    """What is asked after the first word. `rules`: a seed, with `more` lines (c/forks/forks.h)."""
    return "\0".join((f"{rules} {mark} {{numbers}} {folder.absolute()}", *more))


@contextmanager
def asked(asks: socket.socket, text: str, descriptors: Mapping[int, int]) -> Iterator[socket.socket]:
    """Where a QEMU that can be forked answers. `{numbers}` in the text: the fork's own of the descriptors."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            given = array.array("i", [theirs.fileno(), *descriptors.values()])
            words = text.replace("{numbers}", ":".join(map(str, descriptors)), 1).encode()
            try:
                asks.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
            except OSError as error:
                raise BootError(f"the template has ended: {error.strerror}") from error
        yield ours


def born(answers: socket.socket) -> Child:
    """The fork, when it is ready. Raises ForkRefusal, or BootError if it or its template has died."""
    kind, rest = answer(answers)
    if kind == "refused":
        raise ForkRefusal(rest)
    if kind != "pid" or not rest.isdecimal():
        raise BootError("the template ended before it made a fork")
    child = Child(AdoptedProcess(int(rest)), start_time(int(rest)))
    kind, rest = answer(answers)
    if kind != "ready":
        child.stop(0)
        raise BootError(f"the fork did not begin: {rest or 'it ended'}")
    return child


def answer(end: socket.socket) -> tuple[str, str]:
    """The first word and the rest of the next answer; both empty if there will be none."""
    text = ""
    if select.select([end], [], [], _ANSWER_S)[0]:
        with suppress(ConnectionError):
            text = one_line(end.recv(_LONGEST).decode(errors="replace"), _LONGEST)
    kind, _, rest = text.partition(" ")
    return kind, rest
