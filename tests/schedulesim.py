"""A small scheduler, simulated: gives the lines of a threads.txt, to see pictures of threads without a guest.

Each CPU has a queue and a time slice. A woken thread goes to the CPU where it ran last, or to an idle one if
the scheduler looks for it; `looks` is how often it does, so that a bad scheduler can be had. An idle CPU
steals with the same chance. Pure and deterministic by its seed; times are in ns.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

SLICE = 3_000_000
SWITCH = 900
"""From a wake-up on an idle CPU to its switch."""


@dataclass
class SimThread:
    """`burst`, `sleep`: how long it runs and blocks, on average."""

    id: int
    name: str
    burst: int
    sleep: int
    cpu: int = 0
    left: int = 0
    since: int = 0


@dataclass
class SimCpu:
    queue: list[SimThread] = field(default_factory=list)
    now: SimThread | None = None
    turn: int = 0
    """Tells an event of an earlier turn from one of this turn."""


class Scheduler:
    def __init__(self, cpus: int, threads: Sequence[SimThread], *, looks: float, seed: int) -> None:
        self.cpus = [SimCpu() for _ in range(cpus)]
        self.threads = threads
        self.looks = looks
        self.chance = random.Random(seed)
        self.events: list[tuple[int, int, str, int, int]] = []
        self.count = 0
        self.lines = ["insn-threads 1", f"vcpus {cpus}"]

    def run(self, end: int, begin: int = 0) -> str:
        for n, thread in enumerate(self.threads):
            thread.cpu = n % len(self.cpus)
            self.say("fork", 0, 0, thread.id, 0, thread.name.encode().hex())
            self.at(1 + self.chance.randrange(max(thread.sleep, 2)), "wake", n, 0)
        opened = False
        while self.events and self.events[0][0] <= end:
            time, _, kind, what, turn = heapq.heappop(self.events)
            if not opened and time >= begin:
                self.lines.append(f"open {begin}")
                opened = True
            getattr(self, f"on_{kind}")(time, what, turn)
        self.lines += [f"close {end}", f"end {end}"]
        return "\n".join(self.lines) + "\n"

    def say(self, *words: object) -> None:
        self.lines.append(" ".join(map(str, words)))

    def at(self, time: int, kind: str, what: int, turn: int) -> None:
        self.count += 1
        heapq.heappush(self.events, (time, self.count, kind, what, turn))

    def length(self, cpu: int) -> int:
        return len(self.cpus[cpu].queue) + (self.cpus[cpu].now is not None)

    def on_wake(self, time: int, what: int, _: int) -> None:
        thread = self.threads[what]
        thread.left = max(int(self.chance.expovariate(1 / thread.burst)), 2_000)
        idle = [n for n in range(len(self.cpus)) if not self.length(n)]
        if self.length(thread.cpu) and idle and self.chance.random() < self.looks:
            thread.cpu = self.chance.choice(idle)
        busy = [n for n, cpu in enumerate(self.cpus) if cpu.now]
        by = self.chance.choice(busy) if busy and self.chance.random() < 0.7 else thread.cpu
        self.cpus[thread.cpu].queue.append(thread)
        self.say("wake", by, time, thread.id, thread.cpu, self.length(thread.cpu), "-")
        if self.cpus[thread.cpu].now is None:
            self.at(time + SWITCH, "switch", thread.cpu, self.cpus[thread.cpu].turn)

    def on_switch(self, time: int, what: int, turn: int) -> None:
        cpu = self.cpus[what]
        if cpu.turn == turn and cpu.now is None and cpu.queue:
            self.change(time, what, "r")

    def on_tick(self, time: int, what: int, turn: int) -> None:
        """The end of a burst, or of a slice."""
        cpu = self.cpus[what]
        if cpu.turn != turn or cpu.now is None:
            return
        thread = cpu.now
        thread.left -= time - thread.since
        thread.since = time
        if thread.left > 0 and not cpu.queue:
            self.at(time + min(thread.left, SLICE), "tick", what, turn)
            return
        if thread.left > 0:
            cpu.queue.append(thread)
        else:
            sleep = max(int(self.chance.expovariate(1 / thread.sleep)), 1_500)
            self.at(time + sleep, "wake", self.threads.index(thread), 0)
        self.change(time, what, "r" if thread.left > 0 else "b")

    def change(self, time: int, what: int, state: str) -> None:
        cpu = self.cpus[what]
        before, cpu.now = cpu.now, None
        if not cpu.queue:
            self.steal(time, what)
        cpu.turn += 1
        cpu.now = cpu.queue.pop(0) if cpu.queue else None
        gone = before.id if before else 0
        after = cpu.now.id if cpu.now else 0
        self.say("switch", what, time, gone, state, after, self.length(what))
        if cpu.now:
            cpu.now.since = time
            self.at(time + min(cpu.now.left, SLICE), "tick", what, cpu.turn)

    def steal(self, time: int, what: int) -> None:
        longest = max(self.cpus, key=lambda cpu: len(cpu.queue))
        if len(longest.queue) > 1 and self.chance.random() < self.looks:
            thread = longest.queue.pop()
            self.say("migrate", what, time, thread.id, thread.cpu, what)
            thread.cpu = what
            self.cpus[what].queue.append(thread)


def recorded(cpus: int, *, looks: float = 0.9, length: int = 60_000_000, seed: int = 1) -> str:
    """Workers of one name, a few services, and per CPU a kernel thread; begins 5 ms before the window."""
    workers = [SimThread(300 + n, "bench", 2_000_000, 400_000) for n in range(cpus + cpus // 2)]
    services = [
        SimThread(200 + n, name, 60_000, 900_000) for n, name in enumerate(("init", "rcu_sched", "journal"))
    ]
    helpers = [SimThread(10 + n, f"kworker/{n}:1", 25_000, 3_000_000) for n in range(cpus)]
    return Scheduler(cpus, [*helpers, *services, *workers], looks=looks, seed=seed).run(
        length + 5_000_000, 5_000_000
    )
