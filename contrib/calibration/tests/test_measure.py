"""The measuring program itself: what it prints, and what it refuses. No figure is compared with a time: the
host may be busy."""

from __future__ import annotations

import os

import pytest

from benchgate.base.errors import HostError
from contrib.calibration import meter
from contrib.calibration.meter import MeterSample

CPUS = sorted(os.sched_getaffinity(0))
SIZES = (16 << 10, 64 << 10)
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs: this process may use one")


def names(samples: tuple[MeterSample, ...]) -> list[str]:
    return [sample.name for sample in samples]


@pytest.mark.parametrize("kind", ["huge", "small", "local", "pages"])
def test_a_chase_has_a_sample_for_each_pass_and_size(kind: str) -> None:
    sizes = SIZES if kind != "pages" else tuple(64 * size for size in SIZES)
    samples = meter.measure(["chase", CPUS[0], CPUS[0], kind, 3, 2, *sizes])
    chases = [sample for sample in samples if sample.name == "chase"]
    assert [chase.size for chase in chases] == [*sizes, *sizes]
    assert all(chase.value > 0 for chase in chases)
    shares = [sample.value for sample in samples if sample.name == "huge_share"]
    assert len(shares) == (2 if kind == "huge" else 0)
    assert all(0 <= share <= 1 for share in shares)


def test_small_pages_are_small_and_the_cost_of_far_arrays_is_higher() -> None:
    """A ratio within one run: 64 MiB are in no cache of one core, 4 KiB are in each."""
    samples = meter.measure(["chase", CPUS[0], CPUS[0], "small", 9, 3, 4096, 64 << 20])
    near, far = (min(sample.value for sample in samples if sample.size == size) for size in (4096, 64 << 20))
    assert far > 2 * near


def test_single_operations() -> None:
    samples = meter.measure(["single", CPUS[0], 3])
    assert names(samples) == ["cycle", "atomic", "plain"] * 3
    lowest = {
        name: min(sample.value for sample in samples if sample.name == name) for name in ("cycle", "atomic")
    }
    assert lowest["atomic"] > lowest["cycle"] > 0


@needs_two
def test_a_pair_ends_whether_or_not_both_had_their_cpus() -> None:
    """On a busy host a sample may be missing, but none is made up."""
    samples = meter.measure(["pair", *CPUS[:2], 2])
    assert names(samples).count("transfer") <= 2
    assert set(names(samples)) <= {"transfer", "handover"}
    assert all(sample.value > 0 for sample in samples)


@needs_two
def test_sharing_has_a_sample_of_each_cpu() -> None:
    samples = meter.measure(["share", *CPUS[:2], 2, 1 << 20])
    assert names(samples) == ["own", "other"] * 2


@needs_two
def test_interrupts_have_a_sample_or_none() -> None:
    samples = meter.measure(["interrupt", *CPUS[:2], 1])
    assert names(samples) in ([], ["interrupt"])


def test_a_stream_on_all_cpus() -> None:
    samples = meter.measure(["stream", 2, 4 << 20, *CPUS[:2]])
    assert names(samples) == ["stream"] * 2
    assert all(sample.value > 1e6 for sample in samples)


def test_a_cpu_that_does_not_exist() -> None:
    with pytest.raises(HostError, match="cannot run on this CPU"):
        meter.measure(["single", 65_000, 1])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["magic"],
        ["single"],
        ["single", "x", "1"],
        ["single", "-1", "1"],
        ["chase", "0", "0", "magic", "1", "1", "4096"],
        ["chase", "0", "0", "huge", "0", "1", "4096"],
        ["chase", "0", "0", "huge", "1", "1", "5"],
        ["pair", "0"],
        ["share", "0", "0", "1", "4096"],
        ["stream", "1", "4096"],
        ["interrupt", "0", "1"],
    ],
)
def test_wrong_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(HostError, match="cannot measure this host's memory"):
        meter.measure(words)
