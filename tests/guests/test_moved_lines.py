"""The moved lines of real guests on a machine with memory: they are the transfers of the books, and false
sharing has its name.

A worker of `counters` increments a counter of its own, in one line with the others (`packed`) or in a line of
its own (`padded`), so who must write which bytes how often is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.insn.log_reader import read_log
from benchgate.insn.memory_log import WINDOW
from benchgate.insn.sharing import MovedLine, Sharing, read_sharing
from benchgate.judge.accounts.sharing import SharingKind, shared
from benchgate.judge.checks.balance import check_balance
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from benchgate.session import keepers
from tests.ternkit import Bootkit, console
from tools.clock_lab import burning

STEPS, CPUS = 2000, 4
WAYS = ("transfer_cluster", "transfer_across", "transfer_socket")


@dataclass
class Recorded:
    run: JudgedRun
    raw: Sharing
    """What the plugin wrote, with all lines."""
    named: Sharing

    def counters(self) -> list[MovedLine]:
        return [line for line in self.named.lines if any(name.name == "counters" for name in line.names)]


def on_desktop(word: str) -> System:
    machine = catalog.load_machine("desktop8")
    assert machine is not None
    return catalog.load_system(word).on(machine)


def record(folder: Path, system: System, layout: str) -> Recorded:
    kit = Bootkit(folder, inputs.qemu(), insn=True)
    run = kit.run(system, "counters", CPUS, {"steps": STEPS, "layout": layout}, lines=True)
    assert run.verified is not None, run.reason
    file = run.run.folder / keepers.SHARING
    return Recorded(run, read_sharing(file), keepers.name_lines(file, kit.files(system, "counters")))


@pytest.fixture(scope="module", params=["kernel", pytest.param("linux", marks=pytest.mark.long)])
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("packed"), on_desktop(request.param), "packed")


def test_packed_counters_are_false_sharing_by_name(packed: Recorded) -> None:
    (line,) = packed.counters()
    assert line == packed.named.lines[0]
    shared_line = shared(line, packed.named.line)
    assert shared_line.kind is SharingKind.FALSE
    assert "of one line of `counters`: false sharing" in shared_line.said
    assert line.moves > STEPS / 2
    # From the line's first move on, each worker's increments, each a read and a write of eight bytes.
    own = {line_cpu.cpu: max(line_cpu.touches, key=lambda touch: touch.writes) for line_cpu in line.cpus}
    assert sorted(touch.offset for touch in own.values()) == [0, 8, 16, 24]
    for touch in own.values():
        assert touch.size == 8
        assert STEPS / CPUS * 0.9 <= touch.writes <= STEPS / CPUS


def test_the_recorded_moves_are_the_transfers_of_the_books(packed: Recorded) -> None:
    assert packed.run.run.clock_log is not None
    log = read_log(packed.run.run.clock_log)
    check_balance(log)
    assert log.memory is not None
    window = log.memory.phases[WINDOW]
    assert packed.raw.dropped == 0
    assert packed.raw.known == len(packed.raw.lines)
    for way, name in enumerate(WAYS):
        recorded = sum(cpu.taken[way] for line in packed.raw.lines for cpu in line.cpus)
        assert recorded == sum(cpu.counts[name] for cpu in window)
    for cpu, books in enumerate(window):
        taken = sum(
            sum(line_cpu.taken) for line in packed.raw.lines for line_cpu in line.cpus if line_cpu.cpu == cpu
        )
        assert taken == sum(books.counts[name] for name in WAYS)


def test_padded_counters_do_not_move(tmp_path: Path) -> None:
    seen = record(tmp_path, on_desktop("kernel"), "padded")
    for line in seen.counters():
        assert line.moves < STEPS / 100


def test_recording_and_a_busy_host_change_nothing_that_the_guest_sees(tmp_path: Path) -> None:
    """One pair of boots for both: if one influenced the guest, they would differ."""
    system, given = on_desktop("kernel"), {"steps": STEPS, "layout": "packed"}
    kit = Bootkit(tmp_path, inputs.qemu(), insn=True, nonce="5ea1ed5ea1ed5ea1")
    quiet = kit.run(system, "counters", 2, given)
    with burning(2):
        busy = kit.run(system, "counters", 2, given, lines=True)
    assert console(quiet.run) == console(busy.run)
    first, again = (read_log(run.run.clock_log) for run in (quiet, busy) if run.run.clock_log is not None)
    assert first.repeatable == again.repeatable
    assert first.memory is not None
    assert first.memory == again.memory
    assert first.orders == again.orders
