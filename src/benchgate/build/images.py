"""Prepares the files that a system boots: fetches or builds the kernel, makes the initramfs, digests both.

Takes a system at a CPU count (`System.at`), a workload and the source of the Linux kernel; gives an `Image`.
Fails with FetchError or BuildError, which name the file and the key in the system's YAML file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchgate.base import identity
from benchgate.base.errors import BuildError
from benchgate.base.files import file_digest
from benchgate.base.runs import Image
from benchgate.base.snapshots import StartKind
from benchgate.base.system.arch import Architecture
from benchgate.base.system.boots import (
    BUILT_LINUX,
    DEFAULT_FIRMWARE,
    FETCHED_LINUX,
    NO_FIRMWARE,
    WORKLOAD_INITRD,
    BootDefinition,
    Build,
)
from benchgate.base.system.systems import System, SystemKind, plain_name
from benchgate.base.text import counted
from benchgate.base.workload.workloads import GUEST_FILES, UNVERIFIED, Workload
from benchgate.build import programs, workload_files
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import cross, inputs
from benchgate.build.fetch.inputs import LinuxKernel
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.tool import ToolFiles
from benchgate.build.fetch.tool import fetch as fetch_tool
from benchgate.build.kernel_maker import maker_of
from benchgate.build.revision import sources_of
from benchgate.build.toolchain import Compiler


def guest_digest(image: Image) -> str:
    """One digest of all files that the guest consists of."""
    return identity.guest_digest(image.digests)


_WORDS = {DEFAULT_FIRMWARE, NO_FIRMWARE, FETCHED_LINUX, BUILT_LINUX, WORKLOAD_INITRD}
"""The words that a YAML file may have in place of a file."""
_SETTLED_NS = 2_000_000_000
"""Two changes within a tick of the host's clock have one stamp, so a new file's stamp proves nothing."""


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Differs after every change, because no process can choose the ctime; None if the file is gone."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _has_digest(path: Path, digest: str) -> bool:
    try:
        return file_digest(path) == digest
    except OSError:
        return False


def require_counts(system: System, counts: Collection[int]) -> None:
    """Raises BuildError with all missing files of a system that has a guest for each CPU count. Files that
    are still to be built are not looked for."""
    missing = []
    for cpus in sorted(counts) if system.has_guest_per_count else ():
        at = system.at(cpus).boot
        named = {"boot.kernel": at.loaded, "boot.initrd": at.initrd, "boot.firmware": at.firmware}
        named |= {f"boot.disks.{number}": disk.image for number, disk in enumerate(at.disks)}
        for key, word in named.items():
            path = system.file.parent / word
            if word and "{" not in word and word not in _WORDS and not path.is_file():
                missing.append(f"{key}: {path}, for {counted(cpus, 'CPU')}")
    if missing:
        advice = "build it first, or leave that CPU count out with --smp or `cpus`"
        raise BuildError(f"{system.file}: there is no file {'; '.join(missing)}; {advice}")


def _process(workload: Workload, tool: ToolFiles | None) -> Image:
    """The image of a system that is a process on this host."""
    program = workload_files.tool_runner(workload) if tool else programs.guest_program(workload)
    digests = {"program": file_digest(program), **workload_files.data_digest(workload)}
    digests |= workload_files.tool_digest(workload, tool) if tool else {}
    data = str(workload_files.data_for_process(workload)) if workload.files else ""
    labels = _labels(workload, tool)
    return Image(None, None, program, digests, labels, tool.folder if tool else None, data)


def _labels(workload: Workload, tool: ToolFiles | None) -> tuple[str, ...]:
    if tool is None or workload.tool is None:
        return ()
    unverified = () if workload.tool.verifies else (f"{workload.name}: {UNVERIFIED}",)
    return (*tool.labels, *unverified)


@dataclass
class Images:
    """Makes each image once per session."""

    locked: bool
    notice: Notice
    _linux: dict[tuple[str, ...], LinuxKernel] = field(default_factory=dict)
    """Maps the kernel that a system boots, what it is built of, and the architecture, to the kernel."""
    _made: dict[tuple[str, str, BootDefinition, Build | None], Image] = field(default_factory=dict)
    _checked: dict[Path, tuple[int, ...]] = field(default_factory=dict)
    """The stamp of each file when its content was last compared with its digest."""
    _builds: dict[tuple[str, Build, tuple[tuple[str, Path], ...]], Path] = field(default_factory=dict)
    """Maps a system's plain name, its build and the workloads in it to the folder of what was built."""

    def of(self, system: System, workload: Workload) -> Image:
        program = f"{workload.program} with {', '.join(sorted(workload.services))}"
        key = system.name, program, system.boot, system.build
        if key not in self._made:
            self._made[key] = self._make(system, workload)
        return self._made[key]

    def check(self, system: System, workload: Workload) -> None:
        """Raises BuildError if a file has changed since it was digested. Each boot reads it again, so that a
        rebuild during a session would mix runs of two different kernels."""
        image = self.of(system, workload)
        for name, path in image.files.items():
            if not self._is_unchanged(path, image.digests[name]):
                raise BuildError(
                    f"{path} was changed while {workload.name}-{system.name} was being measured, so its "
                    "runs would use different guests; do not build during a session, and run again"
                )

    def _is_unchanged(self, path: Path, digest: str) -> bool:
        """Reads the content only if the file has changed since the last read, because a kernel has 60 MB."""
        stamp = _stamp(path)
        if stamp is None or self._checked.get(path) != stamp:
            if not _has_digest(path, digest):
                return False
            if stamp is not None and time.time_ns() - stamp[-1] > _SETTLED_NS:
                self._checked[path] = stamp
        return True

    def symbols(self, system: System, workload: Workload) -> Path | None:
        """The ELF file that resolves addresses of the program; None if the system has none."""
        if not system.boot.symbols:
            return None
        name = system.boot.symbols.replace("{workload}", workload.program)
        return self._file(system, workload, name, "boot.symbols")

    def program(self, system: System, workload: Workload) -> Path | None:
        """The same ELF file for a profile, also on our Linux guest, where `symbols` gives None."""
        if system.boot.symbols or system.boot.initrd != WORKLOAD_INITRD or workload.tool is not None:
            return self.symbols(system, workload)
        return programs.guest_program(workload, self._compiler(system.arch))

    def linux(self, system: System) -> LinuxKernel:
        kernel, guest, boot = system.boot.kernel, system.arch, system.boot
        key = kernel, boot.source, boot.config, guest.name
        if key not in self._linux:
            self._linux[key] = self._made_linux(system) if boot.source else self._fetched_linux(system)
        return self._linux[key]

    def _fetched_linux(self, system: System) -> LinuxKernel:
        kernel, named = system.boot.kernel, f"the kernel of {system.name}:"
        path = None if kernel == FETCHED_LINUX else system.file.parent / kernel
        return inputs.linux_kernel(path, system.arch, locked=self.locked, notice=self.notice, named=named)

    def _made_linux(self, system: System) -> LinuxKernel:
        return maker_of(system)(system, locked=self.locked, notice=self.notice)

    def _make(self, system: System, workload: Workload) -> Image:
        tool = self.tool_files(workload)
        if system.kind is SystemKind.NATIVE:
            return _process(workload, tool)
        kernel, digests, labels = self.kernel(system, workload)
        start, program = self.start(system), self._program_for_later(system, workload)
        later = {"initrd": start, "program": program}
        image = Image(
            kernel,
            self._initrd(system, workload, tool),
            program,
            digests,
            (*labels, *_labels(workload, tool)),
            data_folder=f"/{GUEST_FILES}" if workload.files else "",
            disks=tuple(
                self._file(system, workload, disk.image, f"boot.disks.{number}")
                for number, disk in enumerate(system.boot.disks)
            ),
            firmware=self._firmware(system, workload),
            start=start,
            later=frozenset(name for name, path in later.items() if path is not None),
        )
        more = {name: file_digest(path) for name, path in image.files.items() if name not in digests}
        return replace(image, digests={**digests, **more})

    def start(self, system: System) -> Path | None:
        """The archive that a guest boots of which a snapshot is taken; None if it boots its own."""
        if system.boot.start is StartKind.COLD or system.boot.initrd != WORKLOAD_INITRD:
            return None
        return programs.start(self._compiler(system.arch))

    def _program_for_later(self, system: System, workload: Workload) -> Path | None:
        """What a kernel that waits gets beside its command line."""
        waiting = system.boot.waiting
        if waiting is None or not waiting.program:
            return None
        word = waiting.program.replace("{workload}", workload.program)
        return self._file(system, workload, word, "boot.warm.program")

    def _firmware(self, system: System, workload: Workload) -> Path | None:
        if system.boot.firmware in {DEFAULT_FIRMWARE, NO_FIRMWARE}:
            return None
        return self._file(system, workload, system.boot.firmware, "boot.firmware")

    def _compiler(self, guest: Architecture) -> Compiler:
        with FetchSession(self.notice) as session:
            return cross.compiler(guest, locked=self.locked, session=session)

    def tool_files(self, workload: Workload) -> ToolFiles | None:
        if workload.tool is None:
            return None
        with FetchSession(self.notice) as session:
            return fetch_tool(workload.tool.package, locked=self.locked, session=session)

    def kernel(
        self, system: System, workload: Workload
    ) -> tuple[Path | None, Mapping[str, str], tuple[str, ...]]:
        """The file, its digests and its labels."""
        if not system.boot.kernel:
            return None, {}, ()
        if system.boot.is_linux:
            linux = self.linux(system)
            digests = {"kernel": linux.digest, "kernel_config": linux.config_digest}
            if linux.packed:
                digests["vmlinuz"] = linux.packed
            return linux.image, digests, linux.labels
        key = "boot.kernel" if system.boot.waiting is None else "boot.warm.kernel"
        path = self._file(system, workload, system.boot.loaded, key)
        return path, {"kernel": file_digest(path)}, ()

    def mixed(self, system: System, parts: Sequence[Workload]) -> Path:
        """Builds a kernel with these programs and its own conductor."""
        recipe = system.build
        if recipe is None or not recipe.mix or "{out}" not in system.boot.kernel:
            lack = "no command `mix`, which a kernel for mixes needs"
            raise BuildError(f"{system.file}: build: there is {lack}")
        recipe = replace(recipe, commands=recipe.mix)
        out = self._run(system, recipe, None, tuple(sorted(parts, key=lambda workload: workload.name)))
        path = Path(system.boot.kernel.replace("{out}", str(out)))
        if not path.is_file():
            raise BuildError(f"{system.file}: boot.kernel: {path} does not exist; correct `build.mix`")
        return path

    def tuning(self, system: System) -> dict[str, Path]:
        """What PID 1 needs for the settings of a system, by its place in the archive."""
        loader = self.linux(system).bpf_loader if system.boot.scheduler else None
        return workload_files.tuning_for_guest(system.boot, loader)

    def _initrd(self, system: System, workload: Workload, tool: ToolFiles | None) -> Path | None:
        if system.boot.initrd == WORKLOAD_INITRD:
            tuning = self.tuning(system)
            if tool is not None:
                return workload_files.tool_initramfs(workload, tool, tuning)
            compiler = self._compiler(system.arch)
            return programs.linux_initramfs(
                programs.guest_program(workload, compiler),
                {**workload_files.data_for_guest(workload), **tuning},
                compiler=compiler,
                first=workload_files.first_program(tuning),
            )
        if workload.files:
            raise BuildError(
                f"{system.file}: workload {workload.name} has files, which are in the archive of the Linux "
                f"guest only: write `initrd: {WORKLOAD_INITRD}`, or leave `files` out of `services`"
            )
        if not system.boot.initrd:
            return None
        return self._file(system, workload, system.boot.initrd, "boot.initrd")

    def _file(self, system: System, workload: Workload, word: str, key: str) -> Path:
        """Finds a file that a YAML file names: either built into {out}, or relative to the YAML file."""
        if "{out}" in word:
            if system.build is None:
                raise BuildError(f"{system.file}: {key}: {{out}} needs the key `build`, which is missing")
            out = self._run(system, system.build, workload if system.build.per_workload else None)
            path = Path(word.replace("{out}", str(out)))
        else:
            path = system.file.parent / word
        if not path.is_file() or not os.access(path, os.R_OK):
            why = "cannot be read" if path.exists() else "does not exist"
            raise BuildError(f"{system.file}: {key}: {path} {why}; build it first, or correct the path")
        return path

    def _run(
        self, system: System, recipe: Build, workload: Workload | None, parts: Sequence[Workload] = ()
    ) -> Path:
        """The build folder. Its key has the plain name: settings that change no command share one build."""
        name, within = plain_name(system.name), [workload] if workload else parts
        key = name, recipe, tuple((part.program, part.source) for part in within)
        if key not in self._builds:
            of = f" for {', '.join(part.name for part in within)}" if within else ""
            self.notice(f"building {name}{of}")
            self._builds[key] = programs.run_build(
                recipe.commands,
                recipe.folder,
                recipe.sources,
                name=name,
                workload=workload,
                files=recipe.files,
                commit=sources_of(recipe.folder, recipe.revision) if recipe.revision else None,
                parts=parts,
                part=recipe.part if parts else (),
            )
        return self._builds[key]
