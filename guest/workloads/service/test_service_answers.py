"""The oracle of service, compared with one request at a time."""

from __future__ import annotations

import pytest

from benchgate import OracleRun, ParamValue, VerifyError
from guest.workloads.service import oracle as service
from tests.answerkit import (
    MODULUS,
    Reports,
    Result,
    histogram_run,
    mixed,
    refuses_every_lie,
    reports_of,
    turned,
)

REQUESTS = 11
NOTHING = dict.fromkeys(
    ("lo", "hi", "server", "calls", "answers", "wrong", "served", "served_answers", "turns"), 0
)


def params(route: str) -> dict[str, ParamValue]:
    return {"requests": REQUESTS, "grain": 4, "spread": 3, "route": route}


def reply(number: int) -> int:
    return turned(mixed(number), 4 + mixed(number) % 3)


def rows(route: str, cpus: int) -> list[dict[str, int]]:
    servers = [{**NOTHING, "server": 1} for _ in range(cpus)]
    clients = []
    for client in range(cpus):
        lo, hi = REQUESTS * client // cpus, REQUESTS * (client + 1) // cpus
        asked = range(lo, hi)
        for call, number in enumerate(asked):
            server = servers[client if route == "own" else (client + call) % cpus]
            server["served"] += 1
            server["turns"] += 4 + mixed(number) % 3
            server["served_answers"] = (server["served_answers"] + reply(number)) % MODULUS
        answers = sum(map(reply, asked)) % MODULUS
        clients.append({**NOTHING, "lo": lo, "hi": hi, "calls": hi - lo, "answers": answers})
    return servers + clients


RESULT = {"calls": REQUESTS, "answers": sum(map(reply, range(REQUESTS))) % MODULUS}


def run(found: list[dict[str, int]], cpus: int) -> OracleRun:
    return histogram_run("latency", [row["calls"] for row in found], cpus)


@pytest.mark.parametrize("cpus", [1, 2, 3])
@pytest.mark.parametrize("route", ["own", "spread"])
def test_both_sides_of_every_call_are_checked(route: str, cpus: int) -> None:
    found = rows(route, cpus)

    def check(reports: Reports, result: Result) -> None:
        service.check(params(route), reports, result, run(found, cpus))

    refuses_every_lie(check, reports_of(found), RESULT)


def test_a_reply_that_was_not_computed_is_refused_on_both_sides() -> None:
    for side, key in ((0, "served_answers"), (2, "answers")):
        result = rows("own", 2)
        right = result[side][key]
        result[side] = {**result[side], key: (right - reply(0) + mixed(0)) % MODULUS}
        with pytest.raises(VerifyError, match=f"worker {side} reported {key}="):
            service.check(params("own"), reports_of(result), RESULT, run(result, 2))


def test_a_request_to_another_server_is_refused() -> None:
    with pytest.raises(VerifyError, match="worker 0 reported served"):
        service.check(params("spread"), reports_of(rows("own", 2)), RESULT, run(rows("own", 2), 2))


def test_a_latency_that_was_dropped_is_refused() -> None:
    result = rows("own", 2)
    with pytest.raises(VerifyError, match="worker 3 has 5 values in histogram latency, expected 6"):
        service.check(params("own"), reports_of(result), RESULT, histogram_run("latency", [0, 0, 5, 5], 2))


def test_latencies_longer_than_the_window_are_refused() -> None:
    result = rows("own", 2)
    short = histogram_run("latency", [0, 0, 5, 6], 2, work=599)
    with pytest.raises(VerifyError, match="histogram latency of worker 3 has 600 ns together"):
        service.check(params("own"), reports_of(result), RESULT, short)
