"""The instruction clock refuses a QEMU that it cannot time, and never hangs. Tiny guests, real QEMU."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.arch import X86_64
from benchgate.base.system.qemu import Qemu
from benchgate.build.fetch import inputs
from benchgate.build.toolchain import compiler
from benchgate.insn.arguments import ClockRun, arguments
from benchgate.insn.guests import clock_guest
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import prepare
from benchgate.insn.support import check_trial, probe_guest, support, trial
from benchgate.insn.window import window
from tests.machines import PATIENCE_S
from tests.ternkit import LIGHT

STUCK, REFUSED = 97, 98
PROBE = clock_guest(X86_64).probe


@pytest.fixture(scope="module")
def qemu() -> Qemu:
    return inputs.qemu()


def run(
    qemu: Qemu, kernel: Path, log: Path, *, cpus: int = 1, patience_s: int = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    launch = arguments(prepare(qemu), ClockRun(log, cpus=cpus, machine=LIGHT, patience_s=patience_s))
    argv = [str(qemu.binary)]
    for data in qemu.data:
        argv += ["-L", str(data)]
    argv += ["-M", LIGHT, "-m", "32M", "-cpu", "max", "-smp", str(cpus), "-accel", "tcg,thread=multi"]
    argv += ["-nodefaults", "-display", "none", "-nic", "none", "-no-reboot", "-serial", "stdio"]
    argv += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel", str(kernel), *launch.argv_extra]
    whole = {**os.environ, **qemu.environment, **launch.environment, **environment}
    return subprocess.run(
        argv,
        env=whole,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def helper(folder: Path, name: str, source: str) -> Path:
    """A library that is preloaded before the clock and takes one of its hooks away."""
    library = folder / f"{name}.so"
    (folder / f"{name}.c").write_text(source, encoding="ascii")
    argv = [*compiler().argv, "-shared", "-fPIC", str(folder / f"{name}.c"), "-o", str(library), "-ldl"]
    subprocess.run(argv, check=True, timeout=PATIENCE_S)
    return library


def test_the_pinned_qemu_supports_the_clock(qemu: Qemu) -> None:
    result = support(qemu)
    assert result.works, result.reason
    assert "sleep=" in result.reason


WITHOUT_MAX = """#!/bin/sh
for word do
    [ "$word" = max ] && word=none
    shift
    set -- "$@" "$word"
done
exec {qemu} "$@"
"""


def test_a_qemu_without_the_cpu_model_is_refused_with_what_helps(qemu: Qemu, tmp_path: Path) -> None:
    """QEMU 7.2 for RISC-V is such a QEMU."""
    older = tmp_path / "qemu"
    older.write_text(WITHOUT_MAX.format(qemu=qemu.binary))
    older.chmod(0o755)
    result = support(replace(qemu, binary=older))
    assert not result.works
    assert "unable to find CPU model 'none'; use QEMU 8.2 or newer" in result.reason


def test_a_plugin_that_is_not_preloaded_is_refused(qemu: Qemu, tmp_path: Path) -> None:
    done = run(qemu, probe_guest(1), tmp_path / "log", LD_PRELOAD="")
    assert done.returncode == 1
    assert "LD_PRELOAD" in done.stderr


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        (
            "poll",
            "#define _GNU_SOURCE\n#include <poll.h>\n#include <signal.h>\n"
            "#include <sys/syscall.h>\n#include <unistd.h>\n"
            "int ppoll(struct pollfd *f, nfds_t n, const struct timespec *t, const sigset_t *s) {\n"
            "  struct timespec c; if (t) c = *t; return syscall(SYS_ppoll, f, n, t ? &c : 0, s, 8); }\n",
            "LD_PRELOAD",
        ),
        (
            "halt",
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n"
            "int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {\n"
            '  int (*real)(pthread_cond_t *, pthread_mutex_t *) = dlvsym(dlopen("libc.so.6", 2), '
            '"pthread_cond_wait", "GLIBC_2.3.2"); return real(c, m); }\n',
            "sleeps in another way",
        ),
        (
            "clock",
            "#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
            "int clock_gettime(clockid_t k, struct timespec *t) {\n"
            "  return syscall(SYS_clock_gettime, k, t); }\n",
            "does not sleep in ppoll",
        ),
    ],
)
def test_a_qemu_that_does_not_use_a_hook_is_refused(
    qemu: Qemu, tmp_path: Path, name: str, source: str, why: str
) -> None:
    plugin = prepare(qemu)
    before = helper(tmp_path, name, source)
    done = run(qemu, probe_guest(1), tmp_path / "log", patience_s=20, LD_PRELOAD=f"{before}:{plugin}")
    if done.returncode == 33:  # on a busy host the guest may end before the clock looks at the hooks
        with pytest.raises(VerifyError, match=r"expected|never used one of the clock's hooks"):
            check_trial(PROBE, 1, done.stdout.encode(), read_log(tmp_path / "log"))
        return
    assert done.returncode in (1, REFUSED), done.stderr
    assert why in done.stderr
    if done.returncode == REFUSED:
        with pytest.raises(VerifyError, match="refused this QEMU"):
            window(read_log(tmp_path / "log"), 1)


def test_a_stuck_lockstep_names_the_waiting_vcpus(qemu: Qemu, tmp_path: Path) -> None:
    # As if nothing read the console: the vCPU blocks for ever in QEMU's write.
    source = (
        "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <sys/uio.h>\n#include <unistd.h>\n"
        "ssize_t writev(int fd, const struct iovec *v, int n) {\n"
        "  if (n == 1 && v->iov_len == 1 && *(char *)v->iov_base == 'p') for (;;) pause();\n"
        "  return syscall(SYS_writev, fd, v, n); }\n"
    )
    plugin = prepare(qemu)
    before = helper(tmp_path, "blocked", source)
    done = run(qemu, probe_guest(2), tmp_path / "log", cpus=2, patience_s=3, LD_PRELOAD=f"{before}:{plugin}")
    assert done.returncode == STUCK, done.stderr
    log = read_log(tmp_path / "log")
    assert any("vcpu 0" in line and "has not come back" in line for line in log.stuck), log.stuck
    assert any("vcpu 1" in line and "halted" in line for line in log.stuck), log.stuck
    with pytest.raises(VerifyError, match="the lockstep was stuck"):
        window(log, 1)


STARVED = """\
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
static double seconds(clockid_t id) {
  struct timespec t; syscall(SYS_clock_gettime, id, &t); return t.tv_sec + t.tv_nsec / 1e9; }
ssize_t writev(int fd, const struct iovec *v, int n) {
  static int done;
  if (!done && n == 1 && v->iov_len == 1 && *(char *)v->iov_base == 'p') {
    done = 1;
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(CPU, &one);
    struct sched_param none = {0};
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_IDLE, &none);
    double end = seconds(CLOCK_MONOTONIC) + 8;
    while (seconds(CLOCK_MONOTONIC) < end && seconds(CLOCK_THREAD_CPUTIME_ID) < 1) {}
  }
  return syscall(SYS_writev, fd, v, n); }
"""
HOG = """\
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + 20
while time.monotonic() < end:
    pass
"""


@pytest.mark.long
def test_a_vcpu_that_gets_no_cpu_of_the_host_is_not_stuck(qemu: Qemu, tmp_path: Path) -> None:
    """For 8 s its thread wants a CPU on which other processes always come first. Where the host gives it one
    nevertheless, it goes on early."""
    cpu = min(os.sched_getaffinity(0))
    plugin = prepare(qemu)
    before = helper(tmp_path, "starved", STARVED.replace("CPU_SET(CPU,", f"CPU_SET({cpu},"))
    hogs = [subprocess.Popen([sys.executable, "-c", HOG, str(cpu)]) for _ in range(3)]
    try:
        log = tmp_path / "log"
        done = run(qemu, probe_guest(2), log, cpus=2, patience_s=3, LD_PRELOAD=f"{before}:{plugin}")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert done.returncode == 33, done.stderr
    assert read_log(log).stuck == ()


def test_a_vcpu_that_only_computes_in_qemu_is_stuck(qemu: Qemu, tmp_path: Path) -> None:
    """It uses the CPU time that it gets and makes no progress."""
    source = (
        "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <sys/uio.h>\n#include <unistd.h>\n"
        "ssize_t writev(int fd, const struct iovec *v, int n) {\n"
        "  volatile int always = 1;\n"
        "  while (always && n == 1 && v->iov_len == 1 && *(char *)v->iov_base == 'p') {}\n"
        "  return syscall(SYS_writev, fd, v, n); }\n"
    )
    plugin = prepare(qemu)
    before = helper(tmp_path, "busy", source)
    log = tmp_path / "log"
    done = run(qemu, probe_guest(2), log, cpus=2, patience_s=1, LD_PRELOAD=f"{before}:{plugin}")
    assert done.returncode == STUCK, done.stderr


@pytest.mark.parametrize("option", ["quantum=0", "seed=-1", "skip=x", "colour=red", "patience", "out="])
def test_an_invalid_option_is_refused(qemu: Qemu, tmp_path: Path, option: str) -> None:
    plugin = prepare(qemu)
    argv = [str(qemu.binary), "-M", "none", "-accel", "tcg", "-display", "none"]
    argv += ["-plugin", f"{plugin},out={tmp_path / 'log'},{option}"]
    done = subprocess.run(
        argv,
        env={**os.environ, **qemu.environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1
    assert "instruction clock: invalid option: " in done.stderr or "log cannot be written" in done.stderr


# ---- invalid figures of a trial


@pytest.fixture(scope="module")
def good(qemu: Qemu) -> ClockLog:
    return trial(qemu, prepare(qemu), 1)[1]


@pytest.mark.parametrize(
    ("console", "why"),
    [
        (b"", "did not print"),
        (b"probe loop=5000000 pit=14318 sleep=10000150 ap=0\n", "the TSC during"),
        (b"probe loop=2000010 pit=28000 sleep=10000150 ap=0\n", "the PIT during"),
        (b"probe loop=2000010 pit=14318 sleep=26000000 ap=0\n", "a sleep of"),
    ],
)
def test_guest_times_that_disagree_with_the_clock_are_refused(
    good: ClockLog, console: bytes, why: str
) -> None:
    check_trial(PROBE, 1, b"probe loop=2000010 pit=14318 sleep=10000150 ap=0\n", good)
    with pytest.raises(VerifyError, match=why):
        check_trial(PROBE, 1, console, good)


def without(log: ClockLog, hook: str) -> ClockLog:
    checks, host = ({**counters} for counters in (log.checks, log.host))
    (checks if hook in checks else host)[hook] = 0
    return replace(log, checks=checks, host=host)


@pytest.mark.parametrize("name", ["main_clock", "main_polls", "vcpu_clock", "tsc_traps", "notes"])
def test_a_trial_in_which_a_hook_was_not_used_is_refused(good: ClockLog, name: str) -> None:
    """Whatever it measured: its figures can be right by chance."""
    console = b"probe loop=2000010 pit=14318 sleep=10000150 ap=0\n"
    with pytest.raises(VerifyError, match=rf"never used one of the clock's hooks \({name}\)"):
        check_trial(PROBE, 1, console, without(good, name))
