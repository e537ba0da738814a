"""Small workloads in C: a few lines in a test become a program that runs on this host.

Takes prepare() and work() as C text; gives what the program printed, or what the parser read from it. Fails
with BuildError if the text does not compile.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.runs import WorkerReport
from benchgate.base.workload.workloads import Workload
from benchgate.build import programs
from benchgate.judge import wire
from tests.machines import PATIENCE_S

NONCE = "0123456789abcdef"
BOTH_MODES = pytest.mark.parametrize("mode", [Mode.PROCESS, Mode.THREAD])
NO_PREPARATION = """
static const char *prepare(struct bench_job *job) {
    (void)job;
    return NULL;
}
"""
SHARED = """
static const char *prepare(struct bench_job *job) {
    job->data = port_shared(1 << 20);
    return job->data == NULL ? "no memory" : NULL;
}
"""
"""Zeroed memory for all workers at job->data."""
WORK = """
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker, (void)slot;
"""
"""The lines of work() and a closing brace follow."""
IDLE = NO_PREPARATION + WORK + "}"
_REST = """
static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job;
    fields[0] = (struct bench_field){"done", 1, 0};
    return 1;
}

static const char *const params[] = {PARAMS};
static const char *const none[] = {NULL};
static const char *const values[] = {"a", "b", "c", "d", NULL};
static const char *const hists[] = {HISTS};
const struct bench_workload bench_workload = {
    .name = "small",
    .mode = MODE,
    .param_names = params,
    .task_names = none,
    .value_names = values,
    .hist_names = sizeof hists == sizeof *hists ? NULL : hists,
    .prepare = prepare,
    .work = work,
    .result = result,
    MORE
};
"""


@dataclass(frozen=True)
class Small:
    """A workload: `code` defines prepare() and work(), which leaves four values, a to d."""

    folder: Path
    code: str
    mode: Mode = Mode.PROCESS
    hists: tuple[str, ...] = ()
    params: Mapping[str, object] = field(default_factory=dict)
    more: str = ""
    """More fields of the bench_workload."""

    def console(self, count: int = 2, **words: object) -> bytes:
        """What it prints with this many workers. The words replace those of the manifest."""
        source = self.folder / "small.c"
        source.write_text(
            f"""#include "services.h"
#define MODE BENCH_{self.mode.upper()}
#define PARAMS {_strings(self.params)}
#define HISTS {_strings(self.hists)}
#define MORE {self.more}
{self.code}{_REST}"""
        )
        workload = Workload("small", self.mode, source, source, source, {})
        manifest = {"workload": "small", "mode": self.mode, "nonce": NONCE, "workers": count, "cpus": count}
        manifest |= {**self.params, **words}
        argv = [str(programs.guest_program(workload)), *(f"bench.{k}={v}" for k, v in manifest.items())]
        return subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=False).stdout

    def reports(self, count: int = 2, **words: object) -> tuple[WorkerReport, ...]:
        return wire.parse(self.console(count, **words), nonce=NONCE).reports

    def values(self, count: int = 2) -> list[tuple[int, int, int, int]]:
        """a, b, c and d of each worker."""
        result = [report.values for report in self.reports(count)]
        return [(one["a"], one["b"], one["c"], one["d"]) for one in result]


def _strings(names: Mapping[str, object] | tuple[str, ...]) -> str:
    """The entries of an array in C, with its end."""
    return "".join(f'"{name}", ' for name in names) + "NULL"
