"""Two folders of one simulated study: equal, and with each kind of file changed."""

from __future__ import annotations

import io
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.features.mix.session import check, steps
from benchgate.features.mix.session.folder import StudyFolder
from benchgate.features.mix.tests import mixsim
from benchgate.session.progress import Progress
from tests.unit.insn.test_log_reader import COMPLETE

KEY = "alone-prime.small-s1"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study") / "one"
    study = replace(
        mixsim.study(), seeds=1, limit_seeds=1, levels=(50,), resources=("cpu",), calibrate={}, scaling=""
    )
    steps.measure_vectors(
        study,
        place,
        lambda _: nullcontext(mixsim.Simulated(mixsim.TRUTH)),
        Progress(io.StringIO(), live=False),
    )
    for attempt in place.glob("runs/*/*/"):
        (attempt / "clock.log").write_text(COMPLETE)
    return place


@pytest.fixture
def two(measured: Path, tmp_path: Path) -> tuple[StudyFolder, StudyFolder]:
    other = tmp_path / "two"
    shutil.copytree(measured, other)
    return StudyFolder(measured), StudyFolder(other)


def test_equal_folders(two: tuple[StudyFolder, StudyFolder]) -> None:
    """Eight files of the study; of four inputs alone and three limits result, console and clock's log."""
    attempt = two[1].path / "runs" / KEY / "1"
    (attempt / "seconds.txt").write_text("99\n")
    (attempt / "clock.log").write_text(COMPLETE.replace("grants 17", "grants 18"))  # of the host
    comparison = check.compare(*two)
    assert comparison.told == f"{8 + 3 * 7} files: no digit differs"


def changed(two: tuple[StudyFolder, StudyFolder], name: str, old: str, new: str) -> tuple[str, ...]:
    path = two[1].path / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return check.compare(*two).differences


def test_a_table(two: tuple[StudyFolder, StudyFolder]) -> None:
    assert changed(two, "vectors.csv", "prime,small,1", "prime,small,2") == (
        "vectors.csv differs: from line 2 on",
    )


def test_a_result(two: tuple[StudyFolder, StudyFolder]) -> None:
    (said,) = changed(two, f"runs/{KEY}/result.json", '"score": "100"', '"score": "101"')
    assert said.startswith(f"{KEY}: result.json differs: from line ")


def test_which_attempt_was_the_last_is_no_difference(two: tuple[StudyFolder, StudyFolder]) -> None:
    """A run that was interrupted has its result from its second attempt."""
    runs = two[1].path / "runs" / KEY
    (runs / "1").rename(runs / "2")
    assert (
        changed(two, f"runs/{KEY}/result.json", f'"folder": "runs/{KEY}/1"', f'"folder": "runs/{KEY}/2"')
        == ()
    )


def test_the_run_of_another_folder_is_a_difference(two: tuple[StudyFolder, StudyFolder]) -> None:
    other = next(key for key in two[1].runs() if key != KEY)
    said = changed(two, f"runs/{KEY}/result.json", f'"folder": "runs/{KEY}/1"', f'"folder": "runs/{other}/1"')
    assert said[0].startswith(f"{KEY}: result.json differs: from line ")


def test_a_console(two: tuple[StudyFolder, StudyFolder]) -> None:
    assert changed(two, f"runs/{KEY}/1/serial.log", KEY, "other") == (
        f"{KEY}: serial.log differs: from line 1 on",
    )


def test_what_the_clock_counted(two: tuple[StudyFolder, StudyFolder]) -> None:
    assert changed(two, f"runs/{KEY}/1/clock.log", "executed 9000", "executed 9001") == (
        f"{KEY}: clock.log counts something else",
    )
    (two[1].path / "runs" / KEY / "1" / "clock.log").unlink()
    (said,) = check.compare(*two).differences
    assert said.startswith(f"{KEY}: clock.log cannot be compared: the instruction clock left no log")


def test_a_run_that_only_one_has(two: tuple[StudyFolder, StudyFolder]) -> None:
    shutil.rmtree(two[1].path / "runs" / KEY)
    assert check.compare(*two).differences == (f"{KEY}: only {two[0].path} has it",)
