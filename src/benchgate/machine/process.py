"""A child process that never outlives this one, and that is always reaped.

Takes an argv, an environment and descriptors; gives a `Child`, the leader of its own process group, tied to
the calling thread by a parent-death signal. That thread must outlive the child: in `run_guest` it waits for
it. Fails with BootError when the program cannot be executed at all, or cannot be killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import marshal
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.errors import BootError

_LAUNCH = Path(__file__).with_name("launch.py")
_EXEC_DEADLINE_S = 30.0
_KILL_DEADLINE_S = 10.0
_REFUSED = {
    "execute": "cannot execute {program}: {why}. Give the path of an executable for this machine.",
    "place": "cannot place {program} on its CPUs: {why}. Give CPUs that are online and allowed here.",
    "tie": "cannot tie {program} to this session's life: {why}. The host forbids prctl.",
}
_PASSED_ON = ("HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR")


def base_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What a child gets to see: a few words of ours, then its own. Nothing secret reaches the evidence."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "LC_ALL": "C", **extra}


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its pid, its identity. None: it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses; what follows the last one is regular.
    return int(text.rpartition(")")[2].split()[19])


@dataclass
class Child:
    """A started program: the leader of its own group."""

    process: subprocess.Popen[bytes]
    started: int | None
    _status: int | None = field(default=None, init=False)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_status(self) -> int | None:
        """The status of a reaped child; negative: the signal that ended it."""
        return self._status

    def has_ended(self) -> bool:
        """Whether the leader is gone. It is not reaped here, so that its group's number stays ours."""
        if self._status is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def wait(self, seconds: float) -> bool:
        """Waits until the leader is gone, at most so long."""
        deadline = time.monotonic() + seconds
        pause = 0.0005
        while not self.has_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 0.01)
        return True

    def stop(self, grace_s: float) -> int:
        """Ends the whole group, politely for `grace_s`, then by force; reaps it. Gives the exit status."""
        if self._status is not None:
            return self._status
        if not self.has_ended() and grace_s > 0:
            self._signal(signal.SIGTERM)
            self.wait(grace_s)
        self._signal(signal.SIGKILL)  # also for members that outlived their leader
        if not self.wait(_KILL_DEADLINE_S):
            raise BootError(
                f"process {self.pid} does not end even on SIGKILL; it hangs in the host's kernel. "
                f"See /proc/{self.pid}/stack; only a reboot may end it."
            )
        self._status = self.process.wait()
        return self._status

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def start(  # noqa: PLR0913 - what a process needs, by name
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    descriptors: Mapping[int, int] | None = None,
    affinity: Sequence[int] = (),
) -> Child:
    """Starts `argv`. `descriptors` maps the child's numbers (3 to 9) to ours."""
    with contextlib.ExitStack() as ours:
        report_read, report_write = os.pipe()
        ours.callback(os.close, report_read)
        with contextlib.ExitStack() as theirs:
            theirs.callback(os.close, report_write)
            # All at 10 and above, so that no move in the child can fall on another descriptor.
            report_fd = theirs.enter_context(_high(report_write))
            moves = {to: theirs.enter_context(_high(fd)) for to, fd in (descriptors or {}).items()}
            order_fd = theirs.enter_context(_order(argv, environment, affinity, moves))
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCH), str(order_fd), str(report_fd)],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(order_fd, report_fd, *moves.values()),
                process_group=0,
            )
        child = Child(process, start_time(process.pid))
        try:
            _await_exec(report_read, argv[0])
        except BaseException:
            child.stop(0)
            raise
    return child


@contextlib.contextmanager
def _high(descriptor: int) -> Iterator[int]:
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    try:
        yield copy
    finally:
        os.close(copy)


@contextlib.contextmanager
def _order(
    argv: Sequence[str], environment: Mapping[str, str], affinity: Sequence[int], moves: Mapping[int, int]
) -> Iterator[int]:
    """The order for launch.py, as a descriptor to read it from."""
    order = {
        "argv": list(argv),
        "environment": dict(environment),
        "parent": os.getpid(),
        "affinity": list(affinity),
        "descriptors": dict(moves),
    }
    memory = os.memfd_create("benchgate-order")
    try:
        os.write(memory, marshal.dumps(order))
        os.lseek(memory, 0, os.SEEK_SET)
        with _high(memory) as high:
            yield high
    finally:
        os.close(memory)


def _await_exec(report: int, program: str) -> None:
    """Returns once the child runs its program. launch.py's descriptor closes at that moment."""
    if not select.select([report], [], [], _EXEC_DEADLINE_S)[0]:
        raise BootError(
            f"{program} was not executed within {_EXEC_DEADLINE_S:.0f} s; is the host overloaded?"
        )
    step, _, number = os.read(report, 64).decode().partition(" ")
    if step:
        why = f"{os.strerror(int(number))} ({errno.errorcode.get(int(number), number)})"
        raise BootError(_REFUSED.get(step, step).format(program=program, why=why))
