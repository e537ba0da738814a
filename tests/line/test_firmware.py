"""`boot.firmware` names a file: SeaBIOS, OpenSBI and OVMF boot real guests, on both clocks."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from benchgate.base.files import file_digest
from benchgate.base.system.arch import RISCV64, X86_64, Architecture
from benchgate.build.cache_storage import cache_root
from benchgate.build.fetch import inputs
from tests.barekit import qemu_for
from tests.kernelkit import talker
from tests.line.sessions import PATIENCE_S, REPO, Session, run_benchgate, run_pytest

FILES = {X86_64: "bios-256k.bin", RISCV64: "opensbi-riscv64-generic-fw_dynamic.bin"}
"""Both are beside the pinned QEMU, which takes them by itself if the YAML names none."""
TALKER = """\
version: 1
name: talker
kind: qemu
arch: ARCH
boot: {kernel: KERNEL, firmware: own.fw}
ask: prompt
prompt: '\\$ '
steps: [{send: 'primes {workers} 100000', capture: 'count=(?P<count>[0-9]+)'}]
console: {online: '^talker: (?P<n>[0-9]+) CPUs up$'}
result:
  format: patterns
  work: {begins: '^primes: start$', pattern: '^primes: took (?P<value>[0-9]+) ns$', unit: ns}
  expect: {count: 9592}
end: {by: kill}
"""
CELL = """\
import pytest


@pytest.mark.system("SYSTEM.yaml")
@pytest.mark.workload(WORKLOAD)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def firmware_of(guest: Architecture) -> Path:
    return next(folder / FILES[guest] for folder in qemu_for(guest).data if (folder / FILES[guest]).is_file())


def run(where: Path, system: str, workload: str, clock: str, cpus: int) -> Session:
    (where / "test_own.py").write_text(CELL.replace("SYSTEM", system).replace("WORKLOAD", workload))
    words = f"--clock={clock}", "--accel=tcg", f"--smp={cpus}", "--runs=1", "--oversubscribe"
    return run_pytest(where, *words)


def boot_talker(where: Path, guest: Architecture, clock: str, more: str = "") -> Session:
    text = TALKER.replace("ARCH", guest.name).replace("KERNEL", talker(where, guest).name) + more
    (where / "talker.yaml").write_text(text)
    return run(where, "talker", '"selftest"', clock, 2)


def check(session: Session, firmware: Path, clock: str, where: Path) -> None:
    """Its runs are verified, every one had that file, and the evidence says so."""
    assert session.code in ({0} if clock == "insn" else {0, 75}), session.output  # 75: the host was busy
    assert "true" in {row["verified"] for row in session.rows}
    for path in session.folder.glob("runs/*/argv.json"):
        argv = json.loads(path.read_text())
        assert argv[argv.index("-bios") + 1] == str(firmware)
    assert file_digest(firmware) in (session.folder / "session.json").read_text()
    code, output = run_benchgate(where, "verify", session.folder)
    assert code == 0, output


@pytest.mark.parametrize("clock", [pytest.param("wall", marks=pytest.mark.alone), "insn"])
@pytest.mark.parametrize("guest", FILES, ids=str)
def test_a_file_is_the_firmware(tmp_path: Path, guest: Architecture, clock: str) -> None:
    own = tmp_path / "own.fw"
    content = firmware_of(guest).read_bytes()
    if guest is RISCV64:  # its banner shows that this file runs
        assert content.count(b"OpenSBI v") == 1
        content = content.replace(b"OpenSBI v", b"OpenSBI w")
    own.write_bytes(content)
    session = boot_talker(tmp_path, guest, clock)
    check(session, own, clock, tmp_path)
    said = [path.read_bytes() for path in session.folder.glob("runs/*/serial.log")]
    assert len(said) == len(session.rows) > 0
    assert [b"OpenSBI w" in data for data in said] == [guest is RISCV64] * len(said)


def test_a_file_that_is_no_firmware_boots_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.fw").write_bytes(bytes(256 << 10))
    session = boot_talker(tmp_path, X86_64, "insn", "deadlines: {boot_s: 0.1, run_s: 0.1}\n")
    assert session.code == 1, session.output
    assert {row["verified"] for row in session.rows} == {"false"}


def ovmf(folder: Path) -> Path:
    """Debian's UEFI firmware: installed, or from this machine's package source."""
    installed = Path("/usr/share/ovmf/OVMF.fd")
    if installed.is_file():
        return installed
    for argv in (["apt-get", "download", "ovmf"], ["dpkg-deb", "-x", "FILE", "."]):
        there = [str(path) for path in folder.glob("ovmf_*.deb")] or [""]
        words = [there[0] if word == "FILE" else word for word in argv]
        if (
            shutil.which(argv[0]) is None
            or subprocess.run(
                words, cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False
            ).returncode
        ):
            pytest.skip(f"no OVMF: neither {installed} nor the package `ovmf` ({words[0]} failed)")
    return folder / "usr" / "share" / "ovmf" / "OVMF.fd"


def packed_linux() -> Path:
    """The image of the package, as it is before benchgate unpacks it."""
    digest = inputs.linux_kernel().packed
    return next(path for path in cache_root().glob("linux/*/files/vmlinuz") if file_digest(path) == digest)


@pytest.mark.soak  # it fetches OVMF, and a session takes minutes
@pytest.mark.parametrize("clock", ["wall", "insn"])
def test_linux_starts_from_ovmf(tmp_path: Path, clock: str) -> None:
    """UEFI starts the packed kernel by its own entry; it takes no ELF file."""
    packed = packed_linux()
    own = tmp_path / "own.fw"
    shutil.copyfile(ovmf(tmp_path), own)
    text = (REPO / "fixtures" / "systems" / "linux.yaml").read_text()
    for old, new in (
        ("name: linux\n", "name: uefi\nresult: {system: linux}\n"),
        ('  kernel: "{kernel}"\n', f"  kernel: {packed}\n  firmware: own.fw\n"),
        ("boot_s: 60\n  run_s: 120\n", f"boot_s: {PATIENCE_S}\n  run_s: {PATIENCE_S}\n"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "uefi.yaml").write_text(text)
    session = run(tmp_path, "uefi", '"primes", hi=200_000', clock, 2)
    check(session, own, clock, tmp_path)
