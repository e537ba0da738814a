"""Compiles a workload, runs it on this host, and judges what it printed.

For tests of the guest's C: `run_of` makes a run, `verified_by` judges it, `broken` changes one line of the C
first. `right_answers` and `refusals` give the two tests that every workload has. Modules with other tests use
the fixture `own_cache`, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending, RawRun, VerifiedRun
from benchgate.base.workload.workloads import Workload
from benchgate.build import programs, toolchain
from benchgate.judge import run_files, verify
from benchgate.plan import catalog
from benchgate.plan.workloadfile import fill
from tests.ckit import scratch
from tests.machines import PATIENCE_S

NONCE = "0123456789abcdef"
SMALL: dict[str, dict[str, object]] = {
    "primes": {"hi": 40_000},
    "checksum": {"blocks": 5000, "rounds": 3},
    "tasks": {"steps": 2000},
    "dynamic": {"items": 300, "grain": 100},
    "barrier": {"phases": 12, "turns": 5000},
    "mapreduce": {"words": 3000, "grain": 20},
    "service": {"requests": 120, "grain": 50, "spread": 50},
    "contend": {"takes": 500, "hold": 10, "delay": 100},
    "counters": {"steps": 6000, "delay": 10},
    "locks": {"takes": 2000, "hold": 10, "delay": 10},
    "wake": {"rounds": 64, "turns": 50},
    "spawn": {"errands": 30, "grain": 1000},
    "stencil": {"rows": 64, "steps": 5},
    "walker": {"footprint_kb": 64, "steps": 100_000},
    "streamer": {"array_kb": 256, "passes": 3},
    "files": {"count": 7, "blocks": 3, "block_kb": 4, "rounds": 2},
    "sockets": {"requests": 90, "bytes": 600},
    "jobs": {"jobs": 40, "grain": 2000, "reach": 6},
    "overload": {"turns": 100_000, "rounds": 20},
}


_OBJECTS: dict[tuple[object, ...], Path] = {}


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Programs are compiled once for a module of tests, and the objects of the harness, which are the same in
    each program, once for all modules."""
    run = toolchain._run

    def once(argv: Sequence[str], place: Any) -> None:
        is_of_harness = "-c" in argv and not Path(argv[argv.index("-c") + 1]).is_absolute()
        key = (place.folder, *(word for word in argv[:-1] if not word.startswith("-ffile-prefix-map=")))
        if is_of_harness and key in _OBJECTS:
            shutil.copy(_OBJECTS[key], argv[-1])
            return
        run(argv, place)
        if is_of_harness:
            _OBJECTS[key] = Path(shutil.copy(argv[-1], Path(scratch(), f"harness-{len(_OBJECTS)}.o")))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHGATE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(toolchain, "_run", once)
        yield


def words(workload: Workload, count: int, /, **changes: object) -> dict[str, object]:
    params, _ = fill(workload, SMALL.get(workload.name, {}))
    result = {"workload": workload.name, "mode": workload.mode, "workers": count, "cpus": count}
    return {**result, "nonce": NONCE, **dict(params), **changes}


def execute(workload: Workload, asked: dict[str, object]) -> subprocess.CompletedProcess[bytes]:
    """The program inherits the open file that the word `listen` names."""
    argv = [
        str(programs.guest_program(workload)),
        *(f"bench.{k}={v}" for k, v in asked.items() if v is not None),
    ]
    inherited = [int(str(asked["listen"]))] if "listen" in asked else []
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=False, pass_fds=inherited)


def right_answers(
    name: str, *changes: Mapping[str, object], cpus: Sequence[int] = (1, 2, 3, 6)
) -> Callable[..., None]:
    """A test that the workload verifies with each of these numbers of workers, and each change of its
    parameters, and has all of its metrics."""

    @pytest.mark.usefixtures("own_cache")
    @pytest.mark.parametrize("workers", cpus)
    @pytest.mark.parametrize("change", changes or [{}])
    def every_worker_is_right(tmp_path: Path, change: Mapping[str, object], workers: int) -> None:
        workload = catalog.load_workload(name)
        verified = verified_by(run_of(tmp_path, workload, workers, **change), workload)
        assert verified.metrics.keys() >= {"work", "total", *workload.metrics}

    return every_worker_is_right


_PLACES = ("disk", "network", "listen")
"""What no session asks of a native run: only these tests look at the program with it."""


def run_of(folder: Path, workload: Workload, workers: int, **changes: object) -> RawRun:
    asked = words(workload, workers, **changes)
    done = execute(workload, asked)
    (folder / run_files.CONSOLE).write_bytes(done.stdout)
    params, label = fill(workload, {k: v for k, v in asked.items() if k in workload.params})
    argv = [f"bench.{key}={value}" for key, value in asked.items() if key not in _PLACES]
    (folder / run_files.ARGV).write_text(json.dumps(["bench", *argv]))
    (folder / run_files.AFFINITY).write_text("[]")  # a worker may end before it is found
    pins = tuple(int(cpu) for cpu in str(changes.get("pin", "")).split(",") if cpu)
    return RawRun(
        cell=Cell("native", workload.name, workload.mode, params, workers, label),
        folder=folder,
        attempt=1,
        order=0,
        nonce=NONCE,
        seed=0,
        lane=Lane.NATIVE,
        placement=Placement.OVERSUBSCRIBED if 0 < len(set(pins)) < workers else Placement.VIRTUAL,
        pins=pins,
        warmup=False,
        ending=Ending.DONE,
        exit_status=done.returncode,
        guest_digest="",
        host_span_ns=int(PATIENCE_S * 1e9),
    )


def verified_by(run: RawRun, workload: Workload) -> VerifiedRun:
    return verify.verify_on(run, workload, catalog.load_system("native"))


def broken(tmp_path: Path, name: str, old: str, new: str) -> Workload:
    """The workload with one line of its C replaced."""
    workload = catalog.load_workload(name)
    text = workload.source.read_text()
    assert text.count(old) == 1
    source = tmp_path / f"{name}.c"
    source.write_text(text.replace(old, new))
    return replace(workload, source=source)


@dataclass(frozen=True)
class Lie:
    """A workload with one line of its C replaced, and why its run is refused."""

    workload: str
    old: str
    new: str
    reason: str
    params: Mapping[str, object] = field(default_factory=dict)


def refusals(lies: Sequence[Lie]) -> Callable[..., None]:
    """A test that runs each lie with two workers, and expects that it is refused."""

    @pytest.mark.usefixtures("own_cache")
    @pytest.mark.parametrize("lie", lies, ids=lambda lie: f"{lie.params.get('lock', '')}{lie.new}")
    def a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
        workload = broken(tmp_path, lie.workload, lie.old, lie.new)
        with pytest.raises(VerifyError, match=lie.reason):
            verified_by(run_of(tmp_path, workload, 2, **lie.params), workload)

    return a_lie_is_found
