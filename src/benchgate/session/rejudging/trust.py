"""A user's programs that `rejudge`, `verify` and `replay` may run: oracles, kinds of gate, reports.

A session folder names such files, but it is untrusted: only files that the caller names are loaded. Takes
paths; gives a `TrustedPrograms`. Fails with CatalogError if a file is not valid, and with NeedsFilesError if
the caller did not name a program that a session needs; the message has the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchgate.base.errors import NeedsFilesError
from benchgate.base.files import file_digest
from benchgate.base.text import UNAVAILABLE
from benchgate.base.workload.workloads import Workload
from benchgate.evidence.facts import Program, read_programs
from benchgate.plan import catalog
from benchgate.render import reports

REPORT = "--extra-report"


@dataclass(frozen=True, slots=True)
class TrustedPrograms:
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """The trusted workloads by name."""
    gates: Mapping[str, Path] = field(default_factory=dict)
    """Each kind with the file that defines it."""
    reports: tuple[Path, ...] = ()

    @property
    def programs(self) -> tuple[Program, ...]:
        oracles = (("--workload", name, one.file, one.oracle) for name, one in self.workloads.items())
        gates = (("--gate", kind, path, path) for kind, path in self.gates.items())
        own = ((REPORT, name, path, path) for name, path in reports.by_name(self.reports).items())
        rows = (*oracles, *gates, *own)
        return tuple(Program(option, name, str(path), _digest(file)) for option, name, path, file in rows)

    def for_files(self, facts: Mapping[str, Any]) -> TrustedPrograms:
        """Without the reports that wrote no file into the session, because they failed there."""
        named = reports.by_name(self.reports).items()
        return replace(self, reports=tuple(path for name, path in named if _wrote(name, facts)))

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(program) for program in self.programs]


def _wrote(report: str, facts: Mapping[str, Any]) -> bool:
    listed = facts.get("reports")
    return not isinstance(listed, list) or report in listed


def _digest(file: Path) -> str:
    try:
        return file_digest(file)
    except OSError:
        return UNAVAILABLE


def trusted(workloads: Sequence[str], gates: Sequence[str], reports: Sequence[str]) -> TrustedPrograms:
    result = [catalog.load_workload(str(Path(path).absolute())) for path in workloads]
    return TrustedPrograms(
        workloads={workload.name: workload for workload in result},
        gates={catalog.gate_kind(path): path for path in map(Path.absolute, map(Path, gates))},
        reports=tuple(Path(path).absolute() for path in reports),
    )


def require_programs(
    facts: Mapping[str, Any], where: str, trusted: TrustedPrograms, command: Sequence[str]
) -> None:
    """NeedsFilesError unless the caller named every program of the user that judged the session. `command`:
    the command that needs them, without their options."""
    given = {(program.option, program.name): program for program in trusted.programs}
    needed = (one for one in read_programs(facts, where) if one.option != REPORT or _wrote(one.name, facts))
    recorded = {(program.option, program.name): program for program in needed}
    missing = [program for key, program in recorded.items() if key not in given]
    if missing:
        named = [given.get(key, program) for key, program in recorded.items()]
        words = shlex.join([*command, *(word for program in named for word in program.words)])
        texts = [f"{one.option} {one.name} (its Python file had SHA-256 {one.sha256})" for one in missing]
        only = f"only programs that you name are run: {', '.join(texts)}; next, if you trust them: {words}"
        raise NeedsFilesError(f"programs of its user judged this session, and {only}")


def compared(facts: Mapping[str, Any], where: str, trusted: TrustedPrograms) -> tuple[str, ...]:
    """Says for each given program whether it is the one that judged the session."""
    recorded = {(program.option, program.name): program.sha256 for program in read_programs(facts, where)}
    pairs = ((program, recorded.get((program.option, program.name))) for program in trusted.programs)
    return tuple(_comparison(program, sha256) for program, sha256 in pairs if sha256 is not None)


def _comparison(given: Program, sha256: str) -> str:
    subject = f"{given.option} {given.name}"
    if given.sha256 == sha256:
        return f"{subject} is the program that judged the session"
    differ = f"its Python file has SHA-256 {given.sha256}, the session's had {sha256}"
    return f"{subject} is not the program that judged the session: {differ}"
