"""Systems made ready to boot: kernels fetched or built, initramfs made, all of it digested.

Takes a planned cell and where QEMU and Linux come from; gives `Image`. Fails with FetchError or BuildError
that name the file and the key of the system's YAML that asked for it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate import build, fetch
from benchgate.errors import BuildError
from benchgate.fetch import LinuxKernel
from benchgate.files import file_digest
from benchgate.model import Image, Workload
from benchgate.plan import PlannedCell
from benchgate.shelf import Notice
from benchgate.systems import FETCHED_LINUX, WORKLOAD_INITRD, Build, Kind, System


def guest_digest(image: Image) -> str:
    """One digest for everything that the guest is made of."""
    text = "".join(f"{name}={value}\n" for name, value in sorted(image.digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _holds(path: Path, digest: str) -> bool:
    try:
        return file_digest(path) == digest
    except OSError:
        return False


@dataclass
class Images:
    """Makes each image once a session."""

    linux_path: Path | None
    locked: bool
    notice: Notice
    _linux: LinuxKernel | None = None
    _made: dict[tuple[str, str], Image] = field(default_factory=dict)

    def of(self, planned: PlannedCell) -> Image:
        key = planned.system.name, planned.workload.name
        if key not in self._made:
            self._made[key] = self._make(planned)
        return self._made[key]

    def check(self, planned: PlannedCell) -> None:
        """BuildError if a file is no longer what was digested: each boot reads it anew, and one that somebody
        rebuilds beside a session would make a ratio of two kernels."""
        image = self.of(planned)
        for name, path in (("kernel", image.kernel), ("initrd", image.initrd), ("program", image.program)):
            if path is not None and not _holds(path, image.digests[name]):
                raise BuildError(
                    f"{path} was changed while {planned.cell.row} was being measured, so its runs would be "
                    "of different guests; run again, and build before or after"
                )

    def symbols(self, planned: PlannedCell) -> Path | None:
        """The ELF file that names the addresses of the program that runs, where the system keeps one."""
        system = planned.system
        if not system.symbols:
            return None
        return self._file(
            planned, system.symbols.replace("{workload}", planned.workload.name), "boot.symbols"
        )

    def linux(self) -> LinuxKernel:
        if self._linux is None:
            self._linux = fetch.linux_kernel(self.linux_path, locked=self.locked, notice=self.notice)
        return self._linux

    def _make(self, planned: PlannedCell) -> Image:
        system = planned.system
        if system.kind is Kind.NATIVE:
            program = build.guest_program(planned.workload)
            return Image(None, None, program, {"program": file_digest(program)})
        kernel, digests, labels = self._kernel(planned)
        initrd = self._initrd(planned)
        if initrd is not None:
            digests = {**digests, "initrd": file_digest(initrd)}
        return Image(kernel, initrd, None, digests, labels)

    def _kernel(self, planned: PlannedCell) -> tuple[Path, Mapping[str, str], tuple[str, ...]]:
        system = planned.system
        if system.kernel == FETCHED_LINUX:
            linux = self.linux()
            digests = {"kernel": linux.digest, "kernel_config": linux.config_digest}
            return linux.image, digests, linux.labels
        path = self._file(planned, system.kernel, "boot.kernel")
        return path, {"kernel": file_digest(path)}, ()

    def _initrd(self, planned: PlannedCell) -> Path | None:
        system = planned.system
        if not system.initrd:
            return None
        if system.initrd == WORKLOAD_INITRD:
            return build.linux_initramfs(build.guest_program(planned.workload))
        return self._file(planned, system.initrd, "boot.initrd")

    def _file(self, planned: PlannedCell, word: str, key: str) -> Path:
        """A file that a YAML names: built into {out}, or beside the YAML."""
        system = planned.system
        if "{out}" in word:
            if system.build is None:
                raise BuildError(f"{system.file}: {key}: {{out}} is made by `build`, which is missing")
            self.notice(f"building {system.name}")
            path = Path(word.replace("{out}", str(self._built(system, system.build, planned.workload))))
        else:
            path = system.file.parent / word
        if not path.is_file() or not os.access(path, os.R_OK):
            why = "cannot be read" if path.exists() else "does not exist"
            raise BuildError(f"{system.file}: {key}: {path} {why}; build it first, or correct the path")
        return path

    def _built(self, system: System, recipe: Build, workload: Workload) -> Path:
        """By its plain name: settings that change no command share one build, so one binary."""
        return build.run_build(
            recipe.commands,
            recipe.folder,
            recipe.sources,
            name=system.name.partition(".")[0],
            workload=workload if recipe.per_workload else None,
        )
