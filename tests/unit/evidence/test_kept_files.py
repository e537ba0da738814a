"""Files with which gates compare, of a feature that a test makes: two kinds of files and three of gates."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchgate import hooks
from benchgate.base.errors import EvidenceError
from benchgate.base.gates import Gate
from benchgate.evidence import kept_files
from benchgate.hooks import Feature, GateFile, GateMark
from tests.unit.factories import cell
from tests.unit.sessions import new_session

PLACE = "a_feature_with_files"
LIST = GateFile("list", default="kept/main.txt", folder="lists", largest=100, ratio_is="worse", place=PLACE)
MAP = GateFile("map", default="kept/main.map", folder="maps", largest=100, ratio_is="off", place=PLACE)
GATES = (
    GateMark("listed", "", "", takes=("cpus", "list")),
    GateMark("mapped", "", "", takes=("cpus", "map")),
    GateMark("plain", "", "", takes=("cpus",)),
)


def parse(text: str, where: str) -> list[str]:
    if "bad" in text:
        raise EvidenceError(f"{where} is no list")
    return text.split()


def for_gates(facts: Mapping[str, Any], where: str, files: Mapping[str, object]) -> object:
    return facts["id"], where, files


@pytest.fixture(autouse=True)
def feature(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(PLACE)
    module.parse, module.for_gates = parse, for_gates  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, PLACE, module)
    monkeypatch.setattr(hooks, "shipped", lambda: {"x": Feature(gates=GATES, kept=(LIST, MAP))})


def gate(kind: str, word: object) -> Gate:
    return Gate("g", kind, None, cell(2), at_most=1.0, baseline=str(word))


def test_each_kind_of_gate_has_its_kind_of_file() -> None:
    found = {kind: hooks.kept_by(kind) for kind in ("listed", "mapped", "plain", "a user's own")}
    assert found == {"listed": LIST, "mapped": MAP, "plain": None, "a user's own": LIST}
    assert (hooks.kept_name("mapped"), hooks.kept_name("plain")) == ("map", "file")


def test_files_of_two_kinds_are_kept_apart_and_read_back(tmp_path: Path) -> None:
    one, two = tmp_path / "a.txt", tmp_path / "b.map"
    one.write_text("x y")
    two.write_text("z")
    asked = (gate("listed", one), gate("mapped", two), gate("listed", one), gate("listed", tmp_path / "none"))
    copies = kept_files.load(asked)
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, two)}
    assert [copy.path for copy in copies] == [f"lists/{digests[one]}.txt", f"maps/{digests[two]}.map"]
    facts = {"lists": {str(one): digests[one]}, "maps": {str(two): digests[two]}}
    assert kept_files.facts_of(copies) == facts
    session = new_session(tmp_path / "reports")
    session.keep({copy.path: copy.text for copy in copies})
    again = kept_files.read_back(session.folder, {**facts, "id": "S"}, "session.json")
    assert again == kept_files.for_gates(copies, {"id": "S"}, "session.json")
    assert again["list"] == ("S", "session.json", {str(one): ["x", "y"]})
    (session.folder / copies[1].path).write_text("w")
    with pytest.raises(EvidenceError, match="is not the map with which the session compared"):
        kept_files.read_back(session.folder, {**facts, "id": "S"}, "session.json")


def test_without_a_file_nothing_of_a_feature_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, PLACE, None)  # an import of it fails
    assert kept_files.load([gate("listed", ""), gate("listed", tmp_path / "none")]) == ()
    assert kept_files.read_back(tmp_path, {}, "session.json") == {}
    (tmp_path / "a.txt").touch()
    with pytest.raises(ImportError):
        kept_files.load([gate("listed", tmp_path / "a.txt")])


def test_a_file_that_is_too_large_or_no_list_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bad")
    with pytest.raises(EvidenceError, match=r"a\.txt is no list"):
        kept_files.load([gate("listed", tmp_path / "a.txt")])
    (tmp_path / "a.txt").write_text("x" * 101)
    with pytest.raises(EvidenceError, match=r"a\.txt"):
        kept_files.load([gate("listed", tmp_path / "a.txt")])


def test_a_gate_of_no_feature_names_no_file() -> None:
    with pytest.raises(EvidenceError, match="b: no feature of this benchgate knows what a gate plain "):
        kept_files.load([gate("plain", "b")])
