"""Prepares the guest of a mix: either a kernel and its modules, an archive with all programs, and a disk; or
a kernel that was built with all programs and its own conductor.

Takes a mix, the text of its plan and the session's images; gives an `Image`. The archive is written into a
folder of the caller, because each mix has its own and no other can use it. Fails with FetchError or
BuildError.

The disk is an empty ext2 file system, byte for byte the same each time. Its format is that of the Linux
kernel's Documentation/filesystems/ext4/ and ext2.rst, revision 1: one block group, no journal, no reserved
blocks. A size that one group cannot hold is a ValueError.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.files import file_digest
from benchgate.base.runs import Image
from benchgate.base.system.boots import FETCHED_LINUX
from benchgate.base.workload.workloads import Workload
from benchgate.build import cache, programs, workload_files
from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.build.images import Images
from benchgate.features.mix.guest.mix_runs import Mix

BLOCK = 4096
MOST_BLOCKS = 8 * BLOCK
"""The most blocks, because the bitmap of a group is one block."""
_INODE, _INODES = 256, 1024
_RESERVED_INODES = 10
_ROOT = 2
_BLOCK_BITMAP, _INODE_BITMAP, _TABLE = 2, 3, 4
_ROOT_BLOCK = _TABLE + _INODE * _INODES // BLOCK
_USED_BLOCKS = _ROOT_BLOCK + 1
_MAGIC, _CLEAN, _GO_ON = 0xEF53, 1, 1
_HAS_TYPES = 0x0002
"""The incompatible feature FILETYPE."""
_FOLDER, _FOLDER_TYPE = 0o040755, 2
DISK_BYTES = 128 << 20
PLAN = "mix"
"""The plan's place in the archive; guest/port/linux/mix/plan.c reads it."""


def empty_ext2(size: int) -> Mapping[int, bytes]:
    blocks = size // BLOCK
    if size % BLOCK or not 2 * _USED_BLOCKS <= blocks <= MOST_BLOCKS:
        raise ValueError(f"{size} bytes are not {2 * _USED_BLOCKS} to {MOST_BLOCKS} blocks of {BLOCK}")
    free = blocks - _USED_BLOCKS, _INODES - _RESERVED_INODES
    return {
        1024: _superblock(blocks),
        BLOCK: struct.pack("<IIIHHH", _BLOCK_BITMAP, _INODE_BITMAP, _TABLE, *free, 1),
        _BLOCK_BITMAP * BLOCK: _bitmap(_USED_BLOCKS, blocks),
        _INODE_BITMAP * BLOCK: _bitmap(_RESERVED_INODES, _INODES),
        _TABLE * BLOCK + (_ROOT - 1) * _INODE: _root_inode(),
        _ROOT_BLOCK * BLOCK: _entry(_ROOT, b".", 12) + _entry(_ROOT, b"..", BLOCK - 12),
    }


def _superblock(blocks: int) -> bytes:
    log_block = BLOCK.bit_length() - 11
    counts = _INODES, blocks, 0, blocks - _USED_BLOCKS, _INODES - _RESERVED_INODES, 0
    head = struct.pack("<13I", *counts, log_block, log_block, MOST_BLOCKS, MOST_BLOCKS, _INODES, 0, 0)
    state = struct.pack("<HHHHHHIIIIHH", 0, 0xFFFF, _MAGIC, _CLEAN, _GO_ON, 0, 0, 0, 0, 1, 0, 0)
    extended = struct.pack("<IHHIII", _RESERVED_INODES + 1, _INODE, 0, 0, _HAS_TYPES, 0)
    return head + state + extended


def _bitmap(used: int, count: int) -> bytes:
    """Makes a bitmap in which the bits of what does not exist are set, too."""
    bits = (1 << used) - 1 | ((1 << 8 * BLOCK) - (1 << count))
    return bits.to_bytes(BLOCK, "little")


def _root_inode() -> bytes:
    head = struct.pack("<HHIIIIIHHIII", _FOLDER, 0, BLOCK, 0, 0, 0, 0, 0, 2, BLOCK // 512, 0, 0)
    return head + struct.pack("<I", _ROOT_BLOCK)


def _entry(inode: int, name: bytes, length: int) -> bytes:
    return (struct.pack("<IHBB", inode, length, len(name), _FOLDER_TYPE) + name).ljust(length, b"\0")


def image(mix: Mix, plan: str, images: Images, folder: Path) -> Image:
    asked = {PLAN: hashlib.sha256(plan.encode()).hexdigest()}
    if mix.own_conductor:
        kernel = images.mixed(mix.system.at(mix.cpus), tuple(mix.programs.values()))
        return Image(kernel, None, None, {"kernel": file_digest(kernel), **asked}, ())
    tuning = images.tuning(mix.system)
    first = programs.init(first=workload_files.first_program(tuning))
    content = {"init": first, "bench": programs.conductor(), **_modules(mix, images), **tuning}
    for place, workload in mix.programs.items():
        content |= {f"{place}/{name}": path for name, path in _files(workload, images).items()}
    workload = next(iter(mix.programs.values()), mix.program)
    result, digests, labels = images.kernel(mix.system.at(mix.cpus), workload)
    digests = {**digests, **{name: file_digest(path) for name, path in content.items()}}
    archive = folder / f"{mix.digest}.cpio"
    if not archive.is_file():
        held = {name: path.read_bytes() for name, path in content.items()}
        archive.write_bytes(programs.initramfs({**held, PLAN: plan.encode()}))
    disks, start = (disk(),) if mix.needs_disk else (), images.start(mix.system)
    digests |= asked
    digests |= {"disk": f"an empty ext2 file system of {DISK_BYTES} bytes"} if disks else {}
    digests |= {"start": file_digest(start)} if start else {}
    later = frozenset({PLAN, *content})
    return Image(result, archive, None, digests, labels, disks=disks, start=start, later=later)


def disk() -> Path:
    """An empty file system, with which each boot starts anew (base/system/qemu.py)."""

    def make(files: Path) -> None:
        with (files / "ext2.img").open("wb") as stream:
            stream.truncate(DISK_BYTES)
            for place, piece in empty_ext2(DISK_BYTES).items():
                stream.seek(place)
                stream.write(piece)

    return cache.entry("mix-disk", {"format": "1", "bytes": str(DISK_BYTES)}, make) / "ext2.img"


def _files(workload: Workload, images: Images) -> Mapping[str, Path]:
    """The program, and the files that it reads while it runs."""
    tool = images.tool_files(workload)
    files = workload_files.data_for_guest(workload)
    if tool is None:
        return {"bench": programs.part_program(workload), **files}
    runner = workload_files.tool_runner(workload, programs.part_program)
    return {"bench": runner, **workload_files.tool_for_guest(workload, tool), **files}


def _modules(mix: Mix, images: Images) -> dict[str, Path]:
    """The fetched kernel's modules. A user's own kernel must have them built in, else the conductor fails."""
    if not (mix.needs_disk or mix.needs_network) or mix.system.boot.kernel != FETCHED_LINUX:
        return {}
    with FetchSession(images.notice) as session:
        paths = inputs.linux_modules(mix.system.arch, locked=images.locked, session=session)
    return {f"modules/{name}": path for name, path in paths.items()}
