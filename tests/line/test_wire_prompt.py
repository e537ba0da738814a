"""A system with a prompt that answers in the wire format, on a serial port and on a virtio console: Linux
with a shell of its own as PID 1."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.build import programs, toolchain
from benchgate.plan import catalog
from tests.line.sessions import PATIENCE_S, REPO, run_benchgate, run_pytest

SHELL = REPO / "tests" / "data" / "shell" / "shell.c"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-Wl,--build-id=none")
PLACES = ("workload", "mode", "workers", "cpus", "nonce", "hi", "split", "wait")
YAML = """\
version: 1
name: shell
kind: qemu
qemu: {machine: "q35,sata=off,smbus=off", memory: 512M, console: CONSOLE}
boot: {kernel: "fetch:linux", initrd: shell.cpio, append: "APPEND"}
ask: prompt
prompt: '\\$ '
steps:
  - {send: "WORDS"}
  - {send: halt, expect: "^shell: halts"}
console: {ready: "^shell: [0-9]+ CPUs up$"}
result: {system: linux}
end: {by: exit, exit_codes: [0]}
deadlines: {boot_s: PATIENCE, run_s: PATIENCE}
"""
CELL = """\
import pytest


@pytest.mark.system("shell.yaml")
@pytest.mark.workload("primes", hi=200_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def archive(path: Path) -> None:
    shell = path.with_suffix(".elf")
    subprocess.run(
        [*toolchain.compiler().argv, *FLAGS, str(SHELL), "-o", str(shell)], check=True, timeout=PATIENCE_S
    )
    bench = programs.guest_program(catalog.load_workload("primes"))
    path.write_bytes(programs.initramfs({"init": shell.read_bytes(), "bench": bench.read_bytes()}))


@pytest.mark.parametrize(
    ("clock", "console", "device"),
    [
        pytest.param("wall", "serial", "ttyS0", marks=pytest.mark.soak),
        pytest.param("wall", "virtio", "hvc0", marks=pytest.mark.soak),
        ("insn", "serial", "ttyS0"),
    ],
)
def test_the_answer_to_a_typed_line_is_judged_as_the_wire_format(
    tmp_path: Path, clock: str, console: str, device: str
) -> None:
    archive(tmp_path / "shell.cpio")
    append = catalog.load_system("linux").boot.append.replace("console=ttyS0", f"console={device}")
    assert f"console={device}" in append
    words = " ".join(f"bench.{key}={{{key}}}" for key in PLACES)
    text = (
        YAML.replace("CONSOLE", console)
        .replace("APPEND", append)
        .replace("WORDS", words)
        .replace("PATIENCE", str(PATIENCE_S))
    )
    (tmp_path / "shell.yaml").write_text(text)
    (tmp_path / "test_own.py").write_text(CELL)
    session = run_pytest(
        tmp_path, f"--clock={clock}", "--accel=tcg", "--smp=2", "--runs=1", "--oversubscribe"
    )
    assert session.code in ({0} if clock == "insn" else {0, 75}), session.output  # 75: the host was busy
    assert "true" in {row["verified"] for row in session.rows}
    typed = [path.read_text(errors="replace") for path in session.folder.glob("runs/*/serial.log")]
    assert len(typed) == len(session.rows)
    assert all("$ bench.workload=primes bench.mode=process" in word for word in typed)
    code, output = run_benchgate(tmp_path, "verify", session.folder)
    assert code == 0, output
