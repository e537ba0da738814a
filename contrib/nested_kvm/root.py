"""The disk from which the nested machine boots, a small Debian with the product's packages and cache, and the
QEMU that boots it.

Takes a folder to keep things in; gives the disk, the kernel, an initramfs that finds the disk, and QEMU. They
are made once for what they are made of: the packages, the Python lock, the locks of fetched programs and the
sources that are compiled. The checkout itself is not part of it (contrib/nested_kvm/machine.py). Needs root,
mmdebstrap, mke2fs and the network the first time. Fails with FetchError, or with the program that failed.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchgate.build.fetch import sources
from benchgate.build.fetch.store import this_release
from benchgate.build.programs import initramfs
from tools import fresh

RELEASE = "13"
"""Its kernel has a kvm-amd that works on QEMU's emulated SVM."""
TOOLS = (*fresh.TOOLS, "mke2fs", "nice")
PACKAGES = (
    *("ca-certificates", "python3", "python3-venv", "gcc", "libc6-dev", "make"),
    *("linux-image-cloud-amd64", "kmod", "linux-perf", "procps", "util-linux", "busybox-static"),
)
CHECKOUT = "root/benchgate"
BYTECODE = "/var/cache/bytecode"
SIZE = "6G"
_INPUTS = (
    "requirements.lock",
    "pyproject.toml",
    "run",
    "fixtures",
    "guest",
    "kernel",
)
_MORE_INPUTS = ("src/benchgate/insn/c",)
_PYTHON = ".venv/bin/python"
_QUICK = ("tests/smp", "tests/threads", "-q", "--quick", "--accel", "tcg", "--clock", "insn", "--smp", "1")
"""On the instruction clock, because a busy host fails no boot there."""
_FILL = (
    ("./run", "setup"),
    (".venv/bin/benchgate", "doctor"),
    (_PYTHON, "-m", "pytest", *_QUICK, "--system", "kernel", "--system", "linux"),
    (_PYTHON, "-m", "compileall", "-q", "src", "tests", "guest", "tools", "contrib", "conftest.py"),
)
"""What fills the new system's cache, so that the nested machine fetches and compiles little."""
_NOTHING_DECIDED = (5, 75)
"""A quick session decides nothing, and on a busy host noise voids its runs; its cache is filled."""

EMULATOR = "qemu-system-x86_64"
_EMULATOR = """\
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/emulator
export QEMU_MODULE_DIR="$root/usr/lib/x86_64-linux-gnu/qemu"
exec "$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" --argv0 "$0" \\
    "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "$@"
"""

_INIT = """\
#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /root
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
$b insmod /virtio_blk.ko
until [ -b /dev/vda ] && [ -b /dev/vdb ] && [ -b /dev/vdc ]; do $b sleep 0.1; done
$b mount -t ext4 -o noatime /dev/vda /root || $b poweroff -f
$b tar x -f /dev/vdb -C /root/{checkout} || $b poweroff -f
for one in proc sys dev; do $b mount --move /$one /root/$one; done
exec $b switch_root /root /bin/bash /{checkout}/contrib/nested_kvm/inside/init.sh
"""


@dataclass(frozen=True, slots=True)
class NestedDisk:
    """What QEMU boots."""

    image: Path
    kernel: Path
    initrd: Path
    qemu: Path
    """The newest one of Debian's backports, with libraries of its own. With the pinned one, 10.0.2, the
    machine panicked or stood still in three of seven sessions."""


def checkout_names() -> list[str]:
    """The files that git knows or would add, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=fresh.HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if name and (fresh.HERE / name).is_file())


def digest_of(names: Iterable[str]) -> str:
    """Of the inputs of a disk among these files."""
    result = hashlib.sha256(repr((RELEASE, PACKAGES, _FILL, _EMULATOR)).encode())
    for name in names:
        if name.split("/")[0] in _INPUTS or name.startswith((*_INPUTS, *_MORE_INPUTS)):
            result.update(f"{name}\0".encode() + hashlib.sha256((fresh.HERE / name).read_bytes()).digest())
    return result.hexdigest()[:32]


def disk(kept: Path) -> NestedDisk:
    """The disk for the checkout as it is; made if it is missing, and then the only one that is kept."""
    place = kept / digest_of(checkout_names())
    if not place.exists():
        shutil.rmtree(kept, ignore_errors=True)
        new = kept / "new"
        new.mkdir(parents=True)
        _make(new)
        new.rename(place)
    return NestedDisk(place / "disk.ext4", place / "vmlinuz", _initrd(place), place / EMULATOR)


def _make(folder: Path) -> None:
    print("nested: making the disk (a few minutes, only once) ...", flush=True)
    _make_emulator(folder)
    system = fresh.System(folder / "root", RELEASE, "root")
    fresh.make(system, _sources(), PACKAGES)
    for name in checkout_names():
        shutil.copystat(fresh.HERE / name, system.root / CHECKOUT / name)
    for words in _FILL:
        _inside(system, *words)
    (modules,) = (system.root / "lib/modules").iterdir()
    shutil.copy(system.root / "boot" / f"vmlinuz-{modules.name}", folder / "vmlinuz")
    shutil.copy(next(modules.rglob("virtio_blk.ko.xz")), folder)
    shutil.copy(system.root / "usr/bin/busybox", folder)
    options = ("-q", "-t", "ext4", "-O", "^has_journal", "-d", str(system.root))
    subprocess.run(["mke2fs", *options, str(folder / "disk.ext4"), SIZE], check=True)
    shutil.rmtree(system.root)


def _make_emulator(folder: Path) -> None:
    """Its root is kept, because this host's libraries may be older than the program needs."""
    newer = f"{fresh.RELEASES[RELEASE]}-backports"
    wanted = [f'--aptopt=APT::Default-Release "{newer}"', '--aptopt=APT::Install-Recommends "false"']
    fresh.bootstrap(folder / "emulator", RELEASE, _sources(newer), ["qemu-system-x86"], wanted)
    (folder / EMULATOR).write_text(_EMULATOR)
    (folder / EMULATOR).chmod(0o755)


def _sources(*more: str) -> str:
    return fresh.sources_for(fresh.RELEASES[RELEASE], sources.read(), this_release(), more)


def _initrd(folder: Path) -> Path:
    content = {
        "init": _INIT.format(checkout=CHECKOUT).encode(),
        "bin/busybox": (folder / "busybox").read_bytes(),
        "virtio_blk.ko": lzma.decompress((folder / "virtio_blk.ko.xz").read_bytes()),
    }
    (folder / "initrd").write_bytes(initramfs(content))
    return folder / "initrd"


def _inside(system: fresh.System, *words: str) -> None:
    code, _ = system.run(["env", f"PYTHONPYCACHEPREFIX={BYTECODE}", *words], system.user)
    if code and not ("pytest" in words and code in _NOTHING_DECIDED):
        raise SystemExit(f"nested: {' '.join(words)}: exit {code}")
