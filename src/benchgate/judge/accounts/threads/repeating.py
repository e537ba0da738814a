"""Repeats a run's schedule from its events, and refuses a record that contradicts itself.

Takes `ThreadEvents`; gives a frozen `Schedule`: what each thread and each CPU did, over the whole record.
Pure. Fails with VerifyError that names the event's line and the rule: such a record comes from a wrong
offset or symbol, or from a changed file.

The rules are checked in the order of the file, which is that of cause and effect: one vCPU runs at a time.
The times of two vCPUs may differ by the clock's quantum, so a thread may run on one CPU, by that CPU's
time, before it was woken by another's. Each CPU's books keep its own time. In a thread's books a state
begins when the one before it did, at the earliest, so that it is never in two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from benchgate.insn.threads_log import (
    IDLE,
    AllowEvent,
    AskEvent,
    ExitEvent,
    ForkEvent,
    HaltEvent,
    MigrateEvent,
    NameEvent,
    PromptEvent,
    SendEvent,
    StayEvent,
    SwitchEvent,
    ThreadEvent,
    ThreadEvents,
    WakeEvent,
)
from benchgate.judge.accounts.threads.books import SwitchCause, SwitchReason, ThreadWake
from benchgate.judge.accounts.threads.event_checks import QueueEffect, check_events, checked_lengths, refuse
from benchgate.judge.accounts.threads.schedule import (
    CpuRun,
    KernelStay,
    Move,
    Phase,
    Schedule,
    State,
    ThreadLife,
)

_ENDS: dict[str, SwitchReason] = {"b": "block", "d": "exit"}


def repeat_schedule(events: ThreadEvents) -> Schedule:
    return _Repeater(events).repeat()


def window_of(events: ThreadEvents) -> tuple[int, int, bool]:
    """Begin and end of the window, and whether the record became full before its end."""
    last = max((event.time for event in events.events), default=0)
    ends = [time for time in (events.closed, events.end, last) if time is not None]
    begin, end = events.opened or 0, ends[0]
    if events.full is None or events.full >= end:
        return begin, max(begin, end), False
    return begin, max(begin, events.full), True


class _Repeater:
    def __init__(self, events: ThreadEvents) -> None:
        self.events = events
        self.lives: list[ThreadLife] = []
        self.alive: dict[int, ThreadLife] = {}
        self.dead: set[int] = set()
        self.current = [IDLE] * events.vcpus
        self.since = [0] * events.vcpus
        self.times = [0] * events.vcpus
        self.runs: list[list[CpuRun]] = [[] for _ in range(events.vcpus)]
        self.switches: list[list[int]] = [[] for _ in range(events.vcpus)]
        self.effects: list[QueueEffect] = []
        self.prompted: list[SwitchCause | None] = [None] * events.vcpus
        """By CPU: the last thing, since its last switch, for which it may switch again."""
        self.sees_ticks = any(isinstance(of, PromptEvent) and not of.is_yield for of in events.events)
        self.sent: dict[int, tuple[int, SendEvent]] = {}
        """By thread that another CPU shall wake: who asked for that, and where."""
        self.asked: set[int] = set()
        """The threads that are about to block, and whose wake-up the kernel is told of already."""
        self.halted = [0] * events.vcpus
        self.halts: list[int | None] = [None] * events.vcpus
        """By CPU: since when it is halted."""
        self.stays: list[KernelStay] = []

    def repeat(self) -> Schedule:
        begin, end, is_cut = window_of(self.events)
        self._assume()
        counts = self._counts()
        for event in self.events.events:
            self._check_time(event)
            if isinstance(event, HaltEvent):
                self._halt(event)
            elif isinstance(event, StayEvent):
                self._stay(event)
            else:
                self._apply(event)
        check_events(self.events)
        lengths = checked_lengths(self.events.path, self.effects, counts)
        for cpu in range(self.events.vcpus):
            self._end_run(cpu, end)
        return Schedule(
            vcpus=self.events.vcpus,
            begin=begin,
            end=end,
            is_cut=is_cut,
            lives=tuple(self.lives),
            runs=tuple(map(tuple, self.runs)),
            switches=tuple(map(tuple, self.switches)),
            lengths=lengths,
            online=self._online(),
            halted=tuple(zip(self.halted, self.halts, strict=True)) if self.events.has_halts else None,
            stays=tuple(self.stays) if self.events.has_stays else None,
            has_interruptions=self.events.has_interruptions,
        )

    def _online(self) -> tuple[int, ...]:
        """Within marks every CPU is up: the guest said so. Without, a CPU is from its first event on, which
        is Linux's thread that brings it up; a CPU without any event counts from the begin."""
        first: dict[int, int] = {}
        if self.events.opened is None:
            for event in self.events.events:
                first.setdefault(event.vcpu, event.time)
        return tuple(first.get(cpu, 0) for cpu in range(self.events.vcpus))

    # ---- what was there before the first event

    def _assume(self) -> None:
        """A thread that no fork makes was there at the begin, in the state that its first event needs."""
        known: set[int] = set()
        placed: set[int] = set()
        for event in self.events.events:
            for thread, state, cpu in _needs(event):
                if thread == IDLE or thread in placed:
                    continue
                if isinstance(event, ForkEvent) and thread == event.thread:
                    placed.add(thread)
                    known.add(thread)
                    continue
                if thread not in known:
                    self._check_early(event, thread)
                    known.add(thread)
                if state is not None:
                    placed.add(thread)
                    self._begin(thread, 0, state, cpu)
        for thread in known - placed:
            self._begin(thread, 0, "blocked", 0)

    def _check_early(self, event: ThreadEvent, thread: int) -> None:
        if self.events.start is None and 0 < self.events.opened_line < event.line:
            self._refuse(event, f"no fork made thread {thread}, and the window is already open")

    def _begin(self, thread: int, time: int, state: State, cpu: int) -> ThreadLife:
        life = ThreadLife(thread, [Phase(time, state, cpu)])
        if state != "blocked":
            life.last_cpu = cpu
        if state == "running":
            self.current[cpu] = thread
        self.lives.append(life)
        self.alive[thread] = life
        return life

    def _counts(self) -> list[int]:
        counts = [0] * self.events.vcpus
        for life in self.lives:
            if life.now.state != "blocked":
                counts[life.now.cpu] += 1
        return counts

    # ---- the events

    def _refuse(self, event: ThreadEvent, rule: str) -> NoReturn:
        refuse(self.events.path, event, rule)

    def _check_time(self, event: ThreadEvent) -> None:
        if event.time < self.times[event.vcpu]:
            self._refuse(event, f"the time of vCPU {event.vcpu} goes back from {self.times[event.vcpu]}")
        self.times[event.vcpu] = event.time
        if self.halts[event.vcpu] is not None and not isinstance(event, HaltEvent):
            self._refuse(event, f"CPU {event.vcpu} does something while the clock says that it is halted")

    def _apply(self, event: ThreadEvent) -> None:
        match event:
            case SwitchEvent():
                self._switch(event)
            case WakeEvent():
                self._wake(event)
            case SendEvent():
                self._life(event, event.thread)
                self.sent[event.thread] = self.current[event.vcpu], event
            case AskEvent():
                self._ask(event)
            case MigrateEvent():
                self._migrate(event)
            case ForkEvent():
                self._fork(event)
            case NameEvent():
                if event.thread != IDLE:
                    self._life(event, event.thread).names.append((event.time, event.name))
            case AllowEvent():
                if event.thread != IDLE:
                    self._life(event, event.thread).masks.append((event.time, event.cpus))
            case ExitEvent():
                self._check_runs(event, event.thread, "exits")
                self._life(event, event.thread).exits_at = event.time
            case PromptEvent():
                kind: SwitchReason = "yield" if event.is_yield else "tick"
                self._prompt(event.vcpu, kind, event.time)

    def _prompt(self, cpu: int, kind: SwitchReason, time: int, woken: int = IDLE) -> None:
        self.prompted[cpu] = SwitchCause(kind, time, self.current[cpu], woken)

    def _cause(self, event: SwitchEvent) -> SwitchCause:
        """Why the CPU switches now."""
        if event.before == IDLE:
            return SwitchCause("idle", event.time, IDLE)
        if event.state != "r":
            return SwitchCause(_ENDS[event.state], event.time, event.before)
        seen = self.prompted[event.vcpu]
        if seen and (self.sees_ticks or seen.kind == "yield"):
            return seen
        return SwitchCause("preemption", event.time, event.before)

    def _life(self, event: ThreadEvent, thread: int) -> ThreadLife:
        life = self.alive.get(thread)
        if life is None:
            end = "is dead" if thread in self.dead else "was not made by a fork yet"
            self._refuse(event, f"thread {thread} {end}")
        return life

    def _check_runs(self, event: ThreadEvent, thread: int, does: str) -> None:
        if self.current[event.vcpu] != thread:
            runs = _named(self.current[event.vcpu])
            self._refuse(event, f"{_named(thread)} {does} on CPU {event.vcpu}, where {runs} runs")

    def _fork(self, event: ForkEvent) -> None:
        self._check_runs(event, event.parent, "makes a thread")
        if event.thread in self.alive or event.thread == IDLE:
            self._refuse(event, f"a fork makes {_named(event.thread)}, which exists already")
        self.dead.discard(event.thread)
        life = self._begin(event.thread, event.time, "blocked", event.vcpu)
        self.asked.discard(event.thread)
        life.names.append((event.time, event.name))

    def _switch(self, event: SwitchEvent) -> None:
        cpu, before, after = event.vcpu, event.before, event.thread
        self._check_runs(event, before, "stops running")
        if before == after:
            self._refuse(event, f"CPU {cpu} switches from {_named(before)} to itself")
        changes, cause = [], self._cause(event)
        if before != IDLE:
            life = self._life(event, before)
            self._leave(life, event, cause)
            if event.state != "r":
                changes.append((cpu, -1))
        elif event.state != "r":
            self._refuse(event, "the idle thread neither blocks nor dies")
        if after != IDLE:
            changes += self._enter(event, cause)
        self._end_run(cpu, event.time)
        self.current[cpu], self.prompted[cpu] = after, None
        self.switches[cpu].append(event.time)
        self.effects.append(QueueEffect(event, tuple(changes), cpu, event.queue))

    def _end_run(self, cpu: int, time: int) -> None:
        if self.since[cpu] < time:
            thread = self.current[cpu] if self.halts[cpu] is None else IDLE
            self.runs[cpu].append(CpuRun(self.since[cpu], time, thread))
            self.since[cpu] = time

    def _halt(self, event: HaltEvent) -> None:
        """A thread whose CPU is halted waits for it."""
        cpu, thread = event.vcpu, self.current[event.vcpu]
        since = self.halts[cpu]
        if event.is_begin == (since is not None):
            self._refuse(event, f"CPU {cpu} {'halts' if event.is_begin else 'goes on'} twice")
        if thread != IDLE:
            self._end_run(cpu, event.time)
            cause = SwitchCause("halt", event.time, thread)
            state: State = "runnable" if event.is_begin else "running"
            halted = Phase(event.time, state, cpu, cause=cause, is_halted=event.is_begin)
            self._change(self._life(event, thread), halted)
        self.halts[cpu] = event.time if event.is_begin else None
        self.halted[cpu] += 0 if since is None else event.time - since

    def _stay(self, event: StayEvent) -> None:
        cpu, thread, begin = event.vcpu, self.current[event.vcpu], event.time - event.length
        if thread == IDLE or begin < self.since[cpu]:
            self._refuse(event, f"CPU {cpu} was in the kernel for longer than it has had {_named(thread)}")
        if event.spun > event.length:
            self._refuse(event, f"CPU {cpu} spun for longer than it was in the kernel")
        exits_at = self._life(event, thread).exits_at
        is_exit = exits_at is not None and begin <= exits_at
        stay = KernelStay(
            cpu, thread, begin, event.time, event.spun, event.count, event.is_interruption, is_exit
        )
        self.stays.append(stay)

    def _ask(self, event: AskEvent) -> None:
        """A thread that runs is about to block: it waits for its wake-up as soon as it has."""
        life = self._life(event, event.thread)
        if life.now.state == "blocked":
            self._change(life, Phase(event.time, "unqueued", life.now.cpu))
        elif life.now.state == "running" or life.now.is_halted:
            self.asked.add(event.thread)

    def _leave(self, life: ThreadLife, event: SwitchEvent, cause: SwitchCause) -> None:
        life.leaves.append((event.time, event.state == "r"))
        if event.state == "r":
            self.asked.discard(life.thread)
            self._change(life, Phase(event.time, "runnable", event.vcpu, cause=cause))
            if cause.kind == "yield":
                life.yields.append(event.time)
        elif event.state == "b":
            self._change(life, Phase(event.time, "blocked", event.vcpu))
            if life.thread in self.asked:
                self.asked.discard(life.thread)
                self._change(life, Phase(event.time, "unqueued", event.vcpu))
        else:
            self._change(life, Phase(event.time, "dead", event.vcpu))
            del self.alive[life.thread]
            self.dead.add(life.thread)

    def _enter(self, event: SwitchEvent, cause: SwitchCause) -> list[tuple[int, int]]:
        """The thread runs now. A guest with one queue for all CPUs, or whose migrations are not observed, may
        take it from another CPU's queue."""
        life, cpu = self._life(event, event.thread), event.vcpu
        now = life.now
        if now.state != "runnable" or now.is_halted:
            state = "halted on its CPU" if now.is_halted else now.state
            self._refuse(event, f"CPU {cpu} switches to thread {life.thread}, which is {state}")
        self.sent.pop(event.thread, None)  # a wake-up that came before the thread had left its CPU
        is_moved = now.cpu != cpu
        if is_moved:
            life.moves.append((event.time, now.cpu, cpu))
            life.moved = Move(event.time, now.cpu, cpu, len(self.switches[cpu]))
            self._change(life, Phase(event.time, "runnable", cpu, now.wake, now.cause))
        move = life.moved
        if move and move.switches == len(self.switches[cpu]):
            kind: SwitchReason = "steal" if move.mover == cpu else "push"
            cause = SwitchCause(kind, move.time, event.before, origin=move.origin, mover=move.mover)
        self._change(life, Phase(event.time, "running", cpu, None, cause))
        life.last_cpu = cpu
        return [(now.cpu, -1), (cpu, +1)] if is_moved else []

    def _wake(self, event: WakeEvent) -> None:
        life = self._life(event, event.thread)
        if life.now.state not in {"blocked", "unqueued"}:
            self._refuse(event, f"thread {life.thread} is woken, but is {life.now.state}")
        waker, asked = self.sent.pop(event.thread, (self.current[event.vcpu], event))
        sent = asked.time if isinstance(asked, SendEvent) else 0
        wake = ThreadWake(
            event.time, waker, asked.vcpu, life.thread, event.cpu, asked.trail, sent, asked.read
        )
        life.wakes.append(wake)
        if life.last_cpu not in (None, event.cpu):
            life.moves.append((event.time, life.last_cpu or 0, event.cpu))
        life.last_cpu, life.moved = event.cpu, None
        self._prompt(event.cpu, "wakeup", event.time, event.thread)
        self._change(life, Phase(event.time, "runnable", event.cpu, wake))
        self.effects.append(QueueEffect(event, ((event.cpu, +1),), event.cpu, event.queue))

    def _migrate(self, event: MigrateEvent) -> None:
        life = self._life(event, event.thread)
        now = life.now
        if now.state == "running" or now.is_halted:
            self._refuse(
                event, f"thread {life.thread} is moved to CPU {event.cpu}, but runs on CPU {now.cpu}"
            )
        if now.state in {"blocked", "unqueued"} or event.origin == event.cpu:
            return  # its next wake-up says where it goes
        if now.cpu != event.origin:
            where = f"waits on CPU {now.cpu}"
            self._refuse(event, f"thread {life.thread} is moved from CPU {event.origin}, but {where}")
        life.moves.append((event.time, event.origin, event.cpu))
        life.moved = Move(event.time, event.origin, event.vcpu, len(self.switches[event.cpu]))
        life.last_cpu = event.cpu
        self._change(life, Phase(event.time, "runnable", event.cpu, now.wake, now.cause))
        changes = ((event.origin, -1), (event.cpu, +1))
        self.effects.append(QueueEffect(event, changes, event.cpu, None))

    def _change(self, life: ThreadLife, phase: Phase) -> None:
        begin = life.now.begin
        life.phases.append(phase if phase.begin >= begin else replace(phase, begin=begin))


def _needs(event: ThreadEvent) -> Iterator[tuple[int, State | None, int]]:
    """(thread, the state that it must have before the event or None, CPU) for each thread of the event."""
    match event:
        case SwitchEvent():
            yield event.before, "running", event.vcpu
            yield event.thread, "runnable", event.vcpu
        case WakeEvent():
            yield event.thread, "blocked", event.cpu
        case MigrateEvent():
            yield event.thread, "runnable", event.origin
        case ForkEvent():
            yield event.parent, "running", event.vcpu
            yield event.thread, None, event.vcpu
        case ExitEvent():
            yield event.thread, "running", event.vcpu
        case PromptEvent() | HaltEvent() | StayEvent():
            return
        case _:
            yield event.thread, None, 0


def _named(thread: int) -> str:
    return "the idle thread" if thread == IDLE else f"thread {thread}"
