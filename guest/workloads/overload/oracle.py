"""The correct answers of overload.c: every worker's number, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
Where a worker ended is up to the system; on which CPUs, the clock's marks say, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, VerifyError, WorkerReport, after_turns_from, expect, whole

Places = list[tuple[int, int, int]]
"""Of each worker: where it begins and where it may run, as masks of CPUs; whether it is a group."""


def places(case: str, nodes: int, cpus: int) -> Places:
    each = cpus // nodes
    home, every = (1 << each) - 1, (1 << cpus) - 1
    if case == "group":
        hogs = [(1 << node * each, every, 1) for node in range(1, nodes)]
        return hogs + [(home, every, 0)] * (cpus - len(hogs))
    if case == "hops":
        return [(home, home | home << nodes // 2 * each, 0)] * (2 * each)
    return [(home, every, 0)] * (2 * cpus if case == "wake" else cpus)


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    turns, case = whole(params, "turns"), str(params["case"])
    expected = places(case, whole(params, "nodes"), run.cpus)
    if len(reports) != len(expected):
        raise VerifyError(
            f"{len(reports)} workers reported, but case={case} with {run.cpus} CPUs has {len(expected)}"
        )
    for k, (report, (home, may, group)) in enumerate(zip(reports, expected, strict=True)):
        expect(
            f"worker {report.id}",
            report.values,
            {
                "home": home,
                "may": may,
                "group": group,
                "turns": turns,
                "number": number(case, k, turns, whole(params, "rounds")),
            },
        )
    places_of = zip(reports, expected, strict=True)
    left = sum(not home >> report.cpu_end & 1 for report, (home, _, _) in places_of)
    expect("the result", result, {"turns": len(reports) * turns, "left": left})


def number(case: str, worker: int, turns: int, rounds: int) -> int:
    """The two of a pair turn one number by turns, so the even one of them misses the last part."""
    if case != "wake":
        return after_turns_from(worker, turns)
    return after_turns_from(worker // 2, 2 * turns - (turns // rounds if worker % 2 == 0 else 0))
