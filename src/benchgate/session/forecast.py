"""How long the runs that are still expected will take: from the runs so far, and from those of earlier
sessions.

Takes when runs are expected, begin and end, by a clock that never goes back; gives seconds. A run takes as
long as those of its cell did in this session, at the pace of the last runs, because the host's load changes;
else as in the last session with this cell, scaled by what the cells that both sessions have took here. A run
of another cell is guessed to take as long as the mean of those known, and the answer says so, because rows
may be unlike. Runs beside each other, and pauses between runs, are in the share of the time in which runs
were under way. `earlier_runs` reads the sessions below a folder of reports, whose files are untrusted: what
cannot be read counts as absent. Nothing fails.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.files import read_json, read_start
from benchgate.run.record import RUN

OVERDUE = 0.1
"""A run that takes longer than expected is expected to need this share of its length more."""
RECENT = 6
"""So many runs are the last ones."""
_MOST_FILES = 2_000
_MOST_BYTES = 1 << 20
Run = tuple[str, str]
"""A cell, and a run of it."""


@dataclass(frozen=True, slots=True)
class Left:
    seconds: float
    is_known: bool
    """False if runs are to come of whose length nothing is known: it is guessed."""


@dataclass
class Forecast:
    earlier: Mapping[str, float] = field(default_factory=dict)
    """Seconds of a run of a cell, as far as earlier sessions know them."""
    _expected: Counter[str] = field(default_factory=Counter)
    _under_way: dict[Run, float] = field(default_factory=dict)
    """When these runs began."""
    _took: dict[str, list[float]] = field(default_factory=dict)
    _recent: deque[tuple[str, float]] = field(default_factory=lambda: deque(maxlen=RECENT))
    _began_s: float | None = None

    def expect(self, cell: str, runs: int) -> None:
        """Adds expected runs; an empty `cell` is any."""
        self._expected[cell] += runs

    def forget(self, cells: Iterable[str]) -> int:
        """Takes the runs of these cells as not coming; gives how many there were."""
        return sum(max(0, self._expected.pop(cell, 0)) for cell in cells)

    def begin(self, run: Run, now_s: float) -> None:
        """The same run can begin only once."""
        self._under_way.setdefault(run, now_s)
        if self._began_s is None:
            self._began_s = now_s

    def end(self, run: Run, now_s: float) -> None:
        """A run that did not begin, because an earlier session made it, says nothing about others."""
        cell = run[0]
        self._expected[self._kind(cell)] -= 1
        if run in self._under_way:
            took_s = now_s - self._under_way.pop(run)
            self._took.setdefault(cell, []).append(took_s)
            self._recent.append((cell, took_s))

    def _kind(self, cell: str) -> str:
        """As what the next run of the cell is expected: as its own, or as any."""
        return cell if self._expected[cell] > 0 else ""

    def left(self, now_s: float) -> Left | None:
        """None as long as nothing is known of any run that is to come."""
        lengths = self._lengths()
        if self._began_s is None or not lengths or now_s <= self._began_s:
            return None
        guess = sum(lengths.values()) / len(lengths)
        last = [took_s for _, took_s in self._recent] or list(lengths.values())
        lengths[""] = sum(last) / len(last)
        busy = sum(sum(times) for times in self._took.values())
        begun: Counter[str] = Counter()
        rests: list[float] = []
        for (cell, _), since in self._under_way.items():
            kind, passed = self._kind(cell), now_s - since
            length = lengths.get(cell, lengths.get(kind, guess))
            busy += passed
            rests.append(max(length - passed, OVERDUE * length))
            begun[kind] += 1
        coming = {cell: runs - begun[cell] for cell, runs in self._expected.items() if runs > begun[cell]}
        for cell, runs in coming.items():
            rests += [lengths.get(cell, guess)] * runs
        if not rests:
            return None
        together = sum(rests) * (now_s - self._began_s) / busy if busy else 0.0
        return Left(max(together, *rests), coming.keys() | begun.keys() <= lengths.keys())

    def _lengths(self) -> dict[str, float]:
        """Seconds of a run of each cell of which something is known."""
        means = {cell: sum(times) / len(times) for cell, times in self._took.items()}
        known = [(cell, took_s) for cell, took_s in self._recent if len(self._took[cell]) > 1]
        usual = sum(means[cell] for cell, _ in known)
        pace = sum(took_s for _, took_s in known) / usual if usual else 1.0
        here = {cell: mean * pace for cell, mean in means.items()}
        both = here.keys() & self.earlier.keys()
        past = sum(self.earlier[cell] for cell in both)
        scale = sum(here[cell] for cell in both) / past if past else 1.0
        wanted = (cell for cell in self._expected if cell in self.earlier)
        return {cell: self.earlier[cell] * scale for cell in wanted} | here


def earlier_runs(reports: Path) -> dict[str, float]:
    """Seconds of a run of each cell, from the newest session that has this cell."""
    found: dict[str, float] = {}
    left = _MOST_FILES
    for session in sorted(_inside(reports / "runs"), reverse=True):  # a session's name begins with its time
        seen: dict[str, list[float]] = {}
        for folder in _inside(session / "runs"):
            left -= 1
            span = _span_s(folder / RUN)
            if span:
                seen.setdefault(folder.name.partition("-")[2], []).append(span)
        found = {cell: sum(spans) / len(spans) for cell, spans in seen.items()} | found
        if left <= 0:
            break
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _span_s(path: Path) -> float:
    """The length of a run by the host's clock; 0 if it is unknown."""
    with contextlib.suppress(OSError, ValueError):
        facts = read_json(read_start(path, _MOST_BYTES))
        span = facts.get("host_span_ns") if isinstance(facts, dict) else None
        if type(span) is int and 0 < span < 1 << 62:
            return span / 1e9
    return 0.0
