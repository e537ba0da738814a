"""Every way in which a guest or its QEMU can fail, played by the fake QEMU; each has an ending and reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import BootError, EvidenceError, VerifyError
from benchgate.base.runs import Deadlines, Ending, RawRun
from benchgate.host.noise import detectors
from benchgate.host.resctrl import MemoryCounters
from benchgate.judge import wire
from benchgate.judge.noise import disturbance
from benchgate.judge.run_files import RunFiles
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import boot_interactive
from benchgate.run.record import load
from benchgate.run.watch import GUEST_WATCH
from tests.machines import (
    FAKE_QEMU,
    NONCE,
    PATIENCE_S,
    PATIENT,
    QUICK,
    boot,
    open_files,
    processes_with,
    request,
)

HANGS_IN_BOOT = Deadlines(boot_s=2.0, run_s=PATIENCE_S)
HANGS_IN_RUN = Deadlines(boot_s=PATIENCE_S, run_s=0.5)
STAYS_S = 0.3


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of this test's own. After the test it is empty, and no guest is left."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    before = open_files()
    yield folder
    assert list(folder.iterdir()) == []
    assert processes_with(f"benchgate-{NONCE},") == []
    assert open_files() <= before


def run(tmp_path: Path, play: str, deadlines: Deadlines = PATIENT, **limits: float) -> RawRun:
    spec = boot(tmp_path, play, deadlines=deadlines)
    bounds = ConsoleLimits(**{**_fields(QUICK), **limits})  # type: ignore[arg-type]
    asked = request(spec, tmp_path / "run", limits=bounds)
    raw = execute(asked)
    assert load(asked.folder) == raw
    return raw


def _fields(limits: ConsoleLimits) -> dict[str, float]:
    return {name: getattr(limits, name) for name in limits.__slots__}


def serial(raw: RawRun) -> bytes:
    return (raw.folder / "serial.log").read_bytes()


def test_a_good_guest_is_done_and_has_its_evidence(tmp_path: Path) -> None:
    phases: list[str] = []
    spec = boot(tmp_path, "good", pins=(0,) * 2)
    raw = execute(request(spec, tmp_path / "run"), phases.append)
    assert (raw.ending, raw.exit_status, raw.detail) == (Ending.DONE, 33, "")
    assert list(dict.fromkeys(phases)) == ["starting", "booting", "running", "ended"]
    assert serial(raw).count(b"@bench ") == 7
    assert serial(raw).endswith(b"\r\n")
    assert json.loads((raw.folder / "argv.json").read_text()) == list(spec.argv)
    assert "PATH" in json.loads((raw.folder / "environment.json").read_text())
    affinity = json.loads((raw.folder / "affinity.json").read_text())
    assert [item["found"] for item in affinity if item["vcpu"] is not None] == [[0], [0]]
    samples = json.loads((raw.folder / "threads.json").read_text())
    assert [sample["moment"] for sample in samples][:2] == ["start", "ready"]
    vcpus = [thread for thread in samples[0]["threads"] if thread["vcpu"] is not None]
    assert [thread["vcpu"] for thread in vcpus] == [0, 1]
    assert all(isinstance(thread["run_ns"], int) for thread in vcpus)


class CountingGroup:
    """Replaces resctrl's group of a host that counts."""

    joined: ClassVar[list[int]] = []
    closed: ClassVar[list[str]] = []
    why = ""

    def __init__(self, name: str, _: Path) -> None:
        self._name = name

    def join(self, threads: list[int]) -> None:
        self.joined.extend(threads)

    def read(self) -> MemoryCounters:
        return MemoryCounters(time.monotonic_ns(), 4096, len(self.joined))

    def close(self) -> None:
        self.closed.append(self._name)


@pytest.mark.parametrize("counts", [True, False])
def test_what_it_holds_of_the_hosts_memory_is_counted_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    monkeypatch.setattr("benchgate.run.thread_use.Group", CountingGroup)
    monkeypatch.setattr(CountingGroup, "joined", [])
    monkeypatch.setattr(CountingGroup, "closed", [])
    spec = replace(boot(tmp_path, "good", pins=(0,) * 2), counts_memory=counts)
    raw = execute(request(spec, tmp_path / "run"))
    assert raw.ending is Ending.DONE
    assert (raw.folder / "memory.json").exists() is counts
    assert CountingGroup.closed == [f"benchgate-{NONCE}"] * counts
    if counts:
        threads = json.loads((raw.folder / "threads.json").read_text())[0]["threads"]
        assert {thread["thread"] for thread in threads} <= set(CountingGroup.joined)
        moments = [one["moment"] for one in json.loads((raw.folder / "memory.json").read_text())["samples"]]
        assert [moment for moment in moments if moment][:4] == ["start", "ready", "result", "end"]
        assert "" in moments


def test_a_guest_without_pins_is_kept_to_the_named_host_cpus(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    raw = execute(request(replace(boot(tmp_path), host_cpus=(cpu,)), tmp_path / "run"))
    assert raw.ending is Ending.DONE
    affinity = json.loads((raw.folder / "affinity.json").read_text())
    assert len(affinity) >= 3  # two vCPUs and the main loop
    assert [item["found"] for item in affinity] == [[cpu]] * len(affinity)


def test_the_cpu_time_that_the_host_withheld_is_read_back_from_the_run(tmp_path: Path) -> None:
    """The test computes the sum from threads.json, as a third party can. Steal is whole ticks above it."""
    raw = run(tmp_path, "stays", leave_s=STAYS_S)  # its threads all live until it is stopped
    samples = {one["moment"]: one["threads"] for one in json.loads((raw.folder / "threads.json").read_text())}
    waited = [
        sum(use["delay_ns"] for use in samples[moment] if use["vcpu"] is not None)
        for moment in ("ready", "result")
    ]
    stall = disturbance(RunFiles(raw)).stall_ns
    assert stall is not None
    more = stall - (waited[1] - waited[0])
    assert more >= 0
    assert more % (10**9 // os.sysconf("SC_CLK_TCK")) == 0


@pytest.mark.parametrize("play", ["good", "stays"])
def test_the_time_that_the_machine_ran_is_recorded(tmp_path: Path, play: str) -> None:
    """The host's clock measures from `cont` to the exit, or until the machine was stopped."""
    before = time.monotonic_ns()
    raw = run(tmp_path, play, leave_s=STAYS_S if play == "stays" else QUICK.leave_s)
    samples = json.loads((raw.folder / "threads.json").read_text())
    assert samples[-1]["moment"] == {"good": "exit", "stays": "stop"}[play]
    assert raw.host_span_ns == samples[-1]["t_ns"] - samples[0]["t_ns"]
    assert raw.host_span_ns is not None
    assert 0 < raw.host_span_ns < time.monotonic_ns() - before


def test_the_withheld_time_of_a_guest_that_never_got_ready_is_unknown(tmp_path: Path) -> None:
    assert disturbance(RunFiles(run(tmp_path, "panic"))).stall_ns is None


def test_the_hosts_counters_are_recorded_around_a_run(tmp_path: Path) -> None:
    """The counters are those of the pinned CPUs. What this host does not offer is absent, not 0."""
    raw = execute(request(boot(tmp_path, pins=(0,) * 2), tmp_path / "run"))
    result = json.loads((raw.folder / "host.json").read_text())
    assert [one["moment"] for one in result["samples"]][:2] == ["start", "ready"]
    offered = detectors()
    names = {"steal": "steal_ticks", "PSI cpu": "psi_cpu_us", "frequency": "frequency_khz"}
    names |= {"throttling": "throttles"}
    for sample in result["samples"]:
        assert {name: sample[key] != "unavailable" for name, key in names.items()} == {
            name: offered[name] for name in names
        }
        assert list(sample["all_ticks"]) == ["0"]


def test_on_the_instruction_clock_no_counter_of_the_host_is_recorded(tmp_path: Path) -> None:
    spec = replace(boot(tmp_path), lane=Lane.INSN)
    raw = execute(request(spec, tmp_path / "run"))
    assert not (raw.folder / "host.json").exists()


def test_a_recorded_console_is_replayed_under_a_new_nonce(tmp_path: Path) -> None:
    """The plugin tests depend on this: the parser accepts the replay, but only under this run's nonce."""
    play = f"good fake.console={FAKE_QEMU.parent}/consoles/good-linux-primes-smp{{n}}.log"
    raw = run(tmp_path, play)
    assert (raw.ending, raw.detail) == (Ending.DONE, "")
    assert len(wire.parse(serial(raw), nonce=NONCE).reports) == 2
    with pytest.raises(VerifyError):
        wire.parse(serial(raw), nonce="ffffffffffffffff")


def test_a_guest_that_ends_before_qmp_answers_counts(tmp_path: Path) -> None:
    raw = run(tmp_path, "quick")
    assert (raw.ending, raw.detail) == (Ending.DONE, "")
    assert b'"return": {}, "id"' not in (raw.folder / "qmp.log").read_bytes()


def test_nothing_is_sent_after_cont(tmp_path: Path) -> None:
    raw = run(tmp_path, "good")
    lines = [json.loads(line) for line in (raw.folder / "qmp.log").read_text().splitlines()]
    sent = [line["sent"]["execute"] for line in lines if "sent" in line]
    assert sent == ["qmp_capabilities", "query-cpus-fast", "cont"]
    assert lines[-1]["received"]["event"] == "SHUTDOWN"


def test_a_console_in_small_pieces_is_read_byte_for_byte(tmp_path: Path) -> None:
    whole = serial(run(tmp_path, "good"))
    pieces = run(tmp_path, "dribble")
    assert pieces.ending is Ending.DONE
    assert serial(pieces) == whole


@pytest.mark.parametrize(
    ("play", "ending", "detail"),
    [
        ("panic", Ending.PANIC, "Kernel panic - not syncing: VFS: Unable to mount root fs"),
        ("panic-reboot", Ending.PANIC, "Attempted to kill init!"),
        ("panic-tern", Ending.PANIC, "panic: cpu=1 lock held too long"),
        ("fail", Ending.FAILED, "benchfail: out of memory for 2 workers"),
        ("late-fail", Ending.FAILED, "benchfail: worker 1 never stopped"),
        ("early", Ending.EOF, "before its end line"),
        ("killed", Ending.EOF, "killed by SIGKILL while it ran"),
        ("stays", Ending.RUN_DEADLINE, "did not exit"),
        ("orphan", Ending.EOF, "failed with status 1"),
        ("endless", Ending.OUTPUT_LIMIT, "more than 1048576 bytes of output"),
        ("endless-stderr", Ending.OUTPUT_LIMIT, "on standard error"),
    ],
)
def test_a_failing_guest_is_recorded_as_such(tmp_path: Path, play: str, ending: Ending, detail: str) -> None:
    raw = run(tmp_path, play, leave_s=STAYS_S if play == "stays" else QUICK.leave_s)
    assert raw.ending is ending
    assert detail in raw.detail


@pytest.mark.parametrize(("play", "status"), [("panic", None), ("panic-reboot", 0)])
def test_the_host_ends_a_guest_that_panicked_if_it_does_not_end_itself(
    tmp_path: Path, play: str, status: int | None
) -> None:
    assert run(tmp_path, play, linger_s=PATIENCE_S if status == 0 else 0.1).exit_status == status


@pytest.mark.parametrize("play", ["wrong-nonce", "torn"])
def test_a_forged_console_is_kept_for_the_verifier(tmp_path: Path, play: str) -> None:
    """The run ends as a good one does. Only the parser can find the fault, in these bytes."""
    raw = run(tmp_path, play)
    assert raw.ending is Ending.DONE
    assert (b"nonce=deadbeefdeadbeef" in serial(raw)) == (play == "wrong-nonce")
    assert len(serial(raw)) > 200


def test_a_panic_keeps_the_text_that_follows(tmp_path: Path) -> None:
    assert b"Comm: swapper/0" in serial(run(tmp_path, "panic"))


@pytest.mark.parametrize("status", [0, 33])
def test_a_reset_after_the_result_is_a_failure_unless_the_system_names_it(
    tmp_path: Path, status: int
) -> None:
    """With `-no-reboot` a reset, or a triple fault, ends QEMU with status 0, as a power-off does."""
    play = f"good fake.reason=guest-reset fake.status={status}"
    raw = run(tmp_path, play)
    assert (raw.ending, raw.exit_status) == (Ending.FAILED, status)
    assert "guest-reset, a reset or a triple fault" in raw.detail
    allowed = replace(GUEST_WATCH, may_reset=True)
    asked = replace(request(boot(tmp_path, play), tmp_path / "allowed"), watch=allowed)
    assert execute(asked).ending is Ending.DONE


def test_a_reset_during_the_run_is_named(tmp_path: Path) -> None:
    raw = run(tmp_path, "early fake.reason=guest-reset")
    assert raw.ending is Ending.EOF
    assert "before its end line; QEMU reports that the guest ended itself: guest-reset" in raw.detail


def test_a_guest_that_cannot_power_off_must_not(tmp_path: Path) -> None:
    watch = replace(GUEST_WATCH, kill_after_end=True)
    asked = replace(request(boot(tmp_path, "good"), tmp_path / "run"), watch=watch)
    raw = execute(asked)
    assert raw.ending is Ending.FAILED
    assert "guest-shutdown. Its YAML says that it cannot" in raw.detail


def test_a_hang_in_boot_ends_at_its_deadline(tmp_path: Path) -> None:
    raw = run(tmp_path, "hang-boot", HANGS_IN_BOOT)
    assert raw.ending is Ending.BOOT_DEADLINE
    assert raw.detail == "not ready within 2 s; the last line was: SeaBIOS (fake)"


@pytest.mark.parametrize("play", ["hang-run", "stubborn"])
def test_a_hang_in_the_run_ends_at_its_deadline_even_if_sigterm_is_ignored(
    tmp_path: Path, play: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if play == "hang-run":
        monkeypatch.setattr("benchgate.run.guest._STOP_GRACE_S", PATIENCE_S)
    raw = run(tmp_path, play, HANGS_IN_RUN)
    assert raw.ending is Ending.RUN_DEADLINE
    assert "within its deadline (0.5 s)" in raw.detail
    assert raw.exit_status is None  # the host ended it


def test_the_logs_of_an_endless_guest_are_bounded(tmp_path: Path) -> None:
    assert len(serial(run(tmp_path, "endless", console_bytes=5000))) == 5000
    raw = run(tmp_path, "endless-stderr", stderr_bytes=3000)
    assert (raw.folder / "stderr.log").stat().st_size == 3000


def test_the_detail_contains_no_terminal_escapes(tmp_path: Path) -> None:
    raw = run(tmp_path, "escape", HANGS_IN_BOOT)
    assert raw.detail.isascii()
    assert raw.detail.isprintable()
    assert len(raw.detail) < 300
    assert b"\x1b[2J" in serial(raw)


@pytest.mark.parametrize(
    ("play", "detail"),
    [
        ("cannot-start", "failed to set MSR"),
        ("bad-greeting", "QMP failed at the greeting"),
        ("few-cpus", "QEMU has 1 vCPUs, but 2 were requested"),
        ("foreign-thread", "not threads of process"),
        ("cont-dies", "ran no guest (status 1)"),
    ],
)
def test_a_qemu_that_runs_no_guest_is_recorded_as_such(tmp_path: Path, play: str, detail: str) -> None:
    raw = run(tmp_path, play)
    assert raw.ending is Ending.NO_START
    assert detail in raw.detail


def test_the_output_of_a_qemu_that_benchgate_stops_is_not_the_reason(tmp_path: Path) -> None:
    """A wrapper without `exec` cannot be used. What it prints when it is stopped does not explain that."""
    spec = boot(tmp_path)
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\ntrap "echo terminating on signal 15 >&2" TERM\n{spec.argv[0]} "$@"\n')
    wrapper.chmod(0o755)
    raw = execute(request(replace(spec, argv=(str(wrapper), *spec.argv[1:])), tmp_path / "run"))
    assert raw.ending is Ending.NO_START
    assert raw.detail.endswith("Give the QEMU binary itself, or a wrapper that calls it with exec.")


@pytest.mark.parametrize("play", ["no-greeting", "mute"])
def test_a_qemu_that_does_not_answer_over_qmp(
    tmp_path: Path, play: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchgate.run.guest._QMP_S", 0.5)
    raw = run(tmp_path, play)
    assert raw.ending is Ending.NO_START
    assert "within 0.5 s" in raw.detail


def test_vcpus_on_one_thread_cannot_be_pinned(tmp_path: Path) -> None:
    raw = execute(request(boot(tmp_path, "one-thread", pins=(0, 0)), tmp_path / "run"))
    assert raw.ending is Ending.NO_START
    assert "several vCPUs on one thread" in raw.detail


def test_a_pin_to_a_cpu_that_does_not_exist(tmp_path: Path) -> None:
    raw = execute(request(boot(tmp_path, pins=(0, 4095)), tmp_path / "run"))
    assert raw.ending is Ending.NO_START
    assert "cannot be pinned to CPU 4095" in raw.detail


def test_a_kernel_image_that_does_not_exist(tmp_path: Path) -> None:
    spec = boot(tmp_path, kernel=tmp_path / "no-such-kernel")
    raw = execute(request(spec, tmp_path / "run"))
    assert raw.ending is Ending.NO_START
    assert "could not open kernel file" in raw.detail


def broken_binary(tmp_path: Path, text: bytes | None, mode: int) -> RunRequest:
    spec = boot(tmp_path)
    binary = tmp_path / "broken-qemu"
    if text is not None:
        binary.write_bytes(text)
        binary.chmod(mode)
    argv = (str(binary), *spec.argv[1:])
    return request(type(spec)(argv, {}, spec.lane, 2, (), spec.deadlines), tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [(None, 0, "ENOENT"), (b"#!/bin/sh\n", 0o644, "EACCES"), (b"\x7fELF nonsense", 0o755, "ENOEXEC")],
)
def test_a_binary_that_cannot_be_executed(tmp_path: Path, text: bytes | None, mode: int, why: str) -> None:
    asked = broken_binary(tmp_path, text, mode)
    with pytest.raises(BootError, match=rf"cannot execute .*broken-qemu.*{why}"):
        execute(asked)
    kept = load(asked.folder)
    assert kept.ending is Ending.NO_START
    assert why in kept.detail


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    asked = request(boot(tmp_path), tmp_path / "run")
    (asked.folder / "serial.log").symlink_to("/dev/full")
    with pytest.raises(EvidenceError, match="No space left on device"):
        execute(asked)
    assert load(asked.folder).ending is Ending.INTERRUPTED


FEW_FILES = """
import os, resource, sys
from pathlib import Path
from benchgate.base.errors import BenchgateError
from benchgate.run.attempt import execute
from tests.machines import boot, request

where, (_, most) = Path(sys.argv[1]), resource.getrlimit(resource.RLIMIT_NOFILE)
spec = boot(where)
for more in (*range(30), 1000):
    asked = request(spec, where / f"run-{more}")
    first = os.open(os.devnull, os.O_RDONLY)
    os.close(first)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first + more, most))
    try:
        print(execute(asked).ending)
    except BenchgateError as error:
        print(type(error).__name__, error)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
"""


def test_a_limit_on_open_files_is_reported_wherever_it_is_reached(tmp_path: Path) -> None:
    """Each attempt may open one file more than the one before. What Python cannot raise it prints."""
    argv = [sys.executable, "-W", "error", "-c", FEW_FILES, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    *early, last = done.stdout.splitlines()
    assert last == "done"
    refused = [line for line in early if line != "done"]
    assert len(refused) >= 10  # a guest needs at least as many
    assert [line for line in refused if "raise the limit on open files (`ulimit -n" not in line] == []


def test_two_boots_at_once_do_not_interfere(tmp_path: Path) -> None:
    nonces = ("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")
    runs: dict[str, RawRun] = {}

    def one(nonce: str) -> None:
        home = tmp_path / nonce
        home.mkdir()
        runs[nonce] = execute(request(boot(home, "dribble", nonce=nonce), home / "run", nonce=nonce))

    threads = [threading.Thread(target=one, args=(nonce,)) for nonce in nonces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    for nonce, other in (nonces, nonces[::-1]):
        assert runs[nonce].ending is Ending.DONE
        assert f"nonce={nonce} ".encode() in serial(runs[nonce])
        assert other.encode() not in serial(runs[nonce])


def test_long_paths_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a Unix socket has at most 107 bytes, so no socket of a guest has a path."""
    deep = tmp_path.joinpath(*["a-folder-with-a-long-name" * 2] * 6)
    deep.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(deep))
    raw = execute(request(boot(tmp_path), deep / "run"))
    assert len(str(raw.folder)) > 300
    assert raw.ending is Ending.DONE


def test_a_user_can_talk_to_the_console_and_qmp(tmp_path: Path) -> None:
    spec = boot(tmp_path, "echo")
    with boot_interactive(spec, mark=NONCE) as machine:
        machine.console.expect(b"READY")
        assert machine.exit_status is None
        machine.console.sendline("hello")
        machine.console.expect(rb"you said (\w+)")
        assert machine.console.match.group(1) == b"hello"
        assert machine.qmp.execute("query-status") == {"running": True, "status": "running"}
        machine.console.sendline("quit")
        machine.console.read_rest(PATIENCE_S)
        assert machine.child.wait(PATIENCE_S)
        assert machine.exit_status == 33


def test_a_test_that_fails_with_a_guest_running_leaves_none(tmp_path: Path) -> None:
    pids = []

    def failing_test() -> None:
        with boot_interactive(boot(tmp_path, "hang-run"), mark=NONCE) as machine:
            pids.append(machine.child.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing_test()
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_guest_that_cannot_start_raises_an_error(tmp_path: Path) -> None:
    spec = boot(tmp_path, "cannot-start")
    with pytest.raises(BootError, match="failed to set MSR"), boot_interactive(spec, mark=NONCE):
        raise AssertionError("the guest started")
