"""Mixes on tern: its own conductor, a limit of CPU time, and a scheduler that isolates badly.

A boot takes two seconds. That the same parts keep their scores without the fault is in the same test, so that
neither answer can come from parts that do not run.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.features.mix import studyfile
from benchgate.features.mix.guest.mix_runs import Mix, Part, PartLimits
from benchgate.features.mix.guest.mix_verify import verify_mix
from benchgate.features.mix.isolation import MixIsolation, at_least, not_worse
from benchgate.features.mix.session import guest_runner, steps
from benchgate.features.mix.session.booter import MixBooter
from benchgate.insn.log_reader import read_log
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run.record import load
from benchgate.session.progress import Progress
from tests.line.sessions import light_tern
from tests.ternkit import light

STUDY = """\
name: two
system: kernel
cpus: 2
seeds: 3
least: 3
resources: [cpu]
overcommit: []
near: 0
applications:
  primes:
    inputs:
      one: {workers: 1, hi: 20000, units: 20000}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[MixBooter]:
    with MixBooter(Options(clock="insn"), lambda _: None) as made:
        yield made


def of(name: str, workload: str, limits: PartLimits | None = None, **given: int) -> Part:
    result = catalog.load_workload(workload)
    params = {param.name: param.default for param in result.params.values()} | given
    return Part(name, result, tuple(sorted(params.items())), 1, limits or PartLimits())


def test_parts_of_two_programs_one_with_a_limit(lab: MixBooter, tmp_path: Path) -> None:
    """The limited part may use a fifth of one of two CPUs; the others have the rest."""
    tern = light(catalog.load_system("kernel"))
    slow = of("slow#1", "primes", PartLimits(cpu_ppm=100_000), hi=20_000)
    parts = slow, of("fast#1", "primes", hi=20_000), of("stream#1", "streamer", array_kb=256, passes=2)
    asked = Mix(tern, 2, (*parts, Part("dummy#1", None)), least=8, limit_ms=2000)
    attempt = lab.run(asked, tmp_path, seed=3)
    run = attempt.run
    assert run is not None, attempt.reason
    assert run.ended == "least"
    used = [part_run.use["cpu_ns"] or 0 for part_run in run.parts]
    assert 0.08 <= used[0] / (2 * run.window_ns) <= 0.12
    assert used[3] < 0.001 * run.window_ns  # the dummy
    assert 1.8 * run.window_ns < sum(used) + (run.foreign_ns or 0) <= 2 * run.window_ns + 100_000
    assert min(part_run.runs for part_run in run.parts[:3]) >= 8
    assert run.missing["memory_bytes"].endswith("this kernel does not count it for each program")
    assert run.missing["network_bytes"].endswith("this kernel has no such device")
    assert verify_mix(load(tmp_path), asked) == run


def isolation(setting: str, folder: Path) -> MixIsolation:
    folder.mkdir()
    study = replace(studyfile.parse(STUDY, Path("two.yaml")), system=f"{light_tern(folder)}{setting}")
    progress = Progress(io.StringIO(), live=False)
    mix_isolation, _ = steps.isolation_of(study, folder, {"primes.one": 2}, guest_runner.opened, progress)
    return mix_isolation


def test_with_a_crowd_the_other_cpu_idles(lab: MixBooter, tmp_path: Path) -> None:
    """On a machine with caches, with two programs. It once looked, with interrupts off, for work that it must
    not take: then it executes nearly half as much as the other one."""
    desktop = catalog.load_machine("desktop8")
    assert desktop is not None
    tern = light(catalog.load_system("kernel:fault=crowd")).on(desktop)
    parts = of("primes#1", "primes", hi=20_000), of("walker#1", "walker", footprint_kb=256, steps=50_000)
    attempt = lab.run(Mix(tern, 2, parts, least=2, limit_ms=2000), tmp_path, seed=1)
    assert attempt.run is not None, attempt.reason
    assert attempt.run.ended == "least"
    busy, idle = read_log(tmp_path / "clock.log").totals
    assert idle.executed < busy.executed / 10


def test_the_gate_finds_a_scheduler_that_isolates_badly(tmp_path: Path) -> None:
    """Two parts with a worker each fit beside each other on two CPUs. With fault=crowd both are on one."""
    good, bad = isolation("", tmp_path / "good"), isolation(":fault=crowd", tmp_path / "bad")
    assert at_least(good, 0.8).outcome is Word.PASS, at_least(good, 0.8).reason
    verdict = at_least(bad, 0.8)
    assert verdict.outcome is Word.FAIL, verdict.reason
    assert 0.4 < bad.value < 0.6
    worse = not_worse(bad, good, "kernel")
    assert worse.outcome is Word.FAIL, worse.reason
