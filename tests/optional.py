"""What some tests need and `./run setup` does not install: its package, and what is not checked without it.

One table for three uses: tests skip by it, `./run tests` says with it at its start what it will not check,
and `./run tools-for-tests` (`python -m tests.optional install`) installs what is missing. Only root can use
apt; other users see the command for root. Exits with 4 if something is still missing.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

APT = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300")
INSTALL = ("install", "-y", "--no-install-recommends")
APT_S = 300.0
"""The time for one package; a slow mirror must not hold up the tests."""


@dataclass(frozen=True)
class Extra(ABC):
    """`package`: Debian's or, for a Python module, PyPI's. `unchecked`: what no test checks without it."""

    name: str
    package: str
    unchecked: str

    @property
    @abstractmethod
    def missing(self) -> bool: ...

    def __str__(self) -> str:
        return f"{self.name} is not installed, so this is not checked: {self.unchecked}"


@dataclass(frozen=True)
class Program(Extra):
    names: tuple[str, ...] = ()
    """The names that it may have on PATH; empty: its own."""
    places: tuple[str, ...] = ()
    """Patterns of folders outside of PATH."""

    @property
    def missing(self) -> bool:
        return not self.path

    @property
    def path(self) -> str:
        """The program; empty if it is missing."""
        folders = [str(one) for place in self.places for one in sorted(Path("/").glob(place), reverse=True)]
        where = os.pathsep.join([*os.get_exec_path(), *folders])
        result = (shutil.which(name, path=where) for name in self.names or (self.name,))
        return next(filter(None, result), "")


@dataclass(frozen=True)
class Module(Extra):
    @property
    def missing(self) -> bool:
        return importlib.util.find_spec(self.name.partition(".")[0]) is None


PROGRAMS = (
    Program("ssh-keygen", "openssh-client", "signatures of sessions and of a fleet's systems"),
    Program("openssl", "openssl", "the certificates of a fleet"),
    Program("jq", "jq", "the command of docs/how-to/run-in-ci.md that makes a submission for KCIDB"),
    Program("gdb", "gdb", "gdb on a replayed guest (`benchgate replay --gdb`)"),
    Program("node", "nodejs", "that github-action-benchmark reads speedups.json"),
    Program("npm", "npm", "the same, unless BENCHGATE_ACTION_BENCHMARK names a checkout of that action"),
    Program("zstd", "zstd", "that a kernel packed by zstd is unpacked"),
    Program("e2fsck", "e2fsprogs", "that disks with ext2 are sound", places=("sbin", "usr/sbin")),
    Program("setpriv", "util-linux", "that a command ends with the process that it is bound to"),
    Program("git", "git", "that bisect walks a history, and tools/fresh.py copies what git knows"),
    Program(
        "PostgreSQL",
        "postgresql",
        "a history in PostgreSQL",
        names=("initdb",),
        places=("usr/lib/postgresql/*/bin", "usr/local/bin"),
    ),
    Program(
        "Chromium",
        "chromium",
        "what a browser shows of report.html",
        names=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    ),
)
MODULES = (
    Module("kcidb_io", "kcidb-io", "that KCIDB's own schema accepts kcidb.json"),
    Module("prometheus_client", "prometheus-client", "that Prometheus's own reader accepts openmetrics.txt"),
)
TABLE: tuple[Extra, ...] = (*PROGRAMS, *MODULES)


def program(name: str) -> Program:
    (one,) = (one for one in PROGRAMS if one.name == name)
    return one


def needs(name: str) -> pytest.MarkDecorator:
    """A mark for tests that need this program."""
    one = program(name)
    return pytest.mark.skipif(one.missing, reason=str(one))


def path(name: str) -> str:
    """This program; without it the test that asks is skipped."""
    one = program(name)
    if one.missing:
        pytest.skip(str(one))
    return one.path


def module(name: str) -> ModuleType:
    """This module, or one in it; without it the test that asks is skipped."""
    (one,) = (one for one in MODULES if one.name == name.partition(".")[0])
    return importlib.import_module(name) if not one.missing else pytest.skip(str(one))


def said(table: Sequence[Extra]) -> str:
    """What the tests will not check here; empty if they check everything."""
    lines = [f"run: {extra}" for extra in table if extra.missing]
    return "\n".join([*lines, "run: ./run tools-for-tests gets what is missing."] if lines else [])


Call = Callable[[Sequence[str]], int]


def call(words: Sequence[str]) -> int:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(
            words, env=environment, stdout=subprocess.DEVNULL, timeout=APT_S, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"run: {error}", file=sys.stderr)
        return 1


def install(table: Sequence[Extra], user: int, run: Call) -> int:
    """Each package by itself, because a release may lack one of them."""
    missing = [extra for extra in table if extra.missing]
    debs = list(dict.fromkeys(extra.package for extra in missing if isinstance(extra, Program)))
    for extra in missing:
        if isinstance(extra, Module):
            run([sys.executable, "-m", "pip", "install", "--quiet", extra.package])
    if debs and user != 0:
        print("run: as root, run", file=sys.stderr)
        print(f"    apt-get update && apt-get {' '.join((*INSTALL, *debs))}", file=sys.stderr)
        return 4
    for words in [("update",), *((*INSTALL, deb) for deb in debs)] if debs else []:
        run((*APT, *words))
    return 0


def main(words: Sequence[str]) -> int:
    if words not in ([], ["install"]):
        print(f"run: expected no further words, found {words}", file=sys.stderr)
        return 4
    if words and (status := install(TABLE, os.geteuid(), call)):
        return status
    if text := said(TABLE):
        print(text, file=sys.stderr)
    return 4 if text and words else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
