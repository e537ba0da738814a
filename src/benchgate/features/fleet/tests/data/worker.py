"""A worker of a fleet that does one thing wrong: `worker.py KIND WORDS...`, with the words of `fleet worker`.

KIND: good; other (from its second run on it answers with the folder of its first); lies (its clock's log has
another time for one mark); clock (its time of day is 400 days ahead); disk (full once a run has begun).
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

AHEAD_S = 400 * 86_400
SMALL = 300
"""Bytes that still fit on the full disk."""


def wrong_clock() -> None:
    """Runs before Dask is imported, which keeps its own reference."""
    right = time.time
    time.time = lambda: right() + AHEAD_S


def replaced(module: Any, name: str) -> Callable[[Callable[..., Any]], None]:
    """Puts a function around another one."""

    def put(around: Callable[..., Any]) -> None:
        wrapped = getattr(module, name)
        setattr(module, name, wraps(wrapped)(lambda *words, **more: around(wrapped, *words, **more)))

    return put


def other_folder() -> None:
    from benchgate.features.fleet import answer

    first: list[dict[str, bytes]] = []

    @replaced(answer, "made")
    def made(wrapped: Callable[..., bytes], key: str, worker: str, host: str, folder: Path) -> bytes:
        for name, content in first[0].items() if first else ():
            (folder / name).write_bytes(content)
        first.append({path.name: path.read_bytes() for path in folder.iterdir()})
        return wrapped(key, worker, host, folder)


def lies() -> None:
    from benchgate.features.fleet import answer

    @replaced(answer, "made")
    def made(wrapped: Callable[..., bytes], key: str, worker: str, host: str, folder: Path) -> bytes:
        log = folder / "clock.log"
        lines = log.read_text().splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if line.startswith("mark "))
        lines[at] = f"{lines[at][:-2]}{(int(lines[at][-2]) + 1) % 10}\n"
        log.write_text("".join(lines))
        return wrapped(key, worker, host, folder)


def full_disk() -> None:
    """A limit on the size of any file is a full disk without root and without a mount; QEMU inherits it."""
    from benchgate.features.fleet import work

    @replaced(work, "execute")
    def execute(wrapped: Callable[..., Any], *words: Any) -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, resource.RLIM_INFINITY))
        try:
            return wrapped(*words)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


KINDS: dict[str, Callable[[], None]] = {
    "good": lambda: None,
    "other": other_folder,
    "lies": lies,
    "clock": wrong_clock,
    "disk": full_disk,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]]()
    from benchgate import cli

    sys.exit(cli.main(["fleet", "worker", *sys.argv[2:]]))
