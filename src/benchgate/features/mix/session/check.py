"""Checks a study: judges its runs again from their evidence, or compares two folders of one study.

Takes a StudyFolder, or two; gives a sentence for each difference. On the instruction clock no digit of two
folders may differ: compared are the study, the plan, every table, the report, and of each run its result, its
console and what its clock counted. Not compared is what the host did: paths, process numbers, its times, and
which attempt at a run was the last: a study that was interrupted began one more. Fails with UsageError if a
study cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import BenchgateError, UsageError
from benchgate.base.text import counted
from benchgate.features.mix import vectors
from benchgate.features.mix.guest.mix_verify import verify_mix
from benchgate.features.mix.measurement import MixMeasurement, Runs, StudyRun, alone
from benchgate.features.mix.session import conclude
from benchgate.features.mix.session.folder import MIXES, PLAN, RESULT, RUNS, STUDY, StudyFolder
from benchgate.features.mix.session.guest_runner import limited_machine, measured, mix_of, ways_of
from benchgate.features.mix.session.measure import MixJob
from benchgate.features.mix.study import Study
from benchgate.features.mix.study_orders import StudyOrder
from benchgate.features.mix.vectors import Amount, amount
from benchgate.insn.log_reader import read_log
from benchgate.plan import catalog
from benchgate.run.record import load

TABLES = (
    *(STUDY, PLAN, MIXES, conclude.VECTORS, conclude.SENSITIVITY),
    *(conclude.INTERVALS, conclude.LEVELS, conclude.ISOLATION, conclude.REPORT),
)
CONSOLE, CLOCK = "serial.log", "clock.log"
_ATTEMPT = re.compile(rb'(^ *"folder": "[^"\n]*)/[0-9]+"', re.MULTILINE)


def differences(folder: StudyFolder) -> list[str]:
    return [*_differences(folder)]


def _differences(folder: StudyFolder) -> Iterator[str]:
    study, runs = folder.study(), folder.runs()
    orders = {order.key: order for order in folder.orders()}
    for key, done in runs.items():
        if done.measured is None:
            continue
        if key not in orders:
            yield f"{key}: it is not in the plan"
            continue
        try:
            again = judged(study, runs, orders[key], folder.path / done.folder)
        except BenchgateError as error:
            yield f"{key}: its files give no result: {error}"
            continue
        if again != done.measured:
            yield f"{key}: its files say something else than its result: {_first(again, done)}"


def judged(study: Study, runs: Runs, order: StudyOrder, attempt: Path) -> MixMeasurement:
    machine = catalog.memory_machine(study.machine) if study.machine else None
    system = catalog.load_system(study.system)
    limit = _limit(study, runs, order, ways_of(machine))
    if machine is not None:
        system = system.on(limited_machine(machine, limit))
    return measured(verify_mix(load(attempt), mix_of(MixJob(order, study, limit), system)), machine, study)


def _limit(study: Study, runs: Runs, order: StudyOrder, ways: int | None) -> Amount | None:
    if order.limit is None:
        return None
    name = order.parts[0].input
    vector = next(vector for vector in vectors.compute(study, runs) if vector.input.name == name)
    limit = amount(order.limit, vector, [*alone(study, runs, name).values()], ways)
    return None if isinstance(limit, str) else limit


def _first(again: MixMeasurement, done: StudyRun) -> str:
    """One figure that differs."""
    if done.measured is None or len(again.parts) != len(done.measured.parts):
        return "other parts"
    for part, other in zip(again.parts, done.measured.parts, strict=True):
        if part != other:
            return f"{part.name}: {float(part.score):.6g} runs per second, and not {float(other.score):.6g}"
    return "the use of resources"


@dataclass(frozen=True, slots=True)
class StudyComparison:
    files: int
    differences: tuple[str, ...]

    @property
    def told(self) -> str:
        if self.differences:
            return f"{counted(len(self.differences), 'difference')} in {counted(self.files, 'file')}"
        return f"{counted(self.files, 'file')}: no digit differs"


def compare(folder: StudyFolder, other: StudyFolder) -> StudyComparison:
    files, different = 0, []
    for name in TABLES:
        if (folder.path / name).exists() or (other.path / name).exists():
            files += 1
            different += [*_bytes(folder.path / name, other.path / name, name)]
    mine, its = folder.runs(), other.runs()
    for key in sorted(mine.keys() | its.keys()):
        if key not in mine or key not in its:
            different.append(f"{key}: only {folder.path if key in mine else other.path} has it")
            continue
        files += 1
        result = Path(RUNS, key, RESULT)
        different += [*_bytes(folder.path / result, other.path / result, f"{key}: {RESULT}")]
        if mine[key].folder and its[key].folder:  # there is no attempt if there is no such limit
            files += 2
            different += [*_attempts(key, folder.path / mine[key].folder, other.path / its[key].folder)]
    if not files:
        advice = "next: benchgate mix vectors"
        raise UsageError(f"{folder.path} and {other.path} have nothing in common; {advice}")
    return StudyComparison(files, tuple(different))


def _attempts(key: str, path: Path, other: Path) -> Iterator[str]:
    yield from _bytes(path / CONSOLE, other / CONSOLE, f"{key}: {CONSOLE}")
    try:
        if read_log(path / CLOCK).repeatable != read_log(other / CLOCK).repeatable:
            yield f"{key}: {CLOCK} counts something else"
    except (BenchgateError, OSError) as error:
        yield f"{key}: {CLOCK} cannot be compared: {error}"


def _bytes(path: Path, other: Path, name: str) -> Iterator[str]:
    try:
        mine, its = _read(path), _read(other)
        if mine != its:
            yield f"{name} differs: {_first_line(mine, its)}"
    except OSError as error:
        yield f"{name} cannot be compared: {error.strerror} ({error.filename})"


def _read(path: Path) -> bytes:
    """A result without the number of its attempt."""
    result = path.read_bytes()
    return _ATTEMPT.sub(rb'\1"', result) if path.name == RESULT else result


def _first_line(content: bytes, other: bytes) -> str:
    """The first line that differs."""
    pairs = zip(content.splitlines(), other.splitlines(), strict=False)
    result = (n for n, (a, b) in enumerate(pairs, 1) if a != b)
    return f"from line {next(result, 'the last')} on"
