"""A package source in a folder, and replacements for apt's programs that read it. No network."""

from __future__ import annotations

import hashlib
import io
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate.build.fetch import apt, elf, pins, sources, store
from benchgate.build.fetch.apt import Package
from benchgate.build.fetch.pins import Pin, PinnedSet
from tests.machines import PATIENCE_S

APT_GET = """\
#!/bin/sh
echo "apt-get $*" >>"{pool}/log"
[ ! -e "{pool}/offline" ] || {{ echo 'E: Could not resolve the source' >&2; exit 100; }}
[ "$3 $4 $(cat "{pool}/index")" != "-qq update stale" ] || {{ echo 'E: unexpected size' >&2; exit 100; }}
[ "$1" = -c ] && [ -f "$2" ] || exit 9
shift 3
[ "$1" = download ] || exit 0
shift
for word; do
    name=${{word%%=*}}
    cp "{pool}/$word.deb" "${{name}}_x.deb" || exit 100
done
"""
APT_HELPER = """\
#!/bin/sh
echo "apt-helper $*" >>"{pool}/log"
[ ! -e "{pool}/offline" ] && [ "$1 $3" = "-c download-file" ] || exit 100
[ "${{4%/*/*}}/" = http://mirror.example/debian/ ] && cp "{pool}/archive/${{4##*/}}" "$5"
"""
APT_CACHE = """\
#!/bin/sh
for name; do :; done
[ -f "{pool}/$name.show" ] || exit 100
cat "{pool}/$name.show"
"""
DPKG = '#!/bin/sh\n[ "$(printf "%s\\n" "$2" "$4" | sort -V | tail -n 1)" = "$2" ]\n'
DPKG_DEB = '#!/bin/sh\n[ "$1" = --fsys-tarfile ] && cat "$2"\n'
SOURCE = {"types": "deb", "uris": "http://mirror.example/debian", "suites": "bookworm", "components": "main"}


@dataclass
class Pool:
    """The package source, the PATH and the lock files of one test."""

    folder: Path
    bin: Path
    locks: Path

    def tool(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text.format(pool=self.folder) if "{pool}" in text else text)
        path.chmod(0o755)
        return path

    def add(self, name: str, version: str, files: Mapping[str, bytes | str], depends: str = "") -> Package:
        """Adds a package. A str is the target of a link. Add the newest version last."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for path, content in files.items():
                member = tarfile.TarInfo(f"./{path}")
                member.mode = 0o755
                if isinstance(content, str):
                    member.type, member.linkname = tarfile.SYMTYPE, content
                    archive.addfile(member)
                else:
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        data = stream.getvalue()
        (self.folder / f"{name}={version}.deb").write_bytes(data)
        path = f"archive/{name}_{version.partition(':')[2] or version}_amd64.deb"
        (self.folder / path).write_bytes(data)
        made = Package(name, version, hashlib.sha256(data).hexdigest(), len(data), depends, path)
        show = self.folder / f"{name}.show"
        older = show.read_text() if show.exists() else ""
        words = f"Package: {name}\nVersion: {version}\nDepends: {depends}\n"
        show.write_text(f"{words}Filename: {path}\nSize: {len(data)}\nSHA256: {made.sha256}\n\n{older}")
        return made

    def move(self, package: Package) -> None:
        """The archive has it elsewhere; the index still offers it."""
        (self.folder / package.path).unlink()

    def stale(self) -> None:
        """The index does not match its signature."""
        (self.folder / "index").write_text("stale")

    def withdraw(self, package: Package) -> None:
        self.move(package)
        show = self.folder / f"{package.name}.show"
        stanzas = [
            word
            for word in show.read_text().split("\n\n")
            if f"Version: {package.version}\n" not in word + "\n"
        ]
        show.write_text("\n\n".join(stanzas))

    def lock(self, kind: str, version: str, *made: Pin) -> None:
        (self.locks / f"{kind}.lock").write_text(pins.write((PinnedSet("debian-bookworm", version, made),)))

    def offline(self) -> None:
        (self.folder / "offline").touch()

    def online(self) -> None:
        (self.folder / "offline").unlink()

    def calls(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pool:
    folders = [tmp_path / name for name in ("pool", "bin", "locks")]
    for folder in folders:
        folder.mkdir()
    made = Pool(*folders)
    (made.folder / "archive").mkdir()
    (made.folder / "index").touch()
    for name in ("sh", "cat", "cp", "sort", "tail", "printf"):
        result = shutil.which(name)
        assert result
        (made.bin / name).symlink_to(result)
    for name, text in (
        ("apt-get", APT_GET),
        ("apt-cache", APT_CACHE),
        ("dpkg", DPKG),
        ("dpkg-deb", DPKG_DEB),
    ):
        made.tool(name, text)
    for kind in ("qemu", "linux"):
        (made.locks / f"{kind}.lock").write_text("")
    has = elf.present()
    monkeypatch.setattr(apt, "HELPER", made.tool("apt-helper", APT_HELPER))
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    words = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: words)
    monkeypatch.setattr(sources, "read", lambda: [SOURCE])
    monkeypatch.setattr(store, "lock_path", lambda kind: made.locks / f"{kind}.lock")
    monkeypatch.setattr(elf, "present", lambda: has)
    return made


@dataclass(frozen=True)
class Programs:
    """A program that prints a version as QEMU does. It needs the library alpha, which needs beta."""

    qemu: bytes
    alpha: bytes
    beta: bytes


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    folder = tmp_path_factory.mktemp("programs")

    def build(name: str, text: str, *flags: str) -> bytes:
        (folder / f"{name}.c").write_text(text)
        argv = [
            "cc",
            f"-L{folder}",
            f"-Wl,-rpath-link,{folder}",
            "-o",
            str(folder / name),
            str(folder / f"{name}.c"),
        ]
        subprocess.run([*argv, *flags], check=True, timeout=PATIENCE_S)
        return (folder / name).read_bytes()

    shared = ("-shared", "-fPIC")
    beta = build("libbgbeta.so.2", "int beta(void) { return 2; }\n", *shared, "-Wl,-soname,libbgbeta.so.2")
    text = "int beta(void); int alpha(void) { return beta(); }\n"
    alpha = build("libbgalpha.so.1", text, *shared, "-Wl,-soname,libbgalpha.so.1", "-l:libbgbeta.so.2")
    text = (
        "#include <stdio.h>\nint alpha(void);\n"
        'int main(void) { return printf("QEMU emulator version 10.0.%d (Debian)\\n", alpha()) < 0; }\n'
    )
    return Programs(build("qemu", text, "-l:libbgalpha.so.1"), alpha, beta)
