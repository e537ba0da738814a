"""Counters of the host around a run, as a test chooses them. The window is one second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.run.thread_use import ThreadUse, UseSample

SECOND = 1_000_000_000
QUIET: Mapping[str, Any] = {
    "time_ns": 0,
    "steal_ticks": {0: 10, 1: 10},
    "all_ticks": {0: 900, 1: 900},
    "psi_cpu_us": 5_000,
    "frequency_khz": None,
    "throttles": None,
}


def counters(
    delays: Sequence[int | None] = (0, 0),
    *,
    idle: Mapping[int, int] = MappingProxyType({}),
    ends: str = "result",
    grown: Mapping[str, Any] | None = None,
    later: Mapping[str, Any] | None = None,
) -> tuple[UseSample, ...]:
    """Samples before and after a window. Each vCPU could run for one second, less than that if it was `idle`:
    it ran or waited `delays`.
    `grown`: what each vCPU's other counters grew by; `later`: the host's counters after it."""
    first = [_thread(vcpu, 5, 7 if delay is not None else None) for vcpu, delay in enumerate(delays)]
    last = [
        _thread(
            vcpu,
            5 + SECOND - (delay or 0) - idle.get(vcpu, 0),
            None if delay is None else 7 + delay,
            **(grown or {}),
        )
        for vcpu, delay in enumerate(delays)
    ]
    other = ThreadUse(None, ThreadCounters(9, "main", 5, 10**12, 1, 1, 1, 1, 0))
    before = UseSample("ready", 100, (other, *first), HostSnapshot(**QUIET))
    after = UseSample(ends, 100 + 3 * SECOND, (other, *last), HostSnapshot(**{**QUIET, **(later or {})}))
    return UseSample("start", 0, (other, *first), HostSnapshot(**QUIET)), before, after


def _thread(vcpu: int, run_ns: int, delay_ns: int | None, **grown: int | None) -> ThreadUse:
    """A thread of a vCPU. Without a wait its run time is not known either: both are in one file."""
    run = None if delay_ns is None else run_ns
    usual: dict[str, int | None] = {"voluntary": 0, "involuntary": 0, "migrations": 0}
    thread_counters = ThreadCounters(20 + vcpu, "CPU", run, delay_ns, 3, cpu=vcpu, **{**usual, **grown})
    return ThreadUse(vcpu, thread_counters)
