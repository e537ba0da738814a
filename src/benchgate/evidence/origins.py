"""The origin of a session's figures, as far as another session must share it: read from session.json.

Takes the untrusted object of session.json; gives an Origin, or the machine as one line. Fails with
EvidenceError if a part has the wrong type; a fact that is not there is "unavailable".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from benchgate.base.baselines import Origin, SystemOrigin
from benchgate.base.errors import EvidenceError
from benchgate.base.system.machines import machine_in
from benchgate.base.text import UNAVAILABLE, one_line

MACHINE = (
    *("cpu_model", "microcode", "sockets", "cores", "threads", "topology_hidden", "hypervisor", "pins"),
    *("frequency_policy", "timer_source", "kernel", "isolation", "device_model", "provider", "instance"),
)
"""The facts of the envelope that wall time depends on. The memory is not among them: its size differs from
boot to boot of one machine."""
LONGEST = 200


def origin_of(facts: Mapping[str, Any], where: str) -> Origin:
    envelope = _part(facts, "envelope", where)
    systems, settings = _part(facts, "systems", where), _part(facts, "settings", where)
    emulators, inputs = _part(facts, "emulators", where), _part(facts, "inputs", where)
    digests = machine_digests(facts, where)
    return Origin(
        machine={name: one_line(_text(envelope.get(name, UNAVAILABLE)), LONGEST) for name in MACHINE},
        systems={
            str(name): _system(
                text,
                _part(settings, name, where),
                inputs.get(str(emulators.get(name)), {}),
                digests.get(machine_in(str(name)), ""),
            )
            for name, text in systems.items()
        },
    )


def machine_digests(facts: Mapping[str, Any], where: str) -> dict[str, str]:
    """The digests of the machines with a memory system, by name."""
    machines = _part(facts, "machines", where)
    return {str(name): one_line(str(_part(machines, name, where).get("digest")), 64) for name in machines}


def _system(text: object, settings: Mapping[str, Any], emulator: object, machine: str) -> SystemOrigin:
    """A setting may be a file. Where it is plays no part: its content is in the guest's digest."""
    found = emulator if isinstance(emulator, Mapping) else {}
    chosen = {str(name): PurePath(str(value)).name for name, value in dict(settings).items()}
    definition = hashlib.sha256(f"{text}\n{_text(chosen)}\n".encode(errors="surrogatepass")).hexdigest()
    clock = one_line(str(found.get("clock", "")), LONGEST)
    return SystemOrigin(definition, str(found.get("digest", "")), clock, machine)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _part(facts: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    """Absent in sessions of earlier versions."""
    found = facts.get(name, {})
    if not isinstance(found, Mapping):
        raise EvidenceError(f"{where}: {name} is {found!r:.40}, not an object")
    return found


# ---- the machine as one line


ONE_LINE = ("cpu_model", "sockets", "cores", "threads", "hypervisor", "provider", "instance")
LONGEST_LINE = 300


def machine_of(facts: Mapping[str, Any]) -> str:
    """Two sessions on wall time are comparable if it is equal. The host's kernel, load and free memory
    change from day to day, so they are no part of it."""
    envelope = facts.get("envelope")
    seen = envelope if isinstance(envelope, Mapping) else {}
    return one_line(
        ", ".join(f"{name} {_word(seen.get(name, UNAVAILABLE))}" for name in ONE_LINE), LONGEST_LINE
    )


def _word(value: object) -> str:
    """A fact is a short text, a number or a flag; anything else was not written by benchgate."""
    return one_line(str(value)) if isinstance(value, str | int | bool) else UNAVAILABLE
