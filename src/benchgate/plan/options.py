"""Reads the values of all options together.

Takes the values that pytest or the command line has for the names of the table, gives a frozen `Options`. A
flag takes precedence over its ini key. An invalid value fails with UsageError, which names the option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import CatalogError, OptionError, UsageError
from benchgate.base.gates import MOST_RUNS, SMALLEST_LOOK, Policy
from benchgate.base.system.machines import IDEAL
from benchgate.plan import catalog, option_words
from benchgate.plan.option_table import TABLE, Option

_NOT_ON_A_FLEET = {
    "measure": "what it records has this machine's paths; measure here, without --fleet",
    "threads": "workers send no recordings back; measure here, without --fleet",
    "profile-host": "it profiles the QEMU of this host; leave one of them out",
    "qemu": "each worker has its own QEMU, the reviewed one; leave out --qemu",
    "cpus": "the operator of a worker chooses its CPUs; leave out --cpus",
}


@dataclass(frozen=True, slots=True)
class Options:
    cpus: tuple[int, ...] | None = None
    smp: tuple[int, ...] | None = None
    systems: tuple[str, ...] = ("linux",)
    accel: Accel | None = None
    """The accelerator; None for auto."""
    clock: str = "auto"
    machine: str = IDEAL
    """The name or path of the machine, unless a test's mark names one."""
    runs: int = 5
    max_runs: int = 25
    seeds: int = 5
    max_seeds: int = 5
    """The last look on the instruction clock: the first one, unless --max-runs is above --runs."""
    sets: tuple[tuple[str, str, str], ...] = ()
    """Triples (workload, key, value), in the order given."""
    quick: bool = False
    include_smt: bool = False
    oversubscribe: bool = False
    measure: bool = False
    threads: bool = False
    """Whether every run on the instruction clock records its guest's threads."""
    profile_host: bool = False
    inconclusive_fails: bool = True
    qemu: Path | None = None
    linux_kernel: Path | None = None
    locked: bool = False
    reports: Path = field(default_factory=lambda: Path("reports"))
    keep: int = 20
    policy: str = "default"
    gate_files: tuple[Path, ...] = ()
    """The files of the user's own kinds of gate that have marks."""
    extra_reports: tuple[Path, ...] = ()
    history: str | None = None
    """The history that imports the session at its end: a path or URL, empty for the user's own, or None."""
    fleet: str = ""
    """The address of the scheduler whose workers make the runs; empty if this machine makes them."""
    fleet_certificates: Path | None = None
    fleet_key: Path | None = None
    resume: Path | None = None
    """The folder of a session whose runs are reused."""
    lock_wait_s: float = 600.0
    plan: bool = False
    order_seed: int = 1
    """The seed of the arms' order. It is fixed, so that two sessions of one plan can be compared."""

    @property
    def gates(self) -> bool:
        """Whether this session can decide gates."""
        return not self.why_no_gates

    @property
    def why_no_gates(self) -> str:
        """Why this session cannot decide gates; empty if it can."""
        if self.quick:
            return "--quick decides nothing"
        if self.measure:
            return "--measure changes what is measured"
        if self.runs < SMALLEST_LOOK:
            return f"--runs {self.runs} is too few to decide anything; at least {SMALLEST_LOOK} are needed"
        return ""


Lookup = Callable[[Option], object]


def read(lookup: Lookup) -> Options:
    """The options. `lookup` gives the value of the flag, else of the ini key; None or empty if unset."""
    got = {option.name: lookup(option) for option in TABLE}
    quick = bool(got["quick"])
    policy = str(got["policy"] or "default")
    usual = catalog.load_policy(policy)
    runs = 1 if quick else option_words.runs("runs", got["runs"], usual.first)
    last = runs if got["runs"] else usual.max_runs
    max_runs = 1 if quick else option_words.whole("max-runs", got["max-runs"], last, low=1, high=MOST_RUNS)
    usual.with_runs(runs, max_runs)
    seeds = 1 if quick else option_words.runs("seeds", got["seeds"], runs)
    more_seeds = bool(got["max-runs"]) and max_runs > runs
    accel = option_words.choice(got, "accel", "auto")
    clock = option_words.choice(got, "clock", "auto")
    machine = _machine(got["machine"], usual, clock)
    fleet = str(got["fleet"] or "")
    _check_fleet(fleet, got, clock)
    if clock == "auto" and (fleet or catalog.load_machine(machine) is not None):
        clock = "insn"  # the only one that has machines, and that other hosts repeat
    return Options(
        cpus=option_words.cpu_list("cpus", got["cpus"]),
        smp=option_words.smp(got["smp"]),
        systems=option_words.words(got["system"]) or ("linux",),
        accel=None if accel == "auto" else Accel(accel),
        clock=clock,
        machine=machine,
        runs=runs,
        max_runs=max_runs,
        seeds=seeds,
        max_seeds=max(seeds, max_runs) if more_seeds else seeds,
        sets=tuple(option_words.setting(word) for word in option_words.words(got["set"])),
        quick=quick,
        include_smt=bool(got["include-smt"]),
        oversubscribe=bool(got["oversubscribe"]),
        measure=bool(got["measure"]),
        threads=bool(got["threads"]),
        profile_host=bool(got["profile-host"]),
        inconclusive_fails=option_words.choice(got, "inconclusive", "fail") == "fail",
        qemu=option_words.path(got["qemu"]),
        linux_kernel=option_words.path(got["linux-kernel"]),
        locked=bool(got["locked"]),
        reports=option_words.path(got["reports"]) or Path("reports").absolute(),
        keep=option_words.whole("keep", got["keep"], 20, low=0),
        policy=policy,
        gate_files=tuple(Path(word).absolute() for word in option_words.words(got["gate"])),
        extra_reports=tuple(Path(word).absolute() for word in option_words.words(got["extra-report"])),
        history=option_words.history(got["history"]),
        fleet=fleet,
        fleet_certificates=option_words.path(got["fleet-certificates"]),
        fleet_key=option_words.path(got["fleet-key"]),
        resume=option_words.path(got["resume"]),
        lock_wait_s=option_words.whole("lock-wait", got["lock-wait"], 600, low=0),
        plan=bool(got["plan"]),
    )


def _check_fleet(fleet: str, got: Mapping[str, object], clock: str) -> None:
    """Refuses, by name, the options that cannot be used with a fleet."""
    if not fleet:
        if given := [name for name in ("fleet-certificates", "fleet-key") if got[name]]:
            raise OptionError(given[0], " needs --fleet ADDRESS")
        return
    if clock == "both":
        raise OptionError(
            "fleet",
            " with --clock both: wall time is measured on one worker that does nothing else, and the "
            "instruction clock on the others; make two sessions, --clock wall and --clock insn",
        )
    for name, why in _NOT_ON_A_FLEET.items():
        if got[name]:
            raise OptionError("fleet", f" with --{name}: {why}")


def _machine(value: object, policy: Policy, clock: str) -> str:
    """The machine of the option, else of the policy."""
    word = str(value or policy.machine)
    word = str(Path(word).absolute()) if option_words.is_path(word) else word

    def refused(what: str) -> UsageError:
        if value:
            return OptionError("machine", f" {word}: {what}")
        return UsageError(f"policy {policy.name}: machine {word}: {what}")

    try:
        if catalog.load_machine(word) is None:
            return word
    except (CatalogError, UsageError) as wrong:
        raise refused(str(wrong)) from None
    if clock == "wall":
        raise refused(
            "only the instruction clock has machines; wall time has the caches of this host: use "
            "--clock insn, or --machine ideal"
        )
    return word
