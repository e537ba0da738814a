"""Runs that two workers make, so that each worker is compared: who makes them, and who was wrong.

`Pairs` chooses the workers; it is pure. `compare` takes both copies of a run, and a `Court`, which can have a
third worker make it; it names the worker that was wrong, or fails with FleetError if nobody can say who.

A run on the instruction clock is a pure function of its task, so every byte must be the same, but for what
says how the host was: the files PER_HOST and MAY_LACK, the `host` lines of the clock's log, and the fields
PER_RUN of run.json. A file with another name is compared, so that no new one is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from benchgate.base.files import read_json
from benchgate.base.text import counted, one_line
from benchgate.features.fleet.assignments import Assignment, Want
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.received import CheckedAnswer
from benchgate.run import forked

Files = Mapping[str, bytes]
"""The content of each file of a run's folder, by name."""

CONSOLE, CLOCK, RUN = "serial.log", "clock.log", "run.json"
PER_HOST = frozenset(
    {"affinity.json", "argv.json", "environment.json", "host.json", "qmp.log", "stderr.log", "threads.json"}
)
"""Paths, CPUs, thread numbers, times and complaints of the host."""
MAY_LACK = frozenset({forked.FILE})
"""Only a run that was a fork has it, and a worker on whose host QEMU cannot be forked makes none."""
PER_RUN = frozenset({"attempt", "order", "warmup", "host_span_ns", "detail", "placement", "pins"})
"""These say where a run stands in its session, and how long it took there."""
_HOST_LINE = re.compile(rb"^host .*\n", re.MULTILINE)
_EVENT = re.compile(rb"^(?:mark|line|typed|ran|beat|halted) .*\n", re.MULTILINE)
_STATUS = "exit_status"
FIRST, SECOND, THIRD = range(3)
"""The copies of a run: the second one of a row's first seed is made on another worker, and a third one
decides if they differ."""


@dataclass(frozen=True, slots=True)
class Majority:
    """The ruling about three workers that made the same task."""

    odd: str
    """The one that made another run than the two others; empty if no two agree."""
    why: str


def first_difference(files: Files, other: Files) -> str:
    """Gives an empty text if both are the same run."""
    if unlike := (set(files) ^ set(other)) - MAY_LACK:
        return f"only one of them has {one_line(min(unlike))}"
    try:
        records = _record(files), _record(other)
    except ValueError as error:
        return f"{RUN} of one of them is not a record of a run: {error}"
    # A system that cannot power off is killed by the host after its result, at a moment that differs.
    killed = any(record.get(_STATUS) is None for record in records)
    ignored = PER_RUN | ({_STATUS} if killed else set())
    for key in sorted({*records[0], *records[1]} - ignored):
        first, second = records[0].get(key), records[1].get(key)
        if first != second:
            return one_line(f"{RUN} says {key} {first!r:.60}, and {second!r:.60}", 200)
    for name in sorted(set(files) - PER_HOST - MAY_LACK - {RUN}):
        if result := _different(name, files[name], other[name], killed=killed):
            return result
    return ""


def ruling_of(first: tuple[str, Files], second: tuple[str, Files], third: tuple[str, Files]) -> Majority:
    """Blames one of two workers that differ: the one with which the third does not agree."""
    between = first_difference(first[1], second[1])
    if not between:
        raise ValueError(f"{first[0]} and {second[0]} made the same run; there is nothing to rule on")
    agrees = [not first_difference(third[1], files) for _, files in (first, second)]
    if True not in agrees:
        names = ", ".join((first[0], second[0], third[0]))
        return Majority("", f"{names} made three different runs of one task ({between}): it does not repeat")
    odd, right = (second[0], first[0]) if agrees[0] else (first[0], second[0])
    why = f"{odd} made another run than {right} and {third[0]} of the same task: {between}"
    return Majority(odd, why)


def _record(files: Files) -> dict[str, object]:
    if RUN not in files:
        raise ValueError("it is missing")
    record = read_json(files[RUN])
    if not isinstance(record, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - the data is wrong, not an argument
    return record


def _different(name: str, content: bytes, other: bytes, *, killed: bool) -> str:
    if name == CLOCK:
        content, other = _HOST_LINE.sub(b"", content), _HOST_LINE.sub(b"", other)
        if killed:
            content, other = b"".join(_EVENT.findall(content)), b"".join(_EVENT.findall(other))
    if killed and name in (CLOCK, CONSOLE):
        shorter = min(len(content), len(other))
        content, other = content[:shorter], other[:shorter]
    if content == other:
        return ""
    lines = content.split(b"\n"), other.split(b"\n")
    number = next((n for n, pair in enumerate(zip(*lines, strict=False)) if pair[0] != pair[1]), None)
    if number is None:
        return f"{name} has {counted(len(lines[0]), 'line')}, and {len(lines[1])}"
    first, second = (one_line(side[number], 60) for side in lines)
    return f"{name}:{number + 1} is `{first}`, and `{second}`"


class Pairs:
    def __init__(self) -> None:
        self._places: dict[Want, str] = {}
        self._made: Counter[str] = Counter()
        """The number of copies by worker."""

    def place(self, want: Want, usable: Collection[str]) -> str:
        """The one worker that makes this copy: never that of the other copy while there is another one, and
        one that was compared little, so that each is compared after some rows."""
        allowed = set(usable) - {self.of_other(want)} or set(usable)
        known = self._places.get(want, "")
        if known not in allowed:
            known = min(allowed, key=lambda address: (self._made[address], address))
            self._places[want] = known
            self._made[known] += 1
        return known

    def of_other(self, want: Want) -> str:
        """Gives the worker of the other copy of a first or second one; empty: nobody yet."""
        key, copy = want
        return self._places.get((key, SECOND if copy == FIRST else FIRST), "")


class Court(Protocol):
    """What `compare` needs of the fleet."""

    def open_seats(self) -> Mapping[str, int]:
        """The slots of each worker that may get runs, by address."""
        ...

    def third(self, of: Assignment, avoid: Collection[str]) -> tuple[str, CheckedAnswer]:
        """Has a worker that is none of these make the run once more; gives its address, too."""
        ...

    def distrust(self, address: str, why: str) -> None:
        """Gives this worker no more runs, and drops its answers that were not used."""
        ...

    def tell(self, text: str) -> None: ...


def compare(court: Court, first: Assignment, second: Assignment) -> None:
    """This is called before anything of a row is used. The run of a worker that was wrong is made again."""
    row = first.packed.task.cell.row
    one, two = first.answered, second.answered
    difference = first_difference(one.answer.files, two.answer.files)
    if not difference:
        return
    names = f"{one.answer.worker} and {two.answer.worker}"
    both = {first.address, second.address}
    if not set(court.open_seats()) - both:
        raise FleetError(
            f"{row}: {names} made different runs of seed {first.packed.task.seed} ({difference}), and "
            "there is no third worker to decide: measure here, without --fleet, or add a worker"
        )
    court.tell(f"{row}: {names} made different runs of one seed ({difference}); a third worker decides")
    address, judge = court.third(first, both)
    pair = (first.address, one.answer.files), (second.address, two.answer.files)
    ruling = ruling_of(*pair, (address, judge.answer.files))
    if not ruling.odd:
        raise FleetError(
            f"{row}: {names} and {judge.answer.worker} made three different runs of one seed ({difference}): "
            "it does not repeat, so measure here, without --fleet, and see `benchgate docs fleet`"
        )
    court.distrust(ruling.odd, f"its run of {row} is not that of two others: {difference}")
