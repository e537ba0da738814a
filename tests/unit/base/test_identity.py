"""Nonces and digests: fixed by their rules, because verify on another machine must get the same."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from benchgate.base.identity import guest_digest, nonce_of_attempt, nonce_of_seed
from tests.unit.factories import cell


def test_a_nonce_is_of_one_attempt_of_one_session() -> None:
    due = hashlib.sha256(b"20260102T030405Z-abcdef attempt 3").hexdigest()[:16]
    assert nonce_of_attempt("20260102T030405Z-abcdef", 3) == due
    sessions = ("20260102T030405Z-abcdef", "20260102T030405Z-abcdee")
    assert len({nonce_of_attempt(name, number) for name in sessions for number in range(1, 200)}) == 398


def test_on_the_instruction_clock_a_nonce_is_of_cell_and_seed_whatever_the_session() -> None:
    due = hashlib.sha256(b"1 primes-linux-smp2 5").hexdigest()[:16]
    assert nonce_of_seed(1, cell(2), 5) == due
    assert nonce_of_seed(1, replace(cell(2), clock="insn"), 5) == due
    assert (
        len({nonce_of_seed(order, cell(n), seed) for order in (1, 2) for n in (1, 2) for seed in (1, 2)}) == 8
    )


def test_the_digest_of_a_guest_is_of_the_names_and_digests_of_its_files() -> None:
    due = hashlib.sha256(b"initrd=bb\nkernel=aa\n").hexdigest()
    assert guest_digest({"kernel": "aa", "initrd": "bb"}) == due
    assert guest_digest({"kernel": "bb", "initrd": "aa"}) != due
