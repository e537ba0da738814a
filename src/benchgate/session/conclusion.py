"""Concludes from a session's judged runs: verdicts, attribution tables, and the view of all reports.

Takes the facts of session.json, the judged runs and what else gates compare with; gives a SessionView, by the
same code for a session that has just ended and for one that is judged again. Fails with EvidenceError if
session.json is not as it was written, and with NeedsFilesError if it names a program that the caller does not
trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from benchgate.base.errors import NeedsFilesError
from benchgate.base.gates import CapacityBound, Gate, Verdict
from benchgate.base.runs import RawRun, VerifiedRun
from benchgate.evidence import facts as reader
from benchgate.evidence.rows import row_of
from benchgate.judge import wire
from benchgate.judge.accounts import attribution
from benchgate.judge.accounts.distributions import distributions, merged_percentiles
from benchgate.judge.accounts.memory_books import run_books
from benchgate.judge.accounts.outliers import outliers
from benchgate.judge.accounts.sensitivity import floors, resolutions, ungated
from benchgate.judge.accounts.sharing import recorded
from benchgate.judge.accounts.thread_timeline import thread_timelines
from benchgate.judge.accounts.timeline import flames, timelines
from benchgate.judge.arms import arms, repeats
from benchgate.judge.checks.witness_summary import who_says, witness_of
from benchgate.judge.decide import decide
from benchgate.judge.fits import fits
from benchgate.judge.gates import completed
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.noise import noise_of
from benchgate.judge.run_files import read_console
from benchgate.render.view import SessionView, session_view
from benchgate.session.rejudging.trust import TrustedPrograms


def view_of(
    facts: Mapping[str, Any],
    runs: Sequence[JudgedRun],
    where: str,
    trusted: TrustedPrograms,
    against: Mapping[str, object] = MappingProxyType({}),
) -> SessionView:
    verdicts, capacity = _conclude(facts, runs, where, trusted, against)
    plan, policy = reader.read_plan(facts, where), reader.read_policy(facts, where)
    declared = {cell.row: sweep.declared for sweep in plan for cell, _ in sweep.cells}
    result = [arms([(cell, "") for cell, skip in sweep.cells if not skip], runs) for sweep in plan]
    cells: dict[str, list[VerifiedRun]] = {}
    for judged_run in runs:
        if judged_run.verified:
            cells.setdefault(judged_run.run.cell.id, []).append(judged_run.verified)
    seen = {cell_id: witness_of(some) for cell_id, some in cells.items()}
    rows = [row_of(judged_run, declared[judged_run.run.cell.row]) for judged_run in runs]
    view = session_view(facts=facts, rows=rows, verdicts=verdicts, capacity=capacity, policy=policy)
    return replace(
        view,
        clocks=reader.read_clocks(facts, where),
        inconclusive_fails=reader.read_flag(facts, "inconclusive_fails", where),
        attributions=_attributions(facts, runs, where),
        outliers=outliers(runs),
        repeats=repeats(runs),
        resolutions=resolutions(runs),
        timelines=timelines(runs),
        flames=flames(runs),
        threads=thread_timelines(
            runs, lambda run: reader.stored_symbols(facts, where, run.cell.id, run.cell.row)
        ),
        books=run_books(runs),
        moved_lines=recorded(runs),
        merged=merged_percentiles(runs, declared),
        distributions=distributions(runs, declared),
        promises=seen,
        who_says={key: who_says(some, declared[some[0].run.cell.row]) for key, some in cells.items()},
        fits=tuple(fit for of in result for fit in fits(of, policy.alpha)),
        noise=noise_of((judged_run.run for judged_run in runs), policy.void),
        floors=tuple(floor for of in result for floor in floors(of, policy.alpha)),
        ungated=ungated(
            (cell for of in plan for cell, _ in of.cells), (gate for of in plan for gate in of.gates)
        ),
    )


def _conclude(
    facts: Mapping[str, Any],
    runs: Sequence[JudgedRun],
    where: str,
    trusted: TrustedPrograms,
    against: Mapping[str, object],
) -> tuple[tuple[Verdict, ...], dict[int, CapacityBound]]:
    """All verdicts in the order of the plan, and the host's capacity by CPU count."""
    verdicts: list[Verdict] = []
    capacity: dict[int, CapacityBound] = {}
    for sweep in reader.read_plan(facts, where):
        bounds = reader.read_bounds(facts, sweep.row, where)
        gates = [_trusted_gate(gate, trusted) for gate in sweep.gates]
        policy = reader.read_policy_of(facts, sweep, where)
        verdicts += decide(gates, arms(sweep.cells, runs, sweep.declared), policy, bounds, against).verdicts
        capacity.update(bounds)
    return completed(verdicts), capacity


def _trusted_gate(gate: Gate, trusted: TrustedPrograms) -> Gate:
    if not gate.file:
        return gate
    if gate.kind not in trusted.gates:
        advice = f"if you trust it, name its file with --gate (it was {gate.file!r:.200})"
        raise NeedsFilesError(f"gate {gate.kind} is not built in, and its rule is a program: {advice}")
    return replace(gate, file=str(trusted.gates[gate.kind]))


def _attributions(
    facts: Mapping[str, Any], runs: Sequence[JudgedRun], where: str
) -> tuple[attribution.Table, ...] | None:
    """The table of each cell's last verified run, by row and CPU count; None without --measure."""
    if not reader.read_flag(facts, "measure", where):
        return None
    last: dict[tuple[str, int, str], VerifiedRun] = {}
    for judged in runs:
        # A self-test that is read by patterns has no workers and no measure lines.
        if judged.verified and judged.verified.workers:
            cell = judged.run.cell
            last[cell.row, cell.cpus, cell.variant] = judged.verified
    return tuple(_table(last[key].run, facts, where) for key in sorted(last))


def _table(run: RawRun, facts: Mapping[str, Any], where: str) -> attribution.Table:
    transcript = wire.parse(read_console(run), nonce=run.nonce)
    return attribution.table(
        run.cell.id, transcript, reader.stored_symbols(facts, where, run.cell.id, run.cell.row)
    )
