"""Where a session's figures come from: options, sources, versions, machine, plan, policy, as plain data.

Takes what the session knows, gives the dict that session.json holds; and reads the plan and the policy back
for a later judge. Reading fails with EvidenceError that names what is missing; describing does not fail: what
cannot be had is "unavailable".
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchgate.errors import EvidenceError
from benchgate.evidence import SessionInfo
from benchgate.gates.base import CapacityBound, Gate, Policy
from benchgate.host.facts import UNAVAILABLE
from benchgate.insn import Symbols
from benchgate.model import Cell, Lane, Mode, Window, Workload
from benchgate.options import Options
from benchgate.plan import PlannedCell, SweepPlan

PACKAGES = ("pytest-benchgate", "pytest", "numpy", "scipy", "pexpect", "psutil", "qemu.qmp", "PyYAML")
_GIT_S = 10.0
MOST = 1e12
"""No threshold, ratio or count of ours is larger."""


def described(options: Options, envelope: Mapping[str, Any]) -> SessionInfo:
    """What is true before the first boot."""
    commit, changes = source(Path.cwd())
    return SessionInfo(
        options=_plain(asdict(options)),
        commit=commit,
        diff_digest=changes,
        versions={name: _version(name) for name in PACKAGES},
        envelope=_plain(envelope),
    )


def planned(sweeps: Sequence[SweepPlan], policy: Policy, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a later judge needs beside the runs. `inputs`: QEMU and images, with their digests."""
    cells = _cells(sweeps)
    return {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "inputs": _plain(inputs),
        "systems": {cell.system.name: _text(cell.system.file) for cell in cells},
        "settings": {cell.system.name: dict(cell.system.settings) for cell in cells},
        "workloads": {cell.workload.name: _word(cell.workload) for cell in cells},
        "policy": _plain(asdict(policy)),
        "plan": [_sweep(sweep) for sweep in sweeps],
        "capacity": {},
    }


def _cells(sweeps: Sequence[SweepPlan]) -> list[PlannedCell]:
    return [cell for sweep in sweeps for cell in sweep.cells]


def _word(workload: Workload) -> str:
    """By which a later judge finds it: a name of ours, or the path of a user's file."""
    return workload.file or workload.name


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return UNAVAILABLE


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return UNAVAILABLE


def source(folder: Path) -> tuple[str, str]:
    """The git commit of the folder, and a digest of what differs from it (empty: nothing does)."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "diff", "HEAD")
    if commit is None or changes is None:
        return UNAVAILABLE, UNAVAILABLE
    return commit.decode("ascii", "replace").strip(), hashlib.sha256(changes).hexdigest() if changes else ""


def _git(folder: Path, *words: str) -> bytes | None:
    command = ["git", "-C", str(folder), *words]
    try:
        found = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout if found.returncode == 0 else None


def _plain(value: Any) -> Any:
    """The same as JSON knows it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


# ---- the plan, written and read back


def _sweep(sweep: SweepPlan) -> dict[str, Any]:
    return {
        "row": sweep.row,
        "cells": [{"cell": _cell(one.cell), "skip": one.skip} for one in sweep.cells],
        "gates": [_gate(one.gate) for one in sweep.gates],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {**_plain(asdict(cell)), "params": dict(cell.params)}


def _gate(gate: Gate) -> dict[str, Any]:
    base = None if gate.base is None else _cell(gate.base)
    return {**_plain(asdict(gate)), "base": base, "cell": _cell(gate.cell)}


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as it was planned: pairs of a cell and why it was skipped, and its gates."""

    row: str
    cells: tuple[tuple[Cell, str], ...]
    gates: tuple[Gate, ...]


def read_plan(facts: Mapping[str, Any], where: str) -> tuple[StoredSweep, ...]:
    try:
        return tuple(
            StoredSweep(
                str(sweep["row"]),
                tuple((_read_cell(one["cell"]), str(one["skip"])) for one in sweep["cells"]),
                tuple(_read_gate(one) for one in sweep["gates"]),
            )
            for sweep in facts["plan"]
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EvidenceError(f"{where}: the plan cannot be read: {type(error).__name__} {error}") from error


def read_policy(facts: Mapping[str, Any], where: str) -> Policy:
    try:
        words = dict(facts["policy"])
        for name, value in words.items():
            if name not in ("name", "informs", "looks"):
                _number(value, name)
        for name in ("first", "max_runs", "max_voided", "warmups"):
            _int(words.get(name, 0))
        looks = tuple(_int(look) for look in words["looks"])
        return Policy(
            **{
                **words,
                "name": _word_of(words, "name"),
                "informs": _word_of(words, "informs"),
                "looks": looks,
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise EvidenceError(f"{where}: the policy cannot be read: {type(error).__name__} {error}") from error


def read_flag(facts: Mapping[str, Any], name: str, where: str) -> bool:
    """An option that a report depends on: `inconclusive_fails`, `measure`."""
    options = facts.get("options")
    found = options.get(name) if isinstance(options, Mapping) else None
    if not isinstance(found, bool):
        raise EvidenceError(f"{where}: options.{name} is not true or false")
    return found


def symbols_of(known: Symbols, more: Symbols) -> list[tuple[int, int, str]]:
    """Both together, as session.json holds a row's symbols."""
    found = {*zip(known.addresses, known.ends, known.names, strict=True)}
    return sorted(found | {*zip(more.addresses, more.ends, more.names, strict=True)})


def read_symbols(facts: Mapping[str, Any], row: str, where: str) -> Symbols:
    """The symbols in which a row's samples lie; none where none were taken."""
    try:
        kept = facts.get("symbols", {}).get(row, ())
        found = sorted((_int(address), _int(end), str(name)) for address, end, name in kept)
    except (AttributeError, TypeError, ValueError) as error:
        raise EvidenceError(f"{where}: the symbols of {row} cannot be read: {error}") from error
    addresses, ends, names = zip(*found, strict=True) if found else ((), (), ())
    return Symbols(addresses, ends, names)


def _read_cell(words: Mapping[str, Any]) -> Cell:
    fields = dict(words)
    params = tuple(sorted(fields.pop("params").items()))
    if not all(isinstance(name, str) and isinstance(value, int | str) for name, value in params):
        raise ValueError("params are names with numbers or words")
    for name in ("system", "workload", "label", "variant"):
        _word_of(fields, name)
    return Cell(**{**fields, "mode": Mode(fields["mode"]), "params": params, "cpus": _int(fields["cpus"])})


def _read_gate(words: Mapping[str, Any]) -> Gate:
    fields = dict(words)
    base = None if fields["base"] is None else _read_cell(fields["base"])
    for name in ("at_least", "at_most", "insn"):
        if fields.get(name) is not None:
            _number(fields[name], name)
    for name in ("id", "kind"):
        _word_of(fields, name)
    return Gate(
        **{**fields, "base": base, "cell": _read_cell(fields["cell"]), "window": Window(fields["window"])}
    )


def bounds_of(found: Mapping[int, CapacityBound]) -> dict[str, Any]:
    return {str(count): _plain(asdict(bound)) for count, bound in found.items()}


def read_bounds(facts: Mapping[str, Any], row: str, where: str) -> dict[int, CapacityBound]:
    """One row's capacity bounds; none where none were taken."""
    try:
        return {
            int(count): CapacityBound(
                Lane(one["lane"]),
                _int(one["cpus"]),
                _number(one["ratio"], "ratio"),
                _number(one["low"], "low"),
                _number(one["high"], "high"),
            )
            for count, one in facts["capacity"].get(row, {}).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EvidenceError(
            f"{where}: the capacity cannot be read: {type(error).__name__} {error}"
        ) from error


def _int(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a number")
    return value


def _number(value: Any, name: str) -> float:
    """A number that can be reckoned with: JSON knows 1e999, Infinity and NaN too."""
    if type(value) not in (int, float) or not -MOST <= value <= MOST:
        raise ValueError(f"{name}: {value!r:.40} is not a finite number")
    return float(value)


def _word_of(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r:.40} is not a word")  # noqa: TRY004 - what is wrong is the file
    return value
