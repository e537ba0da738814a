"""Every option of benchgate, once: its flag, its ini key, its meaning.

Takes what pytest (or the command line) holds under these names, gives a frozen `Options`. A value that
cannot be meant is a UsageError that names the option. The flag wins over the ini key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.errors import UsageError
from benchgate.model import Accel

MAX_CPUS = 64
_NUMBER = re.compile(r"[0-9]{1,9}")
"""Digits of other scripts are digits to Python too, and its numbers have no end."""


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table. `kind`: value, flag or list (repeatable)."""

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
        """Its ini/TOML key; the prefix keeps it apart from other plugins' keys."""
        return "benchgate_" + self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        return self.key


TABLE: tuple[Option, ...] = (
    Option(
        "cpus", "host CPUs to pin to, e.g. 0,1 or 0-3 (default: one logical CPU of each core)", metavar="LIST"
    ),
    Option("smp", "CPU counts to measure (default: 1,2 and 4 where the pins allow)", metavar="LIST"),
    Option(
        "system",
        "linux, native, kernel or a YAML path, kernel:sched=rr for a setting; repeatable",
        "list",
        "NAME|PATH",
    ),
    Option(
        "accel",
        "auto takes KVM only where a timed probe guest shows that it works",
        choices=("auto", "kvm", "tcg"),
    ),
    Option("clock", "what time is: the host's, or executed instructions", choices=("auto", "wall", "insn")),
    Option(
        "clock-mode",
        "instruction clock: serial repeats bit for bit; parallel is faster and gates nothing",
        choices=("serial", "parallel"),
    ),
    Option(
        "runs",
        "verified runs an arm at the first look: odd, at least 5; 1 measures and gates nothing",
        metavar="N",
    ),
    Option("max-runs", "the last look: 9, 15 or 25 runs an arm (default: as --runs)", metavar="N"),
    Option(
        "seeds",
        "runs an arm on the instruction clock: its samples are seeds (default: as --runs)",
        metavar="N",
    ),
    Option("set", "a workload's parameter, e.g. primes.hi=300000; repeatable", "list", "WORKLOAD.KEY=VALUE"),
    Option("quick", "one short run of everything; decides nothing and exits 5", "flag"),
    Option("include-smt", "one more row, smpN-smt, over all logical CPUs; never gated", "flag"),
    Option("oversubscribe", "allow more vCPUs than pins: functional only, never a speedup", "flag"),
    Option("measure", "attribution by the guest; gates are skipped", "flag"),
    Option("profile-host", "one extra run under `perf record` of the QEMU threads", "flag"),
    Option(
        "inconclusive",
        "whether an INCONCLUSIVE gate fails its test (exit 75) or warns",
        choices=("fail", "warn"),
    ),
    Option("qemu", "a QEMU of your own instead of the pinned one", metavar="PATH"),
    Option("linux-kernel", "a Linux bzImage of your own instead of the pinned one", metavar="PATH"),
    Option("locked", "take reviewed versions of QEMU and Linux only", "flag"),
    Option("reports", "where session folders go (default: reports)", metavar="DIR"),
    Option("keep", "how many session folders to keep (default: 20; 0 keeps all)", metavar="N"),
    Option("lock-wait", "seconds to wait while another session measures (default: 600)", metavar="S"),
    Option("plan", "print cells, order, lane, pins, skips and the estimated minutes; boot nothing", "flag"),
)


PATHS = ("reports", "qemu", "linux-kernel")
"""Options whose value is a path."""


def is_path(word: str) -> bool:
    """Whether a system is named by a file rather than by a name of ours."""
    name = word.partition(":")[0]
    return "/" in name or name.endswith((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class Options:
    cpus: tuple[int, ...] | None = None
    smp: tuple[int, ...] | None = None
    systems: tuple[str, ...] = ("linux",)
    accel: Accel | None = None
    """None: auto."""
    clock: str = "auto"
    clock_mode: str = "serial"
    runs: int = 5
    max_runs: int = 5
    seeds: int = 5
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
    lock_wait_s: float = 600.0
    plan: bool = False
    order_seed: int = 1
    """The arms' order is drawn from it; fixed, so that two sessions of one plan compare."""

    @property
    def gates(self) -> bool:
        """Whether this session can decide anything at all."""
        return self.runs >= 5 and not self.quick and not self.measure and self.clock_mode == "serial"

    @property
    def max_seeds(self) -> int:
        """The last look on the instruction clock: its first one, unless --max-runs asks for more."""
        return max(self.seeds, self.max_runs) if self.max_runs > self.runs else self.seeds

    @property
    def why_no_gates(self) -> str:
        if self.quick:
            return "--quick decides nothing"
        if self.measure:
            return "--measure changes what is measured"
        if self.clock_mode == "parallel":
            return "--clock-mode parallel informs; gates are decided in serial mode"
        return f"--runs {self.runs} is too few to decide anything; it takes at least 5"


Lookup = Callable[[Option], object]


def read(lookup: Lookup) -> Options:
    """The options; `lookup` answers the flag's value or else the ini key's, None or empty where unset."""
    got = {option.name: lookup(option) for option in TABLE}
    quick = bool(got["quick"])
    runs = 1 if quick else _runs("runs", got["runs"], 5)
    max_runs = 1 if quick else _whole("max-runs", got["max-runs"], runs, low=1)
    if max_runs < runs:
        raise UsageError(f"--max-runs {max_runs} is below --runs {runs}")
    return Options(
        cpus=cpu_list("cpus", got["cpus"]),
        smp=_smp(got["smp"]),
        systems=_words(got["system"]) or ("linux",),
        accel=None if _choice(got, "accel", "auto") == "auto" else Accel(_choice(got, "accel", "auto")),
        clock=_choice(got, "clock", "auto"),
        clock_mode=_choice(got, "clock-mode", "serial"),
        runs=runs,
        max_runs=max_runs,
        seeds=1 if quick else _runs("seeds", got["seeds"], runs),
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
        lock_wait_s=_whole("lock-wait", got["lock-wait"], 600, low=0),
        plan=bool(got["plan"]),
    )


def cpu_list(name: str, value: object) -> tuple[int, ...] | None:
    """`0,2-3` -> (0, 2, 3), in the order written; None where unset."""
    text = str(value or "").replace(" ", "")
    if not text:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise UsageError(f"--{name} {text}: `{part}` is not a number or a range such as 0-3")
        low, high = int(first), int(last or first)
        if high < low or high - low > 4096:
            raise UsageError(f"--{name} {text}: `{part}` is not a range that goes up")
        found.extend(range(low, high + 1))
    if len(set(found)) != len(found):
        raise UsageError(f"--{name} {text}: a number stands there twice")
    return tuple(found)


def _smp(value: object) -> tuple[int, ...] | None:
    counts = cpu_list("smp", value)
    if counts is not None and not all(1 <= count <= MAX_CPUS for count in counts):
        raise UsageError(f"--smp {value}: CPU counts go from 1 to {MAX_CPUS}")
    return None if counts is None else tuple(sorted(counts))


def _runs(name: str, value: object, default: int) -> int:
    runs = _whole(name, value, default, low=1)
    if runs != 1 and (runs < 5 or runs % 2 == 0):
        raise UsageError(
            f"--{name} {runs}: a first look takes an odd number of at least 5, or 1 to gate nothing"
        )
    return runs


def _whole(name: str, value: object, default: int, *, low: int) -> int:
    text = str("" if value is None else value).strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text) or int(text) < low:
        raise UsageError(f"--{name} {text}: expected a whole number of at least {low}")
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
    items = value if isinstance(value, list | tuple) else str(value).split()
    return tuple(word for item in items for word in str(item).split(",") if word)


def _setting(word: str) -> tuple[str, str, str]:
    target, equals, value = word.partition("=")
    workload, dot, key = target.partition(".")
    if not (equals and dot and workload and key and value):
        raise UsageError(f"--set {word}: expected WORKLOAD.KEY=VALUE, such as primes.hi=300000")
    return workload, key, value


def _path(value: object) -> Path | None:
    return Path(str(value)).absolute() if value else None
