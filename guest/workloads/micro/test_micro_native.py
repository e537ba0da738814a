"""Every operation of micro, compiled and run on this host: right answers, and work that is skipped."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.workload.workloads import Workload
from benchgate.plan import catalog
from tests.nativekit import execute, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")

OPS = catalog.load_workload("micro").params["op"].choices
COUNTS: dict[str, object] = {"iters": 70, "samples": 3}


def micro() -> Workload:
    return catalog.load_workload("micro")


def changed(tmp_path: Path, file: str, old: str, new: str) -> Workload:
    """The workload with one place of its C replaced."""
    folder = tmp_path / "micro"
    shutil.copytree(micro().file.parent, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    return replace(micro(), source=folder / "micro.c")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("workers", [1, 3])
def test_every_operation_verifies(tmp_path: Path, op: str, workers: int) -> None:
    verified = verified_by(run_of(tmp_path, micro(), workers, op=op, **COUNTS), micro())
    metrics = verified.metrics
    assert 0 < metrics["fastest"] <= metrics["cost"] <= metrics["slowest"]
    assert metrics["rate"] > 0


@pytest.mark.parametrize("op", ["open_close", "stat", "pipe"])
def test_workers_share_one_file_or_channel(tmp_path: Path, op: str) -> None:
    verified_by(run_of(tmp_path, micro(), 3, op=op, share="one", **COUNTS), micro())


@pytest.mark.parametrize("op", ["getpid", "futex_wake"])
def test_an_operation_without_anything_to_share_says_so(op: str) -> None:
    done = execute(micro(), words(micro(), 2, op=op, share="one"))
    assert done.stdout == b"benchfail: bench.share=one: the workers of this operation have nothing to share\n"


def test_no_file_is_left_behind(tmp_path: Path) -> None:
    before = set(Path("/dev/shm").glob("benchgate-*"))
    workload = changed(tmp_path, "micro.c", "if (good != self.warm)", "if (worker == 1)")
    for one in (micro(), workload):  # the second one fails
        execute(one, words(one, 2, op="stat", **COUNTS))
    assert set(Path("/dev/shm").glob("benchgate-*")) <= before


FAILED = "exit status 1 does not mean success; the guest printed"
CALLS, THREADS, MICRO = "calls.h", "threads.h", "micro.c"


@pytest.mark.parametrize(
    ("op", "file", "old", "new", "reason"),
    [
        ("getpid", CALLS, "me->proof = me->expected;", "me->proof = 7;", "processes of the workers"),
        (
            "read_null",
            CALLS,
            "good += port_read(me->file, &byte, 1) == 0;",
            "good += port_read(me->file, &byte, 1) == 0 && i < 68;",
            "ops=204",
        ),
        ("write_null", CALLS, "me->bytes += good;", "me->bytes += good - 1;", "bytes=207"),
        ("pipe", CALLS, "me->proof += got;", "me->proof += got + (i == 3);", "proof="),
        ("pipe", CALLS, "= out[CHUNK_WORDS - 1] = number;", "= number;", FAILED),
        ("fork_exit", THREADS, "cell->question * 3 + 1;", "0;", FAILED),
        ("fork_exit", THREADS, "me->proof += answer;", "me->proof += answer - (i == 1);", "proof="),
        (
            "open_close",
            CALLS,
            "int file = port_open(path);",
            "int file = i < 66 ? port_open(path) : -1;",
            "ops=198",
        ),
        ("mmap_fault", CALLS, "page[0] = ++me->expected;", "page[0] = me->expected += i != 1;", "proof="),
        # a region that comes back as it was: pages that are not cleared
        (
            "mmap_fault",
            CALLS,
            "char *at = port_private(n * PAGE_BYTES);",
            "static char *at;\n    if (at == NULL)\n        at = port_private(REGION_PAGES * PAGE_BYTES);\n"
            "#define port_unmap(at, bytes) 0",
            "ops=0",
        ),
        ("stat", CALLS, "me->proof += (uint64_t)size;", "me->proof += (uint64_t)size - (i == 1);", "proof="),
        ("futex_wake", THREADS, "me->expected += n;", "me->expected += n; me->done += n == 6;", "proof="),
        (
            "thread_create",
            THREADS,
            "join(start(run_once, me));",
            "if (i < 69) join(start(run_once, me));",
            "ops=",
        ),
        ("sched_yield", THREADS, "        port_yield();\n        made++;", "        made += i < 69;", "ops="),
        ("context_switch", THREADS, "        me->done++;", "        me->done += 2;", FAILED),
        ("signal_delivery", CALLS, "good += port_signal() == ++me->expected;", "good += i != 66;", "ops="),
        ("getpid", MICRO, "sample < common->samples", "sample + worker < common->samples", "ops=140"),
        ("getpid", MICRO, "port_now() - began;", "1000000 * (port_now() - began);", "timed|above"),
        ("getpid", MICRO, "worker, 0), time);", "worker, 0), time / 2);", "time="),
    ],
)
def test_skipped_work_is_refused(  # noqa: PLR0917
    tmp_path: Path, op: str, file: str, old: str, new: str, reason: str
) -> None:
    workload = changed(tmp_path, file, old, new)
    run = run_of(tmp_path, workload, 2, op=op, **COUNTS)
    with pytest.raises(VerifyError, match=reason):
        verified_by(run, workload)


YIELD = "yields < YIELDS_MAX; yields++)\n        port_yield();"
NO_YIELD = YIELD.replace("port_yield()", "(void)0")


@pytest.mark.parametrize("honest", [True, False])
def test_a_yield_that_lets_nobody_run_is_refused(tmp_path: Path, honest: bool) -> None:
    """All threads are on one CPU, where the other one runs only if this one yields or loses the CPU. It may
    lose it by chance while it asks, so there are six workers. On several CPUs no yield is needed."""
    workload = micro() if honest else changed(tmp_path, THREADS, YIELD, NO_YIELD)
    pins = ",".join([str(min(os.sched_getaffinity(0)))] * 6)
    done = execute(workload, words(workload, 6, op="sched_yield", pin=pins, **COUNTS))
    assert (done.returncode == 0) is honest
    assert (b"benchfail: another thread did not run, though the worker yielded" in done.stdout) is not honest
