"""What a session asks a measuring worker about its host, and the answers, as JSON.

Takes values and gives plain data; takes untrusted data and gives values, or fails with ValueError that says
what is wrong. `asked` and `replied` read what `as_bytes` wrote. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from benchgate.base.cells import Accel
from benchgate.base.files import read_json
from benchgate.base.jsonfields import Between, PlainWord, PlainWordOrEmpty, Printable, Size, as_json, read
from benchgate.host.capacity import CapacityPair
from benchgate.host.topology import MOST_CPUS, CpuNumber, HostTopology

LARGEST = 4 << 20


class QuestionKind(StrEnum):
    ABOUT = "about"
    """Asks for its topology, and who measures there now."""
    HELD = "held"
    """Asks if the hold with this token is in force."""
    PROBE = "probe"
    PAIRS = "pairs"
    ENVELOPE = "envelope"


@dataclass(frozen=True, slots=True)
class HostQuestion:
    ask: QuestionKind
    hold: PlainWordOrEmpty = ""
    """The token of the session that holds the host."""
    qemu: PlainWordOrEmpty = ""
    """The digest of the QEMU."""
    accel: Accel = Accel.TCG
    pins: Annotated[tuple[CpuNumber, ...], Size(0, MOST_CPUS)] = ()
    first: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    worker: PlainWord
    host: Annotated[str, Printable(2000)]
    value: Any = None
    error: Annotated[str, Printable(2000)] = ""
    """Why there is no value."""


def as_bytes(question: HostQuestion | Reply) -> bytes:
    return json.dumps(as_json(question), sort_keys=True).encode()


def asked(data: bytes) -> HostQuestion:
    return read(HostQuestion, _parsed(data), "the question")


def replied(data: object) -> Reply:
    if type(data) is not bytes:
        raise ValueError(f"an answer is bytes, not {type(data).__name__}")
    return read(Reply, _parsed(data), "the answer")


def topology_of(value: object) -> HostTopology:
    topology = read(HostTopology, value, "its topology")
    if not topology.usable:
        raise ValueError("its topology has no CPU that may be used")
    return topology


def pairs_as_json(pairs: Iterable[CapacityPair]) -> list[list[float]]:
    return [[pair.alone_s, *pair.together_s] for pair in pairs]


def pairs_of(value: object, guests: int) -> tuple[CapacityPair, ...]:
    result = read(tuple[tuple[Annotated[float, Between(0, 1e6)], ...], ...], value, "its pairs")
    if len(result) > 1 or any(len(one) != 1 + guests for one in result):
        raise ValueError(f"it has no list of one pair of {1 + guests} times")
    return tuple(CapacityPair(one[0], one[1:]) for one in result)


def envelope_of(value: object) -> dict[str, Any]:
    """Facts that are written down and shown; nothing is decided from them."""
    return read(dict[str, Any], value, "its envelope")


def _parsed(data: bytes) -> Any:
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    return read_json(data)
