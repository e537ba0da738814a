"""The two sides of the comparison: what is taken of each, and the table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchgate.plan import catalog
from tools import schbench_beside as beside

DATA = Path(__file__).parents[2] / "data" / "schbench"
IMITATION = """\
#!{python}
import shutil, sys
words = sys.argv[1:]
assert words[words.index("-s") + 1] == "100", words
name = "pipe" if "-p" in words else "load"
shutil.copy(f"{data}/{{name}}.json", words[words.index("-j") + 1])
sys.stderr.write(open(f"{data}/{{name}}.txt").read())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that prints what the real one has printed."""
    path = tmp_path / "schbench"
    path.write_text(IMITATION.format(python=sys.executable, data=DATA))
    path.chmod(0o755)
    return path


def test_the_figures_of_the_program(program: Path) -> None:
    result = beside.theirs(program, beside.MODES[0], 1)
    assert result == {
        "rps": 447.33,
        "wakeup p50 us": 1570,
        "wakeup p99 us": 11728,
        "request p50 us": 845,
        "request p99 us": 9008,
    }


@pytest.mark.parametrize("mode", beside.MODES, ids=lambda mode: mode.name)
def test_our_side_is_verified_and_has_every_figure(
    mode: beside.Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path))
    result = beside.ours(catalog.load_workload("schbench"), mode, 1)
    assert set(result) == set(beside.FIGURES)
    assert min(result.values()) > 0


def test_the_table_leaves_out_what_one_side_does_not_say() -> None:
    sides = {
        "theirs": [{"rps": 2.0}, {"rps": 5.0}, {"rps": 3.0}],
        "ours": [{"rps": 1500.0, "request p50 us": 1.0}],
    }
    assert beside.table(beside.MODES[-1], sides)[-1] == "| rps | 3 [2, 5] | 1,500 [1,500, 1,500] |"
