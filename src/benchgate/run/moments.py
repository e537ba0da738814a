"""Runs a guest on the instruction clock to a moment of its time, and forks it there.

`at` takes a run's request and a time; gives a `Standstill`, at which the machine stands. Its `children` takes
branches, each with a folder of its own; gives the RawRun of each, with all files of a run in its folder. A
branch that changes nothing is the run itself, line by line. Each child is a run whose command line and files
say all that was changed, so it repeats without a fork (`Standstill.request_of`). The machine stands at the
first moment, at or after the time that is asked for, at which no vCPU is in the middle of its turn.

Fails with BootError if the run ends, or halts for good, before that time, if a branch asks for stalls before
it, and if nothing can be forked on this host; with UsageError for a guest into whose console is typed.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pexpect import EOF

from benchgate.base.cells import Lane
from benchgate.base.errors import BootError, UsageError
from benchgate.base.exploration import Exploration
from benchgate.base.files import write_json
from benchgate.base.process import Child, reap_adopted
from benchgate.base.runs import BootSpec, RawRun
from benchgate.base.snapshots import CONSOLE
from benchgate.insn.log import TurnedClock
from benchgate.run import templates
from benchgate.run.attempt import RunRequest
from benchgate.run.forked import FILE, ForkedGuest, ForkRefusal, answer, asked, born, request_text
from benchgate.run.guest import RunningGuest
from benchgate.run.parallel import AttemptJob, execute_all
from benchgate.run.record import clock_log
from benchgate.run.templates import plugin_option, plugin_word

_LOOK_S = 1.0
_TURN = "turn"
"""The plugin's option that says what changes, and when."""


@dataclass(frozen=True, slots=True)
class ClockTurn:
    """The rules of the clock from the moment on; 0: as before."""

    seed: int
    quantum: int = 0
    fine: int = 0
    rush: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """How a child goes on."""

    folder: Path
    """It exists, and nothing else uses it."""
    turn: ClockTurn | None = None
    """None: the clock's rules stay."""
    exploration: Exploration | None = None
    """Its stalls, which begin at `latest_ns` of the moment or later; None: those of the run. The run must be
    explored, too, with the same places if it lists some, and must not have stalled anything yet."""


@dataclass
class Standstill:
    """A machine that stands still."""

    request: RunRequest
    now_ns: int
    latest_ns: int
    """The time of the vCPU that is ahead of all others."""
    asks: socket.socket
    printed: bytes
    """Its console so far."""
    made: int = 0

    def children(self, branches: Sequence[Branch], at_once: int = 1) -> Generator[tuple[Branch, RawRun]]:
        """Runs each to its end. `at_once`: so many beside each other (`Workbench.at_once`)."""
        jobs = (AttemptJob(self.request_of(branch), lambda _: None) for branch in branches)
        for index, raw in execute_all(jobs, at_once, self.fork):
            yield branches[index], raw
        reap_adopted()

    def request_of(self, branch: Branch) -> RunRequest:
        """The run that this child is. It may also be executed by itself, from its begin."""
        spec, turn = self.request.spec, branch.turn
        argv = [word.replace(str(self.request.folder), str(branch.folder)) for word in spec.argv]
        if turn is not None:
            rules = TurnedClock(self.now_ns, turn.seed, turn.quantum, turn.fine, turn.rush)
            argv[plugin_word(spec.argv)[0]] += f",{_TURN}={rules.option}"
        exploration = branch.exploration or spec.exploration
        changed = replace(spec, argv=tuple(argv), exploration=exploration)
        return replace(self.request, spec=changed, folder=branch.folder)

    def fork(self, spec: BootSpec, folder: Path, mark: str) -> ForkedGuest:
        """What run/guest.py calls for a child."""
        birth = _Birth(self, spec, folder, mark)
        return ForkedGuest(birth.make, is_restored=True, go_on=birth.go_on)


@dataclass
class _Birth:
    """A child from its fork until its guest goes on."""

    moment: Standstill
    spec: BootSpec
    folder: Path
    mark: str
    _stack: ExitStack = field(default_factory=ExitStack)
    """The child goes on when this is closed."""

    def make(self, descriptors: Mapping[int, int]) -> Child:
        moment, start = self.moment, self.spec.start
        rest = moment.printed[len(start.printed) if start else 0 :]
        if len(moment.printed) > fcntl.fcntl(descriptors[1], fcntl.F_GETPIPE_SZ):
            raise BootError(
                f"the guest has printed {len(moment.printed)} bytes, more than a pipe of this host holds"
            )
        os.write(descriptors[1], rest)
        text = f"fork {request_text(plugin_option(self.spec, _TURN) or '-', self.mark, self.folder)}"
        try:
            with ExitStack() as stack:
                child = born(stack.enter_context(asked(moment.asks, text, descriptors)))
                self._stack = stack.pop_all()
        except ForkRefusal as error:
            raise BootError(f"this run cannot be forked here: {error}") from error
        moment.made += 1
        write_json(self.folder / FILE, {"schema": 1, "at_ns": moment.now_ns, "number": moment.made})
        return child

    def go_on(self) -> None:
        self._stack.close()


@contextmanager
def at(request: RunRequest, time_ns: int) -> Iterator[Standstill]:
    """The machine stands, and its children may be made, until the block ends. Nothing is written to the
    request's folder."""
    spec = request.spec
    if spec.lane is not Lane.INSN or (spec.talks and spec.start is None) or request.script is not None:
        raise UsageError(
            f"{request.cell.id} is not forked at a moment: only a run on the instruction clock is, "
            "into whose console nothing is typed"
        )
    with templates.begun(spec, request.folder, request.nonce, request.nonce) as (running, asks):
        with asked(asks, f"hold {time_ns}", {}) as answers:
            kind, why = answer(answers)
            if kind != "yes":
                raise BootError(f"this run cannot be held: {why or 'it ended'}")
            running.go()
            if spec.start is not None:
                running.leave_alone()
            now, latest = _held(running, answers, time_ns)
        while running.console.has_output():
            running.console.read_nonblocking(1 << 16, 0)
        running.log.flush()
        printed = (running.folder / CONSOLE).read_bytes()
        yield Standstill(request, now, latest, asks, printed)


def _held(running: RunningGuest, answers: socket.socket, time_ns: int) -> tuple[int, int]:
    """Reads the console until the machine stands."""
    console = running.console
    while True:
        ready = select.select([answers, console.child_fd], [], [], _LOOK_S)[0]
        if answers in ready:
            kind, rest = answer(answers)
            if kind != "held":
                break
            now, latest = map(int, rest.split())
            return now, latest
        if console.child_fd in ready:
            with suppress(EOF):
                console.read_nonblocking(1 << 16, 0)
        elif not ready and clock_log(running.folder).read_text().rstrip().rpartition("\n")[2].startswith(
            "halted "
        ):
            raise BootError(f"the guest halts for good before {time_ns} ns")
    raise BootError(f"the run ended before {time_ns} ns")
