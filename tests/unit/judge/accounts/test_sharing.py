"""False sharing is told from true sharing by the bytes that CPUs access against each other."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.sharing import LineCpu, MovedLine, Touch, VariableBytes
from benchgate.judge.accounts.sharing import KEPT, SharingKind, recorded, shared
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified
from tests.unit.insn.test_sharing import FILE

COUNTERS = (VariableBytes(0, 64, 0, "counters"),)


def cpu(number: int, *touches: Touch, more: tuple[int, int] = (0, 0)) -> LineCpu:
    return LineCpu(number, (0, 500, 0), 500, touches, *more)


def line(*cpus: LineCpu, names: tuple[VariableBytes, ...] = COUNTERS, moves: int = 1000) -> MovedLine:
    return MovedLine(0x1000, 0, 0x404000, moves, cpus, names)


def both(offset: int, times: int = 5000, size: int = 8) -> Touch:
    return Touch(offset, size, times, times)


def test_two_counters_in_one_line_are_false_sharing_by_name() -> None:
    shared_line = shared(line(cpu(0, both(0)), cpu(1, both(8))), 64)
    assert shared_line.kind is SharingKind.FALSE
    assert shared_line.is_false
    assert shared_line.said == (
        "CPU 0 writes bytes 0-7, CPU 1 writes bytes 8-15 of one line of `counters`: false sharing"
    )


def test_one_counter_is_true_sharing() -> None:
    shared_line = shared(line(cpu(0, both(0)), cpu(1, both(0))), 64)
    assert (shared_line.kind, shared_line.is_false) == (SharingKind.TRUE, False)
    assert shared_line.said == "CPUs 0-1 write bytes 0-7 of one line of `counters`: true sharing"


def test_a_reader_of_a_neighbour_shares_falsely_and_readers_alone_share_nothing() -> None:
    reads = Touch(8, 4, 9000, 0)
    shared_line = shared(line(cpu(0, both(0)), cpu(1, reads)), 64)
    assert shared_line.said.startswith("CPU 0 writes bytes 0-7, CPU 1 reads bytes 8-11 of one line")
    assert shared_line.kind is SharingKind.FALSE
    assert shared(line(cpu(0, reads), cpu(1, reads)), 64).kind is SharingKind.HANDED


def test_halves_of_a_word_are_told_apart() -> None:
    assert shared(line(cpu(0, both(0, size=4)), cpu(1, both(4, size=4))), 64).kind is SharingKind.FALSE
    assert shared(line(cpu(0, both(0, size=5)), cpu(1, both(4, size=4))), 64).kind is SharingKind.TRUE


def test_whoever_reads_all_counters_once_at_the_end_changes_nothing() -> None:
    main = cpu(0, both(0), Touch(8, 8, 9, 0), Touch(16, 8, 9, 1))
    other = cpu(2, Touch(0, 8, 1, 0), Touch(8, 8, 1, 0))
    shared_line = shared(line(main, cpu(1, both(8)), other), 64)
    assert shared_line.kind is SharingKind.FALSE
    assert "CPU 2" not in shared_line.said
    # Ten of a thousand moves are enough to matter.
    assert shared(line(cpu(0, both(0), Touch(8, 8, 10, 0)), cpu(1, both(8))), 64).kind is SharingKind.TRUE


def test_a_lock_beside_counters_is_both() -> None:
    lock = both(32, size=4)
    shared_line = shared(line(cpu(0, both(0), lock), cpu(1, lock), cpu(2, both(8))), 64)
    assert (shared_line.kind, shared_line.is_false) == (SharingKind.BOTH, True)
    assert shared_line.said.startswith(
        "CPU 0 writes bytes 0-7 and 32-35, CPU 1 writes bytes 32-35, CPU 2 writes "
    )


def test_accesses_of_unknown_bytes_are_never_called_false() -> None:
    assert shared(line(cpu(0, both(0), more=(0, 10)), cpu(1, both(8))), 64).kind is SharingKind.TRUE
    assert shared(line(cpu(0, both(0), more=(9, 9)), cpu(1, both(8))), 64).kind is SharingKind.FALSE


def test_variables_of_a_line_are_named() -> None:
    names = (VariableBytes(0, 8, 0, "done"), VariableBytes(8, 4, 64, "queue"))
    shared_line = shared(line(cpu(0, both(0)), cpu(1, both(8, size=4)), names=names), 64)
    assert shared_line.name == "done, queue+0x40"
    assert shared_line.said.startswith("CPU 0 writes bytes 0-7 (done), CPU 1 writes bytes 8-11 (queue) ")
    assert "`done, queue+0x40`" in shared_line.said
    assert shared(line(cpu(0, both(0)), names=()), 64).name == "0x404000 (user)"
    nobody = shared(replace(line(names=()), kernel=0xFFFF888000001000), 64).said
    assert re.search(r"^no CPU .* 0xffff888000001000 \(kernel\): handed over$", nobody)


def test_many_cpus_make_no_long_sentence() -> None:
    shared_line = shared(line(*(cpu(n, both(8 * n)) for n in range(8))), 64)
    assert shared_line.said.endswith("24-31 (and 4 more CPUs) of one line of `counters`: false sharing")


def test_recordings_of_verified_runs_are_found(tmp_path: Path) -> None:
    folders = [tmp_path / "runs" / f"000{n}-primes-linux-smp2" for n in (1, 2, 3)]
    for folder in folders:
        folder.mkdir(parents=True)
    for folder in (folders[0], folders[2]):
        (folder / KEPT).write_text(FILE, encoding="ascii")
    runs = [raw_run(cell(2), attempt=n, folder=folder) for n, folder in enumerate(folders, 1)]
    judged = [JudgedRun(runs[0], verified(runs[0], 5)), JudgedRun(runs[1], verified(runs[1], 5))]
    (recording,) = recorded([*judged, JudgedRun(runs[2], None, "wrong")])
    assert (recording.cell, recording.run, recording.folder) == (
        *("primes-linux-smp2", 1),
        "runs/0001-primes-linux-smp2",
    )
    (folders[1] / KEPT).write_text("no", encoding="ascii")
    with pytest.raises(VerifyError, match="known version"):
        recorded(judged)


def test_cpus_that_do_the_same_are_named_together() -> None:
    reads = (Touch(8, 4, 9000, 0), Touch(20, 1, 9000, 0), Touch(30, 1, 9000, 0))
    shared_line = shared(line(cpu(0, both(0)), *(cpu(n, *reads) for n in (1, 2, 4, 7))), 64)
    assert shared_line.said.startswith(
        "CPU 0 writes bytes 0-7, CPUs 1-2, 4 and 7 read bytes 8-11, 20 and 30 "
    )
