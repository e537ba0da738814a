"""Boots of tern, or of any system that a YAML file describes, judged by the product's own verifier.

Where a system says no machine, or q35, it is q35 without the devices for which the firmware looks in every
boot: that is three quarters of the CPU time of a small one. tests/line boots tern on the whole q35.

There is no pinning and no host lock, because these tests check whether an answer is right or a defect is
found, never how fast a run was. The fixture `kit` gives all tests of a session the same `Bootkit`, so tests
that need the same boot share it. The boots that several test files use are at the end of this module.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from benchgate.base.cells import Accel, Cell, Lane, Placement
from benchgate.base.gates import Gate, Verdict
from benchgate.base.runs import Deadlines, Image, RawRun, VerifiedRun
from benchgate.base.system.boots import Smoke
from benchgate.base.system.qemu import Qemu
from benchgate.base.system.script import Script
from benchgate.base.system.systems import System
from benchgate.base.void_rule import DEFAULT, VoidRule
from benchgate.base.workload.workloads import Workload
from benchgate.build.fetch import inputs
from benchgate.build.images import Images, guest_digest
from benchgate.insn.observe.resolve import observe_file
from benchgate.insn.plugin import prepare
from benchgate.judge import verify, wire
from benchgate.judge.arms import arm_of
from benchgate.judge.decide import decide
from benchgate.judge.judged_run import JudgedRun, judge_run
from benchgate.judge.run_files import read_console
from benchgate.judge.wire import Transcript
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run import argv, attempt
from benchgate.run.argv import BootOptions, VmConfig
from benchgate.run.attempt import RunRequest
from benchgate.run.record import clock_log, load, smoke_folder
from benchgate.run.smoke import as_smoke, smoke_watch
from benchgate.run.watch import watch_for
from benchgate.session import keepers
from benchgate.session.warm_starts import WarmStarts
from benchgate.session.workbench import SymbolFiles, completed, kernel_symbols
from tests.machines import PATIENT

Params = Mapping[str, object]
NONE: Params = MappingProxyType({})
RACES = ("wake-window", "late-store", "unlocked-count", "double-free", "stale-steal")
"""The faults that show only where threads come in between each other."""
LIGHT = "q35,sata=off,smbus=off"
"""The Linux guest has the same (fixtures/systems/linux.yaml)."""
ANYTHING = r"selftest: done failed=\d+"
_T = TypeVar("_T")


@dataclass
class Bootkit:
    folder: Path
    qemu: Qemu
    insn: bool = False
    """Whether boots are on the instruction clock."""
    accel: Accel = Accel.TCG
    cpu_model: str = "max"
    seed: int = 1
    nonce: str = ""
    """The guest prints it; empty: a new one for each boot. With one nonce and one seed boots are the same."""
    patience: Deadlines = PATIENT
    """The deadlines on wall time."""
    rule: VoidRule = DEFAULT
    _images: Images = field(default_factory=lambda: Images(False, lambda _: None))
    _warm: WarmStarts = field(default_factory=lambda: WarmStarts(lambda _: None, boots=1))
    """The snapshots of systems with `start=warm`, on the instruction clock."""
    _boots: int = 0
    _kept: dict[str, object] = field(default_factory=dict)

    def once(self, what: str, make: Callable[[], _T]) -> _T:
        """The result of `make`, which is called once per `what` and clock; again if it raised an
        exception."""
        key = f"{what} {self.insn}"
        if key not in self._kept:
            self._kept[key] = make()
        result: _T = self._kept[key]  # type: ignore[assignment]
        return result

    @property
    def lane(self) -> Lane:
        return Lane.INSN if self.insn else Lane(self.accel)

    def planned(
        self, system: System, workload: str | Workload, cpus: int, given: Params = NONE
    ) -> PlannedCell:
        result = catalog.load_workload(workload) if isinstance(workload, str) else workload
        system = light(system)
        values, label = fill(result, given)
        cell = Cell(system.name, result.name, result.mode, values, cpus, label)
        return PlannedCell(cell, system, result, Seats(self.lane, Placement.VIRTUAL, ()))

    def run(
        self,
        system: System | str,
        workload: str | Workload,
        cpus: int,
        given: Params = NONE,
        *,
        measure: bool = False,
        lines: bool = False,
        threads: bool = False,
        observed: str = "",
        counted: bool = False,
    ) -> JudgedRun:
        """One boot with a workload, judged by the verifier. A run that is void is right, too: its answers
        were checked, and only its figures do not count. `lines`: the moved lines are recorded; `threads`:
        what the guest's threads did is; `observed`: how they are seen, if not as the system says; `counted`:
        that is only counted and measured."""
        known = catalog.load_system(system) if isinstance(system, str) else system
        if not isinstance(workload, str):  # another one of the same name
            self._images = Images(False, lambda _: None)
        planned = self.planned(known, workload, cpus, given)
        observed = observed or (self.observed(planned) if threads else "")
        raw = self._execute(planned, measure=measure, lines=lines, observed=observed, counted=counted)
        return judge_run(
            raw, lambda raw_run: verify.verify_on(raw_run, planned.workload, planned.system, self.rule)
        )

    def words(self, system: System | str, cpus: int, words: str, passes: str = ANYTHING) -> RawRun:
        """One boot with this command line and no workload."""
        known = catalog.load_system(system) if isinstance(system, str) else system
        asked = replace(known, smoke=Smoke(words, passes))
        return self._execute(self.planned(asked, "primes", cpus), words=words)

    def smoke(self, system: System, cpus: int) -> RawRun:
        """The smokes of the system, run as in a session."""
        planned, nonce = self.planned(system, "primes", cpus), secrets.token_hex(8)
        session, image = self.folder / f"smoked-{nonce}", self._images.of(planned.system, planned.workload)
        folder = smoke_folder(session, system.name, cpus)
        words = system.smoke.append if system.smoke else ""
        boot = BootOptions(nonce, log=clock_log(folder), words=words)
        spec = argv.guest_spec(planned, image, self._machine(), boot)
        folder.mkdir(parents=True)
        made = RunRequest(
            planned.cell,
            spec,
            folder,
            nonce,
            attempt=1,
            order=0,
            seed=0,
            placement=Placement.VIRTUAL,
            warmup=True,
            guest_digest=guest_digest(image),
        )
        attempt.execute(as_smoke(made, system))
        return load(folder)

    def files(self, system: System, workload: str) -> SymbolFiles:
        known = catalog.load_workload(workload)
        kernel = kernel_symbols(self._images, self.qemu, system, known)
        return SymbolFiles(kernel, self._images.program(system, known))

    def image(self, system: System, workload: Workload) -> Image:
        return self._images.of(system, workload)

    def symbols(self, system: str, workload: str) -> Path | None:
        planned = self.planned(catalog.load_system(system), workload, 1)
        return self._images.symbols(planned.system, planned.workload)

    def _execute(
        self,
        planned: PlannedCell,
        *,
        measure: bool = False,
        words: str | None = None,
        lines: bool = False,
        observed: str = "",
        counted: bool = False,
    ) -> RawRun:
        self._boots += 1
        folder = self.folder / f"{self._boots:02d}-{planned.cell.id}"
        folder.mkdir(parents=True)
        image, nonce, log = (
            self._images.of(planned.system, planned.workload),
            self.nonce or secrets.token_hex(8),
            clock_log(folder),
        )
        boot = BootOptions(
            nonce,
            log=log,
            seed=self.seed,
            measure=measure,
            words=words,
            records=keepers.records(folder, lines=lines, observed=observed, threads=not counted),
        )
        if planned.starts_warm:
            boot = replace(boot, start=self._warm.of(planned, image, self._machine(), 1))
        spec = argv.guest_spec(planned, image, self._machine(), boot)
        script = argv.script(planned, nonce) if words is None else None
        if not self.insn:  # host time, of which a busy host needs much
            spec = replace(spec, deadlines=self.patience)
            script = script and _patient(script, self.patience.run_s)
        own = planned.system.smoke
        watch = smoke_watch(planned.system, own) if words is not None and own else watch_for(planned.system)
        return attempt.execute(
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
                script=script,
            )
        )

    def observed(self, planned: PlannedCell, *, threads: bool = True) -> str:
        observation, kernel = planned.observe, self._images.of(planned.system, planned.workload).kernel
        assert observation
        assert kernel
        symbols = kernel_symbols(self._images, self.qemu, planned.system, planned.workload)
        text = self.once(
            f"observe {kernel} {observation} {threads}",
            lambda: observe_file(observation, kernel, symbols or kernel, threads=threads),
        )
        return completed(text, planned, self._images.program(planned.system, planned.workload))

    def _machine(self) -> VmConfig:
        clock = prepare(self.qemu) if self.insn else None
        return VmConfig(self.qemu, self.accel, self.cpu_model, clock)


def light(system: System) -> System:
    whole = system.qemu.machine == "q35"
    return replace(system, qemu=replace(system.qemu, machine=LIGHT)) if whole else system


def _patient(script: Script, seconds: float) -> Script:
    return replace(script, steps=tuple(replace(step, deadline_s=seconds) for step in script.steps))


def judged_five_times(base: VerifiedRun, other: VerifiedRun, at_least: float = 1.5) -> Verdict:
    """The verdict on a speedup. Seeds give nearly the same, so one run of each arm is used five times."""
    arms = {}
    for run in (base, other):
        five = [replace(run, run=replace(run.run, attempt=seed, seed=seed)) for seed in range(1, 6)]
        arms[run.run.cell.id] = arm_of(run.run.cell, five)
    gate = Gate("scales", "speedup", base.run.cell, other.run.cell, at_least=at_least)
    (verdict,) = decide([gate], arms, catalog.load_policy("default")).verdicts
    return verdict


def tern(folder: Path) -> Bootkit:
    """Plain TCG."""
    return Bootkit(folder, inputs.qemu())


def console(raw: RawRun) -> str:
    return read_console(raw).decode("ascii", "replace").replace("\r\n", "\n")


def transcript(judged: JudgedRun) -> Transcript:
    return wire.parse(read_console(judged.run), nonce=judged.run.nonce)


def checks(raw: RawRun) -> dict[str, bool]:
    """The result of each check of a self-test."""
    return {
        name: word == "ok"
        for name, word in re.findall(r"^selftest: ([\w-]+) (ok|FAILED)\b", console(raw), re.MULTILINE)
    }


def on_machine(system: str, machine: str) -> System:
    """The system on another machine than q35, its default."""
    result = catalog.load_system(system)
    assert result.qemu.machine == "q35"
    return replace(result, qemu=replace(result.qemu, machine=machine))


# ---- boots that several tests share; they differ in machine, build or clock


def primes_on_q35(kit: Bootkit) -> JudgedRun:
    """Two CPUs, all of the work on one of them, with attribution."""
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
    timed = replace(kit, folder=kit.folder / f"gate-{seed}", insn=True, seed=seed)
    given = {"blocks": 4096, "rounds": 4}
    return kit.once(f"sixteen {seed}", lambda: timed.run("kernel", "checksum", 16, given))


def own_checks(kit: Bootkit) -> RawRun:
    """Two CPUs, with an empty command line."""
    return kit.once("own checks", lambda: kit.words("kernel", 2, ""))


def every_check(kit: Bootkit, cpus: int = 2) -> RawRun:
    """All self-tests, with so little memory that they can exhaust it. On the instruction clock no host
    disturbs the shares of `stress-fair`, so that one second must be enough."""
    known = catalog.load_system("kernel")
    small = replace(known, qemu=replace(known.qemu, memory="40M"))
    tries = " fair_tries=1" if kit.insn else ""
    return kit.once(f"every check {cpus}", lambda: kit.words(small, cpus, f"selftest=all{tries}"))
