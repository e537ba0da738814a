"""Extracts chosen files from a .deb without running its scripts, and decompresses zstd data.

Takes the package's path and a function that maps a member's path to its place; writes below one folder, and
fails with FetchError if the package cannot be read. `zstd` takes and gives bytes, and fails with an error of
subprocess.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from benchgate.base.errors import FetchError
from benchgate.build import cache
from benchgate.build.cache_storage import full_disk
from benchgate.build.toolchain import environment

Choose = Callable[[str], str | None]
"""This maps `usr/share/qemu/pvh.bin` to `share/pvh.bin`, for example, or to None to skip a file."""
_UNPACK_S = 300.0


def unpack(package: Path, folder: Path, choose: Choose) -> None:
    argv = ("dpkg-deb", "--fsys-tarfile", str(package))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        try:
            assert process.stdout is not None
            _unpack(process.stdout, folder, choose)
            process.communicate(timeout=_UNPACK_S)
        except (tarfile.TarError, EOFError, subprocess.TimeoutExpired) as error:
            raise FetchError(f"{package.name} cannot be unpacked: {error}") from error
        finally:
            process.kill()
    if process.returncode:
        if full := full_disk(folder, ""):
            raise FetchError(f"{package.name} cannot be unpacked: {full}")
        raise FetchError(
            f"{package.name} cannot be unpacked: dpkg-deb ended with status {process.returncode}"
        )


def _unpack(stream: IO[bytes], folder: Path, choose: Choose) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            place = choose(member.name.removeprefix("./"))
            if place is None or not (member.isreg() or member.issym()):
                continue
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                target.write_bytes(content.read())
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
            elif (name := Path(member.linkname).name) != target.name and not target.exists():
                target.symlink_to(name)  # all files of one kind are in one folder
    while stream.read(65_536):  # read the padding, or dpkg-deb gets a broken pipe
        pass


def zstd(packed: bytes) -> bytes:
    """Decompresses zstd data. Python before 3.14 has no zstd, so dpkg-deb does it: it reads the bytes as the
    data of a package that has nothing else."""
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    members = {"debian-binary": b"2.0\n", "control.tar": empty.getvalue(), "data.tar.zst": packed}
    with cache.scratch("inspect") as folder:
        package = folder / "packed.deb"
        package.write_bytes(_archive(members))
        argv = ("dpkg-deb", "--fsys-tarfile", str(package))
        done = subprocess.run(argv, capture_output=True, check=True, timeout=_UNPACK_S, env=environment())
    return done.stdout


def _archive(members: Mapping[str, bytes]) -> bytes:
    """A Unix `ar` archive."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts += [f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode(), content]
        parts += [b"\n"] if len(content) % 2 else []
    return b"".join(parts)
