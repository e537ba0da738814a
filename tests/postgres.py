"""A PostgreSQL server of its own for a test: an ordinary user, a temporary folder, a unix socket, no port.

Takes nothing; gives a URL while the block lasts. Skips by name where the server's programs are not installed
(Debian: the package `postgresql`).
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import optional
from tests.machines import PATIENCE_S


def programs() -> Path:
    """The folder of initdb and pg_ctl."""
    return Path(optional.path("PostgreSQL")).parent


def _ordinary_user() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def server() -> Iterator[str]:
    """The URL of its database, as SQLAlchemy and benchgate understand it."""
    pytest.importorskip("psycopg", reason="the Python package psycopg is not installed")
    path, user = programs(), _ordinary_user()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        _run(
            path / "initdb",
            "-D",
            f"{folder}/data",
            "-U",
            "tester",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "-N",
            **user,
        )
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = (path / "pg_ctl", "-D", f"{folder}/data", "-w", "-t", str(int(PATIENCE_S)))
        _run(*control, "-l", f"{folder}/log", "-o", options, "start", **user)
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            _run(*control, "-m", "immediate", "stop", **user)
    finally:
        shutil.rmtree(folder)


def _run(*words: str | Path, **user: Any) -> None:
    """Its output goes to a file: the server would keep a pipe open."""
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            [str(word) for word in words],
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            check=False,
            **user,
        )
        said.seek(0)
        assert done.returncode == 0, said.read()
