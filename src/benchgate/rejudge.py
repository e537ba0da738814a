"""Judges a session again from what stands on disk: verify, measure, decide, render; boots nothing.

Takes a session folder, gives its verdicts anew, by the very functions that gave them first. A lone
results.csv gives a summary marked UNVERIFIED and never PASS. Fails with EvidenceError that names what
cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate import (
    attribution,
    bundle,
    catalog,
    evidence,
    formats,
    provenance,
    report,
    run,
    smoke,
    systemfile,
    verify,
    wire,
)
from benchgate.bundle import ATTEMPTS, SESSION
from benchgate.errors import CatalogError, EvidenceError
from benchgate.evidence import RESULTS
from benchgate.gates.base import CapacityBound, Policy
from benchgate.model import RawRun, Verdict, VerifiedRun, Workload
from benchgate.render import results_csv, terminal
from benchgate.render.model import SessionView
from benchgate.sweep import JudgedRun, conclude, judge
from benchgate.systems import SELFTEST

Workloads = Mapping[str, Workload]
NO_WORKLOADS: Workloads = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Judgement:
    """Everything that follows from a session's runs."""

    facts: Mapping[str, Any]
    policy: Policy
    runs: tuple[JudgedRun, ...]
    verdicts: tuple[Verdict, ...]
    capacity: Mapping[int, CapacityBound]


def conclude_session(
    facts: Mapping[str, Any], runs: tuple[JudgedRun, ...], where: str
) -> tuple[tuple[Verdict, ...], dict[int, CapacityBound]]:
    """All verdicts of a session, in the order of its plan, and the capacity that was seen beside them."""
    policy = provenance.read_policy(facts, where)
    verdicts: list[Verdict] = []
    capacity: dict[int, CapacityBound] = {}
    for sweep in provenance.read_plan(facts, where):
        bounds = provenance.read_bounds(facts, sweep.row, where)
        verdicts += conclude(sweep.cells, sweep.gates, runs, policy, bounds)
        capacity.update(bounds)
    return tuple(verdicts), capacity


def judge_session(folder: Path, workloads: Workloads = NO_WORKLOADS) -> Judgement:
    """`workloads`: a user's own, by name. Their oracles are programs, so a bundle cannot name them itself."""
    facts = bundle.read_object(folder, SESSION)
    where = str(folder / SESSION)
    known = {cell for sweep in provenance.read_plan(facts, where) for cell, _ in sweep.cells}
    runs = tuple(_judge(path, facts, where, workloads) for path in _run_folders(folder, facts))
    strangers = [judged.run.folder.name for judged in runs if judged.run.cell not in known]
    if strangers:
        raise EvidenceError(f"{folder / 'runs' / strangers[0]}: its cell is not in the session's plan")
    verdicts, capacity = conclude_session(facts, runs, where)
    return Judgement(facts, provenance.read_policy(facts, where), runs, verdicts, capacity)


def attributions(
    facts: Mapping[str, Any], runs: Sequence[JudgedRun], where: str
) -> tuple[attribution.Table, ...] | None:
    """The table of each cell's last verified run, by row and CPU count; None without --measure."""
    if not provenance.read_flag(facts, "measure", where):
        return None
    last: dict[tuple[str, int, str], VerifiedRun] = {}
    for judged in runs:
        # A self-test that is read by patterns has neither workers nor measure lines.
        if judged.verified and judged.verified.workers:
            cell = judged.run.cell
            last[cell.row, cell.cpus, cell.variant] = judged.verified
    return tuple(_table(last[key].run, facts, where) for key in sorted(last))


def _table(run: RawRun, facts: Mapping[str, Any], where: str) -> attribution.Table:
    said = wire.parse(verify.read_console(run), nonce=run.nonce)
    return attribution.table(run.cell.id, said, provenance.read_symbols(facts, run.cell.row, where))


def _run_folders(folder: Path, facts: Mapping[str, Any]) -> list[Path]:
    """The attempts to judge. The one during which a session was ended was never judged, and is not now."""
    try:
        found = sorted(
            path for path in (folder / "runs").iterdir() if path.is_dir() and not path.is_symlink()
        )
    except OSError as error:
        raise EvidenceError(f"{folder / 'runs'} cannot be read: {error.strerror}") from error
    if facts.get("state") == evidence.COMPLETE:
        return found
    recorded = {link.folder for link in bundle.parse_chain(bundle.read_text(folder, ATTEMPTS), ATTEMPTS)}
    return [path for path in found if f"runs/{path.name}" in recorded]


def find_workload(facts: Mapping[str, Any], name: str, workloads: Workloads) -> Workload:
    """By the name of one that the caller trusts, or of ours; never by a path that stands in a bundle."""
    if name in workloads:
        return workloads[name]
    word = str(facts["workloads"][name])
    if word != name or name not in (SELFTEST, *catalog.names("workloads")):  # `x.yaml` is a path, too
        raise EvidenceError(
            f"workload {name} is not one of ours, and its oracle is a program: "
            f"if you trust it, name its YAML file with --workload (it was {word!r:.200})"
        )
    return catalog.load_workload(name)


def _judge(
    folder: Path, facts: Mapping[str, Any], where: str, workloads: Workloads = NO_WORKLOADS
) -> JudgedRun:
    raw = run.load(folder)
    if folder.name != f"{raw.attempt:04d}-{raw.cell.id}":
        raise EvidenceError(
            f"{folder / 'run.json'} is of attempt {raw.attempt}, {raw.cell.id}: a run was moved"
        )

    def check(one: RawRun) -> VerifiedRun:
        try:
            workload = find_workload(facts, one.cell.workload, workloads)
            system = systemfile.parse(
                str(facts["systems"][one.cell.system]),
                folder.parent.parent / SESSION,
                dict(facts["settings"][one.cell.system]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise EvidenceError(f"{where}: says nothing of {one.cell.id}: {error}") from error
        except (CatalogError, EvidenceError) as error:
            raise EvidenceError(f"{where}: {one.cell.id} cannot be judged here: {error}") from error
        smoke.require(folder.parent.parent, system, one)
        return verify.verify_on(one, workload, system)

    return judge(raw, check)


def recompute(folder: Path, workloads: Workloads = NO_WORKLOADS) -> dict[str, str]:
    """What results.csv and every report should hold, for `benchgate verify`."""
    judged = judge_session(folder, workloads)
    fails = provenance.read_flag(judged.facts, "inconclusive_fails", str(folder / SESSION))
    view = _view_of(judged, str(folder / SESSION))
    return {RESULTS: results_csv.render(view.rows), **formats.rendered(view, inconclusive_fails=fails)}


def show(path: Path, workloads: Workloads = NO_WORKLOADS, width: int = 100) -> tuple[str, int]:
    """The terminal's summary of a session or of a lone results.csv, and the exit code it deserves."""
    view = (
        _view_of_csv(path)
        if path.is_file()
        else _view_of(judge_session(path, workloads), str(path / SESSION))
    )
    verdicts = view.verdicts if view.is_verified else ()
    code = report.exit_code([one.outcome for one in verdicts])
    is_partial = view.state != evidence.COMPLETE
    return terminal.render(view, width), report.UNDECIDED if is_partial and code == 0 else code


def _view_of(judged: Judgement, where: str) -> SessionView:
    return report.view(
        facts=judged.facts,
        rows=[report.row(one) for one in judged.runs],
        verdicts=judged.verdicts,
        capacity=judged.capacity,
        policy=judged.policy,
        attributions=attributions(judged.facts, judged.runs, where),
    )


def _view_of_csv(path: Path) -> SessionView:
    rows = results_csv.parse(bundle.read_text(path.parent, path.name), str(path))
    policy = catalog.load_policy("default")
    return SessionView(
        id=path.name,
        state="complete",
        rows=rows,
        verdicts=(),
        alpha=policy.alpha,
        overall_error=policy.overall_error,
        superlinear=policy.superlinear,
        is_verified=False,
    )
