"""Mixes that a programme chose, best first: as JSON for programs, as a table for people.

Takes Mixes and the names of the resources; gives text. Does not fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchgate.base.text import percent
from benchgate.mix.applications import Mix
from benchgate.render.tables import columns


def as_json(mixes: Sequence[Mix], resources: Sequence[str]) -> str:
    return json.dumps(
        [
            {
                "objective": float(mix.objective),
                "mix": {one.name: count for one, count in mix.counts},
                "totals": {name: float(total) for name, total in zip(resources, mix.totals, strict=True)},
            }
            for mix in mixes
        ],
        indent=2,
    )


def text(mixes: Sequence[Mix], resources: Sequence[str]) -> list[str]:
    rows = [("objective", *resources, "mix")]
    for mix in mixes:
        totals = (percent(float(total)) for total in mix.totals)
        names = " ".join(f"{count} x {one.name}" for one, count in mix.counts)
        rows.append((f"{float(mix.objective):.6g}", *totals, names))
    return columns.drawn(rows)
