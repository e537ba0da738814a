"""Makes one boot: starts QEMU with the guest stopped, pins its threads, runs the guest and watches it.

Takes a BootSpec with its final argv, a folder, and what to watch for; gives a `GuestEnd`, with serial.log,
stderr.log, qmp.log, affinity.json, threads.json and host.json in the folder. A guest's failure is an
`Ending`, not an exception. Fails with BootError only if QEMU cannot be executed at all. Nothing is sent over
QMP after `cont`. The calling thread must live as long as the guest, because the guest dies with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from benchgate.base import exploration, process, snapshots
from benchgate.base.cells import Lane
from benchgate.base.conversation import TypedRecord
from benchgate.base.errors import BootError, HostError
from benchgate.base.files import write_json
from benchgate.base.interrupts import held
from benchgate.base.jsonfields import as_json
from benchgate.base.process import Child
from benchgate.base.runs import BootSpec, Ending
from benchgate.base.system.qemu import QMP_DESCRIPTOR
from benchgate.base.system.script import Script
from benchgate.insn import machine_shape
from benchgate.insn.talk import TALK_DESCRIPTOR, EndOfTalk, Talk, TypingPace
from benchgate.insn.talk import pair as talk_pair
from benchgate.run import pinning, snapshot, stale
from benchgate.run.clock_console import ClockConsole
from benchgate.run.console import Console, ConsoleLimits, SerialLog, piped
from benchgate.run.end_memory import KeptMemory, leaves_memory
from benchgate.run.ending import confirmed
from benchgate.run.follower import Follower, complaint
from benchgate.run.forked import Fork
from benchgate.run.pace import GuestPace, HostPace, TalkPace
from benchgate.run.pinning import ThreadPlace
from benchgate.run.qmp import Qmp, QmpError
from benchgate.run.record import clock_log
from benchgate.run.talker import Talker
from benchgate.run.thread_use import MemoryUse, UseSample, keep_samples, sample
from benchgate.run.watch import Watch

OnPhase = Callable[[str], None]
PHASES = STARTING, BOOTING, RUNNING, ENDED = "starting", "booting", "running", "ended"
"""The names of the phases. Any other text is news for the user."""
_QMP_S = 180.0
"""The deadline for QEMU's answers. On a busy host it may need long: at a load of 19 it once took more than
30 s. A QEMU that has ended is noticed at once."""
_STOP_GRACE_S = 2.0
_DRAIN_S = 0.5
CONVERSATION = "conversation.json"
"""The file's name in a run's folder."""


@dataclass(frozen=True, slots=True)
class GuestEnd:
    ending: Ending
    detail: str
    exit_status: int | None
    """The exit status; None if the host ended it: after its result because its system cannot power off, after
    a failure that it printed, or at a deadline."""
    samples: tuple[UseSample, ...] = ()
    """The host's accounting, as in threads.json and host.json."""


@dataclass
class RunningGuest:
    """A QEMU process. Its guest is stopped until `go`."""

    child: Child
    console: Console
    log: SerialLog
    qmp: Qmp
    folder: Path
    spec: BootSpec
    talk: Talk | None = None
    """The talk with a guest on the instruction clock at whose console something is typed, else None."""
    vcpus: tuple[int, ...] = ()
    samples: list[UseSample] = field(default_factory=list)
    memory: MemoryUse | None = None
    """The host's count of its memory use; None unless its spec asks for it."""
    is_fork: bool = False
    """Whether it is a fork of another QEMU."""
    is_restored: bool = False
    """Whether its snapshot is loaded already."""
    go_on: Callable[[], None] | None = None
    """How the guest goes on, if it had begun before the fork; then nothing is sent to QEMU."""
    kept_memory: KeptMemory | None = None
    """The guest's memory, which outlives QEMU; None unless its spec asks for it."""

    @property
    def ports(self) -> Mapping[str, int]:
        """Maps the name of each guest port to its port on the host."""
        return self.spec.ports

    @property
    def exit_status(self) -> int | None:
        """The exit status; None while it runs. Reaps the process if it has ended."""
        return self.child.stop(0) if self.child.has_ended() else None

    @property
    def is_ready(self) -> bool:
        return any(sample.moment == "ready" for sample in self.samples)

    def prepare(self) -> tuple[ThreadPlace, ...]:
        """Finds the vCPU threads, pins them and reads the pinning back. Raises QmpError or
        PinError if it cannot run."""
        if self.is_fork:
            placed = pinning.carried(self.child.pid, self.spec.cpus)
            self.vcpus = tuple(place.thread for place in placed if place.vcpu is not None)
        else:
            self.qmp.connect(_QMP_S)
            self.vcpus = self.qmp.cpu_threads(_QMP_S)
            if len(self.vcpus) != self.spec.cpus:
                raise QmpError(f"QEMU has {len(self.vcpus)} vCPUs, but {self.spec.cpus} were requested.")
            placed = pinning.apply(self.child.pid, self.vcpus, self.spec.pins)
        if self.memory is not None:
            self.memory.join()
        write_json(self.folder / "affinity.json", [as_json(item) for item in placed])
        return placed

    def go(self) -> None:
        """Starts the guest; raises QmpError if it did not run."""
        self.note_moment("start")
        if self.go_on is not None:
            self.go_on()
            return
        self.load()
        try:
            self.qmp.execute("cont", seconds=_QMP_S)
            self.begin()
        except QmpError:
            # A guest that exits at once ends QEMU before the answer is sent. If it printed, then it ran.
            if not self.console.has_output():
                raise

    def load(self) -> None:
        """Loads the snapshot, of a guest that starts from one."""
        if self.spec.start is not None and not self.is_restored:
            snapshot.load(self.qmp, self.spec.start)
            self.is_restored = True

    def begin_when_continued(self, seconds: float) -> None:
        """A debugger continues the guest, for which it may take so long."""
        if self.spec.start is not None:
            snapshot.await_running(self.qmp, seconds)
            self.begin()
            self.leave_alone()

    def begin(self) -> None:
        """The time of a guest from a snapshot begins when QEMU runs again."""
        if self.spec.start is not None and self.talk is not None:
            snapshot.begin(self.qmp, self.talk)

    def leave_alone(self) -> None:
        """Nothing will be typed: a guest that was restored runs from here to its end without a stop."""
        if self.talk is not None:
            with contextlib.suppress(EndOfTalk):
                self.talk.stop()
                self.talk.free()
            self.talk = None

    def note_moment(self, moment: str) -> None:
        """Records the host's accounting so far; no counter of the host matters to the instruction clock."""
        cpus = None if self.spec.lane is Lane.INSN else self.spec.pins
        self.samples.append(sample(self.child.pid, moment, self.vcpus, cpus))
        if self.memory is not None:
            self.memory.note(moment)

    def beat(self, on_phase: OnPhase, suspect: str) -> None:
        """Is called at least once a second. `suspect` is a line after which nothing was printed for long.
        HostError if QEMU has stopped the guest, which would wait for ever."""
        self.qmp.drain(0)
        if self.qmp.stopped_by_disk:
            raise HostError(
                "the guest was stopped because QEMU cannot keep what it writes to its disk: "
                f"{self.qmp.stopped_by_disk}; free space in $TMPDIR (without it in /var/tmp), or set it to "
                "another folder"
            )
        silent = f"it prints nothing after `{suspect}`, which looks like a panic; waiting for more"
        on_phase(silent if suspect else RUNNING if self.is_ready else BOOTING)
        if self.memory is not None:
            self.memory.note("")


def run_guest(  # noqa: PLR0913 - keyword arguments
    spec: BootSpec,
    folder: Path,
    *,
    watch: Watch,
    nonce: str,
    limits: ConsoleLimits,
    on_phase: OnPhase,
    script: Script | None = None,
    fork: Fork | None = None,
) -> GuestEnd:
    """Boots and watches to the end. Only the files in `folder` remain. `script` is
    typed at its prompt."""
    on_phase(STARTING)
    typing = TypingPace(script.delay_ns, script.byte_ns) if script else TypingPace()
    with started(spec, folder, mark=nonce, limits=limits, typing=typing, fork=fork) as guest:
        try:
            guest.prepare()
            guest.go()
            if script is None and spec.start is not None:
                guest.leave_alone()
        except BootError as error:
            why, status = _no_start(guest, error)
            guest.console.read_rest(_DRAIN_S)
            return GuestEnd(Ending.NO_START, why, status)
        pace: GuestPace | HostPace | TalkPace = HostPace()
        if guest.talk is not None:
            console = ClockConsole(guest.console, guest.talk)
            guest.console, pace = console, TalkPace(console)
        elif spec.lane is Lane.INSN:
            pace = GuestPace(clock_log(folder), halted_s=limits.halted_s)
        talker = Talker(script, guest.console) if script else None
        bounds, process_of = (watch, spec.deadlines, limits), (guest.note_moment, guest.child, folder)
        beat = partial(guest.beat, on_phase)
        follower = Follower(guest.console, guest.log, *bounds, *process_of, beat, pace, talker)
        try:
            seen = follower.follow()
        finally:
            if talker is not None:
                write_json(folder / CONVERSATION, TypedRecord(tuple(talker.record)).as_json())
        on_phase(ENDED)
        exited = follower.await_exit(seen)
        guest.note_moment("exit" if exited else "stop")
        status = guest.child.stop(0 if exited else _STOP_GRACE_S)
        follower.read_rest(_DRAIN_S)  # the clock's log has all lines that it printed until it was stopped
        drained = guest.qmp.drain(_QMP_S)  # until QEMU's end of the socket is closed, which it is by now
        own_status = status if exited else None
        reports = guest.qmp.guest_ends if drained else None
        judged = confirmed(follower.judge(seen, status if exited else None), reports, watch)
        if guest.kept_memory is not None and leaves_memory(judged[0], own_status):
            guest.kept_memory.save(folder)
        return GuestEnd(*judged, own_status, tuple(guest.samples))


@contextlib.contextmanager
def boot_interactive(
    spec: BootSpec, *, mark: str, folder: Path | None = None, limits: ConsoleLimits | None = None
) -> Iterator[RunningGuest]:
    """Gives a running guest to a user's own test, with `.console` (pexpect), `.qmp` and `.exit_status`.

    It is stopped when the block ends. Without a `folder`, its logs go to a temporary folder.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchgate-boot-")))
        guest = stack.enter_context(started(spec, folder, mark=mark, limits=limits or ConsoleLimits()))
        try:
            guest.prepare()
            guest.go()
        except BootError as error:
            raise BootError(_no_start(guest, error)[0]) from error
        if guest.talk is not None:
            guest.console = ClockConsole(guest.console, guest.talk)
        guest.console.timeout = spec.deadlines.boot_s
        yield guest


@contextlib.contextmanager
def started(  # noqa: PLR0913 - keyword arguments
    spec: BootSpec,
    folder: Path,
    *,
    mark: str,
    limits: ConsoleLimits,
    typing: TypingPace | None = None,
    fork: Fork | None = None,
    own: Mapping[int, int] = MappingProxyType({}),
) -> Iterator[RunningGuest]:
    """Starts QEMU, stopped before its guest's first instruction. It always ends with the block. `fork` makes
    it from another QEMU, if it can; `own` are further descriptors."""
    if not any(mark in word for word in spec.argv):
        raise ValueError(f"the mark {mark!r} is not in the argv, so a stale guest could not be identified")
    with contextlib.ExitStack() as stack:
        qemus = stack.enter_context(contextlib.ExitStack())  # QEMU's ends of the sockets
        control, descriptors = _ours(socket.socketpair(), QMP_DESCRIPTOR, stack, qemus)
        talk = None
        if spec.talks:
            end, more = _ours(talk_pair(), TALK_DESCRIPTOR, stack, qemus)
            talk, descriptors = Talk(end, typing or TypingPace()), descriptors | more
        kept = None
        if spec.kept_memory:
            kept = stack.enter_context(contextlib.closing(KeptMemory(spec.kept_memory, spec.start)))
            descriptors |= kept.descriptors
        _write_inputs(spec, folder)
        qmp = stack.enter_context(Qmp(control, folder / "qmp.log"))
        streams = stack.enter_context(piped(folder, limits))
        if spec.start is not None:
            spec.start.record.save(folder)
            # It was printed before, and is short (run/snapshot.py).
            os.write(streams.child_output, spec.start.printed)
        forked = None if fork is None else fork(spec, folder, mark)
        with held():
            if forked is not None:
                given = {1: streams.child_output, 2: streams.child_error}
                if not spec.talks:  # else the clock's own pipe is its input
                    given[0] = streams.child_input
                child = forked.make({**given, **descriptors})
            else:
                child = process.start(
                    spec.argv,
                    process.base_environment(spec.environment),
                    stdin=streams.child_input,
                    stdout=streams.child_output,
                    stderr=streams.child_error,
                    descriptors={**descriptors, **own},
                    affinity=spec.host_cpus,
                )
            stack.callback(child.stop, 0)
        qemus.close()
        streams.close_child_ends()
        stack.enter_context(stale.recorded(child.pid, child.started, mark))
        go_on = None if forked is None else forked.go_on
        guest = RunningGuest(child, streams.console, streams.log, qmp, folder, spec, None if go_on else talk)
        guest.kept_memory, guest.is_fork, guest.go_on = kept, forked is not None, go_on
        guest.is_restored = forked is not None and forked.is_restored
        stack.callback(keep_samples, folder, guest.samples)
        if spec.counts_memory:
            guest.memory = MemoryUse(child.pid, spec.pins, mark)
            stack.callback(guest.memory.close)
            stack.callback(guest.memory.keep, folder)
        yield guest


def _write_inputs(spec: BootSpec, folder: Path) -> None:
    """The files of the run that its QEMU reads."""
    if spec.shape:
        (folder / machine_shape.FILE).write_text(spec.shape, encoding="ascii")
    if spec.words:
        (folder / snapshots.WORDS).write_text(spec.words + "\n", encoding="utf-8")
    if spec.exploration is not None:
        (folder / exploration.FILE).write_text(spec.exploration.text, encoding="ascii")


def _ours(
    pair: tuple[socket.socket, socket.socket],
    descriptor: int,
    stack: contextlib.ExitStack,
    qemus: contextlib.ExitStack,
) -> tuple[socket.socket, dict[int, int]]:
    """Gives our end of a pair of sockets, and maps QEMU's descriptor to its end. The stacks close them."""
    ours, theirs = stack.enter_context(pair[0]), qemus.enter_context(pair[1])
    return ours, {descriptor: theirs.fileno()}


def _no_start(guest: RunningGuest, error: BootError) -> tuple[str, int]:
    """Stops QEMU; gives why no guest ran, and QEMU's exit status. If QEMU exited by itself, its own message
    is the best reason. If we stop it, its message is only about being stopped."""
    exited = guest.child.wait(0.2)
    status = guest.child.stop(0 if exited else _STOP_GRACE_S)
    why = (complaint(guest.folder) if exited else "") or error
    return f"QEMU ran no guest (status {status}): {why}", status
