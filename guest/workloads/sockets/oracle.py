"""The correct answers of sockets.c: word after word, for all requests at once.

Takes the parameters, reports and histograms of a run; gives nothing if they are correct, else fails with
VerifyError. Both sides of every call are known: what a client received, and what its server computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    FOLD,
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

_WORD = 8
_NOTHING = dict.fromkeys(
    ("lo", "hi", "server", "calls", "answers", "wrong", "client", "served", "served_answers"), 0
)


@lru_cache(maxsize=4)
def replies(requests: int, words: int) -> tuple[Words, Words]:
    """The last word of each reply, which the server has, and the fold of all its words, which the client
    makes."""
    word = random_numbers(0, requests)
    reply = np.arange(requests, dtype=np.uint64)
    fold = np.zeros(requests, dtype=np.uint64)
    for _ in range(words):
        reply = reply * np.uint64(FOLD) + word
        fold = fold * np.uint64(FOLD) + reply
        word = after_turns(word, 1)
    return reply, fold


def _clients(reports: Sequence[WorkerReport], servers: int) -> list[int]:
    """The client of each server. Each client has one server."""
    result = [report.values.get("client", 0) for report in reports[:servers]]
    if sorted(result) != list(range(servers, 2 * servers)):
        raise VerifyError(
            f"the servers had the clients {result}, not each of {servers}..{2 * servers - 1} once"
        )
    return result


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    requests, servers = whole(params, "requests"), run.cpus
    if len(reports) != 2 * servers:
        raise VerifyError(f"{len(reports)} workers reported, but {servers} CPUs have 2 workers each")
    last, fold = replies(requests, whole(params, "bytes") // _WORD)
    for k, report in enumerate(reports[servers:]):
        lo, hi = equal_share(requests, servers, k)
        called = {"lo": lo, "hi": hi, "calls": hi - lo, "answers": total(fold[lo:hi])}
        expect(f"worker {report.id}", report.values, {**_NOTHING, **called})
    for report, client in zip(reports[:servers], _clients(reports, servers), strict=True):
        lo, hi = equal_share(requests, servers, client - servers)
        served = {"server": 1, "client": client, "served": hi - lo, "served_answers": total(last[lo:hi])}
        expect(f"worker {report.id}", report.values, {**_NOTHING, **served})
    expect("the result", result, {"calls": requests, "answers": total(fold)})
    expect_histogram(run, "latency", by_worker=[report.values["calls"] for report in reports])
    expect_no_overlap(run, "latency")  # a client has one call at a time
