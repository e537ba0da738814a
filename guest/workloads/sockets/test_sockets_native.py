"""The C of sockets, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from benchgate.build import programs
from benchgate.plan import catalog
from tests.nativekit import Lie, execute, refusals, right_answers, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")


test_every_worker_gives_the_correct_answer = right_answers("sockets", {}, {"requests": 12, "bytes": 65_536})

LIES = [
    # a reply too few, one that is not computed, one to another request, a latency that is dropped or made up
    Lie(
        "sockets",
        "left = client[TASK_HI] - client[TASK_LO]",
        "left = client[TASK_HI] - client[TASK_LO] - 1",
        "benchfail",
    ),
    Lie("sockets", "message.word[w] = fold = bench_fold", "fold = bench_fold", "worker 2 reported answers="),
    Lie(
        "sockets",
        "word = bench_mix(number);",
        "word = bench_mix(number + (number == 9));",
        "worker 2 reported answers=",
    ),
    Lie("sockets", "message.number = number;", "message.number = number + 1;", "worker 2 reported answers="),
    Lie("sockets", "slot->value[VALUE_CALLS]++;", "slot->value[VALUE_CALLS] += i != 3;", "worker 2"),
    Lie("sockets", "bench_record(latency,", "if (i != 3)\n            bench_record(latency,", "histogram"),
    Lie("sockets", "port_now() - began", "port_now() - began + 60000000000", "histogram"),
]

test_a_lie_is_found = refusals(LIES)


# ---- places: words of the manifest that whoever starts the program may add


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        ("localhost:80", "bench.network must be an address and a port"),
        ("10.0.0.1:0", "bench.network must be an address and a port"),
        ("10.0.0.1:80x", "bench.network must be an address and a port"),
        ("127.0.0.1:80", "bench.network needs bench.listen"),
    ],
)
def test_a_place_that_is_not_there_ends_the_run_with_a_sentence(network: str, reason: str) -> None:
    workload = catalog.load_workload("sockets")
    done = execute(workload, words(workload, 1, network=network))
    assert done.returncode == 1
    assert f"benchfail: {reason}" in done.stdout.decode()


def test_servers_listen_where_the_manifest_says(tmp_path: Path) -> None:
    workload = catalog.load_workload("sockets")
    with socket.create_server(("127.0.0.9", 0)) as listener:
        place = {"network": f"127.0.0.9:{listener.getsockname()[1]}", "listen": listener.fileno()}
        run = run_of(tmp_path, workload, 2, **place)
    verified_by(run, workload)


@pytest.mark.parametrize(("name", "has"), [("primes", False), ("files", False), ("sockets", True)])
def test_only_a_program_that_needs_a_network_contains_it(name: str, has: bool) -> None:
    program = programs.guest_program(catalog.load_workload(name)).read_bytes()
    assert (b"bench.network must be" in program) == has
