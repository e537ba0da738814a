"""Simulates a fleet of many workers, and measures what the loop of a session costs (docs/how-to/fleet.md).

Takes the number of runs, workers and the share of runs in which a worker dies; prints what was made, lost and
made again, and the loop's CPU time and memory. The fleet is simulated, in time of its own: no guest, no
network. The loop is the real one: fleet/runner.py packs each task, checks each answer and writes each run's
folder. Exits with 1 if a run is missing or was used twice, or if a limit of the issue is exceeded.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from benchgate.base.errors import BenchgateError
from benchgate.base.files import write_json
from benchgate.base.runs import BootSpec, Ending
from benchgate.features.fleet import answer
from benchgate.features.fleet.engine import AnswerEvent, Event, FleetMember, LossEvent
from benchgate.features.fleet.runner import FleetRunner
from benchgate.features.fleet.task import Task, task_digest, task_of_bytes
from benchgate.run import record
from benchgate.run.attempt import RunRequest, unfinished
from benchgate.run.parallel import AttemptJob
from tests.standin import request_of

MOST_CPU, MOST_MIB = 0.10, 500
ROUND = 5
"""After so many runs a session says anew what it will ask for next."""
REJOIN_S = 60.0
"""After this long another worker takes the place of a dead one."""
SIZES = {"serial.log": 2_000, "clock.log": 30_000, "threads.json": 5_000, "qmp.log": 1_300, "stderr.log": 0}
"""Bytes of a run of tern, about; what the worker writes in a run's folder."""

Make = Callable[[str, bytes], bytes]
"""An answer, from a worker's address and a task."""


@dataclass
class SimulatedFleet:
    """An engine in virtual time. As Dask does, it gives the runs of a dead worker to another one."""

    make: Make
    workers: int
    slots: int = 1
    seconds: tuple[float, float] = (4.0, 8.0)
    dying: float = 0.0
    """The share of runs in which the worker dies."""
    lossy: float = 0.0
    """The share of deaths after which the engine gives up the worker's runs: Dask's KilledWorker."""
    seed: int = 1
    now_s: float = 0.0
    spent_s: float = 0.0
    """CPU time of the simulation itself."""
    deaths: int = 0
    again: int = 0
    answers: int = 0
    stored: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each input was sent to each worker."""
    cancelled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._seats: dict[str, int] = {}
        self.come([f"sim://{n}" for n in range(self.workers)])
        self._next = self.workers
        self._queue: list[tuple[int, int, bytes, frozenset[str]]] = []
        self._ends: list[tuple[float, int, str, bytes]] = []
        self._joins: list[float] = []
        self._now_events: list[Event] = []
        self._dropped: set[int] = set()

    def come(self, addresses: Sequence[str]) -> None:
        """Adds workers."""
        self._seats |= dict.fromkeys(addresses, self.slots)
        self._show()

    def go(self, addresses: Sequence[str]) -> None:
        for address in addresses:
            del self._seats[address]
        self._show()

    def _show(self) -> None:
        self._shown = tuple(FleetMember(address, slots) for address, slots in self._seats.items())

    def seats(self) -> Sequence[FleetMember]:
        return self._shown

    def run(self, number: int, task: bytes, *, key: str, avoid: frozenset[str], rank: int) -> None:
        del key
        heapq.heappush(self._queue, (rank, number, task, avoid))

    def store(self, number: int, sha256: str, content: bytes, address: str) -> None:
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ValueError(f"{sha256} is not the digest of what is sent")
        self.stored[address, sha256] += 1
        self._now_events.append(AnswerEvent(number, address, b""))

    def call(self, number: int, entry: str, data: bytes, address: str) -> None:
        raise NotImplementedError(f"no worker of the simulation measures wall time ({entry})")

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)
        self._dropped.add(number)

    def close(self) -> None:
        self._queue.clear()

    def events(self, seconds: float) -> Sequence[Event]:
        began = time.process_time()
        try:
            self._begin()
            result, self._now_events = self._now_events, []
            if not result:
                result = self._until(self.now_s + seconds)
            return [one for one in result if one.number not in self._dropped]
        finally:
            self.spent_s += time.process_time() - began

    def _begin(self) -> None:
        """Gives waiting runs to free workers, in the order of their ranks."""
        busy = Counter(address for _, _, address, _ in self._ends)
        free = [address for address, slots in self._seats.items() for _ in range(slots - busy[address])]
        left = []
        while self._queue and free:
            rank, number, task, avoid = heapq.heappop(self._queue)
            if number in self._dropped:
                continue
            place = next((n for n, address in enumerate(free) if address not in avoid), None)
            if place is None:
                left.append((rank, number, task, avoid))
                continue
            address = free.pop(place)
            takes = self._random.uniform(*self.seconds)
            heapq.heappush(self._ends, (self.now_s + takes, number, address, task))
        for one in left:
            heapq.heappush(self._queue, one)

    def _until(self, until_s: float) -> list[Event]:
        while self._joins and self._joins[0] <= until_s:
            self.now_s = max(self.now_s, heapq.heappop(self._joins))
            self.come([f"sim://{self._next}"])
            self._next += 1
            self._begin()
        if not self._ends or self._ends[0][0] > until_s:
            self.now_s = until_s
            return []
        self.now_s, number, address, task = heapq.heappop(self._ends)
        if self._random.random() < self.dying:
            return self._die(address, [(number, task)])
        self.answers += 1
        return [AnswerEvent(number, address, self.make(address, task))]

    def _die(self, address: str, lost: list[tuple[int, bytes]]) -> list[Event]:
        self.deaths += 1
        self.go([address])
        heapq.heappush(self._joins, self.now_s + REJOIN_S)
        lost += [(number, task) for _, number, text, task in self._ends if text == address]
        self._ends = [end for end in self._ends if end[2] != address]
        heapq.heapify(self._ends)
        self.again += len(lost)
        if self._random.random() < self.lossy:
            return [LossEvent(number, f"{address} died") for number, _ in lost]
        for number, task in lost:
            heapq.heappush(self._queue, (0, number, task, frozenset()))
        return []


# ---- answers and requests


def answer_of(address: str, sent: bytes, *, sizes: dict[str, int] | None = None) -> bytes:
    """What an honest worker answers: files that depend on the task alone."""
    task = task_of_bytes(sent)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, task, sizes or SIZES)
        return answer.made(task_digest(task), address, address, folder)


def write_folder(folder: Path, task: Task, sizes: dict[str, int]) -> None:
    generator = random.Random(task.nonce)
    for file, size in sizes.items():
        (folder / file).write_bytes(generator.randbytes(size // 2).hex().encode())
    write_json(folder / "argv.json", ["qemu"])
    write_json(folder / "environment.json", {})
    spec = BootSpec((), {}, task.lane, task.cpus, task.pins, task.deadlines)
    request = RunRequest(
        task.cell, spec, folder, task.nonce, 1, 0, task.seed, task.placement, False, task.guest_digest
    )
    record.save(replace(unfinished(request), ending=Ending.DONE, exit_status=33, detail=""))


# ---- the measurement


def main() -> int:
    words = _words()
    with tempfile.TemporaryDirectory() as name:
        files, runs = Path(name, "files"), Path(name, "runs")
        files.mkdir()
        runs.mkdir()
        (files / "kernel").write_bytes(b"kernel" * 100_000)
        fleet = SimulatedFleet(answer_of, words.workers, dying=words.dying, lossy=0.1)
        try:
            used, cpu_s = measure(fleet, words.runs, runs, files)
        except BenchgateError as error:
            sys.exit(f"scale: {error}")
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    share = cpu_s / fleet.now_s
    exact = used == Counter(dict.fromkeys(range(1, words.runs + 1), 1))
    print(
        f"{words.runs} runs on {words.workers} simulated workers: {fleet.deaths} workers died, {fleet.again} "
        f"runs were begun again; each run used once: {exact}\n"
        f"{fleet.now_s:.0f} s of simulated time; the loop here: {cpu_s:.1f} s of CPU time, {share:.1%} of a "
        f"core; {mib:.0f} MiB at most, the simulation's included"
    )
    return 0 if exact and share < MOST_CPU and mib < MOST_MIB else 1


def measure(fleet: SimulatedFleet, runs: int, place: Path, files: Path) -> tuple[Counter[int], float]:
    """How often each seed was used, and the CPU time of the loop without the simulation's."""
    runner = FleetRunner(fleet, lambda _: None, monotonic=lambda: fleet.now_s)
    requests = [request_of(seed, place / f"{seed:05}", files, attempt=seed) for seed in range(1, runs + 1)]
    used: Counter[int] = Counter()
    began = time.process_time()
    for first in range(0, runs, ROUND):
        runner.ahead(islice(requests, first, None))
        group = requests[first : first + ROUND]
        used.update(raw.seed for _, raw in runner.execute_all(_jobs(group), 1))
    return used, time.process_time() - began - fleet.spent_s


def _jobs(requests: Sequence[RunRequest]) -> Iterator[AttemptJob]:
    for request in requests:
        request.folder.mkdir()
        yield AttemptJob(request, lambda _: None)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchgate.features.fleet.tools.scale")
    parser.add_argument("--runs", type=int, default=10_000, help="(default: 10000)")
    parser.add_argument("--workers", type=int, default=200, help="(default: 200)")
    parser.add_argument("--dying", type=float, default=0.02, help="of runs (default: 0.02)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
