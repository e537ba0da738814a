"""The guest's C code, compiled and run on this host: correct answers, and errors with their reason."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.paths import data_root
from benchgate.base.yaml import yamlfile
from benchgate.build import programs, toolchain
from benchgate.judge import wire
from benchgate.judge.run_files import read_console
from benchgate.plan import catalog
from tests.machines import PATIENCE_S
from tests.nativekit import NONCE, broken, execute, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["primes", "checksum", "tasks"])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, name: str, workers: int) -> None:
    workload = catalog.load_workload(name)
    verified = verified_by(run_of(tmp_path, workload, workers), workload)
    assert len(verified.workers) == workers
    assert verified.foreign is None  # not measured on a host with other processes


@pytest.mark.parametrize("change", [{"wait": "spin"}, {"split": "width"}, {"split": "one"}, {"hi": 10_000}])
def test_other_parameters_of_primes_verify(tmp_path: Path, change: dict[str, object]) -> None:
    workload = catalog.load_workload("primes")
    verified_by(run_of(tmp_path, workload, 2, **change), workload)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("name", ["primes", "checksum"])
def test_split_one_gives_all_work_to_the_first_worker(tmp_path: Path, name: str, workers: int) -> None:
    workload = catalog.load_workload(name)
    verified = verified_by(run_of(tmp_path, workload, workers, split="one"), workload)
    first, *others = [worker.values for worker in verified.workers]
    last = {"primes": 40_001, "checksum": 5000}[name]
    assert (first["lo"], first["hi"]) == ({"primes": 2, "checksum": 0}[name], last)
    for idle in others:
        assert (idle["lo"], idle["hi"]) == (last, last)
        assert {idle[key] for key in idle.keys() - {"lo", "hi"}} == {0}


def test_64_workers_verify(tmp_path: Path) -> None:
    workload = catalog.load_workload("primes")
    assert len(verified_by(run_of(tmp_path, workload, 64), workload).workers) == 64


def test_pinned_workers_stay_on_their_cpu(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    workload = catalog.load_workload("checksum")
    verified = verified_by(run_of(tmp_path, workload, 2, pin=f"{cpu},{cpu}"), workload)
    assert {(worker.cpu, worker.cpu_end) for worker in verified.workers} == {(cpu, cpu)}


def test_the_root_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    workload = catalog.load_workload("checksum")
    roots = set()
    for workers in (1, 2, 3, 7):
        run = run_of(tmp_path, workload, workers)
        roots.add(wire.parse(read_console(run), nonce=NONCE).result["root"])
    assert len(roots) == 1


def test_equal_cost_differs_by_at_most_the_cost_of_one_number_per_end(tmp_path: Path) -> None:
    workload = catalog.load_workload("primes")
    verified = verified_by(run_of(tmp_path, workload, 4), workload)
    divs = [worker.values["divs"] for worker in verified.workers]
    assert max(divs) - min(divs) <= 2 * 200  # the most expensive number below 40,000 costs 100 divisions


# ---- errors


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hi": None}, "parameter hi is missing from the manifest"),
        ({"hi": "3e6"}, "parameter hi is not a decimal number"),
        ({"hi": ""}, "parameter hi must have 1 to 64 characters"),
        ({"hi": "-5"}, "parameter hi is not a decimal number"),
        ({"hi": 2**64}, "parameter hi is too large"),
        ({"hi": 999}, "bench.hi must be 1000 to 20000000"),
        ({"hi": 20_000_001}, "bench.hi must be 1000 to 20000000"),
        ({"split": "fair"}, "bench.split must be cost, width or one"),
        ({"wait": "nap"}, "bench.wait must be join or spin"),
        ({"workers": 0}, "bench.workers must be 1 to 64"),
        ({"workers": 65}, "bench.workers must be 1 to 64"),
        ({"workers": None}, "bench.workers must be 1 to 64"),
        ({"workload": "checksum"}, "bench.workload does not ask for primes"),
        ({"mode": "thread"}, "this workload runs with bench.mode=process only"),
        ({"nonce": None}, "parameter nonce is missing"),
        ({"nonce": "a/b"}, "parameter nonce has a character that the wire does not carry"),
        ({"nonce": "x" * 65}, "parameter nonce must have 1 to 64 characters"),
        ({"nonce": "x" * 4100}, "longer than 4094 bytes"),
        ({"pin": "0"}, "bench.pin must name one CPU for each worker"),
        ({"pin": "0,x"}, "bench.pin must be a list of CPU numbers"),
        ({"pin": "0,1023"}, "bench.pin names a CPU that this process may not use"),
    ],
)
def test_an_invalid_manifest_is_refused_by_key(change: dict[str, object], reason: str) -> None:
    workload = catalog.load_workload("primes")
    if change == {"pin": "0,1023"} and 1023 in os.sched_getaffinity(0):
        change = {"pin": "0,9999"}
    done = execute(workload, words(workload, 2, **change))
    assert done.returncode == 1
    assert re.match(rb"benchfail: .*" + re.escape(reason.encode()), done.stdout)
    assert b"@bench" not in done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        (
            "primes",
            "for (uint32_t n = lo; n < hi; n++)",
            "for (uint32_t n = lo + worker; n < hi; n++)",
            "worker 1",
        ),
        (
            "primes",
            "count += (unsigned)prime;",
            "count += (unsigned)prime + (worker == 1 && n == hi - 1);",
            "worker 1",
        ),
        ("checksum", "hashes[block] = hash;", "hashes[block] = hash ^ (block == 9);", "the result"),
        ("checksum", "fold = fold * FOLD + hash;", "fold = fold * FOLD + (hash ^ worker);", "worker 1"),
        ("checksum", "round < rounds;", "round + worker < rounds;", "worker 1"),
    ],
)
def test_a_wrong_computation_is_found(tmp_path: Path, name: str, old: str, new: str, reason: str) -> None:
    workload = broken(tmp_path, name, old, new)
    with pytest.raises(VerifyError, match=f"wrong answer: {reason}"):
        verified_by(run_of(tmp_path, workload, 2), workload)


def test_a_worker_that_crashes_fails_the_run(tmp_path: Path) -> None:
    crash = "uint64_t count = 0, sum = 0, divs = 0;\n    if (worker == 1)\n        __builtin_trap();"
    workload = broken(tmp_path, "primes", "uint64_t count = 0, sum = 0, divs = 0;", crash)
    done = execute(workload, words(workload, 2))
    assert (done.returncode, done.stdout) == (1, b"benchfail: a worker did not finish its work\n")


# ---- properties that other parts rely on


def test_each_mark_of_the_window_is_in_the_program() -> None:
    program = programs.guest_program(catalog.load_workload("primes")).read_bytes()
    for kind in (1, 2, 3, 4):
        mark = b"\x0f\x1f\x84\x00" + (0x4C420000 | kind << 8).to_bytes(4, "little")
        assert program.count(mark) >= 1  # a compiler may duplicate the code that contains one


def test_harness_and_workloads_need_no_libc(tmp_path: Path) -> None:
    guest = data_root() / "guest"
    recipe = yamlfile.load(guest / "build.yaml", programs.RECIPES)
    flags = [*recipe.texts("common"), *recipe.texts("portable"), f"-I{guest}"]
    headers = "".join(path.read_text() for path in guest.glob("*.h"))
    sources = [*guest.glob("*.c"), *(guest / "workloads").glob("*/*.c")]
    assert {"bench.c", "services.c"} < {source.name for source in sources}
    for source in sources:
        target = tmp_path / "one.o"
        argv = [*toolchain.compiler().argv, *flags, "-c", str(source), "-o", str(target)]
        subprocess.run(argv, check=True, timeout=PATIENCE_S)
        names = subprocess.run(
            ["nm", "-u", str(target)], capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        for symbol in names.stdout.split()[1::2]:
            assert symbol in ("memcpy", "memset", "bench_workload") or f"{symbol}(" in headers
