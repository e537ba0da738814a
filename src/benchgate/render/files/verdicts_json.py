"""verdicts.json: a list with one object per verdict; a field that does not apply is null (version 2).

Takes a SessionView; gives JSON. Does not fail.
"""

from __future__ import annotations

import json

from benchgate.base.jsonfields import as_json
from benchgate.render.view import SessionView

NAME = "verdicts.json"


def render(view: SessionView) -> str:
    return json.dumps([as_json(verdict) for verdict in view.verdicts], indent=2, allow_nan=False) + "\n"
