"""`benchgate explore`: every action, and that every error is one sentence with exit status 4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import UsageError
from benchgate.features.explore.session import guest_maker, rows
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.tests import exploresim
from tests.unit.test_cli import home, refused

__all__ = ["home"]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[exploresim.Simulated]:
    """The guest that `benchgate explore` explores."""
    guests = [exploresim.Simulated()]
    monkeypatch.setattr(guest_maker, "opened", lambda *_: exploresim.opener(guests[0]))
    return guests


EXPLORE = ["explore", "--smoke", "--system", "kernel", "--smp", "2", "--strategy", "sync", "--out", "x"]


def test_explore_prints_finds_and_exits_with_1(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "8", "--no-small"]) == 1
    assert "benchgate explore replay x/finds/find-1" in capsys.readouterr().out
    assert cli.main([*EXPLORE, "--seeds", "8", "--no-small", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "complete"
    assert len(simulated[0].ran) == 9  # the second time all was there


@pytest.mark.parametrize(
    ("words", "start"), [([], "auto"), (["--start", "cold"], "cold"), (["--start=warm"], "warm")]
)
def test_explore_passes_on_where_its_runs_start(
    words: list[str], start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ExplorationRequest] = []

    def selected(request: ExplorationRequest) -> None:
        asked.append(request)
        raise UsageError("enough")

    monkeypatch.setattr(rows, "select", selected)
    assert cli.main(["explore", "tests/smp", "--plan", *words]) == 4
    assert [one.start for one in asked] == [start]


def test_explore_finds_nothing_and_exits_with_0(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "2"]) == 0
    assert "nothing found: 3 runs" in capsys.readouterr().out
    assert simulated[0].ran


def test_an_exploration_without_a_stall_is_no_success(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    simulated[0].unstalled = True
    assert cli.main([*EXPLORE, "--seeds", "2"]) == 5
    said = capsys.readouterr().out
    assert "nothing explored: 3 runs" in said
    assert "had a stall: nothing was explored there; next: " in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--with", "from_ns=10", "--with", "until_ns=5"], "from_ns 10 is not before until_ns 5"),
        (["--with", "depth=0"], "--with: depth 0 is not from 1 to 16"),
        (["--with", "one_in=0"], "--with: one_in 0 is not from 1 to"),
        (["--with", "shortest_ns=1000", "--with", "longest_ns=10"], "shortest_ns 1000 is more than"),
        (["--with", "one_in=5", "--with", "one_in=6"], "--with one_in=6: one_in is given twice"),
        (["--strategy", "plain", "--with", "one_in=0"], "--with: one_in 0 is not from 1 to"),
        (["--out", "taken/x"], "taken is not a folder; next: "),
        (["--out", "taken"], "taken is not a folder; next: "),
    ],
)
def test_the_plan_of_an_exploration_checks_what_was_given(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    assert said in refused(capsys, *EXPLORE, "--plan", *words)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_exploration_says_how_to_go_on(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    simulated[0].stop_after = 3
    assert cli.main([*EXPLORE, "--seeds", "8"]) == 130
    assert "interrupted; the same command with --out" in capsys.readouterr().err


def test_the_plan_of_an_exploration_boots_nothing(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "8", "--plan"]) == 0
    assert "8 runs each: sync in turn; 9 boots" in capsys.readouterr().out
    assert simulated[0].ran == []


@pytest.mark.parametrize(
    ("option", "word", "said"),
    [
        ("--seeds", "0", "`0` is not a whole number from 1 to 1000000"),
        ("--first-seed", "1000000001", "is not a whole number from 1 to 1000000000"),
        ("--jobs", "5x", "`5x` is not a whole number from 1 to 1024"),
        *(("--slower", word, f"`{word}` is not a number above 1") for word in ("1", "fast", "nan", "inf")),
    ],
)
def test_a_number_out_of_range_is_a_usage_error(
    option: str, word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["explore", "--smoke", option, word])
    assert caught.value.code == 4
    assert f"argument {option}: " in (text := capsys.readouterr().err)
    assert said in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore"], "name tests, such as tests/smp"),
        (["explore", "--smoke", "--strategy", "synk"], "did you mean `sync`"),
        (["explore", "replay", "nowhere"], "is no find of an exploration"),
        (["explore", "small", "nowhere"], "is no find of an exploration"),
    ],
)
def test_a_wrong_explore_command(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, *words)
