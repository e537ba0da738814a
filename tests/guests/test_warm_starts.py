"""Warm starts: a run from a snapshot is the run that the guest would have made without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.files import PAGE, file_digest, pages_digest
from benchgate.base.snapshots import CONSOLE, RAM, STATE, GuestSnapshot, StartKind
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.script import Script
from benchgate.build import cache
from benchgate.build.fetch import inputs
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.window import window
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run import argv, attempt, guest, snapshot
from benchgate.run.argv import BootOptions
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import FILE as FORK
from benchgate.run.guest import RunningGuest
from benchgate.run.qmp import QmpError
from benchgate.run.record import clock_log
from benchgate.run.watch import GUEST_WATCH
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench
from tests import forgerykit
from tests.kernelkit import talker
from tests.line.sessions import PATIENCE_S, REPO, Session, light_tern, run_benchgate, run_pytest
from tests.line.test_prompt import ORACLE, SYSTEM, TESTS, WINDOWS, WORKLOAD
from tests.ternkit import Bootkit, console, light

NONCE = "0123456789abcdef"
WHOLE = 64 << 20
"""The memory of the kernel with a prompt."""
TEST = """\
import pytest


@pytest.mark.system("linux")
@pytest.mark.system("./kernel.yaml")
@pytest.mark.workload("primes", hi=20_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


@dataclass(frozen=True)
class Bench:
    """Two CPUs of a guest, which start warm."""

    bench: Workbench
    planned: PlannedCell

    @property
    def snapshot(self) -> GuestSnapshot:
        image, vm = self.bench.image(self.planned), self.bench.emulators.vm(self.planned)
        return self.bench.warm.of(self.planned, image, vm, 1)

    @property
    def script(self) -> Script | None:
        return argv.script(self.planned, NONCE)

    @contextmanager
    def started(self, folder: Path, boot: BootOptions, *, later: bool = True) -> Iterator[RunningGuest]:
        """A QEMU. Without `later` a guest that boots has from the begin what a restored one gets."""
        folder.mkdir()
        vm, image = self.bench.emulators.vm(self.planned), self.bench.image(self.planned)
        boot = replace(boot, log=clock_log(folder))
        spec = argv.guest_spec(self.planned, image, vm, boot)
        if not later:
            assert image.brought is not None
            own = argv.manifest(self.planned.cell, NONCE)
            (folder / "words").write_text(f"{self.planned.system.boot.append} {own}\n")
            content = {"files": image.brought, "words": folder / "words"}
            words = [
                text.replace("string=later", f"file={path}")
                for text in spec.argv
                for path in [content.get(text.partition(",")[0].rpartition("/")[2], "")]
            ]
            spec = replace(spec, argv=tuple(words))
        typing = snapshot.typing_pace(self.script)
        with guest.started(spec, folder, mark=NONCE, limits=ConsoleLimits(), typing=typing) as running:
            running.prepare()
            yield running


def made(
    machine: str,
    word: str = "linux",
    qemu: Path | None = None,
    memory: str = "512M",
    workload_word: str = "primes",
) -> Bench:
    system = light(catalog.load_system(f"{word}:start=warm"))
    system = replace(system, qemu=replace(system.qemu, memory=memory))
    on = catalog.load_machine(machine)
    system = system if on is None else system.on(on)
    workload = catalog.load_workload(workload_word, system)
    values, label = fill(workload, {"hi": 20_000} if "hi" in workload.params else {})
    cell = Cell(system.name, workload.name, workload.mode, values, 2, label)
    planned = PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    bench = Workbench(replace(Options(), clock="insn", qemu=qemu), ThisHost(), lambda _: None)
    bench.prepare([planned])
    bench.choose()
    return Bench(bench, planned)


def to_its_end(running: RunningGuest) -> None:
    """The guest runs from where it stands, with nothing typed."""
    running.leave_alone()
    running.console.read_rest(100)
    assert running.child.wait(100)


def log_of(folder: Path) -> ClockLog:
    log = read_log(clock_log(folder))
    assert log.closed
    assert log.marks
    return log


@pytest.mark.parametrize(
    ("word", "machine"),
    [
        ("linux", "ideal"),
        pytest.param("linux", "desktop8", marks=pytest.mark.long),
        ("kernel", "ideal"),
        ("kernel", "desktop8"),
        pytest.param("kernel", "biglittle8", marks=pytest.mark.long),
        ("kernel", "biglittle8mem"),
        pytest.param("linux", "biglittle8mem", marks=pytest.mark.long),
    ],
)
def test_a_restored_run_is_the_one_that_was_never_saved(word: str, machine: str, tmp_path: Path) -> None:
    """Instruction for instruction: every mark, each vCPU's time at the end, every byte of the console. QEMU
    is stopped for a moment: the clock then forgets how the last turn of each vCPU was spent, by which it
    chooses the length of the next ones, and what only makes it fast."""
    restored_is_never_saved(made(machine, word), tmp_path)


def getpid_ns(word: str, folder: Path) -> int:
    """The work window of 10,000 system calls on one CPU."""
    system = light(catalog.load_system(word))
    workload = catalog.load_workload("micro", system)
    values, label = fill(workload, {"op": "getpid", "iters": 2_000})
    cell = Cell(system.name, workload.name, workload.mode, values, 1, label)
    planned = PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    bench = Workbench(replace(Options(), clock="insn"), ThisHost(), lambda _: None)
    bench.prepare([planned])
    bench.choose()
    folder.mkdir()
    attempt.execute(bench.request(planned, BootOptions(NONCE, seed=1), folder))
    return window(log_of(folder), 1).work


@pytest.mark.parametrize(("word", "part"), [("linux", 0.01), ("kernel", 0.0)])
def test_a_system_call_costs_the_same_warm_and_cold(word: str, part: float, tmp_path: Path) -> None:
    """PID 1 once kept its permission for fw_cfg's ports, and each call of each program took 52 instructions
    more, which was 16%. tern needs the same number to the instruction."""
    warm, cold = (getpid_ns(f"{word}:start={start}", tmp_path / start) for start in ("warm", "cold"))
    assert warm == pytest.approx(cold, rel=part)


def test_a_thread_costs_the_same_warm_and_cold(tmp_path: Path) -> None:
    """A saved guest has no rdrand. Until PID 1 gave the kernel a seed, it made the random numbers of each
    thread from scratch, which took 22% longer."""
    work = {}
    for start in StartKind:
        kit = Bootkit(tmp_path / start, inputs.qemu(), insn=True, nonce=NONCE)
        run = kit.run(f"linux:start={start}", "spawn", 1, {"errands": 300, "live": 1})
        assert run.verified is not None, run
        work[start] = run.verified.work
    assert work[StartKind.WARM] == pytest.approx(work[StartKind.COLD], rel=0.05)


def test_no_program_of_tern_inherits_from_a_warm_start_what_it_lacks_after_a_cold_one(tmp_path: Path) -> None:
    """On one CPU, where nothing depends on the interleaving: all that the kernel counted for the program, the
    memory that it had, and each length of time."""
    said = {}
    for start in StartKind:
        kit = Bootkit(tmp_path / start, inputs.qemu(), insn=True, nonce=NONCE)
        run = kit.run(f"kernel:start={start}", "primes", 1, {"hi": 20_000}, measure=True)
        assert run.verified is not None, run
        text = console(run.run).removeprefix("benchwaits\n")
        lengths = [int(end) - int(begin) for begin, end in re.findall(r"start=(\d+)\b.*?\bend=(\d+)", text)]
        lines = [re.sub(r" seq=.*|\bwork_start=.*", "", line) for line in text.splitlines()]
        said[start] = (
            run.verified.work,
            run.verified.total,
            lengths,
            [one for one in lines if " worker " not in one],
        )
    assert "measure" in str(said)
    assert said[StartKind.WARM] == said[StartKind.COLD]


def test_the_seeds_of_tern_at_two_cpus_are_right_at_every_boot(tmp_path: Path) -> None:
    """A CPU reads its clock up to a step too late. The claim about the times of a worker, which once had no
    room for that, contradicted three of five of these runs."""
    for seed in range(1, 6):
        kit = Bootkit(tmp_path / str(seed), inputs.qemu(), insn=True, nonce="f746197cce0b7e55", seed=seed)
        run = kit.run("kernel:start=warm", "micro", 2, {"iters": 20_000})
        assert run.verified is not None, run


def newer_qemu(arch: str) -> Path:
    """A QEMU on PATH that is newer than the reviewed one, and saves machines that older ones do not."""
    name = ARCHITECTURES[arch].qemu
    result = shutil.which(name)
    if result is None:
        pytest.skip(f"no {name} is on PATH; Debian 13 has one of 11.1 in its backports")
    own = inputs.qemu(Path(result), ARCHITECTURES[arch])
    if own.version < (11, 1, 0):
        pytest.skip(f"{result} is QEMU {own.version_text}, not 11.1 or newer")
    return own.binary


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "riscv64"])
def test_the_same_with_a_newer_qemu(arch: str, tmp_path: Path) -> None:
    restored_is_never_saved(made("ideal", f"linux:arch={arch}", newer_qemu(arch)), tmp_path)


def restored_is_never_saved(bench: Bench, tmp_path: Path) -> None:
    with bench.started(
        tmp_path / "on", BootOptions(NONCE, seed=1, saves=tmp_path), later=False
    ) as running_guest:
        running_guest.go()
        assert running_guest.talk is not None
        stop, _ = snapshot._at_rest(
            running_guest.console, running_guest.talk, snapshot.readiness(None), 10**11
        )
        running_guest.talk.pause()
        running_guest.qmp.execute("stop", seconds=60)
        running_guest.qmp.execute("cont", seconds=60)
        snapshot.begin(running_guest.qmp, running_guest.talk)
        to_its_end(running_guest)
    saved = bench.snapshot
    assert (stop.time, stop.console) == (saved.record.time_ns, saved.record.console)
    restored = []
    for name in ("first", "second"):
        request = bench.bench.request(bench.planned, BootOptions(NONCE, seed=1, boot=1), tmp_path / name)
        (tmp_path / name).mkdir()
        end = guest.run_guest(
            request.spec, tmp_path / name, watch=request.watch or GUEST_WATCH, nonce=NONCE,
            limits=ConsoleLimits(), on_phase=lambda _: None,
        )  # fmt: skip
        assert end.detail == ""
        restored.append(log_of(tmp_path / name))
    never = log_of(tmp_path / "on")
    assert restored[0].repeatable == restored[1].repeatable
    assert restored[0].start == (stop.time, stop.console)
    assert never.start is None
    assert restored[0].marks == never.marks
    assert [total.time for total in restored[0].totals] == [total.time for total in never.totals]
    assert (tmp_path / "first/serial.log").read_bytes() == (tmp_path / "on/serial.log").read_bytes()


@pytest.mark.parametrize("word", ["prompt", "kernel"])
def test_the_restored_memory_is_that_of_the_saved_guest(word: str, tmp_path: Path) -> None:
    """Page by page, as the CPUs see it: with the firmware's parts, which are no memory of the file."""
    bench = prompted(tmp_path, "memory") if word == "prompt" else made("ideal", word, memory="64M")
    boot = BootOptions(NONCE, seed=1, saves=tmp_path)
    with bench.started(tmp_path / "saved", boot) as running_guest:
        running_guest.go()
        assert running_guest.talk is not None
        snapshot._at_rest(running_guest.console, running_guest.talk, snapshot.readiness(bench.script), 10**11)
        running_guest.talk.pause()
        running_guest.qmp.execute("stop", seconds=60)
        saved = seen(running_guest, tmp_path / "saved.bin")
    with bench.started(
        tmp_path / "restored", BootOptions(NONCE, seed=1, start=bench.snapshot)
    ) as running_guest:
        running_guest.load()
        restored = seen(running_guest, tmp_path / "restored.bin")
    assert len(saved) == len(restored) == WHOLE
    pages = () if saved == restored else range(0, WHOLE, PAGE)
    different = [at for at in pages if saved[at : at + PAGE] != restored[at : at + PAGE]]
    assert different == []


def seen(running: RunningGuest, file: Path) -> bytes:
    asked = {"val": 0, "size": WHOLE, "filename": str(file)}
    running.qmp.execute("pmemsave", asked, seconds=60)
    return file.read_bytes()


def test_the_same_guest_gives_the_same_snapshot(tmp_path: Path) -> None:
    first = prompted(tmp_path, "repeats").snapshot
    shutil.rmtree(first.folder.parent)
    again = prompted(tmp_path, "repeats").snapshot
    assert again.record == first.record
    assert (again.folder / RAM).stat().st_blocks * 512 < WHOLE / 4


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Session:
    place = tmp_path_factory.mktemp("warm")
    light_tern(place)
    (place / "test_warm.py").write_text(TEST)
    session = run_pytest(place, "test_warm.py", "--clock=insn", "--start=warm", "--smp=1,2", "--runs=1")
    assert session.code == 0, session.output
    return replace(session, folder=session.folder.resolve())


def test_a_row_says_that_it_started_warm(recorded: Session) -> None:
    assert {row["system"] for row in recorded.rows} == {"linux.start-warm", "kernel.start-warm"}
    for system in ("linux", "kernel"):
        runs = (recorded.folder / "runs").glob(f"*-{system}.start-warm-smp2/memory.txt")
        memory = [path.read_text() for path in runs]
        assert len(memory) == 2  # of the repeated seed
        assert memory[0] == memory[1]
    for run in (recorded.folder / "runs").iterdir():
        assert json.loads((run / "start.json").read_text())["boot"] in range(1, 6)


@pytest.mark.parametrize("system", ["linux", "kernel"])
def test_a_warm_run_is_replayed(recorded: Session, system: str, tmp_path: Path) -> None:
    run = next((recorded.folder / "runs").glob(f"*-{system}.start-warm-smp2"))
    own = () if system == "linux" else ("--system", light_tern(tmp_path))
    code, output = run_benchgate(tmp_path, "replay", run, "--out", tmp_path / "again", *own)
    assert code == 0, output
    assert "the same run" in output


def test_a_warm_session_is_verified(recorded: Session, tmp_path: Path) -> None:
    code, output = run_benchgate(tmp_path, "verify", recorded.folder)
    assert code == 0, output


def prompt_files(place: Path) -> None:
    """A kernel with a prompt, and its workload."""
    kernel = talker(place).name
    (place / "printed.yaml").write_text(SYSTEM.format(name="printed", work=WINDOWS["printed"], kernel=kernel))
    (place / "typed.yaml").write_text(WORKLOAD)
    (place / "oracle.py").write_text(ORACLE)


@pytest.mark.parametrize("machine", ["ideal", "desktop8"])
def test_a_kernel_starts_at_its_prompt(tmp_path: Path, machine: str) -> None:
    """Nothing in its YAML says that it can. The conversation is the one of the cold run to the ns, also where
    caches decide how long a line takes."""
    prompt_files(tmp_path)
    (tmp_path / "test_typed.py").write_text(TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', ""))
    said = {}
    for start in StartKind:
        words = ("--clock=insn", "--smp=2", "--runs=1", f"--start={start}", f"--machine={machine}")
        session = run_pytest(tmp_path, "test_typed.py", *words)
        assert session.code == 0, session.output
        run = next((session.folder / "runs").glob("0001-*"))
        typed = json.loads((run / "conversation.json").read_text())["typed"]
        times = [total.time for total in read_log(clock_log(run)).totals]
        said[start] = [(one["text"], one["at"]) for one in typed], (run / "serial.log").read_bytes(), times
    assert said[StartKind.WARM] == said[StartKind.COLD]


@pytest.mark.parametrize("start", ["cold", "warm", "fork"])
def test_a_disk_has_what_the_booted_guest_wrote(tmp_path: Path, start: str) -> None:
    """Once at its boot, and then by each run for itself: nothing of one run is there in the next."""
    prompt_files(tmp_path)
    system = (tmp_path / "printed.yaml").read_text().replace("q35,sata=off,smbus=off", "pc")
    disk = "append: disk=counts, disks: [{image: disk.img, interface: ide}]}"
    (tmp_path / "printed.yaml").write_text(system.replace("}\nqemu", f", {disk}\nqemu"))
    (tmp_path / "disk.img").write_bytes((7).to_bytes(2, "little") + bytes((1 << 20) - 2))
    (tmp_path / "test_typed.py").write_text(TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', ""))
    words = ("--clock=insn", "--smp=2", "--runs=5", f"--start={start}")
    session = run_pytest(tmp_path, "test_typed.py", *words)
    assert session.code == 0, session.output
    runs = sorted((session.folder / "runs").iterdir())
    assert len(runs) == 6, "a warm-up and five runs"
    for run in runs:
        used = re.findall(
            rb"the disk was used (\d+) times before it (booted|was asked)", (run / "serial.log").read_bytes()
        )
        assert used == [(b"7", b"booted"), *((b"%d" % times, b"was asked") for times in (8, 9, 10))]
    is_fork = [(run / FORK).exists() for run in runs]  # of the first two the memory is compared at their end
    assert is_fork == [False, False, *[start == "fork"] * 4]
    assert (tmp_path / "disk.img").read_bytes()[:2] == b"\7\0"


def begun(run: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((run / "start.json").read_text())
    return result


def forged(session: Path, *, whole: bool) -> Path:
    """All runs claim the start of the first one; `whole`: but for the number of the boot."""
    runs = sorted((session / "runs").iterdir())
    first = begun(runs[0])
    for run in runs:
        own = begun(run)
        told = {"argv.json": "start={time_ns}:{console}", "clock.log": "start {time_ns} {console} "}
        for name, words in told.items():
            text = (run / name).read_text()
            assert text.count(words.format(**own).strip()) == 1
            (run / name).write_text(text.replace(words.format(**own).strip(), words.format(**first).strip()))
        forgery = {**first, "boot": own["boot"]} if whole else first
        (run / "start.json").write_text(json.dumps(forgery))
    forgerykit.chain_again(session)
    forgerykit.seal_again(session)
    return session


def test_runs_that_all_came_from_one_snapshot_give_no_verdict(tmp_path: Path) -> None:
    prompt_files(tmp_path)
    test = TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', "")
    (tmp_path / "test_typed.py").write_text(test)
    made = run_pytest(tmp_path, "test_typed.py", "--clock=insn", "--start=warm", "--smp=2")
    assert made.code == 0, made.output
    session = made.folder.resolve()
    assert [begun(run)["boot"] for run in sorted((session / "runs").iterdir())] == [1, 1, 2, 3, 4, 5]
    words = ("--workload", "typed.yaml")
    code, output = run_benchgate(tmp_path, "verify", session, *words)
    assert code == 0, output
    for whole, said in (
        (False, "it started at boot 1, and must at 2"),
        (True, "has only 1 boot behind its 5 runs, and the policy"),
    ):
        copy = tmp_path / str(whole) / session.name
        shutil.copytree(session, copy)
        code, output = run_benchgate(tmp_path, "rejudge", forged(copy, whole=whole), *words)
        assert code != 0, output
        assert said in " ".join(output.split()), output


def test_a_find_of_a_warm_row_is_made_small_and_replayed(tmp_path: Path) -> None:
    """It has a stall, and happens without. An exploration of rows that can starts warm; one that is asked to
    start cold does so, and what it finds is replayed cold."""
    prompt_files(tmp_path)
    system = tmp_path / "printed.yaml"
    system.write_text(system.read_text().replace("boot: {", "boot: {append: lie=panic-after, "))
    test = TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', "")
    (tmp_path / "test_typed.py").write_text(test)
    asked = ("test_typed.py", "--smp=2", "--strategy=sync", "--seeds=1", "--with", "one_in=2")
    words = ("--", "-p", "no:cacheprovider")
    code, output = run_benchgate(tmp_path, "explore", *asked, "--out=out", *words)
    assert code == 1, output
    assert "typed.hi-20001-printed.start-warm-smp2: seeds plain 1, sync 1" in output
    code, output = run_benchgate(tmp_path, "explore", "small", "out/finds/find-2")
    assert code == 0, output
    assert re.search(r"find-2: 0 of [1-9]\d* stalls? after 2 runs: it happens without any stall", output), (
        output
    )
    more = ("--start=cold", "--no-small", "--out=cold")
    code, output = run_benchgate(tmp_path, "explore", *asked, *more, *words)
    assert code == 1, output
    assert "typed.hi-20001-printed-smp2: seeds plain 1, sync 1" in output
    for out in ("out", "cold"):
        code, output = run_benchgate(
            tmp_path, "explore", "replay", f"{out}/finds/find-2", f"--out={out}-again"
        )
        assert code == 0, output
        assert "the same run: marks, counts and console are equal" in output
    assert [(tmp_path / f"{out}-again/start.json").exists() for out in ("out", "cold")] == [True, False]


# ---- faults, with the snapshots of a kernel at its prompt


def prompted(place: Path, words: str, machine: str = "q35,sata=off,smbus=off", boots: int = 5) -> Bench:
    """Its command line makes the snapshots of each test its own. A kernel built again would be another."""
    if not (place / "printed.yaml").exists():
        prompt_files(place)
    path = place / f"{words}.yaml"
    text = (place / "printed.yaml").read_text()
    for old, new in (("boot: {", f"boot: {{append: {words}, "), ("q35,sata=off,smbus=off", machine)):
        assert old in text
        text = text.replace(old, new)
    if not path.exists() or path.read_text() != text:  # a second maker does not empty what the first reads
        path.write_text(text)
    system = catalog.load_system(f"{path}:start=warm")
    workload = catalog.load_workload(str(place / "typed.yaml"), system)
    values, label = fill(workload, {})
    cell = Cell(system.name, workload.name, workload.mode, values, 2, label)
    planned = PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    bench = Workbench(replace(Options(), clock="insn", boots=boots), ThisHost(), print)
    bench.prepare([planned])
    bench.choose()
    return Bench(bench, planned)


MAKER = """\
import sys, time
from pathlib import Path
from tests.guests.test_warm_starts import prompted
from benchgate.run import snapshot

bench = prompted(Path(sys.argv[1]), sys.argv[2])
if sys.argv[3:]:
    snapshot.take = lambda *_: time.sleep(600)
print("begins", flush=True)
print("digests", sorted(bench.snapshot.record.digests.items()))
"""


def maker(place: Path, *words: str) -> subprocess.Popen[str]:
    """A process that makes the snapshot, or finds it."""
    argv = [sys.executable, "-c", MAKER, str(place), *words]
    return subprocess.Popen(argv, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_of_two_sessions_at_once_one_makes_the_snapshot(tmp_path: Path) -> None:
    prompted(tmp_path, "at-once")
    both = [maker(tmp_path, "at-once") for _ in range(2)]
    outputs = [one.communicate(timeout=PATIENCE_S)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert sum("making a snapshot" in output for output in outputs) == 1, outputs
    assert len({output.rpartition("digests")[2] for output in outputs}) == 1


def test_a_maker_that_is_killed_leaves_no_guest_and_no_snapshot(tmp_path: Path) -> None:
    """Its half of a snapshot is removed by whoever comes to the cache next."""
    place = prompted(tmp_path, "killed").snapshot.folder.parent
    shutil.rmtree(place)
    one = maker(tmp_path, "killed", "sleeps")
    half = place.with_name(f"{place.name}.tmp") / "files" / "work"
    while not (half / "affinity.json").exists():  # its guest has begun
        assert one.poll() is None
        time.sleep(0.02)
    guests = [child for child in psutil.Process(one.pid).children(recursive=True) if "qemu" in child.name()]
    assert guests
    one.kill()
    one.communicate()
    psutil.wait_procs(guests, timeout=PATIENCE_S)
    assert not any(child.is_running() for child in guests)
    assert not place.exists()
    again = prompted(tmp_path, "killed").snapshot
    assert again.folder.parent == place
    assert not half.parent.parent.exists()


def test_a_snapshot_that_lost_its_end_is_made_again(tmp_path: Path) -> None:
    for name in (RAM, STATE, CONSOLE):
        first = prompted(tmp_path, "truncated").snapshot
        while cache._held:  # as at the end of its process
            os.close(cache._held.popitem()[1])
        file = first.folder / name
        os.truncate(file, file.stat().st_size - 1)
        again = prompted(tmp_path, "truncated").snapshot
        assert again.record == first.record
        assert (file_digest(again.folder / STATE), pages_digest(again.folder / RAM)) == (
            first.record.digests[STATE], first.record.digests[RAM],
        )  # fmt: skip


@pytest.mark.parametrize("machine", ["pc", "q35,sata=off", "q35,sata=off,smbus=off"])
def test_a_state_of_another_machine_or_one_without_its_end_is_not_loaded(
    tmp_path: Path, machine: str
) -> None:
    """Of the machine itself it is cut off."""
    own = prompted(tmp_path, "loads")
    snapshot, other = own.snapshot, prompted(tmp_path, "loads", machine)
    if other.planned.system.qemu.machine == own.planned.system.qemu.machine:
        folder = tmp_path / "short"
        shutil.copytree(snapshot.folder, folder)
        os.truncate(folder / STATE, (folder / STATE).stat().st_size // 2)
        snapshot = replace(snapshot, folder=folder)
    boot = BootOptions(NONCE, seed=1, start=snapshot)
    with other.started(tmp_path / "run", boot) as running_guest, pytest.raises(QmpError):
        running_guest.load()  # QEMU ends, and its own message is told as the reason (run/guest.py)
    said = (tmp_path / "run/stderr.log").read_text()
    assert "load of migration failed" in said, said


BOOTS = """\
import pytest

pytestmark = [pytest.mark.system("printed.yaml"), pytest.mark.workload("typed.yaml", hi=20001)]


def test_a_guest_of_ones_own_begins_at_the_prompt(boot):
    guest = boot(cpus=2, clock="insn")
    guest.console.expect_exact("\\n$ ")
    begun = guest.console.time_ns
    guest.console.sendline("cpus")
    guest.console.expect_exact("cpus: 2 up")
    assert f"start {begun} " in (guest.folder / "clock.log").read_text()
"""


def test_a_users_own_boot_starts_warm(tmp_path: Path) -> None:
    prompt_files(tmp_path)
    (tmp_path / "test_boots.py").write_text(BOOTS)
    session = run_pytest(tmp_path, "test_boots.py", "--clock=insn", "--start=warm")
    assert session.code == 0, session.output
