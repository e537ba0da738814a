"""A mix that forks is the mix that starts from the snapshot by itself, with its disks, too."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base import snapshots
from benchgate.base.errors import BootError, HostError
from benchgate.base.runs import Ending
from benchgate.base.snapshots import FORK, StartKind
from benchgate.features.mix.guest.mix_runs import Mix, Part
from benchgate.features.mix.session.booter import MixBooter
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run import forked
from benchgate.run.attempt import execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import Fork
from benchgate.run.guest import RunningGuest, started
from benchgate.run.templates import Templates
from tests.guests.test_forks import forks, require_equal

__all__ = ["forks"]


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
