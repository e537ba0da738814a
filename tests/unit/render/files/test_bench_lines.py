"""bench-lines.txt: operations as Kevlar's runner reads them."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.gates import Word
from benchgate.judge.console import bench_lines as format_of
from benchgate.render.files import bench_lines
from tests.unit.evidence.test_figures_file import micro
from tests.unit.factories import scaled_view, view


def test_the_median_of_each_operation() -> None:
    text = bench_lines.render(view(*micro("linux", [264.0, 250.0, 270.5]), *micro("linux", [9.5], op="stat")))
    assert text == (
        "BENCH_START linux-tcg-smp1\nBENCH getpid 1000 264000 264\nBENCH stat 1000 9500 9\nBENCH_END\n"
    )
    assert set(format_of.parse(text).measured) == {"getpid", "stat"}


def test_a_skipped_operation_has_its_reason() -> None:
    skipped = replace(
        scaled_view().verdicts[0],
        gate="verified",
        outcome=Word.SKIP,
        workload="micro",
        params=(("op", "pipe"),),
        cpus=1,
        reason="SKIP: no channel",
    )
    text = bench_lines.render(view(*micro("linux", [264.0]), verdicts=[skipped]))
    assert text is not None
    assert format_of.parse(text).skipped == {"pipe": "SKIP: no channel"}


def test_a_session_that_is_not_complete_has_no_end() -> None:
    text = bench_lines.render(view(*micro("linux", [264.0]), state="partial"))
    assert text == "BENCH_START linux-tcg-smp1\nBENCH getpid 1000 264000 264\n"


def test_a_session_without_operations_has_no_such_file() -> None:
    assert bench_lines.render(scaled_view()) is None
