"""The host side of QEMU: a guest with a written disk ends when it is told to. The clock ends a QEMU that
waits for something that none of its threads will do, and says so."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from random import Random
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest

from benchgate.build.toolchain import compiler
from benchgate.insn.log import CARRIERS, ClockLog
from benchgate.insn.log_reader import read_log
from tests.kernelkit import stress
from tests.machines import PATIENCE_S, wait_until
from tools.clock_lab import BOOT_S
from tools.clock_lab import light_lab as lab

REFUSED = 98
BEFORE = bytes(range(256)) * 8192

IMPATIENT = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
// A thread without a job leaves after a millisecond, and not after QEMU's ten seconds.
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
  int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
      dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  for (int id = CLOCK_REALTIME; id <= CLOCK_MONOTONIC && gettid() != getpid(); id++) {
    struct timespec now;
    clock_gettime(id, &now);
    if (until->tv_sec - now.tv_sec < 5 || until->tv_sec - now.tv_sec > 10) continue;
    now.tv_nsec += 1000000;
    if (now.tv_nsec >= 1000000000) now.tv_nsec -= 1000000000, now.tv_sec++;
    return real(c, m, &now);
  }
  return real(c, m, until);
}
"""
LOST_FLUSH = """\
#include <unistd.h>
int fdatasync(int fd) { (void)fd; for (;;) pause(); }
"""
LOST_MAIN_LOOP = """\
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int ppoll(struct pollfd *f, nfds_t n, const struct timespec *t, const sigset_t *s) {
  static int looks;
  if (gettid() == getpid() && t && !t->tv_sec && !t->tv_nsec && ++looks == 8) for (;;) pause();
  struct timespec c; if (t) c = *t; return syscall(SYS_ppoll, f, n, t ? &c : 0, s, 8); }
"""

LOST_PAUSE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
// After SIGTERM the main thread waits for a condition only until the CPUs have stopped.
static volatile int told;
static void (*was)(int, siginfo_t *, void *);
static void hear(int s, siginfo_t *i, void *c) { told = 1; was(s, i, c); }
int sigaction(int s, const struct sigaction *now, struct sigaction *old) {
  int (*real)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
  struct sigaction ours;
  if (s != SIGTERM || !now) return real(s, now, old);
  ours = *now; was = now->sa_sigaction; ours.sa_sigaction = hear;
  return real(s, &ours, old);
}
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  int (*real)(pthread_cond_t *, pthread_mutex_t *) = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
  if (gettid() != getpid() || !told) return real(c, m);
  pthread_mutex_unlock(m);
  for (;;) pause();
}
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stress(tmp_path_factory.mktemp("stress"))


def library(folder: Path, source: str) -> Path:
    """What the clock finds in place of libc. The clock asks for the conditions by their version."""
    made, versions, text = folder / "behind.so", folder / "versions", folder / "behind.c"
    text.write_text(source, encoding="ascii")
    versions.write_text("GLIBC_2.3.2 { pthread_cond_*; };", encoding="ascii")
    words = ("-shared", "-fPIC", str(text), "-o", str(made), f"-Wl,--version-script={versions}", "-ldl")
    subprocess.run([*compiler().argv, *words], check=True, timeout=PATIENCE_S)
    return made


def written(guest: Path, folder: Path, **options: Any) -> tuple[list[str], dict[str, str]]:
    """The command line and environment of a guest that writes to its disk for ever."""
    image = folder / "image"
    image.write_bytes(BEFORE)
    argv, environment = lab(marked=False, **options).line(2, folder / "clock.log", seed=7)
    argv += ["-drive", f"if=none,id=disk0,format=raw,file={image}", "-device", "piix3-ide,id=ide"]
    argv += ["-device", "ide-hd,drive=disk0,bus=ide.0", "-kernel", str(guest)]
    return [*argv, "-append", "case=disk cpus=2 steps=1"], environment


def ended(
    guest: Path, folder: Path, behind: str, *, disks: bool = True, patience_s: int = 60
) -> tuple[int, str, ClockLog]:
    """QEMU with a disk, to whose guest SIGTERM comes when it has written; its status and last words, and the
    clock's log. `behind`: the source of a library. `disks`: whether benchgate knows of the drive."""
    log, image = folder / "clock.log", folder / "image"
    argv, environment = written(guest, folder, disks=disks, patience_s=patience_s)
    environment["LD_PRELOAD"] += f":{library(folder, behind)}"
    with subprocess.Popen(argv, env=environment, stdout=DEVNULL, stderr=PIPE, text=True) as process:
        try:
            wait_until(lambda: image.read_bytes() != BEFORE or process.poll() is not None)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=BOOT_S)
        finally:
            process.kill()
    return process.returncode, said, read_log(log)


@pytest.mark.parametrize("disks", [True, False])
def test_a_guest_with_a_written_disk_ends_on_a_signal(guest: Path, tmp_path: Path, disks: bool) -> None:
    """QEMU's thread for disks leaves when it has been without a job for a while, and the main loop, which
    would make another one, waits for the job of the flush."""
    status, words, log = ended(guest, tmp_path, IMPATIENT, disks=disks)
    assert (status, log.problem) == (0, ""), words
    assert log.closed
    assert "terminating on signal 15" in words


USUAL = ("env", "--default-signal=INT,TERM")
"""What a shell runs in the background ignores SIGINT. So would QEMU, until it handles it."""


@pytest.mark.parametrize("times", [3, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", CARRIERS)
def test_a_signal_ends_a_guest_with_a_disk_at_any_moment(
    guest: Path, tmp_path: Path, way: str, times: int
) -> None:
    """Also while QEMU starts, and nobody handles the signal yet."""
    chance = Random(5)
    for _ in range(times):
        number = chance.choice((signal.SIGTERM, signal.SIGINT))
        argv, environment = written(guest, tmp_path, carrier=way)
        with subprocess.Popen([*USUAL, *argv], env=environment, stderr=DEVNULL) as process:
            try:
                time.sleep(chance.uniform(0, chance.choice((0.3, 1.5))))
                process.send_signal(number)
                status = process.wait(BOOT_S)
            finally:
                process.kill()
        assert status in (0, -number)
        assert status or read_log(tmp_path / "clock.log").closed


def test_a_job_that_nobody_does_ends_qemu(guest: Path, tmp_path: Path) -> None:
    status, words, log = ended(guest, tmp_path, LOST_FLUSH, patience_s=3)
    assert status == REFUSED, words
    assert "the host side of QEMU is stuck, not the guest" in words
    assert "a job of its block layer" in log.problem


def test_a_main_loop_that_does_not_come_back_ends_qemu(guest: Path, tmp_path: Path) -> None:
    status, words, log = ended(guest, tmp_path, LOST_MAIN_LOOP, patience_s=3)
    assert status == REFUSED, words
    assert "its main loop" in log.problem


def test_a_main_thread_that_waits_for_ever_for_another_one_ends_qemu(guest: Path, tmp_path: Path) -> None:
    status, words, log = ended(guest, tmp_path, LOST_PAUSE, patience_s=3)
    assert status == REFUSED, words
    assert "its main thread, which waits for another one" in log.problem
