"""The applications of the shipped mixes, each alone; primes, checksum and schbench have rows elsewhere.

The workers of all but `jobs` need nothing of each other, so 1.9 is the limit. In `jobs` a CPU has nothing to
do while every job that is left waits for one that runs: 1.8. On wall time the limits only tell a row that
scales.
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
