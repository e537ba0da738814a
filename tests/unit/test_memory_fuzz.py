"""The memory model in C and the reference in Python give the same for random machines and traces: each stall,
each access out of order, each book, each move of a line, and what every cache holds at the end."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from tests.memory_reference import Shape
from tests.memory_traces import shape, trace
from tests.memorykit import Seen, Steps, by_model, by_reference, first_difference, load

SEEDS = range(80)
STEPS = 3000

BROKEN = {
    "any late write counts as crossed": (
        "memory_late.c",
        "!memory_state_reads(a->kind) && read <= a->now",
        "true",
    ),
    "a writer forgets later readers": (
        "memory_late.c",
        "if (state == MEMORY_M)\n        other",
        "if (state == MEMORY_I)\n        other",
    ),
    "times are lost with the L2's copy": (
        "memory_leave.c",
        "    memory_late_fold_copies(entry, &s->cpu[c], line);\n",
        "",
    ),
    "times of fetches are lost": (
        "memory_late.c",
        "    fold_copy(entry, &cpu->code, line);\n",
        "",
    ),
    "times are lost with the L1's copy": (
        "memory_model.c",
        "    if (victim.tag)\n        memory_late_fold(",
        "    if (0)\n        memory_late_fold(",
    ),
    "all victims are written back": (
        "memory_leave.c",
        "if (MEMORY_STATE_MESI(victim.tag) == MEMORY_M)",
        "if (victim.tag)",
    ),
    "invalidated copies stay in the directory": (
        "memory_leave.c",
        "    memory_line_drop(entry, c);\n",
        "",
    ),
    "other L3s keep a line that is written": (
        "memory_model.c",
        "    memory_leave_others(a);\n    memory_leave_thirds(a);\n    memory_late",
        "    memory_leave_others(a);\n    memory_late",
    ),
    "modified data of an L3 is lost": (
        "memory_leave.c",
        "        write_back(a, MEMORY_MOVE_L3_BACK, line, c);",
        "        return;",
    ),
    "a line serves all at once": (
        "memory_model.c",
        "    memory_wait_keep_busy(a, service);\n",
        "",
    ),
    "an upgrade does not keep its line busy": (
        "memory_model.c",
        "    if (more)\n        memory_wait",
        "    if (false)\n        memory_wait",
    ),
    "the queue ignores the wait for the line": (
        "memory_wait.c",
        "a->now + a->waited",
        "a->now",
    ),
    "E though another L3 has it": (
        "memory_model.c",
        "return (a->entry->l3 & ~memory_state_bit(a->s, a->c)) != 0;",
        "return false;",
    ),
    "all sockets are one": (
        "memory_state.h",
        "if (one->socket != two->socket)",
        "if (false)",
    ),
    "the most recent way is replaced": (
        "memory_cache.c",
        "while (at < last && c->first.tags[at])",
        "while (at == set && c->first.tags[at])",
    ),
    "a TLB is first in, first out": (
        "memory_tlb.c",
        "        memory_cache_use(&t->cache, page, at);",
        "        return true;",
    ),
    "waits are rounded down": (
        "memory_queue.c",
        " + 999",
        "",
    ),
    "only the last reader is remembered": (
        "memory_late.c",
        "memory_state_latest(entry->read_at, times.read)",
        "times.read",
    ),
    "the short path ignores the order": (
        "memory.h",
        "(tag & ~(uint64_t)MEMORY_MESI) != spot->key",
        "tag >> 3 << 3 != spot->key",
    ),
    "a hit in another way leaves the order": (
        "memory_cache.c",
        "    for (; way > 0; way--) {",
        "    while (way > 0) {\n        return true;",
    ),
    "a page is taken for its neighbour": (
        "memory.h",
        "return *spot->tag == spot->key;",
        "return *spot->tag >> 4 == spot->key >> 4;",
    ),
    "the short path writes to E": (
        "memory.h",
        "tag != (spot->key | MEMORY_M)",
        "(tag | 1) != (spot->key | MEMORY_M)",
    ),
}
"""A text of the C, and what it becomes."""


@lru_cache(maxsize=len(SEEDS))
def machine(seed: int) -> tuple[Shape, Steps, Seen]:
    """A machine and its trace, with what the reference says."""
    result = shape(seed)
    steps = trace(result, seed, STEPS)
    return result, steps, by_reference(result, steps)


def differences(model: ctypes.CDLL, folder: Path, seed: int) -> Iterator[str]:
    result, steps, slow = machine(seed)
    for quick in (True, False):
        if words := first_difference(by_model(model, folder, result, steps, quick=quick), slow, steps):
            yield f"seed {seed}, quick {quick}: {words}\n{result}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("memory"))


@pytest.mark.parametrize("first", SEEDS[::10])
def test_they_agree(model: ctypes.CDLL, tmp_path: Path, first: int) -> None:
    assert [
        *(words for seed in range(first, first + 10) for words in differences(model, tmp_path, seed))
    ] == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_found(name: str, tmp_path: Path) -> None:
    broken = load(tmp_path, *BROKEN[name])
    assert any(words for seed in SEEDS for words in differences(broken, tmp_path, seed))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_they_agree_for_long(model: ctypes.CDLL, tmp_path: Path, first: int) -> None:
    """Six million steps."""
    seeds = range(first, first + 100)
    assert [words for seed in seeds for words in differences(model, tmp_path, seed)] == []
