"""What the reports say of the machine and the inputs, from session.json.

Takes the facts of session.json, which are untrusted; gives texts. Fails with EvidenceError if a fact has the
wrong type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from benchgate.base.errors import EvidenceError
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.evidence.files import SESSION

NOTHING = ("none", UNAVAILABLE)
MOST_FACTS, LONGEST_FACT, DEEPEST = 300, 400, 4


def object_in(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = facts.get(name, {})
    if not isinstance(found, Mapping):
        raise EvidenceError(f"{SESSION}: {name} is {found!r:.40}, not an object")
    return found


def flat(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every value of nested objects, with the path of its names; not too many, as the file is untrusted."""
    return list(itertools.islice(_flattened(facts, "", DEEPEST), MOST_FACTS))


def _flattened(value: object, name: str, deep: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and deep:
        for key, inner in value.items():
            yield from _flattened(inner, f"{name} {key}".strip().replace("_", " "), deep - 1)
    else:
        listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield one_line(name), one_line(listed or "none", LONGEST_FACT)


def isolation(envelope: Mapping[str, Any]) -> str:
    seen = {name: text for name, text in object_in(envelope, "isolation").items() if text not in NOTHING}
    return ", ".join(f"{name} {text}" for name, text in seen.items()) or "none seen"


def machine_of(envelope: Mapping[str, Any], inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The most important facts of the envelope; session.json has all of them."""

    def say(*names: str) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {envelope.get(name, UNAVAILABLE)}" for name in names)

    probes = object_in(envelope, "accelerators")
    reasons = [str(object_in(probes, name).get("reason")) for name in probes]
    qemu = object_in(inputs, "qemu")
    return (
        ("processor", f"{envelope.get('cpu_model', UNAVAILABLE)}; {say('sockets', 'cores', 'threads')}"),
        ("topology", say("topology_source", "topology_hidden", "online", "affinity")),
        ("accelerators", "; ".join(reasons) or UNAVAILABLE),
        ("qemu", " ".join(str(qemu.get(key, "")) for key in ("version", "origin")).strip() or UNAVAILABLE),
        ("host", say("kernel", "timer_source", "frequency_policy", "provider", "instance")),
    )
