"""The books of a machine: they balance to the last ns and the last access, or the run is no result."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Disorder
from benchgate.insn.log_reader import read_log
from benchgate.judge import verify
from benchgate.judge.checks.balance import check_balance, start_of
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run, verified
from tests.unit.insn.c.native import Lockstep, Rules, load
from tests.unit.insn.test_log_reader import COMPLETE
from tests.unit.memory_logs import LOG, SLOW_CPU
from tests.wirekit import PRIMES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def test_books_that_balance_pass(path: Path) -> None:
    path.write_text(LOG, encoding="ascii")
    check_balance(read_log(path))


def test_the_ideal_machine_has_no_books(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    check_balance(read_log(path))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "time 16691",
            "time 16692",
            "vCPU 0: began at 691 ns, executed 9000, paused 100, skipped 900, halted 2000, stalled 4000: "
            "that is 16691 ns, but 16692 ns",
        ),
        ("stalled 8000", "stalled 8001", "vCPU 1: began at 1883 ns"),
        ("seed 7", "seed 8", "vCPU 0: began at"),
        ("l2 80", "l2 81", "vCPU 0 in phase window: classes of waiting are 1901 ns, but stalled 1900 ns"),
        ("local 2100 remote", "local 2099 remote", "vCPU 0 in phase boot: classes of waiting are 2099 ns"),
        ("l2 6", "l2 7", "vCPU 1 in phase window: 800 accesses were made, but 801 were served"),
        ("atomics 10 l1", "atomics 9 l1", "909 accesses were made, but 910 were served"),
        (
            "spent boot 0 executed 3000",
            "spent boot 0 executed 3001",
            "vCPU 0: executed is 9001 ns in both phases, but 9000 ns in all",
        ),
        (
            "spent boot 1 executed 1000 paused 0 skipped 0 halted 5000",
            "spent boot 1 executed 1000 paused 0 skipped 0 halted 4999",
            "vCPU 1: halted is 4999 ns in both phases, but 5000 ns in all",
        ),
    ],
)
def test_one_ns_or_one_access_too_many_is_found(path: Path, old: str, new: str, why: str) -> None:
    assert old in LOG
    path.write_text(LOG.replace(old, new, 1), encoding="ascii")
    with pytest.raises(VerifyError, match="the machine's books do not balance: .*" + why):
        check_balance(read_log(path))


def explored(log: str) -> str:
    """vCPU 0 was stalled for 50 ns in the boot and 30 in the window."""
    more = {"vcpu 0 ": 80, "vcpu 1 ": 0, "spent boot 0 ": 50, "spent window 0 ": 30}
    lines = [
        f"{line} delayed {next((n for head, n in more.items() if line.startswith(head)), 0)}"
        if line.startswith(("vcpu ", "spent "))
        else line
        for line in log.split("\n")
    ]
    return "\n".join(lines).replace("mark 03", "explore points 1\nmark 03", 1).replace("16691", "16771", 1)


IDEAL = COMPLETE.replace("time 9500", "time 10191").replace("time 9400", "time 11283")


def test_the_time_of_stalls_is_in_the_books(path: Path) -> None:
    for log in (explored(LOG), explored(IDEAL).replace("time 10191", "time 10271")):
        path.write_text(log, encoding="ascii")
        check_balance(read_log(path))
        path.write_text(log.replace("delayed 80", "delayed 81"), encoding="ascii")
        with pytest.raises(VerifyError, match=r"delayed 81: that is .* ns, but"):
            check_balance(read_log(path))
    path.write_text(explored(LOG).replace("delayed 30", "delayed 29"), encoding="ascii")
    with pytest.raises(VerifyError, match="delayed is 79 ns in both phases, but 80 ns in all"):
        check_balance(read_log(path))


def test_a_machine_without_books_is_no_result(path: Path) -> None:
    path.write_text(LOG[: LOG.index("vcpu 0 time")], encoding="ascii")
    with pytest.raises(VerifyError, match="names machine toy2 but ends before its books"):
        check_balance(read_log(path))


def test_the_verifier_refuses_such_a_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path.parent / "serial.log").write_bytes(b"")
    raw = replace(raw_run(cell(2), lane=Lane.INSN, folder=path.parent), clock_log=path)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: verified(raw, 5))
    monkeypatch.setattr(verify, "check_agreement", lambda *_: None)
    linux = catalog.load_system("linux")
    path.write_text(LOG, encoding="ascii")
    assert verify.verify_on(raw, PRIMES, linux).work == 5
    path.write_text(LOG.replace("l2 80", "l2 81"), encoding="ascii")
    with pytest.raises(VerifyError, match="the machine's books do not balance"):
        verify.verify_on(raw, PRIMES, linux)


def test_the_bound_of_the_order_is_part_of_the_resolution(path: Path) -> None:
    known = "check longest 5000\ncheck handovers 7\ncheck late 300\n"
    path.write_text(LOG.replace("check notes 3\n", known), encoding="ascii")
    resolution = read_log(path).resolution
    assert resolution is not None
    assert resolution.order == Disorder(count=3, worst_ns=120, total_ns=170, worst_line=0x1F40, crossed=1)
    path.write_text(COMPLETE.replace("check notes 3\n", known), encoding="ascii")
    resolution = read_log(path).resolution
    assert resolution is not None
    assert resolution.order is None


def test_it_is_where_the_clock_lets_a_vcpu_begin(tmp_path: Path) -> None:
    library = load(tmp_path)
    dice = random.Random(15)
    for seed in (0, 1, *(dice.randrange(2**64) for _ in range(50))):
        quantum = dice.randrange(100, 10_000)
        clock = Lockstep(library, Rules(count=8, serial=True, quantum=quantum, fine=100, rush=25, seed=seed))
        for vcpu in range(8):
            clock.appear(vcpu)
        begins = [clock.machine.vcpu[vcpu].time for vcpu in range(8)]
        assert [start_of(seed, quantum, vcpu) for vcpu in range(8)] == begins


def test_it_is_what_real_runs_have_beyond_their_books() -> None:
    """Time less executed, paused, skipped and halted, in logs of the Linux guest on 2026-11-23."""
    assert [start_of(2, 5000, vcpu) for vcpu in (0, 1)] == [
        2372845506 - 1025210455 - 8214066 - 190558021 - 1148862777,
        2372845506 - 828015162 - 8371650 - 5152058 - 1531302467,
    ]
    assert start_of(3, 5000, 0) == 3568753899 - 2378685960 - 103096 - 184801747 - 1005161011


def test_the_books_of_a_slow_cpu_with_a_memory_system_balance(path: Path) -> None:
    path.write_text(SLOW_CPU, encoding="ascii")
    check_balance(read_log(path))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("time 28883", "time 28884", "vCPU 1: began at 1883 ns"),
        (
            "capacity 1 512",
            "capacity 1 511",
            "vCPU 1 in phase window: classes of waiting are 4000 ns, and its",
        ),
        ("stalled 9999", "stalled 10003", "vCPU 1 in phase window: classes of waiting are 4000 ns, and its"),
        ("l2 60", "l2 160", "instructions took 6000 ns beyond 1 ns each, but stalled 9999 ns"),
        ("l2 80", "l2 81", "vCPU 0 in phase window: classes of waiting are 1901 ns, but stalled 1900 ns"),
        ("spent boot 1 executed 1000", "spent boot 1 executed 990", "its instructions took 990 ns beyond"),
    ],
)
def test_an_instruction_or_a_wait_of_another_length_is_found(
    path: Path, old: str, new: str, why: str
) -> None:
    assert SLOW_CPU.count(old) == 1
    path.write_text(SLOW_CPU.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match="the machine's books do not balance: .*" + why):
        check_balance(read_log(path))


def test_the_time_of_cpus_of_different_speed_adds_up(path: Path) -> None:
    """vCPU 1 begins at 1883 ns. Of its 9000 instructions and 100 ns of pauses each took 2 ns."""
    head = COMPLETE[: COMPLETE.index("beat 0")].replace("check notes 3\n", "")
    totals = """vcpu 0 time 1791 executed 1000 paused 0 skipped 50 halted 50 stalled 0
vcpu 1 time 20083 executed 9000 paused 100 skipped 0 halted 0 stalled 9100
"""
    text = f"{head}capacity 0 1024\ncapacity 1 512\n{totals}"
    path.write_text(text, encoding="ascii")
    check_balance(read_log(path))
    path.write_text(text[: text.index("vcpu 0 time")], encoding="ascii")
    with pytest.raises(VerifyError, match="has the capacities of CPUs but ends before its books"):
        check_balance(read_log(path))
    path.write_text(text.replace("stalled 9100", "stalled 9099"), encoding="ascii")
    with pytest.raises(VerifyError, match="vCPU 1: began at 1883 ns"):
        check_balance(read_log(path))
