"""The table of moved lines: what is shown, what is left out, and how both are said."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.render.tables.shared_lines import text
from tests.unit.moved_lines import sharing


def test_the_lines_that_moved_most_are_shown_with_a_sentence_each() -> None:
    lines = text(sharing())
    (counters,) = (line for line in lines if line.startswith("counters "))
    # 400 within a cluster, 1000 + 1100 + 1200 + 1300 across; four CPUs, 5,000 reads and writes each.
    assert counters.split() == ["counters", "0x404000", "5,000", "400", "4,600", "0", "20,000", "20,000"]
    said = [line for line in lines if "one line of" in line]
    assert said[0].endswith("CPU 3 writes bytes 24-31 of one line of `counters`: false sharing")
    assert said[1] == "CPUs 0-3 write bytes 0-3 of one line of `big_lock`: true sharing"
    assert len(said) == 3  # the third in any case, the others moved once each
    assert lines[-1].startswith("8 lines of 64 bytes moved in the window, 5245 times in all; ")


def test_dropped_lines_are_said() -> None:
    lines = text(replace(sharing(), dropped=70, dropped_moves=2))
    assert re.search("70 lines more were dropped .* more than 2 times", lines[-1])


def test_a_window_without_moves_is_said() -> None:
    assert text(replace(sharing(), lines=(), known=0)) == [
        "no line of memory moved between CPUs in the window"
    ]
