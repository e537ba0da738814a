"""Two sessions at once: the second says who measures, waits, gives up in time; no death leaves the lock."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from benchgate.base.errors import LockError
from benchgate.host import lock

HOLD = (
    "#\x1b[2J\n"  # a command line may hold anything; what is said of it is printable
    "import sys\n"
    "from benchgate.host import lock\n"
    "with lock.measuring(0, name=sys.argv[1]):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture
def name() -> str:
    """A lock of this test's own: the real one may be held, and is not ours to take."""
    return f"benchgate-test-{os.getpid()}-{time.monotonic_ns()}"


@contextmanager
def session(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until it is killed or its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


def test_alone_it_is_had_at_once_and_given_back(name: str) -> None:
    assert lock.holder(name) is None
    with lock.measuring(0, name=name):
        found = lock.holder(name)
        assert found is not None
        assert found.pid == os.getpid()
    assert lock.holder(name) is None
    with lock.measuring(0, name=name):
        pass


def test_it_is_given_back_when_the_measurement_fails(name: str) -> None:
    with suppress(ZeroDivisionError), lock.measuring(0, name=name):
        raise ZeroDivisionError
    assert lock.holder(name) is None


def test_the_second_says_who_measures_and_gives_up_in_time(name: str) -> None:
    heard: list[str] = []
    with session(name) as first:
        begin = time.monotonic()
        with (
            pytest.raises(LockError) as refused,
            lock.measuring(0.3, notice=heard.append, name=name),
        ):
            raise AssertionError("two sessions measure")
        assert time.monotonic() - begin >= 0.3
    said = str(refused.value)
    assert f"process {first.pid} of user " in said
    assert "started 2" in said
    assert sys.executable[:60] in said  # the command, cut where a screen would be
    assert "waited 0.3 s" in said
    assert "--lock-wait" in said
    assert said.isprintable()
    assert len(heard) == 1
    assert f"process {first.pid} of user " in heard[0]


def test_no_wait_is_no_wait(name: str) -> None:
    heard: list[str] = []
    with session(name), pytest.raises(LockError), lock.measuring(0, notice=heard.append, name=name):
        pass
    assert heard == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_dead_session_measures_no_more(name: str, number: signal.Signals) -> None:
    with session(name) as first:
        threading.Timer(0.2, first.send_signal, [number]).start()
        with lock.measuring(30, name=name):
            assert first.wait(10) != 0


def test_a_child_of_the_session_does_not_keep_it(name: str) -> None:
    with lock.measuring(0, name=name):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], close_fds=False)
    try:
        assert lock.holder(name) is None
        with lock.measuring(0, name=name):
            assert child.poll() is None
    finally:
        child.kill()
        child.wait(10)


def test_a_copy_in_a_child_does_not_say_that_we_still_measure(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[socket.socket] = []
    real = lock._try_lock

    def copied(name: str) -> socket.socket | None:
        found = real(name)
        copies.extend([found.dup()] if found else [])
        return found

    monkeypatch.setattr(lock, "_try_lock", copied)
    with lock.measuring(0, name=name):
        assert lock.holder(name) is not None
    monkeypatch.undo()
    assert lock.holder(name) is None
    threading.Timer(0.1, copies[0].close).start()
    with lock.measuring(0, name=name):
        assert copies[0].fileno() == -1


def test_twice_in_one_process_is_an_error_and_not_a_wait(name: str) -> None:
    with (
        lock.measuring(0, name=name),
        pytest.raises(LockError, match="this process already holds"),
        lock.measuring(1, name=name),
    ):
        pass


def test_a_name_that_is_taken_but_not_listened_on_is_waited_for_in_vain(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(f"\0{name}")
        with pytest.raises(LockError, match="an unknown process"), lock.measuring(0.2, name=name):
            pass
    with lock.measuring(0, name=name):
        pass


def test_many_may_wait_and_each_gets_it(name: str) -> None:
    statuses: list[int] = []

    def measure() -> None:
        program = HOLD.replace("lock.measuring(0", "lock.measuring(30").replace("sys.stdin.read()", "pass")
        argv = [sys.executable, "-c", program, name]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(argv, env=environment, capture_output=True, timeout=60, check=False)
        statuses.append(done.returncode)

    with session(name) as first:
        waiting = [threading.Thread(target=measure) for _ in range(4)]
        for thread in waiting:
            thread.start()
        time.sleep(0.2)
        first.kill()
        for thread in waiting:
            thread.join(60)
    assert statuses == [0, 0, 0, 0]
