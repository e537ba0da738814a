"""When each vCPU begins: the seed moves their starts apart (`lockstep_appear` in c/lockstep.c). Pure.

Takes a seed, the quantum and a vCPU; gives ns. With it the books of a vCPU's time close to the instruction:
its time is its start and everything that it spent. Does not fail.
"""

from __future__ import annotations

_WORD = 2**64 - 1
_START = 1
"""What lockstep.c hashes into the seed for starts, so that other decisions draw other values."""


def start_of(seed: int, quantum: int, vcpu: int) -> int:
    if not seed:
        return 0
    return _mixed(_mixed(_mixed(seed ^ _START)) ^ vcpu) % quantum


def _mixed(value: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators)."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
