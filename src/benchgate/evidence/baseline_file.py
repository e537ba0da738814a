"""The file of a baseline: JSON, made by `benchgate baseline accept`, reviewed and committed by people.

Takes a Baseline and gives text; takes the untrusted text of a file and gives a Baseline. Its digest shows a
change that was made by hand. Reading fails with EvidenceError that names the file and what is wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchgate.base.baselines import Baseline, BaselineArm, Origin, SymbolCounts, SystemOrigin
from benchgate.base.cell_json import cell_as_json, cell_from_json
from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import EvidenceError
from benchgate.base.files import read_json
from benchgate.base.gates import MOST_RUNS, SMALLEST_LOOK
from benchgate.base.jsonfields import MOST, Fields
from benchgate.base.metric_json import metric_as_json, metric_from_json
from benchgate.base.metrics import WINDOWS
from benchgate.base.runs import Measurement
from benchgate.base.text import one_line
from benchgate.evidence.files import read_text, unwritable, write_whole

FORMAT, VERSION = "benchgate-baseline", 1
LARGEST = 8 << 20
"""The most bytes of a file. People review it."""
MOST_ARMS = 2000
MOST_SYMBOLS = 1000
"""The largest of a run. The rest is one entry."""
OTHERS = ("", "[all others]")
"""What a file keeps of the symbols beyond these."""
LONGEST_NAME = 300

_HEX = re.compile(r"[0-9a-f]{64}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LIST_OF_VALUES = re.compile(r"\[\s+([^\[\]{}\"]+?)\s+\]")
_LIST_OF_SYMBOL = re.compile(r'\[\s+("(?:user|kernel)",)\s+("[^"\n]*",)\s+(\d+)\s+\]')


# ---- writing


def render(baseline: Baseline) -> str:
    """One value a line, except lists of samples, so that a reviewer sees which cell has changed."""
    found = _as_json(baseline)
    found["digest"] = _digest(found)
    text = json.dumps(found, indent=1, allow_nan=False, ensure_ascii=True)
    text = _LIST_OF_SYMBOL.sub(r"[\1 \2 \3]", text)
    return _LIST_OF_VALUES.sub(lambda one: f"[{' '.join(one[1].split())}]", text) + "\n"


def write(path: Path, baseline: Baseline) -> None:
    """Replaces an older file, whose versions the repository keeps."""
    text = render(baseline)
    parse(text, str(path))  # what cannot be read back is not written
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, "choose another place with --out") from None
    write_whole(path, text)


def _digest(found: Mapping[str, Any]) -> str:
    """The digest of everything but itself, whatever the form of the text."""
    rest = {name: value for name, value in found.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _as_json(baseline: Baseline) -> dict[str, Any]:
    origin = baseline.origin
    return {
        "format": FORMAT,
        "version": VERSION,
        "accepted": baseline.accepted,
        "session": baseline.session,
        "finished": baseline.finished,
        "manifest": baseline.manifest,
        "commit": baseline.commit,
        "machine": dict(origin.machine),
        "systems": {
            name: {"definition": one.definition, "qemu": one.qemu, "clock": one.clock}
            | ({"machine": one.machine} if one.machine else {})
            for name, one in sorted(origin.systems.items())
        },
        "cells": [as_written(one) for one in baseline.arms],
    }


def as_written(arm: BaselineArm) -> dict[str, Any]:
    return {
        "cell": cell_as_json(arm.cell),
        "lane": str(arm.lane),
        "placement": str(arm.placement),
        "guest": arm.guest,
        "seeds": list(arm.seeds),
        "metrics": [_measurement_as_json(one) for one in arm.measurements.values()],
        "symbols": None if arm.symbols is None else _symbols_as_json(arm.symbols),
    }


def _measurement_as_json(of: Measurement) -> dict[str, Any]:
    is_window = of.metric.name in WINDOWS
    return {
        "name": of.metric.name,
        "unit": of.unit,
        "declared": None if is_window else metric_as_json(of.metric),
        "late": max(of.blur, default=0.0),
        "step": of.step,
        "samples": [int(one) if float(one).is_integer() else one for one in of.samples],
    }


def _symbols_as_json(of: SymbolCounts) -> dict[str, Any]:
    named = [one for one in of.counts.items() if one[0] != OTHERS]
    ordered = sorted(named, key=lambda one: (-one[1], one[0]))
    counts = [[space, name, count] for (space, name), count in ordered[:MOST_SYMBOLS]]
    rest = of.counts.get(OTHERS, 0) + sum(count for _, count in ordered[MOST_SYMBOLS:])
    return {"seed": of.seed, "window": of.window, "counts": counts, "others": rest}


# ---- reading


def read(path: Path) -> Baseline:
    return parse(read_text(path.parent, path.name, LARGEST), str(path))


def parse(text: str, where: str) -> Baseline:
    try:
        return _baseline(read_json(text))
    except (ValueError, RecursionError, OverflowError) as error:
        raise EvidenceError(
            f"{where} is not a baseline: {one_line(str(error))}; next: take the committed file, or make it "
            "again with `benchgate baseline accept`"
        ) from None


def _baseline(value: object) -> Baseline:
    fields = Fields(value, "the file")
    if (fields.text("format"), fields.number("version")) != (FORMAT, VERSION):
        raise ValueError(f"its format is not {FORMAT}, version {VERSION}")
    if _digest(value if isinstance(value, dict) else {}) != fields.text("digest"):
        raise ValueError("its digest does not fit: it was changed by hand")
    arms = fields.take("cells", list)
    if not 0 < len(arms) <= MOST_ARMS:
        raise ValueError(f"it has {len(arms)} cells; 1 to {MOST_ARMS} are possible")
    baseline = Baseline(
        session=fields.word("session"),
        finished=fields.word("finished"),
        accepted=_day(fields.text("accepted")),
        manifest=_hex(fields.text("manifest"), "manifest"),
        commit=fields.word("commit"),
        origin=Origin(_texts(fields.take("machine", dict)), _systems(fields.take("systems", dict))),
        arms=tuple(map(_arm, arms)),
    )
    fields.done()
    return baseline


def _day(text: str) -> str:
    if not _DAY.fullmatch(text):
        raise ValueError(f"accepted {text!r:.40} is not a day such as 2026-11-23")
    return text


def _hex(text: str, name: str, *, empty: bool = False) -> str:
    if not _HEX.fullmatch(text) and (text or not empty):
        raise ValueError(f"{name} {text!r:.40} is not a SHA-256")
    return text


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    fields = Fields(value, "machine")
    return {name: one_line(fields.text(name), LONGEST_NAME) for name in fields.names()}


def _systems(value: Mapping[str, Any]) -> dict[str, SystemOrigin]:
    return {name: _system(one) for name, one in value.items()}


def _system(value: object) -> SystemOrigin:
    fields = Fields(value, "a system")
    found = SystemOrigin(
        _hex(fields.text("definition"), "definition"),
        _hex(fields.text("qemu"), "qemu", empty=True),
        one_line(fields.text("clock"), LONGEST_NAME),
        _hex(fields.text("machine", ""), "machine", empty=True),
    )
    fields.done()
    return found


def _arm(value: object) -> BaselineArm:
    fields = Fields(value, "a cell")
    cell = cell_from_json(fields.take("cell", dict))
    lane, placement = fields.choice("lane", Lane), fields.choice("placement", Placement)
    guest, seeds = _hex(fields.text("guest"), "guest"), fields.numbers("seeds")
    about = Measurement(cell, lane, placement, WINDOWS["work"], "", (), seeds=seeds, guest=guest)
    metrics = [_measurement(one, about) for one in fields.take("metrics", list)]
    symbols = None if fields.is_null("symbols") else _symbols(fields.take("symbols", dict))
    fields.done()
    found = {one.metric.name: one for one in metrics}
    if len(found) != len(metrics) or not WINDOWS.keys() <= found.keys():
        raise ValueError(f"{cell.id} must have each metric once, and {' and '.join(WINDOWS)}")
    if lane is Lane.INSN and len(set(seeds)) != len(seeds):
        raise ValueError(f"{cell.id} has a seed twice")
    return BaselineArm(cell, lane, placement, guest, seeds, found, symbols)


def _measurement(value: object, about: Measurement) -> Measurement:
    """`about`: what all metrics of the cell share."""
    cell, seeds = about.cell, about.seeds
    fields = Fields(value, f"a metric of {cell.id}")
    name = fields.word("name")
    if name in WINDOWS:
        fields.drop("declared")
        metric = WINDOWS[name]
    else:
        metric = metric_from_json(fields.take("declared", dict))
    if metric.name != name:
        raise ValueError(f"metric {name} of {cell.id} is declared as {metric.name}")
    samples = tuple(_sample(one, f"{name} of {cell.id}") for one in fields.take("samples", list))
    if len(samples) != len(seeds) or not SMALLEST_LOOK <= len(samples) <= MOST_RUNS:
        raise ValueError(
            f"{name} of {cell.id} has {len(samples)} samples and {len(seeds)} seeds; it must have as many, "
            f"from {SMALLEST_LOOK} to {MOST_RUNS}"
        )
    late, step = fields.real("late"), fields.real("step")
    if min(late, step) < 0:
        raise ValueError(f"{name} of {cell.id}: late and step cannot be negative")
    unit = fields.text("unit")
    fields.done()
    return replace(about, metric=metric, unit=unit, samples=samples, blur=(late,), step=step)


def _sample(value: object, what: str) -> float:
    """Reads a number of at least 0: no metric is negative."""
    if type(value) not in (int, float) or not 0 <= value <= MOST:  # type: ignore[operator]
        raise ValueError(f"a sample of {what} is {value!r:.40}, not a number from 0 to {MOST:g}")
    return float(value)  # type: ignore[arg-type]


def _symbols(value: object) -> SymbolCounts:
    fields = Fields(value, "symbols")
    seed, window, others = fields.number("seed"), fields.number("window"), fields.number("others")
    listed = fields.take("counts", list)
    fields.done()
    if len(listed) > MOST_SYMBOLS:
        raise ValueError(f"{len(listed)} symbols are too many")
    counts: dict[tuple[str, str], int] = {}
    for one in listed:
        if not isinstance(one, list) or [type(part) for part in one] != [str, str, int]:
            raise ValueError(f"{one!r:.60} is not a symbol's count")
        space, name, count = one
        if space not in ("user", "kernel") or not 0 <= count < 2**63 or (space, name) in counts:
            raise ValueError(f"{one!r:.60} is not a symbol's count, or it is there twice")
        counts[space, one_line(name, LONGEST_NAME)] = count
    if others:
        counts[OTHERS] = others
    return SymbolCounts(seed, window, counts)
