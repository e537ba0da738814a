"""The oracle of sockets, compared with one word of one request at a time."""

from __future__ import annotations

import pytest

from benchgate import OracleRun, ParamValue, VerifyError
from guest.workloads.sockets import oracle as sockets
from tests.answerkit import (
    MODULUS,
    Reports,
    Result,
    folded,
    histogram_run,
    mixed,
    refuses_every_lie,
    reports_of,
    turned,
)

REQUESTS = 11
PARAMS: dict[str, ParamValue] = {"requests": REQUESTS, "bytes": 40}
NOTHING = dict.fromkeys(
    ("lo", "hi", "server", "calls", "answers", "wrong", "client", "served", "served_answers"), 0
)


def reply(number: int) -> list[int]:
    """The words that a server sends back."""
    request = [turned(mixed(number), w) for w in range(5)]
    return [folded([number, *request[: w + 1]]) for w in range(5)]


def rows(cpus: int) -> list[dict[str, int]]:
    servers, clients = [], []
    for k in range(cpus):
        lo, hi = REQUESTS * k // cpus, REQUESTS * (k + 1) // cpus
        replies = [reply(number) for number in range(lo, hi)]
        last = sum(words[-1] for words in replies) % MODULUS
        answers = sum(map(folded, replies)) % MODULUS
        servers.append(
            {**NOTHING, "server": 1, "client": cpus + k, "served": hi - lo, "served_answers": last}
        )
        clients.append({**NOTHING, "lo": lo, "hi": hi, "calls": hi - lo, "answers": answers})
    return servers[::-1] + clients  # a server has whichever client came first


RESULT = {"calls": REQUESTS, "answers": sum(folded(reply(i)) for i in range(REQUESTS)) % MODULUS}


def run(found: list[dict[str, int]], cpus: int) -> OracleRun:
    return histogram_run("latency", [row["calls"] for row in found], cpus)


@pytest.mark.parametrize("cpus", [1, 2, 3])
def test_both_sides_of_every_call_are_checked(cpus: int) -> None:
    found = rows(cpus)

    def check(reports: Reports, result: Result) -> None:
        sockets.check(PARAMS, reports, result, run(found, cpus))

    refuses_every_lie(check, reports_of(found), RESULT)


def test_a_reply_too_few_is_refused() -> None:
    result = rows(2)
    result[3] = {**result[3], "calls": 5}
    with pytest.raises(VerifyError, match="worker 3 reported calls=5, expected calls=6"):
        sockets.check(PARAMS, reports_of(result), RESULT, run(result, 2))


def test_two_servers_of_one_client_are_refused() -> None:
    result = rows(2)
    result[1] = {**result[0]}
    with pytest.raises(VerifyError, match=r"the servers had the clients \[3, 3\], not each of 2..3 once"):
        sockets.check(PARAMS, reports_of(result), RESULT, run(result, 2))


def test_a_latency_that_was_dropped_is_refused() -> None:
    with pytest.raises(VerifyError, match="worker 3 has 5 values in histogram latency, expected 6"):
        sockets.check(PARAMS, reports_of(rows(2)), RESULT, histogram_run("latency", [0, 0, 5, 5], 2))


def test_latencies_longer_than_the_window_are_refused() -> None:
    short = histogram_run("latency", [0, 0, 5, 6], 2, work=599)
    with pytest.raises(VerifyError, match="histogram latency of worker 3 has 600 ns together"):
        sockets.check(PARAMS, reports_of(rows(2)), RESULT, short)
