"""Child processes: what they inherit, how they end, and that nothing is left of them."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base import process
from benchgate.base.errors import BootError
from benchgate.base.process import Child, base_environment, bound_to, start, start_time, uninterruptible
from tests import optional
from tests.machines import PATIENCE_S, wait_until

NULL = os.open(os.devnull, os.O_RDWR)
TRAP = "import signal,time,sys; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(6000)"


def shell(script: str, **more: object) -> tuple[Child, int]:
    """A shell process and the read end of its standard output."""
    read, write = os.pipe()
    words = ["/bin/sh", "-c", script]
    environment = base_environment({})
    child = start(words, environment, stdin=NULL, stdout=write, stderr=write, **more)  # type: ignore[arg-type]
    os.close(write)
    return child, read


def output(child: Child, read: int) -> bytes:
    with os.fdopen(read, "rb") as stream:
        text = stream.read()
    assert child.wait(PATIENCE_S)
    child.stop(0)
    return text


@pytest.fixture
def core_files() -> Iterator[None]:
    """Raises the limit for core files as far as this host allows."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.fixture
def started_by_a_shell_in_the_background() -> Iterator[None]:
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGQUIT, before)


@pytest.mark.usefixtures("core_files", "started_by_a_shell_in_the_background")
def test_a_child_leads_its_own_group_with_default_signals_and_no_core_file() -> None:
    child, read = shell("grep -E 'SigIgn|SigBlk' /proc/self/status; ulimit -Hc; cut -d' ' -f5 /proc/$$/stat")
    blocked, ignored, limit, group = re.findall(r"^(?:Sig\w+:\s*)?(\w+)$", output(child, read).decode(), re.M)
    assert int(blocked, 16) == 0
    # Others are glibc's own: its posix_spawn, with which Python 3.13 starts programs, leaves them ignored.
    assert [number for number in signal.valid_signals() if int(ignored, 16) >> (number - 1) & 1] == []
    assert (limit, group) == ("0", str(child.pid))
    assert child.exit_status == 0


def test_only_the_given_descriptors_are_passed_under_their_numbers() -> None:
    number, other = os.pipe()
    try:
        child, read = shell("ls /proc/$$/fd; echo via-four >&4", descriptors={4: other})
        assert output(child, read).decode().split() == ["0", "1", "2", "4"]
        assert os.read(number, 100) == b"via-four\n"
    finally:
        os.close(number)
        os.close(other)


def test_the_environment_of_this_process_does_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_SECRET", "token")
    environment = base_environment({"LD_PRELOAD": "/x.so", "PATH": "/only"})
    assert "BENCHGATE_SECRET" not in environment
    assert environment["LD_PRELOAD"] == "/x.so"
    assert environment["PATH"] == "/only"
    assert set(environment) <= {"HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "LC_ALL", "PATH", "TMPDIR"}


def test_a_child_starts_on_the_given_cpus() -> None:
    cpu = max(os.sched_getaffinity(0))
    child, read = shell("grep Cpus_allowed_list /proc/self/status", affinity=(cpu,))
    assert output(child, read).split() == [b"Cpus_allowed_list:", str(cpu).encode()]


def test_an_error_in_setting_the_affinity_is_reported() -> None:
    with pytest.raises(BootError, match=r"cannot place /bin/sh on its CPUs: .*EINVAL"):
        shell("true", affinity=(4095,))


def test_a_limit_on_file_sizes_that_truncates_the_request_is_reported() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as in a new Python
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(BootError, match=r"cannot start /bin/sh: .*File too large.*; raise .*ulimit -f"):
            shell("true")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_exit_statuses_and_signals_are_distinguished() -> None:
    for script, status in (("exit 7", 7), ("kill -9 $$", -9)):
        child, read = shell(script)
        output(child, read)
        assert child.exit_status == status


def test_sigterm_comes_before_sigkill() -> None:
    child, read = shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done")
    assert os.read(read, 3) == b"up\n"
    assert child.stop(60) == 3
    assert output(child, read).endswith(b"bye\n")  # a shell may first report that its `sleep` was terminated


def test_a_group_that_is_asked_to_leave_ends_whole_before_anybody_is_killed() -> None:
    """The leader ends at once; a member takes a moment, as a make does that removes what it was writing."""
    child, read = shell(
        "(trap 'sleep 0.3; echo whole; exit' TERM; echo up; while :; do sleep 0.01; done) & wait"
    )
    assert os.read(read, 3) == b"up\n"
    assert child.leave(PATIENCE_S)
    assert child.has_ended()
    assert output(child, read).endswith(b"whole\n")
    assert child.stop(0) == -signal.SIGTERM


def test_a_group_that_does_not_leave_in_time_is_told_apart() -> None:
    child, read = shell(f"{sys.executable} -I -S -c '{TRAP}' & wait")
    assert os.read(read, 2) == b"1\n"
    assert not child.leave(0.05)
    assert child.has_ended()
    child.stop(0)
    os.close(read)


def test_sigkill_ends_a_child_that_ignores_sigterm_and_its_whole_group() -> None:
    child, read = shell(f"sleep 6000 & echo $!; exec {sys.executable} -I -S -c '{TRAP}'")
    grandchild = int(os.read(read, 20).split()[0])
    assert os.read(read, 2) == b"1\n"
    assert child.stop(0.05) == -signal.SIGKILL
    assert wait_until(lambda: start_time(grandchild) is None or _state(grandchild) == "Z")
    os.close(read)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_group_members_that_outlive_their_leader_are_ended_too() -> None:
    child, read = shell("sleep 6000 & echo $!")
    grandchild = int(os.read(read, 20))
    assert child.wait(PATIENCE_S)
    assert _state(grandchild) != "Z"
    assert child.stop(0) == 0
    assert wait_until(lambda: start_time(grandchild) is None or _state(grandchild) == "Z")
    os.close(read)


@pytest.fixture
def slow_to_die(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Makes each wait for a killed child end early while the list has elements, as on a busy host."""
    early, wait = [True] * 4, Child.wait

    def waits(child: Child, seconds: float) -> bool:
        return False if early and early.pop() else wait(child, seconds)

    monkeypatch.setattr(Child, "wait", waits)
    return early


def test_a_child_that_is_slow_to_die_is_waited_for(slow_to_die: list[bool]) -> None:
    child, read = shell("sleep 6000")
    assert child.stop(0) == -signal.SIGKILL
    assert slow_to_die == []
    os.close(read)


STATUS = """\
Name:\tqemu-system-x86
State:\t{state}
Threads:\t2
voluntary_ctxt_switches:\t{switches}
nonvoluntary_ctxt_switches:\t3
"""


def put_thread(proc: Path, thread: int, state: str, switches: int = 7) -> None:
    folder = proc / "40" / "task" / str(thread)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "status").write_text(STATUS.format(state=state, switches=switches))


def test_only_threads_in_state_d_sleep_uninterruptibly(tmp_path: Path) -> None:
    put_thread(tmp_path, 40, "Z (zombie)")
    put_thread(tmp_path, 41, "D (disk sleep)")
    put_thread(tmp_path, 42, "R (running)")
    (tmp_path / "40" / "task" / "43").mkdir()  # it ended while its files were read
    assert uninterruptible(40, tmp_path) == {41: "7 3"}


def test_a_child_that_hangs_in_the_kernel_is_reported_with_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow_to_die: list[bool]
) -> None:
    """It is in state D at every look. Only when it has not run between two of them, it hangs."""
    child, read = shell("sleep 6000")
    looks = iter((5, 6, 6))

    def look(_: int) -> dict[int, str]:
        put_thread(tmp_path, 41, "D (disk sleep)", next(looks))
        return uninterruptible(40, tmp_path)

    monkeypatch.setattr(process, "uninterruptible", look)
    with pytest.raises(BootError, match=r"thread 41 sleeps uninterruptibly in the host's kernel \(state D\)"):
        child.stop(0)
    assert next(looks, None) is None
    slow_to_die.clear()
    assert child.stop(0) == -signal.SIGKILL
    os.close(read)


def test_wait_returns_at_its_deadline() -> None:
    child, read = shell("sleep 6000")
    begin = time.monotonic()
    assert not child.wait(0.05)
    assert time.monotonic() - begin >= 0.05
    assert not child.has_ended()
    assert child.stop(0) == -signal.SIGKILL
    assert child.has_ended()
    assert child.stop(5) == -signal.SIGKILL
    os.close(read)


@optional.needs("setpriv")
def test_a_command_runs_only_as_a_child_of_the_process_that_it_is_bound_to() -> None:
    def said(parent: int) -> tuple[int, str]:
        words = [*bound_to(parent), "sh", "-c", "echo ran with $1", "sh", "a word"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert said(os.getpid()) == (0, "ran with a word\n")
    assert said(os.getppid()) == (1, "")


def test_start_time_is_none_for_a_process_that_has_ended() -> None:
    assert start_time(os.getpid()) is not None
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert start_time(ended.pid) is None


# ---- a child that another process has made


@pytest.mark.parametrize(("number", "due"), [(0, 7), (signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_an_adopted_process_is_reaped_later_and_its_status_is_known_at_once(number: int, due: int) -> None:
    def made() -> int:
        if (pid := os.fork()) == 0:
            if number:
                os.kill(os.getpid(), number)
            os._exit(7)
        return pid

    first, second = process.AdoptedProcess(made()), process.AdoptedProcess(made())
    assert [first.wait(), first.wait()] == [due, due]
    assert process._stat(first.pid)[0] == "Z"
    assert second.wait() == due
    assert start_time(first.pid) is None
    process.reap_adopted()
    process.reap_adopted()
    assert start_time(second.pid) is None


def test_the_cpu_time_of_children_is_added_if_it_is_asked_for() -> None:
    child, read = shell("/bin/sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo; read x")
    assert os.read(read, 1) == b"\n"
    own, whole = child.cpu_s(), child.cpu_s(with_children=True)
    child.stop(0)
    os.close(read)
    assert own is not None
    assert whole is not None
    assert whole > own
