"""A run's request as a task that any worker understands, and on a worker the request again.

`packed` takes a request of a session; gives the bytes to send, their digest, and the guest's files by digest.
The digest is the same for equal runs: it does not depend on the session, its folder or the attempt's number.
`unpacked` takes a checked task, a folder, and where this worker has everything; gives the request that
run/attempt.py carries out. Fails with FleetError for a run that only this machine can make, and with
RefusedError for a task that names what this worker does not have. `Packs` packs each run of a session once,
however often it is named: it is named ahead in each round with the same request, and asked for by another
one, which has the run's own folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from benchgate.base.cells import Lane
from benchgate.base.exploration import exploration_of
from benchgate.base.files import file_digest
from benchgate.base.runs import BootSpec, Uses
from benchgate.base.snapshots import GuestSnapshot
from benchgate.features.fleet import words
from benchgate.features.fleet.equipment import Equipment
from benchgate.features.fleet.errors import FleetError, RefusedError
from benchgate.features.fleet.task import (
    CLOCK,
    MADE,
    QEMU,
    FolderFile,
    GuestFile,
    Item,
    KeptFile,
    StandIn,
    Task,
    WorkerPath,
    filled,
    sha256_of,
    task_bytes,
    templated,
)
from benchgate.insn.plugin import source_digest
from benchgate.run.attempt import RunRequest, words_of_run
from benchgate.run.watch import GUEST_WATCH

Digest = Callable[[Path], str]
Vouch = Callable[[Task], str]
"""The signature of the fleet's owner for a task; empty: none."""
_PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class TaskPackage:
    task: Task
    sent: bytes
    key: str
    """The key is the same for the same run."""
    files: Mapping[str, Path]
    """The guest's files, by SHA-256."""


def packed(  # noqa: PLR0913 - keyword arguments
    request: RunRequest,
    digest_of: Digest,
    clock: str,
    vouch: Vouch = lambda _: "",
    *,
    hold: str = "",
    forks: bool = False,
) -> TaskPackage:
    """`clock` is the digest of the plugin's sources, `hold` the token of a measuring host, the only place for
    runs in wall time. `forks`: runs that start warm are forks where they can be."""
    spec = request.spec
    if spec.uses is None or spec.lane not in ((Lane.TCG, Lane.KVM) if hold else (Lane.INSN,)):
        raise FleetError(
            f"{request.cell.id}: with --clock {'wall' if hold else 'insn'} a fleet makes no run on lane "
            f"{spec.lane}; leave the row out, or measure it here, without --fleet"
        )
    files = {name: (path, digest_of(path)) for name, path in spec.uses.files.items()}
    own = Item(QEMU, spec.uses.qemu.digest), Item(CLOCK, clock)
    guests = (Item(name.rstrip("0123456789"), sha256) for name, (_, sha256) in files.items())
    task = Task(
        cell=request.cell,
        nonce=request.nonce,
        seed=request.seed,
        placement=request.placement,
        guest_digest=request.guest_digest,
        items=(*own, *guests),
        argv=templated(spec.argv, _places(request, spec.uses, dict(files.values()))),
        deadlines=spec.deadlines,
        cpus=spec.cpus,
        watch=request.watch or GUEST_WATCH,
        limits=request.limits,
        script=request.script,
        talks=spec.talks,
        shape=spec.shape,
        exploration=spec.exploration.text if spec.exploration else "",
        start=None if spec.start is None else spec.start.record,
        words=spec.words,
        forks=forks and spec.start is not None,
        lane=spec.lane,
        pins=spec.pins,
        hold=hold,
    )
    if why := words.why_not(task):
        raise FleetError(f"{request.cell.id} cannot be made on a fleet: {why}; leave out --fleet for it")
    sent = task_bytes(task)
    key = sha256_of(sent)  # task_json.digest leaves out what vouches for it, too
    if signature := vouch(task):
        task = replace(task, vouched=signature)
        sent = task_bytes(task)
    return TaskPackage(task, sent, key, MappingProxyType({sha256: path for path, sha256 in files.values()}))


def _places(request: RunRequest, uses: Uses, files: Mapping[Path, str]) -> dict[str, StandIn]:
    start = request.spec.start
    places: dict[Path, StandIn] = {path: WorkerPath(f"data{n}") for n, path in enumerate(uses.qemu.data)}
    places |= {request.folder / name: FolderFile(name) for name in MADE}
    places |= {path: GuestFile(sha256) for path, sha256 in files.items()}
    if uses.plugin:
        places[uses.plugin] = WorkerPath(_PLUGIN)
    if start is not None:
        places |= {start.folder / name: KeptFile(name) for name in start.record.digests}
    places[uses.qemu.binary] = WorkerPath(QEMU)
    return {str(path): place for path, place in places.items()}


def unpacked(
    task: Task,
    folder: Path,
    equipment: Equipment,
    files: Mapping[str, Path],
    start: GuestSnapshot | None = None,
) -> RunRequest:
    """`files`: where this worker has the guest's, by SHA-256. The folder exists and is empty. `start`: the
    snapshot of a task that has one."""
    places: dict[StandIn, Path] = {FolderFile(name): folder / name for name in MADE}
    places |= {WorkerPath(QEMU): equipment.qemu.binary, WorkerPath(_PLUGIN): equipment.plugin}
    places |= {WorkerPath(f"data{n}"): path for n, path in enumerate(equipment.qemu.data)}
    places |= {GuestFile(sha256): path for sha256, path in files.items()}
    kept = folder if start is None else start.folder

    def path_of(place: StandIn) -> str:
        if isinstance(place, KeptFile):
            return str(kept / place.name)
        if place not in places:
            raise RefusedError(f"the task names {place}, which this worker does not have")
        return str(places[place])

    clock = {"LD_PRELOAD": str(equipment.plugin)} if task.lane is Lane.INSN else {}
    spec = BootSpec(
        argv=filled(task.argv, path_of),
        environment={**equipment.qemu.environment, **clock},
        lane=task.lane,
        cpus=task.cpus,
        pins=task.pins,
        deadlines=task.deadlines,
        talks=task.talks,
        shape=task.shape,
        exploration=exploration_of(task.exploration) if task.exploration else None,
        start=start,
        words=task.words,
    )
    return RunRequest(
        cell=task.cell,
        spec=spec,
        folder=folder,
        nonce=task.nonce,
        attempt=1,
        order=0,
        seed=task.seed,
        placement=task.placement,
        warmup=False,
        guest_digest=task.guest_digest,
        script=task.script,
        watch=task.watch,
        limits=task.limits,
    )


class Packs:
    def __init__(self, vouch: Vouch, *, forks: bool = False) -> None:
        self._vouch, self._forks = vouch, forks
        self._digest = cache(file_digest)  # an image is not changed during a session: build/images.py checks
        self._clock = cache(source_digest)
        self._packed: dict[str, TaskPackage] = {}
        """The packages by `same`."""
        self._named: dict[int, tuple[RunRequest, str]] = {}
        """Each request by its id, with its `same`. It stays alive here, so no other request has its id."""
        self._named_before: dict[int, tuple[RunRequest, str]] = {}

    def begin_round(self, most: int) -> None:
        """Forgets what was not named in the round before, and packed runs if there are more than `most`, such
        as those of rows that ended early."""
        self._named_before, self._named = self._named, {}
        if len(self._packed) > most:
            self._packed.clear()

    def same(self, request: RunRequest) -> str:
        """Gives two requests of the same run the same text."""
        result = self._named.get(id(request)) or self._named_before.get(id(request))
        self._named[id(request)] = result = result or (request, _same(request))
        return result[1]

    def of(self, request: RunRequest) -> TaskPackage:
        same = self.same(request)
        if same not in self._packed:
            self._packed[same] = packed(request, self._digest, self._clock(), self._vouch, forks=self._forks)
        return self._packed[same]

    def taken(self, request: RunRequest) -> None:
        """It is not asked for again."""
        self._packed.pop(self.same(request), None)


def _same(request: RunRequest) -> str:
    spec = request.spec
    explored = "" if spec.exploration is None else spec.exploration.text
    words = words_of_run(spec.argv, request.folder)
    parts = (request.cell.id, str(request.seed), request.guest_digest, str(spec.deadlines), explored, words)
    return "\0".join(f"{len(part)} {part}" for part in parts)
