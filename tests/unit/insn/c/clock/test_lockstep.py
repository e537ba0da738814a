"""Tests lockstep.c against a model of a machine with one common clock.

The model is written from the rules in lockstep.h, not from the C code. It simulates vCPUs and a main loop
that behave at random, and checks every rule after each step.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.insn.c.native import BUSY, HALT, IDLE, NEVER, READY, RUN, Lockstep, Rules, load

QUANTUM, FINE, RUSH = 1000, 100, 4
LONE = 64
CALM = 8
ORDER = 250
CLOSE = 10
CONTENTION = 1000
BLOCK = 30
"""A vCPU may pass its limit by less than a block."""


class RuleBrokenError(AssertionError):
    pass


def require(holds: bool, what: str) -> None:
    if not holds:
        raise RuleBrokenError(what)


@dataclass
class Play:
    """A random guest on a lockstep machine."""

    lockstep: Lockstep
    rules: Rules
    dice: random.Random
    timers: list[int] = field(default_factory=list)
    trace: list[tuple[object, ...]] = field(default_factory=list)
    latest_now: int = 0
    met: int = 0
    """When vCPUs last interacted."""

    def begin(self) -> None:
        m = self.lockstep.machine
        self.lockstep.appear(0)
        self.lockstep.arrive(0, m.vcpu[0].time, 0)
        for c in range(1, m.count):
            require(self.lockstep.step().vcpus == (), "no vCPU runs before all have started")
            self.lockstep.appear(c)
            self.lockstep.halt(c, m.vcpu[c].time)
        self.main_sleeps()

    def main_sleeps(self) -> None:
        m = self.lockstep.machine
        self.timers = [at for at in self.timers if at > m.now]
        while len(self.timers) < 2:
            self.timers.append(m.now + self.dice.randint(1, 20 * QUANTUM))
        for c in range(m.count):
            if m.vcpu[c].state == HALT and self.dice.random() < 0.4:
                self.lockstep.wake(c, m.now)
                self.met = m.now
        self.lockstep.main_idle(min(self.timers))

    def check(self) -> None:
        m = self.lockstep.machine
        given = self.lockstep.step()
        running = [c for c in range(m.count) if m.vcpu[c].state == RUN]
        active = [m.vcpu[c].time for c in range(m.count) if m.vcpu[c].state in (RUN, READY)]
        require(m.now >= self.latest_now, "the machine's time never goes back")
        self.latest_now = m.now
        if given.main:
            require(not running and m.main == BUSY, "the main loop works only while all vCPUs are stopped")
            self.trace.append(("main", m.now))
            return
        require(len(running) <= 1, "one vCPU at a time")
        span = (self.calm_quanta(min(active, default=0)) if m.window else RUSH) * QUANTUM
        for c in given.vcpus:
            v = m.vcpu[c]
            require(v.time <= v.until <= m.deadline, "no vCPU runs past the next timer")
            require(v.time == min(active), "the vCPU with the lowest time has its turn")
            others = [time for d, time in enumerate(self.times()) if d != c and time is not None]
            slowest = min(others, default=None)
            limit = span if slowest is not None else LONE * span
            base = min(active) if slowest is None else max(min(active), slowest)
            require(v.until - base <= limit, "no vCPU is more than a quantum ahead of the slowest")
            self.trace.append((c, v.time, v.until))
        if m.main == IDLE:
            stuck = not running and not given.vcpus
            require(not stuck or not active, "a ready vCPU is granted a turn")
            require(bool(active) or m.deadline == NEVER, "an idle machine goes to its next timer")

    def calm_quanta(self, now: int) -> float:
        """A thousandth of the time since vCPUs last interacted, in quanta: an upper bound of the growth."""
        return min(max((now - self.met) / 1000 / QUANTUM, 1), CALM)

    def times(self) -> list[int | None]:
        m = self.lockstep.machine
        return [m.vcpu[c].time if m.vcpu[c].state in (RUN, READY) else None for c in range(m.count)]

    def move(self) -> None:
        """One event: a running vCPU returns, or the main loop finishes its work."""
        m = self.lockstep.machine
        running = [c for c in range(m.count) if m.vcpu[c].state == RUN]
        if m.main == BUSY:
            self.main_sleeps()
        elif running:
            self.vcpu_returns(self.dice.choice(running))
        else:
            self.lockstep.main_wants()
        self.check()
        if self.dice.random() < 0.2:  # a step without an event, or with one from outside the guest
            if m.main == IDLE and self.dice.random() < 0.2:
                self.lockstep.main_wants()
            self.check()

    def vcpu_returns(self, c: int) -> None:
        m = self.lockstep.machine
        v = m.vcpu[c]
        what = self.dice.random()
        early = self.dice.randint(v.time, v.until)
        if what < 0.25:
            self.lockstep.halt(c, early)
            self.met = max(self.met, early)
        elif what < 0.4:
            other = self.dice.randrange(m.count)
            if other != c:
                self.lockstep.wake(other, early)
            self.lockstep.arrive(c, early, 0)
        elif what < 0.5:
            self.lockstep.main_wants()
            self.lockstep.arrive(c, early, 0)
        elif what < 0.55:
            self.lockstep.window(self.dice.random() < 0.5)
            self.met = m.now
            self.lockstep.arrive(c, early, 0)
        else:
            self.lockstep.arrive(c, v.until + self.dice.randint(0, BLOCK - 1), max(0, int(what * 20) - 17))


def rules(count: int, *, seed: int) -> Rules:
    return Rules(count, QUANTUM, FINE, RUSH, seed, strict=False)


def play(library: ctypes.CDLL, count: int, *, seed: int, dice: int, moves: int = 300) -> Play:
    order = rules(count, seed=seed)
    game = Play(Lockstep(library, order), order, random.Random(dice))
    game.begin()
    game.check()
    for _ in range(moves):
        game.move()
    return game


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(1, 12),
    seed=st.sampled_from((0, 1, 7, 2**64 - 1)),
    dice=st.integers(0, 2**32),
)
def test_every_rule_holds_for_random_guests(library: ctypes.CDLL, count: int, seed: int, dice: int) -> None:
    game = play(library, count, seed=seed, dice=dice)
    assert game.lockstep.machine.grants > 0


@settings(max_examples=30, deadline=None)
@given(count=st.integers(2, 8), seed=st.integers(1, 2**64 - 1), dice=st.integers(0, 2**32))
def test_equal_events_give_equal_grants(library: ctypes.CDLL, count: int, seed: int, dice: int) -> None:
    one, two = (play(library, count, seed=seed, dice=dice).trace for _ in range(2))
    assert one == two


def test_different_seeds_give_different_interleavings(library: ctypes.CDLL) -> None:
    traces = {tuple(play(library, 4, seed=seed, dice=5).trace) for seed in range(8)}
    assert len(traces) == 8


STILL = "        if (!s.running)\n            grant_main(m, out);\n        return;\n    }\n    bool"
BREAKAGES = {
    "next timer": ("s->first, lower(until, m->deadline), step);", "s->first, until, step);"),
    "ahead of": ("add(s->second, step)", "add(s->second, 36 * m->rules.quantum)"),
    "lowest time": ("return x->time < y->time;", "return x->time > y->time;"),
    "one vCPU|lowest time|ahead of": ("    if (s->running)\n        return;\n", ""),
    "are stopped": (STILL, STILL.replace("        if (!s.running)\n    ", "")),
    "before all have started": ("s.absent || m->main", "m->main"),
    "idle machine": ("            m->jumps++;\n", "            return;\n"),
}


def play_often(library: ctypes.CDLL) -> None:
    for dice in range(300):
        play(library, 4, seed=dice % 3, dice=dice)


@pytest.mark.parametrize("broken", BREAKAGES)
def test_a_broken_lockstep_breaks_a_require(tmp_path: Path, broken: str) -> None:
    library = load(tmp_path, change=BREAKAGES[broken])
    with pytest.raises(RuleBrokenError, match=broken):
        play_often(library)


# ---- single rules


def started(library: ctypes.CDLL, count: int) -> Lockstep:
    machine = Lockstep(library, rules(count, seed=0))
    for c in range(count):
        machine.appear(c)
    machine.window(1)
    return machine


def test_a_woken_vcpu_continues_at_the_time_of_its_waker(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    machine.halt(1, 0)
    machine.arrive(0, 700, 0)
    machine.wake(1, 700)
    assert machine.machine.vcpu[1].time == 700
    assert machine.machine.vcpu[1].halted == 700


def test_an_idle_machine_jumps_to_its_timer(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    machine.halt(0, 10)
    machine.halt(1, 20)
    machine.main_idle(5_000_000)
    assert machine.step().main
    assert machine.machine.now == 5_000_000


def test_while_a_vcpu_spins_the_fine_quantum_applies(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    machine.arrive(0, 500, 1)
    machine.arrive(1, 400, 0)
    assert machine.step().vcpus == (1,)
    assert machine.machine.vcpu[1].until == 500 + FINE
    machine.arrive(1, 600, 0)
    machine.arrive(0, 550, 0)
    machine.step()
    assert machine.machine.vcpu[0].until == 600 + FINE  # vCPU 0 has only just stopped spinning


def test_the_fine_quantum_grows_while_a_vcpu_does_nothing_but_spin(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    machine.arrive(0, 1_000, 1)
    for time in (2_000, 501_000):
        machine.arrive(0, time, 2)
    machine.arrive(1, 500_500, 0)
    machine.step()
    assert machine.machine.vcpu[1].until == 501_000 + 500
    machine.arrive(1, 501_100, 1)  # vCPU 1 begins to spin too
    machine.step()
    assert machine.machine.vcpu[0].until == 501_100 + FINE


def calm(library: ctypes.CDLL, time: int) -> Lockstep:
    """Two vCPUs that have computed independently since time 0."""
    machine = started(library, 2)
    machine.arrive(0, time, 0)
    machine.arrive(1, time, 0)
    return machine


def length_of_turn(machine: Lockstep) -> int:
    (turn,) = machine.step().vcpus
    other = machine.machine.vcpu[1 - turn]
    return machine.machine.vcpu[turn].until - other.time  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("time", "quanta"), [(900, 1), (999_000, 1), (3_500_000, 3.5), (9_000_000, 8), (10**9, 8)]
)
def test_the_quantum_grows_while_vcpus_compute_independently(
    library: ctypes.CDLL, time: int, quanta: float
) -> None:
    assert length_of_turn(calm(library, time)) == QUANTUM * quanta


def stay_halted(machine: Lockstep) -> None:
    machine.halt(2, 0)


def measure_time(machine: Lockstep) -> None:
    machine.halt(2, 0)
    machine.meet(MET)


def halt(machine: Lockstep) -> None:
    machine.halt(2, MET)


def be_woken(machine: Lockstep) -> None:
    machine.halt(2, 0)
    machine.wake(2, MET)
    machine.arrive(2, 2 * MET, 0)


def wait_for_memory(machine: Lockstep) -> None:
    machine.arrive(2, MET, 1)
    machine.arrive(2, 2 * MET, 0)


def only_pause_for_long(machine: Lockstep) -> None:
    for time in (MET - 4_000_000, MET - 1_000_000):
        machine.arrive(2, time, 2)
    machine.arrive(2, MET, 0)
    machine.arrive(2, 2 * MET, 0)


def close_and_reopen_the_window(machine: Lockstep) -> None:
    machine.halt(2, 0)
    machine.arrive(0, MET, 0)
    machine.arrive(1, MET, 0)
    machine.step()
    machine.window(1)


MET = 5_000_000
MEETINGS: dict[Callable[[Lockstep], None], float] = {
    stay_halted: 6,
    measure_time: 1,
    halt: 1,
    be_woken: 1,
    wait_for_memory: FINE / QUANTUM,
    only_pause_for_long: 1,
    close_and_reopen_the_window: 1,
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_an_interaction_ends_the_growth_of_the_quantum(
    library: ctypes.CDLL, meeting: Callable[[Lockstep], None]
) -> None:
    machine = started(library, 3)
    meeting(machine)
    for c in (0, 1):
        machine.arrive(c, MET + 1_000_000, 0)
    assert length_of_turn(machine) == QUANTUM * MEETINGS[meeting]


def halt_after_a_spin(machine: Lockstep) -> None:
    machine.arrive(2, MET, 1)
    machine.halt(2, MET)


def announce_a_wait(machine: Lockstep) -> None:
    machine.halt(2, MET)
    machine.waited(MET)


@pytest.mark.parametrize("waiting", [halt_after_a_spin, announce_a_wait])
@pytest.mark.parametrize(
    ("later", "turn"),
    [(10, FINE), (1_000, FINE), (4_000, 200), (10_000, 500), (20_000, QUANTUM), (10**6, QUANTUM)],
)
def test_after_a_wait_turns_are_short_and_grow_with_the_time_since(
    library: ctypes.CDLL, waiting: Callable[[Lockstep], None], later: int, turn: int
) -> None:
    machine = started(library, 3)
    waiting(machine)
    for c in (0, 1):
        machine.arrive(c, MET + later, 0)
    assert length_of_turn(machine) == turn


def looked_too_early(
    library: ctypes.CDLL, *, stopped: int, late: int, window: bool = True
) -> tuple[bool, Lockstep]:
    """vCPU 0 stopped at `stopped`; vCPU 1 writes at MET what 0 has read at a time that is later by `late`."""
    machine = calm(library, MET)
    machine.window(int(window))
    machine.machine.vcpu[0].time = stopped
    assert machine.step().vcpus == (1,)
    ends = machine.disorder(1, MET, late)
    return bool(int(str(ends)) & 1), machine


def test_a_late_access_that_another_vcpu_waits_for_ends_the_turn_and_keeps_turns_short(
    library: ctypes.CDLL,
) -> None:
    ends, machine = looked_too_early(library, stopped=MET + 600 + 10, late=600)
    assert ends
    machine.arrive(1, MET, 0)
    assert length_of_turn(machine) == CLOSE
    machine.arrive(1, MET + 100_000, 0)
    machine.arrive(0, MET + 100_000, 0)
    assert length_of_turn(machine) == 100_000 // ORDER


@pytest.mark.parametrize(
    ("stopped", "late", "window"),
    [(MET + 700, 600, True), (MET + 590, 600, True), (MET + 20, 10, True), (MET + 610, 600, False)],
    ids=["went on since", "not yet there", "within the shortest turn", "outside the window"],
)
def test_other_late_accesses_change_no_turn(
    library: ctypes.CDLL, stopped: int, late: int, window: bool
) -> None:
    ends, machine = looked_too_early(library, stopped=stopped, late=late, window=window)
    assert not ends
    assert machine.machine.disordered == 0


def contended(library: ctypes.CDLL, *, window: bool = True) -> Lockstep:
    """vCPU 1 contends for a line at MET, which ends its turn within the window."""
    machine = calm(library, MET)
    machine.window(int(window))
    machine.machine.vcpu[0].time = MET + 700
    assert machine.step().vcpus == (1,)
    ends = machine.contend(MET)
    assert bool(int(str(ends)) & 1) is window
    return machine


def test_late_accesses_to_one_line_again_and_again_make_turns_shorter_than_a_transfer(
    library: ctypes.CDLL,
) -> None:
    machine = contended(library)
    assert machine.machine.contended == MET
    machine.arrive(1, MET, 0)
    assert length_of_turn(machine) == CLOSE
    for later, turn in ((CONTENTION, CLOSE), (CONTENTION + 1, MET // 1000 + 1)):
        machine.arrive(1, MET + later, 0)
        machine.arrive(0, MET + later, 0)
        assert length_of_turn(machine) == turn


def test_contention_outside_the_window_changes_no_turn(library: ctypes.CDLL) -> None:
    assert contended(library, window=False).machine.contended == 0


def test_in_strict_order_a_turn_ends_at_the_time_of_the_next_vcpu(library: ctypes.CDLL) -> None:
    order = rules(2, seed=7)
    order.strict = True
    machine = Lockstep(library, order)
    for c in (0, 1):
        machine.appear(c)
        machine.arrive(c, MET + c, 0)
    machine.window(1)
    assert machine.step().vcpus == (0,)
    assert machine.machine.vcpu[0].until == MET + 1
    machine.arrive(0, MET + 1, 0)
    (turn,) = machine.step().vcpus
    assert machine.machine.vcpu[turn].until == MET + 1


def test_a_delay_moves_the_time_of_a_stopped_vcpu(library: ctypes.CDLL) -> None:
    machine = calm(library, MET)
    machine.delay(0, 500)
    assert machine.machine.vcpu[0].time == MET + 500
    assert machine.step().vcpus == (1,)


def test_outside_the_window_turns_do_not_grow(library: ctypes.CDLL) -> None:
    machine = calm(library, 9_000_000)
    machine.window(0)
    assert length_of_turn(machine) == QUANTUM * RUSH


@pytest.mark.parametrize(
    ("later", "quanta"), [(10, 1), (20 * QUANTUM, 1), (40 * QUANTUM, 2), (80 * QUANTUM, RUSH), (10**9, RUSH)]
)
def test_after_the_window_turns_become_long_slowly(library: ctypes.CDLL, later: int, quanta: int) -> None:
    """The guest reads the end of its window after it, and sees the time of the vCPU that is most ahead."""
    machine = calm(library, MET)
    machine.machine.now = MET
    machine.window(0)
    for c in (0, 1):
        machine.arrive(c, MET + later, 0)
    assert length_of_turn(machine) == QUANTUM * quanta


def test_before_the_window_turns_are_long(library: ctypes.CDLL) -> None:
    machine = Lockstep(library, rules(2, seed=0))
    for c in (0, 1):
        machine.appear(c)
        machine.arrive(c, 10, 0)
    machine.window(0)
    assert length_of_turn(machine) == QUANTUM * RUSH


def test_a_wake_up_of_a_vcpu_that_is_not_halted_does_nothing(library: ctypes.CDLL) -> None:
    machine = started(library, 1)
    machine.arrive(0, 50, 0)
    machine.wake(0, 90)
    assert (machine.machine.vcpu[0].state, machine.machine.vcpu[0].time) == (READY, 50)


@pytest.mark.parametrize(
    ("seen", "late"),
    [
        ([(0, 1_000, 100), (1, 5_000, 300)], 400),
        ([(0, 1_000, 100), (1, 1_050, 100)], 150),
        ([(0, 1_000, 500), (1, 900, 100)], 500),
        ([(0, 1_000, 100), (0, 1_000, 100)], 100),
    ],
    ids=["apart", "overlapping", "inside", "the same"],
)
def test_delays_of_hand_overs_add_up_and_overlapping_ones_count_once(
    library: ctypes.CDLL, seen: list[tuple[int, int, int]], late: int
) -> None:
    machine = started(library, 3)
    for c, time, step in seen:
        machine.machine.vcpu[c].step = step
        machine.hand_over(c, time)
    assert (machine.machine.handovers, machine.machine.late) == (len(seen), late)


def test_the_end_of_a_wait_is_a_hand_over_within_the_step_of_its_turn(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    for c in (0, 1):
        machine.arrive(c, 100_000 + c, 0)
    assert machine.machine.handovers == 0
    (turn,) = machine.step().vcpus
    assert machine.machine.vcpu[turn].step == QUANTUM
    machine.arrive(turn, 100_500, 2)
    assert machine.machine.handovers == 0
    machine.arrive(turn, 101_000, 0)
    assert (machine.machine.handovers, machine.machine.late) == (1, QUANTUM)


def test_no_hand_over_is_counted_outside_the_window_or_for_a_vcpu_that_is_alone(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    machine.halt(1, 0)
    machine.arrive(0, 1_000, 0)
    machine.step()
    machine.hand_over(0, 2_000)
    assert machine.machine.longest == 0
    machine.window(0)
    machine.machine.vcpu[0].step = 100
    machine.hand_over(0, 3_000)
    assert (machine.machine.handovers, machine.machine.late) == (0, 0)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_delays_so_far_are_known_before_the_turn_that_counts_them_ends(
    library: ctypes.CDLL, seed: int
) -> None:
    """Whatever a vCPU in its turn has seen, it ends no later than with what was said of that moment."""
    play = Play(
        Lockstep(library, rules(3, seed=seed)),
        rules(3, seed=seed),
        random.Random(seed),
    )
    play.begin()
    m = play.lockstep.machine
    for _ in range(200):
        for c in (c for c in range(m.count) if m.vcpu[c].state == RUN):
            time = play.dice.randint(m.vcpu[c].time, m.vcpu[c].until)
            most = m.late + pending(play.lockstep, time)
            ended = Lockstep(library, play.rules)
            ctypes.pointer(ended.machine)[0] = m
            ended.arrive(c, time, 1)
            require(ended.machine.late <= most, "a turn counts more than was pending")
        play.move()


def pending(machine: Lockstep, time: int) -> int:
    function = machine.library.lockstep_pending
    function.restype = ctypes.c_uint64
    return int(function(ctypes.byref(machine.machine), ctypes.c_uint64(time)))


def test_a_turn_that_lasts_is_pending_by_its_step_at_most(library: ctypes.CDLL) -> None:
    machine = started(library, 2)
    for c in (0, 1):
        machine.arrive(c, 100_000 + c, 0)
    assert pending(machine, 100_000) == 0
    (turn,) = machine.step().vcpus
    assert machine.machine.vcpu[turn].step == QUANTUM
    assert [pending(machine, time) for time in (QUANTUM // 2, 100_500)] == [QUANTUM // 2, QUANTUM]
    machine.hand_over(turn, 100_400)
    assert pending(machine, 100_500) == 100
    machine.window(0)
    assert pending(machine, 100_500) == 0


def stalled(library: ctypes.CDLL, *, timer: int, others_halt: bool) -> Lockstep:
    """vCPU 0 stalls from 100 to 9,100; vCPU 1 stopped at 50, or is halted."""
    machine = started(library, 2)
    machine.main_idle(timer)
    machine.halt(1, 50) if others_halt else machine.arrive(1, 50, 0)
    machine.arrive(0, 100, 0)
    machine.stall(0, 9_000)
    return machine


def check_that_others_go_on(library: ctypes.CDLL) -> None:
    machine = stalled(library, timer=NEVER, others_halt=False)
    assert machine.step().vcpus == (1,)
    assert machine.machine.vcpu[1].until > 9_100
    machine.arrive(1, 20_000, 0)
    assert machine.step().vcpus == (0,)
    assert (machine.machine.vcpu[0].time, machine.machine.vcpu[0].stall) == (9_100, 0)


def check_that_timers_are_on_time(library: ctypes.CDLL) -> None:
    machine = stalled(library, timer=4_000, others_halt=True)
    assert (machine.step().main, machine.machine.now) == (True, 4_000)
    machine.wake(1, 4_000)
    machine.main_idle(NEVER)
    assert machine.step().vcpus == (1,)
    assert machine.machine.vcpu[1].time == 4_000


def check_that_the_main_loop_works_at_the_present(library: ctypes.CDLL) -> None:
    machine = stalled(library, timer=NEVER, others_halt=True)
    machine.main_wants()
    assert (machine.step().main, machine.machine.now) == (True, 100)
    machine.main_idle(NEVER)
    assert machine.step().vcpus == (0,)
    assert machine.machine.now == 9_100


STALLS: dict[Callable[[ctypes.CDLL], None], tuple[str, str]] = {
    check_that_others_go_on: ("    m->vcpu[c].time += span;\n    m->vcpu[c].stall", "    m->vcpu[c].stall"),
    check_that_timers_are_on_time: ("s.stalls && timer ? lower(s.lowest, m->deadline)", "false ? s.lowest"),
    check_that_the_main_loop_works_at_the_present: ("s.stalls ? s.since : s.lowest", "s.lowest"),
}


@pytest.mark.parametrize("check", STALLS)
def test_a_stall_holds_up_one_vcpu_and_nothing_else(
    library: ctypes.CDLL, tmp_path: Path, check: Callable[[ctypes.CDLL], None]
) -> None:
    check(library)
    with pytest.raises(AssertionError):
        check(load(tmp_path, change=STALLS[check]))


# ---- a machine that begins at a snapshot


BEGIN = 1_500_000_000


def restored(library: ctypes.CDLL, count: int, seed: int = 0) -> Lockstep:
    machine = Lockstep(library, rules(count, seed=seed), BEGIN)
    for c in range(count):
        machine.appear(c)
    return machine


def test_a_restored_machine_begins_at_its_time_and_was_halted_before(library: ctypes.CDLL) -> None:
    """So the parts of each vCPU's time add up to its time."""
    m = restored(library, 2).machine
    assert m.now == BEGIN
    assert [(m.vcpu[c].time, m.vcpu[c].halted, m.vcpu[c].state) for c in (0, 1)] == [(BEGIN, BEGIN, RUN)] * 2
    cold = started(library, 2).machine
    assert [(cold.now, cold.vcpu[c].time, cold.vcpu[c].halted) for c in (0, 1)] == [(0, 0, 0)] * 2


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_a_seed_moves_the_first_turns_of_a_restored_machine_as_of_another(
    library: ctypes.CDLL, seed: int
) -> None:
    warm, cold = restored(library, 4, seed).machine, Lockstep(library, rules(4, seed=seed))
    for c in range(4):
        cold.appear(c)
    offsets = [warm.vcpu[c].time - BEGIN for c in range(4)]
    assert offsets == [cold.machine.vcpu[c].time for c in range(4)]
    assert len(set(offsets)) > 1
    assert [warm.vcpu[c].halted for c in range(4)] == [BEGIN] * 4


def test_halts_of_a_restored_machine_add_up_and_it_jumps_to_its_timer(library: ctypes.CDLL) -> None:
    machine = restored(library, 2)
    machine.halt(0, BEGIN + 10)
    machine.halt(1, BEGIN + 20)
    machine.main_idle(BEGIN + 5_000_000)
    assert machine.step().main
    assert (machine.machine.now, machine.machine.jumps) == (BEGIN + 5_000_000, 1)
    machine.wake(1, BEGIN + 5_000_000)
    assert machine.machine.vcpu[1].halted == BEGIN + 5_000_000 - 20
    assert machine.machine.vcpu[1].time == BEGIN + 5_000_000


def test_a_deadline_before_the_begin_is_due_at_once_and_time_does_not_go_back(library: ctypes.CDLL) -> None:
    machine = restored(library, 1)
    machine.halt(0, BEGIN)
    machine.main_idle(BEGIN - 1_000)
    assert machine.step().main
    assert machine.machine.now == BEGIN
    machine.wake(0, BEGIN - 500)
    assert (machine.machine.vcpu[0].time, machine.machine.vcpu[0].halted) == (BEGIN, BEGIN)


def test_a_turn_of_a_restored_machine_ends_at_its_timer(library: ctypes.CDLL) -> None:
    machine = restored(library, 2)
    for c in (0, 1):
        machine.arrive(c, BEGIN, 0)
    machine.main_idle(BEGIN + 300)
    assert machine.step().vcpus == (0,)
    assert machine.machine.vcpu[0].until == BEGIN + 300


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 8), seed=st.sampled_from((0, 1, 7)), dice=st.integers(0, 2**32))
def test_every_rule_holds_for_a_restored_machine(
    library: ctypes.CDLL, count: int, seed: int, dice: int
) -> None:
    order = rules(count, seed=seed)
    game = Play(Lockstep(library, order, BEGIN), order, random.Random(dice), latest_now=BEGIN, met=BEGIN)
    game.begin()
    for _ in range(300):
        game.move()
    m = game.lockstep.machine
    assert m.now >= BEGIN
    assert all(BEGIN <= m.vcpu[c].halted <= m.vcpu[c].time for c in range(count))


LATER = {
    "the machine begins at 0": ("    m->now = now;\n", ""),
    "no vCPU was halted before": ("v->halted = m->now;", "v->halted = 0;"),
    "vCPUs begin at 0": ("v->time = m->now + skew", "v->time = skew"),
}


@pytest.mark.parametrize("broken", LATER)
def test_a_broken_begin_is_noticed(tmp_path: Path, broken: str) -> None:
    library = load(tmp_path, change=LATER[broken])
    with pytest.raises(AssertionError):
        test_a_restored_machine_begins_at_its_time_and_was_halted_before(library)
