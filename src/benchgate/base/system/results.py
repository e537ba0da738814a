"""Types for how a system prints its figures and answers. plan/systemfile/result.py reads it.

Takes the values of `result`; gives them as frozen types. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ResultFormat(StrEnum):
    BENCH = "bench"  # `benchgate docs wire`
    PATTERNS = "patterns"
    BENCH_LINES = "bench-lines"  # judge/console/bench_lines.py


@dataclass(frozen=True, slots=True)
class ResultPattern:
    """The pattern of one figure on a console that does not use the wire format."""

    begins: str
    """Matches the line that the guest prints when the figure's time begins; or TYPED."""
    regex: str
    unit: str
    """One of UNITS. If it is ticks, the time of a tick is known."""
    shift: int = 0
    hz: float = 0.0
    """How many ticks or cycles are one second; 0 if unknown, or if the unit says it."""
    step: float = 0.0
    """The smallest difference of two figures, in `unit`; at least one in the last printed digit."""


@dataclass(frozen=True, slots=True)
class LineWindow:
    """A window from one line of the console to another. Only the instruction clock times lines."""

    begins: str
    """A pattern for the line at which the window begins, or TYPED."""
    ends: str


@dataclass(frozen=True, slots=True)
class MarkWindow:
    """A window between the marks that the guest's programs execute (guest/bench.h)."""


TYPED = "typed"
"""This word, in place of a pattern, begins a window when the guest has echoed the line typed last."""
WindowSource = ResultPattern | LineWindow | MarkWindow
UNITS = ("ns", "us", "ms", "s", "ticks", "cycles")


@dataclass(frozen=True, slots=True)
class ResultDefinition:
    format: ResultFormat = ResultFormat.BENCH
    system: str = ""
    """The system's name on the begin line; empty for the name in its YAML file."""
    counts_foreign: bool = True
    """Whether it measures foreign CPU time in its window. If so, it must not report `na`."""
    work: WindowSource | None = None
    total: WindowSource | None = None
    expect: Mapping[str, str] | None = None
    """The value that each named group must have: the oracle of a self-test."""
    answers: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    """What a program of micro-benchmarks must measure or skip; each is a metric, in ns."""

    @property
    def figures(self) -> Mapping[str, ResultPattern]:
        """The windows whose lengths the guest prints."""
        windows = {"work": self.work, "total": self.total}
        return {name: window for name, window in windows.items() if isinstance(window, ResultPattern)}

    @property
    def is_marked(self) -> bool:
        """Whether its window lies between marks."""
        return self.format is ResultFormat.BENCH or isinstance(self.work, MarkWindow)

    @property
    def needs_clock(self) -> bool:
        """Whether only the instruction clock can time a window."""
        return any(isinstance(one, LineWindow | MarkWindow) for one in (self.work, self.total))
