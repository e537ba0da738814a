"""What the clock records of one run besides its log, each in a file of its own.

Takes the paths; gives the plugin's options. Plain data; does not fail.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Records:
    """None: not recorded. None of them changes what the guest sees, but each costs time on the host."""

    profile: Path | None = None
    """Instructions of the window by block of code (insn/profile.py)."""
    events: Path | None = None
    """Its turns, halts and wake-ups (insn/events.py)."""
    stacks: Path | None = None
    """Its instructions by call stack (insn/stacks.py)."""
    sharing: Path | None = None
    """The lines of memory that moved between CPUs (insn/sharing.py); only on a machine with memory."""

    window: tuple[int, int] | None = None
    """How many bytes the console has where the window of the profile and of the stacks begins, and where it
    ends: at ends of lines that the clock has logged. None: it lies between marks."""

    def options(self) -> dict[str, object]:
        """For the plugin."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        named["window"] = self.window and ":".join(map(str, self.window))
        return {name: value for name, value in named.items() if value is not None}


NO_RECORDS = Records()
