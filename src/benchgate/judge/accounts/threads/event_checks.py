"""Checks what the events of threads say beside their order: CPUs, ends and names, and the lengths of queues.

Takes events, or what each changes in the numbers of runnable threads (`QueueEffect`) and these numbers at the
begin; gives the numbers after each change. Pure. Fails with VerifyError that names the event's line.

A thread comes to a CPU only that it may run on, when it is woken, moved or switched to. If it may not any
longer since it is there, or since another CPU was asked to wake it, the kernel needs a while to move it.

Numbers of runnable threads are compared with those that follow from the events. What is written at an event
is the number after it. But the guest changes its numbers a little before or after the instruction that makes
the event, and another vCPU is somewhere between two of its events: its last one may not be counted yet, its
next one already. A thread that is about to block, by the CPU's next switch, may be gone already. A balancer
takes all threads that it moves off their queue before it puts the first one on the other queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from benchgate.base.errors import VerifyError
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

ADVICE = "Check what the system's `observe:` names for this kernel"
_Deltas = tuple[tuple[int, int], ...]
"""(CPU, by how much its number of runnable threads changes)."""
_MOST_ENDING = 2
"""So many threads for each CPU may have begun to end before the first one is dead."""


@dataclass(frozen=True, slots=True)
class QueueEffect:
    """What an event changes in the numbers of runnable threads, and which number the guest read there."""

    event: ThreadEvent
    changes: _Deltas
    cpu: int
    read: int | None


def refuse(path: str, event: ThreadEvent, rule: str) -> NoReturn:
    raise VerifyError(f"{path}:{event.line}: the events of threads contradict each other: {rule}. {ADVICE}")


def check_events(events: ThreadEvents) -> None:
    """For events whose order is right (repeating.py)."""
    _CpuCheck(events.path).run(events.events)
    _check_ends(events)
    _check_names(events)


class _CpuCheck:
    """Knows which CPUs each thread may run on, and whether it came to its CPU before that changed. They are
    given to it (`allow` of `observe:`), and they are read where it is woken or moved or leaves its CPU. Both
    must agree, but for a thread that is held on one CPU for a while."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.masks: dict[int, int] = {}
        self.given: dict[int, AllowEvent] = {}
        self.placed: set[int] = set()
        """The threads that run or wait on a CPU, or that another CPU was asked to wake."""
        self.excused: set[int] = set()
        """Those of them that were there before their CPUs changed."""

    def run(self, events: tuple[ThreadEvent, ...]) -> None:
        for at, event in enumerate(events):
            match event:
                case ForkEvent(thread=thread):
                    self._block(thread)
                    self.masks.pop(thread, None)
                    self.given.pop(thread, None)
                case AllowEvent(thread=thread, cpus=cpus):
                    self._allow(event, is_read=_is_read(event, events, at))
                    self.masks[thread] = cpus
                    if thread in self.placed:
                        self.excused.add(thread)
                case SendEvent(thread=thread):
                    self.placed.add(thread)
                case WakeEvent(thread=thread, cpu=cpu):
                    self._place(event, thread, cpu)
                case MigrateEvent(thread=thread, cpu=cpu):
                    self.excused.discard(thread)
                    if thread in self.placed:
                        self._place(event, thread, cpu)
                case SwitchEvent():
                    if event.state != "r":
                        self._block(event.before)
                    self._place(event, event.thread, event.vcpu)
                case _:
                    pass

    def _allow(self, event: AllowEvent, *, is_read: bool) -> None:
        given = self.given.get(event.thread)
        if not is_read:
            self.given[event.thread] = event
        elif given and given.cpus != event.cpus and event.cpus & (event.cpus - 1):
            was = f"was given the CPUs {given.cpus:#x} at line {given.line}"
            refuse(self.path, event, f"thread {event.thread} may run on the CPUs {event.cpus:#x}, but {was}")

    def _block(self, thread: int) -> None:
        self.placed.discard(thread)
        self.excused.discard(thread)

    def _place(self, event: ThreadEvent, thread: int, cpu: int) -> None:
        mask = self.masks.get(thread)
        if thread == IDLE:
            return
        self.placed.add(thread)
        if mask is None or mask >> cpu & 1:
            self.excused.discard(thread)
        elif thread not in self.excused:
            may = f"may run on the CPUs {mask:#x} only"
            refuse(self.path, event, f"thread {thread} comes to CPU {cpu}, but {may}")


def _is_read(event: AllowEvent, events: tuple[ThreadEvent, ...], at: int) -> bool:
    """Whether these CPUs were read at another event of the thread, which is written with it."""
    begin, end = max(at - 1, 0), at + 3  # the fork before it; a name may be between
    return any(
        (one.vcpu, one.time) == (event.vcpu, event.time)
        and (one.before if isinstance(one, SwitchEvent) else one.thread) == event.thread
        for one in events[begin:end]
        if not isinstance(one, AllowEvent | AskEvent | HaltEvent | NameEvent | PromptEvent | StayEvent)
    )


def _check_ends(events: ThreadEvents) -> None:
    """If a guest says where threads begin to end, each does so once, and dies then."""
    ending: dict[int, ExitEvent] = {}
    is_seen, died = any(isinstance(event, ExitEvent) for event in events.events), 0
    for event in events.events:
        match event:
            case ExitEvent(thread=thread):
                if thread in ending:
                    refuse(events.path, event, f"thread {thread} begins to end for the second time")
                ending[thread] = event
            case SwitchEvent(before=thread, state="d"):
                if is_seen and ending.pop(thread, None) is None:
                    refuse(events.path, event, f"thread {thread} dies, but has not begun to end")
                died += 1
            case _:
                pass
    if not died and len(ending) > _MOST_ENDING * events.vcpus:
        what = f"{len(ending)} threads begin to end, but no switch from one says that it is dead"
        refuse(events.path, next(iter(ending.values())), what)


def _check_names(events: ThreadEvents) -> None:
    """A program may give its threads any bytes as a name, but most names are text."""
    named = [event for event in events.events if isinstance(event, ForkEvent | NameEvent) and event.name]
    odd = [event for event in named if not event.name.isprintable() or "\ufffd" in event.name]
    if 2 * len(odd) > len(named):
        refuse(events.path, odd[0], f"{len(odd)} of {len(named)} names of threads are no text")


def checked_lengths(
    path: str, effects: list[QueueEffect], counts: list[int]
) -> tuple[tuple[int, int, int], ...]:
    """(time, CPU, number) after each change, by time. `path` is for messages; `counts` has the number of each
    CPU at the begin."""
    steps = [(0, cpu, count) for cpu, count in enumerate(counts)]
    late, early = _Changes(len(counts)), _Changes(len(counts))
    coming, first = _coming(effects)
    leaving = _leaving(effects, len(counts))
    for vcpu, changes in first.items():
        early.put(vcpu, changes)
    for at, effect in enumerate(effects):
        for cpu, change in effect.changes:
            counts[cpu] += change
        vcpu, cpu, count = effect.event.vcpu, effect.cpu, counts[effect.cpu]
        late.put(vcpu, ())
        early.put(vcpu, ())
        low = count - late.more[cpu] - early.less[cpu] - leaving[at]
        high = count + late.less[cpu] + early.more[cpu]
        if effect.read is not None and not low <= effect.read <= high:
            raise VerifyError(
                f"{path}:{effect.event.line}: the guest counts {effect.read} runnable threads on CPU {cpu}, "
                f"but by the events there are {count}. {ADVICE}"
            )
        late.put(vcpu, effect.changes)
        early.put(vcpu, coming[at])
        steps += [(effect.event.time, at_cpu, counts[at_cpu]) for at_cpu, change in effect.changes if change]
    return tuple(sorted(steps, key=lambda step: step[0]))


class _Changes:
    """The changes of one event of each vCPU, summed up by CPU."""

    def __init__(self, vcpus: int) -> None:
        self.of: list[_Deltas] = [()] * vcpus
        self.more, self.less = [0] * vcpus, [0] * vcpus

    def put(self, vcpu: int, changes: _Deltas) -> None:
        for sign, some in ((-1, self.of[vcpu]), (+1, changes)):
            for cpu, change in some:
                (self.more if change > 0 else self.less)[cpu] += sign
        self.of[vcpu] = changes


def _coming(effects: list[QueueEffect]) -> tuple[list[_Deltas], dict[int, _Deltas]]:
    """For each effect what its vCPU may have changed already: the changes of its next one, and of moves in a
    row, which a balancer makes, that all these threads have left their queue. The same for each vCPU's first
    effect."""
    coming: list[_Deltas] = [()] * len(effects)
    ahead: dict[int, _Deltas] = {}
    moves: dict[int, bool] = {}
    for at in range(len(effects) - 1, -1, -1):
        event, changes = effects[at].event, effects[at].changes
        coming[at] = ahead.get(event.vcpu, ())
        is_move = isinstance(event, MigrateEvent)
        if is_move and moves.get(event.vcpu):
            changes += tuple(change for change in coming[at] if change[1] < 0)
        ahead[event.vcpu], moves[event.vcpu] = changes, is_move
    return coming, ahead


def _leaving(effects: list[QueueEffect], vcpus: int) -> list[bool]:
    """Whether the CPU whose number was read is about to take its thread off the queue: before its next switch
    it does nothing but move threads to itself. Its own switches are complete."""
    leaves, result = [False] * vcpus, [False] * len(effects)
    for at in range(len(effects) - 1, -1, -1):
        effect, event = effects[at], effects[at].event
        if isinstance(event, SwitchEvent):
            leaves[effect.cpu] = event.before != IDLE and event.state != "r"
            continue
        result[at] = leaves[effect.cpu]
        if isinstance(event, WakeEvent):
            leaves[event.vcpu] = False
    return result
