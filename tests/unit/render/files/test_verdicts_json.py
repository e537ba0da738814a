"""verdicts.json: every field of a verdict."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from benchgate.render.files import verdicts_json
from tests.unit.factories import scaled_view


def test_verdicts_json_has_every_field_of_a_verdict() -> None:
    shown = scaled_view()
    (stored,), (verdict,) = json.loads(verdicts_json.render(shown)), shown.verdicts
    assert (stored["params"], stored["lane"], stored["outcome"]) == (
        {"hi": 3000000, "split": "balanced"},
        "tcg",
        "PASS",
    )
    assert stored | {"params": verdict.params, "commands": ()} == asdict(verdict)
    assert stored["baseline"] is None
    (gated,) = json.loads(
        verdicts_json.render(scaled_view(verdicts=(replace(verdict, baseline="main.json"),)))
    )
    assert gated == stored | {"baseline": "main.json"}
