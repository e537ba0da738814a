"""Boots a guest under a real KVM, in a small machine that TCG emulates; counts what a setting costs there.

`python -m contrib.nested_kvm.boot [--smp 2] [--times 1] [--rounds 1] [SETTING ...]` boots in each
of SETTINGS (or of those named), in turns, and prints a table: how often the guest left, how long it took by
the outer machine's clock, which counts instructions (2 ns each), and the CPU time of the outer QEMU. The
first two hardly depend on what else this host does.

The machine has no disk. Its initramfs holds our PID 1, inside/inner.c, the fetched QEMU with its
libraries, KVM's modules, and what the guest boots. The inner QEMU has the command line that benchgate makes
for lane kvm, but that the guest starts at once. Fails with FetchError where QEMU, the kernel or its modules
cannot be had, and with BootError, which has the console, if a boot does not end as it should.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from benchgate.base.cells import Accel, Cell, Lane, Placement
from benchgate.base.errors import BootError
from benchgate.base.system.arch import X86_64
from benchgate.base.system.qemu import GOOD_EXIT, ON_STDIO, Qemu, command, controlled
from benchgate.build import programs
from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.unpack import zstd
from benchgate.build.images import Images
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run.argv import BootOptions, VmConfig, guest_spec
from contrib.nested_kvm.machine import APPEND, CPU, LONGEST_S, PARALLEL, STEADY

KVM_MODULES = ("irqbypass", "kvm", "kvm-amd")
UNPACKERS: Mapping[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".zst": zstd, ".ko": bytes}
HERE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class NestedSetting:
    """How the outer machine is made, and what of the inner QEMU's command line is changed."""

    cpu: str = CPU
    append: str = APPEND
    modules: Mapping[str, str] = field(default_factory=lambda: {"kvm-amd": "pause_filter_count=0"})
    """The parameters of each module of KVM."""
    accel: tuple[str, ...] = STEADY
    inner_cpu: str = "host"
    inner_machine: str = ""
    """More of the inner QEMU's `-machine`."""


USED = NestedSetting()


def _with(**changes: Any) -> NestedSetting:
    return replace(USED, **changes)


SETTINGS = {
    "used": USED,
    "kvm-amd pause_filter_count=3000 (its default)": _with(modules={}),
    "kvm-amd npt=0": _with(modules={"kvm-amd": "pause_filter_count=0,npt=0"}),
    "kvm-amd vgif=0": _with(modules={"kvm-amd": "pause_filter_count=0,vgif=0"}),
    "kvm-amd vls=0": _with(modules={"kvm-amd": "pause_filter_count=0,vls=0"}),
    "kvm-amd nested=0": _with(modules={"kvm-amd": "pause_filter_count=0,nested=0"}),
    "kvm-amd avic=1": _with(modules={"kvm-amd": "pause_filter_count=0,avic=1"}),
    "kvm halt_poll_ns=0": _with(modules={**USED.modules, "kvm": "halt_poll_ns=0"}),
    "kvm tdp_mmu=0": _with(modules={**USED.modules, "kvm": "tdp_mmu=0"}),
    "outer mitigations=auto": _with(append=APPEND.replace("mitigations=off", "")),
    "outer nohz=off": _with(append=f"{APPEND} nohz=off"),
    "outer tsc=reliable": _with(append=f"{APPEND} tsc=reliable"),
    "outer idle=poll": _with(append=f"{APPEND} idle=poll"),
    "outer transparent_hugepage=always": _with(append=f"{APPEND} transparent_hugepage=always"),
    "outer -cpu max,+svm": _with(cpu="max,+svm,-hypervisor"),
    "outer -accel tcg,thread=multi, no -icount": _with(accel=PARALLEL),
    "outer -accel tcg,thread=single, no -icount": _with(accel=("-accel", "tcg,thread=single")),
    "outer tb-size=1024": _with(accel=("-accel", "tcg,thread=single,tb-size=1024", *STEADY[2:])),
    "inner -cpu host,migratable=off": _with(cpu=f"{CPU},+invtsc", inner_cpu="host,migratable=off"),
    "inner -cpu host,kvm=off": _with(inner_cpu="host,kvm=off"),
    "inner -cpu host without kvm-pv-*": _with(
        inner_cpu="host,-kvm-pv-ipi,-kvm-pv-unhalt,-kvm-pv-eoi,-kvm-steal-time"
    ),
    "inner -machine q35,sata=off,smbus=off": _with(inner_machine=",sata=off,smbus=off"),
    "inner -machine q35,kernel-irqchip=split": _with(inner_machine=",kernel-irqchip=split"),
}
EXITS = {
    **{
        0x40: "exception",
        0x60: "intr",
        0x64: "vintr",
        0x65: "cr0",
        0x72: "cpuid",
        0x73: "rsm",
        0x77: "pause",
    },
    **{0x78: "hlt", 0x79: "invlpg", 0x7B: "io", 0x7C: "msr", 0x81: "vmmcall", 0x89: "wbinvd", 0x400: "npf"},
}
"""The names of reasons (AMD64 Architecture Programmer's Manual, volume 2, appendix C)."""
SHARE = ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin")
"""What a QEMU that boots a kernel reads of its data."""


@dataclass(frozen=True, slots=True)
class NestedGuest:
    """What the inner QEMU boots: its command line, with its files as they are on this host."""

    argv: tuple[str, ...]
    nonce: str


def inner_guest(
    qemu: Qemu, system: str, workload: str, cpus: int, given: Mapping[str, object]
) -> NestedGuest:
    """The command line of the lane kvm, but that the guest starts at once."""
    known, work = catalog.load_system(system), catalog.load_workload(workload)
    values, label = fill(work, given)
    cell = Cell(known.name, work.name, work.mode, values, cpus, label)
    planned = PlannedCell(cell, known, work, Seats(Lane.KVM, Placement.VIRTUAL, ()))
    image = Images(False, lambda _: None).of(known, work)
    nonce = secrets.token_hex(8)
    argv = _at_once(guest_spec(planned, image, VmConfig(qemu, Accel.KVM, "host"), BootOptions(nonce)).argv)
    return NestedGuest(argv, nonce)


def _at_once(argv: Sequence[str]) -> tuple[str, ...]:
    held = controlled()
    at = next(n for n in range(len(argv)) if tuple(argv[n : n + len(held)]) == held)
    return (*argv[:at], *ON_STDIO, *argv[at + len(held) :])


def _with_inner(argv: Sequence[str], setting: NestedSetting) -> tuple[str, ...]:
    words = list(argv)
    words[words.index("-cpu") + 1] = setting.inner_cpu
    words[words.index("-machine") + 1] += setting.inner_machine
    return tuple(words)


def kvm_modules() -> dict[str, bytes]:
    """Those of KVM_MODULES that the fetched kernel's package has, unpacked, by their names."""
    with FetchSession() as session:
        paths = inputs.linux_modules(X86_64, locked=False, session=session, part="kvm", names=KVM_MODULES)
    return {name.partition(".")[0]: UNPACKERS[path.suffix](path.read_bytes()) for name, path in paths.items()}


def _libraries(qemu: Qemu) -> dict[str, bytes]:
    """The program's libraries and its loader, by their places."""
    done = subprocess.run(
        ["ldd", str(qemu.binary)],
        env={**os.environ, **qemu.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    result = {}
    for line in done.stdout.splitlines():
        if path := re.search(r"=> (/\S+)", line):
            result[f"q/lib/{Path(path[1]).name}"] = Path(path[1]).read_bytes()
        elif path := re.match(r"\s+(/\S+/ld-linux\S+) ", line):
            result[path[1].lstrip("/")] = Path(path[1]).read_bytes()
    return result


def archive(qemu: Qemu, argv: Sequence[str]) -> bytes:
    """The initramfs: with the files that the inner command line names."""
    program = programs.compiled(
        "nested",
        "bench",
        HERE / "contrib" / "nested_kvm" / "inside",
        ["inner.c"],
        ["-static", "-O2", "-Wall", "-Wextra", "-Werror"],
    )
    content = {"init": programs.init().read_bytes(), "bench": program.read_bytes(), **_libraries(qemu)}
    content |= {f"k/{name}.ko": value for name, value in kvm_modules().items()}
    content["q/qemu"] = qemu.binary.read_bytes()
    words = [*argv]
    words[0] = "/q/qemu"
    for number, word in enumerate(words):
        if words[number - 1] == "-L":
            for text in SHARE:
                if (Path(word) / text).is_file():
                    content[f"q/share/{text}"] = (Path(word) / text).read_bytes()
            words[number] = "/q/share"
        elif words[number - 1] in ("-kernel", "-initrd"):
            name = f"guest/{words[number - 1][1:]}"
            content[name] = Path(word).read_bytes()
            words[number] = f"/{name}"
    content["argv"] = b"".join(word.encode() + b"\0" for word in words)
    return programs.initramfs(content)


@dataclass(frozen=True, slots=True)
class NestedRun:
    console: str
    cpu_s: tuple[float, ...]
    """CPU time of the outer QEMU in each boot of the inner one."""
    whole_s: float
    """Of everything, with the boot of the outer machine."""
    exits: Mapping[int, int]
    """How often the inner guest left, by the reason; empty if they were not counted."""

    @property
    def outer_ms(self) -> list[float]:
        """How long each boot of the guest took by the outer machine's clock."""
        begin, end = (
            re.findall(rf"^nested: {mark} us=(\d+)", self.console, re.M) for mark in ("begin", "end")
        )
        return [(int(b) - int(a)) / 1000 for a, b in zip(begin, end, strict=True)]


def outer_argv(
    qemu: Qemu, setting: NestedSetting, initrd: Path, *, times: int = 1, counts: bool = False
) -> tuple[str, ...]:
    words = [f"nested.{name}={value}" for name, value in setting.modules.items()]
    words += [f"nested.times={times}", *(["nested.count=1"] if counts else [])]
    return command(
        qemu,
        machine="q35,sata=off,smbus=off",
        console=ON_STDIO,
        cpu=setting.cpu,
        memory="1G",
        smp="2",
        kernel=inputs.linux_kernel().image,
        initrd=initrd,
        append=" ".join([setting.append, *words]),
        extra=setting.accel,
    )


def boot(
    qemu: Qemu,
    guest: NestedGuest,
    folder: Path,
    setting: NestedSetting = USED,
    *,
    times: int = 1,
    counts: bool = False,
) -> NestedRun:
    """One boot of the outer machine, with `times` boots of the guest in it."""
    initrd = folder / "initramfs"
    initrd.write_bytes(archive(qemu, _with_inner(guest.argv, setting)))
    lines: list[str] = []
    marks: dict[str, list[float]] = {"begin": [], "end": []}
    argv = outer_argv(qemu, setting, initrd, times=times, counts=counts)
    with (
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(
            argv,
            env={**os.environ, **qemu.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        limit = threading.Timer(LONGEST_S, process.kill)
        limit.start()
        watched = psutil.Process(process.pid)
        for raw in process.stdout:
            lines.append(raw.decode("ascii", "replace").rstrip("\r\n"))
            if mark := re.match("nested: (begin|end) us=", lines[-1]):
                used = watched.cpu_times()
                marks[mark[1]].append(used.user + used.system)
        limit.cancel()
        _, status, whole = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read()
    text = "\n".join(lines)
    if process.returncode != GOOD_EXIT or len(marks["begin"]) != len(marks["end"]):
        raise BootError(f"the nested machine ended with {process.returncode}:\n{text}\n{said}")
    cpu_s = tuple(end - begin for begin, end in zip(*marks.values(), strict=True))
    return run_of(text, times, cpu_s, whole.ru_utime + whole.ru_stime)


def run_of(console: str, times: int, cpu_s: tuple[float, ...], whole_s: float) -> NestedRun:
    """What the console says. BootError unless the guest ended that often, each time as it should."""
    ended = re.findall(r"^nested: end us=\d+ status=(\d+)$", console, re.MULTILINE)
    if ended != [str(GOOD_EXIT)] * times:
        raise BootError(f"the guests ended with {', '.join(ended) or 'nothing'}:\n{console}")
    exits = re.findall(r"^nested: exits reason=([0-9a-f]+) count=(\d+)$", console, re.MULTILINE)
    return NestedRun(console, cpu_s, whole_s, {int(reason, 16): int(count) for reason, count in exits})


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m contrib.nested_kvm.boot", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--times", type=int, default=1, help="boots of the guest in each boot of the machine")
    parser.add_argument("--smp", type=int, default=2)
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=f"of {', '.join(SETTINGS)}")
    chosen = parser.parse_args(words)
    qemu, names = inputs.qemu(), chosen.settings or [*SETTINGS]
    guest = inner_guest(qemu, "kernel", "primes", chosen.smp, {"hi": 300_000})
    runs: dict[str, list[NestedRun]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="benchgate-nested-") as folder:
        for name in names * chosen.rounds:
            try:
                run = boot(qemu, guest, Path(folder), SETTINGS[name], times=chosen.times, counts=True)
            except BootError as error:
                print(f"{name}: {error}", flush=True)
                continue
            runs[name].append(run)
            print(f"{name}: {run.cpu_s} s of {run.whole_s:.2f}, {run.outer_ms} ms, {_named(run)}", flush=True)
    for name, made in runs.items():
        if made:
            exits = sum(sum(run.exits.values()) for run in made) / sum(len(run.cpu_s) for run in made)
            ms = statistics.median(outer_m for run in made for outer_m in run.outer_ms)
            cpu_s = statistics.median(cpu_ for run in made for cpu_ in run.cpu_s)
            print(f"| {name} | {exits:,.0f} | {ms:,.0f} | {cpu_s:.1f} |")
    return int(any(len(made) < chosen.rounds for made in runs.values()))


def _named(run: NestedRun) -> str:
    """The most frequent reasons, per boot of the guest."""
    result = sorted(run.exits.items(), key=lambda one: -one[1])
    return ", ".join(
        f"{EXITS.get(reason, hex(reason))} {count // len(run.cpu_s):,}" for reason, count in result[:7]
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
