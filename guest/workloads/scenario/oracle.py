"""The correct answers of scenario.c: how many workers there are, and what their rounds lead to.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. How
many rounds a worker makes is up to the system: its turns and its number follow from them. What the system
made of groups and limits is judged by what its scheduler did (features/scenarios/check.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from benchgate import OracleRun, ParamValue, VerifyError, WorkerReport, after_turns_from, expect, whole

PIECES = ("p1", "p2", "p3", "p4")
PIPE, CHAIN = 3, 4
OF_DIRECTOR = 8
_ENTRY = re.compile(r"([GLE])((?:[a-z][0-9]+)*)")
_NUMBER = re.compile(r"([a-z])([0-9]+)")

Entry = tuple[str, dict[str, int]]


def entries(params: Mapping[str, ParamValue]) -> list[Entry]:
    text = "".join(str(params[piece]).replace(".", "") for piece in PIECES)
    matches = list(_ENTRY.finditer(text))
    if "".join(match[0] for match in matches) != text:
        raise VerifyError(f"the plan `{text}` cannot be read")
    return [(match[1], {name: int(value) for name, value in _NUMBER.findall(match[2])}) for match in matches]


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    plan = entries(params)
    groups = [of for kind, of in plan if kind == "G"]
    changes = [of for kind, of in plan if kind == "E"]
    owners = [number for number, group in enumerate(groups) for _ in range(group["t"])]
    owners += [OF_DIRECTOR] if changes else []
    if len(reports) != len(owners):
        raise VerifyError(f"{len(reports)} workers reported, but the plan has {len(owners)}")
    for worker, (report, owner) in enumerate(zip(reports, owners, strict=True)):
        if owner == OF_DIRECTOR:
            right = {"group": OF_DIRECTOR, "rounds": len(changes), "turns": 0, "number": 0}
            expect("the director", report.values, right)
        else:
            _check_thread(report, worker, owner, groups[owner]["r"])
    for number, group in enumerate(groups):
        mine = [report for report, owner in zip(reports, owners, strict=True) if owner == number]
        _check_together(group.get("k", 0), [report.values["rounds"] for report in mine], number)
    sums = {key: sum(report.values[key] for report in reports) for key in ("rounds", "turns")}
    expect("the result", result, sums)
    if 2 * run.work * 10**9 < whole(params, "time_ns") * (run.hz or 10**9):
        raise VerifyError(
            f"the work window has {run.work} {run.unit}, less than half of {params['time_ns']} ns"
        )


def _check_thread(report: WorkerReport, worker: int, group: int, turns: int) -> None:
    rounds = report.values.get("rounds", 0)
    right = {"group": group, "rounds": rounds, "turns": rounds * turns}
    number = after_turns_from(worker, rounds * turns)
    expect(f"worker {report.id}", report.values, {**right, "number": number})


def _check_together(kind: int, rounds: Sequence[int], group: int) -> None:
    """Threads that wake each other make as many rounds."""
    if kind == PIPE:
        for number, other in zip(rounds[::2], rounds[1::2], strict=True):
            if number != other:
                raise VerifyError(
                    f"a pipe of group {group} has {number} rounds at one end, {other} at the other"
                )
    if kind == CHAIN and any(
        not 0 <= one - other <= 1 for one, other in (*pairwise(rounds), (rounds[0], rounds[-1]))
    ):
        raise VerifyError(f"the threads of the chain of group {group} made {list(rounds)} rounds")
