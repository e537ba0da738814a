"""What memory.json says of a run on wall time: the bytes held and moved, or why they are not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.judge.accounts.host_memory import HostMemory, host_memory
from benchgate.judge.run_files import RunFiles
from benchgate.run.thread_use import MemoryRecord
from tests.unit.factories import cell, raw_run

MS = 1_000_000


def sample(moment: str, ms: int, held: int | None, moved: int | None) -> dict[str, object]:
    return {"moment": moment, "time_ns": ms * MS, "held_bytes": held, "moved_bytes": moved}


GOOD = [
    sample("start", 0, 9_000, 0),
    sample("ready", 100, 50, 1_000),
    sample("", 150, 80, 1_500),
    sample("result", 300, 70, 5_000),
    sample("end", 300, 60, 5_000),
    sample("exit", 900, 9_999, 99_999),
]


def record(folder: Path, text: str) -> MemoryRecord | None:
    (folder / "memory.json").write_text(text)
    return RunFiles(replace(raw_run(cell(2)), folder=folder)).host_memory


def seen(folder: Path, samples: list[dict[str, object]], why: str = "") -> HostMemory:
    counted = record(folder, json.dumps({"why": why, "cache_bytes": 1 << 20, "samples": samples}))
    assert counted
    return host_memory(counted, 100 * MS)


def test_the_most_held_and_the_bytes_at_the_mean_rate(tmp_path: Path) -> None:
    """4,000 bytes in 200 ms are 2,000 in a window of 100 ms; before and after it nothing counts."""
    assert seen(tmp_path, GOOD) == HostMemory(80, 2_000, 1 << 20, "a counter could not be read in the window")


def test_without_the_file_nothing_is_said(tmp_path: Path) -> None:
    assert RunFiles(replace(raw_run(cell(2)), folder=tmp_path)).host_memory is None


@pytest.mark.parametrize(
    ("samples", "held", "moved"),
    [
        ([GOOD[1], sample("", 150, None, 1), GOOD[3]], None, 2_000),
        ([GOOD[1], sample("end", 300, 1, None)], 50, None),
        ([sample("ready", 100, 1, 9_000), GOOD[3]], 70, None),
        ([sample("ready", 300, 1, 1), GOOD[3]], 70, None),
        ([GOOD[0], GOOD[3]], None, None),
        ([GOOD[1]], None, None),
        ([GOOD[3], GOOD[1]], None, None),
        ([], None, None),
    ],
)
def test_a_figure_that_is_not_known_is_none(
    tmp_path: Path, samples: list[dict[str, object]], held: int | None, moved: int | None
) -> None:
    found = seen(tmp_path, samples)
    assert (found.held_bytes, found.moved_bytes) == (held, moved)
    assert found.why


def test_the_reason_of_the_host_is_given(tmp_path: Path) -> None:
    found = seen(tmp_path, [], "only root may\x1b[2J")
    assert found.why.startswith("only root may")
    assert "\x1b" not in found.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "has no why"),
        ("[]", "not an object"),
        ("x", "memory.json"),
        ("[" * 100_000, "memory.json"),
        ('{"why": "", "cache_bytes": -1, "samples": []}', "cache_bytes"),
        ('{"why": "", "cache_bytes": 1, "samples": [1]}', r"samples\[0\] is not an object"),
        ('{"why": "", "cache_bytes": 1, "samples": [], "more": 1}', "unknown key"),
    ],
)
def test_a_file_that_nobody_wrote_so_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(VerifyError, match=why):
        record(tmp_path, text)
