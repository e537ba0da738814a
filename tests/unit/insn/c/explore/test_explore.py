"""explore.c chooses the stalls that explore.h promises, and reads no file but that of base/exploration.py."""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from benchgate.base.exploration import (
    ADDRESS,
    MOST_NS,
    MOST_PLACES,
    MOST_POINTS,
    Exploration,
    StallPoint,
    Strategy,
    exploration_of,
    usual,
)
from tests.unit.insn.c.native import MOST, NEVER, load

SYNC = Exploration(Strategy.SYNC, seed=7, one_in=4, reach=100, shortest_ns=100, longest_ns=6_000)
PCT = Exploration(Strategy.PCT, seed=7, depth=3, steps=1000, shortest_ns=100, longest_ns=1000)
PLACED = SYNC.at_places([2**64 - 16, 0x4000, 0x4000], seed=9, one_in=4, shortest=100, longest=6_000)
LISTED = SYNC.at_points(
    [StallPoint(1, 40, 500), StallPoint(0, 40, 0), StallPoint(1, 40, 70), StallPoint(1, 90, 5)]
)


class ListedPoint(ctypes.Structure):
    _fields_ = (("vcpu", ctypes.c_uint), ("at", ctypes.c_uint64), ("ns", ctypes.c_uint64))


class Rules(ctypes.Structure):
    _fields_ = (
        ("strategy", ctypes.c_int),
        *((name, ctypes.c_uint64) for name in ("seed", "first", "until")),
        ("window", ctypes.c_bool),
        *((name, ctypes.c_uint64) for name in ("one_in", "reach", "shortest", "longest", "depth", "steps")),
        ("count", ctypes.c_size_t),
        ("points", ListedPoint * MOST_POINTS),
        ("places", ctypes.c_size_t),
        ("place", ctypes.c_uint64 * MOST_PLACES),
    )


class Vcpu(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("next", "drawn", "point", "priority", "held", "piece")),
        ("endless", ctypes.c_bool),
    )


class State(ctypes.Structure):
    _fields_ = (
        ("rules", Rules),
        ("vcpus", ctypes.c_uint),
        ("open", ctypes.c_bool),
        ("alone", ctypes.c_bool),
        ("steps", ctypes.c_uint64),
        ("change", ctypes.c_uint64 * 16),
        ("vcpu", Vcpu * MOST),
    )


class Explorer:
    """One exploration of a guest; each method is one C call."""

    def __init__(self, library: ctypes.CDLL, folder: Path, text: str, vcpus: int = 2) -> None:
        self._library, self.state, self.vcpus = library, State(), vcpus
        path = folder / "exploration.txt"
        path.write_text(text)
        problem = ctypes.create_string_buffer(500)
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        file = ctypes.c_void_p(libc.fopen(str(path).encode(), b"r"))
        good = library.explore_read(file, ctypes.byref(self.state.rules), problem, len(problem))
        libc.fclose(file)
        self.problem = "" if good else problem.value.decode()
        if not self.problem:
            self.problem = (library.explore_begin(ctypes.byref(self.state), vcpus) or b"").decode()

    def next(self, vcpu: int) -> int:
        return int(self._library.explore_next(ctypes.byref(self.state), vcpu))

    def meets(self, pc: int, *, synchronises: bool) -> bool:
        address = ctypes.c_uint64(pc)
        return bool(self._library.explore_meets(ctypes.byref(self.state), address, synchronises))

    def synchronises(self, vcpu: int, at: int, now: int = 0) -> None:
        numbers = ctypes.c_uint64(at), ctypes.c_uint64(now)
        self._library.explore_synchronises(ctypes.byref(self.state), vcpu, *numbers)

    def interrupted(self, vcpu: int, at: int, sender: int, sender_at: int, now: int = 0) -> None:
        numbers = ctypes.c_uint64(at), sender, ctypes.c_uint64(sender_at), ctypes.c_uint64(now)
        self._library.explore_interrupted(ctypes.byref(self.state), vcpu, *numbers)

    def take(self, vcpu: int, at: int, now: int = 0, busy: tuple[int, ...] = ()) -> int | None:
        ns, awake = ctypes.c_uint64(), (ctypes.c_bool * MOST)(*(c in busy for c in range(MOST)))
        numbers = ctypes.c_uint64(at), ctypes.c_uint64(now)
        taken = self._library.explore_take(
            ctypes.byref(self.state), vcpu, *numbers, ctypes.byref(awake), ctypes.byref(ns)
        )
        return ns.value if taken else None

    def hold(self, vcpu: int, at: int, busy: tuple[int, ...]) -> list[int]:
        """The stalls of pct at one synchronising instruction, while others stay as they are."""
        self.synchronises(vcpu, at)
        pieces = []
        while (ns := self.take(vcpu, at, 0, busy)) is not None:
            pieces.append(ns)
        return pieces


def build(folder: Path, change: tuple[str, str] | None = None) -> ctypes.CDLL:
    library = load(folder, "explore", beside=("lines",), change=change)
    library.explore_begin.restype = ctypes.c_char_p
    library.explore_next.restype = ctypes.c_uint64
    library.explore_take.restype = library.explore_read.restype = ctypes.c_bool
    library.explore_meets.restype = ctypes.c_bool
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("explore"))


# ---- what each strategy promises; every function is also called with broken C


def stalls_of_sync(library: ctypes.CDLL, folder: Path, seed: int = 7) -> list[tuple[int, int]]:
    """How far from its synchronising instruction, and for how long: 8,000 such instructions, 1,000 apart."""
    explorer, result = Explorer(library, folder, replace(SYNC, seed=seed).text), []
    for at in range(1000, 8_001_000, 1000):
        explorer.synchronises(0, at)
        if (due := explorer.next(0)) != NEVER:
            assert explorer.take(0, due - 1) is None, "never before its instruction"
            result.append((due - at, int(str(explorer.take(0, due)))))
    assert explorer.state.steps == 8000
    return result


def check_sync(library: ctypes.CDLL, folder: Path) -> None:
    result = stalls_of_sync(library, folder)
    assert 1700 < len(result) < 2300, "one in four"
    far = Counter(distance for distance, _ in result)
    assert 400 < far[0] < 620, "a quarter comes before the instruction"
    assert 400 < far[1] < 620, "a quarter before the next one"
    assert max(far) <= SYNC.reach
    beyond = {distance: n for distance, n in far.items() if distance > 1}
    assert 0.3 < sum(n for distance, n in beyond.items() if distance < 10) / sum(beyond.values()) < 0.6
    lengths = [ns for _, ns in result]
    assert min(lengths) >= SYNC.shortest_ns
    assert max(lengths) <= SYNC.longest_ns
    short = sum(ns < 800 for ns in lengths)
    assert 0.4 < short / len(lengths) < 0.6, "three of six doublings"
    assert result == stalls_of_sync(library, folder), "the seed is all"
    assert result != stalls_of_sync(library, folder, seed=8)


def check_own_chance(library: ctypes.CDLL, folder: Path) -> None:
    """What one vCPU draws does not depend on what another does."""
    alone, beside = (Explorer(library, folder, SYNC.text) for _ in range(2))
    for at in range(1000, 100_000, 1000):
        beside.synchronises(1, at)
        for explorer in (alone, beside):
            explorer.synchronises(0, at)
        assert alone.next(0) == beside.next(0)
        if alone.next(0) != NEVER:
            assert alone.take(0, at + 999) == beside.take(0, at + 999)


def check_range(library: ctypes.CDLL, folder: Path) -> None:
    always = replace(SYNC, one_in=1, from_ns=100, until_ns=200, window=True)
    explorer = Explorer(library, folder, always.text)
    explorer.synchronises(0, 10, 150)
    explorer.state.open = True
    for now in (99, 200):
        explorer.synchronises(0, 10, now)
    assert (explorer.next(0), explorer.state.steps) == (NEVER, 0)
    explorer.state.alone = True
    explorer.synchronises(0, 10, 199)
    assert (explorer.next(0), explorer.state.steps) == (NEVER, 0)
    explorer.state.alone = False
    explorer.synchronises(0, 10, 199)
    assert explorer.next(0) != NEVER
    assert explorer.take(0, 500, 200) is None, "the range has ended meanwhile"
    assert explorer.state.steps == 1


def check_anywhere(library: ctypes.CDLL, folder: Path) -> None:
    explorer = Explorer(library, folder, usual(Strategy.ANYWHERE, 3).text)
    places = [explorer.next(0)]
    for _ in range(2000):
        assert explorer.take(0, places[-1]) is not None
        places.append(explorer.next(0))
    gaps = [after - before for before, after in pairwise(places)]
    assert min(gaps) >= 1
    assert 19_000 < sum(gaps) / len(gaps) < 21_000
    assert explorer.next(1) not in {places[0], NEVER}


def check_points(library: ctypes.CDLL, folder: Path) -> None:
    explorer = Explorer(library, folder, LISTED.text)
    assert (explorer.next(0), explorer.next(1)) == (40, 40)
    assert explorer.take(1, 39) is None
    assert [explorer.take(1, 41), explorer.take(1, 41), explorer.take(1, 41)] == [500, 70, None]
    assert explorer.next(1) == 90
    assert (explorer.take(0, 40), explorer.next(0)) == (0, NEVER)
    explorer.synchronises(0, 50)
    assert (explorer.next(0), explorer.state.steps) == (NEVER, 1), "they are only counted"


def check_places(library: ctypes.CDLL, folder: Path) -> None:
    explorer = Explorer(library, folder, PLACED.text)
    assert [explorer.meets(pc, synchronises=True) for pc in (0x4000, 2**64 - 16, 0x4001)] == [
        True,
        True,
        False,
    ]
    assert explorer.meets(0x4000, synchronises=False)
    other = Explorer(library, folder, SYNC.text)
    assert [other.meets(0x4000, synchronises=meets) for meets in (True, False)] == [True, False]
    lengths = []
    for at in range(1000, 801_000, 1000):
        explorer.synchronises(0, at)
        if (due := explorer.next(0)) != NEVER:
            assert due == at, "right before the instruction"
            lengths.append(int(str(explorer.take(0, due))))
    assert 150 < len(lengths) < 250, "one in four"
    assert (min(lengths) >= 100, max(lengths) <= 6_000) == (True, True)


def check_interrupts(library: ctypes.CDLL, folder: Path) -> None:
    stalled: Counter[int] = Counter()
    explorer = Explorer(library, folder, usual(Strategy.INTERRUPT, 5).text)
    for at in range(1000, 401_000, 1000):
        explorer.interrupted(0, at, 1, at + 500_000)
        for vcpu, begins in ((0, at), (1, at + 500_000)):
            if (due := explorer.next(vcpu)) != NEVER:
                assert begins <= due <= begins + 300
                assert explorer.take(vcpu, due) is not None
                stalled[vcpu] += 1
    assert 160 < sum(stalled.values()) < 240, "one in two"
    assert min(stalled[0], stalled[1]) > 70, "the receiver as often as the sender"
    timers = Explorer(library, folder, replace(usual(Strategy.INTERRUPT, 5), one_in=1).text)
    timers.interrupted(1, 70, -1, 0)
    assert (timers.next(0), 70 <= timers.next(1) <= 370) == (NEVER, True)


def check_priorities(library: ctypes.CDLL, folder: Path) -> None:
    """Each order of two vCPUs occurs, and the one behind is held while the other is busy, at most for the
    longest hold."""
    behind: Counter[int] = Counter()
    for seed in range(40):
        explorer = Explorer(library, folder, replace(PCT, seed=seed).text)
        holds = [explorer.hold(c, 10, busy=(0, 1)) for c in (0, 1)]
        late = 0 if holds[0] else 1
        behind[late] += 1
        assert holds[late] == [100, 200, 400, 300], "each twice as long, and together the longest hold"
    assert min(behind[0], behind[1]) > 8


def check_hold_ends(library: ctypes.CDLL, folder: Path) -> None:
    explorer = Explorer(library, folder, replace(PCT, depth=1).text)
    low, high = sorted((0, 1), key=lambda c: int(explorer.state.vcpu[c].priority))
    assert explorer.hold(low, 10, busy=(low,)) == [], "it waits for nobody who halts"
    explorer.synchronises(low, 20)
    assert explorer.take(low, 20, 0, busy=(0, 1)) == 100
    assert explorer.take(low, 20, 0, busy=(low,)) is None
    assert explorer.hold(high, 20, busy=(0, 1)) == []
    assert sum(explorer.hold(low, 30, busy=(0, 1))) == 1000
    assert explorer.hold(low, 40, busy=(0, 1)) == [], "nobody waits again for one that goes on for ever"
    assert explorer.hold(low, 50, busy=(low,)) == []
    assert sum(explorer.hold(low, 60, busy=(0, 1))) == 1000, "it has waited meanwhile"


def check_changes(library: ctypes.CDLL, folder: Path) -> None:
    """With three vCPUs, each change takes the one that executes it below all others."""
    places: Counter[int] = Counter()
    for seed in range(60):
        explorer = Explorer(library, folder, replace(PCT, seed=seed).text, 3)
        first = sorted(int(explorer.state.vcpu[c].priority) for c in range(3))
        assert first == [3, 4, 5]
        top = max(range(3), key=lambda c: int(explorer.state.vcpu[c].priority))
        for step in range(1, 1001):
            before = int(explorer.state.vcpu[top].priority)
            explorer.synchronises(top, step)
            if int(explorer.state.vcpu[top].priority) != before:
                places[step // 250] += 1
                assert int(explorer.state.vcpu[top].priority) in (1, 2)
    assert 100 < places.total() <= 120, "two change points of a depth of three"
    assert min(places[quarter] for quarter in range(4)) > 15, "anywhere among the steps"


CHECKS = (
    *(check_sync, check_own_chance, check_range, check_anywhere, check_points, check_places),
    *(check_interrupts, check_priorities, check_hold_ends, check_changes),
)


@pytest.mark.parametrize("check", CHECKS)
def test_a_strategy_keeps_its_promises(library: ctypes.CDLL, tmp_path: Path, check: object) -> None:
    check(library, tmp_path)  # type: ignore[operator]


BREAKAGES = [
    ("draw(e, c) % e->rules.one_in == 0", "true", check_sync),
    ("if (kind < 2)", "if (kind < 1)", check_sync),
    ("draw_between(e, c, 2, reach)", "2 + draw(e, c) % (reach - 1)", check_sync),
    ("(high < most ? high : most)", "high", check_sync),
    ("low = least << draw(e, c) % doublings", "low = least << (doublings - 1)", check_sync),
    ("chance_of(e->rules.seed, DRAWN, e", "chance_of(0, DRAWN, e", check_sync),
    ("e->vcpu[c].drawn++", "e->vcpu[0].drawn++", check_own_chance),
    ("now >= e->rules.from && ", "", check_range),
    ("!e->alone && ", "", check_range),
    (" && now < e->rules.until", "", check_range),
    ("(e->open || !e->rules.window) &&", "", check_range),
    ("return in_range(e, now);", "return true;", check_range),
    ("2 * e->rules.one_in", "4 * e->rules.one_in", check_anywhere),
    ("if (v->next > at)", "if (v->next == EXPLORE_NEVER)", check_points),
    ("next_point(e, c, v->point + 1);", "next_point(e, c, v->point + 2);", check_points),
    ("if (e->rules.points[v->point].vcpu == c)", "if (true)", check_points),
    ("if (e->rules.strategy != EXPLORE_PLACE)", "if (false)", check_places),
    ("e->rules.place[i] == (pc & EXPLORE_ADDRESS)", "e->rules.place[i] == pc", check_places),
    ("        return synchronises;", "        return true;", check_places),
    (" || e->rules.strategy == EXPLORE_PLACE", "", check_places),
    ("stalls_sender = sender >= 0 && more & 1", "stalls_sender = sender >= 0", check_interrupts),
    (" || chance % e->rules.one_in != 0", "", check_interrupts),
    ("v->piece ? 2 * v->piece", "v->piece ? v->piece", check_priorities),
    ("v->piece < left ? v->piece : left", "v->piece", check_priorities),
    ("PRIORITY, 0, c) % (c + 1)", "PRIORITY, 0, c) % 1", check_priorities),
    ("!busy[i] || ", "", check_hold_ends),
    ("other->endless = gives_up;", "(void)0;", check_hold_ends),
    ("other->endless &= busy[i];", "(void)0;", check_hold_ends),
    ("v->priority = i + 1;", "(void)0;", check_changes),
    ("CHANGE, i, 0) % e->rules.steps", "CHANGE, i, 0) % 200", check_changes),
]


@pytest.mark.parametrize(
    ("old", "new", "check"), BREAKAGES, ids=[f"{new or old}" for old, new, _ in BREAKAGES]
)
def test_a_broken_strategy_is_seen(tmp_path: Path, old: str, new: str, check: object) -> None:
    broken = build(tmp_path, (old, new))
    with pytest.raises(AssertionError):
        check(broken, tmp_path)  # type: ignore[operator]


# ---- the file


@pytest.mark.parametrize(
    "one", [SYNC, PCT, LISTED, PLACED, *(usual(strategy, 1, 50) for strategy in Strategy)], ids=str
)
def test_the_c_reads_what_python_writes(library: ctypes.CDLL, tmp_path: Path, one: Exploration) -> None:
    read = Explorer(library, tmp_path, one.text)
    assert read.problem == ""
    rules = read.state.rules
    assert list(Strategy)[rules.strategy] is one.strategy
    assert (rules.seed, rules.first, rules.until) == (one.seed, one.from_ns, one.until_ns or NEVER)
    assert (rules.one_in, rules.reach, rules.depth, rules.steps) == (
        one.one_in,
        one.reach,
        one.depth,
        one.steps,
    )
    assert (rules.shortest, rules.longest, rules.window) == (one.shortest_ns, one.longest_ns, one.window)
    assert [StallPoint(p.vcpu, p.at, p.ns) for p in rules.points[: rules.count]] == list(one.points)
    assert tuple(rules.place[: rules.places]) == one.places


WRONG = [
    ("exploration 1", "exploration 2", "line 1"),
    ("strategy points", "strategy luck", "line 2: strategy: `luck` is unknown"),
    ("seed 7", "seed -7", "line 3: seed: `-7` does not begin with a decimal number"),
    ("seed 7\n", "", "line 3: expected `seed`"),
    ("until_ns 0", "until_ns 0 0", "line 5: until_ns: there is more"),
    ("window 0", "window 2", "line 6: window: 2 is not from 0 to 1"),
    ("longest_ns 6000", "longest_ns 99", "line 10: longest_ns: 99 is not from 100"),
    ("depth 3", "depth 17", "line 11: depth: 17 is not from 1 to 16"),
    ("point 1 40 70", f"point 1 40 {MOST_NS + 1}", "line 15: point: "),
    ("point 1 90 5", "point 1 39 5", "line 16: point: it comes before the one"),
    ("point 1 90 5", "point 256 90 5", "line 16: point: 256 is not from 0 to 255"),
    ("point 1 90 5", "point 1 90", "line 16: point: `` does not begin"),
    ("point 1 90 5", "point 2 90 5", "a point is of a vCPU that the guest does not have"),
    ("end\n", "", "the file ends here"),
    ("end\n", "end\nmore\n", "there is more after `end`"),
]


@pytest.mark.parametrize(
    ("old", "new", "why"), WRONG, ids=[new.strip() or f"no {old}" for old, new, _ in WRONG]
)
def test_a_wrong_file_is_refused_with_its_line(
    library: ctypes.CDLL, tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert LISTED.text.count(old) == 1
    text = LISTED.text.replace(old, new)
    assert why in Explorer(library, tmp_path, text).problem
    if "guest does not have" not in why:
        with pytest.raises(ValueError):
            exploration_of(text)


def test_a_depth_needs_its_steps_and_a_list_has_an_end(library: ctypes.CDLL, tmp_path: Path) -> None:
    text = PCT.text.replace("steps 1000", "steps 0")
    assert "needs the number of steps" in Explorer(library, tmp_path, text).problem
    many = LISTED.text.replace("end\n", "point 1 91 5\n" * (MOST_POINTS - 3) + "end\n")
    assert f"there are more than {MOST_POINTS}" in Explorer(library, tmp_path, many).problem


def test_places_are_read_up_to_their_limits(library: ctypes.CDLL, tmp_path: Path) -> None:
    assert PLACED.places == (ADDRESS - 15, 0x4000), "each once, and only the bits that count"
    text = PLACED.text
    for old, new, why in (
        ("place 16384", f"place {ADDRESS + 1}", "line 14: place: "),
        ("place 16384", "place 1 1", "line 14: place: there is more"),
        ("place 16384\n", "place 1\n" * MOST_PLACES, f"line 29: place: there are more than {MOST_PLACES}"),
        ("strategy place", "strategy sync", "expected `end`, found `place`"),
        ("place 16384", "point 0 1 1", "expected `end`, found `point`"),
    ):
        assert text.count(old) == 1
        wrong = text.replace(old, new)
        assert why in Explorer(library, tmp_path, wrong).problem
        with pytest.raises(ValueError):
            exploration_of(wrong)
