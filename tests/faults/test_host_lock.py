"""The measuring lock with two sessions: the second names the lock holder, then waits or gives up in time. The
lock is free after its holder ends, however it ends.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from benchgate.base.errors import LockError
from benchgate.host import lock
from tests.machines import PATIENCE_S

HOLD = (
    "#\x1b[2J\n"  # a command line may contain terminal escapes; the message must be printable
    "import sys\n"
    "from benchgate.host import lock\n"
    "with lock.measuring(0, notice=lambda text: print(text, flush=True), name=sys.argv[1]):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture
def name() -> str:
    """A lock of this test's own, because another session may hold the real one."""
    return f"benchgate-test-{os.getpid()}-{time.monotonic_ns()}"


def start(program: str, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@contextmanager
def session(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until it is killed or its input ends."""
    with start(HOLD, name) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


def test_a_free_lock_is_taken_without_waiting_and_released(name: str) -> None:
    assert lock.holder(name) is None
    with lock.measuring(0, name=name):
        holder = lock.holder(name)
        assert holder is not None
        assert holder.pid == os.getpid()
    assert lock.holder(name) is None
    with lock.measuring(0, name=name):
        pass


def test_the_lock_is_released_when_the_measurement_fails(name: str) -> None:
    with suppress(ZeroDivisionError), lock.measuring(0, name=name):
        raise ZeroDivisionError
    assert lock.holder(name) is None


def test_the_second_session_names_the_lock_holder_and_gives_up_in_time(name: str) -> None:
    notices: list[str] = []
    with session(name) as first:
        begin = time.monotonic()
        with (
            pytest.raises(LockError) as refused,
            lock.measuring(0.3, notice=notices.append, name=name),
        ):
            raise AssertionError("two sessions measure")
        assert time.monotonic() - begin >= 0.3
    said = str(refused.value)
    assert f"process {first.pid} of user " in said
    assert "started 2" in said
    assert sys.executable[:60] in said  # the command, which is cut to fit a line
    assert "waited 0.3 s" in said
    assert "--lock-wait" in said
    assert said.isprintable()
    assert len(notices) == 1
    assert f"process {first.pid} of user " in notices[0]


def test_a_wait_that_a_busy_host_uses_up_is_noticed_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder is identified only after the whole wait."""
    notices: list[str] = []
    identify = lock._identify

    def late(connection: socket.socket) -> lock.Holder:
        time.sleep(0.1)
        return identify(connection)

    monkeypatch.setattr(lock, "_identify", late)
    with session(name), pytest.raises(LockError), lock.measuring(0.05, notice=notices.append, name=name):
        pass
    assert [notice.partition(" for ")[0] for notice in notices] == ["waiting up to 0 s"]


def test_a_wait_of_zero_gives_up_without_a_notice(name: str) -> None:
    notices: list[str] = []
    with session(name), pytest.raises(LockError), lock.measuring(0, notice=notices.append, name=name):
        pass
    assert notices == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_waiting_session_gets_the_lock_when_the_holder_is_killed(name: str, number: signal.Signals) -> None:
    with (
        session(name) as first,
        lock.measuring(PATIENCE_S, notice=lambda _: first.send_signal(number), name=name),
    ):
        assert first.wait(PATIENCE_S) != 0


def test_a_child_of_the_session_does_not_keep_the_lock(name: str) -> None:
    with lock.measuring(0, name=name):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(6000)"], close_fds=False)
    try:
        assert lock.holder(name) is None
        with lock.measuring(0, name=name):
            assert child.poll() is None
    finally:
        child.kill()
        child.wait(PATIENCE_S)


def test_a_copy_of_the_socket_in_a_child_is_waited_for_but_is_no_holder(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[socket.socket] = []
    real = lock._try_lock

    def copied(name: str) -> socket.socket | None:
        result = real(name)
        copies.extend([result.dup()] if result else [])
        return result

    monkeypatch.setattr(lock, "_try_lock", copied)
    with lock.measuring(0, name=name):
        assert lock.holder(name) is not None
    monkeypatch.undo()
    monkeypatch.setattr(lock, "_GRACE_S", PATIENCE_S)  # a busy host may delay the timer
    assert lock.holder(name) is None
    threading.Timer(0.1, copies[0].close).start()
    with lock.measuring(0, name=name):
        assert copies[0].fileno() == -1


def test_taking_the_lock_twice_in_one_process_is_an_error_and_not_a_wait(name: str) -> None:
    with (
        lock.measuring(0, name=name),
        pytest.raises(LockError, match="this process already holds"),
        lock.measuring(1, name=name),
    ):
        pass


def test_a_name_in_use_without_a_listener_is_reported_as_an_unknown_process(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(f"\0{name}")
        with pytest.raises(LockError, match="an unknown process"), lock.measuring(0.2, name=name):
            pass
    with lock.measuring(0, name=name):
        pass


def test_every_waiting_session_gets_the_lock(name: str) -> None:
    program = HOLD.replace("lock.measuring(0", "lock.measuring(600").replace("sys.stdin.read()", "pass")
    with session(name) as first, ExitStack() as stack:
        waiting = [stack.enter_context(start(program, name)) for _ in range(4)]
        for process in waiting:
            stack.callback(process.kill)
            assert process.stdout is not None
            assert re.match(rb"waiting up to \d+ s for process ", process.stdout.readline())
        first.kill()
        for process in waiting:
            process.communicate(timeout=PATIENCE_S)
    assert [process.returncode for process in waiting] == [0, 0, 0, 0]
