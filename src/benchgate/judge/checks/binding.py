"""Checks that the runs of a session are those that it made: none is missing, exchanged or from elsewhere.

Takes the facts of session.json and the judged runs; gives nothing. Fails with EvidenceError that names the
first run whose nonce, seed, boot, order, warm-up or guest is not what the session's own rules give
(session/sweep.py, base/identity.py), or the first cell that has too few runs. Sessions of earlier versions do
not say that they follow these rules; of them only a console that occurs twice on wall time is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchgate.base import grouped, identity
from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.gates import Policy
from benchgate.base.runs import Outcome, RawRun
from benchgate.base.snapshots import boot_of
from benchgate.base.void_rule import VoidRule
from benchgate.judge.judged_run import JudgedRun

Cells = frozenset[str]
"""The ids of cells."""

FACT, RULES = "binding", 1
"""The key in session.json, and the version of these rules."""


def check_binding(  # noqa: PLR0913 - keyword arguments
    facts: Mapping[str, Any],
    judged: Iterable[JudgedRun],
    sweeps: Sequence[Cells],
    policy: Policy,
    where: str,
    *,
    per_count: Collection[str] = (),
) -> None:
    """`sweeps`: the cells of each that were not skipped. In a session that is not complete, one of several
    runs in parallel may be missing, and so may later ones. `per_count`: the systems whose CPU counts have
    guests of their own; the arms of any other row have the same one."""
    ordered = sorted(judged, key=lambda judged_run: judged_run.run.attempt)
    runs = [judged_run.run for judged_run in ordered]
    _check_nonces(runs)
    if FACT not in facts:
        return
    if facts[FACT] != RULES or type(facts[FACT]) is not int:
        raise EvidenceError(f"{where}: {FACT} is {facts[FACT]!r:.40}; expected {RULES}")
    for run in runs:
        guest = identity.guest_of(run.cell, per_count=run.cell.system in per_count)
        _check_identity(facts, run, where, guest)
    _check_boots(ordered, policy.boots)
    cells_runs = grouped(runs, key=lambda run: run.cell.id).values()
    for of_cell in cells_runs:
        _check_warmups(of_cell, policy.warmups)
    if facts.get("state") == "complete":
        for of_cell in cells_runs:
            _check_seeds(of_cell)
        _check_orders(runs)
        for cells in sweeps:
            _check_counts(facts, ordered, cells, policy.void)


def _wrong(run: RawRun, why: str) -> EvidenceError:
    return EvidenceError(f"runs/{run.folder.name} is not a run that this session made there: {why}")


def _check_nonces(runs: Sequence[RawRun]) -> None:
    """A repeated seed on the instruction clock has its nonce twice; elsewhere no two runs have one."""
    counts = Counter(run.nonce for run in runs if run.lane is not Lane.INSN)
    for run in runs:
        if counts[run.nonce] > 1:
            raise _wrong(run, f"another run has its nonce {run.nonce}")


def _check_identity(facts: Mapping[str, Any], run: RawRun, where: str, guest: str) -> None:
    """`guest` is the name of its guest among the inputs."""
    inputs, order_seed = facts.get("inputs"), _option(facts, "order_seed")
    if not isinstance(inputs, Mapping):
        raise EvidenceError(f"{where} has no inputs, but {FACT} needs them")
    if run.lane is Lane.INSN:
        nonce = identity.nonce_of_seed(order_seed, run.cell, run.seed)
    else:
        nonce = identity.nonce_of_attempt(str(facts.get("id")), run.attempt)
    if run.nonce != nonce:
        raise _wrong(run, f"its nonce is {run.nonce}, and must be {nonce}")
    files = inputs.get(guest)
    if not isinstance(files, Mapping) or identity.guest_digest(files) != run.guest_digest:
        raise _wrong(run, f"its guest {run.guest_digest:.16} is not the one that {where} has for {guest}")


def _check_boots(judged: Iterable[JudgedRun], boots: int) -> None:
    """The boots behind the seeds of a cell that starts warm are 1, 2, 3 ..., up to the policy's number, and
    again; one boot has one snapshot."""
    known: dict[tuple[str, int], str] = {}
    for judged_run in judged:
        start = None if judged_run.verified is None else judged_run.verified.start
        if start is None:
            continue
        boot, digest = start
        due = boot_of(judged_run.run.seed, boots)
        if boot != due:
            raise _wrong(judged_run.run, f"it started at boot {boot}, and must at {due}")
        if known.setdefault((judged_run.run.cell.id, due), digest) != digest:
            raise _wrong(
                judged_run.run, f"it started at another snapshot of boot {due} than the cell's other run"
            )


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
        if run.warmup and (place >= most or any(not raw_run.warmup for raw_run in runs[:place])):
            raise _wrong(run, "it is called a warm-up, but the cell's warm-ups were made before")


def _check_orders(runs: Sequence[RawRun]) -> None:
    """The orders of a sweep are 1, 2, 3 ...; the next sweep begins with 1."""
    if runs and runs[0].order != 1:
        raise _wrong(runs[0], f"its order is {runs[0].order}, and must be 1")
    for before, run in pairwise(runs):
        if run.order not in (before.order + 1, 1):
            raise _wrong(run, f"its order is {run.order} after {before.order}: runs are missing or exchanged")


def _check_counts(
    facts: Mapping[str, Any], judged: Sequence[JudgedRun], cells: Cells, rule: VoidRule
) -> None:
    """Every cell has the runs up to the first look, unless an invalid run or too many void ones ended its
    sweep: otherwise the last runs are missing, perhaps because one was invalid."""
    mine = [judged_run for judged_run in judged if judged_run.run.cell.id in cells]
    counts = Counter((judged_run.run.cell.id, judged_run.outcome) for judged_run in mine)
    outcomes = Counter(run.outcome for run in mine)
    if outcomes[Outcome.INVALID] or outcomes[Outcome.CRASHED]:
        return
    if rule.too_many(outcomes[Outcome.VOID], outcomes[Outcome.VOID] + outcomes[Outcome.OK]):
        return
    exact = any(judged_run.run.lane is Lane.INSN for judged_run in mine)
    least = _option(facts, "seeds" if exact else "runs")
    for cell in sorted(cells):
        if counts[cell, Outcome.OK] < least:
            made = f"{counts[cell, Outcome.OK]} of {least} runs"
            raise EvidenceError(f"{cell} has only {made}, and nothing ended its sweep: runs are missing")


def _option(facts: Mapping[str, Any], name: str) -> int:
    options = facts.get("options")
    value = options.get(name) if isinstance(options, Mapping) else None
    if type(value) is not int:
        raise EvidenceError(f"the session has no number options.{name}, but {FACT} needs it")
    return value
