"""Describes where a session's figures come from: options, sources, versions, host, plan, policy.

Takes options, the envelope, sweeps and a policy; gives the plain data of session.json. Does not fail: a value
that cannot be determined is "unavailable".
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate import hooks
from benchgate.base.clocks import Clocks
from benchgate.base.errors import CatalogError
from benchgate.base.files import file_digest, tree_digest
from benchgate.base.gates import Policy
from benchgate.base.jsonfields import as_json
from benchgate.base.system.systems import SystemKind
from benchgate.base.text import UNAVAILABLE
from benchgate.evidence.facts import AskedFeature, plain_json, sweep_as_json
from benchgate.evidence.session_folder import SessionInfo
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, SweepPlan
from benchgate.plan.systemfile import extends

PACKAGES = ("pytest-benchgate", "pytest", "numpy", "scipy", "pexpect", "psutil", "PyYAML")
_GIT_S = 10.0


def described(options: Options, envelope: Mapping[str, Any]) -> SessionInfo:
    """The facts that are known before the first boot."""
    commit, changes = source(Path.cwd())
    return SessionInfo(
        options=plain_json(_flat(options)),
        commit=commit,
        diff_digest=changes,
        versions={name: _version(name) for name in PACKAGES},
        envelope=plain_json(envelope),
    )


def _flat(options: Options) -> dict[str, Any]:
    """An option of a feature is recorded as those of the core are."""
    own = asdict(options)
    return {**own, **own.pop("of_features")}


def planned(
    sweeps: Sequence[SweepPlan],
    policy: Policy,
    inputs: Mapping[str, Any],
    clocks: Clocks | None = None,
    letters: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """What is needed, besides the runs, to judge the session again. `inputs`: the digests of QEMU and
    images. `letters`: the names of the systems that marks call A, B ..."""
    cells = [cell for sweep in sweeps for cell in sweep.cells]
    return {
        "command": command(sys.argv),
        "inputs": plain_json(inputs),
        "systems": {cell.system.name: _text(cell.system.file) for cell in cells},
        "settings": {cell.system.name: dict(cell.system.settings.values) for cell in cells},
        "emulators": {
            cell.system.name: cell.system.emulator for cell in cells if cell.system.kind is SystemKind.QEMU
        },
        "workloads": {cell.workload.name: catalog.word_of(cell.workload) for cell in cells},
        "policy": as_json(policy),
        "plan": [sweep_as_json(sweep) for sweep in sweeps],
        "capacity": {},
        "letters": dict(letters),
        **machines(cells),
        **({} if clocks is None else {"clocks": as_json(clocks)}),
    }


def features(options: Options) -> dict[str, Any]:
    """The features of somebody else that the options ask for; nothing if there is none."""
    asked = [
        AskedFeature(
            one.named.name,
            one.named.distribution,
            one.named.version,
            _digest(one.home),
            makes_runs=one.feature.maker is not None and one.feature.maker == options.maker,
        )
        for one in hooks.asked(options.of_features)
    ]
    return {"features": [as_json(one) for one in asked]} if asked else {}


def _digest(home: Path) -> str:
    try:
        return tree_digest(home, skip=("__pycache__",)) if home.is_dir() else file_digest(home)
    except OSError:
        return UNAVAILABLE


def machines(cells: Sequence[PlannedCell]) -> dict[str, Any]:
    """The machines with a memory system, by name; nothing if every cell is on the ideal one."""
    found = {cell.system.machine.name: cell.system.machine for cell in cells if cell.system.machine}
    texts = {name: {"text": machine.text, "digest": machine.digest} for name, machine in found.items()}
    return {"machines": texts} if texts else {}


def command(argv: Sequence[str]) -> str:
    """The session's command, for a shell. The name of `python -m pytest` is the path of a `__main__.py`."""
    program = Path(argv[0])
    words = ["python", "-m", program.parent.name] if program.name == "__main__.py" else [program.name]
    return shlex.join([*words, *argv[1:]])


def _text(path: Path) -> str:
    try:
        return extends.text_for(path)
    except CatalogError:
        return UNAVAILABLE


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return UNAVAILABLE


def source(folder: Path) -> tuple[str, str]:
    """The git commit of the folder, and a digest of the uncommitted changes (empty if there are none)."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "diff", "HEAD")
    if commit is None or changes is None:
        return UNAVAILABLE, UNAVAILABLE
    return commit.decode("ascii", "replace").strip(), hashlib.sha256(changes).hexdigest() if changes else ""


def _git(folder: Path, *words: str) -> bytes | None:
    command = ["git", "-C", str(folder), *words]
    try:
        result = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None
