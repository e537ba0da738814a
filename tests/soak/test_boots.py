"""Many boots of tern in a row, with changing workloads and schedulers: no hang, no panic, no wrong answer.

Prints a table. $BENCHGATE_SOAK_BOOTS is the number of boots per CPU count (default
200).
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest

from benchgate.base.runs import Ending
from benchgate.judge.judged_run import JudgedRun
from tests import ternkit
from tests.ternkit import Bootkit

pytestmark = pytest.mark.soak

BOOTS = int(os.environ.get("BENCHGATE_SOAK_BOOTS", "200"))
ROWS: tuple[tuple[str, dict[str, int]], ...] = (
    ("primes", {"hi": 20_000}),
    ("checksum", {"blocks": 4096, "rounds": 4}),
    ("tasks", {"steps": 4000}),
)
SCHEDULERS = ("kernel", "kernel:sched=rr", "kernel:sched=global")
HUNG = (Ending.BOOT_DEADLINE, Ending.RUN_DEADLINE)


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return ternkit.tern(tmp_path_factory.mktemp("soak"))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    lines = ["| CPUs | boots | verified | hung | panicked | otherwise wrong |", "|---|---|---|---|---|---|"]
    yield lines
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join(lines))


def outcome_of(judged: JudgedRun) -> str:
    if judged.verified:
        return "verified"
    return {Ending.PANIC: "panicked", **dict.fromkeys(HUNG, "hung")}.get(judged.run.ending, "wrong")


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_boots_in_a_row(kit: Bootkit, table: list[str], cpus: int) -> None:
    seen: Counter[str] = Counter()
    bad: list[str] = []
    for number in range(BOOTS):
        workload, params = ROWS[number % len(ROWS)]
        system = SCHEDULERS[number // len(ROWS) % len(SCHEDULERS)]
        judged = kit.run(system, workload, cpus, params)
        seen[outcome_of(judged)] += 1
        if judged.verified:
            shutil.rmtree(judged.run.folder)
        else:
            bad.append(f"{judged.run.folder}: {judged.reason}")
    counts = " | ".join(str(seen[word]) for word in ("verified", "hung", "panicked", "wrong"))
    table.append(f"| {cpus} | {BOOTS} | {counts} |")
    assert seen["verified"] == BOOTS > 0, "\n".join(bad)
