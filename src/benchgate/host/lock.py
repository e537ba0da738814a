"""One measurement at a time on this host, whoever runs it.

Takes a name and how long to wait; gives a context in which this process alone measures. Fails with
LockError, which says who measures. The lock is a Unix socket in the abstract namespace, held by listening on
it: there is no file whose owner, mode or symlink could be tampered with, or that could be left behind. The
kernel frees it with its holder, SIGKILL included, wakes those who wait, and vouches for the holder's process
and user (SO_PEERCRED). Its reach is a network namespace: two containers, each with its own, do not see each
other.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import pwd
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchgate.errors import LockError
from benchgate.host.facts import UNAVAILABLE, printable, text_of

NAME = "benchgate-measuring"
Notice = Callable[[str], None]

_NOTICE_S = 10.0
_RETRY_S = 0.01
_GRACE_S = 1.0
"""How long a name may be taken with nobody behind it, also for those who do not want to wait."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who measures, as the kernel tells; "unavailable" for what another user's process hides."""

    pid: int
    user: str
    since: str
    """When that process started, local time."""
    command: str

    def __str__(self) -> str:
        if self.pid == 0:
            return "a process that this one cannot see (in another container?)"
        return f"process {self.pid} of user {self.user}, started {self.since}: {self.command}"


@contextlib.contextmanager
def measuring(wait_s: float, *, notice: Notice | None = None, name: str = NAME) -> Iterator[None]:
    """Holds the host's lock. `notice` gets a sentence at once and every 10 s while another session has it."""
    held = _acquire(wait_s, notice or (lambda _: None), name)
    try:
        yield
    finally:
        # A child that is just being started still has a copy, for the blink until it executes its program.
        # Shut down, nobody is told that we measure while that copy keeps the name taken.
        held.shutdown(socket.SHUT_RDWR)
        held.close()


def holder(name: str = NAME) -> Holder | None:
    """Who measures now; None if nobody does."""
    with contextlib.suppress(OSError), _visit(name) as visit:
        return _identify(visit)
    return None


def _acquire(wait_s: float, notice: Notice, name: str) -> socket.socket:
    begin = time.monotonic()
    while (held := _try(name)) is None:
        visit = _try_visit(name)
        if visit is None:  # its holder ends just now, or does not listen yet
            _give_up_after(begin, max(wait_s, _GRACE_S), None)
            time.sleep(_RETRY_S)
            continue
        with visit:
            _sit_out(visit, begin, wait_s, notice)
    return held


def _sit_out(visit: socket.socket, begin: float, wait_s: float, notice: Notice) -> None:
    """Returns when the holder is gone. One visit serves for all the wait: the holder never accepts any, so
    each stays in its queue."""
    who = _identify(visit)
    if who.pid == os.getpid():
        raise LockError("this very process measures already: one session cannot hold the lock twice")
    while True:
        _give_up_after(begin, wait_s, who)
        left = begin + wait_s - time.monotonic()
        notice(f"waiting up to {math.ceil(left)} s for {who}")
        if _gone_within(visit, min(left, _NOTICE_S)):
            return


def _give_up_after(begin: float, wait_s: float, who: Holder | None) -> None:
    if time.monotonic() - begin >= wait_s:
        raise LockError(
            f"another session measures on this host: {who or 'it hides who it is'}; waited {wait_s:g} s. "
            "Wait until it ends, or allow more time with --lock-wait"
        )


def _address(name: str) -> str:
    return f"\0{name}"


def _try(name: str) -> socket.socket | None:
    """A socket that holds the lock, or None. It is close-on-exec: no child keeps the lock alive."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.bind(_address(name))
        found.listen(128)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise LockError(f"this host refuses the measuring lock (an abstract Unix socket): {error}") from error
    return found


def _visit(name: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.setblocking(False)
    try:
        found.connect(_address(name))
    except OSError:
        found.close()
        raise
    return found


def _try_visit(name: str) -> socket.socket | None:
    try:
        return _visit(name)
    except OSError:
        return None


def _gone_within(visit: socket.socket, seconds: float) -> bool:
    """Whether the holder ended in that time, which hangs up on us."""
    poll = select.poll()
    poll.register(visit, 0)  # hang-ups are always told
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _identify(visit: socket.socket) -> Holder:
    raw = visit.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    pid, uid, _ = struct.unpack("iII", raw)
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    words = text_of(Path(f"/proc/{pid}/cmdline")) or ""
    command = printable(words.replace("\0", " "), 120) or UNAVAILABLE
    return Holder(pid, printable(user, 40), _started(pid), command)


def _started(pid: int) -> str:
    fields = (text_of(Path(f"/proc/{pid}/stat")) or "").rpartition(")")[2].split()
    uptime = (text_of(Path("/proc/uptime")) or "").split()
    if len(fields) < 20 or not uptime:
        return UNAVAILABLE
    age_s = float(uptime[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - age_s))
