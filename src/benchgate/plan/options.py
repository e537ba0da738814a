"""The table of all options of benchgate: flag, ini key and meaning.

Takes the values that pytest or the command line has for these names, gives a frozen `Options`. A flag takes
precedence over its ini key. An invalid value fails with UsageError, which names the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import UsageError
from benchgate.base.gates import MOST_RUNS, SMALLEST_LOOK, Policy, check_first_look
from benchgate.base.machines import IDEAL
from benchgate.base.systems import MAX_CPUS
from benchgate.plan import catalog

MOST_CPUS = 4096
"""No list of CPUs is longer."""
_NUMBER = re.compile(r"[0-9]{1,9}")
"""Python's int() would also accept digits of other scripts and numbers of any length."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `kind`: value, flag or list (repeatable)."""

    name: str
    about: str
    kind: str = "value"
    metavar: str = ""
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def key(self) -> str:
        """Its ini/TOML key. The prefix distinguishes it from the keys of other plugins."""
        return "benchgate_" + self.name.replace("-", "_")


TABLE: tuple[Option, ...] = (
    Option(
        "cpus",
        "host CPUs to pin to, e.g. 0,1 or 0-3 (default: one logical CPU of each core); "
        "on the instruction clock guests are only kept to them",
        metavar="LIST",
    ),
    Option("smp", "CPU counts to measure (default: 1, 2 and 4 if there are enough pins)", metavar="LIST"),
    Option(
        "system",
        "linux, native, kernel or a YAML path, kernel:sched=rr for a setting; repeatable",
        "list",
        "NAME|PATH",
    ),
    Option(
        "accel",
        "auto uses KVM only if a timed probe guest shows that it works",
        choices=("auto", "kvm", "tcg"),
    ),
    Option(
        "clock",
        "the measure of time: the host's clock (wall) or executed instructions (insn); auto uses the one "
        "that can decide on this host, both measures on the other one, too, as information",
        choices=("auto", "wall", "insn", "both"),
    ),
    Option(
        "clock-mode",
        "instruction clock: serial repeats exactly; parallel is faster, but gates nothing",
        choices=("serial", "parallel"),
    ),
    Option(
        "machine",
        "instruction clock: the machine whose caches, sockets and memory are simulated, e.g. desktop8 "
        "(default: the policy's, else ideal, which has none)",
        metavar="NAME|PATH",
    ),
    Option(
        "runs",
        "verified runs per arm at the first look: odd, at least 5 (default: the policy's); 1 gates nothing",
        metavar="N",
    ),
    Option(
        "max-runs",
        "the last look: 5, 9, 15 or 25 runs per arm (default: as --runs, else the policy's)",
        metavar="N",
    ),
    Option(
        "seeds",
        "runs per arm on the instruction clock, each with its own seed (default: as --runs)",
        metavar="N",
    ),
    Option("set", "a workload's parameter, e.g. primes.hi=300000; repeatable", "list", "WORKLOAD.KEY=VALUE"),
    Option("quick", "one short run of every cell; decides nothing and exits with status 5", "flag"),
    Option("include-smt", "adds a row smpN-smt over all logical CPUs, which is never gated", "flag"),
    Option("oversubscribe", "allow more vCPUs than pins: tests function only, never a speedup", "flag"),
    Option("measure", "the guest reports where its time goes; gates are skipped", "flag"),
    Option("profile-host", "one extra run with `perf record` of the QEMU threads", "flag"),
    Option(
        "inconclusive",
        "whether an INCONCLUSIVE gate fails its test (exit status 75) or only warns",
        choices=("fail", "warn"),
    ),
    Option("qemu", "a QEMU of your own instead of the pinned one", metavar="PATH"),
    Option("linux-kernel", "a Linux bzImage of your own instead of the pinned one", metavar="PATH"),
    Option("locked", "use only reviewed versions of QEMU and Linux", "flag"),
    Option("reports", "the folder for session folders (default: reports)", metavar="DIR"),
    Option("keep", "the number of session folders to keep (default: 20; 0 keeps all)", metavar="N"),
    Option(
        "policy",
        "how certain a verdict must be: a YAML file such as fixtures/gates/default.yaml",
        metavar="NAME|PATH",
    ),
    Option(
        "extra-report",
        "a report of your own: a Python file with NAME and render(view); repeatable",
        "list",
        "PATH",
    ),
    Option(
        "history",
        "at its end, import the session into a history: on (the user's own, or $BENCHGATE_HISTORY), or the "
        "path of a SQLite file, or a URL; default: off",
        metavar="on|off|PATH|URL",
    ),
    Option(
        "fleet",
        "make the runs on the workers of this scheduler, e.g. tcp://127.0.0.1:8786, on the instruction clock",
        metavar="ADDRESS",
    ),
    Option(
        "fleet-certificates",
        "the folder with the client's certificates, from `benchgate fleet certificates`",
        metavar="DIR",
    ),
    Option(
        "fleet-key",
        "an SSH key that vouches for what the workers are to run (their --signers)",
        metavar="PATH",
    ),
    Option(
        "resume",
        "take over the runs of a session that was interrupted, from its folder; only those on the "
        "instruction clock, of the same guest and QEMU",
        metavar="DIR",
    ),
    Option("lock-wait", "seconds to wait while another session is measuring (default: 600)", metavar="S"),
    Option("plan", "print cells, order, lanes, pins, skips and the estimated minutes; boot nothing", "flag"),
)


ONE_ORDER = "--clock-mode parallel has no machines, because a memory system needs one order of accesses"
PATHS = ("reports", "qemu", "linux-kernel", "extra-report", "fleet-certificates", "fleet-key", "resume")
"""Options whose value is a path."""
_NOT_ON_A_FLEET = {
    "measure": "what it records has this machine's paths; measure here, without --fleet",
    "profile-host": "it profiles the QEMU of this host; leave one of them out",
    "qemu": "each worker has its own QEMU, the reviewed one; leave out --qemu",
    "cpus": "the operator of a worker chooses its CPUs; leave out --cpus",
}


def is_path(word: str) -> bool:
    """Whether a system, a policy, a machine or a history is given by path and not by name."""
    name = word.partition(":")[0]
    return ("://" not in word and "/" in name) or name.endswith((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class Options:
    cpus: tuple[int, ...] | None = None
    smp: tuple[int, ...] | None = None
    systems: tuple[str, ...] = ("linux",)
    accel: Accel | None = None
    """None: auto."""
    clock: str = "auto"
    clock_mode: str = "serial"
    machine: str = IDEAL
    """The name or path of the machine, unless a test's mark names one."""
    runs: int = 5
    max_runs: int = 25
    seeds: int = 5
    max_seeds: int = 5
    """The last look on the instruction clock: the first one, unless --max-runs is above --runs."""
    sets: tuple[tuple[str, str, str], ...] = ()
    """(workload, key, value), in the order given."""
    quick: bool = False
    include_smt: bool = False
    oversubscribe: bool = False
    measure: bool = False
    profile_host: bool = False
    inconclusive_fails: bool = True
    qemu: Path | None = None
    linux_kernel: Path | None = None
    locked: bool = False
    reports: Path = field(default_factory=lambda: Path("reports"))
    keep: int = 20
    policy: str = "default"
    extra_reports: tuple[Path, ...] = ()
    history: str | None = None
    """Where the session is imported at its end: a path or URL, empty for the user's own; None: nowhere."""
    fleet: str = ""
    """The address of the scheduler whose workers make the runs; empty: they are made here."""
    fleet_certificates: Path | None = None
    fleet_key: Path | None = None
    resume: Path | None = None
    """The folder of a session whose runs are taken over."""
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
        if self.clock_mode == "parallel":
            return "--clock-mode parallel only informs; gates are decided in serial mode"
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
    runs = 1 if quick else _runs("runs", got["runs"], usual.first)
    last = runs if got["runs"] else usual.max_runs
    max_runs = 1 if quick else _whole("max-runs", got["max-runs"], last, low=1, high=MOST_RUNS)
    usual.with_runs(runs, max_runs)
    seeds = 1 if quick else _runs("seeds", got["seeds"], runs)
    more_seeds = bool(got["max-runs"]) and max_runs > runs
    accel = _choice(got, "accel", "auto")
    clock, mode = _choice(got, "clock", "auto"), _choice(got, "clock-mode", "serial")
    machine = _machine(got["machine"], usual, clock, mode)
    fleet = str(got["fleet"] or "")
    _check_fleet(fleet, got, clock, mode)
    if clock == "auto" and (fleet or catalog.load_machine(machine) is not None):
        clock = "insn"  # the only one that has machines, and that other hosts repeat
    return Options(
        cpus=cpu_list("cpus", got["cpus"]),
        smp=_smp(got["smp"]),
        systems=_words(got["system"]) or ("linux",),
        accel=None if accel == "auto" else Accel(accel),
        clock=clock,
        clock_mode=mode,
        machine=machine,
        runs=runs,
        max_runs=max_runs,
        seeds=seeds,
        max_seeds=max(seeds, max_runs) if more_seeds else seeds,
        sets=tuple(_setting(word) for word in _words(got["set"])),
        quick=quick,
        include_smt=bool(got["include-smt"]),
        oversubscribe=bool(got["oversubscribe"]),
        measure=bool(got["measure"]),
        profile_host=bool(got["profile-host"]),
        inconclusive_fails=_choice(got, "inconclusive", "fail") == "fail",
        qemu=_path(got["qemu"]),
        linux_kernel=_path(got["linux-kernel"]),
        locked=bool(got["locked"]),
        reports=_path(got["reports"]) or Path("reports").absolute(),
        keep=_whole("keep", got["keep"], 20, low=0),
        policy=policy,
        extra_reports=tuple(Path(word).absolute() for word in _words(got["extra-report"])),
        history=_history(got["history"]),
        fleet=fleet,
        fleet_certificates=_path(got["fleet-certificates"]),
        fleet_key=_path(got["fleet-key"]),
        resume=_path(got["resume"]),
        lock_wait_s=_whole("lock-wait", got["lock-wait"], 600, low=0),
        plan=bool(got["plan"]),
    )


def _check_fleet(fleet: str, got: Mapping[str, object], clock: str, mode: str) -> None:
    """What cannot be asked of a fleet, by name."""
    if not fleet:
        if given := [f"--{name}" for name in ("fleet-certificates", "fleet-key") if got[name]]:
            raise UsageError(f"{given[0]} needs --fleet ADDRESS")
        return
    if clock in ("wall", "both"):
        raise UsageError(
            f"--fleet with --clock {clock}: wall time is measured on one host that nobody else uses; use "
            "--clock insn, whose runs are the same on every host, or measure here"
        )
    if mode == "parallel":
        raise UsageError("--fleet with --clock-mode parallel: its runs do not repeat; leave one of them out")
    for name, why in _NOT_ON_A_FLEET.items():
        if got[name]:
            raise UsageError(f"--fleet with --{name}: {why}")


def _machine(value: object, policy: Policy, clock: str, mode: str) -> str:
    """The option's, else the policy's."""
    word = str(value or policy.machine)
    word = str(Path(word).absolute()) if is_path(word) else word
    if catalog.load_machine(word) is None:
        return word
    named = f"--machine {word}" if value else f"policy {policy.name}: machine {word}"
    if clock == "wall":
        raise UsageError(
            f"{named}: only the instruction clock has machines; wall time has the caches of this host: use "
            "--clock insn, or --machine ideal"
        )
    if mode == "parallel":
        raise UsageError(f"{named}: {ONE_ORDER}; leave --clock-mode out, or use --machine ideal")
    return word


def _history(value: object) -> str | None:
    word = str(value or "off")
    if word in ("on", "off"):
        return "" if word == "on" else None
    if "://" not in word:
        return str(Path(word).absolute())
    if "@" in word and ":" in word.partition("://")[2].rpartition("@")[0]:
        raise UsageError(
            "--history: a session records its options, so give no password there; set the whole URL in "
            "BENCHGATE_HISTORY and use --history on, or keep the password in ~/.pgpass"
        )
    return word


def cpu_list(name: str, value: object) -> tuple[int, ...] | None:
    """`0,2-3` -> (0, 2, 3), in the given order; None if unset."""
    text = str(value or "").replace(" ", "")
    if not text:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise UsageError(f"--{name} {text}: `{part}` is not a number or a range such as 0-3")
        low, high = int(first), int(last or first)
        if high < low or len(found) + high - low >= MOST_CPUS:
            raise UsageError(
                f"--{name} {text:.80}: `{part}` is not an ascending range, "
                f"or more than {MOST_CPUS} CPUs are named"
            )
        found.extend(range(low, high + 1))
    if len(set(found)) != len(found):
        raise UsageError(f"--{name} {text}: contains a duplicate number")
    return tuple(found)


def _smp(value: object) -> tuple[int, ...] | None:
    counts = cpu_list("smp", value)
    if counts is not None and not all(1 <= count <= MAX_CPUS for count in counts):
        raise UsageError(f"--smp {value}: a CPU count must be from 1 to {MAX_CPUS}")
    return None if counts is None else tuple(sorted(counts))


def _runs(name: str, value: object, default: int) -> int:
    runs = _whole(name, value, default, low=1, high=MOST_RUNS)
    check_first_look(name, runs)
    return runs


def _whole(name: str, value: object, default: int, *, low: int, high: int = 10**9 - 1) -> int:
    text = str("" if value is None else value).strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise UsageError(f"--{name} {text:.80}: expected a whole number from {low} to {high}")
    return int(text)


def _choice(got: dict[str, object], name: str, default: str) -> str:
    option = next(option for option in TABLE if option.name == name)
    word = str(got[name] or default)
    if word not in option.choices:
        raise UsageError(f"--{name} {word}: expected one of {', '.join(option.choices)}")
    return word


def _words(value: object) -> tuple[str, ...]:
    if not value:
        return ()
    texts = value if isinstance(value, list | tuple) else str(value).split()
    return tuple(word for text in texts for word in str(text).split(",") if word)


def _setting(word: str) -> tuple[str, str, str]:
    target, equals, value = word.partition("=")
    workload, dot, key = target.partition(".")
    if not (equals and dot and workload and key and value):
        raise UsageError(f"--set {word}: expected WORKLOAD.KEY=VALUE, such as primes.hi=300000")
    return workload, key, value


def _path(value: object) -> Path | None:
    return Path(str(value)).absolute() if value else None
