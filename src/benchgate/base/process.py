"""Child processes that never outlive this one and are always reaped.

Takes an argv, an environment and descriptors; gives a `Child`, the leader of its own process group. A
parent-death signal kills it when the calling thread ends, so that thread must outlive the child. `capture`
runs a program to its end and gives its output. Fails with BootError if the program cannot be executed, or if
the kernel shows that it cannot be killed.

Until the signal is set, nothing binds the child to us. Two small programs in C keep that gap short: setpriv
sets the signal before launcher.py's interpreter starts, which takes seconds on a busy host; sh then ends at
once if we died before that. On a host without such a setpriv, only launcher.py does both. In no case is the
program executed without the signal.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import marshal
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from benchgate.base.errors import BootError
from benchgate.base.interrupts import held

_LAUNCHER = Path(__file__).with_name("launcher.py")
_EXEC_DEADLINE_S = 30.0
_KILL_LOOK_S = 10.0
"""The seconds between two looks at a killed process that has not ended."""
_REFUSED = {
    "execute": "cannot execute {program}: {why}. Give the path of an executable for this machine.",
    "affinity": "cannot place {program} on its CPUs: {why}. Give CPUs that are online and allowed here.",
    "death-signal": "cannot set the parent-death signal of {program}: {why}. Allow prctl on this host.",
}
TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})
MORE_FILES = "raise the limit on open files (`ulimit -n 1024`)"
_TELL_ALL = """trap 'trap "" TERM; kill -TERM 0; wait; exit 143' TERM; "$@" & wait $!"""
_PASSED_ON = ("HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR")


def base_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """A child's environment: a few of ours, then `extra`. The session folder must not hold our secrets."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "LC_ALL": "C", **extra}


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it has ended. Pid and start identify it."""
    result = _stat(pid)
    return int(result[19]) if result else None


def cpu_s(pid: int, *, with_children: bool = False) -> float | None:
    """The CPU time that all threads of a process have used, and its children that have ended; None if it has
    ended itself."""
    ticks = _stat(pid)[11 : 15 if with_children else 13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") if ticks else None


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; empty if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    # The name in parentheses may itself contain spaces and parentheses, so parse after the last one.
    return text.rpartition(")")[2].split()


def uninterruptible(pid: int, proc: Path = Path("/proc")) -> dict[int, str]:
    """The threads of a process that sleep uninterruptibly (state D), with how often each was scheduled out.
    The same number at two looks: the thread has not run in between."""
    result = {}
    for task in proc.glob(f"{pid}/task/*"):
        with contextlib.suppress(OSError):
            text = (task / "status").read_text(encoding="ascii", errors="replace")
            words = dict(re.findall(r"^(State|\w*voluntary_ctxt_switches):\s*(\w+)", text, re.MULTILINE))
            if words.pop("State", "") == "D":
                result[int(task.name)] = " ".join(words.values())
    return result


def bound_to(parent: int) -> tuple[str, ...]:
    """The words before a command that make it die with this process, of which it must be a child. Empty on a
    host without a setpriv that can do it; BusyBox's cannot."""
    setpriv = _setpriv()
    return (*setpriv, "/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(parent)) if setpriv else ()


def told_to_end() -> tuple[str, ...]:
    """The words before a command of `start` with which its whole group gets SIGTERM when this process dies;
    the command alone would get SIGKILL, and its children nothing. Empty on a host without such a setpriv."""
    shell = ("/bin/sh", "-c", _TELL_ALL, "sh")
    return (_setpriv()[0], "--pdeathsig", "TERM", *shell) if _setpriv() else ()


def _members(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = {int(path.name): _stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    return [pid for pid, words in found.items() if words and int(words[2]) == group and words[0] not in "ZX"]


@cache
def _setpriv() -> tuple[str, ...]:
    path = shutil.which("setpriv")
    if path is None:
        return ()
    words = (path, "--pdeathsig", "KILL")
    tried = subprocess.run([*words, "/bin/sh", "-c", ":"], capture_output=True, check=False)
    return words if tried.returncode == 0 else ()


_unreaped: deque[int] = deque()


def reap_adopted() -> None:
    """Reaps adopted processes that have ended."""
    while _unreaped:
        with contextlib.suppress(IndexError, ChildProcessError):  # of another thread, or before a fork
            os.waitpid(_unreaped.popleft(), 0)


class AdoptedProcess:
    """A child of this process that another process has made for it.

    When it has ended, its last thread may still be taking its files out of /proc, and on a busy host without
    a CPU for that; the kernel spins in whoever reaps it then, for 2 ms of CPU time. So it is reaped later:
    by `reap_adopted`, or when the next one has ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            reap_adopted()
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            assert ended is not None  # without WNOHANG
            signalled = ended.si_code != os.CLD_EXITED
            self.returncode = -ended.si_status if signalled else ended.si_status
            _unreaped.append(self.pid)
        return self.returncode


@dataclass
class Child:
    """A started program: the leader of its own group."""

    process: subprocess.Popen[bytes] | AdoptedProcess
    started: int | None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_status(self) -> int | None:
        """The status of a reaped child (negative: the signal that ended it); None before that."""
        return self.process.returncode

    def cpu_s(self, *, with_children: bool = False) -> float | None:
        """The CPU time that the leader has used; None if it was reaped."""
        return cpu_s(self.pid, with_children=with_children) if self.exit_status is None else None

    def has_ended(self) -> bool:
        """Whether the leader has ended. It is not reaped here, so that its group id cannot be reused."""
        if self.exit_status is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def wait(self, seconds: float) -> bool:
        """Waits at most this long for the leader to end; gives whether it did."""
        deadline = time.monotonic() + seconds
        pause = 0.0005
        while not self.has_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 0.01)
        return True

    def leave(self, grace_s: float) -> bool:
        """Asks the whole group to end, by SIGTERM; gives whether every member has ended in time. Nothing is
        killed, and the leader is not reaped."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while _members(self.pid):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def stop(self, grace_s: float) -> int:
        """Ends the whole group: SIGTERM, then SIGKILL after `grace_s`. Reaps it and gives the exit status. On
        a busy host a killed process may need long to end; only one that hangs in the kernel is given up."""
        if self.exit_status is not None:
            return self.exit_status
        if not self.has_ended() and grace_s > 0:
            self._signal(signal.SIGTERM)
            self.wait(grace_s)
        self._signal(signal.SIGKILL)  # also for members that outlived their leader
        before: set[tuple[int, str]] = set()
        while not self.wait(_KILL_LOOK_S):
            now = set(uninterruptible(self.pid).items())
            if stuck := sorted(thread for thread, _ in now & before):
                raise BootError(
                    f"process {self.pid} did not end on SIGKILL: thread {stuck[0]} sleeps uninterruptibly in "
                    f"the host's kernel (state D) and has not run for {_KILL_LOOK_S:.0f} s. "
                    f"See /proc/{self.pid}/task/{stuck[0]}/stack; a reboot may be needed to end it."
                )
            before = now
        return self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def start(  # noqa: PLR0913 - a process has this many properties
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    descriptors: Mapping[int, int] | None = None,
    affinity: Sequence[int] = (),
    folder: Path | None = None,
) -> Child:
    """Starts `argv`. `descriptors` maps the child's descriptor numbers (3 to 9) to ours.

    Call this inside `held`, together with what will stop the child: an interrupt between the two loses it.
    """
    with contextlib.ExitStack() as ours:
        report_read, report_write = os.pipe()
        ours.callback(os.close, report_read)
        with contextlib.ExitStack() as theirs:
            theirs.callback(os.close, report_write)
            # Copies at 10 and above, so that no dup2 in the child can overwrite another of them.
            report_fd = theirs.enter_context(_high(report_write))
            moves = {to: theirs.enter_context(_high(fd)) for to, fd in (descriptors or {}).items()}
            request_fd = theirs.enter_context(_request(argv, environment, affinity, moves))
            process = subprocess.Popen(
                [
                    *bound_to(os.getpid()),
                    *(sys.executable, "-I", "-S", str(_LAUNCHER), str(request_fd), str(report_fd)),
                ],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(request_fd, report_fd, *moves.values()),
                process_group=0,
                cwd=folder,
            )
        child = Child(process, start_time(process.pid))
        try:
            _await_exec(report_read, argv[0])
        except BaseException:
            child.stop(0)
            raise
    return child


def capture(
    argv: Sequence[str], timeout_s: float, environment: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, with `given` on its standard input, and gives its output. Raises
    subprocess.TimeoutExpired. The whole process group is always killed, because the program may be a script
    whose child hangs."""
    try:
        return _capture(argv, timeout_s, environment, given)
    except OSError as error:
        if error.errno not in TOO_MANY_FILES:
            raise
        raise BootError(f"cannot start {argv[0]}: {error.strerror}; {MORE_FILES}") from error


def _capture(
    argv: Sequence[str], timeout_s: float, environment: Mapping[str, str], given: bytes
) -> subprocess.CompletedProcess[str]:
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as source,
        contextlib.ExitStack() as stack,
    ):
        source.write(given)
        source.seek(0)
        with held():
            child = start(
                argv, environment, stdin=source.fileno(), stdout=output.fileno(), stderr=errors.fileno()
            )
            stack.callback(child.stop, 0)
        in_time = child.wait(timeout_s)
        status = child.stop(0)
        if not in_time:
            raise subprocess.TimeoutExpired(list(argv), timeout_s)
        return subprocess.CompletedProcess(list(argv), status, _text(output), _text(errors))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


@contextlib.contextmanager
def _high(descriptor: int) -> Iterator[int]:
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    try:
        yield copy
    finally:
        os.close(copy)


@contextlib.contextmanager
def _request(
    argv: Sequence[str], environment: Mapping[str, str], affinity: Sequence[int], moves: Mapping[int, int]
) -> Iterator[int]:
    """Gives a descriptor from which launcher.py reads its request."""
    request = {"argv": list(argv), "environment": dict(environment), "parent": os.getpid()}
    request |= {"affinity": list(affinity), "descriptors": dict(moves)}
    memory = os.memfd_create("benchgate-request")
    try:
        _write_all(memory, marshal.dumps(request), argv[0])
        os.lseek(memory, 0, os.SEEK_SET)
        with _high(memory) as high:
            yield high
    finally:
        os.close(memory)


def _write_all(descriptor: int, data: bytes, program: str) -> None:
    """Writes everything, also after short writes such as one that reaches the limit on file sizes."""
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError as error:
        raise BootError(
            f"cannot start {program}: writing its arguments to memory failed: {error.strerror}; "
            "raise the limit on file sizes (`ulimit -f`), or free some memory"
        ) from error


def _await_exec(report: int, program: str) -> None:
    """Returns once the child has executed its program, which closes launcher.py's end of the pipe."""
    if not select.select([report], [], [], _EXEC_DEADLINE_S)[0]:
        raise BootError(
            f"{program} was not executed within {_EXEC_DEADLINE_S:.0f} s; is the host overloaded?"
        )
    step, _, number = os.read(report, 64).decode().partition(" ")
    if step:
        why = f"{os.strerror(int(number))} ({errno.errorcode.get(int(number), number)})"
        raise BootError(_REFUSED.get(step, step).format(program=program, why=why))
