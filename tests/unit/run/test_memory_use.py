"""What is written of a guest's use of caches and memory, on a host that counts and on one that does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

from benchgate.host import resctrl
from benchgate.host.resctrl import MemoryCounters
from benchgate.run.memory_use import FILE, MemoryUse


class Counting:
    """Replaces a Group on a host that counts."""

    made: ClassVar[list[Counting]] = []

    def __init__(self, name: str, root: Path) -> None:
        del root
        self.name, self.why = name, ""
        self.threads: list[int] = []
        self.closed = False
        Counting.made = [self]

    def join(self, threads: list[int]) -> None:
        self.threads += threads

    def read(self) -> MemoryCounters:
        return MemoryCounters(7, 100, None)

    def close(self) -> None:
        self.closed = True


def test_every_moment_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.run.memory_use.Group", Counting)
    monkeypatch.setattr(resctrl, "last_cache_bytes", lambda pins: 8 << 20 if pins == (0,) else None)
    use = MemoryUse(os.getpid(), (0,), "abcd")
    use.note("ready")
    use.note("")
    use.keep(tmp_path)
    use.close()
    (group,) = Counting.made
    assert (group.name, group.closed) == ("benchgate-abcd", True)
    assert os.getpid() in group.threads
    sample = {"time_ns": 7, "held_bytes": 100, "moved_bytes": None}
    assert json.loads((tmp_path / FILE).read_text()) == {
        "why": "",
        "cache_bytes": 8 << 20,
        "samples": [{"moment": "ready", **sample}, {"moment": "", **sample}],
    }


def test_a_host_that_does_not_count_says_why(tmp_path: Path) -> None:
    use = MemoryUse(os.getpid(), (0,), "abcd", tmp_path / "resctrl")
    use.note("ready")
    use.keep(tmp_path)
    use.close()
    found = json.loads((tmp_path / FILE).read_text())
    assert found["samples"] == []
    assert "is not mounted" in found["why"]
