"""Compares the numbers of runnable threads that the guest keeps with those that follow from the events.

Takes what each event changes (`QueueEffect`) and the numbers at the begin; gives the numbers after each
change. Pure. Fails with VerifyError that names the event's line.

What is written at an event is the number after it. But the guest changes its numbers a little before or
after the instruction that makes the event, and another vCPU is somewhere between two of its events: its last
one may not be counted yet, its next one already. A thread that is about to block, by the CPU's next switch,
may be gone already.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import IDLE, SwitchEvent, ThreadEvent, WakeEvent

ADVICE = "Check what the system's `observe:` names for this kernel"


@dataclass(frozen=True, slots=True)
class QueueEffect:
    """What an event changes in the numbers of runnable threads, and which number the guest read there."""

    event: ThreadEvent
    changes: tuple[tuple[int, int], ...]
    """(CPU, by how much)."""
    cpu: int
    read: int | None


def checked_lengths(
    path: str, effects: list[QueueEffect], counts: list[int]
) -> tuple[tuple[int, int, int], ...]:
    """(time, CPU, number) after each change, by time. `path` is for messages; `counts` has the number of each
    CPU at the begin."""
    return _Lengths(path, effects, counts).check()


class _Lengths:
    def __init__(self, path: str, effects: list[QueueEffect], counts: list[int]) -> None:
        self.path = path
        self.effects = effects
        self.counts = counts
        self.late = _Changes(len(counts))
        self.early = _Changes(len(counts))

    def check(self) -> tuple[tuple[int, int, int], ...]:
        steps = [(0, cpu, count) for cpu, count in enumerate(self.counts)]
        following = _following(self.effects)
        leaving = _leaving(self.effects, len(self.counts))
        first: dict[int, QueueEffect] = {}
        for effect in self.effects:
            first.setdefault(effect.event.vcpu, effect)
        for vcpu, effect in first.items():
            self.early.put(vcpu, effect.changes)
        for at, effect in enumerate(self.effects):
            for cpu, change in effect.changes:
                self.counts[cpu] += change
            vcpu, later = effect.event.vcpu, following[at]
            self.late.put(vcpu, ())
            self.early.put(vcpu, ())
            if effect.read is not None:
                self._check(effect, effect.read, leaves=leaving[at])
            self.late.put(vcpu, effect.changes)
            self.early.put(vcpu, self.effects[later].changes if later is not None else ())
            steps += [(effect.event.time, cpu, self.counts[cpu]) for cpu, change in effect.changes if change]
        return tuple(sorted(steps, key=lambda step: step[0]))

    def _check(self, effect: QueueEffect, read: int, *, leaves: bool) -> None:
        cpu, count = effect.cpu, self.counts[effect.cpu]
        low = count - self.late.more[cpu] - self.early.less[cpu] - leaves
        high = count + self.late.less[cpu] + self.early.more[cpu]
        if not low <= read <= high:
            raise VerifyError(
                f"{self.path}:{effect.event.line}: the guest counts {read} runnable threads on CPU {cpu}, "
                f"but by the events there are {count}. {ADVICE}"
            )


class _Changes:
    """The changes of one event of each vCPU, summed up by CPU."""

    def __init__(self, vcpus: int) -> None:
        self.of: list[tuple[tuple[int, int], ...]] = [()] * vcpus
        self.more, self.less = [0] * vcpus, [0] * vcpus

    def put(self, vcpu: int, changes: tuple[tuple[int, int], ...]) -> None:
        for sign, some in ((-1, self.of[vcpu]), (+1, changes)):
            for cpu, change in some:
                (self.more if change > 0 else self.less)[cpu] += sign
        self.of[vcpu] = changes


def _following(effects: list[QueueEffect]) -> list[int | None]:
    """The place of the next effect of the same vCPU, for each."""
    following: list[int | None] = [None] * len(effects)
    last: dict[int, int] = {}
    for at, effect in enumerate(effects):
        if effect.event.vcpu in last:
            following[last[effect.event.vcpu]] = at
        last[effect.event.vcpu] = at
    return following


def _leaving(effects: list[QueueEffect], vcpus: int) -> list[bool]:
    """Whether the CPU whose number was read is about to take its thread off the queue: before its next switch
    it does nothing but move threads to itself. Its own switches are complete."""
    leaves, found = [False] * vcpus, [False] * len(effects)
    for at in range(len(effects) - 1, -1, -1):
        effect, event = effects[at], effects[at].event
        if isinstance(event, SwitchEvent):
            leaves[effect.cpu] = event.before != IDLE and event.state != "r"
            continue
        found[at] = leaves[effect.cpu]
        if isinstance(event, WakeEvent):
            leaves[event.vcpu] = False
    return found
