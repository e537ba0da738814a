"""Converts a cell to JSON and back, for run.json and for a session's plan.

Takes a Cell and gives a plain object; takes an untrusted object and gives a Cell. Reading fails with
ValueError.
"""

from __future__ import annotations

from benchgate.base.cells import Cell, Mode
from benchgate.base.clocks import Clock
from benchgate.base.jsonfields import Fields


def cell_as_json(cell: Cell) -> dict[str, object]:
    return {
        "system": cell.system,
        "workload": cell.workload,
        "mode": cell.mode.value,
        "params": dict(cell.params),
        "cpus": cell.cpus,
        "label": cell.label,
        "variant": cell.variant,
        **({"clock": cell.clock} if cell.clock else {}),
    }


def cell_from_json(value: object) -> Cell:
    fields = Fields(value, "its cell")
    params = fields.take("params", dict)
    for name, setting in params.items():
        if type(setting) not in (int, str):
            raise ValueError(f"its parameter {name} is neither a number nor a word")
    cell = Cell(
        system=fields.word("system"),
        workload=fields.word("workload"),
        mode=fields.choice("mode", Mode),
        params=tuple(sorted(params.items())),
        cpus=fields.number("cpus", 1),
        label=fields.text("label"),
        variant=fields.word("variant", empty=True),
        clock=_clock(fields),
    )
    fields.done()
    return cell


def _clock(fields: Fields) -> str:
    clock = fields.text("clock", "")
    if clock not in ("", *Clock):
        raise ValueError(f"its clock {clock!r:.40} is not one of {', '.join(Clock)}")
    return clock
