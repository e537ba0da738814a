"""Where a session's figures come from: what tells whether those of another one may be compared with them.

Takes the facts of session.json; gives an Origin. Fails with EvidenceError if a part of them is no object.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from benchgate.base.system.machines import machine_in
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.evidence.facts import machine_digests, part_of
from benchgate.features.baseline.baselines import Origin, SystemOrigin

MACHINE = (
    *("cpu_model", "microcode", "sockets", "cores", "threads", "topology_hidden", "hypervisor", "pins"),
    *("frequency_policy", "timer_source", "kernel", "isolation", "device_model", "provider", "instance"),
)
"""The facts of the envelope that wall time depends on. The memory is not among them: its size differs from
boot to boot of one machine."""
LONGEST = 200


def origin_of(facts: Mapping[str, Any], where: str) -> Origin:
    envelope = part_of(facts, "envelope", where)
    systems, settings = part_of(facts, "systems", where), part_of(facts, "settings", where)
    emulators, inputs = part_of(facts, "emulators", where), part_of(facts, "inputs", where)
    digests = machine_digests(facts, where)
    return Origin(
        machine={name: one_line(_text(envelope.get(name, UNAVAILABLE)), LONGEST) for name in MACHINE},
        systems={
            str(name): _system(
                text,
                part_of(settings, name, where),
                inputs.get(str(emulators.get(name)), {}),
                digests.get(machine_in(str(name)), ""),
            )
            for name, text in systems.items()
        },
    )


def _system(text: object, settings: Mapping[str, Any], emulator: object, machine: str) -> SystemOrigin:
    """A setting may be a file. Where it is plays no part: its content is in the guest's digest."""
    opened = emulator if isinstance(emulator, Mapping) else {}
    chosen = {str(name): PurePath(str(value)).name for name, value in dict(settings).items()}
    definition = hashlib.sha256(f"{text}\n{_text(chosen)}\n".encode(errors="surrogatepass")).hexdigest()
    clock = one_line(str(opened.get("clock", "")), LONGEST)
    return SystemOrigin(definition, str(opened.get("digest", "")), clock, machine)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
