"""The settings of a system: what a user may choose when it is named (`linux:kernel=PATH:arch=riscv64`).

Takes the values that plan/systemfile/settings.py has read; gives them as a frozen type. Nothing fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

WORKTREE = "worktree"
"""In place of a git revision: the files as they are in the folder now."""
_LONGEST = 24
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_SHOWN = 10
"""So many digits of a commit are in a name."""


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[str, str] = field(default_factory=dict)
    """Of every setting, with defaults filled in."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """Those whose value is the path of a file."""
    revision: str = ""
    """The one whose value is a git revision; empty if there is none."""

    @property
    def chosen(self) -> Mapping[str, str]:
        """Those that differ from their defaults."""
        return {name: value for name, value in self.values.items() if value != self.defaults[name]}

    def label(self, name: str) -> str:
        """A chosen value as part of a cell's name: a file by its base name, a commit by its first digits."""
        value = self.values[name]
        if name in self.files:
            return _UNSAFE.sub("_", PurePath(value).name)[:_LONGEST] or "file"
        if name == self.revision and _COMMIT.match(value):
            return value[:_SHOWN]
        return _UNSAFE.sub("_", value)[:_LONGEST] if name == self.revision else value
