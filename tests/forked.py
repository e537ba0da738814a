"""Runs of pytest as forks of one process that has imported pytest and benchgate. A fork has memory, folder
and environment of its own, as a process from its start has, but the second of CPU time for imports is saved.

As a program this file is that process: it takes requests from the socket that is its argument, and carries
them out one after another. As a module it has `pytest_in`, which starts it when it is first called.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

IMPORTED = (
    "pytest", "_pytest.terminal", "benchgate.pytest_plugin", "benchgate.session.pytest_hooks.pytest_run",
    "benchgate.session.pytest_hooks.pytest_fixtures",
)  # fmt: skip
REMEMBERED = (
    ("benchgate.base.files", "own_source_digest"), ("benchgate.render.reports", "ours"),
    ("benchgate.render.page.page", "all_chapters"), ("benchgate.render.page.chapters.rows", "all_details"),
)  # fmt: skip
"""What a process finds out once, of benchgate's own files: each session would again."""
MOST_BYTES = 1 << 17


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    channel: socket.socket


def pytest_in(where: Path, words: Sequence[str], patience_s: float) -> tuple[int, str]:
    """The exit status and the output of `python -m pytest` with these words in that folder."""
    server = _server(tuple(sorted(item for item in os.environ.items() if item[0].startswith("PYTHON"))))
    with tempfile.TemporaryFile() as output:
        asked = json.dumps({"words": words, "where": str(where), "environment": dict(os.environ)})
        socket.send_fds(server.channel, [asked.encode()], [output.fileno()])
        server.channel.settimeout(patience_s)
        status = server.channel.recv(MOST_BYTES)
        assert status, "the process that forks has ended"
        output.seek(0)
        return int(status), output.read().decode()


@functools.cache
def _server(python: tuple[tuple[str, str], ...]) -> _Server:
    """`python`: the variables that a Python reads when it starts."""
    channel, own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with own:
        argv = [sys.executable, __file__, str(own.fileno())]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=[own.fileno()])
    atexit.register(_end, process, channel)
    return _Server(process, channel)


def _end(process: subprocess.Popen[bytes], channel: socket.socket) -> None:
    channel.close()
    process.wait()


def main(number: int) -> None:
    """A fork becomes pytest and exits as it does; the server returns when the one that asks has ended."""
    channel = socket.socket(fileno=number)
    for module in IMPORTED:
        importlib.import_module(module)
    for module, found in REMEMBERED:
        getattr(importlib.import_module(module), found)()
    gc.collect()
    gc.freeze()  # else the first collection in each fork would write to, and so copy, all memory
    while True:
        asked, numbers, _, _ = socket.recv_fds(channel, MOST_BYTES, 1)
        if not asked:
            return
        (output,) = numbers
        child = os.fork()
        if not child:
            channel.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            _become_pytest(**json.loads(asked))
        os.close(output)
        channel.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become_pytest(words: list[str], where: str, environment: dict[str, str]) -> None:
    os.chdir(where)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = where
    sys.argv[1:] = words
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
