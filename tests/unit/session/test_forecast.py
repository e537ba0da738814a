"""The time left, in sessions that are played by a clock of their own: runs side by side, rows of unequal
length."""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchgate.session.forecast import Forecast, Left, earlier_runs

ROWS = {"short": 2.0, "usual": 8.0, "long": 60.0}
CPUS = (1, 2, 4)


def cells(seconds: Mapping[str, float]) -> dict[str, float]:
    return {f"{row}-linux-smp{cpus}": length for row, length in seconds.items() for cpus in CPUS}


GATE = {
    "primes": "2:18 2:17 4:21 1:14 1:14 4:28 2:24 2:26 4:21 1:22 1:20 4:29 2:23 2:25 4:26 1:11",
    "primes.split-one": "2:20 1:15 1:17 2:20 2:18 1:18 1:19 2:24 2:22 1:15",
    "checksum": "2:24 2:30 4:25 1:20 1:18 4:28 2:22 2:23 4:24 1:21 1:19 4:31 2:27 2:23 4:26 1:12",
    "checksum.split-one": "2:21 1:18 1:19 2:22 2:21 1:18 1:13 2:15 2:17 1:15",
}
"""What the 52 runs of `./run gate` took, two at once: CPUs and seconds, at a load of 9 to 15."""
Runs = Sequence[tuple[str, float]]
"""Cells and seconds."""


def recorded_rows(pace: float = 1.0) -> list[Runs]:
    rows = [[(row, run.partition(":")) for run in runs.split()] for row, runs in GATE.items()]
    return [[(f"{row}-linux-smp{cpus}", float(s) * pace) for row, (cpus, _, s) in runs] for runs in rows]


def mean_lengths(rows: Sequence[Runs]) -> dict[str, float]:
    took: dict[str, list[float]] = {}
    for cell, length in itertools.chain.from_iterable(rows):
        took.setdefault(cell, []).append(length)
    return {cell: sum(times) / len(times) for cell, times in took.items()}


def played(rows: Sequence[Runs], *, at_once: int, earlier: Mapping[str, float]) -> list[tuple[Left, float]]:
    """Each time left that was forecast while that was at least a tenth of the session, and its ratio to the
    true one. Rows come one after the other."""
    forecast = Forecast(earlier)
    for cell, runs in Counter(cell for row in rows for cell, _ in row).items():
        forecast.expect(cell, runs)
    now, seen = 100.0, []
    for row in rows:
        waiting = [((cell, str(n)), length) for n, (cell, length) in enumerate(row)]
        under_way: list[tuple[float, tuple[str, str]]] = []
        while waiting or under_way:
            while waiting and len(under_way) < at_once:
                run, length = waiting.pop(0)
                forecast.begin(run, now)
                heapq.heappush(under_way, (now + length, run))
            end, run = heapq.heappop(under_way)
            for part in (0.25, 0.5, 0.75):
                at = now + (end - now) * part
                seen.append((at, forecast.left(at)))
            now = end
            forecast.end(run, now)
            seen.append((now, forecast.left(now)))
    whole = now - 100.0
    return [(left, left.seconds / (now - at)) for at, left in seen if left and now - at > whole / 10]


def ratios(
    lengths: Mapping[str, float], runs: int, *, at_once: int, earlier: Mapping[str, float], load: float = 1.0
) -> list[float]:
    """Of each time left that is no guess. A run lasts between 0.9 and 1.1 of its length, times the load."""
    draw = random.Random(1)
    rows = [
        [(cell, lengths[cell] * load * draw.uniform(0.9, 1.1)) for cell in [*row] * runs]
        for _, row in itertools.groupby(lengths, key=lambda cell: cell.partition("-")[0])
    ]
    return [ratio for left, ratio in played(rows, at_once=at_once, earlier=earlier) if left.is_known]


def seconds_left(forecast: Forecast, now_s: float) -> float:
    left = forecast.left(now_s)
    assert left is not None
    assert left.is_known
    return left.seconds


def is_right(found: Sequence[float]) -> bool:
    return bool(found) and all(1 / 1.5 < ratio < 1.5 for ratio in found)


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("load", [0.2, 1.0, 30.0])
def test_what_earlier_sessions_took_is_right_whatever_the_load_is_now(at_once: int, load: float) -> None:
    lengths = cells(ROWS)
    found = ratios(lengths, 5, at_once=at_once, earlier=lengths, load=load)
    known = [ratio * load for ratio in found[:3]] + found[at_once * 4 :]  # the first run shows the load
    assert is_right(known)


UNLIKE = {"short": 0.5, "usual": 8.0, "gigantic": 600.0}


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("order", list(itertools.permutations(UNLIKE)))
def test_without_earlier_sessions_no_row_is_taken_to_be_like_another(
    at_once: int, order: tuple[str, ...]
) -> None:
    found = ratios(cells({row: UNLIKE[row] for row in order}), 5, at_once=at_once, earlier={})
    assert all(1 / 1.5 < ratio < 1.5 for ratio in found)


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_one_row_is_known_after_one_run_at_each_number_of_cpus(at_once: int) -> None:
    found = ratios(cells({"a": 8.0}), 12, at_once=at_once, earlier={})
    assert is_right(found)
    assert len(found) > 60


@pytest.mark.parametrize("pace", [0.2, 1.0, 4.0])
def test_the_first_gate_of_a_clone_knows_from_its_first_runs_how_long_it_lasts(pace: float) -> None:
    found = [ratio for _, ratio in played(recorded_rows(pace), at_once=2, earlier={})]
    assert is_right(found)
    assert len(found) > 150


@pytest.mark.parametrize("pace", [0.2, 1.0, 4.0])
def test_a_gate_after_one_at_another_load_is_right_as_soon_as_a_run_has_ended(pace: float) -> None:
    found = played(recorded_rows(), at_once=2, earlier=mean_lengths(recorded_rows(pace)))
    assert is_right([ratio for _, ratio in found[4:]])
    assert all(left.is_known for left, _ in found)


def test_a_row_of_which_nothing_is_known_is_guessed_to_be_like_the_others() -> None:
    forecast = Forecast()
    for cell in ("a-smp1", "b-smp1"):
        forecast.expect(cell, 2)
    forecast.begin(("a-smp1", "seed 1"), 0.0)
    forecast.end(("a-smp1", "seed 1"), 10.0)
    assert forecast.left(10.0) == Left(30.0, is_known=False)
    forecast.begin(("a-smp1", "seed 2"), 10.0)
    forecast.end(("a-smp1", "seed 2"), 20.0)
    assert forecast.left(20.0) == Left(20.0, is_known=False)
    forecast.begin(("b-smp1", "seed 1"), 20.0)
    forecast.end(("b-smp1", "seed 1"), 220.0)
    assert forecast.left(220.0) == Left(200.0, is_known=True)


def test_runs_that_are_expected_of_no_cell_are_like_the_last_ones() -> None:
    forecast = Forecast()
    forecast.expect("", 4)
    forecast.begin(("a-smp1", "seed 1"), 0.0)
    forecast.end(("a-smp1", "seed 1"), 10.0)
    forecast.begin(("b-smp1", "seed 2"), 10.0)
    assert forecast.left(12.0) == Left(28.0, is_known=True)


def test_a_load_that_halves_is_followed_by_the_time_left() -> None:
    """Eight runs of a cell take 20 s, the next six 10 s, as the 26 that are to come do. By the mean of all
    fourteen they would take 409 s."""
    forecast = Forecast()
    forecast.expect("a-smp1", 40)
    now = 0.0
    for n, length in enumerate([20.0] * 8 + [10.0] * 6):
        forecast.begin(("a-smp1", str(n)), now)
        now += length
        forecast.end(("a-smp1", str(n)), now)
    assert seconds_left(forecast, now) == pytest.approx(260, rel=0.3)


def test_only_the_cells_that_are_to_come_count() -> None:
    other = {"gigantic-linux-smp1": 100_000.0}
    found = ratios(
        cells({"a": 8.0, "b": 8.0}), 4, at_once=2, earlier={**other, **cells({"a": 16.0, "b": 16.0})}
    )
    assert is_right(found[8:])


def test_nothing_is_said_before_anything_is_known() -> None:
    forecast = Forecast()
    forecast.expect("a-smp1", 3)
    assert forecast.left(1.0) is None
    forecast.begin(("a-smp1", "seed 1"), 2.0)
    assert forecast.left(60.0) is None
    forecast.end(("a-smp1", "seed 1"), 62.0)
    assert seconds_left(forecast, 62.0) == pytest.approx(120.0)


def test_runs_that_an_earlier_session_made_say_nothing() -> None:
    """They take no time, and a resumed session has many of them."""
    forecast = Forecast()
    forecast.expect("a-smp1", 10)
    for n in range(5):
        forecast.end(("a-smp1", f"seed {n}"), 1.0)
    assert forecast.left(1.0) is None
    forecast.begin(("a-smp1", "seed 6"), 1.0)
    forecast.end(("a-smp1", "seed 6"), 11.0)
    assert seconds_left(forecast, 11.0) == pytest.approx(40.0)


def test_a_run_that_takes_longer_than_all_others_is_not_forgotten() -> None:
    forecast = Forecast()
    forecast.expect("a-smp1", 2)
    forecast.begin(("a-smp1", "seed 1"), 0.0)
    forecast.end(("a-smp1", "seed 1"), 10.0)
    forecast.begin(("a-smp1", "seed 2"), 10.0)
    assert seconds_left(forecast, 100.0) == pytest.approx(1.0)


def recorded(reports: Path, session: str, number: int, cell: str, content: object) -> None:
    folder = reports / "runs" / session / "runs" / f"{number:04d}-{cell}"
    folder.mkdir(parents=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "run.json").write_text(text)


def test_the_newest_session_with_a_cell_says_how_long_its_runs_take(tmp_path: Path) -> None:
    recorded(tmp_path, "20260101T000000Z-aaaa", 1, "a-linux-smp1", {"host_span_ns": 9_000_000_000})
    recorded(tmp_path, "20260101T000000Z-aaaa", 2, "b-linux-smp1", {"host_span_ns": 3_000_000_000})
    recorded(tmp_path, "20260102T000000Z-aaaa", 1, "a-linux-smp1", {"host_span_ns": 1_000_000_000})
    recorded(tmp_path, "20260102T000000Z-aaaa", 2, "a-linux-smp1", {"host_span_ns": 2_000_000_000})
    assert earlier_runs(tmp_path) == {"a-linux-smp1": 1.5, "b-linux-smp1": 3.0}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "\x00", "1" * 10_000, {}, {"host_span_ns": None}, {"host_span_ns": "5"},
    {"host_span_ns": True}, {"host_span_ns": -5}, {"host_span_ns": 1 << 80}, {"host_span_ns": 1e9}, "[" *
    100_000],
)  # fmt: skip
def test_a_record_that_cannot_be_read_counts_as_absent(tmp_path: Path, content: object) -> None:
    recorded(tmp_path, "20260101T000000Z-aaaa", 1, "a-linux-smp1", content)
    recorded(tmp_path, "20260101T000000Z-aaaa", 2, "b-linux-smp1", {"host_span_ns": 3_000_000_000})
    assert earlier_runs(tmp_path) == {"b-linux-smp1": 3.0}


def test_a_folder_without_sessions_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    assert earlier_runs(tmp_path) == {}
    assert earlier_runs(tmp_path / "nowhere") == {}
