"""QEMU and the Linux image: pinned inputs, taken without touching the system, or a user's own.

`qemu` and `linux_kernel` take an optional path of the user's, give what to run and what every row made with
it must say. Fail with FetchError: what is missing, and what to do. `prepare` has both ready in one go.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate import cache, toolchain
from benchgate.errors import FetchError
from benchgate.fetch import elf, newest, store
from benchgate.fetch.apt import Apt
from benchgate.fetch.pins import PinnedSet
from benchgate.fetch.sources import Release
from benchgate.fetch.store import Session
from benchgate.fetch.unpack import unpack
from benchgate.files import file_digest, tree_digest
from benchgate.shelf import Notice

__all__ = ["LinuxKernel", "Qemu", "linux_kernel", "prepare", "qemu"]

_BINARY = "qemu-system-x86_64"
_ASK_S = 30.0
_USER, _SYSTEM = "user", "system"
_REAL_SYMBOLS_BYTES = 4096
"""Debian's System.map is one line that says where the real one is."""


@dataclass(frozen=True, slots=True)
class Qemu:
    """A QEMU that was seen to start. `data`: folders for -L; `digest`: of the program and its ROMs."""

    binary: Path
    environment: Mapping[str, str] = field(hash=False)
    data: tuple[Path, ...]
    version: tuple[int, int, int]
    digest: str
    origin: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinuxKernel:
    image: Path
    version: str
    digest: str
    symbols: Path | None
    config_digest: str
    labels: tuple[str, ...]


def prepare(*, locked: bool = False, notice: Notice | None = None) -> tuple[Qemu, LinuxKernel]:
    """Both, with one look at the package source."""
    with _session(notice, None) as session:
        return qemu(locked=locked, session=session), linux_kernel(locked=locked, session=session)


def qemu(
    path: Path | None = None,
    *,
    locked: bool = False,
    notice: Notice | None = None,
    session: Session | None = None,
) -> Qemu:
    if path is not None:
        _refuse_if_locked(locked, "--qemu")
        return _own_qemu(path, _USER)
    with _session(notice, session) as used:
        try:
            kept = store.fetch("qemu", _newest_qemu, _fill_qemu, locked=locked, session=used)
        except FetchError as error:
            there = shutil.which(_BINARY)
            if locked or there is None:
                raise
            used.notice(f"using this system's {there}, since none could be fetched: {error}")
            return _own_qemu(Path(there), _SYSTEM)
    version, digest = kept.about["qemu"], kept.about["digest"]
    return Qemu(
        kept.folder / "bin" / _BINARY,
        _environment(kept.folder),
        (kept.folder / "share",),
        (version[0], version[1], version[2]),
        digest,
        kept.origin,
        kept.labels,
    )


def linux_kernel(
    path: Path | None = None,
    *,
    locked: bool = False,
    notice: Notice | None = None,
    session: Session | None = None,
) -> LinuxKernel:
    if path is not None:
        _refuse_if_locked(locked, "--linux-kernel")
        return _own_kernel(path)
    with _session(notice, session) as used:
        kept = store.fetch("linux", newest.linux, _fill_linux, locked=locked, session=used)
    symbols = kept.folder / "System.map"
    return LinuxKernel(
        kept.folder / "vmlinuz",
        kept.about["kernel"],
        kept.about["digest"],
        symbols if symbols.is_file() else None,
        kept.about["config_digest"],
        kept.labels,
    )


def _session(notice: Notice | None, session: Session | None) -> contextlib.AbstractContextManager[Session]:
    """The caller's, which stays open, or one of our own."""
    if session is not None:
        return contextlib.nullcontext(session)
    return Session(notice) if notice else Session()


def _refuse_if_locked(locked: bool, option: str) -> None:
    if locked:
        raise FetchError(f"--locked takes pinned inputs only, {option} names another: leave one of them out")


# ---- QEMU


def _newest_qemu(client: Apt, release: Release) -> PinnedSet:
    with cache.scratch("look") as folder:
        return newest.qemu(client, release, elf.present(), folder)


def _fill_qemu(client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    for path in client.download([pin.package for pin in packages.pins]):
        unpack(path, files, newest.choose_qemu)
    version = _version(files / "bin" / _BINARY, _environment(files))
    # Not the libraries: they may be this system's own, and do not change what a guest sees.
    digest = hashlib.sha256(f"{tree_digest(files / 'bin')} {tree_digest(files / 'share')}".encode())
    return {"qemu": list(version), "digest": digest.hexdigest()}


def _environment(files: Path) -> Mapping[str, str]:
    return MappingProxyType({"LD_LIBRARY_PATH": str(files / "lib")})


def _own_qemu(path: Path, origin: str) -> Qemu:
    found = shutil.which(path)
    if found is None:
        raise FetchError(f"--qemu {path}: there is no program that this user can run; name a {_BINARY}")
    binary = Path(found).absolute()
    try:
        digest = file_digest(binary)
    except OSError as error:
        raise FetchError(f"--qemu {binary}: cannot be read: {error.strerror}") from error
    version = _version(binary, {})
    return Qemu(binary, MappingProxyType({}), (), version, digest, origin, (f"{origin} QEMU",))


def _version(binary: Path, more: Mapping[str, str]) -> tuple[int, int, int]:
    try:
        done = toolchain.hear((str(binary), "--version"), _ASK_S, {**toolchain.environment(), **more})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"{binary} cannot be started: {error}; give another with --qemu PATH") from error
    match = re.search(r"QEMU emulator version (\d+)\.(\d+)\.(\d+)", done.stdout)
    if done.returncode or match is None:
        said = (done.stderr or done.stdout).strip().partition("\n")[0][:300]
        raise FetchError(
            f"{binary} --version does not answer like QEMU: {said!r}; give another with --qemu PATH"
        )
    return int(match[1]), int(match[2]), int(match[3])


# ---- Linux


def _choose_linux(member: str) -> str | None:
    match = re.fullmatch(r"boot/(vmlinuz|config|System\.map)-[^/]+", member)
    return match[1] if match else None


def _fill_linux(client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    (pin,) = packages.pins
    for path in client.download([pin.package]):
        unpack(path, files, _choose_linux)
    symbols, config = files / "System.map", files / "config"
    if symbols.is_file() and symbols.stat().st_size < _REAL_SYMBOLS_BYTES:
        symbols.unlink()
    if not (files / "vmlinuz").is_file():
        raise FetchError(
            f"{pin.package.name} {pin.package.version} holds no boot/vmlinuz: give --linux-kernel PATH"
        )
    return {
        "kernel": _kernel_version(files / "vmlinuz"),
        "digest": file_digest(files / "vmlinuz"),
        "config_digest": file_digest(config) if config.is_file() else "unavailable",
    }


def _own_kernel(path: Path) -> LinuxKernel:
    image = path.expanduser().absolute()
    try:
        version, digest = _kernel_version(image), file_digest(image)
    except OSError as error:
        raise FetchError(
            f"--linux-kernel {path}: cannot be read: {error.strerror}; "
            "name a bzImage that this user can read (/boot/vmlinuz-* is often for root only: copy it)"
        ) from error
    config = image.with_name(f"config-{version}")
    known = file_digest(config) if config.is_file() else "unavailable"
    return LinuxKernel(image, version, digest, None, known, ("user kernel",))


def _kernel_version(image: Path) -> str:
    """From the image's own header (the kernel's Documentation/arch/x86/boot.rst, field kernel_version)."""
    with image.open("rb") as stream:
        head = stream.read(0x10000)
    if head[:4] == b"\x7fELF":
        return "unavailable"
    if head[0x202:0x206] != b"HdrS":
        raise FetchError(f"{image} is no x86 Linux image (bzImage, or an ELF file with a PVH note)")
    at = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    text = head[at : at + 200].partition(b"\0")[0].decode("ascii", "replace").split(" ")[0]
    return text if re.fullmatch(r"[0-9A-Za-z.+_~-]{1,80}", text) else "unavailable"
