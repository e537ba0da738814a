"""An exploration of tern from the command to the sentence: a fault is found, replayed, and made small.

The first fault panics in every interleaving, so that few boots are needed. The other is a race, whose
find takes about 30 boots to be made small; figures of more are in docs/how-to/explore.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchgate import cli


def test_a_panic_is_found_replayed_and_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--smoke", "--system", "kernel:fault=panic", "--smp", "2", "--strategy", "sync", "--seeds", "1"]
    assert cli.main(["explore", *words, "--out", "out"]) == 1
    said = capfd.readouterr().out
    assert said.startswith("1 find, in 2 of 2 runs\n")
    assert "find-1: 0 of 0 stalls left, after 1 run" in said
    assert "find-1: it happens without any stall" in said
    finds = json.loads((tmp_path / "out/explored.json").read_text())["finds"]
    assert [(find["kind"], find["strategy"]) for find in finds] == [("panic", "plain"), ("panic", "sync")]
    assert all("panic: cpu=" in find["what"] for find in finds)
    assert cli.main(["explore", "replay", "out/finds/find-2", "--out", "again"]) == 0
    assert "the same run: marks, counts and console are equal" in capfd.readouterr().out
    consoles = [tmp_path / place / "serial.log" for place in ("out/finds/find-2", "again")]
    assert consoles[0].read_bytes() == consoles[1].read_bytes()
    assert b"panic:" in consoles[0].read_bytes()


ROW = """import pytest


@pytest.mark.workload("primes", hi=100_000)
@pytest.mark.speedup(cpus=2, at_least=1.4)
def test_primes(verdict):
    verdict.require_pass()
"""


@pytest.mark.parametrize("start", ["cold", pytest.param("warm", marks=pytest.mark.long), "fork"])
@pytest.mark.parametrize("crowds", [True, False])
def test_badly_placed_threads_are_one_find_in_every_start(
    start: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    crowds: bool,
) -> None:
    """All seeds are right, and each leaves a CPU without work; a kernel that uses both has no find."""
    monkeypatch.chdir(tmp_path)
    Path("test_row.py").write_text(ROW)
    words = ["--system", "kernel:fault=crowd" if crowds else "kernel", "--smp", "2", "--seeds", "2"]
    code = cli.main(["explore", "test_row.py", *words, "--start", start, "--no-small", "--out", "out"])
    said = capfd.readouterr().out
    finds = json.loads(Path("out/explored.json").read_text())["finds"]
    assert code == int(crowds)
    assert said.startswith("1 find, in 3 of 3 runs\n" if crowds else "nothing found: 3 runs\n")
    assert {find["kind"] for find in finds} == ({"unused-cpu"} if crowds else set())
    assert all("2 workers with work used 1 of 2 CPUs" in find["what"] for find in finds)


def _is_in(switch: dict[str, Any], symbol: str) -> bool:
    """Whether the instructions between which its CPU was stopped are the symbol's."""
    return all(switch["stopped"][name].partition("+")[0] == symbol for name in ("first", "last"))


@pytest.mark.long
def test_the_window_of_a_race_is_what_is_left_of_its_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The window of `wake-window` is from the look at the word to the compare-and-exchange.
    Each stall shifts what follows, so the seed decides how many stalls before it make it happen there."""
    monkeypatch.chdir(tmp_path)
    words = ["--smoke", "--system", "kernel:fault=wake-window", "--smp", "2", "--strategy", "sync"]
    more = ["--first-seed", "301", "--seeds", "40", "--with", "one_in=20", "--stop-at-first"]
    assert cli.main(["explore", *words, *more, "--out", "out"]) == 1
    capfd.readouterr()
    (find,) = json.loads((tmp_path / "out/explored.json").read_text())["finds"]
    small = find["small"]
    assert find["kind"] == "hang"
    assert len(small["points"]) < 20
    assert small["of_points"] > 300
    inside = [switch for switch in small["switches"] if switch["ran"] and _is_in(switch, "wait_while_early")]
    (switch,) = inside
    places = [switch["stopped"][name].split("+")[1] for name in ("first", "last")]
    assert int(places[0], 16) < int(places[1], 16)
    assert [one["vcpu"] for one in switch["ran"]] == [1 - switch["stopped"]["vcpu"]]
