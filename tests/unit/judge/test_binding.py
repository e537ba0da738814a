"""A run that is not in its place is named; tests/faults/test_evidence_forgery.py has whole sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.runs import RawRun
from benchgate.judge.binding import check_binding
from tests.forgerykit import FILES, GUEST, nonce_of
from tests.unit.factories import cell, raw_run

ID = "20260102T030405Z-abcdef"
FACTS: dict[str, Any] = {
    "id": ID,
    "binding": 1,
    "options": {"order_seed": 1},
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


def check(runs: Sequence[RawRun], *, complete: bool = True, **facts: object) -> None:
    check_binding({**FACTS, **facts}, runs, 1, "session.json", complete=complete)


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


def test_in_a_session_that_is_not_complete_a_run_may_be_missing() -> None:
    check((*WALL[:3], WALL[4]), complete=False)
    with pytest.raises(EvidenceError, match="its nonce is"):
        check((replace(WALL[0], nonce="0" * 16),), complete=False)


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


def test_a_session_of_an_earlier_version_is_only_searched_for_copies() -> None:
    old = {"id": ID}
    runs = [replace(run, nonce=f"{place:016x}", seed=7, order=9) for place, run in enumerate(WALL)]
    check_binding(old, runs, 1, "session.json", complete=True)
    check_binding(old, [EXACT[0], EXACT[1]], 1, "session.json", complete=True)
    with pytest.raises(EvidenceError, match="another run has its nonce"):
        check_binding(old, [runs[0], replace(runs[1], nonce=runs[0].nonce)], 1, "session.json", complete=True)
