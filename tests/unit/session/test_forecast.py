"""The time left, in sessions that are played by a clock of their own: runs side by side, rows of unequal
length."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchgate.session.forecast import Forecast, earlier_runs

ROWS = {"short": 2.0, "usual": 8.0, "long": 60.0}
CPUS = (1, 2, 4)


def cells(seconds: Mapping[str, float]) -> dict[str, float]:
    return {f"{row}-linux-smp{cpus}": length for row, length in seconds.items() for cpus in CPUS}


def ratios(
    lengths: Mapping[str, float], runs: int, *, at_once: int, earlier: Mapping[str, float], load: float = 1.0
) -> list[float]:
    """Each time left that was forecast while at least a tenth of the session was to come, over the true one.
    Rows come one after the other; a run lasts between 0.9 and 1.1 of its length, times the load."""
    forecast = Forecast(earlier)
    draw = random.Random(1)
    for cell in lengths:
        forecast.expect(cell, runs)
    now, seen = 100.0, []
    for row in dict.fromkeys(cell.partition("-")[0] for cell in lengths):
        waiting = [(cell, f"seed {n}") for n in range(runs) for cell in lengths if cell.startswith(row)]
        under_way: list[tuple[float, tuple[str, str]]] = []
        while waiting or under_way:
            while waiting and len(under_way) < at_once:
                run = waiting.pop(0)
                forecast.begin(run, now)
                heapq.heappush(under_way, (now + lengths[run[0]] * load * draw.uniform(0.9, 1.1), run))
            end, run = heapq.heappop(under_way)
            for part in (0.25, 0.5, 0.75):
                at = now + (end - now) * part
                seen.append((at, forecast.left_s(at)))
            now = end
            forecast.end(run, now)
            seen.append((now, forecast.left_s(now)))
    whole = now - 100.0
    return [left / (now - at) for at, left in seen if left is not None and now - at > whole / 10]


def is_right(found: Sequence[float]) -> bool:
    return bool(found) and all(1 / 1.5 < ratio < 1.5 for ratio in found)


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("load", [0.2, 1.0, 30.0])
def test_what_earlier_sessions_took_is_right_whatever_the_load_is_now(at_once: int, load: float) -> None:
    lengths = cells(ROWS)
    found = ratios(lengths, 5, at_once=at_once, earlier=lengths, load=load)
    known = [ratio * load for ratio in found[:3]] + found[at_once * 4 :]  # the first run shows the load
    assert is_right(known)


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("runs", [4, 12])
def test_without_earlier_sessions_rows_are_taken_to_be_like_each_other(at_once: int, runs: int) -> None:
    found = ratios(cells({"a": 8.0, "b": 7.0, "c": 9.0}), runs, at_once=at_once, earlier={})
    assert is_right(found)
    assert len(found) > runs * len(CPUS)


def test_rows_of_unequal_length_are_wrong_without_what_earlier_sessions_took() -> None:
    """So the two tests above can fail."""
    assert not is_right(ratios(cells(ROWS), 5, at_once=1, earlier={}))


def test_a_load_that_halves_is_followed_by_the_time_left() -> None:
    """Eight runs of a cell take 20 s, the next six 10 s, as the 26 that are to come do. By the mean of all
    fourteen they would take 409 s."""
    forecast = Forecast()
    forecast.expect("a-smp1", 20)
    forecast.expect("b-smp1", 20)
    now = 0.0
    for n, length in enumerate([20.0] * 8 + [10.0] * 6):
        forecast.begin(("a-smp1", str(n)), now)
        now += length
        forecast.end(("a-smp1", str(n)), now)
    left = forecast.left_s(now)
    assert left is not None
    assert 260 / 1.5 < left < 260 * 1.5


def test_a_row_that_is_not_known_is_like_the_last_one_and_not_like_all() -> None:
    """Four runs of a long row, six of a short one, and ten to come of a third one that is as short."""
    forecast = Forecast()
    for cell, runs in (("a-smp1", 4), ("b-smp1", 6), ("c-smp1", 10)):
        forecast.expect(cell, runs)
    now = 0.0
    for cell, runs, length in (("a-smp1", 4, 40.0), ("b-smp1", 6, 10.0)):
        for n in range(runs):
            forecast.begin((cell, str(n)), now)
            now += length
            forecast.end((cell, str(n)), now)
    assert forecast.left_s(now) == pytest.approx(100.0)


def test_only_the_cells_that_are_to_come_count() -> None:
    other = {"gigantic-linux-smp1": 100_000.0}
    found = ratios(
        cells({"a": 8.0, "b": 8.0}), 4, at_once=2, earlier={**other, **cells({"a": 16.0, "b": 16.0})}
    )
    assert is_right(found[8:])


def test_nothing_is_said_before_anything_is_known() -> None:
    forecast = Forecast()
    forecast.expect("a-smp1", 3)
    assert forecast.left_s(1.0) is None
    forecast.begin(("a-smp1", "seed 1"), 2.0)
    assert forecast.left_s(60.0) is None
    forecast.end(("a-smp1", "seed 1"), 62.0)
    assert forecast.left_s(62.0) == pytest.approx(120.0)


def test_runs_that_an_earlier_session_made_say_nothing() -> None:
    """They take no time, and a resumed session has many of them."""
    forecast = Forecast()
    forecast.expect("a-smp1", 10)
    for n in range(5):
        forecast.end(("a-smp1", f"seed {n}"), 1.0)
    assert forecast.left_s(1.0) is None
    forecast.begin(("a-smp1", "seed 6"), 1.0)
    forecast.end(("a-smp1", "seed 6"), 11.0)
    assert forecast.left_s(11.0) == pytest.approx(40.0)


def test_a_run_that_takes_longer_than_all_others_is_not_forgotten() -> None:
    forecast = Forecast()
    forecast.expect("a-smp1", 2)
    forecast.begin(("a-smp1", "seed 1"), 0.0)
    forecast.end(("a-smp1", "seed 1"), 10.0)
    forecast.begin(("a-smp1", "seed 2"), 10.0)
    assert forecast.left_s(100.0) == pytest.approx(1.0)


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
