"""The measuring lock: at most one measurement at a time on this host, for all users.

Takes a name and how long to wait; gives a context in which only this process measures. Fails with LockError,
which names the lock holder. The lock is a Unix socket in the abstract namespace, and listening on it holds
the lock. There is no file that could be left behind or whose owner, mode or symlink could be tampered with.
The kernel releases the lock when the holder ends, even by SIGKILL, wakes the waiters, and reports the
holder's process and user (SO_PEERCRED). The lock covers one network namespace: containers with namespaces of
their own do not see each other's lock.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import LockError
from benchgate.base.process import start_time
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.build.cache_storage import Notice
from benchgate.host.procfs import text_of

NAME = "benchgate-measuring"

_NOTICE_S = 10.0
_RETRY_S = 0.01
_GRACE_S = 1.0
"""How long the name may be in use without a listener, even if the caller does not want to wait."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The lock holder as the kernel reports it; "unavailable" where another user's process hides a fact."""

    pid: int
    user: str
    since: str
    """The local time when that process started."""
    command: str

    def __str__(self) -> str:
        if self.pid == 0:
            return "a process that this one cannot see (in another container?)"
        return f"process {self.pid} of user {self.user}, started {self.since}: {self.command}"


@contextlib.contextmanager
def measuring(wait_s: float, *, notice: Notice | None = None, name: str = NAME) -> Iterator[None]:
    """Holds the host's lock. While another session holds it, `notice` gets a sentence now and every 10 s."""
    held = _acquire(wait_s, notice or (lambda _: None), name)
    try:
        yield
    finally:
        # A child that is being started still has a copy of the socket until it executes its program, and that
        # copy keeps the name in use. After the shutdown no waiter takes this process for the holder.
        held.shutdown(socket.SHUT_RDWR)
        held.close()


def holder(name: str = NAME) -> Holder | None:
    """The current lock holder; None if the lock is free."""
    connection = _connect(name)
    if connection is None:
        return None
    with connection:
        return _identify(connection)


def _acquire(wait_s: float, notice: Notice, name: str) -> socket.socket:
    begin = time.monotonic()
    while (held := _try_lock(name)) is None:
        connection = _connect(name)
        if connection is None:  # the holder is ending, or does not listen yet
            _give_up_after(begin, max(wait_s, _GRACE_S), None)
            time.sleep(_RETRY_S)
            continue
        with connection:
            _wait_for_holder(connection, begin, wait_s, notice)
    return held


def _wait_for_holder(connection: socket.socket, begin: float, wait_s: float, notice: Notice) -> None:
    """Returns when the holder has ended. One connection is enough for the whole wait: the holder never
    accepts, so the connection stays in its queue."""
    who = _identify(connection)
    if who.pid == os.getpid():
        advice = "end its first measurement before the next"
        raise LockError(f"this process already holds the measuring lock: {advice}")
    if wait_s <= 0:
        _give_up_after(begin, wait_s, who)
    while True:  # the first notice comes even if a busy host has used up the time already
        left = max(0.0, begin + wait_s - time.monotonic())
        notice(f"waiting up to {math.ceil(left)} s for {who}")
        if _ends_within(connection, min(left, _NOTICE_S)):
            return
        _give_up_after(begin, wait_s, who)


def _give_up_after(begin: float, wait_s: float, who: Holder | None) -> None:
    if time.monotonic() - begin >= wait_s:
        raise LockError(
            f"another session is measuring on this host: {who or 'an unknown process'}; waited {wait_s:g} s. "
            "Wait until it ends, or allow more time with --lock-wait"
        )


def _try_lock(name: str) -> socket.socket | None:
    """A socket that holds the lock, or None. It is close-on-exec: no child keeps the lock alive."""
    result = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        result.bind(f"\0{name}")
        result.listen(128)
    except OSError as error:
        result.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise LockError(f"this host refuses the measuring lock (an abstract Unix socket): {error}") from error
    return result


def _connect(name: str) -> socket.socket | None:
    """A connection to the lock holder; None if no process holds the lock."""
    result = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    result.setblocking(False)
    try:
        result.connect(f"\0{name}")
    except OSError:
        result.close()
        return None
    return result


def _ends_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the holder ends in that time, which closes the connection."""
    poll = select.poll()
    poll.register(connection, 0)  # poll always reports a hang-up
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _identify(connection: socket.socket) -> Holder:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    pid, uid, _ = struct.unpack("iII", raw)
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    words = text_of(Path(f"/proc/{pid}/cmdline")) or ""
    command = one_line(words.replace("\0", " "), 120) or UNAVAILABLE
    return Holder(pid, one_line(user, 40), _started(pid), command)


def _started(pid: int) -> str:
    ticks = start_time(pid)
    uptime = (text_of(Path("/proc/uptime")) or "").split()
    if ticks is None or not uptime:
        return UNAVAILABLE
    age_s = float(uptime[0]) - ticks / os.sysconf("SC_CLK_TCK")
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - age_s))
