"""The probe guest from outside: a tiny machine that boots, computes as ordered, and proves its answer.

Takes a QEMU, an accelerator, a CPU model and perhaps a host CPU to pin to; gives seconds for a count of
steps, each answer checked here against a closed form. Fails with ProbeFailed (a HostError), whose text is
what went wrong with this guest, and with BuildError where it cannot be built. Every wait has a deadline, and
no guest outlives the thread that started it.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from benchgate.cache import entry
from benchgate.data import data_root
from benchgate.errors import HostError
from benchgate.files import file_digest
from benchgate.host.facts import printable
from benchgate.model import Accel
from benchgate.toolchain import compiler, end_group, run_all

INSTRUCTIONS_PER_STEP = 10
"""In the loop of guest/probe/probe.c."""

MACHINE = "microvm"
"""Has what the probe needs and starts quickest; the guest itself boots on pc and q35 too."""

# fmt: off
_FLAGS = (
    "-std=c11", "-O2", "-m64", "-ffreestanding", "-fno-pic", "-fno-pie", "-mno-red-zone", "-mcmodel=small",
    "-mgeneral-regs-only", "-fno-stack-protector", "-fcf-protection=none", "-Wall", "-Wextra", "-Werror",
    "-Wshadow", "-Wstrict-prototypes", "-Wmissing-declarations",
    "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
)
# fmt: on
_SOURCES = ("start.S", "probe.c", "probe.ld")
_GOOD_END = 33
_MULTIPLIER, _INCREMENT = 6364136223846793005, 1442695040888963407
_ANSWER = re.compile(rb"probe steps=(\d{1,15}) state=([0-9a-f]{1,16})")
_LONGEST_LINE = 256
_BUILD_S = 120.0

# Runs first in the child: it becomes QEMU, which then dies with us and never leaves its CPU. As a program of
# its own, because preexec_fn is unsafe, and warned of, in a process with threads. An affinity of "-" is none.
# QEMU's own environment comes as arguments: its libraries must not become this Python's.
_LEASH = """
import ctypes, os, resource, sys
parent, pin, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if ctypes.CDLL(None, use_errno=True).prctl(1, 9, 0, 0, 0) or os.getppid() != parent:
    sys.exit("the parent is gone")
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a QEMU that aborts would leave its memory
if pin != "-":
    os.sched_setaffinity(0, {int(pin)})
added = dict(word.split("=", 1) for word in sys.argv[4:4 + count])
argv = sys.argv[4 + count:]
try:
    os.execve(argv[0], argv, {**os.environ, **added})
except OSError as error:
    sys.exit(f"{argv[0]}: {error.strerror}")
"""


class Emulator(Protocol):
    """What this package needs to know of a QEMU; benchgate.fetch.Qemu is one."""

    @property
    def binary(self) -> Path: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def data(self) -> tuple[Path, ...]: ...
    @property
    def version(self) -> tuple[int, int, int]: ...
    @property
    def digest(self) -> str: ...


class ProbeFailed(HostError):
    """This probe guest did not do what it was asked."""


def leashed(argv: Sequence[str], environment: Mapping[str, str], pin: int | None = None) -> list[str]:
    """The command that runs `argv` so that it dies with the thread that starts it, on CPU `pin` alone."""
    added = [f"{name}={value}" for name, value in environment.items()]
    head = [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid()), "-" if pin is None else str(pin)]
    return [*head, str(len(added)), *added, *argv]


def image() -> Path:
    """The probe guest's ELF file, built once."""
    folder = data_root() / "guest" / "probe"
    cc = compiler()
    key = {name: file_digest(folder / name) for name in _SOURCES}
    key |= {"compiler": cc.identity, "flags": " ".join(_FLAGS)}

    def make(target: Path) -> None:
        argv = (*cc.argv, *_FLAGS, "-Wl,-T,probe.ld", "-o", str(target / "probe.elf"), "start.S", "probe.c")
        run_all([argv], folder, "probe", _BUILD_S)

    return entry("probe", key, make) / "probe.elf"


def command(
    qemu: Emulator, kernel: Path, accel: Accel, cpu_model: str, machine: str = MACHINE
) -> tuple[str, ...]:
    """QEMU's argv for one probe guest."""
    data = [word for folder in qemu.data for word in ("-L", str(folder))]
    return (
        str(qemu.binary), *data, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
        "-machine", machine, "-accel", accel.value, "-cpu", cpu_model, "-smp", "1", "-m", "32",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio", "-kernel", str(kernel),
    )  # fmt: skip


def expected_state(steps: int) -> int:
    """The answer to `steps` steps: each chain's closed form a^n x + c (a^n - 1)/(a - 1), modulo 2^64."""
    power = pow(_MULTIPLIER, steps, (_MULTIPLIER - 1) << 64)
    geometric = (power - 1) // (_MULTIPLIER - 1)
    state = 0
    for start in range(4):
        state ^= (power * start + _INCREMENT * geometric) % (1 << 64)
    return state


class ProbeGuest:
    """One running probe guest; a context manager, so that it is gone afterwards, whatever happened."""

    def __init__(
        self,
        qemu: Emulator,
        accel: Accel,
        cpu_model: str,
        *,
        pin: int | None = None,
        machine: str = MACHINE,
    ) -> None:
        self._argv = command(qemu, image(), accel, cpu_model, machine)
        self._environment = qemu.environment
        self._pin = pin
        self._held = bytearray()
        self._ended = False

    def __enter__(self) -> ProbeGuest:
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                leashed(self._argv, self._environment, self._pin),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except BaseException:
            self._errors.close()
            raise
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_group(self._process)  # QEMU may be a script's child, which would compute on for ever
        # A killed process that the kernel cannot end yet is not ours to wait for without bound.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> int:
        """The descriptor that becomes readable when the guest has said something."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def ready(self, deadline_s: float) -> None:
        """Waits for the guest to come up."""
        (line,) = _lines([self], deadline_s, "boot")[1]
        if line != b"probe ready v=1":
            raise ProbeFailed(f"the probe guest said {printable(line.decode(errors='replace'), 60)!r} first")

    def order(self, steps: int) -> None:
        """Has the guest compute; `answers` waits for what it says."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"%d\n" % steps)
        except BrokenPipeError:
            raise self.failure("ended") from None

    def pause(self, deadline_s: float = 5.0) -> None:
        """Takes the guest off its CPU; returns once it is off."""
        os.killpg(self.pid, signal.SIGSTOP)
        limit = time.monotonic() + deadline_s
        while os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > limit:
                raise ProbeFailed("a probe guest did not stop when told to")
            time.sleep(0.0005)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def end(self, deadline_s: float) -> None:
        """Has the guest leave by itself, and holds it to its exit status."""
        self.order(0)
        try:
            status = self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise ProbeFailed(f"the probe guest did not leave within {deadline_s:g} s") from None
        if status != _GOOD_END:
            raise self.failure("left")

    def take_line(self) -> bytes | None:
        """A whole line if the guest has said one."""
        try:
            self._held += os.read(self.output, 4096) or self._gone()
        except BlockingIOError:
            return None
        line, newline, rest = bytes(self._held).partition(b"\n")
        if len(line) > _LONGEST_LINE:
            raise ProbeFailed("the probe guest printed no line end")
        if not newline:
            return None
        self._held = bytearray(rest)
        return line.rstrip(b"\r")

    def _gone(self) -> bytes:
        raise self.failure("ended")

    def failure(self, what: str) -> ProbeFailed:
        """Why QEMU is not there any more, as far as it told."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        status = self._process.returncode
        if status is not None and status < 0:
            how = f"QEMU died of signal {signal.Signals(-status).name}"
        else:
            how = f"QEMU {what} with status {status}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 4096))
        said = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        return ProbeFailed(f"{how}: {printable(said[-1])}" if said else how)


def answers(guests: Sequence[ProbeGuest], steps: int, deadline_s: float) -> tuple[float, ...]:
    """Has all of these guests compute at the same time; gives each one's seconds, answers checked."""
    started = []
    for guest in guests:
        started.append(time.monotonic())
        guest.order(steps)
    ended, said = _lines(guests, deadline_s, f"{steps} steps")
    for line in said:
        match = _ANSWER.fullmatch(line)
        if not match or int(match[1]) != steps or int(match[2], 16) != expected_state(steps):
            text = printable(line.decode(errors="replace"), 80)
            raise ProbeFailed(f"the probe guest gave a wrong answer for {steps} steps: {text!r}")
    return tuple(end - start for start, end in zip(started, ended, strict=True))


def _lines(
    guests: Sequence[ProbeGuest], deadline_s: float, what: str
) -> tuple[tuple[float, ...], tuple[bytes, ...]]:
    """One line of each guest, and when it came."""
    limit = time.monotonic() + deadline_s
    found: dict[int, tuple[float, bytes]] = {}
    with selectors.DefaultSelector() as selector:
        for index, guest in enumerate(guests):
            selector.register(guest.output, selectors.EVENT_READ, index)
        while len(found) < len(guests):
            left = limit - time.monotonic()
            if left <= 0:
                raise ProbeFailed(f"no answer within {deadline_s:g} s ({what})")
            for key, _ in selector.select(left):
                now = time.monotonic()
                if (line := guests[key.data].take_line()) is not None:
                    found[key.data] = (now, line)
                    selector.unregister(key.fileobj)
    both = [found[index] for index in range(len(guests))]
    return tuple(now for now, _ in both), tuple(line for _, line in both)
