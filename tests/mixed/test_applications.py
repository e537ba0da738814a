"""The applications of the shipped mixes, each alone; primes, checksum and schbench have rows elsewhere.

Measured on the instruction clock on 2026-11-23 (seed 1, QEMU 10.0.2, tern `balanced`, 2-core VM): the work
window at smp1 in millions of instructions, and the factor over it at 2 CPUs:

    row           linux           tern
               smp1      2     smp1      2
    walker     24.0   2.00     24.0   2.00
    streamer   40.4   2.00     40.4   2.00
    files     155.1   1.99        -      -
    sockets    75.7   1.99        -      -
    jobs      392.2   1.92    327.2   1.92

The workers of all but `jobs` need nothing of each other, so 1.9 is the limit of the other suites. In
`jobs` a CPU has nothing to do while every job that is left waits for one that runs, and at the end; 1.8
leaves room for another release of Linux. On wall time the two workers of `walker` and `streamer` share
caches and memory, and those of `files` the locks of one tmpfs: there the limits only tell a row that
scales from one that does not.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.mixed

WALKER = pytest.mark.workload("walker")
STREAMER = pytest.mark.workload("streamer")
FILES = pytest.mark.workload("files")
SOCKETS = pytest.mark.workload("sockets")
JOBS = pytest.mark.workload("jobs")


@WALKER
def test_every_step_is_taken(cell: CellResult) -> None:
    cell.require_verified()


@WALKER
@pytest.mark.speedup(cpus=2, at_least=1.5, insn=1.9)
def test_walks_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@STREAMER
def test_every_word_is_moved(cell: CellResult) -> None:
    cell.require_verified()


@STREAMER
@pytest.mark.speedup(cpus=2, at_least=1.1, insn=1.9)
def test_streams_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@FILES
def test_every_block_is_read_back(cell: CellResult) -> None:
    cell.require_verified()


@FILES
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.9)
def test_files_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@SOCKETS
def test_every_request_is_answered(cell: CellResult) -> None:
    cell.require_verified()


@SOCKETS
@pytest.mark.speedup(cpus=2, at_least=1.3, insn=1.9, metric="rps")
def test_connections_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@JOBS
def test_every_job_is_done(cell: CellResult) -> None:
    cell.require_verified()


@JOBS
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.8)
def test_a_build_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()
