"""The host's counters of each run, read from its folder, and when it ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.runs import RawRun
from benchgate.base.void_rule import NO_RULE, VoidRule
from benchgate.judge.run_noise import noise_of
from benchgate.run.thread_use import Sample, keep_samples
from tests.unit.factories import cell, raw_run
from tests.unit.noise import SECOND, counters

RULE = VoidRule()


def recorded(folder: Path, attempt: int, samples: tuple[Sample, ...], begin_ns: int = 0) -> RawRun:
    place = folder / f"{attempt:04}"
    place.mkdir()
    keep_samples(place, [replace(one, t_ns=one.t_ns + begin_ns) for one in samples])
    return raw_run(cell(2), attempt=attempt, folder=place)


def test_each_run_has_its_counters_and_its_time(tmp_path: Path) -> None:
    quiet = recorded(tmp_path, 1, counters((1_000_000, 0)), 7 * SECOND)
    loud = recorded(tmp_path, 2, counters((60_000_000, 0), grown={"migrations": 2}), 20 * SECOND)
    found = noise_of([quiet, loud], RULE)
    assert found[1].begin_s == 0.0
    assert found[2].begin_s == pytest.approx(13.0)
    assert found[2].length_s == pytest.approx(3.0, abs=0.001)
    assert found[1].figures["run_delay"] == pytest.approx(0.001)
    assert found[2].figures["run_delay"] == pytest.approx(0.06)
    assert found[2].figures["migrations"] == 2
    assert found[1].above == ()
    assert found[2].above == ("run_delay", "migrations")
    assert found[2].stall_ms == pytest.approx(60.0)
    assert "run delay 6%" in found[2].said


def test_a_counter_that_the_host_does_not_offer_is_none(tmp_path: Path) -> None:
    found = noise_of([recorded(tmp_path, 1, counters((None, None)))], RULE)
    assert found[1].figures["run_delay"] is None
    assert found[1].figures["frequency"] is None
    assert found[1].stall_ms is None
    assert not any(text.startswith("run delay") for text in found[1].said)


def test_the_counters_are_shown_without_a_rule_and_on_a_lane_that_they_do_not_judge(tmp_path: Path) -> None:
    run = recorded(tmp_path, 1, counters((60_000_000, 0)))
    for found in (noise_of([run], NO_RULE), noise_of([replace(run, lane=Lane.INSN)], RULE)):
        assert found[1].figures["run_delay"] == pytest.approx(0.06)
        assert found[1].above == ()


def test_a_run_without_readable_counters_has_none(tmp_path: Path) -> None:
    """An earlier version wrote no such files; and a broken one is the verifier's to refuse."""
    bare = raw_run(cell(2), attempt=1, folder=tmp_path)
    broken = recorded(tmp_path, 2, counters())
    (broken.folder / "threads.json").write_text("[{}]")
    assert noise_of([bare, broken], RULE) == {}
    good = recorded(tmp_path, 3, counters(), 5 * SECOND)
    assert noise_of([bare, broken, good], RULE)[3].begin_s == 0.0
