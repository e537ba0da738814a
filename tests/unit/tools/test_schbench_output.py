"""Outputs of a schbench program, as it printed them on 2026-11-23 on a busy host, and what cannot be right in
them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.schbench_output import REQUEST, RPS, WAKEUP, read_json_output, read_text

DATA = Path(__file__).parents[2] / "data" / "schbench"


def text(name: str) -> str:
    return (DATA / name).read_text()


def test_the_last_report_of_the_text_counts() -> None:
    output = read_text(text("load.txt"))
    wakeup, request, rps = (output.figures[name] for name in (WAKEUP, REQUEST, RPS))
    assert (wakeup.at[50.0], wakeup.at[99.0], wakeup.min, wakeup.max) == (1570, 11728, 2, 17605)
    assert (wakeup.samples, wakeup.counted[90.0]) == (1342, 537)
    assert (request.at[99.9], request.max) == (26656, 32636)
    assert (rps.at[20.0], rps.min, rps.max) == (0, 407, 479)
    assert output.average_rps == 447.33


def test_transfers_have_a_rate_and_wake_ups_only() -> None:
    output = read_text(text("pipe.txt"))
    assert list(output.figures) == [WAKEUP]
    assert output.figures[WAKEUP].at[99.0] == 981
    assert output.average_rps == 7270.83


@pytest.mark.parametrize("name", ["load", "pipe", "rps"])
def test_json_and_text_of_a_run_agree(name: str) -> None:
    printed, stored = read_text(text(f"{name}.txt")), read_json_output(text(f"{name}.json"))
    assert list(stored.figures) == list(printed.figures)
    for kind, figures in printed.figures.items():
        same = stored.figures[kind]
        assert {at: same.at[at] for at in figures.at} == figures.at
        assert (same.min, same.max) == (figures.min, figures.max)


def test_a_percentile_above_the_maximum_and_a_first_sample_of_0_are_doubted() -> None:
    doubts = list(read_text(text("rps.txt")).doubts())
    assert "wakeup: percentile 99.9 is 920576, above the maximum 919703" in doubts
    assert "rps: a percentile is 0, below the minimum 99" in doubts
    assert list(read_text(text("pipe.txt")).doubts()) == []


def test_more_samples_in_the_percentiles_than_there_are_is_doubted() -> None:
    doubts = read_text(text("pipe.txt").replace("14420 total", "14000 total")).doubts()
    assert list(doubts) == ["wakeup: its percentiles have 14406 samples, but there are 14000"]


@pytest.mark.parametrize("line", ["setting worker threads to 2\n", "", "current rps: 3.0\n"])
def test_text_without_a_report_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="there is no report of schbench in this text"):
        read_text(line)


@pytest.mark.parametrize(
    ("json", "reason"),
    [
        ("{}", "it has no object `int`"),
        ("[]", "it has no object `int`"),
        ('{"int": {"runtime": 3}}', "there is no report of schbench in this JSON"),
        ('{"int": {"wakeup_latency_pct50.0": 3, "wakeup_latency_min": 1}}', "there is no report"),
        ('{"int": {}, "int": {}}', "duplicate key 'int'"),
        ("wakeup", "Expecting value"),
    ],
)
def test_other_json_is_refused(json: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_json_output(json)
