"""A small model of a guest's scheduler that makes random schedules, and counts by itself what happened.

It goes on one ns at a time, knows which thread is in which state, and adds up each ns: nothing of the code
under test takes part. `SimulatedGuest.run` gives the text of a threads.txt, and the sums.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class SimulatedThread:
    id: int
    state: str
    """running, runnable, unqueued, blocked or dead."""
    cpu: int
    mask: int
    queued: int = 0
    """Since when it is on its queue, or about to be."""
    settles: bool = False
    """A CPU was idle when the kernel was told to wake it."""


@dataclass
class SimulatedGuest:
    seed: int
    cpus: int
    steps: int = 400
    settle: int = 10**9
    """A thread on an idle CPU's queue counts as one that waits after so many ns."""
    lines: list[str] = field(default_factory=list)
    threads: dict[int, SimulatedThread] = field(default_factory=dict)
    states: Counter[tuple[int, str]] = field(default_factory=Counter)
    """(thread, state): ns."""
    parts: Counter[tuple[str, int, str, int]] = field(default_factory=Counter)
    """(phase, thread, state, CPU): ns."""
    idle: Counter[int] = field(default_factory=Counter)
    settling: int = 0
    halts: Counter[int] = field(default_factory=Counter)
    """Halted time of each CPU."""
    wasted: Counter[int] = field(default_factory=Counter)
    excused: Counter[int] = field(default_factory=Counter)
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(switch, preempted or wake, thread) within the window."""

    now: int = 0

    def run(self) -> str:
        self.random = random.Random(self.seed)
        self.current: list[int] = [0] * self.cpus
        self.since = [0] * self.cpus
        self.halted = [False] * self.cpus
        self.idle_before = False
        self.opens, self.closes = self.steps // 4, self.steps - self.steps // 8
        self.works = self.opens + self.steps // 10, self.closes - self.steps // 20
        self.lines = ["insn-threads 2", f"vcpus {self.cpus}"]
        for number in range(1, self.random.randint(2, 4)):  # those that were there before
            self.threads[number] = SimulatedThread(number, "blocked", 0, self.every)
        for now in range(self.steps):
            self.now = now
            if self.now == self.opens and self.halted[0]:
                self.halt(0)
            if self.now == self.opens:  # whoever was not made by a fork must have been seen by now
                self.lines += [
                    f"allow 0 {self.now} {thread.id} {thread.mask:x}" for thread in self.threads.values()
                ]
                self.lines.append(f"open {self.now}")
            if self.now == self.closes:
                self.lines.append(f"close {self.now}")
            for vcpu in range(self.cpus):
                if self.random.random() < 0.25:
                    self.act(vcpu)
            self.count()
        self.lines.append(f"end {self.steps}")
        return "\n".join(self.lines) + "\n"

    @property
    def every(self) -> int:
        return (1 << self.cpus) - 1

    @property
    def phase(self) -> str:
        return ("spawn_ready", "work", "shutdown")[sum(self.now >= edge for edge in self.works)]

    @property
    def is_open(self) -> bool:
        return self.opens <= self.now < self.closes

    def queue(self, cpu: int) -> list[SimulatedThread]:
        return [
            thread
            for thread in self.threads.values()
            if thread.state == "runnable" and thread.cpu == cpu and self.current[cpu] != thread.id
        ]

    def length(self, cpu: int) -> int:
        return len(self.queue(cpu)) + (self.current[cpu] != 0)

    def runs(self, cpu: int) -> bool:
        return self.current[cpu] != 0 and not self.halted[cpu]

    def put(self, thread: SimulatedThread, cpu: int) -> None:
        thread.state, thread.cpu, thread.queued = "runnable", cpu, self.now

    def act(self, vcpu: int) -> None:
        pick = self.random.choice
        blocked = [thread for thread in self.threads.values() if thread.state in {"blocked", "unqueued"}]
        asleep = [thread for thread in blocked if thread.state == "blocked"]
        waiting = [thread for cpu in range(self.cpus) for thread in self.queue(cpu)]
        action = pick(["switch", "switch", "wake", "wake", "fork", "migrate", "allow", "halt", "ask"])
        if self.halted[vcpu] or action == "halt":
            self.halt(vcpu)
        elif action == "switch":
            self.switch(vcpu)
        elif action == "ask" and asleep:
            thread = pick(asleep)
            thread.state, thread.queued, thread.settles = "unqueued", self.now, self.idle_before
            self.lines.append(f"ask {vcpu} {self.now} {thread.id}")
        elif action == "wake" and blocked:
            thread = pick(blocked)
            self.put(thread, pick([cpu for cpu in range(self.cpus) if thread.mask >> cpu & 1]))
            trail = pick(["-", "ffffffff81000010,ffffffff81000020"])
            self.lines.append(
                f"wake {vcpu} {self.now} {thread.id} {thread.cpu} {self.length(thread.cpu)} {trail}"
            )
            self.counts["wake", thread.id] += self.is_open
        elif action == "fork" and self.current[vcpu] and len(self.threads) < 12:
            number = 10 + len(self.threads)
            self.threads[number] = SimulatedThread(number, "blocked", vcpu, self.every)
            self.lines.append(f"fork {vcpu} {self.now} {number} {self.current[vcpu]} 61")
        elif action == "migrate" and waiting:
            thread = pick(waiting)
            to = pick([cpu for cpu in range(self.cpus) if thread.mask >> cpu & 1])
            if to != thread.cpu:
                self.lines.append(f"migrate {vcpu} {self.now} {thread.id} {thread.cpu} {to}")
                self.put(thread, to)
        elif action == "allow" and blocked:
            thread = pick(blocked)
            thread.mask = self.random.randint(1, self.every)
            self.lines.append(f"allow {vcpu} {self.now} {thread.id} {thread.mask:x}")

    def halt(self, vcpu: int) -> None:
        """Or goes on."""
        self.halted[vcpu] = not self.halted[vcpu]
        self.lines.append(f"{'halt' if self.halted[vcpu] else 'resume'} {vcpu} {self.now}")
        if self.current[vcpu]:
            thread = self.threads[self.current[vcpu]]
            thread.state, thread.queued = "runnable" if self.halted[vcpu] else "running", self.now
            self.since[vcpu] = self.now

    def switch(self, vcpu: int) -> None:
        before, waiting = self.current[vcpu], self.queue(vcpu)
        after = self.random.choice(waiting) if waiting and self.random.random() < 0.8 else None
        state = "r"
        if before:
            state = self.random.choice("rbbbd" if self.now > self.opens else "rb")
            state = "b" if after is None and state == "r" else state
        elif after is None:
            return
        if after:
            after.state = "running"
        if before:
            thread = self.threads[before]
            if state == "d":
                self.lines.append(f"exit {vcpu} {self.now} {before}")
            thread.state = {"r": "runnable", "b": "blocked", "d": "dead"}[state]
            thread.queued = self.now
            self.counts["switch", before] += self.is_open
            self.counts["preempted", before] += self.is_open and state == "r"
        if not after:
            self.since[vcpu] = self.now
        self.current[vcpu] = after.id if after else 0
        self.lines.append(
            f"switch {vcpu} {self.now} {before} {state} {self.current[vcpu]} {self.length(vcpu)}"
        )

    def count(self) -> None:
        """What the next ns is for each thread and each CPU."""
        for cpu, is_halted in enumerate(self.halted):
            self.halts[cpu] += is_halted
        if not self.is_open:
            return
        every = [thread for thread in self.threads.values() if thread.state in {"runnable", "unqueued"}]
        for thread in self.threads.values():
            self.states[thread.id, thread.state] += 1
            self.parts[self.phase, thread.id, thread.state, thread.cpu] += 1
        late = [thread for thread in every if self.is_late(thread)]
        waiting = late + [thread for thread in every if thread.state == "runnable" and self.runs(thread.cpu)]
        for thread in every:
            if thread.state == "unqueued":
                is_settling = thread.settles and thread.queued > self.opens
            else:
                is_settling = not self.runs(thread.cpu)
            self.settling += is_settling and thread not in late
        for cpu in range(self.cpus):
            if self.runs(cpu):
                continue
            self.idle[cpu] += 1
            here = [thread for thread in every if thread.state == "runnable" and thread.cpu == cpu]
            if all(self.is_late(thread) for thread in here) and waiting:
                may = any(thread.mask >> cpu & 1 for thread in waiting)
                self.wasted[cpu] += may
                self.excused[cpu] += not may
        self.idle_before = not all(map(self.runs, range(self.cpus)))

    def is_late(self, thread: SimulatedThread) -> bool:
        if thread.state == "unqueued":
            return self.now - max(thread.queued, self.opens) >= self.settle
        begin = max(thread.queued, self.since[thread.cpu], self.opens)
        return not self.runs(thread.cpu) and self.now - begin >= self.settle
