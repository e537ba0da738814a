"""The rule by which the host's noise voids a run: every counter, its limit, and counters that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.void_rule import NO_RULE, VoidRule
from benchgate.judge import noise
from benchgate.judge.noise import noise_of
from benchgate.judge.run_files import RunFiles
from benchgate.run.thread_use import UseSample, keep_samples
from tests.unit.factories import cell, raw_run
from tests.unit.noise import QUIET, SECOND, counters

EVERYTHING = VoidRule(0.02, 0.02, 0, 0.02, 0, 50, 0.1)


@pytest.fixture
def run(tmp_path: Path) -> RawRun:
    return raw_run(cell(2), folder=tmp_path)


def judged(run: RawRun, samples: Sequence[UseSample], rule: VoidRule = EVERYTHING) -> str:
    keep_samples(run.folder, samples)
    return noise.excess(noise.disturbance(RunFiles(run)), rule)


@pytest.mark.parametrize(
    ("noisy", "reason"),
    [
        ({"delays": (0, 20_000_000)}, ""),
        ({"delays": (0, 20_100_000)}, "run delay 2.01% (limit 2%)"),
        ({"delays": (90_000_000, 0), "ends": "end"}, "run delay 9% (limit 2%)"),
        ({"later": {"steal_ticks": {0: 10, 1: 13}}}, ""),  # one tick may be from before the window
        ({"later": {"steal_ticks": {0: 10, 1: 14}}}, "steal 3% (limit 2%)"),
        ({"grown": {"migrations": 1}}, "migrations 1 (limit 0)"),
        ({"grown": {"involuntary": 50}}, ""),
        ({"grown": {"involuntary": 51}}, "involuntary 51 per s (limit 50 per s)"),
        ({"later": {"psi_cpu_us": 305_000}}, ""),  # 0.3 of 3 s between the two moments
        ({"later": {"psi_cpu_us": 308_000}}, "psi cpu 10.1% (limit 10%)"),
        ({"later": {"frequency_khz": {0: 3_000_000, 1: 2_940_000}}}, ""),
        ({"later": {"frequency_khz": {0: 3_000_000, 1: 2_900_000}}}, "frequency 3.33% (limit 2%)"),
        (
            {"delays": (0, 10**8), "grown": {"migrations": 2}},
            "run delay 10% (limit 2%), migrations 2 (limit 0)",
        ),
    ],
)
def test_each_counter_has_its_limit(run: RawRun, noisy: dict[str, Any], reason: str) -> None:
    assert judged(run, counters(**noisy)) == reason
    assert judged(run, counters(**noisy), NO_RULE) == ""


def test_throttling_within_the_window_voids_a_run(run: RawRun) -> None:
    start, ready, result = counters(later={"throttles": {0: 4, 1: 6}})
    assert ready.host is not None
    before = replace(ready, host=replace(ready.host, throttles={0: 4, 1: 5}))
    assert judged(run, (start, before, result)) == "throttles 1 (limit 0)"


@pytest.mark.parametrize(
    "missing",
    [
        {"delays": (None, None), "later": dict.fromkeys(QUIET, None) | {"time_ns": 0}},
        {"delays": (None, 10**9)},
        {"delays": (10**9, 10**9), "ends": "never"},
    ],
    ids=["nothing", "one vCPU", "no result"],
)
def test_a_counter_that_is_unavailable_voids_nothing_and_is_not_zero(
    run: RawRun, missing: dict[str, Any]
) -> None:
    assert judged(run, counters(**missing)) == ""
    seen = noise.disturbance(RunFiles(run))
    assert (seen.run_delay, seen.stall_ns) == (None, None)


def test_a_run_without_any_record_is_not_known_to_be_quiet(run: RawRun) -> None:
    assert noise.disturbance(RunFiles(run)) == noise.NOT_KNOWN


def test_waits_before_the_window_and_after_it_do_not_count(run: RawRun) -> None:
    _, ready, result = counters()
    start, _, late = counters(delays=(SECOND // 2, SECOND // 2), ends="exit")
    assert judged(run, (start, ready, result, late)) == ""


def test_the_stalls_of_all_vcpus_add_up(run: RawRun) -> None:
    keep_samples(run.folder, counters((3_000_000, 4_000_000), later={"steal_ticks": {0: 12, 1: 10}}))
    assert noise.disturbance(RunFiles(run)).stall_ns == 7_000_000 + 10_000_000


def test_noise_is_judged_on_wall_time_and_one_to_one_only(run: RawRun) -> None:
    assert noise.is_judged(run)
    assert noise.is_judged(replace(run, lane=Lane.NATIVE))
    assert not noise.is_judged(replace(run, lane=Lane.INSN))
    assert not noise.is_judged(replace(run, placement=Placement.OVERSUBSCRIBED))


def test_records_of_earlier_versions_have_null_for_unavailable(run: RawRun) -> None:
    keep_samples(run.folder, counters(delays=(None, None)))
    path = run.folder / "threads.json"
    path.write_text(path.read_text().replace('"unavailable"', "null"))
    assert noise.disturbance(RunFiles(run)).run_delay is None


@pytest.mark.parametrize("name", ["threads.json", "host.json"])
@pytest.mark.parametrize(
    "text", ["", "[", "5", "[5]", "{}", '[{"moment": 1}]', '{"ticks_per_s": 0}', "[" * 9999]
)
def test_a_record_that_benchgate_did_not_write_is_refused(run: RawRun, name: str, text: str) -> None:
    keep_samples(run.folder, counters())
    (run.folder / name).write_text(text)
    with pytest.raises(VerifyError, match=name):
        noise.disturbance(RunFiles(run))


RULE = VoidRule()


def recorded(folder: Path, attempt: int, samples: tuple[UseSample, ...], begin_ns: int = 0) -> RawRun:
    place = folder / f"{attempt:04}"
    place.mkdir()
    keep_samples(place, [replace(sample, t_ns=sample.t_ns + begin_ns) for sample in samples])
    return raw_run(cell(2), attempt=attempt, folder=place)


def test_each_run_has_its_counters_and_its_time(tmp_path: Path) -> None:
    quiet = recorded(tmp_path, 1, counters((1_000_000, 0)), 7 * SECOND)
    loud = recorded(tmp_path, 2, counters((60_000_000, 0), grown={"migrations": 2}), 20 * SECOND)
    noises = noise_of([quiet, loud], RULE)
    assert noises[1].begin_s == 0.0
    assert noises[2].begin_s == pytest.approx(13.0)
    assert noises[2].length_s == pytest.approx(3.0, abs=0.001)
    assert noises[1].figures["run_delay"] == pytest.approx(0.001)
    assert noises[2].figures["run_delay"] == pytest.approx(0.06)
    assert noises[2].figures["migrations"] == 2
    assert noises[1].above == ()
    assert noises[2].above == ("run_delay", "migrations")
    assert "run delay 6%" in noises[2].said


def test_a_counter_that_the_host_does_not_offer_is_none(tmp_path: Path) -> None:
    noises = noise_of([recorded(tmp_path, 1, counters((None, None)))], RULE)
    assert noises[1].figures["run_delay"] is None
    assert noises[1].figures["frequency"] is None
    assert not any(text.startswith("run delay") for text in noises[1].said)


def test_the_counters_are_shown_without_a_rule_and_on_a_lane_that_they_do_not_judge(tmp_path: Path) -> None:
    run = recorded(tmp_path, 1, counters((60_000_000, 0)))
    for noises in (noise_of([run], NO_RULE), noise_of([replace(run, lane=Lane.INSN)], RULE)):
        assert noises[1].figures["run_delay"] == pytest.approx(0.06)
        assert noises[1].above == ()


def test_a_run_without_readable_counters_has_none(tmp_path: Path) -> None:
    """An earlier version wrote no such files; and a broken one is the verifier's to refuse."""
    bare = raw_run(cell(2), attempt=1, folder=tmp_path)
    broken = recorded(tmp_path, 2, counters())
    (broken.folder / "threads.json").write_text("[{}]")
    assert noise_of([bare, broken], RULE) == {}
    good = recorded(tmp_path, 3, counters(), 5 * SECOND)
    assert noise_of([bare, broken, good], RULE)[3].begin_s == 0.0
