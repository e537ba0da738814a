"""Who uses forks besides plain runs: each run is the one that starts from the snapshot by itself."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchgate.base import snapshots
from benchgate.base.errors import BootError, HostError
from benchgate.base.mix_runs import Mix, Part
from benchgate.base.runs import Ending
from benchgate.base.snapshots import FORK, StartKind
from benchgate.evidence.files import read_object
from benchgate.insn.arguments import Records
from benchgate.judge.run_files import THREAD_EVENTS
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run import forked
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import Fork
from benchgate.run.guest import CONVERSATION, RunningGuest, started
from benchgate.run.templates import Templates
from benchgate.session import recordings
from benchgate.session.mix_study.booter import MixBooter
from tests.guests.test_forks import compared, forks, nonce, on, require_equal, run
from tests.guests.test_warm_starts import Bench, made, prompt_files
from tests.line.sessions import run_pytest
from tests.line.test_prompt import TESTS
from tests.machines import wait_until

__all__ = ["forks"]


# ---- records


def recorded(bench: Bench, folder: Path, seed: int, fork: Fork | None) -> Records:
    """One run with every record that its machine has."""
    folder.mkdir()
    has_memory = bench.planned.system.memory_machine is not None
    observed = bench.bench.observed(bench.planned)
    records = recordings.records(
        folder, observed=observed, profile=True, events=True, stacks=True, lines=has_memory
    )
    boot = BootOptions(nonce(seed), seed=seed, boot=1, records=records)
    assert execute(bench.bench.request(bench.planned, boot, folder), fork=fork).ending is Ending.DONE
    assert (folder / forked.FILE).exists() == (fork is not None)
    own = forked.private_kib(folder)
    assert (own is None) == (fork is None)
    assert own is None or 100 < own < 512 << 10  # it has written something, and not all of its memory
    return records


def rows(profile: Path | None) -> list[str]:
    """A profile without the number of blocks that were translated, which a fork has from its template."""
    assert profile is not None
    lines = profile.read_text().splitlines()
    assert lines[-1].startswith("end ")
    return sorted(lines[:-1])


@pytest.mark.parametrize(
    ("word", "machine", "cpus"),
    [
        ("kernel", "ideal", 2),
        ("kernel", "desktop8", 4),
        ("linux", "ideal", 2),
        pytest.param("linux", "desktop8", 2, marks=pytest.mark.long),
        pytest.param("linux", "ideal", 4, marks=pytest.mark.long),
    ],
)
def test_each_record_of_a_fork_is_that_of_the_run_that_starts_by_itself(
    word: str, machine: str, cpus: int, tmp_path: Path, forks: Templates
) -> None:
    bench = made(machine, word)
    planned = bench.planned
    bench = replace(bench, planned=replace(planned, cell=replace(planned.cell, cpus=cpus)))
    for seed in (1, 2):
        alone = recorded(bench, tmp_path / f"alone{seed}", seed, None)
        forked = recorded(bench, tmp_path / f"forked{seed}", seed, forks.fork)
        require_equal(tmp_path / f"alone{seed}", tmp_path / f"forked{seed}")
        assert rows(alone.profile) == rows(forked.profile)
        for name in ("threads", "events", "stacks", "sharing"):
            one, other = getattr(alone, name), getattr(forked, name)
            assert (one is None) == (other is None) == (name == "sharing" and machine == "ideal")
            assert one is None or one.read_bytes() == other.read_bytes()
    first, second = (digest(tmp_path / f"forked{seed}") for seed in (1, 2))
    assert first != second  # each has its own


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / THREAD_EVENTS).read_bytes()).hexdigest()


def test_a_record_of_threads_begins_with_the_halts_of_the_machine(tmp_path: Path) -> None:
    """How often QEMU stopped its vCPUs before, and after the end, depends on its host."""
    bench = made("ideal", "kernel")
    lines = Path(str(recorded(bench, tmp_path / "run", 1, None).threads)).read_text().splitlines()
    assert [line.split()[:2] for line in lines[3:5]] == [["halt", "0"], ["halt", "1"]]
    halted = [line.split()[1] for line in lines if line.startswith(("halt ", "resume "))]
    for cpu in ("0", "1"):
        of_cpu = [
            line.split()[0]
            for line in lines
            if line.split()[0] in ("halt", "resume") and line.split()[1] == cpu
        ]
        assert of_cpu == ["halt", "resume"] * (len(of_cpu) // 2) + ["halt"] * (len(of_cpu) % 2)
    assert set(halted) == {"0", "1"}


# ---- a worker of a fleet


def test_a_template_that_nobody_uses_is_ended_and_made_again(tmp_path: Path) -> None:
    with contextlib.closing(Templates(print, idle_s=0.01)) as idle:
        bench = made("ideal", "kernel")
        for seed in (1, 2):
            assert run(bench, tmp_path / f"run{seed}", seed, idle.fork).ending is Ending.DONE
            assert wait_until(lambda: not idle._known)
            assert wait_until(
                lambda: not [child for child in psutil.Process().children() if "qemu" in child.name()]
            )
    keys = {read_object(tmp_path / f"run{seed}", forked.FILE)["number"] for seed in (1, 2)}
    assert keys == {1}  # each was the first of its template


# ---- scenarios


def test_a_scenario_of_a_fork_is_that_of_the_run_that_starts_by_itself(
    tmp_path: Path, forks: Templates
) -> None:
    bench = on(made("ideal", "kernel", workload_word="scenario-spread"), 4)
    compared(bench, tmp_path, forks, (1, 2))
    assert (tmp_path / "forked1/serial.log").read_text().count("\n@bench worker ") == 4


# ---- mixes


def of(name: str, workload: str, **given: int) -> Part:
    found = catalog.load_workload(workload)
    params = {param.name: param.default for param in found.params.values()} | given
    return Part(name, found, tuple(sorted(params.items())), 1)


def mix_of(*, disk: bool, start: str = "warm") -> Mix:
    linux = catalog.load_system(f"linux:start={start}")
    files = of("files#1", "files", count=1, blocks=8, block_kb=4, rounds=1)
    busy = files if disk else of("primes#1", "primes", hi=20_000)
    return Mix(linux, 2, (busy, Part("dummy#1", None)), least=3, limit_ms=200)


@pytest.mark.parametrize("disk", [False, True])
def test_a_mix_of_a_fork_is_that_of_the_run_that_starts_by_itself(tmp_path: Path, *, disk: bool) -> None:
    notes: list[str] = []
    for start in (StartKind.WARM, FORK):
        with MixBooter(Options(clock="insn", start=start), notes.append) as lab:
            for seed in (1, 2):
                folder = tmp_path / f"{start}{seed}"
                folder.mkdir()
                assert lab.run(mix_of(disk=disk), folder, seed=seed).reason == ""
                assert (folder / forked.FILE).exists() == (start == FORK)
    for seed in (1, 2):
        require_equal(tmp_path / f"warm{seed}", tmp_path / f"fork{seed}")
    assert not [text for text in notes if "no fork" in text]


@contextlib.contextmanager
def with_disks(count: int, tmp_path: Path, forks: Templates) -> Iterator[list[RunningGuest]]:
    """So many forks of one template, with their disks open. The time of their guests has not begun."""
    asks = Options(clock="insn", start=StartKind.WARM)
    with MixBooter(asks, print) as lab, contextlib.ExitStack() as stack:
        guests = []
        for number in range(count):
            (folder := tmp_path / f"run{number}").mkdir()
            asked = lab.request(mix_of(disk=True), folder)
            made_for = (asked.spec, folder)
            guest = stack.enter_context(
                started(*made_for, mark=asked.nonce, limits=ConsoleLimits(), fork=forks.fork)
            )
            guest.prepare()
            guest.load()
            guest.qmp.execute("cont")
            guests.append(guest)
        assert len(forks._known) == 1
        yield guests


def at_disk(guest: RunningGuest, *commands: str) -> None:
    """Where its image has zeros, by QEMU's own tool, which says what it did when its QEMU ends."""
    for command in commands:
        words = {"command-line": f'qemu-io disk0 "{command} 16M 64k"'}
        guest.qmp.execute("human-monitor-command", words)


def told(guest: RunningGuest) -> list[str]:
    guest.qmp.execute("quit")
    guest.console.read_rest(100)
    guest.log.flush()
    text = (guest.folder / snapshots.CONSOLE).read_text()
    return re.findall(r"wrote 65536/65536|Pattern verification failed|read 65536/65536", text)


def disk_file(pid: int) -> Path:
    """The only file with what was written to the disk."""
    name = re.compile(r"/(vl\.\w+|#\d+) \(deleted\)$")
    (found,) = (one for one in Path(f"/proc/{pid}/fd").iterdir() if name.search(str(one.readlink())))
    return found


def test_what_forks_write_to_their_disks_does_not_meet(tmp_path: Path, forks: Templates) -> None:
    """Each writes to the same place while the other runs, and reads its own; a third finds the image's."""
    with with_disks(3, tmp_path, forks) as (one, other, third):
        files = [disk_file(guest.child.pid) for guest in (one, other, third)]
        assert len({file.stat().st_ino for file in files}) == 3
        assert len({file.readlink().parent for file in files}) == 1
        at_disk(one, "write -P 0x11")
        at_disk(other, "write -P 0x22")
        at_disk(one, "read -P 0x11", "read -P 0x22")
        at_disk(other, "read -P 0x22")
        at_disk(third, "read -P 0")
        wrote, read, failed = "wrote 65536/65536", "read 65536/65536", "Pattern verification failed"
        assert told(one) == [wrote, read, failed, read]
        assert told(other) == [wrote, read]
        assert told(third) == [read]


def test_a_fork_with_a_disk_ends_on_a_signal(tmp_path: Path, forks: Templates) -> None:
    """After its block layer has written."""
    with with_disks(1, tmp_path, forks) as (guest,):
        at_disk(guest, "write -P 0x11")
        os.kill(guest.child.pid, signal.SIGTERM)
        assert guest.child.wait(100)


@pytest.fixture
def little(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    place = tmp_path / "little"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this needs a user who may mount a tmpfs")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def leave(place: Path, kib: int) -> None:
    (place / "fill").unlink(missing_ok=True)
    there = os.statvfs(place)
    (place / "fill").write_bytes(bytes(there.f_bavail * there.f_frsize - (kib << 10)))


def test_a_full_disk_loses_a_fork_and_says_so(
    tmp_path: Path, forks: Templates, little: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where QEMU keeps what guests write: while a guest writes, and when a fork is made."""
    full = {
        300: r"QEMU cannot keep what .*: No space left.*; free space in \$TMPDIR",
        8: r"fork did not begin: .* cannot be made again: No space left.*; free disk space there",
    }
    with MixBooter(Options(clock="insn", start=StartKind.WARM), print) as lab:

        def run_of(name: str, fork: Fork | None) -> Ending:
            (tmp_path / name).mkdir()
            request = lab.request(mix_of(disk=True), tmp_path / name)
            return execute(request, fork=fork).ending

        assert run_of("alone", None) is Ending.DONE
        monkeypatch.setenv("TMPDIR", str(little))
        assert run_of("first", forks.fork) is Ending.DONE
        for kib, said in full.items():
            leave(little, kib)
            with pytest.raises((BootError, HostError), match=said):
                run_of(f"full{kib}", forks.fork)
        (little / "fill").unlink()
        assert run_of("last", forks.fork) is Ending.DONE
    for name in ("first", "last"):
        require_equal(tmp_path / "alone", tmp_path / name)
        assert (tmp_path / name / forked.FILE).exists()


# ---- what is typed


@pytest.mark.parametrize("machine", ["ideal", pytest.param("desktop8", marks=pytest.mark.long)])
def test_a_kernel_at_its_prompt_forks_there(tmp_path: Path, machine: str) -> None:
    """One template for all five boots. What is typed, and when, is that of the warm session; of its runs the
    two whose memory is examined start by themselves."""
    prompt_files(tmp_path)
    (tmp_path / "test_typed.py").write_text(TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', ""))
    sessions = {}
    for start in ("warm", "fork"):
        words = ("--clock=insn", "--smp=2", f"--start={start}", f"--machine={machine}")
        session = run_pytest(tmp_path, "test_typed.py", *words)
        assert session.code == 0, session.output
        sessions[start] = sorted((session.folder.resolve() / "runs").iterdir())
    keys = []
    for alone, forked_run in zip(sessions["warm"], sessions["fork"], strict=True):
        require_equal(alone, forked_run)
        both = [json.loads((one / CONVERSATION).read_text())["typed"] for one in (alone, forked_run)]
        told = [[(typed["text"], typed["at"]) for typed in each] for each in both]
        assert told[0] == told[1]
        assert [text for text, _ in told[0]] == ["cpus\n", "primes 2 20001\n", "halt\n"]
        if (forked_run / forked.FILE).exists():
            keys.append(json.loads((forked_run / forked.FILE).read_text())["template"])
    assert len(keys) == len(sessions["fork"]) - 2 == 4
    assert len(set(keys)) == 1
