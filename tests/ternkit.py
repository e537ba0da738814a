"""Boots of tern (and of any system that a YAML describes) for tests, judged by the product's own verifier.

No pins and no lock: what these tests ask is whether an answer is right or a defect is found, never how fast.
The fixture `kit` gives all of a session's tests one `Bootkit`, so that those who ask for the same boot share
it; the boots that several files look at stand at the end.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from benchgate import boot, catalog, fetch, insn, run, smoke, verify, wire
from benchgate.boot import Clock, Machine
from benchgate.fetch import Qemu
from benchgate.images import Images, guest_digest
from benchgate.insn import ClockMode, Level
from benchgate.model import Accel, Cell, Lane, Placement, RawRun
from benchgate.plan import PlannedCell, Seats
from benchgate.run import RunRequest
from benchgate.sweep import JudgedRun, judge
from benchgate.systems import Smoke, System
from benchgate.wire import Transcript

Params = Mapping[str, object]
NONE: Params = MappingProxyType({})
ANYTHING = r"selftest: done failed=\d+"
_T = TypeVar("_T")


@dataclass
class Bootkit:
    folder: Path
    qemu: Qemu
    level: insn.Level | None = None
    """Set: boots are on the instruction clock."""
    accel: Accel = Accel.TCG
    cpu_model: str = "max"
    seed: int = 1
    _images: Images = field(default_factory=lambda: Images(None, False, lambda _: None))
    _boots: int = 0
    _kept: dict[str, object] = field(default_factory=dict)

    def once(self, what: str, make: Callable[[], _T]) -> _T:
        """What `make` gives, or gave the first who asked for it; a boot that failed is made again."""
        if what not in self._kept:
            self._kept[what] = make()
        found: _T = self._kept[what]  # type: ignore[assignment]
        return found

    @property
    def lane(self) -> Lane:
        return Lane.INSN if self.level else Lane(self.accel)

    def planned(self, system: System, workload: str, cpus: int, given: Params = NONE) -> PlannedCell:
        found = catalog.load_workload(workload)
        values, label = catalog.fill(found, given)
        cell = Cell(system.name, workload, found.mode, values, cpus, label)
        return PlannedCell(cell, system, found, Seats(self.lane, Placement.VIRTUAL, ()))

    def run(
        self, system: System | str, workload: str, cpus: int, given: Params = NONE, *, measure: bool = False
    ) -> JudgedRun:
        """One boot with a workload, and what the verifier makes of it."""
        known = catalog.load_system(system) if isinstance(system, str) else system
        planned = self.planned(known, workload, cpus, given)
        raw = self._execute(planned, measure=measure)
        return judge(raw, lambda one: verify.verify_on(one, planned.workload, planned.system))

    def words(self, system: System | str, cpus: int, words: str, passes: str = ANYTHING) -> RawRun:
        """One boot with this command line and no workload."""
        known = catalog.load_system(system) if isinstance(system, str) else system
        asked = replace(known, smoke=Smoke(words, passes))
        return self._execute(self.planned(asked, "primes", cpus), words=words)

    def smoke(self, system: System, cpus: int) -> RawRun:
        """The system's own smokes, as a session runs them."""
        planned, nonce = self.planned(system, "primes", cpus), secrets.token_hex(8)
        session, image = self.folder / f"smoked-{nonce}", self._images.of(planned)
        folder = smoke.place(session, system.name, cpus)
        words = system.smoke.append if system.smoke else ""
        spec = boot.guest_spec(planned, image, self._machine(), nonce, words=words)
        smoke.execute(planned, spec, folder, guest_digest=guest_digest(image), nonce=nonce)
        return run.load(folder)

    def symbols(self, system: str, workload: str) -> Path | None:
        return self._images.symbols(self.planned(catalog.load_system(system), workload, 1))

    def _execute(self, planned: PlannedCell, *, measure: bool = False, words: str | None = None) -> RawRun:
        self._boots += 1
        folder = self.folder / f"{self._boots:02d}-{planned.cell.id}"
        folder.mkdir(parents=True)
        image, nonce, log = self._images.of(planned), secrets.token_hex(8), boot.clock_log(folder)
        spec = boot.guest_spec(
            planned, image, self._machine(), nonce, log=log, seed=self.seed, measure=measure, words=words
        )
        own = planned.system.smoke
        watch = smoke.watch(planned.system, own) if words is not None and own else boot.watch(planned.system)
        return run.execute(
            RunRequest(
                planned.cell,
                spec,
                folder,
                nonce,
                attempt=self._boots,
                order=0,
                seed=self.seed,
                placement=Placement.VIRTUAL,
                warmup=False,
                guest_digest=guest_digest(image),
                watch=watch,
                clock_log=log if self.level else None,
            )
        )

    def _machine(self) -> Machine:
        clock = None
        if self.level:
            clock = Clock(insn.prepare(self.qemu, self.level), self.level, ClockMode.SERIAL)
        return Machine(self.qemu, self.accel, self.cpu_model, clock)


def tern(folder: Path) -> Bootkit:
    """Plain TCG."""
    return Bootkit(folder, fetch.qemu())


def console(raw: RawRun) -> str:
    return verify.read_console(raw).decode("ascii", "replace").replace("\r\n", "\n")


def transcript(judged: JudgedRun) -> Transcript:
    return wire.parse(verify.read_console(judged.run), nonce=judged.run.nonce)


def checks(raw: RawRun) -> dict[str, bool]:
    """What a self-test said of each of its checks."""
    return {
        name: word == "ok"
        for name, word in re.findall(r"^selftest: ([\w-]+) (ok|FAILED)\b", console(raw), re.MULTILINE)
    }


def on_machine(system: str, machine: str) -> System:
    """On another than q35, which is tern's own."""
    found = catalog.load_system(system)
    assert found.qemu.machine == "q35"
    return replace(found, qemu=replace(found.qemu, machine=machine))


# ---- boots that several tests look at; each on another machine, by another build or on another clock


def primes_on_q35(kit: Bootkit) -> JudgedRun:
    """Two CPUs, one of which has all of the work, with attribution."""
    given = {"hi": 200_000, "split": "one"}
    return kit.once("primes", lambda: kit.run("kernel", "primes", 2, given, measure=True))


CHECKSUM = on_machine("kernel:profile=debug", "microvm")


def checksum_on_microvm(kit: Bootkit) -> JudgedRun:
    """Four CPUs, the debug profile, with attribution."""
    return kit.once("checksum", lambda: kit.run(CHECKSUM, "checksum", 4, {"blocks": 16_384}, measure=True))


def tasks_on_pc(kit: Bootkit) -> JudgedRun:
    """Two CPUs, with attribution."""
    system = on_machine("kernel", "pc")
    return kit.once("tasks", lambda: kit.run(system, "tasks", 2, {"steps": 4000}, measure=True))


def sixteen(kit: Bootkit, seed: int) -> JudgedRun:
    """Sixteen CPUs on the instruction clock."""
    timed = replace(kit, folder=kit.folder / f"gate-{seed}", level=Level.FULL, seed=seed)
    run = {"blocks": 4096, "rounds": 4}
    return kit.once(f"sixteen {seed}", lambda: timed.run("kernel", "checksum", 16, run))


def own_checks(kit: Bootkit) -> RawRun:
    """Two CPUs, no word on the command line."""
    return kit.once("own checks", lambda: kit.words("kernel", 2, ""))


def every_check(kit: Bootkit, cpus: int = 2) -> RawRun:
    """All that the self-test knows, with so little memory that there is an end of it."""
    known = catalog.load_system("kernel")
    small = replace(known, qemu=replace(known.qemu, memory="40M"))
    return kit.once(f"every check {cpus}", lambda: kit.words(small, cpus, "selftest=all"))
