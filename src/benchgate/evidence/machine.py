"""The machine of a session, as one line: two sessions on wall time are comparable if it is equal.

Takes the object of session.json, which is untrusted; gives text. Nothing fails: a missing fact is
"unavailable". The host's kernel, its load and its free memory change from day to day, so they are no part of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchgate.base.text import UNAVAILABLE, one_line

FACTS = ("cpu_model", "sockets", "cores", "threads", "hypervisor", "provider", "instance")
LONGEST = 300


def machine_of(facts: Mapping[str, Any]) -> str:
    envelope = facts.get("envelope")
    seen = envelope if isinstance(envelope, Mapping) else {}
    return one_line(", ".join(f"{name} {_word(seen.get(name, UNAVAILABLE))}" for name in FACTS), LONGEST)


def _word(value: object) -> str:
    """A fact is a short text, a number or a flag; anything else was not written by benchgate."""
    return one_line(str(value)) if isinstance(value, str | int | bool) else UNAVAILABLE
