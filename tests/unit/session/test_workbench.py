"""The requests that the workbench builds, of a run, a smoke and one with a bound. Nothing is fetched."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import HostError, UsageError
from benchgate.base.exploration import Strategy, usual
from benchgate.base.runs import Image
from benchgate.base.system.boots import Smoke
from benchgate.base.system.qemu import Port, Qemu
from benchgate.host import accel
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run.argv import BootOptions
from benchgate.run.console import ConsoleLimits
from benchgate.run.watch import watch_for
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench, bounded, choose_ports
from tests.unit.plans import planned

NONCE = "0123456789abcdef"
QEMU = Qemu(Path("/q/qemu"), {}, (), (10, 0, 2), "d", "user", ())
CLOCK = Path("/c/insn.so")


@pytest.fixture
def cell() -> PlannedCell:
    planned_cell = planned(2)
    system = replace(planned_cell.system, smoke=Smoke("selftest=all", "done"))
    return replace(planned_cell, system=system, seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))


@pytest.fixture
def bench(cell: PlannedCell, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    made = Workbench(Options(), ThisHost(), lambda _: None)
    monkeypatch.setattr(made.images, "of", lambda *_: Image(Path("/i/kernel"), None, None, {"kernel": "aa"}))
    monkeypatch.setattr(
        accel, "probe", lambda _, kind: AccelProbe(kind, ProbeState.USABLE, 1000.0, 0.1, "max", "said")
    )
    made.emulators.qemus[cell.system.emulator] = QEMU
    made.emulators.emulate(cell.system, CLOCK)
    return made


def test_a_request_has_the_seed_the_log_and_the_record_of_its_run(
    bench: Workbench, cell: PlannedCell, tmp_path: Path
) -> None:
    boot = BootOptions(NONCE, seed=7, exploration=usual(Strategy.SYNC, 5))
    made = bench.request(cell, boot, tmp_path, attempt=3, order=4, warmup=True)
    assert (made.cell, made.nonce, made.seed, made.attempt, made.order) == (cell.cell, NONCE, 7, 3, 4)
    assert (made.warmup, made.placement, made.folder) == (True, Placement.VIRTUAL, tmp_path)
    plugin = made.spec.argv[made.spec.argv.index("-plugin") + 1]
    assert f"out={tmp_path / 'clock.log'},seed=7," in plugin
    assert f"explore={tmp_path / 'exploration.txt'}" in plugin
    assert made.watch == watch_for(cell.system)


def test_a_smoke_has_its_words_its_watch_and_no_workload(
    bench: Workbench, cell: PlannedCell, tmp_path: Path
) -> None:
    made = bench.smoke_request(cell, BootOptions(NONCE), tmp_path)
    assert (made.cell.workload, made.cell.params, made.warmup, made.script) == ("smoke", (), True, None)
    assert made.spec.argv[made.spec.argv.index("-append") + 1] == "selftest=all"
    assert made.spec.deadlines.run_s == made.spec.deadlines.boot_s
    bare = replace(cell, system=replace(cell.system, smoke=None))
    with pytest.raises(UsageError, match="`smoke` is missing, so there is nothing to boot"):
        bench.smoke_request(bare, BootOptions(NONCE), tmp_path)


def test_a_run_can_be_bounded_in_guest_time(bench: Workbench, cell: PlannedCell, tmp_path: Path) -> None:
    made = bench.request(cell, BootOptions(NONCE), tmp_path)
    less = bounded(made, 2_000_000_000, ConsoleLimits(halted_s=1.0))
    assert (less.spec.deadlines.boot_s, less.spec.deadlines.run_s, less.limits.halted_s) == (2.0, 2.0, 1.0)
    assert bounded(made, None, made.limits) == made


def test_free_ports_differ_and_can_be_bound() -> None:
    result = choose_ports({"a": Port(1), "b": Port(2)})
    assert len({*result.values()}) == 2
    for port in result.values():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_a_port_that_another_program_uses_is_refused_with_its_name() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(
            HostError, match=rf"host port {port} \(`ports.web`\) is used by .* \(process {os.getpid()}\)"
        ):
            choose_ports({"web": Port(80, port)})
    assert choose_ports({"web": Port(80, port)}) == {"web": port}
