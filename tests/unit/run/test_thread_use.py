"""What is recorded of threads and host around a run. A missing counter must never read as no disturbance."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.run.thread_use import Sample, ThreadUse, host_span_ns, keep_samples


def use(thread: int, vcpu: int | None, delay_ns: int | None) -> ThreadUse:
    return ThreadUse(vcpu, ThreadCounters(thread, "CPU/KVM", 1000, delay_ns, 3, 1, 1, None, 0))


READY = Sample("ready", 10, (use(1, None, 5_000), use(2, 0, 100), use(3, 1, 200)))
RESULT = Sample("result", 20, (use(1, None, 9_000), use(2, 0, 130), use(3, 1, 1_200)))
START, END = Sample("start", 0, (use(2, 0, 0), use(3, 1, 0))), Sample("end", 30, ())


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
    assert host_span_ns((replace(START, t_ns=5), READY, END, Sample(last, 42, ()))) == 37


@pytest.mark.parametrize("samples", [(), (START, READY, RESULT, END), (READY, Sample("exit", 40, ()))])
def test_without_start_or_exit_there_is_no_span(samples: tuple[Sample, ...]) -> None:
    assert host_span_ns(samples) is None
