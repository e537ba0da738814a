"""Shows the progress of a session: one live line on a terminal, plain lines otherwise.

Takes facts (cell, run k of n, phase, figure); writes text to a stream. Does not fail: if the stream is
closed, only the display ends.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from typing import TextIO

from benchgate.base.runs import Outcome
from benchgate.base.system.machines import unit_on
from benchgate.base.text import visible
from benchgate.judge.judged_run import JudgedRun
from benchgate.render.tables import units
from benchgate.run.guest import PHASES

PARTS = 20


def seconds(value: float) -> str:
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@dataclass
class Progress:
    """`total` runs are expected. The time left is estimated from the runs so far."""

    stream: TextIO
    live: bool
    total: int = 0
    done: int = 0
    end_line: Callable[[], None] | None = None
    """Ends a line that another writer, such as pytest, has begun on the terminal."""
    _began_s: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guests that run in parallel report from several threads."""
    _shown: bool = False
    _told: set[tuple[str, str, str]] = field(default_factory=set)

    def expect(self, runs: int) -> None:
        """Adds expected runs; fewer, if `runs` is negative. The first call starts the clock, so that waiting
        before it does not count."""
        if not self.total:
            self._began_s = time.monotonic()
        self.total += runs

    def phase(self, cell: str, run: str, phase: str) -> None:
        """The current phase of a run. A terminal shows it; else a phase that is news has a line, once."""
        if self.live:
            place = min(self.done + 1, self.total)  # a profile's boot follows the last run
            text = f"[{place}/{self.total}] {visible(f'{cell} {run}: {phase}')}{self._left()}"
            self._write(f"\r\x1b[K{self._fit(text)}")
            self._shown = True
        elif phase not in PHASES and (cell, run, phase) not in self._told:
            self._told.add((cell, run, phase))
            self.note(f"{cell} {run}: {phase}")

    def note(self, text: str) -> None:
        """Writes a line that is not overwritten."""
        self._clear()
        self._write(f"benchgate: {visible(text)}\n")

    def ended(self, cell: str, run: str, figure: str, *, is_news: bool = True) -> None:
        """Runs that are no news have a line only at every twentieth part of all."""
        self.done += 1
        if self.live:
            self.phase(cell, run, figure)
        elif is_news or self.done % max(1, self.total // PARTS) == 0:
            text = visible(f"{cell} {run}: {figure}")
            self._write(f"benchgate: [{self.done}/{self.total}] {text}{self._left()}\n")

    def close(self) -> None:
        self._clear()

    def _left(self) -> str:
        if not self.done or self.done >= self.total:
            return ""
        each = (time.monotonic() - self._began_s) / self.done
        return f" (about {seconds(each * (self.total - self.done))} left)"

    def _clear(self) -> None:
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _fit(self, text: str) -> str:
        return text[: shutil.get_terminal_size().columns - 1]

    def _write(self, text: str) -> None:
        if self.end_line is not None and not self._shown:
            self.end_line()
        try:
            with self._lock:
                self.stream.write(text)
                self.stream.flush()
        except (OSError, ValueError):
            self.live = False


def on_stderr(*, is_alone: bool = True) -> Progress:
    """Writes to standard error, if that is open. What others write to as well gets no live line."""
    live = is_alone and sys.stderr is not None and sys.stderr.isatty()
    return Progress(sys.stderr or StringIO(), live=live)


def figure(judged: JudgedRun) -> str:
    """The text of the progress line for a run that has ended."""
    if judged.verified is None:
        return f"{judged.outcome.upper()}: {judged.reason}"
    if judged.outcome is Outcome.VOID:
        return f"VOID, to be made again: {judged.reason}"
    unit = unit_on(judged.run.cell.system, judged.verified.unit)
    shown = units.shown(judged.verified.work, unit)
    return f"{shown}, verified" + (f" ({judged.outcome})" if judged.run.warmup else "")
