"""What a worker has of its own: a QEMU for each architecture, and the instruction clock compiled for it.

Takes names of architectures; gives an `Equipment` for each, by QEMU's digest. All of it comes from the
worker's own lock files and its own compiler, never from a session. Fails with FetchError or BuildError, and
with HostError for a QEMU in which the clock does not reach level full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import FleetError, HostError
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.qemu import Qemu
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import inputs
from benchgate.fleet.task import CLOCK, QEMU, Task
from benchgate.insn.plugin import prepare, source_digest
from benchgate.insn.support import support


@dataclass(frozen=True, slots=True)
class Equipment:
    qemu: Qemu
    plugin: Path


def prepared(architectures: Iterable[str], notice: Notice) -> Mapping[str, Equipment]:
    found = [_for_guests(name, notice) for name in architectures]
    return {one.qemu.digest: one for one in found}


def _for_guests(architecture: str, notice: Notice) -> Equipment:
    if architecture not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise HostError(f"--guests {architecture}: there are guests of {known}")
    qemu = inputs.qemu(None, ARCHITECTURES[architecture], notice=notice)
    seen = support(qemu)
    if not seen.works:
        raise HostError(
            f"{qemu.binary} cannot carry the instruction clock, which a worker needs: {seen.reason}; see "
            "`benchgate doctor`"
        )
    return Equipment(qemu, prepare(qemu))


def equipment_for(task: Task, own: Mapping[str, Equipment]) -> Equipment:
    """FleetError if this worker has another QEMU or another clock than the session."""
    wanted, clock = task.digest_of(QEMU), task.digest_of(CLOCK)
    if wanted not in own:
        have = ", ".join(f"{one.qemu.version_text} ({digest:.12})" for digest, one in own.items())
        raise FleetError(
            f"the session's QEMU has digest {wanted:.12}, and this worker has {have or 'none'}: use the same "
            "version of benchgate on the same distribution, and name each architecture with --guests"
        )
    if clock != source_digest():
        raise FleetError(
            f"the session's instruction clock has sources {clock:.12}, and this worker's "
            f"{source_digest():.12}: use the same version of benchgate on both"
        )
    return own[wanted]
