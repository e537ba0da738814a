"""The C of service, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize("change", [{"route": "own"}, {"route": "spread"}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "service", change, cpus)


LIES = [
    # a reply that is not computed, one to another request, a latency that is dropped or made up
    Lie(
        "service",
        "message.argument);\n        served++",
        "message.number);\n        served++",
        "worker 0",
    ),
    Lie("service", ".argument = bench_mix(i)", ".argument = bench_mix(i + (i == 9))", "worker 0"),
    Lie("service", ".client = worker, .number = i,", ".client = worker, .number = i + 1,", "wrong=60"),
    Lie("service", "bench_record(latency,", "if (calls != 3)\n bench_record(latency,", "histogram"),
    Lie("service", "port_now() - began", "port_now() - began + 60000000000", "histogram"),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
