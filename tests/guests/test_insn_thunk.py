"""QEMU's reads of the host's TSC: each place becomes a jump to a thunk, and one that looks different keeps
its signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.system.arch import RISCV64, X86_64, Architecture
from benchgate.base.system.qemu import Qemu
from benchgate.build.fetch import inputs
from benchgate.insn.log import ClockLog
from benchgate.insn.plugin import prepare
from benchgate.insn.support import trial
from tests.barekit import qemu_for

READ = bytes.fromhex("0f31 48c1e220")  # rdtsc; shl $32, %rdx
SAME = bytes.fromhex("0f31 48c1c220")  # rol: rdx has no upper half, so nothing else changes


@pytest.fixture(params=[X86_64, RISCV64], ids=str)
def qemu(request: pytest.FixtureRequest) -> Qemu:
    guest: Architecture = request.param
    return inputs.qemu() if guest is X86_64 else qemu_for(guest)


def boot(qemu: Qemu) -> ClockLog:
    return trial(qemu, prepare(qemu), 2)[1]


def reads(log: ClockLog) -> Mapping[str, int]:
    return {name: log.host[f"tsc_{name}"] for name in ("thunks", "signals")}


def test_no_read_of_this_qemu_takes_a_signal(qemu: Qemu) -> None:
    log = boot(qemu)
    assert reads(log) == {"thunks": log.checks["tsc_traps"], "signals": 0}
    assert log.checks["tsc_traps"]


def test_a_qemu_whose_code_looks_different_is_left_alone_and_has_the_same_digits(
    qemu: Qemu, tmp_path: Path
) -> None:
    code = qemu.binary.read_bytes()
    assert READ in code
    other = tmp_path / "qemu"
    other.write_bytes(code.replace(READ, SAME))
    other.chmod(0o755)
    log, usual = boot(replace(qemu, binary=other)), boot(qemu)
    assert reads(log) == {"thunks": 0, "signals": log.checks["tsc_traps"]}
    assert log.repeatable == usual.repeatable
