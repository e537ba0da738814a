"""speedups.json for github-action-benchmark's `customBiggerIsBetter`: a list of objects.

Takes a SessionView; gives JSON. INVALID speedups are left out; without verified runs the list is empty. Does
not fail.
"""

from __future__ import annotations

import json

from benchgate.base.gates import Word
from benchgate.base.text import visible
from benchgate.render.figures import series_of
from benchgate.render.view import SessionView

NAME = "speedups.json"


def render(view: SessionView) -> str:
    entries = [
        {
            "name": visible(f"{series.name} {arm.name}/smp{seen.base_cpus} {window} ({series.lane})"),
            "unit": "x",
            "value": round(seen.ratio, 6),
            "range": f"{seen.interval.low:.4f} .. {seen.interval.high:.4f}"
            if seen.has_interval
            else "unknown",
            "extra": f"{seen.word or 'no gate'}, {arm.placement}, {len(arm.samples)} runs",
        }
        for series in series_of(view)
        for arm in series.arms
        for window, seen in arm.speedups.items()
        if view.is_verified and seen.word != Word.INVALID
    ]
    return json.dumps(entries, indent=2, allow_nan=False) + "\n"
