"""Finds the C compiler of this host, and runs build commands with a deadline and a log.

Takes argument lists; gives the compiler's identity, or runs the commands. Fails with BuildError, which has
the lines of its first error and the path of the complete log.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchgate.base.errors import BootError, BuildError
from benchgate.base.files import file_digest
from benchgate.base.interrupts import held
from benchgate.base.process import Child, capture, start, told_to_end
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.text import visible
from benchgate.build.cache_storage import cache_root, full_disk, storage_trouble

_SHOWN_LINES = 12
_ERROR = re.compile(r"(?<![\w-])error: |undefined reference to ")
_STOPPED = re.compile(r"make(?:\[[0-9]+\])?: \*\*\* ")
_LOG_BYTES = 4 << 20
_STEP = re.compile(r"  [A-Z][A-Z0-9]*(?: \[M\])? +\S+|ln -sf \S+ \S+")
"""A line such as `  CC      kernel/fork.o`, or the one command of Linux's make that is printed."""
_TELL_S = 30.0
_LEAVE_S = 20.0
"""The seconds that an interrupted make gets to remove the files that it was writing."""
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""As a command's status, and as a shell's, which starts it."""
_LOCK = 9
"""The descriptor of commands that has the lock on what they write."""
_END_BYTES = 65_536
_NAMES = ("cc", "gcc", "clang")
Told = Callable[[float, str], None]
"""It gets the seconds since a command began, and what the command has printed."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler. Compilers with equal identities make equal binaries from equal sources."""

    argv: tuple[str, ...]
    version: str
    """The first line of its version, for reports: `gcc (Debian 12.2.0-14) 12.2.0`."""
    identity: str
    """The digest of its description, its target and its static C library."""
    guest: Architecture = X86_64
    """The architecture that it compiles for."""


def compiler() -> Compiler:
    """The compiler that $CC names, else the first of cc, gcc and clang."""
    return _compiler(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


@cache
def _compiler(requested: str, path: str) -> Compiler:
    try:
        candidates = [shlex.split(requested)] if requested.strip() else [[name] for name in _NAMES]
    except ValueError as error:
        advice = "correct or unset it"
        raise BuildError(f"CC is `{requested}`, which cannot be parsed: {error}; {advice}") from None
    for argv in candidates:
        if result := shutil.which(argv[0], path=path):
            return described((result, *argv[1:]))
    if requested.strip():
        raise BuildError(f"CC names `{requested}`, which is not on PATH: correct or unset it")
    raise BuildError(f"no C compiler ({', '.join(_NAMES)}) is on PATH; {install_hint()}")


def described(argv: tuple[str, ...], guest: Architecture = X86_64) -> Compiler:
    """The compiler that this command starts."""
    # -v prints version, target and configuration: everything that a compiler reports about itself.
    about = _ask((*argv, "-v"))
    version = _ask((*argv, "--version")).partition("\n")[0]
    library = Path(_ask((*argv, "-print-file-name=libc.a")).strip())
    if not library.is_file():
        raise BuildError(f"{argv[0]} has no static C library (libc.a); {install_hint()}")
    identity = hashlib.sha256(f"{argv}\n{about}\n{file_digest(library)}".encode()).hexdigest()
    return Compiler(argv, version, identity, guest)


def _ask(argv: tuple[str, ...]) -> str:
    try:
        done = capture(argv, 60, environment())
    except (BootError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the C compiler {argv[0]} does not respond: {error}") from error
    if done.returncode:
        raise BuildError(f"`{shlex.join(argv)}` failed: {done.stderr.strip()[:200]}")
    return done.stdout + done.stderr


def install_hint() -> str:
    """How to install the toolchain on this distribution."""
    with contextlib.suppress(OSError):
        words = platform.freedesktop_os_release()
        family = f"{words.get('ID', '')} {words.get('ID_LIKE', '')}".split()
        if "debian" in family or "ubuntu" in family:
            return "as root: apt-get install gcc libc6-dev make"
        if "fedora" in family or "rhel" in family:
            return "as root: dnf install gcc glibc-static make"
    return "install a C compiler, make and the static C library with this distribution's package manager"


def environment() -> dict[str, str]:
    """The environment of commands: the user's, with English messages and without an outer make's settings."""
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GCC_COLORS"}
    kept = {name: value for name, value in os.environ.items() if name not in outer}
    return kept | {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"}


@dataclass(frozen=True, slots=True)
class Resumable:
    """A command that may be interrupted, and goes on where it stopped when it is run again."""

    unhurt: Callable[[], None]
    """Called when all processes of the command have ended, and none was killed: no file is half written. Also
    if there was none."""
    lock: int
    """A descriptor with the lock on the folder, which processes have that outlive a killed benchgate."""
    told: Told | None = None


def run_all(
    commands: Sequence[Sequence[str]],
    folder: Path,
    name: str,
    timeout_s: float,
    resumable: Resumable | None = None,
) -> None:
    """Runs the commands in order; keeps the log only if one of them fails."""
    log = cache_root() / "logs" / f"build-{name}-{os.getpid()}.log"
    with storage_trouble(log):
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            for argv in commands:
                _run(argv, _Place(folder, name, log, timeout_s, resumable))
        except BuildError:
            # Only the last failure's log of each name is kept, so that repeated failures do not add files.
            log.replace(log.with_name(f"build-{name}.log"))
            raise
        finally:
            log.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where and how commands run."""

    folder: Path
    name: str
    log: Path
    timeout_s: float
    resumable: Resumable | None


def _run(argv: Sequence[str], place: _Place) -> None:
    folder, name, log, timeout_s = place.folder, place.name, place.log, place.timeout_s
    with log.open("ab") as stream, Path(os.devnull).open("rb") as nothing:
        stream.write(f"$ {shlex.join(argv)}\n".encode(errors="replace"))
        stream.flush()
        begin, output = stream.tell(), stream.fileno()
        with contextlib.ExitStack() as stack:
            with held():
                try:
                    child = _start(argv, place, nothing.fileno(), output)
                except BootError as error:
                    if place.resumable:
                        place.resumable.unhurt()
                    why = f"{error} {install_hint()}"
                    stream.write(f"{why}\n".encode(errors="replace"))
                    raise BuildError(f"building {name}: {why}") from error
                stack.callback(_end, child, place.resumable)
            in_time = _wait(child, place)
        status = child.exit_status
    if status or not in_time:
        how = f"failed with status {status}" if in_time else f"did not end within {timeout_s:.0f} s"
        kept = log.with_name(f"build-{name}.log")
        if full := full_disk(folder, _said(log, begin)):
            how = f"{how}, and {full}"
        raise BuildError(f"building {name}: `{argv[0]}` {how}:\n{_head(log, begin)}(complete log: {kept})")


def _start(argv: Sequence[str], place: _Place, stdin: int, output: int) -> Child:
    words, inherited = tuple(argv), {}
    if place.resumable:
        words, inherited = (*told_to_end(), *argv), {_LOCK: place.resumable.lock}
    return start(
        words,
        environment(),
        stdin=stdin,
        stdout=output,
        stderr=output,
        descriptors=inherited,
        folder=place.folder,
    )


def _end(child: Child, resumable: Resumable | None) -> None:
    has_left = False
    try:
        has_left = resumable is not None and child.leave(_LEAVE_S)
    finally:
        status = child.stop(0)
    if resumable and has_left and status not in _KILLED:
        resumable.unhurt()


def _wait(child: Child, place: _Place) -> bool:
    begin, timeout_s = time.monotonic(), place.timeout_s
    told = place.resumable.told if place.resumable else None
    while (passed := time.monotonic() - begin) < timeout_s:
        if child.wait(min(_TELL_S, timeout_s - passed) if told else timeout_s):
            return True
        if told:
            told(time.monotonic() - begin, place.log.read_text(errors="replace"))
    return child.has_ended()


def _said(log: Path, begin: int) -> str:
    """The end of what the failed command printed."""
    with log.open("rb") as stream:
        stream.seek(max(begin, log.stat().st_size - _END_BYTES))
        return stream.read(_END_BYTES).decode(errors="replace")


def _head(log: Path, begin: int) -> str:
    """What the failed command says of its failure: the lines from the first error on. If only make names one,
    those up to it; else the first ones. Before them make prints each command, and Linux's each file."""
    with log.open("rb") as stream:
        stream.seek(begin)
        every = stream.read(_LOG_BYTES).decode(errors="replace").splitlines()
    said = [line for line in every if not _STEP.fullmatch(line)]
    first = next((number for number, line in enumerate(said) if _ERROR.search(line)), None)
    if first is None:
        stopped = next((number for number, line in enumerate(said) if _STOPPED.match(line)), 0)
        first = max(0, stopped + 1 - _SHOWN_LINES)
    lines = said[first : first + _SHOWN_LINES]
    return "".join(f"  {visible(line.expandtabs())[:200]}\n" for line in lines)
