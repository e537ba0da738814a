"""The snapshots from which a session's guests start warm. Each is made once, and kept in the cache.

Takes a planned cell whose system starts warm, its image and QEMU, and the seed of a boot; gives its
`GuestSnapshot`. The key is everything on which the content depends, without a path of this machine, so
another host makes the same snapshot under the same key. Fails with BootError if the guest cannot be saved,
with HostError if the disk may not hold it, with UsageError if the content is not known on which it depends,
and with EvidenceError if what the cache has is no snapshot.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import EvidenceError, HostError, UsageError
from benchgate.base.files import file_digest
from benchgate.base.runs import Image
from benchgate.base.snapshots import RAM, SCHEMA, GuestSnapshot, boot_of, read_record
from benchgate.base.system.qemu import comma_safe
from benchgate.base.system.script import Script
from benchgate.base.system.systems import System
from benchgate.build import cache
from benchgate.build.cache_storage import Notice
from benchgate.insn.machine_shape import shape_of
from benchgate.insn.plugin import source_digest
from benchgate.plan.planned import PlannedCell
from benchgate.run import argv, snapshot
from benchgate.run.argv import BootOptions, VmConfig
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import started
from benchgate.run.record import clock_log

KIND = "snapshot"
_MARK = "0" * 16
"""Stands for the nonce of a boot in the key."""
_NOWHERE = Path("/snapshot")
_MAKING_S = 1800.0


class WarmStarts:
    def __init__(self, notice: Notice, boots: int) -> None:
        self.boots = boots
        """How many different boots stand behind the seeds of an arm: each in its turn."""
        self._notice = notice
        self._made: dict[tuple[str, ...], GuestSnapshot] = {}

    def boot_of(self, seed: int) -> int:
        return boot_of(seed, self.boots)

    def of(self, planned: PlannedCell, image: Image, vm: VmConfig, boot: int) -> GuestSnapshot:
        """`boot`: its seed."""
        inputs = _inputs(planned, image, vm, boot)
        known = tuple(f"{name} {value}" for name, value in inputs.items())
        if known not in self._made:
            self._made[known] = self._kept(planned, image, vm, boot, inputs)
        return self._made[known]

    def _kept(
        self, planned: PlannedCell, image: Image, vm: VmConfig, boot: int, inputs: Mapping[str, str]
    ) -> GuestSnapshot:
        def make(files: Path) -> None:
            told = f"{planned.system.name}, {planned.cell.cpus} CPUs, boot {boot}"
            self._notice(f"making a snapshot of {told}")
            _make(files, planned, image, vm, boot, inputs)

        folder = cache.entry(KIND, inputs, make, wait_s=_MAKING_S, notice=self._notice)
        try:
            found = read_record(folder)
        except (OSError, ValueError) as error:
            raise EvidenceError(f"{folder} has no snapshot: {error}") from error
        if (found.boot, found.inputs) != (boot, inputs):
            differs = next((name for name in inputs if inputs[name] != found.inputs.get(name)), "boot")
            raise EvidenceError(
                f"{folder} has the snapshot of another guest ({differs} differs): remove {folder.parent}"
            )
        return GuestSnapshot(folder, found)


def _make(  # noqa: PLR0913, PLR0917 - what a snapshot is of
    files: Path, planned: PlannedCell, image: Image, vm: VmConfig, boot: int, inputs: Mapping[str, str]
) -> None:
    work, mark = files / "work", secrets.token_hex(8)
    work.mkdir()
    spec = argv.guest_spec(planned, image, vm, _boot(mark, work, boot))
    script = argv.script(planned, mark)
    saved = snapshot.BootToSave(script, spec.deadlines.boot_s, boot, inputs)
    typing = snapshot.typing_pace(script)
    with started(spec, work, mark=mark, limits=ConsoleLimits(), typing=typing) as guest:
        guest.prepare()
        _require_space(work)
        guest.go()
        if guest.talk is None:
            raise ValueError("a guest of which a snapshot is taken stops at its console")
        ends = snapshot.SavedGuest(guest.console, guest.talk, guest.qmp, work)
        snapshot.take(ends, files, saved)
    shutil.rmtree(work)


def _require_space(work: Path) -> None:
    """QEMU has made the files of the guest's memory, in their whole size; it dies if the disk is full."""
    most, free = sum(path.stat().st_size for path in work.glob(f"{RAM}*")), shutil.disk_usage(work).free
    if free < most:
        raise HostError(
            f"a snapshot may need {most >> 20} MiB in {work.parent}, and {free >> 20} MiB are free; "
            "free more, or set BENCHGATE_CACHE to another disk"
        )


def _boot(mark: str, work: Path, seed: int) -> BootOptions:
    return BootOptions(mark, log=clock_log(work), seed=seed, saves=work)


def _inputs(planned: PlannedCell, image: Image, vm: VmConfig, boot: int) -> Mapping[str, str]:
    """Everything on which the content depends."""
    words = "\0".join(argv.guest_spec(planned, image, vm, _boot(_MARK, _NOWHERE, boot)).argv)
    own = {path: name for name, path in image.files.items()}
    own |= dict.fromkeys(vm.qemu.data, "data") | {vm.qemu.binary: "qemu"}
    own |= {} if vm.clock is None else {vm.clock: "clock"}
    named = _named_files(planned.system)
    own |= {path: f"file{number}" for number, path in enumerate(named) if path.is_absolute()}
    for path, name in sorted(own.items(), key=lambda item: len(str(item[0])), reverse=True):
        for form in (comma_safe(str(path)), str(path)):  # as a part of a word, and as a whole one
            words = words.replace(form, f"{{{name}}}")
    script = argv.script(planned, _MARK)
    later = frozenset() if image.start is None else image.later
    return {
        "machine": shape_of(planned.system, planned.cell.cpus),
        **{f"file {name}": digest for name, digest in image.digests.items() if name not in later},
        **{f"file of arguments {number}": file_digest(path) for number, path in enumerate(named)},
        "qemu": f"{vm.qemu.version_text} {vm.qemu.digest}",  # a script's digest is not that of its QEMU
        "clock": source_digest(),
        "words": words.replace("\0", " "),
        "prompt": "" if script is None else _awaited(script),
        "quiet": str(snapshot.typing_pace(script).quiet_ns),
        "boot": str(boot),
        "format": str(SCHEMA),
    }


def _named_files(system: System) -> list[Path]:
    """The files that a system's own arguments of QEMU name, as words or as values of their options."""
    words = (word.replace(",,", "\0") for word in system.qemu.arguments)
    parts = [part.replace("\0", ",") for word in words for part in re.split(r"[,=]", word)]
    # A word that is only a path may have a comma.
    parts += [word for word in system.qemu.arguments if word not in parts]
    found = [path for path in map(Path, parts) if path.exists() and path != Path()]
    for path in found:
        if not path.is_file() and path.is_absolute():
            raise UsageError(
                f"{system.name} cannot start warm: `qemu.arguments` has {path}, which is no file with a "
                "content that a snapshot can be of; leave out start=warm, or --start"
            )
    return [path for path in found if path.is_file()]


def _awaited(script: Script) -> str:
    """All that decides where a guest's first prompt is."""
    number = next(number for number, step in enumerate(script.steps) if step.send is not None)
    before = [word for step in script.steps[:number] for word in step.wants]
    return "\n".join((script.ready, *before, script.steps[number].prompt))
