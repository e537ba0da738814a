"""Boots the Linux guest on the instruction clock, for tests and for docs/measured/figures.md.

`python -m tools.clock_lab truth|cost|memory|order|threads|handovers|turns` prints one of the tables.
`seen RUN ...` prints what it costs to see the threads of runs that were made with `--threads`; `counts RUN
...` and `thunks RUN ...` what those cost or save. This module does not check results: a `Boot` holds what a
boot gave, and the tests judge it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchgate.base.cells import Accel, Mode
from benchgate.base.system.arch import X86_64, Architecture, named
from benchgate.base.system.machines import memory_ranges
from benchgate.base.system.qemu import GOOD_EXIT, Qemu, command
from benchgate.base.workload.workloads import Workload
from benchgate.build import programs
from benchgate.build.fetch import cross, inputs
from benchgate.build.toolchain import compiler
from benchgate.insn.arguments import NO_RECORDS, ClockRun, Records, arguments
from benchgate.insn.guests import exact_arguments, linux_words
from benchgate.insn.kallsyms import linux_symbols
from benchgate.insn.log import CARRIERS, AccessOrder, ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.machine_shape import shape
from benchgate.insn.observe.resolve import observe_file
from benchgate.insn.plugin import FLAGS, api_of, build, c_file, c_folders, prepare
from benchgate.insn.window import ClockWindow, window
from benchgate.plan import catalog
from tools.overhead import forgotten

DATA = Path(__file__).parents[1] / "tests" / "data"
ERRANDS = DATA / "errands" / "errands.c"
BOOT_S = 600
LINUX = "quiet psi=0 cgroup_disable=memory nowatchdog panic=-1"
MS = 1_000_000


@dataclass(frozen=True)
class Boot:
    status: int
    console: str
    errors: str
    log: ClockLog | None
    seconds: float
    cpu_seconds: float
    guest: Architecture = X86_64

    @property
    def good(self) -> bool:
        return self.status == self.guest.exit_code

    def window(self, workers: int) -> ClockWindow:
        assert self.log is not None, self.errors
        assert self.good, f"{self.status}\n{self.console}\n{self.errors}"
        return window(self.log, workers)

    def words(self, kind: str) -> list[dict[str, str]]:
        lines = [line for line in self.console.splitlines() if line.startswith(f"@bench {kind} ")]
        return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines]


def workload(name: str) -> Workload:
    source = DATA / name / f"{name}.c"
    if not source.exists():
        return catalog.load_workload(name)
    return Workload(name, Mode.THREAD, source, source, source, {})


@dataclass(frozen=True)
class Lab:
    """One QEMU with its machine, one Linux image with its words."""

    qemu: Qemu
    kernel: Path
    machine: str
    words: str
    clocked: bool = True
    """False: plain TCG of the same QEMU."""
    options: dict[str, Any] = field(default_factory=dict)

    def boot(
        self,
        name: str,
        cpus: int,
        words: str,
        *,
        workers: int = 0,
        seed: int = 0,
        records: Records = NO_RECORDS,
        debugger: Callable[[Path], None] | None = None,
        extra: tuple[str, ...] = (),
        during: Callable[[Path], None] | None = None,
    ) -> Boot:
        """One boot. `during` is called with the folder while QEMU runs."""
        program = workload(name)
        guest = self.qemu.guest
        compiler = cross.compiler(guest)
        initrd = programs.linux_initramfs(programs.guest_program(program, compiler), compiler=compiler)
        workers = workers or cpus
        with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
            log, console = Path(folder) / "clock.log", Path(folder) / "console"
            append = self.words
            append += (
                f" bench.workload={name} bench.mode={program.mode} bench.workers={workers} bench.cpus={cpus}"
            )
            append += f" bench.nonce=lab {words}"
            serial = ("-serial", f"file:{console}")
            argv, environment = self.line(
                cpus, log, seed, records, console=serial, initrd=initrd, append=append
            )
            argv += [word.replace("FOLDER", folder) for word in extra]
            before, begin = os.times(), time.monotonic()
            if debugger is not None:
                argv += ["-S", "-gdb", f"unix:{folder}/gdb,server=on,wait=off"]
            with subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE, text=True) as process:
                try:
                    if debugger is not None:
                        debugger(Path(folder) / "gdb")
                    if during is not None:
                        during(Path(folder))
                    errors = process.communicate(timeout=BOOT_S)[1]
                finally:
                    process.kill()
            after, end = os.times(), time.monotonic()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            text = console.read_text(errors="replace") if console.exists() else ""
            seen = read_log(log) if log.exists() else None
        return Boot(process.returncode, text, errors, seen, end - begin, used, guest)

    def line(
        self, cpus: int, log: Path, seed: int, records: Records = NO_RECORDS, **more: Any
    ) -> tuple[list[str], dict[str, str]]:
        """QEMU's command line and environment; `more` is for `qemu.command`."""
        environment = {**os.environ, **self.qemu.environment}
        if self.clocked:
            run = ClockRun(
                log,
                seed=seed,
                records=records,
                cpus=cpus,
                guest=self.qemu.guest,
                machine=self.machine,
                **self.options,
            )
            clock = arguments(prepare(self.qemu), run)
            extra = clock.argv_extra
            environment.update(clock.environment)
            more["one_insn"] = clock.one_insn
        else:
            extra = exact_arguments(self.qemu.guest, self.machine)
        argv = command(
            self.qemu,
            machine=self.machine,
            accel=Accel.TCG,
            cpu="max",
            memory="512M",
            smp=str(cpus),
            kernel=self.kernel,
            extra=extra,
            **more,
        )
        return [*argv], environment


def lab(
    guest: Architecture | None = None,
    *,
    clocked: bool = True,
    light: bool = False,
    **options: Any,
) -> Lab:
    """A lab with the pinned QEMU, or with the program that $CLOCK_LAB_QEMU names. $CLOCK_LAB_ARCH may name
    the guest's architecture, and $CLOCK_LAB_MACHINE another `-machine`. `light`: with the machine and the
    words of the shipped Linux guest, whose boot executes a third less; the tables of docs/ are older."""
    guest = guest or named(os.environ.get("CLOCK_LAB_ARCH", X86_64.name))
    shipped = catalog.load_system("linux" if guest is X86_64 else f"linux:arch={guest}")
    machine = os.environ.get("CLOCK_LAB_MACHINE") or (shipped.qemu.machine if light else guest.machine)
    plain = f"console={guest.console} {LINUX} {' '.join(linux_words(guest))}"
    words = shipped.boot.append if light else plain
    qemu, kernel = _fetched(os.environ.get("CLOCK_LAB_QEMU"), guest)
    return Lab(qemu, kernel, machine, words, clocked, options)


@cache
def _fetched(other: str | None, guest: Architecture) -> tuple[Qemu, Path]:
    """QEMU and the kernel's image, of which each call would compute the digest."""
    return inputs.qemu(Path(other) if other else None, guest), inputs.linux_kernel(guest=guest).image


light_lab = partial(lab, light=True)


class Debugger:
    """Starts the guest through QEMU's gdb stub. With an address, it stops the guest there once for
    `pause_s`."""

    def __init__(self, address: int = 0, pause_s: float = 0.5) -> None:
        self.address = address
        self.pause_s = pause_s
        self.stops = 0
        self.received = b""

    def __call__(self, path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as stub:
            stub.settimeout(BOOT_S)
            deadline = time.monotonic() + 60
            while stub.connect_ex(str(path)) != 0:
                assert time.monotonic() < deadline, "the gdb stub does not listen after 60 s"
                time.sleep(0.05)
            if self.address:
                assert self.ask(stub, f"Z0,{self.address:x},1") == b"OK"
                assert self.ask(stub, "c").startswith(b"T05")
                self.stops += 1
                time.sleep(self.pause_s)
                assert self.ask(stub, f"z0,{self.address:x},1") == b"OK"
            assert self.ask(stub, "c").startswith(b"W"), "the guest did not end by itself"

    def ask(self, stub: socket.socket, words: str) -> bytes:
        """The stub's answer. It does not need acknowledgements, so none are sent."""
        stub.sendall(f"${words}#{sum(words.encode()) & 255:02x}".encode())
        while (match := re.search(rb"\$([^#]*)#..", self.received)) is None:
            more = stub.recv(4096)
            assert more, "the gdb stub closed the connection"
            self.received += more
        self.received = self.received[match.end() :]
        return match[1]


def errands(folder: Path, every_us: int) -> tuple[str, ...]:
    """Arguments for a boot's `extra` that make QEMU run a job on every vCPU, at intervals of host time."""
    library = folder / "errands.so"
    interface = api_of(lab().qemu)
    flags = [flag for flag in FLAGS if not flag.startswith("-ffile-prefix-map")]
    argv = [
        *compiler().argv,
        *flags,
        f"-DQEMU_API={interface}",
        str(ERRANDS),
        "-o",
        str(library),
        "-lpthread",
    ]
    subprocess.run(argv, check=True)
    return ("-plugin", f"{library},every={every_us}")


@contextmanager
def burning(threads: int, on: set[int] | None = None) -> Iterator[None]:
    """Keeps the host's CPUs, or those in `on`, busy with this many threads."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(threads)]
    for burner in burners:
        os.sched_setaffinity(burner.pid, on or os.sched_getaffinity(0))
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait(10)


# ---- cases whose duration can be computed; see data/truth/truth.c

WORK = 80 * MS
HOLD = 64_000


@dataclass(frozen=True)
class Case:
    name: str
    expected: Callable[[int, int], float]
    """The duration in ns, from the work and the number of workers."""
    about: str
    work: int = WORK
    workers: int = 0
    """0: one per CPU."""


def one_with_triple_work(whole: int, workers: int) -> float:
    return 3 * whole / (workers + 2)


def under_a_lock(whole: int, workers: int) -> float:
    return whole // workers // HOLD * workers * HOLD


def constant(_whole: int, _workers: int) -> float:
    return 200 * MS


CASES = (
    Case("perfect", lambda whole, workers: whole / workers, "perfectly parallel"),
    Case("triple", one_with_triple_work, "one worker has three times the work"),
    Case("serial10", lambda whole, workers: whole * (0.1 + 0.9 / workers), "a serial section of 10%"),
    Case("serial50", lambda whole, workers: whole * (0.5 + 0.5 / workers), "a serial section of 50%"),
    Case("barrier", one_with_triple_work, "blocking barriers, uneven phases"),
    Case("spinbarrier", one_with_triple_work, "spinning barriers, uneven phases"),
    Case("lock", under_a_lock, "a fair spin lock around everything"),
    Case("perfect", lambda whole, workers: whole / workers, "one busy CPU, the others idle", workers=1),
    Case("sleepers", constant, "20 sleeps of 10 ms beside a computing task"),
    Case("periodic", constant, "a timer of 10 ms, 3 ms of work each"),
    Case(
        "background",
        lambda whole, workers: 2 * whole / workers,
        "a background task takes half of CPU 0",
        work=1600 * MS,
    ),
)


@dataclass(frozen=True)
class Outcome:
    expected: float
    clock: int
    guest: int

    @property
    def error(self) -> float:
        return max(abs(self.clock / self.expected - 1), abs(self.guest / self.expected - 1))


def boot_case(
    setup: Lab,
    case: Case,
    cpus: int,
    *,
    seed: int = 0,
    extra: tuple[str, ...] = (),
    records: Records = NO_RECORDS,
) -> Boot:
    workers = case.workers or cpus
    pins = ",".join(map(str, range(workers)))
    words = f"bench.case={case.name} bench.work={case.work} bench.hold={HOLD} bench.pin={pins}"
    return setup.boot("truth", cpus, words, workers=workers, seed=seed, extra=extra, records=records)


def outcome(case: Case, cpus: int, done: Boot) -> Outcome:
    workers = case.workers or cpus
    window = done.window(workers)
    report = done.words("window")[0]
    guest = int(report["work_end"]) - int(report["work_start"])
    return Outcome(case.expected(case.work, workers), window.work, guest)


def run_case(setup: Lab, case: Case, cpus: int, *, seed: int = 0) -> Outcome:
    return outcome(case, cpus, boot_case(setup, case, cpus, seed=seed))


PRIMES = "bench.hi={hi} bench.split=cost bench.wait=join"


# ---- tables


def chosen(default: tuple[int, ...]) -> tuple[int, ...]:
    """The CPU counts; $CLOCK_LAB_CPUS (such as 1,4) replaces them."""
    given = os.environ.get("CLOCK_LAB_CPUS")
    return tuple(map(int, given.split(","))) if given else default


def table_truth() -> None:
    setup = lab()
    print("| what | CPUs | arithmetic, ns | instruction clock | guest's clock |\n|---|---|---|---|---|")
    for case in CASES:
        for cpus in chosen((2, 4, 8)):
            seen = run_case(setup, case, cpus)
            figures = " | ".join(
                f"{value:,} ({value / seen.expected - 1:+.2%})" for value in (seen.clock, seen.guest)
            )
            print(f"| {case.about} | {cpus} | {seen.expected:,.0f} | {figures} |", flush=True)


TURNS = 4


def table_cost() -> None:
    """The minimum over several boots of each kind, in interleaved order: the speed of a shared host changes
    from one minute to the next by more than the differences that the table shows."""
    setups = (lab(clocked=False), lab())
    print("| CPUs | plain TCG, CPU s | instruction clock |\n|---|---|---|")
    for cpus in chosen((1, 2, 4, 8)):
        words = PRIMES.format(hi=3_000_000)
        turns = [[setup.boot("primes", cpus, words).cpu_seconds for setup in setups] for _ in range(TURNS)]
        plain, *costs = map(min, zip(*turns, strict=True))
        print(
            f"| {cpus} | {plain:.2f} | "
            + " | ".join(f"{cost:.2f} ({cost / plain:.2f}x)" for cost in costs)
            + " |",
            flush=True,
        )


FIRMWARE = range(0x8000_0000, 0x8020_0000)
"""The addresses of OpenSBI on RISC-V, below the kernel. Nothing else in a window has such addresses."""
BLOCK = re.compile(r"^block ([0-9a-f]+) (\d+) \d+ (\d+)$", re.MULTILINE)


def blocks(profile: Path) -> list[tuple[int, int]]:
    """The address of each block of code that ran in the window, and the instructions executed in it."""
    return [
        (int(match[1], 16), int(match[2]) * int(match[3])) for match in BLOCK.finditer(profile.read_text())
    ]


def shape_of(name: str, cpus: int, folder: Path) -> Path:
    """The machine of this name for so many CPUs and the lab's 512 MiB of an x86-64 guest, as a file."""
    machine = catalog.memory_machine(name)
    assert machine is not None, f"machine {name} has no memory system"
    path = folder / f"{name}{cpus}.shape"
    path.write_text(shape(machine, cpus, memory_ranges(machine, 0, 512 * 2**20)), encoding="ascii")
    return path


MACHINE = os.environ.get("CLOCK_LAB_MEMORY", "server2x16")
ON_MEMORY = {
    "primes": PRIMES.format(hi=3_000_000),
    "checksum": "",
    "contend": "bench.takes=20000 bench.hold=100 bench.delay=2000 bench.lock=park",
}


def table_memory() -> None:
    """CPU seconds of boot and workload against plain TCG, on the clock's ideal machine and on
    $CLOCK_LAB_MEMORY: medians, interleaved."""
    print(f"| workload | CPUs | plain TCG, CPU s | ideal | {MACHINE} |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
        for name, words in ON_MEMORY.items():
            for cpus in chosen((1, 4, 16)):
                setups = (lab(clocked=False), lab(), lab(shape=shape_of(MACHINE, cpus, Path(folder))))
                turns = [[setup.boot(name, cpus, words).cpu_seconds for setup in setups] for _ in range(3)]
                plain, *costs = map(statistics.median, zip(*turns, strict=True))
                figures = " | ".join(f"{cost:.2f} ({cost / plain:.2f}x)" for cost in costs)
                print(f"| {name} | {cpus} | {plain:.2f} | {figures} |", flush=True)


SWITCHING = {
    "tasks": "bench.steps=100000 bench.grain=20 bench.live=4",
    "service": "bench.requests=8000 bench.grain=1500 bench.spread=1000 bench.route=own",
}
"""Rows that switch between threads much more often than others."""


def thread_records(folder: Path) -> Records:
    """The threads of the shipped Linux guest."""
    setup, observe = light_lab(), folder / "observe"
    linux = catalog.load_system("linux").observe
    assert linux is not None
    observe.write_text(observe_file(linux, setup.kernel, linux_symbols(setup.qemu, setup.kernel)))
    return Records(threads=folder / "threads", observe=observe)


def table_threads() -> None:
    """The minimum of the CPU seconds of boot and workload without and with the threads seen, interleaved."""
    print("| workload | CPUs | switches of the run | not seen, CPU s | seen |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
        seen = thread_records(Path(folder))
        for name, words in SWITCHING.items():
            for cpus in chosen((2, 8, 32)):
                pairs = []
                for _ in range(TURNS):
                    boots = [
                        light_lab().boot(name, cpus, words, seed=1, records=records)
                        for records in (NO_RECORDS, seen)
                    ]
                    assert all(boot.good for boot in boots), boots[-1].console
                    pairs.append([boot.cpu_seconds for boot in boots])
                off, on = map(min, zip(*pairs, strict=True))
                switches = (Path(folder) / "threads").read_text().count("\nswitch ")
                figures = f"{switches:,} | {off:.2f} | {on:.2f} ({on / off:.2f}x)"
                print(f"| {name} | {cpus} | {figures} |", flush=True)


def table_seen(runs: list[str]) -> None:
    """The CPU seconds of QEMU with the command line of a run, without and with the threads seen."""
    print("| run | switches | pairs | not seen, CPU s | seen | of the minima |\n|---|---|---|---|---|---|")
    for run in map(Path, runs):
        argv = json.loads((run / "argv.json").read_text())
        environment = json.loads((run / "environment.json").read_text())
        with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
            pairs = []
            for _ in range(TURNS):
                gone = (("threads=", "observe="), ())
                lines = [_repeated(argv, Path(folder), run, *without) for without in gone]
                pairs.append([_cpu_seconds(line, environment) for line in lines])
            switches = (Path(folder) / "threads").read_text().count("\nswitch ")
        off, on = zip(*pairs, strict=True)
        spread = f"{min(off):.2f} .. {max(off):.2f} | {min(on):.2f} .. {max(on):.2f}"
        figures = f"{switches:,} | {len(pairs)} | {spread} | {min(on) / min(off):.3f}x"
        print(f"| {run.name} | {figures} |", flush=True)


PAIRS = 25
WITHOUT = {"counts": "-DINSN_UNCOUNTED", "thunks": "-DINSN_SIGNALS"}
"""With the first flag the plugin counts nothing for witnesses; with the second each read of the TSC is a
signal."""


def table_without(what: str, runs: list[str]) -> None:
    """The CPU seconds of QEMU with the command line of a run, with and without what a flag takes away: each
    pair in the other order, and the median of the ratios with its interval of 95% (the 8th and the 18th)."""
    print(f"| run | pairs | without, CPU s | with | median of the ratios | load |\n{'|---' * 6}|")
    for run in map(Path, runs):
        argv = json.loads((run / "argv.json").read_text())
        environment = json.loads((run / "environment.json").read_text())
        plugin = environment["LD_PRELOAD"]
        other = str(build(api_of(_fetched(None, X86_64)[0]), WITHOUT[what]))
        with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
            line = _repeated(argv, Path(folder), run, "threads=")
            sides = [(line, environment)]
            bare = {key: value.replace(plugin, other) for key, value in environment.items()}
            sides.append(([word.replace(plugin, other) for word in line], bare))
            pairs = []
            for turn in range(PAIRS):
                order = sides if turn % 2 else sides[::-1]
                spent = [_cpu_seconds(*side) for side in order]
                pairs.append(spent if turn % 2 else spent[::-1])
        ratios = sorted(counted / bare for counted, bare in pairs)
        on, off = (statistics.median(side) for side in zip(*pairs, strict=True))
        middle = f"{statistics.median(ratios):.3f}x [{ratios[7]:.3f}, {ratios[-8]:.3f}]"
        figures = f"{off:.2f} | {on:.2f} | {middle} | {os.getloadavg()[1]:.1f}"
        print(f"| {run.name} | {PAIRS} | {figures} |", flush=True)


def _repeated(argv: list[str], folder: Path, run: Path, *without: str) -> list[str]:
    """Its command line without a person that starts it or types, with other files, and without the options
    of the clock that begin so."""
    words, rest = list[str](), iter(forgotten(argv))
    for word in rest:
        value = next(rest) if word in ("-chardev", "-mon", "-plugin") else ""
        if word == "-plugin":
            parts = (piece for piece in value.split(",") if not piece.startswith(without))
            new = {"out": folder / "log", "threads": folder / "threads", "observe": run / "observe.txt"}
            named = (
                f"{key}={new[key]}" if (key := text.partition("=")[0]) in new else text for text in parts
            )
            words += [word, ",".join(named)]
        elif value.startswith("stdio,"):
            words += [word, f"file,id=console,path={folder / 'console'}"]
        elif not value and word != "-S":
            words.append(word)
    return words


def _cpu_seconds(argv: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=BOOT_S, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, GOOD_EXIT), done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


PHASE_NS = 4000
"""The longest share of a phase of barriers."""


@dataclass(frozen=True)
class Barriers:
    """Phases that end in a barrier whose wait the clock cannot recognise."""

    cpus: int
    phases: int
    times: int
    """What one CPU, another one in each phase, has to do in terms of the others' share."""

    @property
    def arithmetic(self) -> int:
        return self.phases * PHASE_NS

    @property
    def whole(self) -> int:
        """The work of all CPUs."""
        return self.arithmetic * (self.cpus + self.times - 1) // self.times

    def took(self, done: Boot) -> int:
        """The time from the last worker that begins its first phase to the last that ends its last one."""
        assert done.good, f"{done.console}\n{done.errors}"
        begins, ends = ([int(one[word]) for one in done.words("worker")] for word in ("first", "last"))
        return max(ends) - max(begins)

    def boot(self, order: AccessOrder, *, seed: int = 0) -> Boot:
        words = f"bench.case=lookbarrier bench.work={self.whole} bench.phases={self.phases}"
        words += f" bench.times={self.times} bench.pin={','.join(map(str, range(self.cpus)))}"
        return lab(order=order).boot("truth", self.cpus, words, seed=seed)


def table_order() -> None:
    """Prints the table of the ideal machine."""
    print("| CPUs | phases | shares | order | arithmetic, ns | it took, ns | speedup | late in the window |")
    print("|---|---|---|---|---|---|---|---|")
    for cpus in chosen((4, 16)):
        for times, shares in ((1, "even"), (4, "uneven")):
            for order in (AccessOrder.UNSAID, AccessOrder.WATCH, AccessOrder.STRICT):
                case = Barriers(cpus, 500, times)
                done = case.boot(order)
                late = done.log.orders["window"] if done.log and done.log.orders else None
                work, best = case.took(done), case.whole / case.arithmetic
                longer = work / case.arithmetic - 1
                worst = f"{late.count}, {late.worst_ns} ns" if late else "-"
                print(
                    f"| {cpus} | {case.phases} | {shares} | {order or 'off'} | {case.arithmetic:,} "
                    f"| {work:,} ({longer:+.2%}) | {case.whole / work:.2f}x of {best:.2f}x | {worst} |",
                    flush=True,
                )


HAND_OVERS = 500_000


def table_handovers() -> None:
    """What a hand-over between two vCPUs costs in each way, without QEMU: the least of several processes."""
    sources = [DATA / "carrier/turns.c", *map(c_file, ("carrier.c", "switch.c", "journal.c"))]
    headers = [f"-I{folder}" for folder in c_folders()]
    print("| way | CPU time, ns |\n|---|---|")
    with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
        made = f"{folder}/turns"
        argv = [*compiler().argv, "-std=c11", "-O3", *headers, *map(str, sources), "-o", made, "-lpthread"]
        subprocess.run(argv, check=True)
        for way in CARRIERS:
            words = [made, way, "2", str(HAND_OVERS), "bare"]
            seen = [subprocess.run(words, check=True, capture_output=True, text=True) for _ in range(TURNS)]
            print(f"| {way} | {min(int(one.stdout.split()[-1]) for one in seen):,} |", flush=True)


TIMERS = (1_000, 21_000)


def table_turns() -> None:
    """What a turn of the main loop costs, in a guest that does nothing but wait for its timers: two turns for
    each, one to set it and one when it is due."""
    from tests.kernelkit import stress

    print("| busy CPUs of the host | turns | CPU time of a turn, us |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="clock-lab-") as folder:
        guest, log = stress(Path(folder)), Path(folder) / "clock.log"
        for busy in (0, len(os.sched_getaffinity(0))):
            seen = []
            with burning(busy):
                for timers in TIMERS:
                    argv, environment = light_lab(marked=False).line(1, log, seed=7)
                    argv += ["-kernel", str(guest), "-append", f"case=oneshot cpus=1 steps={timers}"]
                    spent = min(_cpu_seconds(argv, environment) for _ in range(TURNS))
                    seen.append((read_log(log).host["main_turns"], spent))
            (few, less), (many, more) = seen
            print(f"| {busy} | {many - few:,} | {(more - less) / (many - few) * 1e6:.1f} |", flush=True)


if __name__ == "__main__":
    tables: dict[str, Callable[[], None]] = {
        "truth": table_truth,
        "cost": table_cost,
        "memory": table_memory,
        "order": table_order,
        "threads": table_threads,
        "handovers": table_handovers,
        "turns": table_turns,
    }
    if sys.argv[1:2] == ["seen"]:
        table_seen(sys.argv[2:])
    elif (what := "".join(sys.argv[1:2])) in WITHOUT:
        table_without(what, sys.argv[2:])
    else:
        for word in sys.argv[1:]:
            tables[word]()
