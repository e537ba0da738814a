"""The lines of the clock's log about a machine's memory: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import Disorder
from benchgate.insn.log_reader import read_log
from benchgate.insn.memory_log import PhaseTime
from tests.unit.insn.test_log_reader import COMPLETE
from tests.unit.memory_logs import LOG


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def test_books_are_read(path: Path) -> None:
    path.write_text(LOG, encoding="ascii")
    log = read_log(path)
    assert (log.machine, log.totals[1].stalled) == ("toy2", 8000)
    assert log.memory is not None
    window = log.memory.phases["window"]
    assert window[0].spent == PhaseTime(executed=6000, paused=100, skipped=0, halted=2000, stalled=1900)
    assert window[0].spent.whole == 10_000
    assert (window[1].counts["transfer_cluster"], window[1].counts["invalidations"]) == (40, 38)
    assert (window[1].stalls["remote"], window[1].stalls["queue"]) == (440, 500)
    assert log.memory.phases["boot"][1].counts["local"] == 40
    assert log.orders == {"boot": Disorder(0, 0, 0, 0), "window": Disorder(3, 120, 170, 0x1F40, 1)}


def test_the_ideal_machine_has_none_but_may_watch_the_order(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    assert (read_log(path).machine, read_log(path).memory, read_log(path).orders) == ("", None, {})
    path.write_text(COMPLETE.replace("end 9400", "order window 1 70 fc0 70 0\nend 9400"), encoding="ascii")
    assert read_log(path).orders == {"window": Disorder(1, 70, 70, 0xFC0)}


def test_a_log_of_a_killed_qemu_names_its_machine_and_has_no_books(path: Path) -> None:
    path.write_text(LOG[: LOG.index("memory window 1")], encoding="ascii")
    assert (read_log(path).machine, read_log(path).memory) == ("toy2", None)


def test_they_repeat_with_the_run(path: Path) -> None:
    path.write_text(LOG, encoding="ascii")
    first = read_log(path)
    for old, new in (("l1 880 l2 8", "l1 881 l2 7"), ("order window 3", "order window 2")):
        path.write_text(LOG.replace(old, new), encoding="ascii")
        assert read_log(path).repeatable != first.repeatable


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("machine toy2", "machine toy2\nmachine toy2", "once"),
        ("machine toy2", "machine ../toy", "expected `machine NAME`"),
        ("machine toy2\n", "", "expected `vcpu N time T"),
        (" stalled 4000\nvcpu 1", "\nvcpu 1", "expected `vcpu N time T"),
        ("spent window 1", "spent window 2", "there is no vCPU 2"),
        ("spent window 1", "spent window 0", "the second `spent` of vCPU 0 in phase window"),
        ("spent window 1", "spent lunch 1", "expected `spent PHASE CPU`"),
        ("reads 500", "reads 0500", "is not a number"),
        ("reads 500", "seen 500", "each of reads writes"),
        ("reads 500", "writes 500", "each of reads writes"),
        ("upgrade 3 busy 0", "upgrade 3", "each of reads writes"),
        ("l2 80", "l2 80 l9 4", "each of l1 l2"),
        ("stall window 0", "stall window zero", "there is no vCPU zero"),
        ("order window 3 120 1f40 170", "order window 3 120 1F40 170", "not an address"),
        ("order window 3 120 1f40 170", "order window 3 120 1f40 361", "cannot be 361 ns"),
        ("order window 3 120 1f40 170", "order window 3 120 1f40 119", "cannot be 119 ns"),
        ("order window 3 120 1f40 170 1", "order window 3 120 1f40 170 4", "cannot have crossed"),
        ("order boot", "order window", "once a phase"),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in LOG
    path.write_text(LOG.replace(old, new, 1), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_log(path)


def test_a_closed_log_of_a_machine_lacks_nothing(path: Path) -> None:
    lines = [line for line in LOG.splitlines() if not line.startswith("stall window 1")]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    with pytest.raises(VerifyError, match="there is no `stall window 1`"):
        read_log(path)
