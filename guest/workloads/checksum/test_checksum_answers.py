"""The oracle of checksum, compared with XXH64's published vectors and with one block at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate import ParamValue, VerifyError, WorkerReport
from guest.workloads.checksum import oracle as checksum

PRIME32 = 2654435761
PRIME64 = 11400714785074694797
PARAMS: dict[str, ParamValue] = {"blocks": 5000, "rounds": 3, "split": "cost", "wait": "join"}


def sanity_buffer(length: int) -> bytes:
    """The input of xxHash's published vectors: the top bytes of a multiplicative sequence."""
    value, result = PRIME32, bytearray()
    for _ in range(length):
        result.append(value >> 56)
        value = value * PRIME64 % 2**64
    return bytes(result)


@pytest.mark.parametrize(
    ("length", "seed", "hash64"),
    [  # xxHash, cli/xsum_sanity_check.c and tests/sanity_test_vectors.h
        (0, 0, 0xEF46DB3751D8E999),
        (0, PRIME32, 0xAC75FDA2929B17EF),
        (1, 0, 0xE934A84ADB052768),
        (1, PRIME32, 0x5014607643A9B4C3),
        (4, 0, 0x9136A0DCA57457EE),
        (14, 0, 0x8282DCC4994E35C8),
        (14, PRIME32, 0xC3BD6BF63DEB6DF0),
        (32, 0, 0x18B216492BB44B70),
        (32, PRIME32, 0xB3F33BDF93ADE409),
        (222, 0, 0xB641AE8CB691C174),
        (222, PRIME32, 0x20CB8AB7AE10C14A),
    ],
)
def test_published_vectors(length: int, seed: int, hash64: int) -> None:
    assert checksum.xxh64(sanity_buffer(length), seed) == hash64


def test_published_words() -> None:
    assert checksum.xxh64(b"a", 0) == 0xD24EC4F1A98C6E5B
    assert checksum.xxh64(b"abc", 0) == 0x44BC2CF5AD770999


@given(st.binary(min_size=64, max_size=64), st.integers(0, 2**64 - 1))
def test_many_blocks_at_once_agree_with_one_at_a_time(block: bytes, seed: int) -> None:
    words = np.frombuffer(block * 2, dtype="<u8").reshape(2, 8).astype(np.uint64)
    first, second = checksum.hash_blocks(words, np.array([seed, 0], dtype=np.uint64), 1)
    assert (first, second) == (checksum.xxh64(block, seed), checksum.xxh64(block, 0))


def test_each_round_is_seeded_with_the_previous_hash() -> None:
    block = checksum.data_blocks(7, 8)
    value = 7
    for _ in range(5):
        value = checksum.xxh64(block.astype("<u8").tobytes(), value)
    assert checksum.hash_blocks(block, np.array([7], dtype=np.uint64), 5)[0] == value


def test_the_data_are_the_splitmix64_sequence() -> None:
    # the published first outputs for seed 0
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(word) for word in checksum.data_blocks(0, 1)[0, :3]] == first
    assert (checksum.data_blocks(3, 5) == checksum.data_blocks(0, 5)[3:]).all()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40))
def test_fold_agrees_with_a_plain_loop(values: list[int]) -> None:
    root = 0
    for value in values:
        root = (root * checksum.FOLD + value) % 2**64
    assert checksum.fold(np.array(values, dtype=np.uint64)) == root


def slices(*cuts: int) -> list[WorkerReport]:
    correct = checksum.hashes(5000, 3)
    return [
        WorkerReport(
            number, 0, 0, 1, 2, {"lo": lo, "hi": hi, "blocks": hi - lo, "fold": checksum.fold(correct[lo:hi])}
        )
        for number, (lo, hi) in enumerate(itertools.pairwise(cuts))
    ]


def test_the_root_is_the_same_for_every_number_of_workers() -> None:
    root = {"blocks": 5000, "root": checksum.fold(checksum.hashes(5000, 3))}
    for cuts in ((0, 5000), (0, 2500, 5000), (0, 1666, 3333, 5000)):
        checksum.check(PARAMS, slices(*cuts), root)


def test_an_unequal_split_is_refused() -> None:
    root = {"blocks": 5000, "root": checksum.fold(checksum.hashes(5000, 3))}
    with pytest.raises(VerifyError, match="unequal split: worker 0 had blocks=2600"):
        checksum.check(PARAMS, slices(0, 2600, 5000), root)


def test_all_blocks_in_one_slice_are_accepted_only_with_split_one() -> None:
    root = {"blocks": 5000, "root": checksum.fold(checksum.hashes(5000, 3))}
    checksum.check({**PARAMS, "split": "one"}, slices(0, 5000, 5000, 5000), root)
    with pytest.raises(VerifyError, match=r"wrong split: worker 1 had 4000\.\.5000"):
        checksum.check({**PARAMS, "split": "one"}, slices(0, 4000, 5000), root)


def test_a_root_without_the_last_block_is_refused() -> None:
    root = {"blocks": 5000, "root": checksum.fold(checksum.hashes(5000, 3)[:-1])}
    with pytest.raises(VerifyError, match="the result reported root="):
        checksum.check(PARAMS, slices(0, 2500, 5000), root)
