"""Tests that are made of scenarios: their names and marks, and what is said of files that make none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import scenario_tests
from benchgate.plan import catalog

FILE = """\
name: {name}
finds: a fault
cpus: 3
length: 10ms
groups: {{a: {{work: spin}}, b: {{work: spin}}}}
gates:
  part: {{of: share, group: a, at_least: 30%, at_most: 70%}}
  idle: {{of: wasted, at_most: 1%}}
"""
RT_APP = '{"tasks": {"a": {"run": 5, "cpus": [0]}}, "global": {"duration": 1}}\n'


def write(folder: Path, file: str, name: str) -> Path:
    path = folder / file
    path.write_text(FILE.format(name=name))
    return path


def marks(test: object) -> list[tuple[str, tuple[object, ...], dict[str, object]]]:
    return [(mark.name, mark.args, mark.kwargs) for mark in test.pytestmark]  # type: ignore[attr-defined]


def test_a_file_is_a_test_for_each_side_of_its_bounds(tmp_path: Path) -> None:
    path = write(tmp_path, "x.yaml", "mine")
    result = scenario_tests(tmp_path)
    assert list(result) == ["test_mine_at_least", "test_mine_at_most"]
    assert marks(result["test_mine_at_least"]) == [
        ("workload", (str(path),), {}),
        ("limit", (), {"cpus": 3, "metric": "part", "at_least": 0.3}),
    ]
    assert marks(result["test_mine_at_most"]) == [
        ("workload", (str(path),), {}),
        ("limit", (), {"cpus": 3, "metric": "part", "at_most": 0.7}),
        ("limit", (), {"cpus": 3, "metric": "idle", "at_most": 0.01}),
    ]
    assert result["test_mine_at_most"].__doc__ == "Finds a fault."


def test_a_workload_of_rt_app_has_to_be_verified(tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(RT_APP)
    (test,) = scenario_tests(path).values()
    assert marks(test) == [("workload", (str(path),), {}), ("gate", ("verified",), {"cpus": 2})]


def test_without_a_place_they_are_the_shipped_ones() -> None:
    plain = {name.removesuffix("_at_least").removesuffix("_at_most") for name in scenario_tests()}
    assert plain == {f"test_{name}" for name in catalog.names("scenario")}


def test_a_path_that_is_not_there_is_told_to_be_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who starts pytest one folder above the test file sees where it was looked for."""
    (tmp_path / "bench/mine").mkdir(parents=True)
    write(tmp_path / "bench/mine", "x.yaml", "mine")
    monkeypatch.chdir(tmp_path / "bench")
    assert len(scenario_tests("mine")) == 2
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pytest.fail.Exception) as caught:
        scenario_tests("mine")
    assert str(caught.value).startswith(f"there is no scenario mine in {tmp_path}: a path is relative to the")
    assert str(caught.value).endswith('`Path(__file__).with_name("mine")` is the one beside the test file')


def test_what_makes_no_test_ends_the_collection(tmp_path: Path) -> None:
    def said(*places: Path) -> str:
        with pytest.raises(pytest.fail.Exception) as caught:
            scenario_tests(*places)
        assert not caught.value.pytrace
        assert caught.value.__context__ is None  # pytest would print it, too
        return str(caught.value)

    assert "has no scenario: a file whose name ends with .yaml, .yml, .json" in said(tmp_path)
    _, second = write(tmp_path, "a.yaml", "mine"), write(tmp_path, "b.yaml", "mine")
    assert said(tmp_path).startswith(f"{second}: another scenario is called so, too")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(FILE.format(name="mine").replace("cpus: 3", "cpus: 0"))
    assert said(wrong) == f"{wrong}:3: cpus: is 0, not between 1 and 16"
    assert "is no scenario" in said(Path(str(catalog.load_workload("primes").file)))
