"""Warm starts: a run from a snapshot is the run that the guest would have made without one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.files import PAGE
from benchgate.base.snapshots import RAM, GuestSnapshot, StartKind
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run import argv, guest, snapshot
from benchgate.run.argv import BootOptions
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import RunningGuest
from benchgate.run.record import clock_log
from benchgate.run.watch import GUEST_WATCH
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench
from tests.kernelkit import talker
from tests.line.sessions import Session, run_benchgate, run_pytest
from tests.line.test_prompt import ORACLE, SYSTEM, TESTS, WINDOWS, WORKLOAD

NONCE = "0123456789abcdef"
WHOLE = 512 << 20
TEST = """\
import pytest


@pytest.mark.workload("primes", hi=20_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


@dataclass(frozen=True)
class Bench:
    """Two CPUs of the Linux guest, which start warm."""

    bench: Workbench
    planned: PlannedCell

    @property
    def snapshot(self) -> GuestSnapshot:
        image, vm = self.bench.image(self.planned), self.bench.emulators.vm(self.planned)
        return self.bench.warm.of(self.planned, image, vm, 1)

    @contextmanager
    def started(self, folder: Path, boot: BootOptions, *, later: bool = True) -> Iterator[RunningGuest]:
        """A QEMU. Without `later` a guest that boots has from the begin what a restored one gets."""
        folder.mkdir()
        vm, image = self.bench.emulators.vm(self.planned), self.bench.image(self.planned)
        boot = replace(boot, log=clock_log(folder))
        spec = argv.guest_spec(self.planned, image, vm, boot)
        if not later:
            assert image.initrd is not None
            own = argv.manifest(self.planned.cell, NONCE)
            (folder / "words").write_text(f"{self.planned.system.boot.append} {own}\n")
            content = {"files": image.initrd, "words": folder / "words"}
            words = [
                one.replace("string=later", f"file={path}")
                for one in spec.argv
                for path in [content.get(one.partition(",")[0].rpartition("/")[2], "")]
            ]
            spec = replace(spec, argv=tuple(words))
        typing = snapshot.typing_pace(None)
        with guest.started(spec, folder, mark=NONCE, limits=ConsoleLimits(), typing=typing) as running:
            running.prepare()
            yield running


def made(machine: str) -> Bench:
    system = catalog.load_system("linux:start=warm")
    found = catalog.load_machine(machine)
    system = system if found is None else system.on(found)
    workload = catalog.load_workload("primes", system)
    values, label = fill(workload, {"hi": 20_000})
    cell = Cell(system.name, workload.name, workload.mode, values, 2, label)
    planned = PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    bench = Workbench(replace(Options(), clock="insn"), ThisHost(), lambda _: None)
    bench.prepare([planned])
    bench.choose()
    return Bench(bench, planned)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return made("ideal")


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


@pytest.mark.parametrize("machine", ["ideal", "desktop8"])
def test_a_restored_run_is_the_one_that_was_never_saved(machine: str, tmp_path: Path) -> None:
    """Instruction for instruction: every mark, each vCPU's time at the end, every byte of the console. On a
    machine with caches QEMU is stopped for a moment: the clock then forgets what only makes it fast."""
    bench = made(machine)
    with bench.started(tmp_path / "on", BootOptions(NONCE, seed=1, saves=tmp_path), later=False) as one:
        one.go()
        assert one.talk is not None
        stop, _ = snapshot._at_rest(one.console, one.talk, snapshot.readiness(None), 10**11)
        if machine != "ideal":
            one.talk.pause()
            one.qmp.execute("stop", seconds=60)
            one.qmp.execute("cont", seconds=60)
            snapshot.begin(one.qmp, one.talk)
        else:
            one.talk.run(stop.time)  # the answer to this stop; the next one comes at once
        to_its_end(one)
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
    assert [one.time for one in restored[0].totals] == [one.time for one in never.totals]
    assert (tmp_path / "first/serial.log").read_bytes() == (tmp_path / "on/serial.log").read_bytes()


def test_the_restored_memory_is_that_of_the_saved_guest(bench: Bench, tmp_path: Path) -> None:
    """Page by page, as the CPUs see it: with the firmware's parts, which are no memory of the file."""
    boot = BootOptions(NONCE, seed=1, saves=tmp_path)
    with bench.started(tmp_path / "saved", boot) as one:
        one.go()
        assert one.talk is not None
        snapshot._at_rest(one.console, one.talk, snapshot.readiness(None), 10**11)
        one.talk.pause()
        one.qmp.execute("stop", seconds=60)
        saved = seen(one, tmp_path / "saved.bin")
    with bench.started(tmp_path / "restored", BootOptions(NONCE, seed=1, start=bench.snapshot)) as one:
        one.load()
        restored = seen(one, tmp_path / "restored.bin")
    assert len(saved) == len(restored) == WHOLE
    different = [at for at in range(0, WHOLE, PAGE) if saved[at : at + PAGE] != restored[at : at + PAGE]]
    assert different == []


def seen(running: RunningGuest, file: Path) -> bytes:
    asked = {"val": 0, "size": WHOLE, "filename": str(file)}
    running.qmp.execute("pmemsave", asked, seconds=60)
    return file.read_bytes()


def test_the_same_guest_gives_the_same_snapshot(bench: Bench) -> None:
    first = bench.snapshot.record
    shutil.rmtree(bench.snapshot.folder.parent)
    assert made("ideal").snapshot.record == first
    assert (bench.snapshot.folder / RAM).stat().st_blocks * 512 < WHOLE / 4


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Session:
    place = tmp_path_factory.mktemp("warm")
    (place / "test_warm.py").write_text(TEST)
    session = run_pytest(place, "test_warm.py", "--clock=insn", "--start=warm", "--smp=1,2", "--runs=1")
    assert session.code == 0, session.output
    return replace(session, folder=session.folder.resolve())


def test_a_row_says_that_it_started_warm(recorded: Session) -> None:
    assert {row["system"] for row in recorded.rows} == {"linux.start-warm"}
    for run in (recorded.folder / "runs").iterdir():
        assert json.loads((run / "start.json").read_text())["boot"] in range(1, 6)


def test_a_warm_run_is_replayed_and_verified(recorded: Session, tmp_path: Path) -> None:
    run = next((recorded.folder / "runs").glob("*-smp2"))
    code, output = run_benchgate(tmp_path, "replay", run, "--out", tmp_path / "again")
    assert code == 0, output
    assert "the same run" in output
    code, output = run_benchgate(tmp_path, "verify", recorded.folder)
    assert code == 0, output


def prompt_files(place: Path) -> None:
    """A kernel with a prompt, and its workload."""
    kernel = talker(place).name
    (place / "printed.yaml").write_text(SYSTEM.format(name="printed", work=WINDOWS["printed"], kernel=kernel))
    (place / "typed.yaml").write_text(WORKLOAD)
    (place / "oracle.py").write_text(ORACLE)


def test_a_kernel_starts_at_its_prompt(tmp_path: Path) -> None:
    """Nothing in its YAML says that it can. The conversation is the one of the cold run."""
    prompt_files(tmp_path)
    (tmp_path / "test_typed.py").write_text(TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', ""))
    said = {}
    for start in StartKind:
        words = ("--clock=insn", "--smp=2", "--runs=1", f"--start={start}")
        session = run_pytest(tmp_path, "test_typed.py", *words)
        assert session.code == 0, session.output
        run = next((session.folder / "runs").glob("0001-*"))
        typed = json.loads((run / "conversation.json").read_text())["typed"]
        said[start] = [(one["text"], one["at"]) for one in typed]
    assert said[StartKind.WARM] == said[StartKind.COLD]


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
