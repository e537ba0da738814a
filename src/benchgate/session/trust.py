"""A user's programs that `rejudge`, `verify` and `replay` may run: oracles, kinds of gate, reports.

A session folder names such files, but it is untrusted: only files that the caller names are loaded. Takes
paths; gives a `Trusted`. Fails with CatalogError if a file is not valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.cells import Workload
from benchgate.plan import catalog


@dataclass(frozen=True, slots=True)
class Trusted:
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """By name."""
    gates: Mapping[str, Path] = field(default_factory=dict)
    """Kind -> the file that defines it."""
    reports: tuple[Path, ...] = ()


def trusted(workloads: Sequence[str], gates: Sequence[str], reports: Sequence[str]) -> Trusted:
    found = [catalog.load_workload(str(Path(path).absolute())) for path in workloads]
    return Trusted(
        workloads={workload.name: workload for workload in found},
        gates={catalog.gate_kind(path): path for path in map(Path.absolute, map(Path, gates))},
        reports=tuple(Path(path).absolute() for path in reports),
    )
