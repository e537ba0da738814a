"""What is recorded of threads and host around a run. A missing counter must never read as no disturbance."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from benchgate.host import resctrl
from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.host.resctrl import MemoryCounters
from benchgate.run.thread_use import (
    MEMORY_FILE,
    MemoryUse,
    ThreadUse,
    UseSample,
    host_span_ns,
    keep_samples,
    sample,
)


def use(thread: int, vcpu: int | None, delay_ns: int | None) -> ThreadUse:
    return ThreadUse(vcpu, ThreadCounters(thread, "CPU/KVM", 1000, delay_ns, 3, 1, 1, None, 0))


READY = UseSample("ready", 10, (use(1, None, 5_000), use(2, 0, 100), use(3, 1, 200)))
RESULT = UseSample("result", 20, (use(1, None, 9_000), use(2, 0, 130), use(3, 1, 1_200)))
START, END = UseSample("start", 0, (use(2, 0, 0), use(3, 1, 0))), UseSample("end", 30, ())


def test_a_counter_that_the_host_does_not_offer_is_written_as_unavailable(tmp_path: Path) -> None:
    host = HostSnapshot(7, {0: 3}, {0: 90}, None, None, {0: 0})
    keep_samples(tmp_path, (replace(READY, threads=(use(2, 0, None),), host=host), RESULT))
    ready, result = json.loads((tmp_path / "threads.json").read_text())
    (thread,) = ready["threads"]
    assert (thread["delay_ns"], thread["migrations"], thread["run_ns"]) == (
        "unavailable",
        "unavailable",
        1000,
    )
    assert [one["delay_ns"] for one in result["threads"]] == [9_000, 130, 1_200]
    found = json.loads((tmp_path / "host.json").read_text())
    assert found["ticks_per_s"] == os.sysconf("SC_CLK_TCK")
    (sample,) = found["samples"]
    assert sample == {
        "moment": "ready",
        "time_ns": 7,
        "steal_ticks": {"0": 3},
        "all_ticks": {"0": 90},
        "psi_cpu_us": "unavailable",
        "frequency_khz": "unavailable",
        "throttles": {"0": 0},
    }


def test_on_the_instruction_clock_nothing_of_the_host_is_written(tmp_path: Path) -> None:
    keep_samples(tmp_path, (START, READY))
    assert [path.name for path in tmp_path.iterdir()] == ["threads.json"]


@pytest.mark.parametrize("last", ["exit", "stop"])
def test_the_span_is_from_the_start_to_the_exit(last: str) -> None:
    assert host_span_ns((replace(START, t_ns=5), READY, END, UseSample(last, 42, ()))) == 37


@pytest.mark.parametrize("samples", [(), (START, READY, RESULT, END), (READY, UseSample("exit", 40, ()))])
def test_without_start_or_exit_there_is_no_span(samples: tuple[UseSample, ...]) -> None:
    assert host_span_ns(samples) is None


class Counting:
    """In the place of a Group on a host that counts."""

    made: ClassVar[list[Counting]] = []

    def __init__(self, name: str, root: Path) -> None:
        del root
        self.name, self.why = name, ""
        self.threads: list[int] = []
        self.closed = False
        Counting.made = [self]

    def join(self, threads: list[int]) -> None:
        self.threads += threads

    def read(self) -> MemoryCounters:
        return MemoryCounters(7, 100, None)

    def close(self) -> None:
        self.closed = True


def test_every_moment_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.run.thread_use.Group", Counting)
    monkeypatch.setattr(resctrl, "last_cache_bytes", lambda pins: 8 << 20 if pins == (0,) else None)
    use = MemoryUse(os.getpid(), (0,), "abcd")
    use.note("ready")
    use.note("")
    use.keep(tmp_path)
    use.close()
    (group,) = Counting.made
    assert (group.name, group.closed) == ("benchgate-abcd", True)
    assert os.getpid() in group.threads
    sample = {"time_ns": 7, "held_bytes": 100, "moved_bytes": None}
    assert json.loads((tmp_path / MEMORY_FILE).read_text()) == {
        "why": "",
        "cache_bytes": 8 << 20,
        "samples": [{"moment": "ready", **sample}, {"moment": "", **sample}],
    }


def test_a_host_that_does_not_count_says_why(tmp_path: Path) -> None:
    use = MemoryUse(os.getpid(), (0,), "abcd", tmp_path / "resctrl")
    use.note("ready")
    use.keep(tmp_path)
    use.close()
    result = json.loads((tmp_path / MEMORY_FILE).read_text())
    assert result["samples"] == []
    assert "is not mounted" in result["why"]


@pytest.mark.parametrize(
    ("moment", "cpus", "has_threads"),
    [("start", None, False), ("result", None, False), ("exit", None, False)]
    + [(name, None, True) for name in ("end", "stop")]
    + [(name, (), True) for name in ("start", "ready", "result", "end", "stop")],
)
def test_on_the_instruction_clock_threads_are_read_only_where_a_process_ends(
    moment: str, cpus: tuple[int, ...] | None, has_threads: bool
) -> None:
    taken = sample(os.getpid(), moment, [os.getpid()], cpus)
    assert (os.getpid() in taken.vcpus) == has_threads
    assert (taken.host is not None) == (cpus is not None)
