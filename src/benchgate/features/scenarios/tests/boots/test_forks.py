"""Scenarios and forks."""

from __future__ import annotations

from pathlib import Path

from benchgate.run.templates import Templates
from tests.guests.test_forks import compared, forks, on
from tests.guests.test_warm_starts import made

__all__ = ["forks"]


def test_a_scenario_of_a_fork_is_that_of_the_run_that_starts_by_itself(
    tmp_path: Path, forks: Templates
) -> None:
    bench = on(made("ideal", "kernel", workload_word="scenario-spread"), 4)
    compared(bench, tmp_path, forks, (1, 2))
    assert (tmp_path / "forked1/serial.log").read_text().count("\n@bench worker ") == 4
