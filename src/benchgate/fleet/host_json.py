"""What a session asks a measuring worker about its host, and the answers, as JSON.

Takes values and gives plain data; takes untrusted data and gives values, or fails with ValueError that says
what is wrong. `question` and `asked`, `reply` and `replied` are the two ends of one message. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from benchgate.base.cells import Accel
from benchgate.base.files import read_json
from benchgate.base.jsonfields import Fields
from benchgate.host.accel import AccelProbe, probe_from_json
from benchgate.host.capacity import CapacityPair
from benchgate.host.topology import Isolation, LogicalCpu, Topology

LARGEST = 4 << 20
MOST_CPUS = 8192
_LONGEST = 2000


class Ask(StrEnum):
    ABOUT = "about"
    """Its topology, and who measures there now."""
    HELD = "held"
    """Whether the hold with this token is in force."""
    PROBE = "probe"
    PAIRS = "pairs"
    ENVELOPE = "envelope"


@dataclass(frozen=True, slots=True)
class Question:
    ask: Ask
    hold: str = ""
    """The token of the session that holds the host."""
    qemu: str = ""
    """By digest."""
    accel: Accel = Accel.TCG
    pins: tuple[int, ...] = ()
    first: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    worker: str
    host: str
    value: Any = None
    error: str = ""
    """Why there is no value."""


def question(one: Question) -> bytes:
    return json.dumps(asdict(one), sort_keys=True).encode()


def asked(data: bytes) -> Question:
    fields = Fields(_parsed(data), "the question")
    found = Question(
        ask=fields.choice("ask", Ask),
        hold=fields.word("hold", empty=True),
        qemu=fields.word("qemu", empty=True),
        accel=fields.choice("accel", Accel),
        pins=_cpus(fields, "pins"),
        first=fields.number("first"),
    )
    fields.done()
    return found


def reply(one: Reply) -> bytes:
    return json.dumps(asdict(one), sort_keys=True).encode()


def replied(data: object) -> Reply:
    if type(data) is not bytes:
        raise ValueError(f"an answer is bytes, not {type(data).__name__}")
    value = _parsed(data)
    kept = value.pop("value", None) if isinstance(value, dict) else None
    fields = Fields(value, "the answer")
    found = Reply(fields.word("worker"), _text(fields, "host"), kept, _text(fields, "error"))
    fields.done()
    return found


def topology_as_json(one: Topology) -> dict[str, Any]:
    return asdict(one)


def topology_of(value: object) -> Topology:
    fields = Fields(value, "its topology")
    found = Topology(
        cpus=tuple(_cpu(one) for one in _at_most(fields.take("cpus", list))),
        affinity=_cpus(fields, "affinity"),
        source=_text(fields, "source"),
        hypervisor=fields.flag("hypervisor"),
        isolation=_isolation(Fields(fields.take("isolation", dict), "its isolation")),
    )
    fields.done()
    if not found.usable:
        raise ValueError("its topology has no CPU that may be used")
    return found


def probe_as_json(one: AccelProbe) -> dict[str, Any]:
    return asdict(one)


def probe_of(value: object, kind: Accel) -> AccelProbe:
    found = probe_from_json(value, kind)
    _printable("detail", found.detail)
    return found


def pairs_as_json(pairs: Iterable[CapacityPair]) -> list[list[float]]:
    return [[one.alone_s, *one.together_s] for one in pairs]


def pairs_of(value: object, guests: int) -> tuple[CapacityPair, ...]:
    if type(value) is not list or len(value) > 1:
        raise ValueError("it has no list of one pair")
    return tuple(_pair(one, guests) for one in value)


def envelope_of(value: object) -> dict[str, Any]:
    """Facts that are written down and shown; nothing is decided from them."""
    if type(value) is not dict or not all(type(one) is str for one in value):
        raise ValueError("its envelope is not an object")
    return value


def _parsed(data: bytes) -> Any:
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    try:
        return read_json(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _pair(value: object, guests: int) -> CapacityPair:
    if type(value) is not list or len(value) != 1 + guests or any(type(one) is not float for one in value):
        raise ValueError(f"a pair is not {1 + guests} times")
    if not all(0 < one < 1e6 for one in value):
        raise ValueError("a time of a pair is not a positive number of seconds")
    return CapacityPair(value[0], tuple(value[1:]))


def _cpu(value: object) -> LogicalCpu:
    fields = Fields(value, "a CPU")
    found = LogicalCpu(
        number=fields.number("number"),
        online=fields.flag("online"),
        socket=fields.number_or_none("socket"),
        siblings=_cpus(fields, "siblings"),
    )
    fields.done()
    if not found.siblings:
        raise ValueError("a CPU is not even a sibling of itself")
    return found


def _isolation(fields: Fields) -> Isolation:
    names = ("isolcpus", "nohz_full", "rcu_nocbs", "cpuset", "service_manager")
    found = Isolation(**{name: _text(fields, name) for name in names})
    fields.done()
    return found


def _cpus(fields: Fields, key: str) -> tuple[int, ...]:
    found = tuple(_at_most(fields.numbers(key)))
    if any(one >= MOST_CPUS for one in found):
        raise ValueError(f"its {key} name a CPU above {MOST_CPUS}")
    return found


def _at_most(values: Sequence[Any]) -> Sequence[Any]:
    if len(values) > MOST_CPUS:
        raise ValueError(f"it has more than {MOST_CPUS} CPUs")
    return values


def _text(fields: Fields, key: str) -> str:
    return _printable(key, fields.text(key))


def _printable(key: str, value: str) -> str:
    if len(value) > _LONGEST or not value.replace("\n", " ").isprintable():
        raise ValueError(f"its {key} is too long, or has a control character")
    return value
