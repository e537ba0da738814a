"""Shows the progress of a session: one live line on a terminal, plain lines otherwise.

Takes facts (cell, run k of n, phase, figure); writes text to a stream. While a run is under way, a thread
keeps the live line up to date; otherwise it writes a plain line where there was none for half a minute. Does
not fail: if the stream is closed, only the display ends.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import StringIO
from typing import TextIO

from benchgate.base.runs import Outcome
from benchgate.base.system.machines import unit_on
from benchgate.base.text import visible
from benchgate.judge.judged_run import JudgedRun
from benchgate.render.tables import units
from benchgate.run.guest import ENDED, PHASES
from benchgate.session.forecast import Forecast

PARTS = 20
_LIVE_S, _QUIET_S = 1.0, 30.0
"""How often the live line is written again, and how long no plain line may be written."""


def seconds(value: float) -> str:
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@dataclass
class Progress:
    """`total` runs are expected."""

    stream: TextIO
    live: bool
    total: int = 0
    done: int = 0
    end_line: Callable[[], None] | None = None
    """Ends a line that another writer, such as pytest, has begun on the terminal."""
    forecast: Forecast = field(default_factory=Forecast)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Guests that run in parallel report from several threads."""
    _shown: bool = False
    _now: str = ""
    """What happens now; empty after `close`."""
    _told: set[tuple[str, str, str]] = field(default_factory=set)
    _wrote_s: float = 0.0
    _ticker: threading.Thread | None = None

    def expect(self, runs: int, cell: str = "") -> None:
        """Adds expected runs; fewer, if `runs` is negative."""
        self.total += runs
        self.forecast.expect(cell, runs)

    def forget(self, cells: Iterable[str]) -> None:
        """The runs of these cells that are still expected will not be made."""
        self.total -= self.forecast.forget(cells)

    def stage(self, text: str) -> None:
        """What happens before the first run, or between runs."""
        with self._lock:
            self._show(visible(text))

    def phase(self, cell: str, run: str, phase: str) -> None:
        """The current phase of a run. A terminal shows it; else a phase that is news has a line, once."""
        with self._lock:
            if phase != ENDED:
                self.forecast.begin((cell, run), time.monotonic())
            self._show(visible(f"{cell} {run}: {phase}"))
            if not self.live and phase not in PHASES and (cell, run, phase) not in self._told:
                self._told.add((cell, run, phase))
                self.note(f"{cell} {run}: {phase}")

    def note(self, text: str) -> None:
        """Writes a line that is not overwritten."""
        with self._lock:
            self._clear()
            self._write(f"benchgate: {visible(text)}\n")

    def ended(self, cell: str, run: str, figure: str, *, is_news: bool = True) -> None:
        """Runs that are no news have a line only at every twentieth part of all."""
        with self._lock:
            self.done += 1
            self.forecast.end((cell, run), time.monotonic())
            text = visible(f"{cell} {run}: {figure}")
            self._show(text)
            if self.done >= self.total and not self.live:
                self._now = ""
            if not self.live and (is_news or self.done % max(1, self.total // PARTS) == 0):
                self._write(f"benchgate: [{self.done}/{self.total}] {text}{self._left()}\n")

    def close(self) -> None:
        """Until the next fact, others write to the terminal."""
        with self._lock:
            self._now = ""  # ends the ticker
            self._clear()

    def tick(self) -> bool:
        """Called from time to time; False if nothing is under way any more."""
        with self._lock:
            if not self._now:
                self._ticker = None
                return False
            if self.live:
                self._draw()
            elif time.monotonic() - self._wrote_s >= _QUIET_S:
                self._write(f"benchgate: {self._place()}{self._now}{self._left()}\n")
            return True

    def _show(self, text: str) -> None:
        self._wrote_s = self._wrote_s or time.monotonic()
        self._now = text
        if self.live:
            self._draw()
        if self._ticker is None:
            act = weakref.WeakMethod(self.tick)
            self._ticker = threading.Thread(target=_tick, args=(act,), name="benchgate-progress", daemon=True)
            self._ticker.start()

    def _draw(self) -> None:
        self._write(f"\r\x1b[K{self._fit(self._place(), self._now, self._left())}")
        self._shown = True

    def _place(self) -> str:
        """A profile's boot follows the last run."""
        return f"[{min(self.done + 1, self.total)}/{self.total}] " if self.total else ""

    def _left(self) -> str:
        left = self.forecast.left(time.monotonic()) if self.done < self.total else None
        if left is None:
            return ""
        return f" ({'about' if left.is_known else 'perhaps'} {seconds(left.seconds)} left)"

    def _clear(self) -> None:
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _fit(self, place: str, text: str, left: str) -> str:
        """Place and time are always whole; what happens now is cut, if the terminal is too narrow for all."""
        columns = self._columns() - 1
        room = max(0, columns - len(place) - len(left))
        shown = text if len(text) <= room else f"{text[: max(0, room - 3)]}..."[:room]
        return f"{place}{shown}{left}"[:columns]

    def _columns(self) -> int:
        """The width of the terminal that is written to, which may have changed; pytest changes COLUMNS."""
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or shutil.get_terminal_size().columns
        except (OSError, ValueError):
            return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        if self.end_line is not None and not self._shown:
            self.end_line()
        self._wrote_s = time.monotonic()
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            self.live = False


def _tick(act: weakref.WeakMethod[Callable[[], bool]]) -> None:
    """Calls it again and again, as long as it gives True and its object exists."""
    while True:
        time.sleep(_LIVE_S)
        call = act()
        if call is None or not call():
            return
        del call


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
