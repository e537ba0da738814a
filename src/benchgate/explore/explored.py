"""What an exploration has found so far, as it is kept in explored.json. Pure.

Takes and gives frozen values; `as_json` and `from_json` are each other's inverse. JSON is untrusted:
`from_json` fails with ValueError that names the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchgate.base.exploring import Point
from benchgate.base.jsonfields import Fields
from benchgate.explore.attempts import FIRST, PLAIN
from benchgate.explore.finding import Kind
from benchgate.explore.switch import Segment, Side, Switch

OK, FOUND = "ok", "find"


@dataclass(frozen=True, slots=True)
class Line:
    """One run."""

    cell: str
    number: int
    strategy: str
    seed: int
    outcome: str
    """`ok` or `find`."""
    work_ns: int | None
    end_ns: int | None
    steps: int | None
    stalls: int
    delayed_ns: int
    seconds: float
    """The host's. No figure of the guest's."""
    find: str
    """The name of its find; empty if it is none."""
    typed_ns: int | None = None
    """When the first line was typed, in guest time; None: nothing was."""

    @property
    def key(self) -> str:
        return f"{self.cell}#{self.number}"


@dataclass(frozen=True, slots=True)
class Small:
    """What is left of a find."""

    cell: str
    """Fewer CPUs, or a shorter row, if the find happens there, too."""
    seed: int
    points: tuple[Point, ...]
    of_points: int
    """How many there were."""
    runs: int
    """How many runs it took."""
    note: str
    """Why it is not smaller; empty if each point is needed."""
    switches: tuple[Switch, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        if self.switches:
            return tuple(one.sentence for one in self.switches)
        return (self.note,) if self.note else ("it happens without any stall",)


@dataclass(frozen=True, slots=True)
class Find:
    name: str
    """The name of its folder below `finds`."""
    cell: str
    number: int
    strategy: str
    seed: int
    kind: Kind
    what: str
    group: str
    last_lines: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    deadline_ns: int = 0
    """How long the guest was given, in its own time."""
    small: Small | None = None


@dataclass(frozen=True, slots=True)
class Explored:
    lines: tuple[Line, ...] = ()
    finds: tuple[Find, ...] = ()
    expected: int = 0
    """How many runs are asked for."""
    notes: tuple[str, ...] = field(default=())

    @property
    def groups(self) -> tuple[tuple[str, tuple[Find, ...]], ...]:
        """The groups, in the order in which they were first found."""
        names = dict.fromkeys(one.group for one in self.finds)
        return tuple((name, tuple(one for one in self.finds if one.group == name)) for name in names)

    @property
    def is_complete(self) -> bool:
        return len(self.lines) >= self.expected

    @property
    def unstalled(self) -> tuple[str, ...]:
        """The cells that were to be stalled, and in no run were: nothing was explored there. None as long as
        runs are missing."""
        tried = [one for one in self.lines if one.number != FIRST and one.strategy != PLAIN]
        stalled = {one.cell for one in tried if one.stalls or one.steps is None}
        cells = dict.fromkeys(one.cell for one in tried if one.cell not in stalled)
        return tuple(cells) if self.is_complete else ()


# ---- JSON


def line_as_json(line: Line) -> dict[str, Any]:
    return asdict(line)


def line_from_json(value: object) -> Line:
    fields = Fields(value, "a run")
    found = Line(
        cell=fields.text("cell"),
        number=fields.number("number"),
        strategy=fields.text("strategy"),
        seed=fields.number("seed"),
        outcome=fields.text("outcome"),
        work_ns=fields.number_or_none("work_ns"),
        end_ns=fields.number_or_none("end_ns"),
        steps=fields.number_or_none("steps"),
        stalls=fields.number("stalls"),
        delayed_ns=fields.number("delayed_ns"),
        seconds=fields.real("seconds"),
        find=fields.text("find"),
        typed_ns=fields.number_or_none("typed_ns"),
    )
    fields.done()
    if found.outcome not in (OK, FOUND) or (found.outcome == FOUND) != bool(found.find):
        raise ValueError(f"a run has outcome {found.outcome!r:.40} and find {found.find!r:.40}")
    return found


def find_as_json(find: Find) -> dict[str, Any]:
    return asdict(find)


def find_from_json(value: object) -> Find:
    fields = Fields(value, "a find")
    small = None if fields.is_null("small") else _small(fields.take("small", dict))
    found = Find(
        name=fields.text("name"),
        cell=fields.text("cell"),
        number=fields.number("number"),
        strategy=fields.text("strategy"),
        seed=fields.number("seed"),
        kind=fields.choice("kind", Kind),
        what=fields.text("what"),
        group=fields.text("group"),
        last_lines=fields.texts("last_lines"),
        places=fields.texts("places"),
        deadline_ns=fields.number("deadline_ns"),
        small=small,
    )
    fields.done()
    return found


def _small(value: object) -> Small:
    fields = Fields(value, "a small find")
    found = Small(
        cell=fields.text("cell"),
        seed=fields.number("seed"),
        points=tuple(map(_point, fields.take("points", list))),
        of_points=fields.number("of_points"),
        runs=fields.number("runs"),
        note=fields.text("note"),
        switches=tuple(map(_switch, fields.take("switches", list))),
        segments=tuple(map(_segment, fields.take("segments", list))),
    )
    fields.done()
    return found


def _point(value: object) -> Point:
    fields = Fields(value, "a point")
    found = Point(fields.number("vcpu"), fields.number("instruction"), fields.number("ns"))
    fields.done()
    return found


def _switch(value: object) -> Switch:
    fields = Fields(value, "a switch")
    ran = tuple(map(_side, fields.take("ran", list)))
    found = Switch(_side(fields.take("stopped", dict)), fields.number("ns"), ran)
    fields.done()
    return found


def _side(value: object) -> Side:
    fields = Fields(value, "a CPU")
    found = Side(fields.number("vcpu"), fields.text("first"), fields.text("last"))
    fields.done()
    return found


def _segment(value: object) -> Segment:
    fields = Fields(value, "a segment")
    found = Segment(
        fields.number("vcpu"), fields.number("begin"), fields.number("end"), fields.text("symbol")
    )
    fields.done()
    return found


def first_finds(lines: Sequence[Line]) -> dict[tuple[str, str], int]:
    """How many runs of a strategy it took until its first find, by cell and strategy."""
    found: dict[tuple[str, str], int] = {}
    made: dict[tuple[str, str], int] = {}
    for line in sorted(lines, key=lambda one: one.number):
        key = line.cell, line.strategy
        made[key] = made.get(key, 0) + 1
        if line.outcome == FOUND:
            found.setdefault(key, made[key])
    return found
