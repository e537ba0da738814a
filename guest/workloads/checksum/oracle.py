"""The correct answers of checksum.c: XXH64 over arrays of blocks, in numpy.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
`xxh64` follows the published description for any input and is tested against the published vectors.
`hash_blocks` hashes many 64-byte blocks at once and is tested against `xxh64`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchgate import ParamValue, WorkerReport, all_in_one, equal_cost, expect, ranges, whole

Words = NDArray[np.uint64]

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
FOLD = 0x9FB21C651E98DF25
_MASK = 2**64 - 1
_CHUNK = 4096
"""Blocks that are hashed at once: few enough for a CPU's second-level cache."""


# ---- one input of any length, with Python's integers


def _rotate(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * P2) & _MASK, 31) * P1 & _MASK


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 of any input: stripes of 32 bytes over four lanes, then the tail, then the avalanche."""
    at = 0
    if len(data) < 32:
        value = seed + P5
    else:
        lanes = [(seed + start) & _MASK for start in (P1 + P2, P2, 0, -P1)]
        while at + 32 <= len(data):
            for i in range(4):
                lanes[i] = _round(lanes[i], int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little"))
            at += 32
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * P1 + P4) & _MASK
    return _avalanche(_tail((value + len(data)) & _MASK, data[at:]))


def _tail(value: int, rest: bytes) -> int:
    while len(rest) >= 8:
        value = (_rotate(value ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4) & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        value = (_rotate(value ^ int.from_bytes(rest[:4], "little") * P1 & _MASK, 23) * P2 + P3) & _MASK
        rest = rest[4:]
    for byte in rest:
        value = _rotate(value ^ byte * P5 & _MASK, 11) * P1 & _MASK
    return value


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * P2 & _MASK
    value = (value ^ value >> 29) * P3 & _MASK
    return value ^ value >> 32


# ---- many blocks of 64 bytes at once; numpy's uint64 wraps as the algorithm requires


def _u64(value: int) -> np.uint64:
    return np.uint64(value & _MASK)


def _rotate_all(x: Words, bits: int) -> Words:
    return x << _u64(bits) | x >> _u64(64 - bits)


def _round_all(lane: Words, word: Words) -> Words:
    """`word` is already multiplied by P2, because that product is the same in every round of a block."""
    return _rotate_all(lane + word, 31) * _u64(P1)


def hash_blocks(blocks: Words, seeds: Words, rounds: int) -> Words:
    """Hashes each of blocks[n, 8] `rounds` times. `seeds` are the first seeds; each hash is the next seed."""
    words = [blocks[:, i] * _u64(P2) for i in range(8)]
    value = seeds
    for _ in range(rounds):
        lanes = [value + _u64(start) for start in (P1 + P2, P2, 0, -P1)]
        lanes = [_round_all(lane, words[i]) for i, lane in enumerate(lanes)]
        lanes = [_round_all(lane, words[4 + i]) for i, lane in enumerate(lanes)]
        value = _rotate_all(lanes[0], 1) + _rotate_all(lanes[1], 7)
        value = value + _rotate_all(lanes[2], 12) + _rotate_all(lanes[3], 18)
        for lane in lanes:
            value = (value ^ _rotate_all(lane * _u64(P2), 31) * _u64(P1)) * _u64(P1) + _u64(P4)
        value = value + _u64(64)
        value = (value ^ value >> _u64(33)) * _u64(P2)
        value = (value ^ value >> _u64(29)) * _u64(P3)
        value = value ^ value >> _u64(32)
    return value


def data_blocks(first: int, end: int) -> Words:
    """Blocks first..end-1. Word i, counted over all blocks, is element i of splitmix64 for seed 0."""
    z = (np.arange(first * 8, end * 8, dtype=np.uint64) + _u64(1)) * _u64(0x9E3779B97F4A7C15)
    z = (z ^ z >> _u64(30)) * _u64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> _u64(27)) * _u64(0x94D049BB133111EB)
    z = z ^ z >> _u64(31)
    return z.reshape(-1, 8)


@lru_cache(maxsize=4)
def hashes(blocks: int, rounds: int) -> Words:
    """The hash of every block."""
    result = np.empty(blocks, dtype=np.uint64)
    for first in range(0, blocks, _CHUNK):
        end = min(first + _CHUNK, blocks)
        seeds = np.arange(first, end, dtype=np.uint64)
        result[first:end] = hash_blocks(data_blocks(first, end), seeds, rounds)
    return result


def fold(values: Words) -> int:
    """root * FOLD + value over all values, from 0: the sum of each value times a power of FOLD."""
    powers = np.full(len(values), FOLD, dtype=np.uint64)
    powers[:1] = 1
    return int((values[::-1] * np.multiply.accumulate(powers)).sum(dtype=np.uint64))


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    blocks = whole(params, "blocks")
    correct = hashes(blocks, whole(params, "rounds"))
    for report, (lo, hi) in zip(reports, ranges(reports, 0, blocks), strict=True):
        slice_fold = fold(correct[lo:hi])
        expect(
            f"worker {report.id}", report.values, {"lo": lo, "hi": hi, "blocks": hi - lo, "fold": slice_fold}
        )
    expect("the result", result, {"blocks": blocks, "root": fold(correct)})
    if params["split"] == "one":
        all_in_one(reports)
    else:
        equal_cost(reports, "blocks", grain=1)
