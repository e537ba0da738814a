"""Chooses a port of this host for each port of a guest.

Takes the ports of a system; gives a free port for each. Fails with HostError, which names the process that
uses a port that the YAML asks for; it is never killed.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from contextlib import ExitStack

import psutil

from benchgate.base.errors import HostError
from benchgate.base.system.network import Port
from benchgate.base.text import one_line


def choose(ports: Mapping[str, Port]) -> dict[str, int]:
    """Chooses the ports. All are held until the last one is chosen, so that no two are equal."""
    with ExitStack() as held:
        return {name: _free(name, port, held) for name, port in ports.items()}


def _free(name: str, port: Port, held: ExitStack) -> int:
    listener = held.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as QEMU does
    try:
        listener.bind(("127.0.0.1", port.host))
    except OSError as error:
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = f"is used by {_user(port.host)}" if error.errno == errno.EADDRINUSE else "needs more rights"
        raise HostError(
            f"host port {port.host} (`ports.{name}`) {why}; end that program, or leave out `host` so that a "
            "free port is taken"
        ) from error
    return int(listener.getsockname()[1])


def _user(port: int) -> str:
    try:
        for used in psutil.net_connections("tcp"):
            if used.laddr and used.laddr.port == port and used.pid is not None:
                return f"{one_line(psutil.Process(used.pid).name(), 60)} (process {used.pid})"
    except psutil.Error:
        pass
    return "a process that this user may not see"
