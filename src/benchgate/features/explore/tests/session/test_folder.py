from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.features.explore.exploration_result import FOUND, ExplorationResult
from benchgate.features.explore.session import folder as folders
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.tests.test_exploration_result import FIND, LINE

FACTS = {"asked": {"paths": ["a"]}, "inputs": {"qemu": "1"}}


def begun(path: Path) -> ExplorationFolder:
    folder = ExplorationFolder(path)
    path.mkdir(exist_ok=True)
    folder.begin(FACTS)
    return folder


def found(folder: ExplorationFolder) -> str:
    """A find with its line."""
    place = folder.new_run("row-smp2#3")
    (place / "serial.log").write_text("panic")
    name = folder.new_find(place)
    folder.keep_find(replace(FIND, name=name))
    folder.keep(replace(LINE, outcome=FOUND, find=name))
    return name


def test_lines_and_finds_are_there_again(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    folder.keep(LINE)
    name = found(folder)
    again = begun(tmp_path / "x")
    assert [line.find for line in again.lines()] == ["", "find-1"]
    assert again.finds() == (replace(FIND, name=name),)
    assert (again.find_folder(name) / "serial.log").read_text() == "panic"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"asked": {"paths": ["b"]}}, "asks for something else.*--out"),
        ({"inputs": {"qemu": "2"}}, "had another QEMU or other guests.*--out"),
    ],
)
def test_another_exploration_does_not_go_on_there(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = begun(tmp_path / "x")
    with pytest.raises(UsageError, match=message):
        folder.begin({**FACTS, **change})


def test_a_line_that_was_cut_off_is_no_run(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    folder.keep(LINE)
    with (folder.path / "runs.jsonl").open("a") as stream:
        stream.write('{"cell": "row')
    assert folder.lines() == (LINE,)


def test_a_find_without_its_line_is_forgotten(tmp_path: Path) -> None:
    """The process ended between both; the run is made again."""
    folder = begun(tmp_path / "x")
    found(folder)
    folder.new_find(folder.new_run("row-smp2#4"))
    assert sorted(path.name for path in (folder.path / "finds").iterdir()) == ["find-1", "find-2"]
    begun(tmp_path / "x")
    assert [path.name for path in (folder.path / "finds").iterdir()] == ["find-1"]


def test_what_runs_left_when_they_were_interrupted_is_removed(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    (folder.new_run("row-smp2#9") / "serial.log").write_text("")
    begun(tmp_path / "x")
    assert not [*(folder.path / "running").iterdir()]


def test_a_strange_file_is_a_sentence(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    name = found(folder)
    (folder.find_folder(name) / "find.json").write_text("{}")
    with pytest.raises(UsageError, match=r"find\.json cannot be read: a find has no"):
        folder.finds()
    (folder.path / "runs.jsonl").write_text("[]\n")
    with pytest.raises(UsageError, match=r"runs\.jsonl cannot be read: a run is not an object"):
        folder.lines()
    (folder.path / "plan.json").write_text('{"format": "benchgate-session", "version": 1}')
    with pytest.raises(UsageError, match=r"plan\.json is no exploration of this version"):
        folder.facts()


def test_the_folder_of_a_find_leads_to_its_exploration(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    name = found(folder)
    assert folders.of_find(folder.find_folder(name)) == (folder, name)
    with pytest.raises(UsageError, match="find-9 does not exist"):
        folders.of_find(folder.find_folder("find-9"))
    with pytest.raises(UsageError, match="is no find of an exploration"):
        folders.of_find(tmp_path)


def test_the_state_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((data_root() / "reports/schema/exploration-1.json").read_text())
    folder = begun(tmp_path / "x")
    folder.write(ExplorationResult((LINE,), (FIND, replace(FIND, small=None)), expected=2), "")
    value = json.loads((folder.path / "explored.json").read_text())
    jsonschema.validate(value, schema)
    value["runs"][0]["outcome"] = "good"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)


def test_the_state_says_whether_it_is_complete(tmp_path: Path) -> None:
    folder = begun(tmp_path / "x")
    state = ExplorationResult((LINE,), (FIND,), expected=2, notes=("left out",))
    folder.write(state, "<html>")
    value = json.loads((folder.path / "explored.json").read_text())
    assert (value["state"], value["expected"], value["notes"]) == ("partial", 2, ["left out"])
    assert value["groups"] == [{"group": "hang", "finds": ["find-1"]}]
    assert (folder.path / "explored.html").read_text() == "<html>"
    folder.write(replace(state, expected=1), "")
    assert json.loads((folder.path / "explored.json").read_text())["state"] == "complete"
