"""Lies on tern, whose program is built with the changed workload: a few of each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.lies import elsewhere, invented, stand_ins, trials
from tests.lieskit import Edits, Trial

_TOLD: Mapping[str, tuple[str, ...]] = {
    "figures that were made up": (
        "service-shifted",
        "service-flattened",
        "service-halved",
        "wake-shifted-fan",
        "wake-pong-capped",
        "schbench-wakeup-halved",
    ),
    "messages that were not sent, or carry two": (
        "service-to-itself",
        "service-answered-at-home",
        "service-reply-before-work",
    ),
    "work that was done elsewhere, or by a shorter way": (
        "checksum-done-before",
        "primes-done-after",
        "checksum-hashed-by-a-helper",
        "barrier-jumped",
        "counters-counted-once",
    ),
    "another lock, or none": (
        "contend-two-takes",
        "contend-held-outside-park",
        "contend-spins",
        "schbench-without-lock",
        "locks-tickets-without-atomics",
    ),
    "waits and threads that were not": (
        "stencil-edges-by-spinning",
        "wake-by-spinning",
        "tasks-no-yield",
        "spawn-no-process",
    ),
}


def _on_tern() -> Iterator[Trial]:
    known = {one.name: one for one in (*trials.ALL, *stand_ins.ALL, *elsewhere.ALL, *invented.ALL)}
    for names in _TOLD.values():
        for name in names:
            trial = known[name]
            yield replace(trial, name=f"tern-{name}", system="kernel", edits=_without_tls(trial.edits))


def _without_tls(edits: Edits) -> Edits:
    """Its programs have no variables of a thread."""
    return {
        file: tuple((old, new.replace("_Thread_local ", "")) for old, new in pairs)
        for file, pairs in edits.items()
    }


ALL = tuple(_on_tern())
