"""The published rows are copied correctly: our arithmetic gives the published speedups from the medians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchgate.base.statistics.stats import ratio_of_medians

PUBLISHED = Path(__file__).parents[2] / "fixtures/published"
CAPOS: dict[str, Any] = yaml.safe_load((PUBLISHED / "capos.yaml").read_text())

MEDIANS = [
    pytest.param(system["medians"], system["speedups"], id=f"{row['name']}, {name}")
    for row in CAPOS["rows"]
    for name, system in row["systems"].items()
    if "medians" in system
]


@pytest.mark.parametrize(("medians", "speedups"), MEDIANS)
def test_a_published_speedup_is_the_ratio_of_its_medians(
    medians: dict[int, int], speedups: dict[int, float]
) -> None:
    assert set(speedups) == set(medians) - {1}
    for cpus, published in speedups.items():
        # Both are rounded: the medians of capOS to whole scaled cycles, the speedups to a thousandth.
        assert ratio_of_medians([medians[1]], [medians[cpus]]) == pytest.approx(published, abs=0.0015)


def test_all_rows_are_present() -> None:
    assert len(MEDIANS) == 4
    assert len(CAPOS["rows"]) == 8
    assert len(yaml.safe_load((PUBLISHED / "kevlar.yaml").read_text())["rows"]) == 4
