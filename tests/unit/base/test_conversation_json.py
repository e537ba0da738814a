"""conversation.json: written and read back, and refused if it is not what benchgate writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchgate.base.conversation import Typed
from benchgate.base.conversation_json import as_json, from_json

RECORD = (Typed(0, 8, b"primes 2 100\n", None), Typed(1, 40, b"\xc3\xa9\r", 26_484_567), Typed(2, 58, b"", 9))


def test_a_record_is_read_back() -> None:
    assert from_json(json.loads(json.dumps(as_json(RECORD)))) == RECORD


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "its schema is not 1"),
        ({"typed": None}, "typed None has a wrong type"),
        ({"more": 1}, "unknown key 'more'"),
        ({"typed": [1]}, "a typed line is not an object"),
        ({"typed": [{"step": 0, "at": -1, "text": "", "time": None}]}, "at -1 is not a whole number"),
        ({"typed": [{"step": 0, "at": 1, "text": "", "time": 1.5}]}, "time 1.5 has a wrong type"),
        ({"typed": [{"step": 0, "at": 1, "text": ""}]}, "has no time"),
    ],
)
def test_another_file_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_json({**as_json(RECORD), **change})
