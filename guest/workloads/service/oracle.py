"""The correct answers of service.c: every reply in closed form, and who was asked.

Takes the parameters, reports and histograms of a run; gives nothing if they are correct, else fails with
VerifyError. Both sides of every call are known: what a client received, and what each server computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    OracleRun,
    ParamValue,
    VerifyError,
    Words,
    WorkerReport,
    after_turns,
    equal_share,
    expect,
    expect_histogram,
    expect_no_overlap,
    random_numbers,
    total,
    whole,
)


def costs(requests: int, grain: int, spread: int) -> Words:
    """The turns of each request."""
    return np.uint64(grain) + random_numbers(0, requests) % np.uint64(spread)


@lru_cache(maxsize=4)
def replies(requests: int, grain: int, spread: int) -> Words:
    return after_turns(random_numbers(0, requests), costs(requests, grain, spread))


def servers_asked(requests: int, servers: int, route: str) -> Words:
    """The server of each request."""
    asked = np.empty(requests, dtype=np.uint64)
    for client in range(servers):
        lo, hi = equal_share(requests, servers, client)
        turn = (
            np.arange(hi - lo, dtype=np.uint64) if route == "spread" else np.zeros(hi - lo, dtype=np.uint64)
        )
        asked[lo:hi] = (turn + np.uint64(client)) % np.uint64(servers)
    return asked


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    requests, servers = whole(params, "requests"), run.cpus
    if len(reports) != 2 * servers:
        raise VerifyError(f"{len(reports)} workers reported, but {servers} CPUs have 2 workers each")
    grain, spread = whole(params, "grain"), whole(params, "spread")
    reply, cost = replies(requests, grain, spread), costs(requests, grain, spread)
    asked = servers_asked(requests, servers, str(params["route"]))
    nothing = dict.fromkeys(
        ("lo", "hi", "server", "calls", "answers", "wrong", "served", "served_answers", "turns"), 0
    )
    for k, report in enumerate(reports[:servers]):
        mine = reply[asked == k]
        correct = {
            **{"server": 1, "served": len(mine), "served_answers": total(mine)},
            "turns": total(cost[asked == k]),
        }
        expect(f"worker {report.id}", report.values, {**nothing, **correct})
    for k, report in enumerate(reports[servers:]):
        lo, hi = equal_share(requests, servers, k)
        correct = {"lo": lo, "hi": hi, "calls": hi - lo, "answers": total(reply[lo:hi])}
        expect(f"worker {report.id}", report.values, {**nothing, **correct})
    expect("the result", result, {"calls": requests, "answers": total(reply)})
    expect_histogram(run, "latency", by_worker=[report.values["calls"] for report in reports])
    expect_no_overlap(run, "latency")  # a client has one call at a time
