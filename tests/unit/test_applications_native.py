"""The C of the applications for mixes, run on this host: right answers, refused lies, and their places."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from benchgate.build import programs
from benchgate.plan import catalog
from tests.nativekit import Lie, execute, expect_refused, expect_right, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")

CASES: list[tuple[str, dict[str, object]]] = [
    ("walker", {}),
    ("walker", {"footprint_kb": 4, "seed": 9}),
    ("streamer", {}),
    ("streamer", {"stride": 8, "passes": 4}),
    ("files", {}),
    ("files", {"count": 2, "block_kb": 64}),
    ("sockets", {}),
    ("sockets", {"requests": 12, "bytes": 65_536}),
    ("jobs", {}),
    ("jobs", {"reach": 1, "inputs": 1}),
    ("jobs", {"inputs": 0}),
]


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize(("name", "change"), CASES)
def test_every_worker_gives_the_correct_answer(
    tmp_path: Path, name: str, change: dict[str, object], cpus: int
) -> None:
    expect_right(tmp_path, name, change, cpus)


CHAIN = {"jobs": 10, "reach": 1, "inputs": 1, "grain": 10_000_000}
"""Jobs so long that one which does not wait begins before its input is there."""
LIES = [
    # a step that is skipped, one to the neighbour, a shorter cycle
    Lie("walker", "; left > 0; left--)", "; left > worker; left--)", "worker 1 reported steps=49999"),
    Lie("walker", "at = line[at].next;", "at = left == 9 ? at + 1 : line[at].next;", "worker 0 reported"),
    Lie("walker", "lines - 1; i > 0; i--", "lines - 1; i > lines / 2; i--", "worker 0 reported at="),
    # a pass that is skipped, a word that is read but not written, a last word that is not read
    Lie("streamer", "pass < arrays->passes; pass++)", "pass < arrays->passes; pass += 2)", "worker 0"),
    Lie(
        "streamer",
        "to[i * step] = bench_turns(word, 1);",
        "if (i != 99)\n                to[i * step] = bench_turns(word, 1);",
        "worker 0 reported sum=",
    ),
    Lie("streamer", "        read++;", "        read += i != 99;", "worker 0 reported read="),
    # a byte that is flipped, a block that is not written, one of the round before, a file that is left out
    Lie(
        "files",
        "block[i] = word;",
        "block[i] = word ^ (uint64_t)(i == 7 && b == 2) << 40;",
        "worker 0 reported digest=",
    ),
    Lie("files", "port_write(file, block", "port_write(file, &plan->count", "worker 0 reported digest="),
    Lie("files", "bench_mix((round * plan", "bench_mix((0 * round * plan", "worker 0 reported digest="),
    Lie("files", "slot->value[VALUE_SYNCS]++;", "(void)0;", "worker 0 reported syncs=0"),
    Lie("files", "number < job->task[worker][TASK_HI]; number++) {", "number < 1; number++) {", "worker 0"),
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
    # a job that does not wait, is done for less, twice, by the worker itself, or not at all
    Lie(
        "jobs",
        "bench_await(&graph->target[input_of(graph, job, input)].built, 1);",
        "(void)job;",
        "reported root=",
        CHAIN,
    ),
    Lie(
        "jobs",
        "bench_turns(hash, graph->grain)",
        "bench_turns(hash, graph->grain - 1)",
        "the result reported root=",
    ),
    Lie("jobs", "target->done++;", "target->done += 1 + (number == 7);", "the result reported twice=1"),
    Lie("jobs", "target->done++;", "target->done += number != 7;", "the result reported lost=1"),
    Lie("jobs", "made++;", "made += number != 7;", "reported made=39"),
    Lie(
        "jobs",
        "int child = port_child(job_body, (uint64_t)target);\n"
        "    if (child < 0 || port_child_wait(child) != 0)",
        "job_body((uint64_t)target);\n    if (target->done == 0)",
        "reported at_home=40",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: f"{lie.workload}-{lie.new}")
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)


# ---- places: words of the manifest that whoever starts the program may add


def test_files_are_made_in_the_folder_that_the_manifest_names(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    workload = catalog.load_workload("files")
    absent = execute(workload, words(workload, 2, disk=disk))
    assert (absent.returncode, absent.stdout) == (1, b"benchfail: a file cannot be made\n")
    disk.mkdir()
    verified_by(run_of(tmp_path, workload, 2, disk=disk), workload)
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "word", "value", "reason"),
    [
        ("files", "disk", "/" + "x" * 300, "benchfail: a file cannot be made"),
        ("sockets", "network", "localhost:80", "benchfail: bench.network must be an address and a port"),
        ("sockets", "network", "10.0.0.1:0", "benchfail: bench.network must be an address and a port"),
        ("sockets", "network", "10.0.0.1:80x", "benchfail: bench.network must be an address and a port"),
        ("sockets", "network", "127.0.0.1:80", "benchfail: bench.network needs bench.listen"),
    ],
)
def test_a_place_that_is_not_there_ends_the_run_with_a_sentence(
    name: str, word: str, value: str, reason: str
) -> None:
    workload = catalog.load_workload(name)
    done = execute(workload, words(workload, 1, **{word: value}))
    assert done.returncode == 1
    assert reason in done.stdout.decode()


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
