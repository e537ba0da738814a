"""The file of a baseline: JSON, made by `benchgate baseline accept`, reviewed and committed by people.

Takes a Baseline and gives text; takes the untrusted text of a file and gives a Baseline. Its digest shows a
change that was made by hand. Reading fails with EvidenceError that names the file and what is wrong.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import EvidenceError
from benchgate.base.files import read_json
from benchgate.base.gates import SMALLEST_LOOK
from benchgate.base.jsonfields import (
    As,
    Between,
    Matches,
    PlainWord,
    Presence,
    Sha256,
    Size,
    as_json,
    without_head,
)
from benchgate.base.jsonfields import read as read_typed
from benchgate.base.runs import Measurement
from benchgate.base.text import one_line
from benchgate.base.void_rule import MOST_RUNS
from benchgate.base.workload.metrics import WINDOWS, Metric
from benchgate.evidence.files import read_text, unwritable, write_whole
from benchgate.features.baseline.baselines import (
    AddedCells,
    Baseline,
    BaselineArm,
    BaselineSet,
    Origin,
    SymbolCounts,
    line_of,
)
from benchgate.features.baseline.feature import BASELINE
from benchgate.features.baseline.origin import origin_of

FORMAT, VERSION = "benchgate-baseline", 1
MOST_ARMS = 2000
MOST_SYMBOLS = 1000
"""The largest of a run. The rest is one entry."""
OTHERS = ("", "[all others]")
"""What a file keeps of the symbols beyond these."""
_LIST_OF_VALUES = re.compile(r"\[\s+([^\[\]{}\"]+?)\s+\]")
_LIST_OF_SYMBOL = re.compile(r'\[\s+("(?:user|kernel)",)\s+("[^"\n]*",)\s+(\d+)\s+\]')
_Share = Annotated[float, Between()]


# ---- writing


def render(baseline: Baseline) -> str:
    """One value a line, except lists of samples, so that a reviewer sees which cell has changed."""
    text = json.dumps(_as_json(baseline), indent=1, allow_nan=False, ensure_ascii=True)
    text = _LIST_OF_SYMBOL.sub(r"[\1 \2 \3]", text)
    return _LIST_OF_VALUES.sub(lambda match: f"[{' '.join(match[1].split())}]", text) + "\n"


def write(path: Path, baseline: Baseline) -> Path | None:
    """Gives where an older file of this name is kept now; None if there was none, or it was the same."""
    text = render(baseline)
    parse(text, str(path))  # what cannot be read back is not written
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, "choose another place with --out") from None
    kept = None if not path.is_file() or path.read_bytes() == text.encode() else _kept_beside(path)
    write_whole(path, text)
    return kept


def _kept_beside(path: Path) -> Path:
    """Copies the file to `main.json.1`, or to the next number that is free."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in itertools.count(1))
    result = next(place for place in numbered if not os.path.lexists(place))
    shutil.copyfile(path, result)
    return result


def _digest(found: Mapping[str, Any]) -> str:
    """The digest of everything but itself, whatever the form of the text."""
    rest = {name: value for name, value in found.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, allow_nan=False).encode()).hexdigest()


# ---- the file


def _short(value: float) -> float:
    return int(value) if float(value).is_integer() else value


@dataclass(frozen=True, slots=True)
class FileMetric:
    name: PlainWord
    unit: str
    declared: Metric | None
    """As the workload declares it; null: a window."""
    late: _Share
    """The largest share by which the clock's steps can have changed a sample."""
    step: _Share
    """The step in which the guest prints its figures."""
    samples: Annotated[
        tuple[Annotated[float, As(Annotated[float, Between()], float, _short)], ...],
        Size(SMALLEST_LOOK, MOST_RUNS),
    ]
    """In the order of `seeds`."""


@dataclass(frozen=True, slots=True)
class FileSymbols:
    seed: int
    window: int
    """In ns."""
    counts: Annotated[tuple[tuple[Literal["user", "kernel"], str, int], ...], Size(0, MOST_SYMBOLS)]
    """Instructions, largest first."""
    others: int
    """Of all smaller symbols together."""


@dataclass(frozen=True, slots=True)
class FileCell:
    cell: Cell
    lane: Lane
    placement: Placement
    guest: Sha256
    seeds: Annotated[tuple[int, ...], Size(SMALLEST_LOOK, MOST_RUNS)]
    metrics: tuple[FileMetric, ...]
    symbols: FileSymbols | None


@dataclass(frozen=True, slots=True)
class BaselineFile:
    accepted: Annotated[str, Matches("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a day such as 2026-11-23")]
    session: PlainWord
    """The id of the session."""
    finished: PlainWord
    manifest: Sha256
    """Of the session's manifest.sha256."""
    commit: PlainWord
    origin: Annotated[Origin, Presence.INLINE]
    cells: Annotated[tuple[FileCell, ...], Size(1, MOST_ARMS)]
    digest: Sha256
    """Of everything else, as JSON with sorted keys."""
    added: Annotated[tuple[AddedCells, ...], Presence.SPARSE] = ()
    """Which of the cells are of later sessions (`benchgate baseline accept --add`)."""


def _as_json(baseline: Baseline) -> dict[str, Any]:
    origin = Origin(baseline.origin.machine, dict(sorted(baseline.origin.systems.items())))
    cells = tuple(map(_file_cell, baseline.arms))
    head = baseline.accepted, baseline.session, baseline.finished, baseline.manifest, baseline.commit
    result: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    result |= as_json(BaselineFile(*head, origin, cells, "", baseline.added))
    return result | {"digest": _digest(result)}


def as_written(arm: BaselineArm) -> Any:
    return as_json(_file_cell(arm))


def _file_cell(arm: BaselineArm) -> FileCell:
    metrics = tuple(map(_file_metric, arm.measurements.values()))
    symbols = None if arm.symbols is None else _file_symbols(arm.symbols)
    return FileCell(arm.cell, arm.lane, arm.placement, arm.guest, arm.seeds, metrics, symbols)


def _file_metric(of: Measurement) -> FileMetric:
    declared = None if of.metric.name in WINDOWS else of.metric
    late = max(of.blur, default=0.0)
    return FileMetric(of.metric.name, of.unit, declared, late, of.step, of.samples)


def _file_symbols(of: SymbolCounts) -> FileSymbols:
    named = [count for count in of.counts.items() if count[0] != OTHERS]
    ordered = sorted(named, key=lambda one: (-one[1], one[0]))
    counts: Any = tuple((space, name, count) for (space, name), count in ordered[:MOST_SYMBOLS])
    rest = of.counts.get(OTHERS, 0) + sum(count for _, count in ordered[MOST_SYMBOLS:])
    return FileSymbols(of.seed, of.window, counts, rest)


# ---- reading


def read(path: Path) -> Baseline:
    return parse(read_text(path.parent, path.name, BASELINE.largest), str(path))


def parse(text: str, where: str) -> Baseline:
    try:
        return _baseline(read_json(text))
    except (ValueError, OverflowError) as error:
        raise EvidenceError(
            f"{where} is not a baseline: {one_line(str(error))}; next: take the committed file, or make it "
            "again with `benchgate baseline accept`"
        ) from None


def _baseline(value: object) -> Baseline:
    rest = without_head(value, "the file", "take one of this version", format=FORMAT, version=VERSION)
    if _digest(rest | {"format": FORMAT, "version": VERSION}) != rest.get("digest"):
        raise ValueError("its digest does not fit: it was changed by hand")
    file = read_typed(BaselineFile, rest, "the file")
    return Baseline(
        session=file.session,
        finished=file.finished,
        accepted=file.accepted,
        manifest=file.manifest,
        commit=file.commit,
        origin=file.origin,
        arms=tuple(map(_arm, file.cells)),
        added=file.added,
    )


def _arm(of: FileCell) -> BaselineArm:
    measurements = {metric.name: _measurement(metric, of) for metric in of.metrics}
    if len(measurements) != len(of.metrics) or not WINDOWS.keys() <= measurements.keys():
        raise ValueError(f"{of.cell.id} must have each metric once, and {' and '.join(WINDOWS)}")
    if of.lane is Lane.INSN and len(set(of.seeds)) != len(of.seeds):
        raise ValueError(f"{of.cell.id} has a seed twice")
    symbols = None if of.symbols is None else _symbols(of.symbols)
    return BaselineArm(of.cell, of.lane, of.placement, of.guest, of.seeds, measurements, symbols)


def _measurement(of: FileMetric, cell: FileCell) -> Measurement:
    where = f"{of.name} of {cell.cell.id}"
    metric = WINDOWS.get(of.name, of.declared)
    if metric is None or metric.name != of.name:
        raise ValueError(f"metric {where} is declared as {metric.name if metric else 'a window'}")
    if len(of.samples) != len(cell.seeds):
        raise ValueError(f"{where} has {len(of.samples)} samples and {len(cell.seeds)} seeds")
    arm = cell.cell, cell.lane, cell.placement, metric, of.unit, of.samples
    return Measurement(*arm, blur=(of.late,), step=of.step, seeds=cell.seeds, guest=cell.guest)


def _symbols(of: FileSymbols) -> SymbolCounts:
    counts: dict[tuple[str, str], int] = {}
    for space, name, count in of.counts:
        if (space, name) in counts:
            raise ValueError(f"the symbol {name!r:.60} is there twice")
        counts[space, line_of(name)] = count
    return SymbolCounts(of.seed, of.window, counts | ({OTHERS: of.others} if of.others else {}))


def for_gates(facts: Mapping[str, Any], where: str, files: Mapping[str, Baseline]) -> BaselineSet:
    """What the gates of a session with these facts compare with. `files`: by the word of the mark."""
    return BaselineSet(origin_of(facts, where), files)
