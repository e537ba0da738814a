"""Whether the runs of a session are those that it made: each in its place, none missing, none from elsewhere.

Takes the facts of session.json and the runs as recorded; gives nothing. Fails with EvidenceError that names
the first run whose nonce, seed, order, warm-up or guest is not what the session's own rules give
(session/sweep.py, base/identity.py). Sessions of earlier versions do not say that they follow these rules; of
them only a console that occurs twice on wall time is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchgate.base import identity
from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.runs import RawRun

FACT, RULES = "binding", 1
"""In session.json: the version of these rules."""


def check_binding(
    facts: Mapping[str, Any], recorded: Iterable[RawRun], warmups: int, where: str, *, complete: bool
) -> None:
    """`warmups`: those of the policy. In a session that is not complete, one of several runs in parallel may
    be missing."""
    runs = sorted(recorded, key=lambda run: run.attempt)
    _check_nonces(runs)
    if FACT not in facts:
        return
    if facts[FACT] != RULES or type(facts[FACT]) is not int:
        raise EvidenceError(f"{where}: {FACT} is {facts[FACT]!r:.40}; expected {RULES}")
    for run in runs:
        _check_identity(facts, run, where)
    for found in _by_cell(runs).values():
        _check_warmups(found, warmups)
        if complete:
            _check_seeds(found)
    if complete:
        _check_orders(runs)


def _wrong(run: RawRun, why: str) -> EvidenceError:
    return EvidenceError(f"runs/{run.folder.name} is not a run that this session made there: {why}")


def _check_nonces(runs: Sequence[RawRun]) -> None:
    """On the instruction clock a repeated seed has its nonce twice; elsewhere no two runs have one."""
    counts = Counter(run.nonce for run in runs if run.lane is not Lane.INSN)
    for run in runs:
        if counts[run.nonce] > 1:
            raise _wrong(run, f"another run has its nonce {run.nonce}")


def _check_identity(facts: Mapping[str, Any], run: RawRun, where: str) -> None:
    options, inputs = facts.get("options"), facts.get("inputs")
    order_seed = options.get("order_seed") if isinstance(options, Mapping) else None
    if type(order_seed) is not int or not isinstance(inputs, Mapping):
        raise EvidenceError(f"{where} has no options.order_seed or no inputs, but {FACT} needs them")
    if run.lane is Lane.INSN:
        nonce = identity.nonce_of_seed(order_seed, run.cell, run.seed)
    else:
        nonce = identity.nonce_of_attempt(str(facts.get("id")), run.attempt)
    if run.nonce != nonce:
        raise _wrong(run, f"its nonce is {run.nonce}, and must be {nonce}")
    files = inputs.get(run.cell.row)
    if not isinstance(files, Mapping) or identity.guest_digest(files) != run.guest_digest:
        raise _wrong(
            run, f"its guest {run.guest_digest:.16} is not the one that {where} has for {run.cell.row}"
        )


def _by_cell(runs: Iterable[RawRun]) -> dict[str, list[RawRun]]:
    found: dict[str, list[RawRun]] = {}
    for run in runs:
        found.setdefault(run.cell.id, []).append(run)
    return found


def _check_seeds(runs: Sequence[RawRun]) -> None:
    """The counted and void runs of a cell have the seeds 1, 2, 3 ...; a warm-up has the first."""
    expected = 0
    for run in runs:
        expected += not run.warmup
        due = 1 if run.warmup else expected
        if run.seed != due:
            raise _wrong(run, f"its seed is {run.seed}, and must be {due}")


def _check_warmups(runs: Sequence[RawRun], warmups: int) -> None:
    """Warm-ups come before the counted runs: none becomes one because it was slow."""
    for place, run in enumerate(runs):
        most = 1 if run.lane is Lane.INSN else warmups
        if run.warmup and (place >= most or any(not one.warmup for one in runs[:place])):
            raise _wrong(run, "it is called a warm-up, but the cell's warm-ups were made before")


def _check_orders(runs: Sequence[RawRun]) -> None:
    """Within a sweep the orders are 1, 2, 3 ...; the next sweep begins with 1."""
    if runs and runs[0].order != 1:
        raise _wrong(runs[0], f"its order is {runs[0].order}, and must be 1")
    for before, run in pairwise(runs):
        if run.order not in (before.order + 1, 1):
            raise _wrong(run, f"its order is {run.order} after {before.order}: runs are missing or exchanged")
