"""Makes the snapshot of a guest, once, and keeps it in the cache.

Takes a `BootToKeep`: how its guest boots, and what is known of it; gives its `GuestSnapshot`. The key is
everything on which the content depends, without a path of this machine, so another host makes the same
snapshot under the same key. Fails with BootError if the guest cannot be saved, with HostError if the disk may
not hold it, and with EvidenceError if what the cache has is no snapshot.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.errors import EvidenceError, HostError
from benchgate.base.runs import BootSpec
from benchgate.base.snapshots import DISK, RAM, SCHEMA, GuestSnapshot, keep_pages, read_record
from benchgate.base.system.qemu import comma_safe
from benchgate.base.system.script import Script
from benchgate.build import cache
from benchgate.build.cache_storage import Notice
from benchgate.insn.plugin import source_digest
from benchgate.run import snapshot
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import started

KIND = "snapshot"
_MARK = "0" * 16
"""Stands for the nonce of a boot in the key."""
_NOWHERE = Path("/snapshot")
_MAKING_S = 1800.0


@dataclass(frozen=True, slots=True)
class BootToKeep:
    """A boot of which a snapshot is taken."""

    told: str
    """What it is of, for people."""
    spec: Callable[[str, Path], BootSpec]
    """How it boots, with this nonce, and with its log and its memory in this folder."""
    script: Script | None
    boot: int
    """The seed of the instruction clock."""
    digests: Mapping[str, str]
    """Of the guest's files that are there at the boot, by name."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The digests of the files that its own arguments of QEMU name by an absolute or a relative path."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """Everything on which the content depends."""
        spec = self.spec(_MARK, _NOWHERE)
        if spec.uses is None:
            raise ValueError("a guest of which a snapshot is taken says which files its command line names")
        qemu = spec.uses.qemu
        own = {path: name for name, path in spec.uses.files.items()}
        own |= dict.fromkeys(qemu.data, "data") | {qemu.binary: "qemu"}
        own |= {} if spec.uses.plugin is None else {spec.uses.plugin: "clock"}
        files = list(self.named)
        own |= {Path(path): f"file{n}" for n, path in enumerate(files) if Path(path).is_absolute()}
        words = "\0".join(spec.argv)
        for path, name in sorted(own.items(), key=lambda item: len(str(item[0])), reverse=True):
            for form in (comma_safe(str(path)), str(path)):  # as a part of a word, and as a whole one
                words = words.replace(form, f"{{{name}}}")
        return {
            "machine": spec.shape,
            **{f"file {name}": digest for name, digest in self.digests.items()},
            **{f"file of arguments {n}": self.named[path] for n, path in enumerate(files)},
            "qemu": f"{qemu.version_text} {qemu.digest}",  # a script's digest is not that of its QEMU
            "clock": source_digest(),
            "words": words.replace("\0", " "),
            "prompt": "" if self.script is None else _awaited(self.script),
            "quiet": str(snapshot.typing_pace(self.script).quiet_ns),
            "boot": str(self.boot),
            "format": str(SCHEMA),
        }


def _awaited(script: Script) -> str:
    """All that decides where a guest's first prompt is."""
    number = next(number for number, step in enumerate(script.steps) if step.send is not None)
    before = [word for step in script.steps[:number] for word in step.wants]
    return "\n".join((script.ready, *before, script.steps[number].prompt))


def kept(boot: BootToKeep, notice: Notice) -> GuestSnapshot:
    inputs = boot.inputs

    def make(files: Path) -> None:
        notice(f"making a snapshot of {boot.told}")
        _make(files, boot, inputs)

    folder = cache.entry(KIND, inputs, make, wait_s=_MAKING_S, notice=notice)
    try:
        record = read_record(folder)
    except (OSError, ValueError) as error:
        raise EvidenceError(f"{folder} has no snapshot: {error}") from error
    if (record.boot, record.inputs) != (boot.boot, inputs):
        differs = next((name for name in inputs if inputs[name] != record.inputs.get(name)), "boot")
        advice = f"remove {folder.parent}"
        raise EvidenceError(f"{folder} has the snapshot of another guest ({differs} differs): {advice}")
    return GuestSnapshot(folder, record)


def _make(files: Path, boot: BootToKeep, inputs: Mapping[str, str]) -> None:
    work, mark = files / "work", secrets.token_hex(8)
    work.mkdir()
    spec = boot.spec(mark, work)
    saved = snapshot.BootToSave(boot.script, spec.deadlines.boot_s, boot.boot, inputs)
    typing = snapshot.typing_pace(boot.script)
    for name, path in spec.uses.files.items() if spec.uses else ():
        if name.startswith(DISK):
            keep_pages(path, work / name)  # the guest writes to it
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
        room = f"{free >> 20} MiB are free; free more, or set BENCHGATE_CACHE to another disk"
        raise HostError(f"a snapshot may need {most >> 20} MiB in {work.parent}, and {room}")
