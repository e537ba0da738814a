"""Repeated runs on the instruction clock: runs of one seed are equal.

Prints a table. $BENCHGATE_SOAK_RUNS is the number of boots per row (default
20).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.system.qemu import Disk, Interface, disk_options
from benchgate.insn import plugin
from benchgate.insn.plugin import FLAGS
from tools.clock_lab import PRIMES, Boot, burning, errands, lab

pytestmark = pytest.mark.soak

RUNS = int(os.environ.get("BENCHGATE_SOAK_RUNS", "20"))
CPUS = (1, 2, 4, 8)
LOADS = (("no extra load", 0), ("both cores busy", 2))
WORDS = PRIMES.format(hi=300_000)
BUILDS = (FLAGS, tuple("-O1" if flag == "-O2" else flag for flag in FLAGS))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    lines = ["| CPUs | host | runs | different results | window, ns |", "|---|---|---|---|---|"]
    yield lines
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join(lines))


def repeatable(boot: Boot) -> tuple[str, object]:
    """Everything that must be equal: the console, the marks, the totals and the counters."""
    assert boot.status == 33, boot.errors
    assert boot.log is not None
    assert boot.log.closed
    return boot.console, boot.log.repeatable


@pytest.mark.parametrize("cpus", CPUS)
def test_runs_of_one_seed_are_equal(
    cpus: int, table: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The host's load, QEMU's own jobs and the build of the plugin must not matter."""
    assert len(set(BUILDS)) == 2
    first = lab().boot("primes", cpus, WORDS, seed=5)
    different = 0
    every_us = 20 if cpus < 8 else 100  # each job stops every vCPU: at 8 a boot would take minutes
    jobs = (f"QEMU's own jobs every {every_us} us", 0, errands(tmp_path, every_us))
    for word, burners, extra in (*((*load, ()) for load in LOADS), jobs):
        with burning(burners):
            others = [_differs(first, _built(monkeypatch, cpus, number, extra)) for number in range(RUNS)]
        different += sum(others)
        table.append(f"| {cpus} | {word} | {RUNS} | {sum(others)} | {first.window(cpus).work:,} |")
    assert different == 0 < RUNS


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_boots_with_a_disk_are_equal(cpus: int, tmp_path: Path) -> None:
    """Linux probes the disk and reads its partition table on several CPUs while it boots."""
    image = tmp_path / "image"
    image.write_bytes(bytes(range(256)) * 16_384)
    drive = disk_options([Disk("image", interface=Interface.NVME)], [image])
    booted: list[Boot] = []
    for burners in (0, 2):
        with burning(burners):
            booted += [lab(disks=True).boot("primes", cpus, WORDS, seed=5, extra=drive) for _ in range(RUNS)]
    assert sum(_differs(booted[0], other) for other in booted) == 0 < RUNS


def _differs(first: Boot, other: Boot) -> bool:
    """Prints both runs if they differ, so that the cause can be found."""
    one, two = repeatable(first), repeatable(other)
    if one != two:
        print(f"{first.console}\n{first.log}\n{other.console}\n{other.log}")
    return one != two


def _built(monkeypatch: pytest.MonkeyPatch, cpus: int, number: int, extra: tuple[str, ...]) -> Boot:
    monkeypatch.setattr(plugin, "FLAGS", BUILDS[number % 2])
    return lab().boot("primes", cpus, WORDS, seed=5, extra=extra)


def test_a_guest_with_32_cpus_is_reported_as_quiet() -> None:
    """The time that PID 1 spends on reading the statistics of so many CPUs must not count as foreign."""
    console = lab().boot("primes", 32, PRIMES.format(hi=30_000)).console
    assert "benchquiet quiet=yes" in console
