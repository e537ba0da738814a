"""Boots a machine with a real KVM, under TCG, and runs the checks of inside/ in it: `nox -s nested-kvm`.

`python -m contrib.nested_kvm.machine [--cpus 4] [--topology sockets=1,cores=2,threads=2] [--steady]
[--shapes] [--folder DIR] [words of pytest]`. QEMU's TCG emulates the SVM of AMD's processors with nested
paging, so Debian's own module kvm-amd gives the machine a /dev/kvm that runs guests. The checkout goes in as
a tar archive on the second disk; what the checks leave comes out on the third one and is judged here: each
check that was collected must pass in one of at most three machines, and `benchgate verify` may find no
contradiction in a session's folder. Exits with 1 if a check failed, did not run, or left a session that
contradicts itself, and with 5, and the reason, where such a machine cannot be made.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.base.system.qemu import Qemu, comma_safe, command
from benchgate.build.fetch import inputs
from benchgate.evidence import check
from contrib.nested_kvm.root import TOOLS, NestedDisk, checkout_names, disk
from tools import fresh

KEPT = fresh.HERE / ".nox" / "nested-kvm"
NOTHING_DONE = 5
CHECKS = "contrib/nested_kvm/inside"
CPU = "EPYC,+svm,-hypervisor"
"""The machine looks like one without a hypervisor, so that wall time qualifies as on a workstation."""
APPEND = "console=ttyS0 quiet panic=-1 mitigations=off cryptomgr.notests no_timer_check tsc=reliable"
"""tsc=reliable: all CPUs read one TSC, the host's. A busy machine would find it unstable; then KVM gives each
vCPU of a guest its own, and tern refuses CPUs whose clocks differ."""
PARALLEL = ("-accel", "tcg,thread=multi")
"""Each CPU is a thread of the host, so that two of them compute at once, and time is the host's."""
STEADY = ("-accel", "tcg,thread=single", "-icount", "shift=1")
"""Time is what the machine has executed, 2 ns for an instruction, so that a busy host makes nothing late. Its
CPUs take turns: two compute no more than one."""
OUT_BYTES = 2 << 30
MOST_MACHINES = 3
"""In which a check is tried."""
CHECKS_OF_A_MACHINE = 5
REPORT = "junit.xml"
LONGEST_S = 5400


@dataclass(frozen=True, slots=True)
class NestedMachine:
    """How the machine is made."""

    cpus: int = 4
    topology: str = ""
    """More words of -smp, such as `sockets=1,cores=2,threads=2`."""
    memory: str = "4G"
    cpu: str = CPU
    append: str = ""
    nodes: int = 1
    accel: tuple[str, ...] = PARALLEL

    @property
    def smp(self) -> str:
        return f"{self.cpus},{self.topology}" if self.topology else str(self.cpus)


def _shape(
    sockets: int, cores: int, threads: int, cpu: str = CPU, *, append: str = "", nodes: int = 1
) -> NestedMachine:
    """A machine to be looked at. The kernel's command line tells the check what it was asked for."""
    told = f"nested.shape={sockets},{cores},{threads}"
    topology = f"sockets={sockets},cores={cores},threads={threads}"
    cpus = sockets * cores * threads
    return NestedMachine(cpus, topology, "2G", cpu, f"{told} {append}".strip(), nodes)


INTEL = "Skylake-Client,-hypervisor"
SHAPES = (
    _shape(1, 4, 1),
    _shape(1, 2, 2),
    _shape(2, 2, 1),
    _shape(2, 2, 2, nodes=2),
    _shape(1, 4, 2, append="isolcpus=4-7"),
    _shape(1, 4, 1, INTEL),
    _shape(1, 2, 2, INTEL),
    _shape(2, 2, 2, INTEL, nodes=2),
)
"""Eight hosts, AMD's and Intel's style. QEMU has no hybrid cores."""
SHAPE_CHECKS = f"{CHECKS}/test_topology.py"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    name: str
    word: str
    """passed, failed, skipped or absent."""
    why: str = ""

    @property
    def is_good(self) -> bool:
        return self.word in ("passed", "skipped")

    def __str__(self) -> str:
        return f"{self.word}: {self.name}{f': {self.why}' if self.why else ''}"


def argv(qemu: Qemu, machine: NestedMachine, made: NestedDisk, checkout: Path, out: Path) -> list[str]:
    """QEMU's command line. What is written to the first disk is forgotten."""
    drives = (
        f"file={comma_safe(str(made.image))},snapshot=on,cache=unsafe",
        f"file={comma_safe(str(checkout))},readonly=on",
        f"file={comma_safe(str(out))},cache=unsafe",
    )
    words = command(
        qemu,
        machine="q35",
        console=("-serial", "stdio"),
        cpu=machine.cpu,
        memory=machine.memory,
        smp=machine.smp,
        kernel=made.kernel,
        initrd=made.initrd,
        append=f"{APPEND} {machine.append}".strip(),
        extra=(*machine.accel, *_numa(machine), *_drives(drives)),
    )
    return ["nice", "-n", "5", *words]


def _drives(drives: Sequence[str]) -> list[str]:
    return [word for drive in drives for word in ("-drive", f"{drive},format=raw,if=virtio")]


def _numa(machine: NestedMachine) -> list[str]:
    if machine.nodes == 1:
        return []
    size, each = int(machine.memory.removesuffix("G")) * 1024, machine.cpus // machine.nodes
    result = []
    for node in range(machine.nodes):
        result += ["-object", f"memory-backend-ram,id=ram{node},size={size // machine.nodes}M"]
        result += ["-numa", f"node,nodeid={node},memdev=ram{node},cpus={node * each}-{(node + 1) * each - 1}"]
    return result


def pack_checkout(to: Path, words: Sequence[str]) -> None:
    """The checkout with the words for pytest inside."""
    with tarfile.open(to, "w") as archive:
        for name in checkout_names():
            archive.add(fresh.HERE / name, name)
        line = shlex.join(words).encode()
        about = tarfile.TarInfo(".nested")
        about.size = len(line)
        archive.addfile(about, io.BytesIO(line))


def boot(machine: NestedMachine, made: NestedDisk, words: Sequence[str], results: Path) -> int:
    """Boots once, shows the console, and unpacks what the checks left; gives QEMU's status."""
    qemu = inputs.qemu(made.qemu)
    with tempfile.TemporaryDirectory(prefix="benchgate-nested-") as temporary:
        checkout, out = Path(temporary, "checkout.tar"), Path(temporary, "out")
        pack_checkout(checkout, words)
        with out.open("wb") as file:
            file.truncate(OUT_BYTES)
        with Path(temporary, "qemu.log").open("w+") as said:
            status = subprocess.run(
                argv(qemu, machine, made, checkout, out),
                env={**os.environ, **qemu.environment},
                stdin=subprocess.DEVNULL,
                stderr=said,
                check=False,
                timeout=LONGEST_S,
            ).returncode
            if status:
                said.seek(0)
                print(*(line for line in said if "warning: TCG doesn't support" not in line), sep="")
        results.mkdir(parents=True)
        with suppress(tarfile.ReadError), tarfile.open(out) as archive:  # nothing came out: no check ran
            # As filter="tar", which Debian 12's Python does not know.
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)
            archive.extractall(results)
    return status


def checked(
    machine: NestedMachine, made: NestedDisk, names: Sequence[str], folder: Path
) -> list[CheckOutcome]:
    """The last outcome of each check. What did not pass in one machine is tried in the next, because TCG's
    SVM is not perfect: with each QEMU, a guest or the machine was reset now and then without a cause. Then
    only the few checks of that machine are lost."""
    seen: dict[str, CheckOutcome] = {}
    for attempt in range(1, MOST_MACHINES + 1):
        left = [name for name in names if name not in seen or not seen[name].is_good]
        for first in range(0, len(left), CHECKS_OF_A_MACHINE):
            group = left[first : first + CHECKS_OF_A_MACHINE]
            results = folder / f"{attempt}-{first}"
            boot(machine, made, [*group, "-v", "--color=no"], results)
            report = results / REPORT
            for outcome in outcomes(group, report.read_text(encoding="utf-8") if report.is_file() else ""):
                seen[outcome.name] = outcome
                if not outcome.is_good or attempt > 1:
                    print(f"nested: machine {attempt} of at most {MOST_MACHINES}: {outcome}", flush=True)
    return [seen[name] for name in names]


def collected(words: Sequence[str]) -> list[str]:
    """The names of the checks that these words choose."""
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(asked, cwd=fresh.HERE, capture_output=True, text=True, check=False)
    names = [line for line in done.stdout.splitlines() if "::" in line]
    if done.returncode or not names:
        raise SystemExit(f"nested: no check is chosen:\n{done.stdout}{done.stderr}")
    return names


def outcomes(names: Sequence[str], report: str) -> list[CheckOutcome]:
    """What junit.xml says of each collected check. One that it does not name did not run."""
    seen: dict[str, CheckOutcome] = {}
    for case in ET.fromstring(report).iter("testcase") if report else ():
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        bad = next((one for one in case if one.tag in ("failure", "error")), None)
        skip = case.find("skipped")
        word = "failed" if bad is not None else "skipped" if skip is not None else "passed"
        about = bad if bad is not None else skip
        why = "" if about is None else about.get("message", "").partition("\n")[0]
        if name not in seen or seen[name].is_good:  # an error at its end is a second case
            seen[name] = CheckOutcome(name, word, why)
    return [seen.get(name, CheckOutcome(name, "absent", "it did not run")) for name in names]


def verified(results: Path) -> Mapping[Path, str]:
    """What is wrong with each session that was brought out; empty: nothing contradicts it. One that a check
    interrupted is incomplete, and one with a workload of the check's own needs that to be judged again."""
    result = {}
    for manifest in sorted(results.glob("*/checks/**/manifest.sha256")):
        asked = [sys.executable, "-m", "benchgate.cli", "verify", str(manifest.parent)]
        done = subprocess.run(asked, cwd=fresh.HERE, capture_output=True, text=True, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        is_good = done.returncode in (check.INTACT, check.INCOMPLETE, check.NEEDS_FILES)
        result[manifest.parent] = "" if is_good else f"verify: exit {done.returncode}: {said}"
    return result


def judged(check_outcomes: Sequence[CheckOutcome], results: Path) -> int:
    sessions = verified(results)
    for outcome in check_outcomes:
        print(f"nested: {outcome}")
    for folder, trouble in sessions.items():
        if trouble:
            print(f"nested: {folder.relative_to(results)}: {trouble}")
    bad = [outcome for outcome in check_outcomes if not outcome.is_good]
    broken = [folder for folder, trouble in sessions.items() if trouble]
    print(
        f"nested: {len(check_outcomes)} checks, {len(bad)} of them failed or did not run; {len(sessions)} "
        f"sessions brought out, {len(broken)} of them not intact"
    )
    return int(bool(bad or broken))


def obstacle() -> str:
    missing = [name for name in TOOLS if shutil.which(name) is None]
    return fresh.obstacle(os.geteuid(), shutil.which) or (f"install {', '.join(missing)}" if missing else "")


def arguments(words: Sequence[str]) -> tuple[list[NestedMachine], Path, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m contrib.nested_kvm.machine", description=__doc__)
    parser.add_argument("--cpus", type=int, default=4, help="the machine's CPUs")
    parser.add_argument("--topology", default="", help="more words of -smp: sockets=1,cores=2,threads=2")
    parser.add_argument("--memory", default="4G")
    parser.add_argument(
        "--shapes", action="store_true", help="boot eight hosts without KVM: is each one recognized?"
    )
    parser.add_argument(
        "--steady", action="store_true", help="time is what the machine executed: for a busy host"
    )
    parser.add_argument("--folder", type=Path, default=KEPT.parent / "nested-results")
    chosen, rest = parser.parse_known_args(words)
    nested_machine = NestedMachine(chosen.cpus, chosen.topology, chosen.memory, append="kvm")
    machines = [*SHAPES] if chosen.shapes else [nested_machine]
    if chosen.steady:
        machines = [replace(machine, accel=STEADY) for machine in machines]
    return machines, chosen.folder.absolute(), rest


def checks_of(machines: Sequence[NestedMachine], rest: Sequence[str]) -> list[str]:
    """The words for pytest. Shapes have a check of their own, which other machines leave out."""
    if any((fresh.HERE / text.partition("::")[0]).exists() for text in rest):
        return [*rest]
    if len(machines) > 1:
        return [SHAPE_CHECKS, *rest]
    return [CHECKS, f"--ignore={SHAPE_CHECKS}", *rest]


def main(words: Sequence[str]) -> int:
    machines, folder, rest = arguments(words)
    if problem := obstacle():
        print(f"nested: skipped: {problem}", file=sys.stderr)
        return NOTHING_DONE
    names = collected(checks_of(machines, rest))
    try:
        made = disk(KEPT)
    except FetchError as error:
        print(f"nested: skipped: {error}", file=sys.stderr)
        return NOTHING_DONE
    status = 0
    for number, machine in enumerate(machines):
        results = folder / str(number) if len(machines) > 1 else folder
        print(f"nested: -smp {machine.smp} -cpu {machine.cpu} {machine.append}", flush=True)
        shutil.rmtree(results, ignore_errors=True)
        status |= judged(checked(machine, made, names, results), results)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
