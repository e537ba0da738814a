"""QEMU and the Linux image: either pinned inputs, fetched without changing the system, or the user's own.

`qemu` and `linux_kernel` take the guests' architecture and an optional path of the user; give the program or
image, and the labels for every row that uses it. `prepare` gets both. Fails with FetchError: what is missing,
and what to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate.base.errors import BootError, FetchError
from benchgate.base.files import file_digest, read_start, tree_digest
from benchgate.base.process import capture
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import UNAVAILABLE
from benchgate.build import cache, toolchain
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import cross, elf, newest, sources, store
from benchgate.build.fetch.apt import Apt
from benchgate.build.fetch.pins import PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.unpack import unpack, unpacked_kernel

_ASK_S = 30.0
_USER, _SYSTEM = "user", "system"
_REAL_SYMBOLS_BYTES = 4096
"""A smaller System.map has no symbols; Debian's is one line that says where the real one is."""


@dataclass(frozen=True, slots=True)
class LinuxKernel:
    """`image` is the file that boots and `digest` its digest. `packed` is the digest of the bzImage that it
    was unpacked from, empty if the bzImage itself boots."""

    image: Path
    version: str
    digest: str
    symbols: Path | None
    config_digest: str
    labels: tuple[str, ...]
    packed: str = ""
    bpf_loader: Path | None = None
    """The program that loads a scheduler in BPF from its object; only a kernel that is built here has one."""


def prepare(
    guest: Architecture = X86_64, *, locked: bool = False, notice: Notice | None = None
) -> tuple[Qemu, LinuxKernel]:
    """Gets both and what compiles for such guests, and reads the package source only once."""
    with _session(notice, None) as session:
        result = (
            qemu(guest=guest, locked=locked, session=session),
            linux_kernel(guest=guest, locked=locked, session=session),
        )
        if not guest.is_host:
            cross.compiler(guest, locked=locked, session=session)
    return result


def qemu(  # noqa: PLR0913 - keyword arguments
    path: Path | None = None,
    guest: Architecture = X86_64,
    *,
    locked: bool = False,
    notice: Notice | None = None,
    session: FetchSession | None = None,
    named: str = "--qemu",
) -> Qemu:
    """The QEMU at the user's `path`, else a fetched one. `named` is the option or key of the path."""
    if path is not None:
        _refuse_if_locked(locked, named)
        return _own_qemu(path, guest, _USER, named)

    def resolve(client: Apt, release: Release) -> PinnedSet:
        with cache.scratch("inspect") as folder:
            return newest.qemu(client, release, elf.present(), folder, guest)

    with _session(notice, session) as used:
        try:
            fill = partial(_fill_qemu, guest)
            kept = store.fetch(guest.kind("qemu"), resolve, fill, locked=locked, session=used)
        except FetchError as error:
            installed = shutil.which(guest.qemu)
            if locked or installed is None:
                raise
            used.notice(f"using this system's {installed}, because none could be fetched: {error}")
            return _own_qemu(Path(installed), guest, _SYSTEM, named)
    version, digest = kept.about["qemu"], kept.about["digest"]
    return Qemu(
        kept.folder / "bin" / guest.qemu,
        _environment(kept.folder),
        (kept.folder / "share",),
        (version[0], version[1], version[2]),
        digest,
        kept.origin,
        kept.labels,
        guest,
    )


def linux_kernel(  # noqa: PLR0913 - keyword arguments
    path: Path | None = None,
    guest: Architecture = X86_64,
    *,
    locked: bool = False,
    notice: Notice | None = None,
    session: FetchSession | None = None,
    named: str = "--linux-kernel",
) -> LinuxKernel:
    """The image at the user's `path`, else a fetched one. `named` is its name in messages."""
    if path is not None:
        _refuse_if_locked(locked, named)
        return _own_kernel(path, guest, named)
    with _session(notice, session) as used:
        source = sources.for_guests(store.this_release(), guest)
        kind, fill = guest.kind("linux"), partial(_fill_linux, guest)
        kept = store.fetch(kind, newest.linux, fill, locked=locked, session=used, source=source)
    symbols, packed = kept.folder / "System.map", kept.folder / "vmlinuz"
    elf_file = unpacked_kernel(packed, kept.folder / "config")
    return LinuxKernel(
        elf_file or packed,
        kept.about["kernel"],
        file_digest(elf_file) if elf_file else kept.about["digest"],
        symbols if symbols.is_file() else None,
        kept.about["config_digest"],
        kept.labels,
        kept.about["digest"] if elf_file else "",
    )


MODULES = ("virtio_blk", "veth", "sch_tbf")
"""The parts of Linux that a mix needs and that Debian's kernel has only as modules."""


def linux_modules(
    guest: Architecture,
    *,
    locked: bool,
    session: FetchSession,
    part: str = "modules",
    names: Sequence[str] = MODULES,
) -> dict[str, Path]:
    """Maps each of these modules that the fetched kernel's package has to its file. `part` is their name in
    the cache."""
    source = sources.for_guests(store.this_release(), guest)
    kind, fill = guest.kind("linux"), partial(_fill_modules, names)
    kept = store.fetch(kind, newest.linux, fill, locked=locked, session=session, source=source, part=part)
    return {path.name: path for path in sorted((kept.folder / "modules").glob("*.ko*"))}


def _session(
    notice: Notice | None, session: FetchSession | None
) -> contextlib.AbstractContextManager[FetchSession]:
    """The caller's session, which stays open, or a new one."""
    if session is not None:
        return contextlib.nullcontext(session)
    return FetchSession(notice) if notice else FetchSession()


def _refuse_if_locked(locked: bool, option: str) -> None:
    if locked:
        raise FetchError(f"--locked allows pinned inputs only, {option} names another: leave out one of them")


# ---- QEMU


def _fill_qemu(guest: Architecture, client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    for path in client.download([pin.package for pin in packages.pins]):
        unpack(path, files, newest.choose_qemu)
    version = _version(files / "bin" / guest.qemu, _environment(files))
    # Libraries are not digested: they may be this system's, and they do not change what a guest sees.
    digest = hashlib.sha256(f"{tree_digest(files / 'bin')} {tree_digest(files / 'share')}".encode())
    return {"qemu": list(version), "digest": digest.hexdigest()}


def _environment(files: Path) -> Mapping[str, str]:
    return MappingProxyType({"LD_LIBRARY_PATH": str(files / "lib")})


def _own_qemu(path: Path, guest: Architecture, origin: str, named: str) -> Qemu:
    found = shutil.which(path)
    if found is None:
        advice = f"give the path of a {guest.qemu}"
        raise FetchError(f"{named} {path}: there is no program that this user can run; {advice}")
    binary = Path(found).absolute()
    emulates = target_of(binary)
    if emulates not in (None, guest):
        raise FetchError(f"{named} {path}: emulates {emulates}, the guest is {guest}; give a {guest.qemu}")
    try:
        digest = file_digest(binary)
    except OSError as error:
        raise FetchError(f"{named} {binary}: cannot be read: {error.strerror}") from error
    version = _version(binary, {})
    return Qemu(binary, MappingProxyType({}), (), version, digest, origin, (f"{origin} QEMU",), guest)


def target_of(program: Path) -> Architecture | None:
    """The architecture that a QEMU emulates, by its usual name; None if the name does not tell."""
    return next((one for one in ARCHITECTURES.values() if one.qemu == program.name), None)


def _version(binary: Path, more: Mapping[str, str]) -> tuple[int, int, int]:
    try:
        done = capture((str(binary), "--version"), _ASK_S, {**toolchain.environment(), **more})
    except (BootError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"{binary} cannot be started: {error}; give another one with --qemu PATH") from error
    match = re.search(r"QEMU emulator version (\d+)\.(\d+)\.(\d+)", done.stdout)
    if done.returncode or match is None:
        output = (done.stderr or done.stdout).strip().partition("\n")[0][:300]
        advice = "give another with --qemu PATH"
        raise FetchError(f"{binary} --version does not print QEMU's version: {output!r}; {advice}")
    return int(match[1]), int(match[2]), int(match[3])


# ---- Linux


def _choose_linux(member: str) -> str | None:
    match = re.fullmatch(r"boot/(vmlinu[xz]|config|System\.map)-[^/]+", member)
    return match[1].replace("vmlinux", "vmlinuz") if match else None


def _choose_module(names: Sequence[str], member: str) -> str | None:
    any_of = "|".join(map(re.escape, names))
    match = re.fullmatch(rf"(?:usr/)?lib/modules/[^/]+/kernel/.+/((?:{any_of})\.ko(?:\.[a-z0-9]+)?)", member)
    return f"modules/{match[1]}" if match else None


def _fill_modules(names: Sequence[str], client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    (pin,) = packages.pins
    (files / "modules").mkdir()  # this folder exists even if all modules are built in
    for path in client.download([pin.package]):
        unpack(path, files, partial(_choose_module, names))
    return {}


def _fill_linux(guest: Architecture, client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    (pin,) = packages.pins
    for path in client.download([pin.package]):
        unpack(path, files, _choose_linux)
    symbols, config = files / "System.map", files / "config"
    if symbols.is_file() and symbols.stat().st_size < _REAL_SYMBOLS_BYTES:
        symbols.unlink()
    if not (files / "vmlinuz").is_file():
        advice = "give --linux-kernel PATH"
        raise FetchError(f"{pin.package.name} {pin.package.version} contains no boot/vmlinuz: {advice}")
    return {
        "kernel": _kernel_version(files / "vmlinuz", guest),
        "digest": file_digest(files / "vmlinuz"),
        "config_digest": file_digest(config) if config.is_file() else UNAVAILABLE,
    }


def _own_kernel(path: Path, guest: Architecture, named: str) -> LinuxKernel:
    image = path.expanduser().absolute()
    try:
        version, digest = _kernel_version(image, guest), file_digest(image)
    except OSError as error:
        advice = "give a bzImage that this user can read (often only root can read /boot/vmlinuz-*: copy it)"
        raise FetchError(f"{named} {path}: cannot be read: {error.strerror}; {advice}") from error
    config = image.with_name(f"config-{version}")
    known = file_digest(config) if config.is_file() else UNAVAILABLE
    return LinuxKernel(image, version, digest, None, known, ("user kernel",))


def _kernel_version(image: Path, guest: Architecture) -> str:
    """The version in the image's header (the kernel's Documentation/arch/x86/boot.rst, kernel_version)."""
    head = read_start(image, 0x10000, follow=True)
    if head[:4] == b"\x7fELF":
        return UNAVAILABLE
    at, magic = guest.image_magic
    if head[at : at + len(magic)] != magic:
        raise FetchError(f"{image} is not a Linux image for {guest}: give {guest.image_words}")
    if guest is not X86_64:
        return _banner_version(image)
    at = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    text = head[at : at + 200].partition(b"\0")[0].decode("ascii", "replace").split(" ")[0]
    return text if re.fullmatch(r"[0-9A-Za-z.+_~-]{1,80}", text) else UNAVAILABLE


def _banner_version(image: Path) -> str:
    """The version in the banner of an image that is not compressed."""
    with image.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        match = re.search(rb"Linux version ([0-9A-Za-z.+_~-]{1,80}) ", content)
        return match[1].decode() if match else UNAVAILABLE
