"""`benchgate new-system`: from a kernel's file to the YAML of a system.

Takes the command's parsed words: the file and what the user knows about it; boots it on one machine after the
other until it comes up, then at more CPU counts, and writes a YAML with what it saw. Gives the text to print
at the end: where the YAML is, what is left to fill in, and what to run next. Fails with UsageError before
anything is booted if a word is invalid or the file exists, and afterwards, with what the kernel did, if it
came up on no machine.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import BenchgateError, UsageError
from benchgate.base.paths import data_root
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.boots import CPUS, DEFAULT_FIRMWARE, NO_FIRMWARE
from benchgate.base.system.script import not_typable
from benchgate.base.system.systems import SELFTEST, System
from benchgate.base.text import counted, one_line, visible_lines
from benchgate.base.yaml.keys import NAME
from benchgate.build.kernel_file import KernelFile, Media, look, system_name
from benchgate.features.new_system.candidates import MACHINES, SMP, GuestWords, candidates, relative
from benchgate.features.new_system.guesses import guesses
from benchgate.features.new_system.listening import BootObservation, ListeningEnd, listen
from benchgate.features.new_system.proposal import Proposal, linux_text, missing
from benchgate.features.new_system.trial import counted_run
from benchgate.plan import systemfile
from benchgate.plan.catalog import SELFTEST_WORKLOAD
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run.argv import BootOptions
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench

Say = Callable[[str], None]
COUNTS = (1, 2, 4)
_BIOS_BYTES = 64 << 10
_RANK = {ListeningEnd.PROMPT: 4, ListeningEnd.EXITED: 3, ListeningEnd.QUIET: 2, ListeningEnd.BUSY: 1}
_GOOD = 3
"""A kernel of this rank came up; others may come further on another machine."""
_LONGEST_S = 3600.0
_FURTHER = (
    "with {cpus} CPUs it came further than with 1: some kernels wait for as many CPUs as they were built "
    "for. A speedup needs runs at several counts: build it so that it comes up with 1, too"
)


@dataclass(frozen=True, slots=True)
class FirstContactRequest:
    kernel: Path
    given: GuestWords
    arch: str
    """The architecture; empty: the file decides."""
    lines: tuple[str, ...]
    """What to type at its prompt; `{workers}` is the CPU count."""
    seconds: float
    qemu: Path | None


@dataclass(frozen=True, slots=True)
class FirstContactResult:
    text: str
    workload: str
    """What the system can run, as a test's mark names it."""
    scales: bool = True
    """False if a run with 2 CPUs is known to be no result."""
    seen: tuple[str, ...] = ()
    """What the machine counted in one run of it, and what a workload of it could promise; or why not."""


def new_system(order: FirstContactRequest, say: Say, show: Say) -> FirstContactResult:
    """`say` prints a sentence, `show` what the guest prints."""
    template = order.kernel
    order = replace(order, kernel=Path(str(template).replace(CPUS, "1")))
    if order.kernel.suffix in (".yaml", ".yml"):
        with_it = f"to measure the system that it may describe: pytest -m smp --system {order.kernel}"
        raise UsageError(f"{order.kernel}: is a YAML file, and no kernel; {with_it}")
    file = replace(look(order.kernel), path=template)
    say(f"{order.kernel} is {file.about}")
    if file.media is Media.NONE:
        raise UsageError(f"{order.kernel}: is {file.about}: {file.advice}")
    arch = order.arch or file.arch
    if arch not in MACHINES:
        known = ", ".join(MACHINES)
        raise UsageError(f"{order.kernel}: the file does not say for which processor; add --arch ({known})")
    if arch == "x86_64" and file.is_raw and order.kernel.stat().st_size % _BIOS_BYTES:
        raise UsageError(
            f"{order.kernel}: is {file.about}, and on x86 only firmware, of a multiple of 64 KiB: give the "
            "ELF file, or the disk image with the boot loader, and disks by --disk"
        )
    if file.is_linux and not order.given.has_programs:
        built_in = (data_root() / "fixtures" / "systems" / "linux.yaml").read_text(encoding="utf-8")
        kernel = relative(file.path, order.given.out)
        text = linux_text(built_in, order.given.name, kernel, ARCHITECTURES[arch])
        return _result(order, text, "primes")
    proposal = _proposed(order, file, arch, say, show)
    if missing(proposal.text):
        return _result(order, proposal.text, SELFTEST)
    return _tried_out(order, proposal, say)


def _result(
    order: FirstContactRequest, text: str, workload: str, seen: Sequence[str] = ()
) -> FirstContactResult:
    system = systemfile.parse(text, order.given.out, {})
    return FirstContactResult(text, workload, system.cpus[1] > 1, tuple(seen))


def _proposed(order: FirstContactRequest, file: KernelFile, arch: str, say: Say, show: Say) -> Proposal:
    system, boots = _came_up(_BootTrials(order, say, show), file, arch)
    about = f"{file.about}; written by `benchgate new-system`"
    return Proposal(system, about, guesses(boots), order.lines)


def _tried_out(order: FirstContactRequest, proposal: Proposal, say: Say) -> FirstContactResult:
    """Makes runs of the finished system. If one with two CPUs is refused and one with one CPU is not, only
    one CPU works. Nothing is proposed for more CPUs than a run was a result with. A run that cannot be made
    fails nothing."""
    result = _result(order, proposal.text, SELFTEST)
    system = systemfile.parse(result.text, order.given.out, {})
    try:
        refused, seen = counted_run(order.qemu, system, min(2, system.cpus[1]), say)
        if refused and result.scales:
            refused_on_one, seen = counted_run(order.qemu, system, 1, say)
            if not refused_on_one:
                result = _result(
                    order, proposal.on_one_cpu(f"a run with 2 is no result: {refused}").text, SELFTEST
                )
                refused = ""
    except BenchgateError as error:
        return replace(result, seen=(f"# {one_line(f'The machine was not asked what it saw: {error}')}",))
    if refused:  # a gate would be INVALID
        return replace(result, scales=False, seen=(f"# {one_line(refused)}",))
    return replace(result, seen=tuple(seen.splitlines()))


@dataclass(frozen=True, slots=True)
class _BootTrials:
    order: FirstContactRequest
    say: Say
    show: Say

    def boot(self, system: System, cpus: int, *, patient: bool = False) -> BootObservation:
        self.say(f"booting with {counted(cpus, 'CPU')}, {_words(system)}, -smp {system.qemu.smp}")
        cell = Cell(system.name, SELFTEST, SELFTEST_WORKLOAD.mode, (), cpus)
        seats = Seats(Lane.TCG, Placement.VIRTUAL, ())
        planned, mark = PlannedCell(cell, system, SELFTEST_WORKLOAD, seats), secrets.token_hex(8)
        bench = Workbench(Options(qemu=self.order.qemu), ThisHost(), self.say)
        bench.emulators.fetch([system])
        bench.emulators.emulate(system)
        spec = bench.request(planned, BootOptions(mark, words=system.boot.append), Path()).spec
        lines = tuple(line.replace("{workers}", str(cpus)) for line in self.order.lines)
        observation = listen(spec, mark, lines, seconds=self.order.seconds, show=self._shown, patient=patient)
        self.show("" if observation.text.endswith("\n") else "\n")
        self.say(_how_it_went(observation))
        return observation

    def _shown(self, text: str) -> None:
        self.show(visible_lines(text.expandtabs()))


def _words(system: System) -> str:
    """Names what distinguishes this machine from the others that are tried."""
    given = {"-machine": system.qemu.machine, "-cpu": system.qemu.cpu}
    if not system.boot.kernel and system.boot.firmware != DEFAULT_FIRMWARE:
        given["-bios"] = system.boot.firmware
    named = [f"{key} {value}" for key, value in given.items() if value]
    places = dict.fromkeys(str(disk.interface) for disk in system.boot.disks)
    on = [f"(disks: {', '.join(places)})"] if places else []
    return " ".join([*named, *system.qemu.arguments, *on])


def _came_up(booting: _BootTrials, file: KernelFile, arch: str) -> tuple[System, dict[int, BootObservation]]:
    """The machine on which it came furthest, and its boots there by CPU count."""
    tried = list(_tried(booting, candidates(file, arch, booting.order.given)))
    system, first = max(tried, key=lambda observations: _rank(observations[1]))
    if _rank(first)[0] == 0:
        raise UsageError(
            f"{file.path}: came up on none of {len(tried)} machines. It came furthest on "
            f"{system.qemu.machine}: {_how_it_went(first)}. {advice(first)}"
        )
    return _with_more(booting, system, first, SMP.get(arch, ("{n}",)))


def advice(furthest: BootObservation) -> str:
    if furthest.text.strip():
        advice = "give them by --machine, --memory, --disk, --append, --firmware"
        return f"Its own documentation says which machine and devices it needs: {advice}"
    return (
        "On no machine did it print anything on the first serial port. If it prints on the screen, its own "
        "documentation says how to send its console to the serial port, often by a word on the command line: "
        "--append; else which machine and devices it needs: --machine, --disk, --firmware"
    )


def _tried(booting: _BootTrials, systems: tuple[System, ...]) -> Iterator[tuple[System, BootObservation]]:
    for system in systems:
        boot = booting.boot(system, 1)
        yield system, boot
        if _rank(boot)[0] >= _GOOD:
            return


def _rank(boot: BootObservation) -> tuple[int, int]:
    """Ranks how far it came: by its end, then by how much it printed."""
    reset = boot.stop is ListeningEnd.EXITED and "guest-reset" in boot.ends
    fails = boot.stop not in _RANK or not boot.text.strip() or reset
    return 0 if fails else _RANK[boot.stop], len(boot.text)


def _with_more(
    booting: _BootTrials, system: System, first: BootObservation, templates: tuple[str, ...]
) -> tuple[System, dict[int, BootObservation]]:
    """Describes more CPUs to the guest in each known way until it says that they came up."""
    best: tuple[System, dict[int, BootObservation]] | None = None
    for template in templates:
        one = replace(system, qemu=replace(system.qemu, smp=template))
        boots = {1: first}
        for count in COUNTS[1:]:
            if lacking := _lacks(one, count):
                booting.say(f"there is no {lacking}, so it is not booted with {count} CPUs")
                break
            boots[count] = booting.boot(one, count, patient=_rank(first)[0] >= _GOOD)
            if _rank(boots[count])[0] < _rank(first)[0]:
                break
        further = [count for count, boot in boots.items() if _rank(boot)[0] > _rank(first)[0]]
        if further:
            booting.say(_FURTHER.format(cpus=further[0]))
        found = guesses(boots)
        if found.online or found.online_lines:
            return one, boots
        best = best or (one, boots)
    assert best is not None  # there is at least one template
    return best


def _lacks(system: System, cpus: int) -> str:
    """The kernel of this CPU count, if it is missing; only of a system with one for each count."""
    kernel = system.file.parent / system.at(cpus).boot.kernel
    return str(kernel) if system.has_guest_per_count and not kernel.is_file() else ""


def _how_it_went(boot: BootObservation) -> str:
    ended = "by a reset or a triple fault" if "guest-reset" in boot.ends else f"with status {boot.status}"
    typed = [f"`{step.line}`: {step.how}" for step in boot.steps]
    silent = "it prints nothing more" if boot.text.strip() else "it printed nothing on the serial port"
    spins = f", and its CPU spins: {boot.note}" if boot.note else ""
    return {
        ListeningEnd.PROMPT: "; ".join([f"it waits at its prompt `{boot.prompt}`", *typed]),
        ListeningEnd.EXITED: f"it ended QEMU {ended}",
        ListeningEnd.QUIET: f"{silent}{spins}",
        ListeningEnd.REPEATS: f"it printed nothing but {boot.note} any more, and was stopped",
        ListeningEnd.FIRMWARE: f"it prints nothing more, and its CPU stays in the firmware {boot.note}: that "
        "may not know this CPU model (try another one by --cpu), or have nothing to boot",
        ListeningEnd.SUSPECT: f"it printed a line that looks like a panic: {boot.note}",
        ListeningEnd.BUSY: "it was still printing when the time was over",
        ListeningEnd.NO_START: boot.note,
    }[boot.stop]


def run(words: Mapping[str, Any], say: Say, show: Say) -> str:
    order = _order(words)
    out = order.given.out
    if out.exists() and not words["force"]:
        raise UsageError(f"{out} already exists; name another file with --out")
    result = new_system(order, say, show)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(result.text, encoding="utf-8")
    except OSError as error:
        advice = "name another file with --out"
        raise UsageError(f"{out} cannot be written: {error.strerror}; {advice}") from error
    return _next(out, result)


def _order(words: Mapping[str, Any]) -> FirstContactRequest:
    kernel = Path(words["kernel"])
    name = words["name"] or system_name(kernel)
    if not NAME.match(name):
        raise UsageError(f"--name {name}: use lower-case letters, digits and _, beginning with a letter")
    if words["arch"] and words["arch"] not in MACHINES:
        raise UsageError(f"--arch {words['arch']}: choose one of {', '.join(MACHINES)}")
    if not 1 <= words["seconds"] <= _LONGEST_S:
        raise UsageError(f"--seconds {words['seconds']:g}: must be between 1 and {_LONGEST_S:g}")
    for line in words["send"]:
        if wrong := not_typable(line):
            raise UsageError(f"--send cannot be typed: {wrong}")
    given = GuestWords(
        name=name,
        out=Path(words["out"] or f"{name}.yaml"),
        disks=tuple(map(_file, words["disk"])),
        initrd=_file(words["initrd"]) if words["initrd"] else None,
        append=words["append"],
        machine=words["machine"],
        cpu=words["cpu"],
        firmware=_firmware(words["firmware"]),
        memory=words["memory"],
    )
    qemu = Path(words["qemu"]).absolute() if words["qemu"] else None
    return FirstContactRequest(kernel, given, words["arch"], tuple(words["send"]), words["seconds"], qemu)


def _firmware(word: str) -> str:
    return word if word in {"", NO_FIRMWARE, DEFAULT_FIRMWARE} else str(_file(word))


def _file(word: str) -> Path:
    path = Path(word)
    if not path.is_file():
        raise UsageError(f"{path}: does not exist")
    return path


def _next(out: Path, result: FirstContactResult) -> str:
    file = shlex.quote(str(out))
    lines = [f"wrote {out}"]
    if open_lines := missing(result.text):
        lines.append(f"{counted(len(open_lines), 'line')} to fill in:")
        lines += [f"  {line}" for line in open_lines]
    if result.seen:
        lines += ["what a workload of it could promise (`benchgate docs write-a-workload`):"]
        lines += [f"  {line}" for line in result.seen]
    plan = f"then: pytest --plan --system {file}, and a test such as:"
    return "\n".join([*lines, plan, _test(out, result)])


def _test(out: Path, result: FirstContactResult) -> str:
    head = f'''
import pytest

@pytest.mark.system("{out}")
@pytest.mark.workload("{result.workload}")
'''
    if not result.scales:
        return f"{head}def test_it_works(cell):\n    cell.require_verified()\n"
    return f"""{head}@pytest.mark.speedup(cpus=2, at_least=1.5)
def test_scales(verdict):
    verdict.require_pass()
"""
