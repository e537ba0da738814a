"""Reads the values of options: of each from the word that a user gave for it, then all together.

Takes the values that pytest or the command line has for the names of the table, gives a frozen `Options`. A
flag takes precedence over its ini key. An invalid value fails with UsageError, and an invalid word with
OptionError, which knows the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate import hooks
from benchgate.base.cells import Accel
from benchgate.base.errors import CatalogError, OptionError, UsageError
from benchgate.base.gates import BOOTS, SMALLEST_LOOK, Policy, check_first_look
from benchgate.base.snapshots import ALWAYS_WARM, StartKind
from benchgate.base.system.machines import IDEAL
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.void_rule import MOST_RUNS
from benchgate.hooks import Option, RunMaker
from benchgate.plan import catalog, option_table

MOST_CPUS = 4096
"""No list of CPUs is longer."""
_NUMBER = re.compile(r"[0-9]{1,9}")
"""Python's int() would also accept digits of other scripts and numbers of any length."""
Lookup = Callable[[Option], object]


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
    start: str = StartKind.COLD
    """Where runs on the instruction clock begin: a StartKind, AUTO or FORK."""
    boots: int = BOOTS
    """How many different boots stand behind the runs of an arm that starts warm."""
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
    resume: Path | None = None
    """The folder of a session whose runs are reused."""
    lock_wait_s: float = 600.0
    plan: bool = False
    order_seed: int = 1
    """The seed of the arms' order. It is fixed, so that two sessions of one plan can be compared."""
    of_features: Mapping[str, object] = field(default_factory=dict)
    """The values of the options that features add (hooks.py), by `Option.field`."""

    @property
    def maker(self) -> RunMaker | None:
        """Who makes the runs; None: this machine."""
        return hooks.maker_of(self.of_features)

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


def read(lookup: Lookup) -> Options:
    """The options. `lookup` gives the value of the flag, else of the ini key; None or empty if unset."""
    got = {option.name: lookup(option) for option in option_table.known()}
    quick = bool(got["quick"])
    policy = str(got["policy"] or "default")
    usual = catalog.load_policy(policy)
    runs = 1 if quick else runs_of("runs", got["runs"], usual.first)
    last = runs if got["runs"] else usual.max_runs
    max_runs = 1 if quick else whole_number("max-runs", got["max-runs"], last, low=1, high=MOST_RUNS)
    usual.with_runs(runs, max_runs)
    seeds = 1 if quick else runs_of("seeds", got["seeds"], runs)
    more_seeds = bool(got["max-runs"]) and max_runs > runs
    accel = choice_of(got, "accel", "auto")
    clock = choice_of(got, "clock", "auto")
    machine = _machine(got["machine"], usual, clock)
    of_features = hooks.values_of_options(got)
    if clock == "auto" and (hooks.maker_of(of_features) or catalog.load_machine(machine) is not None):
        clock = "insn"  # the only one that has machines, and that other hosts repeat
    return Options(
        cpus=cpu_list("cpus", got["cpus"]),
        smp=smp_counts(got["smp"]),
        systems=listed_words(got["system"]) or ("linux",),
        accel=None if accel == "auto" else Accel(accel),
        clock=clock,
        machine=machine,
        start=_start(got, clock),
        boots=usual.boots,
        runs=runs,
        max_runs=max_runs,
        seeds=seeds,
        max_seeds=max(seeds, max_runs) if more_seeds else seeds,
        sets=tuple(setting_of(word) for word in listed_words(got["set"])),
        quick=quick,
        include_smt=bool(got["include-smt"]),
        oversubscribe=bool(got["oversubscribe"]),
        measure=bool(got["measure"]),
        threads=bool(got["threads"]),
        profile_host=bool(got["profile-host"]),
        inconclusive_fails=choice_of(got, "inconclusive", "fail") == "fail",
        qemu=path_of(got["qemu"]),
        linux_kernel=path_of(got["linux-kernel"]),
        locked=bool(got["locked"]),
        reports=path_of(got["reports"]) or Path("reports").absolute(),
        keep=whole_number("keep", got["keep"], 20, low=0),
        policy=policy,
        gate_files=tuple(Path(word).absolute() for word in listed_words(got["gate"])),
        extra_reports=tuple(Path(word).absolute() for word in listed_words(got["extra-report"])),
        resume=path_of(got["resume"]),
        lock_wait_s=whole_number("lock-wait", got["lock-wait"], 600, low=0),
        plan=bool(got["plan"]),
        of_features=of_features,
    )


def _start(got: Mapping[str, object], clock: str) -> str:
    start = choice_of(got, "start", StartKind.COLD)
    if start in ALWAYS_WARM and clock != "insn":
        raise OptionError("start", f" {start}: only the instruction clock starts warm; add --clock insn")
    return start


def _machine(value: object, policy: Policy, clock: str) -> str:
    """The machine of the option, else of the policy."""
    word = str(value or policy.machine)
    word = str(Path(word).absolute()) if is_path(word) else word

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


def is_path(word: str) -> bool:
    """Whether what may be a name, such as a system's, is a path."""
    name = word.partition(":")[0]
    return ("://" not in word and "/" in name) or name.endswith((".yaml", ".yml"))


def cpu_list(name: str, value: object) -> tuple[int, ...] | None:
    """Reads `0,2-3` as (0, 2, 3), in the given order; None if unset."""
    text = str(value or "").replace(" ", "")
    if not text:
        return None
    result: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise OptionError(name, f" {text}: `{part}` is not a number or a range such as 0-3")
        low, high = int(first), int(last or first)
        if high < low or len(result) + high - low >= MOST_CPUS:
            raise OptionError(
                name,
                f" {text:.80}: `{part}` is not an ascending range, or more than {MOST_CPUS} CPUs are named",
            )
        result.extend(range(low, high + 1))
    if len(set(result)) != len(result):
        raise OptionError(name, f" {text}: contains a duplicate number")
    return tuple(result)


def smp_counts(value: object) -> tuple[int, ...] | None:
    counts = cpu_list("smp", value)
    if counts is not None and not all(1 <= count <= MAX_CPUS for count in counts):
        raise OptionError("smp", f" {value}: a CPU count must be from 1 to {MAX_CPUS}")
    return None if counts is None else tuple(sorted(counts))


def runs_of(name: str, value: object, default: int) -> int:
    count = whole_number(name, value, default, low=1, high=MOST_RUNS)
    check_first_look(name, count)
    return count


def whole_number(name: str, value: object, default: int, *, low: int, high: int = 10**9 - 1) -> int:
    text = str("" if value is None else value).strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise OptionError(name, f" {text:.80}: expected a whole number from {low} to {high}")
    return int(text)


def choice_of(got: Mapping[str, object], name: str, default: str) -> str:
    option = next(option for option in option_table.TABLE if option.name == name)
    word = str(got[name] or default)
    if word not in option.choices:
        raise OptionError(name, f" {word}: expected one of {', '.join(option.choices)}")
    return word


def listed_words(value: object) -> tuple[str, ...]:
    if not value:
        return ()
    texts = value if isinstance(value, list | tuple) else str(value).split()
    return tuple(word for text in texts for word in str(text).split(",") if word)


def setting_of(word: str) -> tuple[str, str, str]:
    target, equals, value = word.partition("=")
    workload, dot, key = target.partition(".")
    if not (equals and dot and workload and key and value):
        raise OptionError("set", f" {word}: expected WORKLOAD.KEY=VALUE, such as primes.hi=300000")
    return workload, key, value


def path_of(value: object) -> Path | None:
    return Path(str(value)).absolute() if value else None
