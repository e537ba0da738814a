"""What is wrong with one YAML file: each problem with its line and key.

Takes the problems as base/yamlfile.py finds them; gives the text of one error that lists all. Nothing fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.base.text import one_line

_QUOTED = re.compile(r"`([^`]{201,})`")


def shortened(key: str, problem: str) -> str:
    """`KEY: PROBLEM` without a key or a quoted value of pages. A command or a pattern stays whole."""
    return f"{one_line(key)}: {_QUOTED.sub(lambda found: f'`{one_line(found[1], 60)}`', problem)}"


@dataclass(slots=True)
class Problems:
    """What is wrong with one file. `collected` is None while the first problem raises at once."""

    collected: list[tuple[int, str, str]] | None = None
    """Line, key and problem; each key at most once, because a second problem may come from the stand-in."""
    guessed: list[str] = field(default_factory=list)
    """Prefixes of the sections in which a choice was refused. It may decide which other keys there are, so
    unknown ones are not reported there."""

    def add(self, line: int, key: str, problem: str) -> bool:
        """False if problems are not collected."""
        if self.collected is None:
            return False
        if not self.has(key):
            self.collected.append((line, key, problem))
        return True

    def has(self, key: str) -> bool:
        return any(key == known for _, known, _ in self.collected or ())

    def text(self, path: Path) -> str:
        lines = [
            f"{path}:{line}: {shortened(key, problem)}" for line, key, problem in sorted(self.collected or [])
        ]
        return lines[0] if len(lines) == 1 else "\n  ".join([f"{path}: {len(lines)} problems:", *lines])
