"""A machine with a memory system under the Linux guest: its runs repeat. Its books are in
test_memory_truth.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.base.system.machines import memory_ranges
from benchgate.insn.arguments import Records
from benchgate.insn.log import AccessOrder
from benchgate.insn.machine_shape import shape
from benchgate.insn.plugin import build
from benchgate.plan import catalog
from tests.machines import PATIENCE_S
from tools.clock_lab import PRIMES, Barriers, Boot, burning
from tools.clock_lab import light_lab as lab

CPUS = 2
SMALL = PRIMES.format(hi=30_000)
MEMORY = 512 << 20


def shape_file(folder: Path, cpus: int = CPUS) -> Path:
    machine = catalog.memory_machine("desktop8")
    assert machine is not None
    path = folder / "machine.shape"
    path.write_text(shape(machine, cpus, memory_ranges(machine, 0, MEMORY)), encoding="ascii")
    return path


def boot(path: Path) -> Boot:
    done = lab(shape=path).boot("primes", CPUS, SMALL, seed=1)
    assert done.good, done.errors
    return done


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Boot]:
    path = shape_file(tmp_path_factory.mktemp("shape"))
    return path, boot(path)


@pytest.mark.long
def test_a_run_repeats_under_load(one: tuple[Path, Boot]) -> None:
    """test_moved_lines.py does it with tern."""
    path, first = one
    with burning(2):
        again = boot(path)
    assert first.log is not None
    assert again.log is not None
    assert (again.console, again.log.repeatable) == (first.console, first.log.repeatable)
    assert again.log.memory == first.log.memory
    assert again.log.orders == first.log.orders


@pytest.mark.long
def test_the_filter_of_translations_changes_no_count(
    one: tuple[Path, Boot], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, first = one
    kept = Records.options
    monkeypatch.setattr(Records, "options", lambda records: {**kept(records), "filter": 0})
    again = boot(path)
    assert first.log is not None
    assert again.log is not None
    assert again.log.memory == first.log.memory
    assert again.log.orders == first.log.orders
    assert again.window(CPUS) == first.window(CPUS)


@pytest.mark.long
@pytest.mark.parametrize("times", [1, 4], ids=["even", "uneven"])
def test_watched_order_shows_waits_that_the_code_does_not(times: int) -> None:
    """The machine is the ideal one. Each phase has some instructions of its own."""
    case = Barriers(cpus=16, phases=200, times=times)
    unwatched, watched = (case.took(case.boot(order)) for order in (AccessOrder.UNSAID, AccessOrder.WATCH))
    assert abs(unwatched / case.arithmetic - 1) > 0.1, "the watch is not needed here"
    assert 1 < watched / case.arithmetic < 1.015


@pytest.mark.soak
@pytest.mark.parametrize("times", [1, 4], ids=["even", "uneven"])
def test_strict_order_leaves_no_access_late(times: int) -> None:
    case = Barriers(cpus=16, phases=60, times=times)
    done = case.boot(AccessOrder.STRICT)
    assert done.log
    assert done.log.orders["window"].count == 0
    assert 1 < case.took(done) / case.arithmetic < 1.015


def test_a_qemu_without_inline_counters_is_refused_by_name(tmp_path: Path) -> None:
    setup = lab()
    argv, environment = setup.line(1, tmp_path / "clock.log", 0)
    plugin = build(2)
    at = argv.index("-plugin") + 1
    argv[at] = f"{plugin},out={tmp_path / 'clock.log'},machine={shape_file(tmp_path)}"
    environment["LD_PRELOAD"] = str(plugin)
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode != 0
    assert "needs QEMU 9.1 or newer" in done.stderr
