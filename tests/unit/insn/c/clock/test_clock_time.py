"""CPUs of different speed: n instructions and w ns of waiting for memory take n * 1024 / k + w ns on one of
capacity k, whatever happens in between. The expected values are this sum, in whole numbers."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path

import pytest

from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import FLAGS, linked

DATA = Path(__file__).parents[4] / "data"
DRIVERS = (DATA / "capacities/steps.c", DATA / "errands/jobs.c")
FILES = (
    *("clock_vcpu", "clock_errands", "clock_grants", "clock_moment", "clock_state", "clock_time"),
    "lockstep",
)
CAPACITIES = (1, 3, 462, 1023, 1024)
KEPT = ("waited", "stalled")
"""The counters that the driver keeps for vCPU 0."""
ONLY_WAITS = 2
Change = tuple[str, str, str]
FRACTION_LOST = ("clock_time.c", "    v->part = done.part;\n", "")
ROUNDED_DOWN = (
    "clock_time.c",
    "(parts - v->part + CLOCK_FULL - 1) / CLOCK_FULL",
    "(parts - v->part) / CLOCK_FULL",
)
ALL_OF_1_NS = ("clock_time.c", "(back - passed + v->capacity - 1) / v->capacity", "left - done.ns")
WAITS_ARE_SLOW = ("clock_time.c", "wait * v->capacity)", "units(c, wait) * CLOCK_FULL)")
WAITS_COUNT_TWICE = ("clock_time.c", "    v->charged = counter_stalled(c);\n", "")
WAITS_END_NO_TURN = (
    "clock_time.c",
    "(ns * clock_vcpus[c].capacity + CLOCK_FULL - 1) / CLOCK_FULL",
    "ns / CLOCK_FULL",
)
SLOWNESS_IS_WORK = (
    "clock_vcpu.c",
    "stalled - clock_vcpus[c].stalled + slowed;",
    "stalled - clock_vcpus[c].stalled;",
)


def library(folder: Path, change: Change | None = None) -> ctypes.CDLL:
    texts = {path.name: path.read_text(encoding="utf-8") for path in DRIVERS}
    for name in KEPT:
        kept = f"uint64_t {name};\nuint64_t counter_{name}(unsigned c) {{\n    return c ? 0 : {name};\n}}\n"
        texts["jobs.c"] = texts["jobs.c"].replace(f"NOTHING(counter_{name})\n", kept)
    texts |= {f"{name}.c": c_file(f"{name}.c").read_text(encoding="utf-8") for name in FILES}
    if change is not None:
        file, old, new = change
        assert texts[file].count(old) == 1, f"the text to replace is no longer in {file}"
        texts[file] = texts[file].replace(old, new)
    words = (*FLAGS, "-shared", *(f"-I{c_folder}" for c_folder in c_folders()))
    made = ctypes.CDLL(str(linked(folder / "steps.so", words, texts, {})))
    for name in ("clock_own", "clock_before", "clock_executed", "clock_stalled", "granted"):
        getattr(made, name).restype = ctypes.c_uint64
    return made


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(tmp_path_factory.mktemp("clock_time"))


def execute(clock: ctypes.CDLL, count: int) -> None:
    clock.execute(ctypes.c_uint64(count))


def before(clock: ctypes.CDLL, left: int) -> int:
    return int(clock.clock_before(0, ctypes.c_uint64(left)))


def in_steps(clock: ctypes.CDLL, capacity: int) -> None:
    dice, done = random.Random(capacity), 0
    clock.begin(capacity)
    for _ in range(300):
        count = dice.choice((0, 1, dice.randint(2, 50)))
        execute(clock, count)
        done += count
        assert clock.clock_own(0) == done * 1024 // capacity
        left = dice.randint(0, min(done, 60))
        assert before(clock, left) == (done - left) * 1024 // capacity
        if dice.random() < 0.5:
            clock.clock_fold(0)
            assert before(clock, left) == (done - left) * 1024 // capacity, "a block that was folded"
        if dice.random() < 0.5:
            clock.clock_fold(0)
            clock.granted(ctypes.c_uint64(dice.randint(0, 5000)))
    assert clock.clock_executed(0) == done
    assert clock.clock_stalled(0) == done * 1024 // capacity - done


def with_waits(clock: ctypes.CDLL, capacity: int) -> None:
    """A wait is as long on every CPU, also one in a block of which a part is not executed yet."""
    dice, done, waits = random.Random(capacity), 0, 0
    clock.begin(capacity)
    for _ in range(300):
        count = dice.randint(0, 50)
        execute(clock, count)
        done += count
        wait = dice.choice((0, 1, 2, dice.randint(3, 300)))
        clock.stall(ctypes.c_uint64(wait))
        waits += wait
        assert clock.clock_own(0) == done * 1024 // capacity + waits
        left = dice.randint(0, count)
        assert before(clock, left) == (done - left) * 1024 // capacity + waits
        if dice.random() < 0.5:
            clock.clock_fold(0)
            assert before(clock, left) == (done - left) * 1024 // capacity + waits, "a block that was folded"
            clock.granted(ctypes.c_uint64(dice.randint(0, 5000)))
        assert clock.clock_executed(0) == done
        assert clock.clock_stalled(0) == done * 1024 // capacity - done + waits


def to_limits_by_waiting(clock: ctypes.CDLL, capacity: int) -> None:
    """A vCPU that waits reaches its limit, and not an instruction or a ns before it."""
    dice, one = random.Random(capacity), -(-1024 // capacity)
    clock.begin(capacity)
    for ns in (1, 2, *(dice.randint(1, 10_000) for _ in range(200))):
        begun = clock.clock_own(0)
        clock.granted(ctypes.c_uint64(ns))
        while not clock.at_limit():
            execute(clock, dice.randint(0, 3))
            clock.stall(ctypes.c_uint64(dice.randint(1, 90)))
            assert clock.at_limit() or clock.clock_own(0) < begun + ns
        assert clock.clock_own(0) > begun + ns - one
        clock.clock_fold(0)


def to_limits(clock: ctypes.CDLL, capacity: int) -> None:
    """Each turn reaches its limit, and none could with an instruction less."""
    dice, done = random.Random(capacity), 0
    clock.begin(capacity)
    for ns in (1, 1, 2, *(dice.randint(1, 10_000) for _ in range(200))):
        since = done * 1024 // capacity
        count = int(clock.granted(ctypes.c_uint64(ns)))
        assert count >= 1
        assert (done + count - 1) * 1024 // capacity < since + ns <= (done + count) * 1024 // capacity
        execute(clock, count)
        done += count
        clock.clock_fold(0)
    assert clock.granted(ctypes.c_uint64(0)) == 0


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_no_part_of_a_ns_is_lost(clock: ctypes.CDLL, capacity: int) -> None:
    in_steps(clock, capacity)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_wait_for_memory_takes_as_many_ns_on_every_cpu(clock: ctypes.CDLL, capacity: int) -> None:
    with_waits(clock, capacity)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_vcpu_that_waits_for_memory_reaches_its_limit(clock: ctypes.CDLL, capacity: int) -> None:
    to_limits_by_waiting(clock, capacity)


def test_what_was_not_executed_is_made_up_for_by_a_wait(clock: ctypes.CDLL) -> None:
    """The block was folded when it was entered: 10 instructions of 2 ns were counted and not executed."""
    clock.begin(512)
    execute(clock, 10)
    clock.clock_fold(0)
    clock.clock_take_back(0, ctypes.c_uint64(10))
    clock.stall(ctypes.c_uint64(30))
    assert (clock.clock_own(0), clock.clock_executed(0), clock.clock_stalled(0)) == (30, 0, 30)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_vcpu_always_goes_on_and_reaches_its_limit(clock: ctypes.CDLL, capacity: int) -> None:
    to_limits(clock, capacity)


def test_what_was_not_executed_takes_no_time(clock: ctypes.CDLL) -> None:
    clock.begin(512)
    execute(clock, 30)
    clock.clock_take_back(0, ctypes.c_uint64(10))
    assert (clock.clock_own(0), clock.clock_executed(0), clock.clock_stalled(0)) == (40, 20, 20)


def waited(clock: ctypes.CDLL) -> int:
    clock.begin(100)
    clock.clock_adopt(0)
    return int(clock.waits_for(ctypes.c_uint64(1000)))


def test_a_slow_cpu_that_only_waits_does_no_work(clock: ctypes.CDLL) -> None:
    assert waited(clock) == ONLY_WAITS


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (FRACTION_LOST, in_steps),
        (ALL_OF_1_NS, in_steps),
        (ROUNDED_DOWN, to_limits),
        (WAITS_ARE_SLOW, with_waits),
        (WAITS_COUNT_TWICE, with_waits),
        (WAITS_END_NO_TURN, to_limits_by_waiting),
    ],
    ids=["fraction", "before", "budget", "wait", "twice", "limit"],
)
def test_a_clock_that_loses_time_is_caught(tmp_path: Path, change: Change, check: object) -> None:
    assert callable(check)
    with pytest.raises(AssertionError):
        check(library(tmp_path, change), 462)


def test_a_clock_that_takes_slowness_for_work_is_caught(tmp_path: Path) -> None:
    assert waited(library(tmp_path, SLOWNESS_IS_WORK)) != ONLY_WAITS
