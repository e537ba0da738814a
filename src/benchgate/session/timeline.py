"""Writes the trace of one run, for a viewer of traces.

Takes the folder of a run, of a session or of a replay, and where to write; gives what to print. Boots nothing
and changes nothing in the run's folder. Fails with EvidenceError if the folder has no run, and with
UsageError if the file exists or cannot be written.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import counted
from benchgate.judge.story import story
from benchgate.render.trace import trace
from benchgate.run.record import load


def write(folder: Path, out: Path) -> list[str]:
    told = story(load(folder))
    try:
        with out.open("x", encoding="ascii") as stream:
            stream.write(trace(told))
    except FileExistsError:
        raise UsageError(f"--out {out} already exists; it was not changed; name another file") from None
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written: {error.strerror}") from error
    spans, arrows = counted(len(told.spans), "span"), counted(len(told.arrows), "wake-up")
    return [
        f"{out}: {spans}, {arrows}, {counted(len(told.counters), 'sample')}; open it in Perfetto's viewer or "
        "chrome://tracing",
        *(f"note: {note}" for note in told.notes),
    ]
