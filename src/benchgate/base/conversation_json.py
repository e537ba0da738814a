"""conversation.json: what was typed into one run's guest, and where on its console.

Takes the record of a `Conversation`; gives plain values, and the record again from untrusted ones. Fails with
ValueError that says what is wrong. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.conversation import Typed
from benchgate.base.jsonfields import Fields

SCHEMA = 1


def as_json(record: Iterable[Typed]) -> dict[str, object]:
    typed = [{"step": one.step, "at": one.at, "text": one.text.decode(), "time": one.time} for one in record]
    return {"schema": SCHEMA, "typed": typed}


def from_json(value: object) -> tuple[Typed, ...]:
    fields = Fields(value, "the conversation")
    if fields.number("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}; use the benchgate that wrote it")
    found = tuple(_typed(one) for one in fields.take("typed", list))
    fields.done()
    return found


def _typed(value: object) -> Typed:
    fields = Fields(value, "a typed line")
    step, at, text = fields.number("step"), fields.number("at"), fields.text("text")
    found = Typed(step, at, text.encode(), fields.number_or_none("time"))
    fields.done()
    return found
