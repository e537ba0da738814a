"""The C compiler of this host, and commands run with a deadline and their output kept.

Takes argument lists, gives nothing but effects and a compiler's identity. Fails with BuildError: its first
lines, and the path of the log that holds all of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchgate.errors import BuildError
from benchgate.files import file_digest
from benchgate.shelf import cache_root

_SHOWN_LINES = 12
_NAMES = ("cc", "gcc", "clang")


@dataclass(frozen=True, slots=True)
class Compiler:
    """How C is compiled here. Equal identities give equal bytes from equal sources."""

    argv: tuple[str, ...]
    version: str
    """Its first line, for people: `gcc (Debian 12.2.0-14) 12.2.0`."""
    identity: str
    """Digest of its description, its target and the static C library it links."""


def compiler() -> Compiler:
    """$CC, else the first of cc, gcc and clang."""
    return _compiler(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


@cache
def _compiler(wish: str, path: str) -> Compiler:
    try:
        candidates = [shlex.split(wish)] if wish.strip() else [[name] for name in _NAMES]
    except ValueError as error:
        raise BuildError(f"CC is `{wish}`, which cannot be read: {error}; correct or unset it") from None
    for argv in candidates:
        if found := shutil.which(argv[0], path=path):
            return _describe((found, *argv[1:]))
    if wish.strip():
        raise BuildError(f"CC names `{wish}`, which is not on PATH: correct or unset it")
    raise BuildError(f"no C compiler ({', '.join(_NAMES)}) is on PATH; {install_hint()}")


def _describe(argv: tuple[str, ...]) -> Compiler:
    # -v names version, target and configuration; that text is all that a compiler says about itself.
    about = _ask((*argv, "-v"))
    version = _ask((*argv, "--version")).partition("\n")[0]
    library = Path(_ask((*argv, "-print-file-name=libc.a")).strip())
    if not library.is_file():
        raise BuildError(f"{argv[0]} has no static C library (libc.a); {install_hint()}")
    identity = hashlib.sha256(f"{argv}\n{about}\n{file_digest(library)}".encode()).hexdigest()
    return Compiler(argv, version, identity)


def _ask(argv: tuple[str, ...]) -> str:
    try:
        done = hear(argv, 60, environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the C compiler {argv[0]} does not answer: {error}") from error
    if done.returncode:
        raise BuildError(f"`{shlex.join(argv)}` failed: {done.stderr.strip()[:200]}")
    return done.stdout + done.stderr


def install_hint() -> str:
    """What to install on this distribution."""
    with contextlib.suppress(OSError):
        words = platform.freedesktop_os_release()
        family = f"{words.get('ID', '')} {words.get('ID_LIKE', '')}".split()
        if "debian" in family or "ubuntu" in family:
            return "as root: apt-get install gcc libc6-dev make"
        if "fedora" in family or "rhel" in family:
            return "as root: dnf install gcc glibc-static make"
    return "install a C compiler, make and the static C library with this distribution's package manager"


def environment() -> dict[str, str]:
    """What commands see: the user's environment, but messages in English and no trace of an outer make."""
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GCC_COLORS"}
    kept = {name: value for name, value in os.environ.items() if name not in outer}
    return kept | {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"}


def hear(
    argv: Sequence[str], timeout_s: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a program for what it says. Raises as `subprocess.run` does; but whatever happens, no process of
    it stays: a user's program may be a script, and then it is not the script that hangs."""
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, complained = process.communicate(timeout=timeout_s)
        finally:
            end_group(process)
    return subprocess.CompletedProcess(argv, process.returncode, said, complained)


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kills all that a process with a session of its own has started, and itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run_all(commands: Sequence[Sequence[str]], folder: Path, name: str, timeout_s: float) -> None:
    """Runs the commands in order; the log stays only where one of them failed."""
    log = cache_root() / "logs" / f"build-{name}-{os.getpid()}.log"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for argv in commands:
            _run(argv, folder, name, log, timeout_s)
    except BuildError:
        # One log per name, the last failure's: a fixed number of files, however often a build fails.
        log.replace(log.with_name(f"build-{name}.log"))
        raise
    finally:
        log.unlink(missing_ok=True)


def _run(argv: Sequence[str], folder: Path, name: str, log: Path, timeout_s: float) -> None:
    with log.open("ab") as stream:
        stream.write(f"$ {shlex.join(argv)}\n".encode(errors="replace"))
        stream.flush()
        begin = stream.tell()
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            why = f"{argv[0]}: {error.strerror}; {install_hint()}"
            stream.write(f"{why}\n".encode(errors="replace"))
            raise BuildError(f"building {name}: cannot run {why}") from error
        status = _wait(process, timeout_s)
    if status:
        how = f"did not end within {timeout_s:.0f} s" if status == "late" else f"failed with status {status}"
        kept = log.with_name(f"build-{name}.log")
        raise BuildError(f"building {name}: `{argv[0]}` {how}:\n{_head(log, begin)}(all of it: {kept})")


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | str:
    """The exit status, or `late`. Whatever happens, no process of the command stays."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return "late"
    finally:
        end_group(process)
        process.wait(10)


def _head(log: Path, begin: int) -> str:
    """The first lines of the failed command, where a compiler's first complaint stands."""
    with log.open("rb") as stream:
        stream.seek(begin)
        lines = stream.read(16_384).decode(errors="replace").splitlines()[:_SHOWN_LINES]
    printable = ("".join(c if c.isprintable() or c == "\t" else "?" for c in line) for line in lines)
    return "".join(f"  {line[:200]}\n" for line in printable)
