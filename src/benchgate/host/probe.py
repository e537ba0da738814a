"""Runs the probe guest: a tiny virtual machine that boots and computes as many steps as the host requests.

Takes a QEMU, an accelerator, a CPU model and optionally a host CPU to pin to; gives the seconds for a number
of steps. Each answer is checked against a closed form. Fails with ProbeError (a HostError) if a guest fails,
and with BuildError if it cannot be built. Every wait has a deadline, and no guest outlives the thread that
started it.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError, HostError
from benchgate.base.files import last_line
from benchgate.base.interrupts import held
from benchgate.base.paths import data_root
from benchgate.base.process import start
from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.base.system.qemu import GOOD_EXIT, ON_STDIO, Qemu, command
from benchgate.base.text import one_line
from benchgate.build.fetch import cross
from benchgate.build.programs import compiled

INSTRUCTIONS_PER_STEP = 10
"""The loop of guest/probe/probe.c has as many instructions."""

# fmt: off
_FLAGS = (
    "-std=c11", "-O2", "-ffreestanding", "-fno-pic", "-fno-pie", "-fno-stack-protector", "-Wall", "-Wextra",
    "-Werror", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-declarations",
    "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class _ProbeBoard:
    """What the probe guest of one architecture needs."""

    flags: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    """QEMU's, so that the guest can end with a status, and needs no firmware."""


_MACHINES: Mapping[str, _ProbeBoard] = {
    X86_64.name: _ProbeBoard(
        ("-m64", "-mno-red-zone", "-mcmodel=small", "-mgeneral-regs-only", "-fcf-protection=none")
    ),
    RISCV64.name: _ProbeBoard(("-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany"), ("-bios", "none")),
    AARCH64.name: _ProbeBoard(
        ("-mgeneral-regs-only", "-mstrict-align"), ("-semihosting-config", "enable=on,target=native")
    ),
}
_MULTIPLIER, _INCREMENT = 6364136223846793005, 1442695040888963407
_ANSWER = re.compile(rb"probe steps=(\d{1,15}) state=([0-9a-f]{1,16})")
_LONGEST_LINE = 256
_PAUSE_S = 5.0


class ProbeError(HostError):
    """A probe guest failed."""


def image(guest: Architecture = X86_64) -> Path:
    """The probe guest's ELF file, built once."""
    name = guest.name
    inputs = (f"{name}/start.S", "probe.c", f"{name}/machine.h", f"{name}/probe.ld")
    flags = (*_FLAGS, *_MACHINES[name].flags, f"-I{name}", f"-Wl,-T,{name}/probe.ld")
    folder = data_root() / "guest" / "probe"
    return compiled("probe", "probe.elf", folder, inputs, flags, compiler=cross.compiler(guest))


def expected_state(steps: int) -> int:
    """The correct answer for `steps` steps: per chain a^n x + c (a^n - 1)/(a - 1), modulo 2^64."""
    power = pow(_MULTIPLIER, steps, (_MULTIPLIER - 1) << 64)
    geometric = (power - 1) // (_MULTIPLIER - 1)
    state = 0
    for chain in range(4):
        state ^= (power * chain + _INCREMENT * geometric) % (1 << 64)
    return state


class ProbeGuest:
    """One running probe guest, as a context manager that always ends it."""

    def __init__(
        self, qemu: Qemu, accel: Accel, cpu_model: str, *, pin: int | None = None, machine: str = ""
    ) -> None:
        guest = qemu.guest
        self._argv = command(
            qemu,
            machine=machine or guest.probe_machine,
            console=ON_STDIO,
            accel=accel,
            cpu=cpu_model,
            memory="32",
            smp="1",
            kernel=image(guest),
            extra=_MACHINES[guest.name].arguments,
        )
        self._environment = {**os.environ, **qemu.environment}
        self._pins = () if pin is None else (pin,)
        self._held = bytearray()
        self._stack = ExitStack()

    def __enter__(self) -> ProbeGuest:
        with ExitStack() as stack, ExitStack() as theirs:
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            said = self._errors.fileno()
            request, self._request = os.pipe()
            theirs.callback(os.close, request)
            stack.callback(os.close, self._request)
            self.output, answer = os.pipe()
            theirs.callback(os.close, answer)
            stack.callback(os.close, self.output)
            os.set_blocking(self.output, False)
            argv, pins, where = self._argv, self._pins, self._environment
            try:
                with held():
                    self._child = start(argv, where, stdin=request, stdout=answer, stderr=said, affinity=pins)
                    stack.callback(self._child.stop, 0)
            except BootError as error:
                raise ProbeError(str(error)) from error
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pid(self) -> int:
        return self._child.pid

    def ready(self, deadline_s: float) -> None:
        """Waits until the guest has booted."""
        (line,) = _lines([self], deadline_s, "boot")[1]
        if line != b"probe ready v=1":
            raise ProbeError(f"the probe guest printed {one_line(line, 60)!r} first, not its ready line")

    def request(self, steps: int) -> None:
        """Requests a number of steps; `answers` waits for the answer."""
        try:
            os.write(self._request, b"%d\n" % steps)
        except BrokenPipeError:
            raise self._failure() from None

    def pause(self) -> None:
        """Stops the guest's process; returns when it has stopped."""
        os.killpg(self.pid, signal.SIGSTOP)
        limit = time.monotonic() + _PAUSE_S
        while os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > limit:
                raise ProbeError(f"a probe guest did not stop within {_PAUSE_S:g} s")
            time.sleep(0.0005)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def end(self, deadline_s: float) -> None:
        """Makes the guest exit by itself and checks its exit status."""
        self.request(0)
        if not self._child.wait(deadline_s):
            raise ProbeError(f"the probe guest did not exit within {deadline_s:g} s")
        if self._child.stop(0) != GOOD_EXIT:
            raise self._failure()

    def take_line(self) -> bytes | None:
        """A complete line if the guest has printed one."""
        try:
            data = os.read(self.output, 4096)
        except BlockingIOError:
            return None
        if not data:
            raise self._failure()
        self._held += data
        line, newline, rest = bytes(self._held).partition(b"\n")
        if len(line) > _LONGEST_LINE:
            raise ProbeError(f"the probe guest printed no line end in {_LONGEST_LINE} bytes")
        if not newline:
            return None
        self._held = bytearray(rest)
        return line.rstrip(b"\r")

    def _failure(self) -> ProbeError:
        """Why QEMU has ended, with the last line of its error output."""
        self._child.wait(2.0)
        status = self._child.stop(0)
        how = f"with status {status}" if status >= 0 else f"by signal {signal.Signals(-status).name}"
        message = last_line(self._errors) or ("the probe guest was reset" if status == 0 else "")
        return ProbeError(f"QEMU ended {how}" + (f": {message}" if message else ""))


def answers(guests: Sequence[ProbeGuest], steps: int, deadline_s: float) -> tuple[float, ...]:
    """Makes all guests compute at the same time; gives the seconds of each, with its answer checked."""
    started = []
    for guest in guests:
        started.append(time.monotonic())
        guest.request(steps)
    ended, lines = _lines(guests, deadline_s, f"{steps} steps")
    for line in lines:
        match = _ANSWER.fullmatch(line)
        if not match or int(match[1]) != steps or int(match[2], 16) != expected_state(steps):
            text = one_line(line, 80)
            raise ProbeError(f"the probe guest gave a wrong answer for {steps} steps: {text!r}")
    return tuple(end - start for start, end in zip(started, ended, strict=True))


def _lines(
    guests: Sequence[ProbeGuest], deadline_s: float, what: str
) -> tuple[tuple[float, ...], tuple[bytes, ...]]:
    """One line of each guest, and the time of its arrival."""
    limit = time.monotonic() + deadline_s
    found: dict[int, tuple[float, bytes]] = {}
    with selectors.DefaultSelector() as selector:
        for index, guest in enumerate(guests):
            selector.register(guest.output, selectors.EVENT_READ, index)
        while len(found) < len(guests):
            left = limit - time.monotonic()
            if left <= 0:
                raise ProbeError(f"no answer within {deadline_s:g} s ({what})")
            for key, _ in selector.select(left):
                now = time.monotonic()
                if (line := guests[key.data].take_line()) is not None:
                    found[key.data] = (now, line)
                    selector.unregister(key.fileobj)
    both = [found[index] for index in range(len(guests))]
    return tuple(now for now, _ in both), tuple(line for _, line in both)
