"""The oracles of the programs refuse every figure that contradicts the request or the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from benchgate import OracleRun, ParamValue, VerifyError
from guest.workloads.cyclictest import oracle as cyclictest
from guest.workloads.hackbench import oracle as hackbench
from guest.workloads.perf_sched import oracle as perf_sched
from guest.workloads.stress_ng import oracle as stress_ng
from guest.workloads.sysbench_cpu import oracle as sysbench_cpu
from guest.workloads.sysbench_threads import oracle as sysbench_threads

Params = dict[str, ParamValue]
WORK_NS = 100_000_000
SYSBENCH = {"events": 20, "threads": 3, "seconds": 100_000_000}
CASES: tuple[tuple[Callable[..., None], Params, Mapping[str, int]], ...] = (
    (
        hackbench.check,
        {"loops": 9, "groups": 2, "fds": 5, "bytes": 64},
        {"groups": 2, "fds": 10, "tasks": 20, "loops": 9, "bytes": 64, "seconds": 99_000_000},
    ),
    (
        cyclictest.check,
        {"loops": 50, "interval_us": 2000},
        {"threads": 3, "most": 50, "fewest": 49, "earliest": 7_000, "latest": 57_000},
    ),
    (stress_ng.check, {"method": "int64", "ops": 50}, {"workers": 3, "ops": 51}),
    (sysbench_cpu.check, {"events": 20, "limit": 9}, SYSBENCH),
    (sysbench_threads.check, {"events": 20, "threads": 3, "yields": 1, "locks": 1}, SYSBENCH),
    (perf_sched.check, {"loops": 7}, {"loops": 7, "seconds": 100_000_000}),
)
WRONG = {"seconds": 102_000_000, "latest": 101_000_000, "earliest": 58_000, "fewest": 51, "ops": 67}
"""Wrong values of what is not an exact count."""
RUN = OracleRun(cpus=3, unit="ns", hz=1_000_000_000, work=WORK_NS, total=WORK_NS, by_worker={})


@pytest.mark.parametrize(("check", "params", "result"), CASES)
def test_a_right_run_is_accepted(
    check: Callable[..., None], params: Params, result: Mapping[str, int]
) -> None:
    check(params, [], {**result, "printed": 3}, RUN)


@pytest.mark.parametrize(
    ("check", "params", "result", "key"), [(*case, key) for case in CASES for key in case[2]]
)
def test_every_wrong_figure_is_refused(
    check: Callable[..., None], params: Params, result: Mapping[str, int], key: str
) -> None:
    said = "51 wake-ups" if key == "fewest" else key
    with pytest.raises(VerifyError, match=said):
        check(params, [], {**result, key: WRONG.get(key, result[key] + 1)}, RUN)


@pytest.mark.parametrize(("ops", "is_right"), [(50, False), (55, True), (66, True)])
def test_a_call_of_stress_ng_may_be_worth_several_operations(ops: int, is_right: bool) -> None:
    """Each of 3 workers has to do 17. A call of its crc16 counts for more than 2."""
    check, params, result = next(case for case in CASES if case[0] is stress_ng.check)
    asked = {**params, "method": "crc16"}
    if is_right:
        check(asked, [], {**result, "ops": ops}, RUN)
        return
    with pytest.raises(VerifyError, match="reported ops=50, expected 51 to 66"):
        check(asked, [], {**result, "ops": ops}, RUN)


def test_sleeps_must_fit_into_the_window() -> None:
    check, params, result = CASES[1]
    with pytest.raises(VerifyError, match="the sum of its intervals=147000000 ns"):
        check({**params, "interval_us": 3000}, [], result, RUN)


def test_a_thread_without_a_wake_up_is_refused() -> None:
    check, params, result = CASES[1]
    with pytest.raises(VerifyError, match="a thread with 0 wake-ups, not 1 to 50"):
        check(params, [], {**result, "fewest": 0}, RUN)
