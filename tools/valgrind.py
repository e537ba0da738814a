"""Valgrind as an outsider: cachegrind's counts and lackey's trace of one static program.

Takes argv; gives what cachegrind counts with stated caches, and a pipe in which lackey lists each access.
Valgrind is that on PATH, else Debian's package, fetched into the cache and installed nowhere. Fails with
FetchError if there is neither, with RuntimeError if the program does not end well under valgrind.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.build import cache
from benchgate.build.fetch.store import FetchSession, this_release
from benchgate.build.fetch.unpack import unpack

PACKAGE = "valgrind"
_FILES = re.compile(
    r"usr/(bin/valgrind\.bin|libexec/valgrind/(?:(?:cachegrind|lackey)-amd64-linux|default\.supp))"
)
_EVENTS = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw"
_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Geometry:
    """One cache."""

    bytes: int
    ways: int
    line: int = 64

    def __str__(self) -> str:
        return f"{self.bytes},{self.ways},{self.line}"

    @property
    def sets(self) -> int:
        return self.bytes // self.ways // self.line


@dataclass(frozen=True, slots=True)
class Counts:
    """What cachegrind counts. It takes an instruction that reads and then writes one place for a read, and an
    access to two lines for one access with at most one miss."""

    instructions: int
    fetch_misses: int
    reads: int
    read_misses: int
    writes: int
    write_misses: int


@dataclass(frozen=True, slots=True)
class Valgrind:
    program: Path
    tools: Path | None
    """The folder of its tools; None: it knows."""

    def cachegrind(self, argv: Sequence[str], first: Geometry, last: Geometry, function: str) -> Counts:
        """Counts of one function and what is inlined in it, with `first` for data and for instructions."""
        with tempfile.TemporaryDirectory(prefix="cachegrind-") as folder:
            out = Path(folder) / "out"
            words = [f"--I1={first}", f"--D1={first}", f"--LL={last}", f"--cachegrind-out-file={out}"]
            self._run("cachegrind", ["--cache-sim=yes", *words], argv)
            return parse_counts(out.read_text(), function)

    @contextmanager
    def lackey(self, argv: Sequence[str]) -> Iterator[Path]:
        """A pipe with every access in order: `I` an instruction, ` L` a load, ` S` a store, ` M` a load and a
        store. It must be read to its end."""
        out, into = os.pipe()
        words = self._words("lackey", ["--trace-mem=yes", "--basic-counts=no", f"--log-fd={into}"], argv)
        with subprocess.Popen(
            words,
            env=self._environment(),
            pass_fds=[into],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                os.close(into)
                yield Path(f"/dev/fd/{out}")
            finally:
                os.close(out)
            if process.wait(_LIMIT_S):
                raise RuntimeError(f"{argv[0]} under lackey ended with {process.returncode}")

    def _run(self, tool: str, words: Sequence[str], argv: Sequence[str]) -> None:
        done = subprocess.run(
            self._words(tool, words, argv),
            env=self._environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{argv[0]} under {tool} ended with {done.returncode}: {done.stderr[-1000:]}")

    def _words(self, tool: str, words: Sequence[str], argv: Sequence[str]) -> list[str]:
        return [str(self.program), f"--tool={tool}", *words, *argv]

    def _environment(self) -> dict[str, str]:
        """Nothing of the user's, because it is on the program's stack."""
        return {"VALGRIND_LIB": str(self.tools)} if self.tools else {}


def parse_counts(text: str, function: str) -> Counts:
    """The lines below `fn=NAME`, one for each line of the source."""
    if f"events: {_EVENTS}" not in text:
        raise RuntimeError(f"cachegrind's file does not have the events {_EVENTS}")
    sums = [0] * len(_EVENTS.split())
    for block in re.findall(rf"^fn={re.escape(function)}\n((?:\d.*\n)*)", text, flags=re.MULTILINE):
        for line in block.splitlines():
            _, *values = line.split()
            sums = [number + int(value) for number, value in zip(sums, values, strict=True)]
    if not any(sums):
        raise RuntimeError(f"cachegrind saw no function {function}: is the program stripped?")
    return Counts(sums[0], sums[1], sums[3], sums[4], sums[6], sums[7])


def valgrind() -> Valgrind:
    if (installed := shutil.which("valgrind")) is not None:
        return Valgrind(Path(installed), None)
    release = this_release()
    files = cache.entry(PACKAGE, {"release": release.name}, _fill)
    return Valgrind(files / "bin/valgrind.bin", files / "libexec/valgrind")


def _fill(files: Path) -> None:
    with FetchSession() as session:
        client = session.apt(this_release())
        package = client.candidate(PACKAGE)
        if package is None:
            raise FetchError(f"this host's package source has no {PACKAGE}: install it")
        for path in client.download([package]):
            unpack(path, files, lambda member: match[1] if (match := _FILES.fullmatch(member)) else None)
