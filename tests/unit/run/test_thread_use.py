"""The time that vCPUs waited for the host: computed from complete samples only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.host.noise import ThreadCounters
from benchgate.run.thread_use import Sample, ThreadUse, host_delay_ns, host_span_ns


def use(thread: int, vcpu: int | None, delay_ns: int | None) -> ThreadUse:
    return ThreadUse(vcpu, ThreadCounters(thread, "CPU/KVM", 1000, delay_ns, 3, 1, 1, None, 0))


READY = Sample("ready", 10, (use(1, None, 5_000), use(2, 0, 100), use(3, 1, 200)))
RESULT = Sample("result", 20, (use(1, None, 9_000), use(2, 0, 130), use(3, 1, 1_200)))
START, END = Sample("start", 0, (use(2, 0, 0), use(3, 1, 0))), Sample("end", 30, ())


def test_only_the_vcpus_between_ready_and_result_count() -> None:
    assert host_delay_ns((START, READY, RESULT, END)) == 30 + 1_000


def test_no_waiting_is_zero_and_not_unknown() -> None:
    assert host_delay_ns((READY, replace(READY, moment="result"))) == 0


@pytest.mark.parametrize(
    "samples",
    [
        (),
        (START, READY),
        (START, RESULT),
        (replace(READY, threads=()), replace(RESULT, threads=())),
        (READY, replace(RESULT, threads=RESULT.threads[:2])),
        (READY, replace(RESULT, threads=(*RESULT.threads[:2], use(4, 1, 1_200)))),
        (READY, replace(RESULT, threads=(*RESULT.threads[:2], use(3, 1, None)))),
        (READY, replace(RESULT, threads=(*RESULT.threads[:2], use(3, 1, 199)))),
    ],
    ids=["none", "no-result", "no-ready", "no-vcpus", "lost", "another", "missing-value", "backwards"],
)
def test_incomplete_samples_give_no_delay(samples: tuple[Sample, ...]) -> None:
    assert host_delay_ns(samples) is None


@pytest.mark.parametrize("last", ["exit", "stop"])
def test_the_span_is_from_the_start_to_the_exit(last: str) -> None:
    assert host_span_ns((replace(START, t_ns=5), READY, END, Sample(last, 42, ()))) == 37


@pytest.mark.parametrize("samples", [(), (START, READY, RESULT, END), (READY, Sample("exit", 40, ()))])
def test_without_start_or_exit_there_is_no_span(samples: tuple[Sample, ...]) -> None:
    assert host_span_ns(samples) is None
