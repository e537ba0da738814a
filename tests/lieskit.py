"""Workloads whose source is changed, with which machine and guest must disagree.

A `Trial` is a workload with its parameters, edits of its sources and a system; `changed` gives the workload
that a boot makes of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import Workload
from benchgate.plan import catalog

Edits = Mapping[str, tuple[tuple[str, str], ...]]
"""Maps a file of the workload's folder to what is replaced in it; each text occurs once."""


@dataclass(frozen=True)
class Trial:
    name: str
    workload: str
    edits: Edits = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    cpus: int = 2
    system: str = "linux"
    machine: str = ""
    """The machine whose memory is simulated; empty: the ideal one."""

    @property
    def booted(self) -> System:
        system, machine = catalog.load_system(self.system), catalog.load_machine(self.machine or "ideal")
        return system.on(machine) if machine else system


def changed(folder: Path, trial: Trial) -> Workload:
    """The workload, of a copy of its folder with the edits."""
    workload = catalog.load_workload(trial.workload)
    place = folder / trial.name / trial.workload
    shutil.copytree(workload.file.parent, place)
    for name, pairs in trial.edits.items():
        text = (place / name).read_text()
        for old, new in pairs:
            assert text.count(old) == 1, f"{trial.name}: {name} has {text.count(old)} times: {old}"
            text = text.replace(old, new)
        (place / name).write_text(text)
    return replace(workload, source=place / workload.source.name)
