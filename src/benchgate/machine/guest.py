"""The life of one boot: started stopped, pinned, read back, let go, watched to its end, removed.

Takes a BootSpec with its final argv, a folder, and what to watch for; gives a `GuestEnd`, with serial.log,
stderr.log, qmp.log, affinity.json and threads.json in the folder. A guest's failure is an `Ending`, never an
exception. Raises BootError only when QEMU cannot be executed at all. Nothing is sent by QMP after `cont`.
The thread that calls must live as long as the guest: the guest dies with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.errors import BootError
from benchgate.machine import pinning, process, stale
from benchgate.machine.accounting import Sample, sample
from benchgate.machine.console import Console, Follower, Limits, SerialLog, complaint
from benchgate.machine.pinning import Placed
from benchgate.machine.process import Child
from benchgate.machine.qemu import QMP_DESCRIPTOR
from benchgate.machine.qmp import Qmp, QmpError
from benchgate.machine.watch import Cause, Watch
from benchgate.model import BootSpec, Ending

OnPhase = Callable[[str], None]
_PIPE_BYTES = 1 << 20
_QMP_S = 30.0
_STOP_GRACE_S = 2.0
_DRAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class GuestEnd:
    """How a machine ended, as seen from outside."""

    ending: Ending
    detail: str
    exit_status: int | None
    """None: it was ended, as its system wants, once it had said everything."""
    samples: tuple[Sample, ...] = ()
    """What its threads had from the host, as it stands in threads.json."""


@dataclass
class Machine:
    """A QEMU that was started and still holds its guest, until `go`."""

    child: Child
    console: Console
    log: SerialLog
    qmp: Qmp
    folder: Path
    spec: BootSpec
    vcpus: tuple[int, ...] = ()
    samples: list[Sample] = field(default_factory=list)

    @property
    def exit_status(self) -> int | None:
        """None while it runs. Reaps it once it has ended."""
        return self.child.stop(0) if self.child.has_ended() else None

    @property
    def is_ready(self) -> bool:
        return any(sample.moment == "ready" for sample in self.samples)

    def prepare(self) -> tuple[Placed, ...]:
        """Finds the vCPU threads, pins them, reads them back. QmpError or PinError: it cannot be run."""
        self.qmp.connect(_QMP_S)
        self.vcpus = self.qmp.cpu_threads(_QMP_S)
        if len(self.vcpus) != self.spec.cpus:
            raise QmpError(f"QEMU made {len(self.vcpus)} vCPUs where {self.spec.cpus} were asked for.")
        placed = pinning.apply(self.child.pid, self.vcpus, self.spec.pins)
        write_json(self.folder / "affinity.json", [item.as_json() for item in placed])
        return placed

    def go(self) -> None:
        """Lets the guest run. QmpError: it never did."""
        self.mark("start")
        try:
            self.qmp.execute("cont", seconds=_QMP_S)
        except QmpError:
            # A guest that ends at once takes QEMU with it before the answer is out. It ran, for it printed.
            if not self.console.has_output():
                raise

    def mark(self, moment: str) -> None:
        """Takes down what the threads have had from the host so far."""
        self.samples.append(sample(self.child.pid, moment, self.vcpus))


def run_guest(  # noqa: PLR0913 - what a boot needs, by name
    spec: BootSpec,
    folder: Path,
    *,
    watch: Watch,
    nonce: str,
    limits: Limits | None = None,
    on_phase: OnPhase = lambda _: None,
) -> GuestEnd:
    """Boots, watches to the end, and leaves nothing behind but the files in `folder`."""
    limits = limits or Limits()
    on_phase("starting")
    with started(spec, folder, mark=nonce, limits=limits) as machine:
        try:
            machine.prepare()
            machine.go()
        except BootError as error:
            why, status = _no_start(machine, error)
            machine.console.rest(_DRAIN_S)
            return GuestEnd(Ending.NO_START, why, status)
        follower = Follower(
            machine.console,
            machine.log,
            watch,
            spec.deadlines,
            limits,
            machine.mark,
            machine.child,
            folder,
            lambda: on_phase("running" if machine.is_ready else "booting"),
        )
        sight = follower.follow()
        on_phase("ended")
        left = follower.await_exit(sight)
        machine.mark("exit" if left else "stop")
        status = machine.child.stop(0 if left else _STOP_GRACE_S)
        machine.qmp.drain(_DRAIN_S)
        own = None if sight.cause is Cause.FINISHED else status
        judged = follower.judge(sight, status if left else None)
        return GuestEnd(*judged, own, tuple(machine.samples))


@contextlib.contextmanager
def boot_interactive(
    spec: BootSpec, *, mark: str, folder: Path | None = None, limits: Limits | None = None
) -> Iterator[Machine]:
    """A running guest for a user's own test: `.console` is pexpect, `.qmp` asks QEMU, `.exit_status`.

    It is stopped when the block ends. Without a folder its logs go to a temporary one.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchgate-boot-")))
        machine = stack.enter_context(started(spec, folder, mark=mark, limits=limits or Limits()))
        try:
            machine.prepare()
            machine.go()
        except BootError as error:
            raise BootError(_no_start(machine, error)[0]) from error
        machine.console.timeout = spec.deadlines.boot_s
        yield machine


@contextlib.contextmanager
def started(spec: BootSpec, folder: Path, *, mark: str, limits: Limits) -> Iterator[Machine]:
    """QEMU before its guest's first instruction. Whatever happens, it is gone when the block ends."""
    if not any(mark in word for word in spec.argv):
        raise ValueError(f"the mark {mark!r} is in no word of the argv, so a stale guest could not be told")
    with contextlib.ExitStack() as stack:
        ours, theirs = socket.socketpair()
        with theirs:
            qmp = stack.enter_context(Qmp(ours, folder / "qmp.log"))
            (folder / "qmp.log").touch()
            streams = stack.enter_context(piped(folder, limits))
            child = process.start(
                spec.argv,
                process.base_environment(spec.environment),
                stdin=streams.child_input,
                stdout=streams.child_output,
                stderr=streams.child_error,
                descriptors={QMP_DESCRIPTOR: theirs.fileno()},
            )
        stack.callback(child.stop, 0)
        streams.close_childs()
        stack.enter_context(stale.recorded(child.pid, child.started, mark))
        machine = Machine(child, streams.console, streams.log, qmp, folder, spec)
        stack.callback(keep_samples, folder, machine.samples)
        yield machine


@dataclass
class Streams:
    """A program's three standard streams: its ends, and the console on ours."""

    child_input: int
    child_output: int
    child_error: int
    console: Console
    log: SerialLog
    _childs: contextlib.ExitStack

    def close_childs(self) -> None:
        """To be called once the child has them: the console ends when nobody else holds its other end."""
        self._childs.close()


@contextlib.contextmanager
def piped(folder: Path, limits: Limits) -> Iterator[Streams]:
    with contextlib.ExitStack() as stack:
        childs = stack.enter_context(contextlib.ExitStack())
        out_read, out_write = _pipe()
        stack.callback(os.close, out_read)
        childs.callback(os.close, out_write)
        in_read, in_write = _pipe()
        stack.callback(os.close, in_write)
        childs.callback(os.close, in_read)
        os.set_blocking(in_write, False)
        serial = stack.enter_context((folder / "serial.log").open("wb"))
        error = childs.enter_context((folder / "stderr.log").open("wb"))
        log = SerialLog(serial, limits.console_bytes)
        console = Console(out_read, in_write, log)
        yield Streams(in_read, out_write, error.fileno(), console, log, childs)
    with (folder / "stderr.log").open("r+b") as kept:
        if kept.seek(0, os.SEEK_END) > limits.stderr_bytes:
            kept.truncate(limits.stderr_bytes)


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    # A user who holds many pipes may not widen one; the console is complete at the usual size too.
    with contextlib.suppress(PermissionError):
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return read, write


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def keep_samples(folder: Path, samples: Sequence[Sample]) -> None:
    write_json(folder / "threads.json", [item.as_json() for item in samples])


def _no_start(machine: Machine, error: BootError) -> tuple[str, int]:
    """Ends it; gives why no guest ran, and its status. In QEMU's own words where it gave up by itself: it
    knows best why. Where we end it, it speaks of nothing but that."""
    gave_up = machine.child.wait(0.2)
    status = machine.child.stop(0 if gave_up else _STOP_GRACE_S)
    why = (complaint(machine.folder) if gave_up else "") or error
    return f"QEMU ran no guest (status {status}): {why}", status
