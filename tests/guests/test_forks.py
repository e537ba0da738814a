"""Forks of a template: each is the run that starts from the snapshot by itself, line for line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchgate.base.exploration import Exploration, Strategy, usual
from benchgate.base.runs import Ending, RawRun
from benchgate.base.snapshots import read_record
from benchgate.build.cache_storage import collect_temporaries
from benchgate.insn.log_reader import read_log
from benchgate.run import forked, guest, snapshot, templates
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import FILE, Fork
from benchgate.run.guest import RunningGuest
from benchgate.run.record import clock_log
from benchgate.run.templates import Templates
from tests.guests.test_warm_starts import Bench, made
from tests.line.sessions import REPO

AT_ONCE = 64
OF_A_TEMPLATE = re.compile(r"/template/[0-9a-f]{32}\.tmp/")
"""In the path of a file that is a template's own."""


@pytest.fixture
def forks() -> Iterator[Templates]:
    every = Templates(print)
    yield every
    every.close()


@pytest.fixture(scope="module")
def kernel() -> Bench:
    return made("ideal", "kernel")


def nonce(seed: int) -> str:
    return f"{seed:016x}"


def request_of(
    bench: Bench, folder: Path, seed: int, exploration: Exploration | None = None, boot: int = 1
) -> RunRequest:
    folder.mkdir()
    options = BootOptions(nonce(seed), seed=seed, boot=boot, exploration=exploration)
    return bench.bench.request(bench.planned, options, folder)


def run(bench: Bench, folder: Path, seed: int, fork: Fork | None = None) -> RawRun:
    return execute(request_of(bench, folder, seed), fork=fork)


def on(bench: Bench, cpus: int) -> Bench:
    planned = bench.planned
    return replace(bench, planned=replace(planned, cell=replace(planned.cell, cpus=cpus)))


def lines(folder: Path) -> list[str]:
    """The clock's log without the lines that depend on the host."""
    text = clock_log(folder).read_text()
    assert text.endswith("closed\n")
    return [line for line in text.splitlines() if not line.startswith("host ")]


def require_equal(one: Path, other: Path) -> None:
    assert (one / "serial.log").read_bytes() == (other / "serial.log").read_bytes()
    assert lines(one) == lines(other)


def compared(bench: Bench, tmp_path: Path, forks: Templates, seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        alone, forked = tmp_path / f"alone{seed}", tmp_path / f"forked{seed}"
        run(bench, alone, seed)
        assert run(bench, forked, seed, forks.fork).ending is Ending.DONE
        assert (forked / FILE).exists()
        assert not (alone / FILE).exists()
        require_equal(alone, forked)


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_a_fork_of_tern_is_the_run_that_starts_by_itself(
    cpus: int, kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    compared(on(kernel, cpus), tmp_path, forks, (3, 0, 2**40 + 1))
    assert len(lines(tmp_path / "forked3")) > 40  # lines were compared
    assert cpus == 1 or lines(tmp_path / "forked3") != lines(tmp_path / "forked0")


@pytest.mark.parametrize(
    "cpus", [pytest.param(1, marks=pytest.mark.long), 2, pytest.param(4, marks=pytest.mark.long)]
)
def test_a_fork_of_linux_is_the_run_that_starts_by_itself(
    cpus: int, tmp_path: Path, forks: Templates
) -> None:
    compared(on(made("ideal"), cpus), tmp_path, forks, (2, 5))


def rehearsed(folder: Path) -> tuple[int, int]:
    """How many blocks its template had translated before, and how many it needed."""
    host = read_log(clock_log(folder)).host
    return host["rehearsed"], host["translations"]


@pytest.mark.parametrize("machine", ["ideal", "desktop8"])
@pytest.mark.parametrize("word", ["kernel", pytest.param("linux", marks=pytest.mark.long)])
def test_a_fork_executes_what_its_template_translated_after_the_first(
    word: str, machine: str, tmp_path: Path, forks: Templates
) -> None:
    """Also what programs execute, loops, and what is translated in another state of the CPU. On one with
    memory a block is one of a place, and where a guest puts its programs depends on the seed."""
    bench = made(machine, word)
    for seed in (1, 2):
        run(bench, tmp_path / f"run{seed}", seed, forks.fork)
    assert rehearsed(tmp_path / "run1")[0] == 0
    had, needed = rehearsed(tmp_path / "run2")
    assert had > 0.9 * needed > 500


@pytest.mark.parametrize(
    ("word", "machine"),
    [
        ("kernel", "ideal"),
        ("kernel", "desktop8"),
        pytest.param("linux", "ideal", marks=pytest.mark.long),
        pytest.param("linux", "desktop8", marks=pytest.mark.long),
    ],
)
def test_one_template_serves_all_boots_and_workloads_of_a_system(
    word: str, machine: str, tmp_path: Path, forks: Templates
) -> None:
    """Each fork has the memory, the devices, the caches, the time and the console of its own boot, and the
    program and words of its own workload, and takes what others have rehearsed."""
    had = {}
    runs = (("primes", 1), ("checksum", 3), ("primes", 2), ("checksum", 1))
    for number, (workload, boot) in enumerate(runs):
        bench = made(machine, word, workload_word=workload)
        for name, fork in (("alone", None), ("forked", forks.fork)):
            execute(request_of(bench, tmp_path / f"{name}{number}", 5, boot=boot), fork=fork)
        require_equal(tmp_path / f"alone{number}", tmp_path / f"forked{number}")
        record = read_record(tmp_path / f"forked{number}")
        assert record.boot == boot
        had[record.digest] = rehearsed(tmp_path / f"forked{number}")[0]
    assert len(had) == 3
    assert len(forks._known) == 1
    assert sum(count > 500 for count in had.values()) >= 2


def test_forks_look_only_at_their_own_places(kernel: Bench, tmp_path: Path, forks: Templates) -> None:
    """Where an exploration may stall a CPU is part of the translated code, also of that for later forks."""
    sync = usual(Strategy.SYNC, 1, 2_000)
    found = execute(request_of(kernel, tmp_path / "sync", 1, sync), fork=forks.fork)
    log = read_log(clock_log(found.folder)).explored
    assert log is not None
    places = sorted({delay.pc for delay in log.delays})[:2]
    for number, place in enumerate(places):
        exploration = sync.at_places([place], 1, 1, 200, 300)
        for name, fork in (("alone", None), ("first", forks.fork), ("forked", forks.fork)):
            execute(request_of(kernel, tmp_path / f"{name}{number}", 1, exploration), fork=fork)
        require_equal(tmp_path / f"alone{number}", tmp_path / f"forked{number}")
    assert lines(tmp_path / "forked0") != lines(tmp_path / "forked1")


def test_a_fork_has_the_caches_of_its_machine(tmp_path: Path, forks: Templates) -> None:
    compared(made("desktop8", "kernel"), tmp_path, forks, (1, 2))


def test_a_fork_is_stalled_as_its_own_exploration_says(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    for seed, strategy in enumerate((Strategy.SYNC, Strategy.SYNC, Strategy.PCT), 1):
        exploration = usual(strategy, seed, 2_000)
        for name, fork in (("alone", None), ("forked", forks.fork)):
            execute(request_of(kernel, tmp_path / f"{name}{seed}", 1, exploration), fork=fork)
        require_equal(tmp_path / f"alone{seed}", tmp_path / f"forked{seed}")
        assert any(line.startswith("delay ") for line in lines(tmp_path / f"forked{seed}"))
    assert lines(tmp_path / "forked1") != lines(tmp_path / "forked2")


def test_a_qemu_that_does_not_let_its_files_be_replaced_is_not_forked(kernel: Bench, tmp_path: Path) -> None:
    """The plugin looks for another function than QEMU's. The run starts by itself, and a line says why."""
    told: list[str] = []
    run(kernel, tmp_path / "alone", 1)
    request = request_of(kernel, tmp_path / "run", 1)
    shipped, ours = request.spec.environment["LD_PRELOAD"], tmp_path / "clock.so"
    content = Path(shipped).read_bytes()
    assert content.count(b"fw_cfg_modify_file\0") == 1
    ours.write_bytes(content.replace(b"fw_cfg_modify_file\0", b"no_cfg_modify_file\0"))
    argv = tuple(word.replace(shipped, str(ours)) for word in request.spec.argv)
    environment = {**request.spec.environment, "LD_PRELOAD": str(ours)}
    changed = replace(request.spec, argv=argv, environment=environment)
    with contextlib.closing(Templates(told.append)) as every:
        assert execute(replace(request, spec=changed), fork=every.fork).ending is Ending.DONE
    assert not (tmp_path / "run" / FILE).exists()
    assert len(told) == 1
    assert "does not let the files be replaced" in told[0]
    require_equal(tmp_path / "alone", tmp_path / "run")


# ---- the state right after the fork


@contextlib.contextmanager
def standing(bench: Bench, folder: Path, fork: Fork | None) -> Iterator[RunningGuest]:
    """A guest that is restored and has not begun."""
    made_for = request_of(bench, folder, 4)
    typing = snapshot.typing_pace(bench.script)
    with guest.started(
        made_for.spec, folder, mark=made_for.nonce, limits=ConsoleLimits(), typing=typing, fork=fork
    ) as running:
        running.prepare()
        running.load()
        yield running


def state_of(running: RunningGuest, folder: Path) -> tuple[str, object]:
    memory = folder / "memory"
    running.qmp.execute("pmemsave", {"val": 0, "size": 512 << 20, "filename": str(memory)}, seconds=100)
    registers = running.qmp.execute("human-monitor-command", {"command-line": "info registers -a"})
    digest = hashlib.sha256(memory.read_bytes()).hexdigest()
    memory.unlink()
    return digest, registers


@pytest.mark.parametrize("word", ["kernel", pytest.param("linux", marks=pytest.mark.long)])
def test_right_after_the_fork_memory_and_registers_are_those_of_the_snapshot(
    word: str, tmp_path: Path, forks: Templates
) -> None:
    """Also of a fork whose template has translated what another one executed."""
    bench, states = made("ideal", word), []
    for name, fork in (("alone", None), ("forked", forks.fork), ("again", forks.fork)):
        with standing(bench, tmp_path / name, fork) as running:
            states.append(state_of(running, tmp_path / name))
        run(bench, tmp_path / f"to the end {name}", 1, fork)
    assert states[0] == states[1] == states[2]
    assert "RIP=" in str(states[0][1])


def test_what_a_fork_shows_of_itself_is_its_own(kernel: Bench, tmp_path: Path, forks: Templates) -> None:
    """Its nonce is in its command line, by which a later session finds a guest that was left behind. It has a
    group of its own, is a child of this process, and shares no descriptor but of files that are only read."""
    with standing(kernel, tmp_path / "run", forks.fork) as running:
        process, template = psutil.Process(running.child.pid), template_of(forks)
        assert any(nonce(4) in word for word in process.cmdline())
        assert process.ppid() == os.getpid()
        assert os.getpgid(process.pid) == process.pid
        own, others = open_files(process.pid), open_files(template.pid)
        assert not {file for file in own & others if file.startswith(("pipe:", "socket:"))}
        assert not any(OF_A_TEMPLATE.search(file) for file in own)


def open_files(pid: int) -> set[str]:
    return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}


def template_of(forks: Templates) -> psutil.Process:
    """The QEMU of the only template."""
    found = [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE  # a fork that has ended is reaped when the next one has
        and any(f"forks={templates.SOCKET}" in word for word in child.cmdline())
        and os.getpgid(child.pid) == child.pid
        and any(str(entry.readlink()).endswith("/clock.log") for entry in log_links(child.pid))
    ]
    assert len(found) == 1
    return found[0]


def log_links(pid: int) -> list[Path]:
    return [
        entry
        for entry in Path(f"/proc/{pid}/fd").iterdir()
        if OF_A_TEMPLATE.search(str(entry.readlink())) and entry.readlink().name == "clock.log"
    ]


# ---- what dies


def test_the_first_16_forks_are_weighed_and_then_each_16th(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    for seed in range(1, 20):
        run(kernel, tmp_path / f"run{seed}", seed, forks.fork)
    weighed = [seed for seed in range(1, 20) if forked.private_kib(tmp_path / f"run{seed}") is not None]
    assert weighed == list(range(1, 18))
    threads = json.loads((tmp_path / "run1" / "threads.json").read_text())
    assert [sample["moment"] for sample in threads if sample["threads"]] == ["end"]


def test_a_template_that_dies_is_made_again(kernel: Bench, tmp_path: Path, forks: Templates) -> None:
    for seed in (1, 2, 3):
        assert run(kernel, tmp_path / f"run{seed}", seed, forks.fork).ending is Ending.DONE
        template_of(forks).send_signal(signal.SIGKILL)


def test_a_fork_outlives_its_template(kernel: Bench, tmp_path: Path, forks: Templates) -> None:
    with standing(kernel, tmp_path / "run", forks.fork) as running:
        template_of(forks).send_signal(signal.SIGKILL)
        running.go()
        running.leave_alone()
        running.console.read_rest(100)
        assert running.child.wait(100)
        assert running.exit_status == 33


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGILL])
def test_a_fork_that_is_killed_is_one_lost_run(
    number: signal.Signals, kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    with standing(kernel, tmp_path / "lost", forks.fork) as running:
        running.go()
        os.kill(running.child.pid, number)
        assert running.child.wait(100)
    assert run(kernel, tmp_path / "next", 1, forks.fork).ending is Ending.DONE
    run(kernel, tmp_path / "alone", 1)
    require_equal(tmp_path / "alone", tmp_path / "next")


def test_nothing_is_left_behind(kernel: Bench, tmp_path: Path) -> None:
    every = Templates(print)
    for seed in (1, 2):
        run(kernel, tmp_path / f"run{seed}", seed, every.fork)
    folder = log_links(template_of(every).pid)[0].readlink().parent
    every.close()
    assert not [child for child in psutil.Process().children() if "qemu" in child.name()]
    assert not folder.exists()


def test_a_template_ends_when_nobody_can_ask_it_any_more(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    run(kernel, tmp_path / "run", 1, forks.fork)
    process = template_of(forks)
    for template in forks._every:
        template.asks.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


KILLED = """\
import os, sys
from pathlib import Path
from benchgate.run.templates import Templates
from tests.guests import test_forks, test_warm_starts

forks = Templates(lambda _: None)
with test_forks.standing(test_warm_starts.made("ideal", "kernel"), Path(sys.argv[1]), forks.fork) as running:
    running.go()
    template = test_forks.template_of(forks).pid
    print("pids", running.child.pid, template, flush=True)
    print("folder", test_forks.log_links(template)[0].readlink().parent, flush=True)
    sys.stdin.read()
"""


def test_template_and_forks_die_with_a_session_that_is_killed(kernel: Bench, tmp_path: Path) -> None:
    """Their processes at once; the template's folder is gone when another session makes one, or after
    `benchgate cache gc`, and not while its session lives."""
    assert kernel.snapshot  # it is there
    words = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    with subprocess.Popen(
        words, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as session:
        assert session.stdout is not None
        line = next(line for line in session.stdout if line.startswith("pids "))
        processes = [psutil.Process(int(pid)) for pid in line.split()[1:]]
        assert len(processes) == 2
        folder = Path(next(line for line in session.stdout if line.startswith("folder ")).split()[1])
        collect_temporaries()
        assert folder.exists()
        session.kill()
        _, alive = psutil.wait_procs(processes, timeout=100)
        assert not alive
    collect_temporaries()
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_loses_the_run_and_not_the_template(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    run(kernel, tmp_path / "first", 1, forks.fork)
    request = request_of(kernel, tmp_path / "gone", 2)
    shutil.rmtree(request.folder)
    begin = forks.fork(request.spec, request.folder, request.nonce)
    assert begin is not None
    with Path(os.devnull).open("wb") as nothing, pytest.raises(Exception, match="cannot be written"):
        begin.make(dict.fromkeys((1, 2, 3, 4), nothing.fileno()))
    assert run(kernel, tmp_path / "next", 3, forks.fork).ending is Ending.DONE


@pytest.mark.long
def test_many_forks_at_once_are_each_the_run_of_its_seed(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    def one(place: int) -> None:
        ended.append(run(kernel, tmp_path / f"run{place}", 1 + place % 4, forks.fork).ending)

    ended: list[Ending] = []
    threads = [threading.Thread(target=one, args=(place,)) for place in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [Ending.DONE] * AT_ONCE
    for place in range(4, AT_ONCE):
        require_equal(tmp_path / f"run{place % 4}", tmp_path / f"run{place}")


@pytest.mark.long
def test_forks_that_are_killed_at_any_moment_leave_the_others_alone(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    """Each second run is killed, later each time: from its first instruction to its end."""
    run(kernel, tmp_path / "alone", 1)
    for place in range(20):
        with standing(kernel, tmp_path / f"lost{place}", forks.fork) as running:
            running.go()
            time.sleep(place * 0.005)
            running.child.stop(0)
        run(kernel, tmp_path / f"run{place}", 1, forks.fork)
        require_equal(tmp_path / "alone", tmp_path / f"run{place}")
