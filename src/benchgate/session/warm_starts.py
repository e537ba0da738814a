"""The snapshots from which a session's guests start warm. Each is made once (run/snapshot_cache.py).

Takes a planned cell whose system starts warm, its image and QEMU, and the seed of a boot; gives its
`GuestSnapshot`. Fails like run/snapshot_cache.py, and with UsageError if the content is not known on which a
snapshot depends.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.files import file_digest
from benchgate.base.runs import BootSpec, Image
from benchgate.base.snapshots import GuestSnapshot, boot_of
from benchgate.base.system.systems import System
from benchgate.base.text import counted
from benchgate.build.cache_storage import Notice
from benchgate.plan.planned import PlannedCell
from benchgate.run import argv
from benchgate.run.argv import BootOptions, VmConfig
from benchgate.run.record import clock_log
from benchgate.run.snapshot_cache import BootToKeep, kept

_ANY = "0" * 16
"""Stands for the nonce: what is typed before the first prompt does not depend on it."""


class WarmStarts:
    def __init__(self, notice: Notice, boots: int) -> None:
        self.boots = boots
        """How many different boots stand behind the seeds of an arm: each in its turn."""
        self._notice = notice
        self._made: dict[tuple[str, ...], GuestSnapshot] = {}
        self._last: dict[int, tuple[PlannedCell, Image, GuestSnapshot]] = {}
        """By its boot, what was asked for last: mostly the next runs are of the same cell."""

    def boot_of(self, seed: int) -> int:
        return boot_of(seed, self.boots)

    def of(self, planned: PlannedCell, image: Image, vm: VmConfig, boot: int) -> GuestSnapshot:
        """`boot`: its seed."""
        last = self._last.get(boot)
        same = last is not None and last[0] is planned and last[1] is image
        # Files that its arguments name may have changed.
        if last is None or not same or planned.system.qemu.arguments:
            self._last[boot] = last = (planned, image, self._of(planned, image, vm, boot))
        return last[2]

    def _of(self, planned: PlannedCell, image: Image, vm: VmConfig, boot: int) -> GuestSnapshot:
        wanted = _boot(planned, image, vm, boot)
        known = tuple(f"{name} {value}" for name, value in wanted.inputs.items())
        if known not in self._made:
            self._made[known] = kept(wanted, self._notice)
        return self._made[known]


def _boot(planned: PlannedCell, image: Image, vm: VmConfig, boot: int) -> BootToKeep:
    def spec(mark: str, work: Path) -> BootSpec:
        options = BootOptions(mark, log=clock_log(work), seed=boot, saves=work)
        return argv.guest_spec(planned, image, vm, options)

    return BootToKeep(
        f"{planned.system.name}, {counted(planned.cell.cpus, 'CPU')}, boot {boot}",
        spec,
        argv.script(planned, _ANY),
        boot,
        {name: digest for name, digest in image.digests.items() if name not in image.later},
        {str(path): file_digest(path) for path in _named_files(planned.system)},
    )


def _named_files(system: System) -> list[Path]:
    """The files that a system's own arguments of QEMU name, as words or as values of their options."""
    words = (word.replace(",,", "\0") for word in system.qemu.arguments)
    parts = [part.replace("\0", ",") for word in words for part in re.split(r"[,=]", word)]
    # A word that is only a path may have a comma.
    parts += [word for word in system.qemu.arguments if word not in parts]
    paths = [path for path in map(Path, parts) if path.exists() and path != Path()]
    for path in paths:
        if not path.is_file() and path.is_absolute():
            raise UsageError(
                f"{system.name} cannot start warm: `qemu.arguments` has {path}, which is no file with a "
                "content that a snapshot can be of; leave out start=warm, or --start"
            )
    return [path for path in paths if path.is_file()]
