"""The symbols of `benchgate baseline diff`, and the cells that differ; whole sessions are in tests/plugin and
tests/line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.workload.metrics import WINDOWS
from benchgate.features.baseline.baseline_file import OTHERS
from benchgate.features.baseline.diff import MOST_SYMBOLS, folded, profile_advice, table, worse
from benchgate.features.baseline.tests.baselines import symbols
from tests.unit.factories import cell, measurement
from tests.unit.test_printed_steps import HONEST, TICK


def lines(then: dict[tuple[str, str], int], now: dict[tuple[str, str], int]) -> list[str]:
    return [" ".join(line.split()) for line in table(symbols(then), symbols(now))]


def test_the_largest_change_comes_first_in_both_directions() -> None:
    then = {("kernel", "schedule"): 1000, ("user", "main"): 5000, ("kernel", "gone"): 7}
    now = {("kernel", "schedule"): 900, ("user", "main"): 5000, ("kernel", "planted"): 2500}
    assert lines(then, now)[1:] == [
        "change baseline now symbol",
        "-" * len(table_rule(then, now)),
        "+2,500 0 2,500 kernel planted",
        "-100 1,000 900 kernel schedule",
        "-7 7 0 kernel gone",
    ]


def table_rule(then: dict[tuple[str, str], int], now: dict[tuple[str, str], int]) -> str:
    return next(line.strip() for line in table(symbols(then), symbols(now)) if "---" in line)


def test_the_advice_on_missing_symbols_is_a_whole_command(tmp_path: Path) -> None:
    main, here = Path("reports/baselines/main.json"), tmp_path / "now"
    (tmp_path / "then").mkdir()
    command = f"next: benchgate baseline accept {tmp_path}/then --profile"
    assert profile_advice("then", here, main) == command
    assert profile_advice("then", here, Path("ci.json")) == f"{command} --out ci.json"
    assert profile_advice("gone", here, main) == (
        "next: with the folder of session gone: benchgate baseline accept FOLDER --profile"
    )


def test_equal_counts_are_said_to_be_equal() -> None:
    same = {("kernel", "schedule"): 1000}
    assert lines(same, dict(same)) == ["symbols of seed 1: all counts are equal"]


def test_what_is_not_listed_is_summed() -> None:
    now = {("kernel", f"f{n}"): 1000 - n for n in range(MOST_SYMBOLS + 2)}
    assert lines({}, now)[-1] == f"and 2 symbols more, together +{2 * 1000 - 2 * MOST_SYMBOLS - 1:,}"


def test_a_symbol_too_small_for_the_file_is_among_the_others_and_a_large_new_one_is_not() -> None:
    then = {("kernel", "a"): 100, ("kernel", "b"): 50, OTHERS: 30}
    now = {("kernel", "a"): 100, ("kernel", "b"): 50, ("kernel", "c"): 20, ("kernel", "d"): 11}
    assert folded({**now, ("kernel", "new"): 60}, then) == {
        ("kernel", "a"): 100,
        ("kernel", "b"): 50,
        ("kernel", "new"): 60,
        OTHERS: 31,
    }
    assert lines(then, now)[-1] == "+1 30 31 [all others]"
    assert folded(now, {("kernel", "a"): 1}) == now


def test_a_baseline_beside_a_session_is_as_wide_as_the_ticks() -> None:
    then, now = (
        replace(measurement(cell(2), [float(ticks * TICK)] * 5, metric=WINDOWS["work"]), step=float(TICK))
        for ticks in (12, 46)
    )
    assert worse(then, now) == HONEST
