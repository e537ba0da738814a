"""A run that is not in its place is named; tests/evidence/test_evidence_forgery.py has whole sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.runs import Outcome, RawRun
from benchgate.judge.checks.binding import check_binding
from benchgate.judge.judged_run import JudgedRun
from tests.forgerykit import FILES, GUEST, nonce_of
from tests.unit.factories import POLICY, cell, raw_run, verified

ID = "20260102T030405Z-abcdef"
FACTS: dict[str, Any] = {
    "id": ID,
    "binding": 1,
    "state": "complete",
    "options": {"order_seed": 1, "runs": 1, "seeds": 1},
    "inputs": {"primes-linux": FILES},
}


def wall(attempt: int, cpus: int, seed: int, *, warmup: bool = False) -> RawRun:
    run = raw_run(cell(cpus), attempt=attempt, warmup=warmup, guest_digest=GUEST)
    return replace(run, order=attempt, seed=seed, nonce=nonce_of(ID, attempt))


def exact(attempt: int, cpus: int, seed: int, *, warmup: bool = False) -> RawRun:
    nonce = hashlib.sha256(f"1 primes-linux-smp{cpus} {seed}".encode()).hexdigest()[:16]
    return replace(wall(attempt, cpus, seed, warmup=warmup), lane=Lane.INSN, nonce=nonce)


WALL = (wall(1, 1, 1, warmup=True), wall(2, 2, 1, warmup=True), wall(3, 1, 1), wall(4, 2, 1), wall(5, 2, 2))
EXACT = (exact(1, 1, 1, warmup=True), exact(2, 1, 1), exact(3, 2, 1), exact(4, 2, 2), exact(5, 1, 2))


def judged(run: RawRun, outcome: Outcome = Outcome.OK) -> JudgedRun:
    if outcome in (Outcome.INVALID, Outcome.CRASHED):
        return JudgedRun(run, None, "a wrong answer")
    return JudgedRun(
        run, replace(verified(run, 1000), void="run delay 6%" if outcome is Outcome.VOID else "")
    )


def check(runs: Sequence[RawRun], **facts: object) -> None:
    check_binding({**FACTS, **facts}, [judged(run) for run in runs], (), POLICY, "session.json")


def refused(runs: Sequence[RawRun], said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        check(runs)


@pytest.mark.parametrize("runs", [WALL, EXACT, tuple(reversed(WALL)), ()])
def test_runs_in_their_places_are_accepted(runs: Sequence[RawRun]) -> None:
    check(runs)


def test_the_next_sweep_begins_again() -> None:
    check((*WALL, replace(wall(6, 4, 1, warmup=True), order=1), replace(wall(7, 4, 1), order=2)))


@pytest.mark.parametrize(
    ("place", "changes", "said"),
    [
        (0, {"nonce": nonce_of("20260102T030405Z-other0", 1)}, "its nonce is"),
        (3, {"guest_digest": "d" * 64}, "its guest d+ is not the one that session.json has for primes-linux"),
        (3, {"seed": 2}, "its seed is 2, and must be 1"),
        (3, {"warmup": True}, "it is called a warm-up"),
        (0, {"order": 2}, "its order is 2, and must be 1"),
        (2, {"order": 9}, "its order is 9 after 2: runs are missing or exchanged"),
    ],
)
def test_a_run_that_is_not_in_its_place_is_named(place: int, changes: dict[str, Any], said: str) -> None:
    runs = list(WALL)
    runs[place] = replace(runs[place], **changes)
    refused(runs, said)


def test_a_counted_run_that_is_missing_is_found_on_either_clock() -> None:
    refused((*WALL[:3], WALL[4]), "its seed is 2, and must be 1")
    refused((*EXACT[:2], *EXACT[3:]), "its seed is 2, and must be 1")


def test_on_the_instruction_clock_the_nonce_is_of_the_seed() -> None:
    refused((*EXACT[:3], replace(EXACT[3], nonce=EXACT[2].nonce), EXACT[4]), "its nonce is")
    refused((EXACT[0], replace(EXACT[1], warmup=True)), "it is called a warm-up")


def warm(*boots: tuple[int, str]) -> list[JudgedRun]:
    """The runs of a cell that starts warm, with seeds 1, 2 ..., from these boots with these memories."""
    runs = []
    for number, (boot, memory) in enumerate(boots, start=1):
        run = judged(exact(number, 2, number))
        assert run.verified is not None
        runs.append(replace(run, verified=replace(run.verified, start=(boot, memory))))
    return runs


@pytest.mark.parametrize(
    ("boots", "said"),
    [
        ([(1, "a"), (2, "b"), (3, "c"), (1, "a"), (2, "b")], ""),
        ([(1, "a"), (2, "b"), (3, "c"), (4, "d")], "it started at boot 4, and must at 1"),
        ([(1, "a"), (1, "a")], "it started at boot 1, and must at 2"),
        ([(1, "a"), (2, "b"), (3, "c"), (1, "d")], "at another snapshot of boot 1 than the cell's other run"),
    ],
)
def test_the_boots_behind_seeds_follow_from_the_policy(boots: list[tuple[int, str]], said: str) -> None:
    def checked() -> None:
        check_binding(FACTS, warm(*boots), (), replace(POLICY, boots=3), "session.json")

    if said:
        with pytest.raises(EvidenceError, match=said):
            checked()
    else:
        checked()


def test_in_a_session_that_is_not_complete_a_run_may_be_missing() -> None:
    check((*WALL[:3], WALL[4]), state="partial")
    with pytest.raises(EvidenceError, match="its nonce is"):
        check((replace(WALL[0], nonce="0" * 16),), state="partial")


@pytest.mark.parametrize(
    "facts",
    [
        {"options": {}},
        {"options": {"order_seed": "1"}},
        {"options": None},
        {"inputs": None},
        {"inputs": {}},
        {"inputs": {"primes-linux": 3}},
        {"binding": 2},
        {"binding": True},
    ],
)
def test_facts_that_contradict_the_rules_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError):
        check(WALL, **facts)


def counted(outcomes: Sequence[Outcome], runs: int = 5, **facts: object) -> None:
    """A sweep of one cell with these outcomes, of which the session asked for `runs`."""
    options = {"order_seed": 1, "runs": runs, "seeds": 99}
    made = [judged(wall(n, 2, n), outcome) for n, outcome in enumerate(outcomes, start=1)]
    sweeps = [frozenset({cell(2).id})]
    check_binding({**FACTS, "options": options, **facts}, made, sweeps, POLICY, "session.json")


OK, VOID = Outcome.OK, Outcome.VOID


def test_a_cell_has_the_runs_that_were_asked_for() -> None:
    counted([OK] * 5)
    counted([OK, VOID, OK, OK, OK, OK])
    counted([OK] * 9)
    with pytest.raises(EvidenceError, match="primes-linux-smp2 has only 4 of 5 runs, and nothing ended its"):
        counted([OK] * 4)
    with pytest.raises(EvidenceError, match="has only 4 of 5 runs"):
        counted([OK, VOID, OK, OK, OK])
    with pytest.raises(EvidenceError, match="has only 0 of 5 runs"):
        counted([])


def test_an_invalid_run_and_too_many_void_runs_end_a_sweep() -> None:
    counted([OK, Outcome.INVALID])
    counted([VOID] * (POLICY.void.most + 1))
    counted([OK] * 4, state="partial")


def test_on_the_instruction_clock_the_runs_are_seeds() -> None:
    options = {"order_seed": 1, "runs": 1, "seeds": 2}
    runs = [judged(run) for run in EXACT]
    sweeps = [frozenset({cell(1).id, cell(2).id})]
    check_binding({**FACTS, "options": options}, runs, sweeps, POLICY, "session.json")
    with pytest.raises(EvidenceError, match="primes-linux-smp1 has only 1 of 2 runs"):
        check_binding({**FACTS, "options": options}, runs[:4], sweeps, POLICY, "session.json")


def test_a_session_of_an_earlier_version_is_only_searched_for_copies() -> None:
    runs = [replace(run, nonce=f"{place:016x}", seed=7, order=9) for place, run in enumerate(WALL)]

    def old(*given: RawRun) -> None:
        check_binding({"id": ID}, map(judged, given), (), POLICY, "session.json")

    old(*runs)
    old(EXACT[0], EXACT[1])
    with pytest.raises(EvidenceError, match="another run has its nonce"):
        old(runs[0], replace(runs[1], nonce=runs[0].nonce))


def test_only_a_kernel_that_is_built_for_its_cpu_count_may_differ_within_a_row() -> None:
    """Else a session whose arms were made with different kernels could name a guest for each cell."""
    own = {"inputs": {f"primes-linux-smp{cpus}": FILES for cpus in (1, 2)}}
    refused_for = r"its guest .* is not the one that session.json has for primes-linux$"
    with pytest.raises(EvidenceError, match=refused_for):
        check(EXACT, **own)
    judged_runs = [judged(run) for run in EXACT]
    check_binding({**FACTS, **own}, judged_runs, (), POLICY, "session.json", per_count={"linux"})
    other = {"inputs": {**own["inputs"], "primes-linux-smp2": {**FILES, "kernel": "another"}}}
    with pytest.raises(EvidenceError, match=r"the one that session.json has for primes-linux-smp2$"):
        check_binding({**FACTS, **other}, judged_runs, (), POLICY, "session.json", per_count={"linux"})
