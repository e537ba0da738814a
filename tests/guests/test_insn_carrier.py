"""The vCPUs of a guest on one thread of the host, in both ways, and on a thread each: one log. And a machine
that is stopped and goes on, again and again."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchgate.base.system.arch import named
from benchgate.insn.arguments import ClockRun
from benchgate.insn.log import CARRIERS
from benchgate.insn.log_reader import read_log
from benchgate.plan import catalog
from benchgate.run import argv
from tests.guests.test_insn_bare import boot, guest
from tests.machines import PATIENCE_S
from tests.ternkit import Bootkit
from tools.clock_lab import BOOT_S, PRIMES, burning
from tools.clock_lab import light_lab as lab

__all__ = ["guest"]
CARRIED = "fsbase"


def log_of(kit: Bootkit, folder: Path, way: str, row: tuple[str, str, int]) -> list[str]:
    """The clock's log of one boot, without the lines that depend on the host."""
    system, name, cpus = row
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argv, "ClockRun", partial(ClockRun, carrier=way))
        own = replace(kit, folder=folder / way, insn=True, nonce="c" * 16)
        own.run(system, name, cpus, catalog.load_workload(name).quick)
    (log,) = (folder / way).glob("**/clock.log")
    assert read_log(log).carrier == way
    lines = log.read_text(encoding="ascii").splitlines()
    assert lines[-1] == "closed"
    return [line for line in lines if not line.startswith("host ")]


@pytest.mark.parametrize(
    "row",
    [
        *(("kernel", "wake", 4), ("kernel", "tasks", 2), ("kernel", "primes", 64)),
        pytest.param(("linux", "wake", 4), marks=pytest.mark.long),
        pytest.param(("linux", "tasks", 2), marks=pytest.mark.long),
        pytest.param(("linux", "primes", 16), marks=pytest.mark.long),
    ],
    ids=lambda row: "-".join(map(str, row)),
)
def test_the_three_ways_to_run_vcpus_give_one_log(
    kit: Bootkit, tmp_path: Path, row: tuple[str, str, int]
) -> None:
    logs = [log_of(kit, tmp_path, way, row) for way in CARRIERS]
    assert logs[0] == logs[1] == logs[2]


@pytest.mark.long
@pytest.mark.parametrize("guest_arch", ["riscv64", "aarch64"])
def test_so_do_they_on_another_architecture(guest_arch: str) -> None:
    boots = [
        lab(named(guest_arch), carrier=way).boot("primes", 2, PRIMES.format(hi=20_000), seed=1)
        for way in CARRIERS
    ]
    assert [boot.log and boot.log.carrier for boot in boots] == [*CARRIERS]
    seen = [(boot.good, boot.console, boot.log and boot.log.repeatable) for boot in boots]
    assert seen[0][0]
    assert seen[0] == seen[1] == seen[2]


class Monitor:
    """QEMU's monitor, as plainly as can be."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(BOOT_S)
        deadline = time.monotonic() + PATIENCE_S
        while self.socket.connect_ex(str(path)) != 0:
            assert time.monotonic() < deadline, "the monitor does not listen"
            time.sleep(0.02)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def ask(self, command: str) -> bool:
        """False if QEMU refuses: a guest that has shut down does not go on."""
        self.stream.write(json.dumps({"execute": command}) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "return" in answer or "error" in answer:
                return "return" in answer


def stopped_and_started(guest: Path, folder: Path, way: str) -> int:
    """How often a machine was stopped whose eight CPUs wake each other, until it was done. It ends when it is
    told to: a QEMU that ends with a command still unanswered may wait for ever for its monitor."""
    folder.mkdir()
    log, console, socket_path = folder / "clock.log", folder / "console", folder / "qmp"
    words, environment = lab(marked=False, carrier=way).line(8, log, seed=7)
    words += ["-serial", f"file:{console}", "-kernel", str(guest), "-append", "case=relay cpus=8"]
    words += ["-no-shutdown", "-S", "-qmp", f"unix:{socket_path},server=on,wait=off"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            with closing(Monitor(socket_path)) as monitor:
                stops = 0
                while monitor.ask("cont") and monitor.ask("stop"):
                    stops += 1
                assert monitor.ask("quit")
            process.wait(BOOT_S)
        finally:
            process.kill()
    arrived = re.findall(r"^stress relay cpu=.* ipis=(\d+)", console.read_text(), re.M)
    assert len(arrived) == 8
    assert min(map(int, arrived)) == 200
    assert read_log(log).closed
    return stops


@pytest.mark.parametrize("stops", [50, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", CARRIERS)
def test_a_machine_that_is_stopped_again_and_again_on_a_busy_host_loses_nothing(
    guest: Path, tmp_path: Path, way: str, stops: int
) -> None:
    seen = 0
    with burning(len(os.sched_getaffinity(0))):
        for number in range(stops):
            seen += stopped_and_started(guest, tmp_path / str(number), way)
            if seen >= stops:
                break
    assert seen >= stops


def test_the_way_is_that_of_this_host(guest: Path, tmp_path: Path) -> None:
    """What the host can do is read from its own files: a processor that lets programs write the base."""
    told = re.search(r"^flags\s*:.*\bfsgsbase\b", Path("/proc/cpuinfo").read_text(), re.M)
    assert boot(guest, tmp_path, "relay", 2).log.carrier == (CARRIED if told else "prctl")


def test_a_way_that_does_not_exist_is_refused(guest: Path, tmp_path: Path) -> None:
    words, environment = lab(marked=False, carrier="boat").line(1, tmp_path / "clock.log", seed=7)
    done = subprocess.run(
        [*words, "-kernel", str(guest)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "cannot be carried in the way that the option carrier wants" in done.stderr
