"""What the vCPUs had to wait for the host, from two samples: known in full, or not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.machine.accounting import Sample, ThreadUse, host_delay_ns, host_span_ns


def use(thread: int, vcpu: int | None, delay_ns: int | None, timeslices: int | None = 3) -> ThreadUse:
    return ThreadUse(thread, "CPU/KVM", vcpu, 1000, delay_ns, timeslices, 1, 1, None)


READY = Sample("ready", 10, (use(1, None, 5_000), use(2, 0, 100), use(3, 1, 200)))
RESULT = Sample("result", 20, (use(1, None, 9_000), use(2, 0, 130), use(3, 1, 1_200)))
START, END = Sample("start", 0, (use(2, 0, 0), use(3, 1, 0))), Sample("end", 30, ())


def test_only_the_vcpus_between_ready_and_result_count() -> None:
    assert host_delay_ns((START, READY, RESULT, END)) == 30 + 1_000


def test_no_waiting_is_nought_and_not_unknown() -> None:
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
        (READY, replace(RESULT, threads=(*RESULT.threads[:2], use(3, 1, 0, timeslices=0)))),
        (READY, replace(RESULT, threads=(*RESULT.threads[:2], use(3, 1, 199)))),
    ],
    ids=["none", "no-result", "no-ready", "no-vcpus", "lost", "another", "not-told", "no-books", "backwards"],
)
def test_what_is_not_known_in_full_is_not_known(samples: tuple[Sample, ...]) -> None:
    assert host_delay_ns(samples) is None


@pytest.mark.parametrize("last", ["exit", "stop"])
def test_the_span_is_from_being_let_go_to_the_exit(last: str) -> None:
    assert host_span_ns((replace(START, t_ns=5), READY, END, Sample(last, 42, ()))) == 37


@pytest.mark.parametrize("samples", [(), (START, READY, RESULT, END), (READY, Sample("exit", 40, ()))])
def test_a_machine_whose_exit_was_not_seen_has_no_span(samples: tuple[Sample, ...]) -> None:
    assert host_span_ns(samples) is None
