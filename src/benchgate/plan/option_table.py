"""The table of all options of benchgate: flag, ini key and meaning.

Data: takes nothing. Words are read by options.py. `known` fails with FeatureError.
"""

from __future__ import annotations

from benchgate import hooks
from benchgate.hooks import Option

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
        "machine",
        "instruction clock: the machine whose caches, sockets and memory are simulated, e.g. desktop8 "
        "(default: the policy's, else ideal, which has none)",
        metavar="NAME|PATH",
    ),
    Option(
        "start",
        "instruction clock: where runs begin: cold, at the machine's reset, or warm, at a snapshot of "
        "the booted guest; auto: warm where a system can; fork: warm, as forks of one QEMU "
        "(`benchgate docs warm`)",
        choices=("cold", "warm", "auto", "fork"),
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
    Option(
        "threads",
        "instruction clock: every run records what its guest's threads did (`benchgate docs threads`)",
        "flag",
    ),
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
        "gate",
        "a kind of gate of your own with a mark: a Python file with KIND, MARK and judge(gate, measured); "
        "repeatable",
        "list",
        "PATH",
    ),
    Option(
        "extra-report",
        "a report of your own: a Python file with NAME and render(view); repeatable",
        "list",
        "PATH",
    ),
    Option(
        "resume",
        "take over the runs of a session that was interrupted, from its folder; only those on the "
        "instruction clock, of the same guest and QEMU",
        metavar="DIR",
    ),
    Option("lock-wait", "seconds to wait while another session is measuring (default: 600)", metavar="S"),
    Option("plan", "print cells, order, lanes, pins, skips and the estimated minutes; boot nothing", "flag"),
    *hooks.options(hooks.shipped()),
)


def known() -> tuple[Option, ...]:
    """With those of installed features."""
    return (*TABLE, *hooks.options(hooks.added("option", (one.name for one in TABLE))))
