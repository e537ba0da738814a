"""How PID 1 of a guest lets a scheduler in BPF leave (guest/init/scx.c), with a kernel that is played.

The kernel's files and the sleep are replaced at the linker: so what the kernel says depends on how often PID
1 has slept, and no time passes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from tests import ckit
from tests.machines import PATIENCE_S

SOURCE = data_root() / "guest/init/scx.c"
KERNEL = r"""
#define _GNU_SOURCE
#include "init/scx.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int begun, leaves, gone_after, sleeps;

static const char *state(void) {
    if (!begun || !leaves)
        return "enabled";
    return sleeps < gone_after ? "disabling" : "disabled";
}

// The reason is in the program's log only once the scheduler has left.
static const char *said(const char *path) {
    if (strcmp(path, "/scx/log") == 0)
        return strcmp(state(), "disabled") == 0 ? "EXIT: it was thrown out\n" : "still there\n";
    if (strcmp(path, "/sys/kernel/sched_ext/state") == 0)
        return state();
    return strstr(path, "root/ops") ? "mine" : "1";
}

int __wrap_open(const char *path, int flags, ...) {
    (void)flags;
    int fd = memfd_create("file", 0);
    const char *text = said(path);
    if (write(fd, text, strlen(text)) < 0)
        abort();
    lseek(fd, 0, SEEK_SET);
    return fd;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *rest) {
    (void)rest;
    if (length->tv_sec != 0 || length->tv_nsec != 10000000)
        abort();
    sleeps++;
    return 0;
}

int main(int count, char **words) {
    leaves = count > 1;
    gone_after = leaves ? atoi(words[1]) : 0;
    scx_before();
    begun = 1;
    scx_after();
    dprintf(STDOUT_FILENO, "sleeps=%d\n", sleeps);
    return 0;
}
"""
WORDS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-static")
REPLACED = ("-Wl,--wrap=open,--wrap=nanosleep",)
FACTS = "ops=mine switch_all=1 enable_seq=1 nr_rejected=1"
REASON = "benchscx said: EXIT: it was thrown out"


def after(folder: Path, *words: str, source: str = "") -> list[str]:
    """What PID 1 prints after a workload; with a word, the scheduler leaves in it, so many sleeps later."""
    include = (*WORDS, "-I", str(data_root() / "guest"))
    texts = {"scx.c": source or SOURCE.read_text(), "kernel.c": KERNEL}
    program = ckit.linked(folder / "program", (*include, *REPLACED), texts, {})
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return done.stdout.splitlines()


def facts(at: str, state: str) -> str:
    return f"benchscx at={at} state={state} {FACTS}"


def test_a_scheduler_that_stays_is_not_waited_for_and_its_log_is_printed(tmp_path: Path) -> None:
    """What it does without stands there: a function of the kernel that it could not trace, for example."""
    ends = facts("begin", "enabled"), facts("end", "enabled")
    assert after(tmp_path) == ["benchscx said: still there", *ends, "sleeps=0"]


@pytest.mark.parametrize("late", [1, 3, 499])
def test_one_that_leaves_late_is_waited_for_and_its_reason_is_printed(tmp_path: Path, late: int) -> None:
    """The facts are those of the workload's end, when it was leaving."""
    ends = facts("begin", "enabled"), facts("end", "disabling")
    assert after(tmp_path, str(late)) == [REASON, *ends, f"sleeps={late}"]


def test_one_that_has_left_is_not_waited_for(tmp_path: Path) -> None:
    ends = facts("begin", "enabled"), facts("end", "disabled")
    assert after(tmp_path, "0") == [REASON, *ends, "sleeps=0"]


def test_one_that_never_leaves_is_given_up_after_5_s(tmp_path: Path) -> None:
    """500 sleeps of 10 ms; what its program printed by then is told."""
    ends = facts("begin", "enabled"), facts("end", "disabling")
    assert after(tmp_path, "1000000") == ["benchscx said: still there", *ends, "sleeps=500"]


def test_without_the_wait_the_reason_is_lost(tmp_path: Path) -> None:
    text = SOURCE.read_text()
    assert text.count("    let_it_leave();\n") == 1
    hasty = text.replace("    let_it_leave();\n", "    (void)let_it_leave;\n")
    assert after(tmp_path, "3", source=hasty)[0] == "benchscx said: still there"
