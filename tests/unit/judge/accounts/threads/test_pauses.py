"""Waits and idleness of a schedule are worked out once, whoever asks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchgate.judge.accounts.threads import pauses
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles
from tests.unit.factories import cell, raw_run

EVENTS = """insn-threads 1
vcpus 2
fork 0 10 1 0 61
fork 0 20 2 0 62
wake 0 30 1 0 - -
switch 0 40 0 r 1 -
open 100
wake 0 1000 2 0 - -
switch 0 3000 1 b 2 -
close 9000
end 9000
"""


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    (tmp_path / THREAD_EVENTS).write_text(EVENTS, encoding="ascii")
    return RunFiles(raw_run(cell(2), folder=tmp_path))


def test_books_and_checks_of_one_run_share_them(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()

    def counted(name: str) -> None:
        real = getattr(pauses, name)

        def work_out(schedule: Any) -> Any:
            made[name] += 1
            return real(schedule)

        monkeypatch.setattr(pauses, name, work_out)

    counted("find_waits")
    counted("find_idleness")
    books, found = books_of_run(files), files.pauses
    assert books is not None
    assert found is not None
    for _ in range(2):
        assert [(one.begin, one.end) for one in found.waits] == [(1000, 3000)]
        assert [(one.cpu, one.begin, one.end) for one in found.wasted] == [(1, 1000, 3000)]
        assert found.excused == ()
    assert (books.wait_lengths, books.wasted) == ((2000,), found.wasted)
    assert made == {"find_waits": 1, "find_idleness": 1}
