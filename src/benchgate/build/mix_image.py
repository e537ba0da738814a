"""Prepares the guest of a mix: either a kernel and its modules, an archive with all programs, and a disk; or
a kernel that was built with all programs and its own conductor.

Takes a mix, the text of its plan and the session's images; gives an `Image`. The archive is written into a
folder of the caller, because each mix has its own and no other can use it. Fails with FetchError or
BuildError.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.files import file_digest
from benchgate.base.mix_runs import Mix
from benchgate.base.runs import Image
from benchgate.base.system.boots import FETCHED_LINUX
from benchgate.base.workload.workloads import Workload
from benchgate.build import cache, ext2, programs, workload_files
from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.build.images import Images

DISK_BYTES = 128 << 20
PLAN = "mix"
"""The plan's place in the archive; guest/port/linux/mix/plan.c reads it."""


def image(mix: Mix, plan: str, images: Images, folder: Path) -> Image:
    asked = {PLAN: hashlib.sha256(plan.encode()).hexdigest()}
    if mix.own_conductor:
        kernel = images.mixed(mix.system.at(mix.cpus), tuple(mix.programs.values()))
        return Image(kernel, None, None, {"kernel": file_digest(kernel), **asked}, ())
    content = {"init": programs.init(), "bench": programs.conductor(), **_modules(mix, images)}
    for place, workload in mix.programs.items():
        content |= {f"{place}/{name}": path for name, path in _files(workload, images).items()}
    found, digests, labels = images.kernel(
        mix.system.at(mix.cpus), next(iter(mix.programs.values()), mix.program)
    )
    digests = {**digests, **{name: file_digest(path) for name, path in content.items()}}
    archive = folder / f"{mix.digest}.cpio"
    if not archive.is_file():
        held = {name: path.read_bytes() for name, path in content.items()}
        archive.write_bytes(programs.initramfs({**held, PLAN: plan.encode()}))
    disks = (disk(),) if mix.needs_disk else ()
    digests |= asked
    digests |= {"disk": f"an empty ext2 file system of {DISK_BYTES} bytes"} if disks else {}
    return Image(found, archive, None, digests, labels, disks=disks)


def disk() -> Path:
    """An empty file system, with which each boot starts anew (base/system/disks.py)."""

    def make(files: Path) -> None:
        with (files / "ext2.img").open("wb") as stream:
            stream.truncate(DISK_BYTES)
            for place, piece in ext2.pieces(DISK_BYTES).items():
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
        found = inputs.linux_modules(mix.system.arch, locked=images.locked, session=session)
    return {f"modules/{name}": path for name, path in found.items()}
