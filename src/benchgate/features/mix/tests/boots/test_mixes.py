"""Mixes on the Linux guest: two parts at once on the instruction clock, and parts that do wrong things.

Those that start cold are for `nox -s soak`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.base.snapshots import read_record
from benchgate.features.mix.guest.mix_runs import Mix, MixRun, Part, PartLimits
from benchgate.features.mix.guest.mix_verify import verify_mix
from benchgate.features.mix.session.booter import MixAttempt, MixBooter
from benchgate.features.mix.tests.mixkit import linux, part
from benchgate.insn.log_reader import read_log
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run.record import load

LIMIT_MS = 40


@pytest.fixture(scope="module")
def lab() -> Iterator[MixBooter]:
    with MixBooter(Options(clock="insn"), lambda _: None) as made:
        yield made


def mix(*parts: Part, least: int = 2, limit_ms: int = LIMIT_MS, machine: str = "") -> Mix:
    system = linux()
    if machine:
        result = catalog.load_machine(machine)
        assert result is not None
        system = system.on(result)
    return Mix(system, 2, parts, least, limit_ms)


def of(name: str, workload: str, *, workers: int = 1, limits: PartLimits | None = None, **given: int) -> Part:
    """A part of one of our own applications."""
    result = catalog.load_workload(workload)
    params = {param.name: param.default for param in result.params.values()} | given
    return Part(name, result, tuple(sorted(params.items())), workers, limits or PartLimits())


@dataclass(frozen=True)
class Attacked:
    asked: Mix
    run: MixRun
    folder: Path


@pytest.fixture(scope="module")
def attacked(lab: MixBooter, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """A part beside one that tries to write to the console, to PID 1, and to the control groups, and to end
    others: its oracle knows that nothing of that succeeded."""
    folder = tmp_path_factory.mktemp("attacked")
    parts = part("attack#1", "attack"), part("well#1", cpus=(1,)), Part("dummy#1", None)
    asked = warm(mix(*parts, least=8))
    attempt = lab.run(asked, folder)
    assert attempt.reason == ""
    assert attempt.run is not None
    return Attacked(asked, attempt.run, folder)


def test_two_parts_beside_a_dummy(attacked: Attacked) -> None:
    run = attacked.run
    attacker, well, dummy = run.parts
    assert run.ended == "least"
    assert min(attacker.runs, well.runs) >= 8
    assert dummy.runs == dummy.score == 0
    used = [part_run.use["cpu_ns"] or 0 for part_run in run.parts]
    slack = 100_000 * len(run.parts)  # what it costs to stop a part counts as its own
    assert used[2] < 0.1 * used[1]  # it wakes up at the gate, and sleeps
    assert 0.5 * run.window_ns < used[1] <= run.window_ns + slack  # it has one CPU
    assert sum(used) + (run.foreign_ns or 0) <= 2 * run.window_ns + slack
    assert all(0 < (part_run.use["memory_bytes"] or 0) < run.memory_bytes for part_run in (attacker, well))
    assert run.missing.keys() == {"cache_bytes", "moved_bytes"}
    assert verify_mix(load(attacked.folder), attacked.asked) == run


def test_mixes_start_at_one_snapshot_if_asked(lab: MixBooter, attacked: Attacked, tmp_path: Path) -> None:
    """Their programs come after the start, and so does the module that drives their disk, so that nothing has
    been read of it before."""
    files = of("files#1", "files", count=1, blocks=8, block_kb=4, rounds=1)
    start = start_of(attacked.folder)
    for name, parts, is_same in (
        ("other", (part("well#1"), of("primes#1", "primes", hi=20_000)), True),
        ("disk", (files, Part("dummy#1", None)), False),
        ("again", (files, Part("dummy#1", None)), False),
    ):
        (tmp_path / name).mkdir()
        assert lab.run(warm(mix(*parts)), tmp_path / name).reason == ""
        assert (start_of(tmp_path / name) == start) is is_same
    logs, consoles = (
        [read(tmp_path / name) for name in ("disk", "again")]
        for read in (
            lambda run: read_log(run / "clock.log").repeatable,
            lambda run: (run / "serial.log").read_bytes(),
        )
    )
    assert logs[0] == logs[1]
    assert consoles[0] == consoles[1]


def warm(cold: Mix) -> Mix:
    return replace(cold, system=catalog.load_system("linux:start=warm"))


def start_of(folder: Path) -> str:
    """The digest of the snapshot of a run."""
    assert read_log(folder / "clock.log").start is not None
    return read_record(folder).digest


def booted(lab: MixBooter, folder: Path, *parts: Part, limit_ms: int = LIMIT_MS) -> MixAttempt:
    return lab.run(mix(*parts, limit_ms=limit_ms), folder)


@pytest.mark.soak
class TestManyBoots:
    def test_one_seed_is_one_run_and_another_is_another(self, lab: MixBooter, tmp_path: Path) -> None:
        asked, attempts = (
            mix(part("well#1"), part("well#2"), of("primes#1", "primes", workers=2, hi=20_000)),
            [],
        )
        for name, seed in (("a", 3), ("b", 3), ("c", 4)):
            (tmp_path / name).mkdir()
            attempts.append(lab.run(asked, tmp_path / name, seed=seed))
        first, again, other = attempts
        assert first.run == again.run
        assert first.run is not None
        logs = [read_log(tmp_path / name / "clock.log") for name in ("a", "b", "c")]
        assert logs[0].repeatable == logs[1].repeatable
        assert logs[0].repeatable != logs[2].repeatable
        consoles = [(tmp_path / name / "serial.log").read_bytes() for name in ("a", "b")]
        assert consoles[0] == consoles[1]
        assert other.run is not None

    @pytest.mark.parametrize(
        ("does", "why"),
        [
            ("exits", "part bad#1: it ended early: run 0 ended with status 3"),
            ("garbage", "part bad#1: run 0: console line"),
            ("conductor", "part bad#1: run 0: console line"),
            ("nonce", "part bad#1: run 0: console line 1 (begin): nonce"),
            ("flood", "part bad#1: "),
            ("wrong", "part bad#1: run 0: worker 0 turned to another number"),
            ("endless", "part bad#1: it completed no run in"),
            ("marks", "a part executes marks, too"),
        ],
    )
    def test_a_bad_part_makes_the_mix_invalid_by_name(
        self, lab: MixBooter, tmp_path: Path, does: str, why: str
    ) -> None:
        attempt = booted(lab, tmp_path, part("well#1"), part("bad#1", does))
        assert attempt.run is None
        assert attempt.reason.find(why) >= 0, attempt.reason
        assert attempt.raw.ending is Ending.DONE  # the guest itself did nothing wrong

    def test_a_part_that_needs_more_memory_than_it_may_have_is_starved(
        self, lab: MixBooter, tmp_path: Path
    ) -> None:
        hungry = replace(part("hungry#1", "hungry"), limits=PartLimits(memory_bytes=16 << 20))
        attempt = booted(lab, tmp_path, hungry, Part("dummy#1", None), limit_ms=400)
        assert attempt.run is not None, attempt.reason
        assert (attempt.run.ended, attempt.run.parts[0].starved) == ("starved", "memory")
        assert attempt.run.parts[0].score == 0

    def test_a_limit_of_cpu_time_holds(self, lab: MixBooter, tmp_path: Path) -> None:
        slow = replace(part("slow#1"), limits=PartLimits(cpu_ppm=100_000))  # a fifth of one of two CPUs
        attempt = lab.run(mix(slow, Part("dummy#1", None), least=20, limit_ms=400), tmp_path)
        assert attempt.run is not None, attempt.reason
        share = (attempt.run.parts[0].use["cpu_ns"] or 0) / (2 * attempt.run.window_ns)
        assert 0.08 <= share <= 0.12

    def test_bytes_on_the_disk_are_those_synced_and_read(self, lab: MixBooter, tmp_path: Path) -> None:
        files = of("files#1", "files", count=4, blocks=16, block_kb=16, rounds=1)
        attempt = lab.run(mix(files, Part("dummy#1", None), limit_ms=2000), tmp_path)
        assert attempt.run is not None, attempt.reason
        done, each = attempt.run.parts[0], 4 * 16 * 16 * 1024
        assert done.runs == 2
        assert done.use["disk_read_bytes"] in range(2 * each, 2 * each + each // 2)
        assert done.use["disk_written_bytes"] in range(2 * each, 2 * each + each // 2)
        assert done.use["network_bytes"] == 0

    def test_bytes_on_the_network_cross_the_veth_and_are_limited(
        self, lab: MixBooter, tmp_path: Path
    ) -> None:
        limits = PartLimits(network_bytes_per_s=10_000_000)
        sockets = of("sockets#1", "sockets", limits=limits, requests=100, bytes=4096)
        attempt = lab.run(mix(sockets, Part("dummy#1", None), limit_ms=2000), tmp_path)
        assert attempt.run is not None, attempt.reason
        bytes_ = attempt.run.parts[0].use["network_bytes"] or 0
        payload = attempt.run.parts[0].runs * 100 * 2 * 4096
        assert payload <= bytes_ <= 1.3 * payload
        assert bytes_ <= 2 * 1.1 * 10_000_000 * attempt.run.window_ns / 1e9 + 2 * 65_536

    def test_an_existing_program_beside_one_of_ours(self, lab: MixBooter, tmp_path: Path) -> None:
        """stress-ng of the distribution compares its answers with known ones."""
        tool, ours = of("stress#1", "stress_ng", ops=5), of("primes#1", "primes", hi=20_000)
        attempt = lab.run(mix(tool, ours, limit_ms=4000), tmp_path)
        assert attempt.run is not None, attempt.reason
        stress, primes = attempt.run.parts
        assert min(stress.runs, primes.runs) >= 2
        assert not stress.unverified
        assert 0.5 * attempt.run.window_ns < (stress.use["cpu_ns"] or 0)

    def test_a_machine_counts_lines(self, lab: MixBooter, tmp_path: Path) -> None:
        stream = of("streamer#1", "streamer", array_kb=1024, passes=2)
        asked = mix(stream, Part("dummy#1", None), machine="desktop8", limit_ms=2000)
        attempt = lab.run(asked, tmp_path)
        assert attempt.run is not None, attempt.reason
        assert (attempt.run.use["memory_lines"] or 0) > 0
        assert attempt.run.use["line_bytes"] == 64
        assert not attempt.run.missing

    def test_wall_time(self, tmp_path: Path) -> None:
        with MixBooter(Options(clock="wall"), lambda _: None) as wall:
            attempt = wall.run(mix(part("well#1"), part("well#2"), limit_ms=5000), tmp_path)
        assert attempt.run is not None, attempt.reason
        assert min(run.runs for run in attempt.run.parts) >= 2
