"""The C of files, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.plan import catalog
from tests.nativekit import Lie, execute, refusals, right_answers, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")


test_every_worker_gives_the_correct_answer = right_answers("files", {}, {"count": 2, "block_kb": 64})

LIES = [
    # a byte that is flipped, a block that is not written, one of the round before, a file that is left out
    Lie(
        "files",
        "block[i] = word;",
        "block[i] = word ^ (uint64_t)(i == 7 && b == 2) << 40;",
        "worker 0 reported digest=",
    ),
    Lie("files", "port_write(file, block", "port_write(file, &plan->count", "worker 0 reported digest="),
    Lie("files", "bench_mix((round * plan", "bench_mix((0 * round * plan", "worker 0 reported digest="),
    Lie("files", "slot->value[VALUE_SYNCS]++;", "(void)0;", "worker 0 reported syncs=0"),
    Lie("files", "number < job->task[worker][TASK_HI]; number++) {", "number < 1; number++) {", "worker 0"),
]

test_a_lie_is_found = refusals(LIES)


# ---- places: words of the manifest that whoever starts the program may add


def test_files_are_made_in_the_folder_that_the_manifest_names(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    workload = catalog.load_workload("files")
    absent = execute(workload, words(workload, 2, disk=disk))
    assert (absent.returncode, absent.stdout) == (1, b"benchfail: a file cannot be made\n")
    disk.mkdir()
    verified_by(run_of(tmp_path, workload, 2, disk=disk), workload)
    assert list(disk.iterdir()) == []


def test_a_folder_with_a_name_that_is_too_long_ends_the_run_with_a_sentence() -> None:
    workload = catalog.load_workload("files")
    done = execute(workload, words(workload, 1, disk="/" + "x" * 300))
    assert (done.returncode, done.stdout) == (1, b"benchfail: a file cannot be made\n")
