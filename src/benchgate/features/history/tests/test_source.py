"""Sessions of the history as sides of `compare`, also where a guest prints its figures in ticks."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.features.history import store, writer
from benchgate.features.history.entry import entry_of
from benchgate.features.history.tests.entries import EXACT, SERIES, entry, fill, place
from benchgate.features.history.tests.test_entry import FACTS
from tests.unit.factories import cell, rows
from tests.unit.test_printed_steps import HONEST, TICK

OLD = (100.0, 101.0, 102.0, 103.0, 104.0)


def test_the_command_and_sides_of_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = [1.1 * number for number in OLD]
    fill(place(tmp_path), [{EXACT: OLD}, {EXACT: slower}, {EXACT: OLD, SERIES: OLD}])
    monkeypatch.setenv("BENCHGATE_HISTORY", str(tmp_path / "history.sqlite"))
    ask = ["compare", "history:latest~2", "history:latest~1"]
    assert cli.main(ask) == 0
    assert cli.main([*ask, "--fail-on", "1.02"]) == 1
    assert "regression: primes smp2 work: B is worse by 1.10x" in capsys.readouterr().out.replace(
        "primes work smp2", "primes smp2 work"
    )
    assert cli.main([*ask, "--fail-on", "1.3"]) == 0
    assert cli.main(["compare", "history:latest~1", "history:latest~2", "--fail-on", "1.02"]) == 0
    assert cli.main(["compare", "history:latest", "history:latest~1", "--fail-on", "1.5"]) == 5
    assert cli.main(["compare", "history:latest:linux", "history:20260101", "--fail-on", "1.5"]) == 5
    assert cli.main(["compare", "history:latest:mine", "history:latest"]) == 4
    assert cli.main(["compare", "history:nothing", "history:latest"]) == 4


def test_a_history_keeps_the_step_and_widens_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, ticks in enumerate((46, 12)):
        with store.writing(place(tmp_path)) as connection:
            made = entry(number, {SERIES: [float(ticks * TICK)] * 5})
            writer.write(connection, replace(made, steps={SERIES: float(TICK)}))
    monkeypatch.setenv("BENCHGATE_HISTORY", str(tmp_path / "history.sqlite"))
    ask = ["compare", "history:latest~1", "history:latest"]
    assert cli.main(ask) == 0
    assert HONEST in capsys.readouterr().out
    back = ["compare", "history:latest", "history:latest~1", "--fail-on"]
    assert [cli.main([*back, worst]) for worst in ("3.0", "3.8")] == [1, 5]
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        result = database.execute("SELECT low, median, high, step FROM benchgate_point ORDER BY started")
        assert result.fetchall() == [
            (45 * TICK, 46 * TICK, 47 * TICK, TICK),
            (11 * TICK, 12 * TICK, 13 * TICK, TICK),
        ]
    database.close()


def test_a_history_of_version_1_is_read_and_its_steps_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(place(tmp_path), [{SERIES: [460.0] * 5}, {SERIES: [120.0] * 5}])
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        database.execute("ALTER TABLE benchgate_point DROP COLUMN step")
        database.execute("UPDATE benchgate_format SET version = 1")
    database.close()
    monkeypatch.setenv("BENCHGATE_HISTORY", str(tmp_path / "history.sqlite"))
    ask = ["compare", "history:latest", "history:latest~1"]
    assert [cli.main(ask), cli.main([*ask, "--fail-on", "1.02"])] == [0, 5]
    assert "An earlier benchgate wrote figures of A" in capsys.readouterr().out
    fill(place(tmp_path), [{SERIES: [120.0] * 5}, {SERIES: [460.0] * 5}], first=2)
    assert cli.main(["compare", "history:latest~1", "history:latest", "--fail-on", "1.02"]) == 1


@pytest.mark.parametrize(("steps", "kept"), [((("work", 10.0),), 10.0), ((), 0.0), (None, None)])
def test_an_entry_of_the_history_has_the_steps_of_its_rows(
    steps: tuple[tuple[str, float], ...] | None, kept: float | None
) -> None:
    plain, other = rows(cell(2), [300, 310])
    made = entry_of(FACTS, [plain, replace(other, steps=steps)], "ab" * 32)
    assert {series.metric: step for series, step in made.steps.items()} == {
        "work": kept,
        "total": None if steps is None else 0.0,
    }
