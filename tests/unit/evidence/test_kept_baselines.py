"""The baselines in a session's folder, and what of session.json another session must share."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.evidence import kept_baselines
from benchgate.evidence.origins import MACHINE, origin_of
from tests.unit import baselines
from tests.unit.baselines import written
from tests.unit.factories import cell
from tests.unit.sessions import new_session

FACTS: dict[str, Any] = {
    "envelope": {name: name for name in MACHINE} | {"isolation": {"b": "1", "a": "2"}, "memory_kib": 5},
    "systems": {"linux": "version: 1\n", "native": "version: 1\n"},
    "settings": {"linux": {"sched": "rr"}, "native": {}},
    "emulators": {"linux": "qemu"},
    "inputs": {"qemu": {"digest": "e" * 64, "clock": baselines.CLOCK}},
}


def test_a_copy_is_kept_and_read_back(tmp_path: Path) -> None:
    file, session = tmp_path / "main.json", new_session(tmp_path / "reports")
    file.write_text(written())
    found = kept_baselines.load([str(file), str(file), str(tmp_path / "none.json")])
    (one,) = found.values()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert one.name == f"baselines/{digest}.json"
    session.keep({one.name: one.text})
    file.unlink()
    facts = {**FACTS, "baselines": {word: kept.digest for word, kept in found.items()}}
    again = kept_baselines.read_back(session.folder, facts, "session.json")
    assert again.baselines[str(file)].arms[0].cell == cell(2)
    assert again.origin == origin_of(FACTS, "session.json")


def test_a_session_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert kept_baselines.read_back(tmp_path, FACTS, "session.json").baselines == {}


def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text("{}")
    with pytest.raises(EvidenceError, match=r"main\.json is not a baseline: the file has no format"):
        kept_baselines.load([str(tmp_path / "main.json")])


def test_another_file_in_the_place_of_a_copy_is_found(tmp_path: Path) -> None:
    first, second = (written(baselines.arm(cell(2), [n] * 5)) for n in (100, 200))
    digest = hashlib.sha256(first.encode()).hexdigest()
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / f"{digest}.json").write_text(second)
    with pytest.raises(EvidenceError, match="is not the baseline with which the session compared"):
        kept_baselines.read_back(tmp_path, {**FACTS, "baselines": {"main.json": digest}}, "session.json")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([], r"baselines is \[\], not an object"),
        ({"x": "../../etc/passwd"}, "'../../etc/passwd' is not the digest"),
        ({"x": "0" * 64}, f"{'0' * 64}.json is missing"),
    ],
)
def test_an_invalid_entry_is_refused(tmp_path: Path, kept: object, said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        kept_baselines.read_back(tmp_path, {**FACTS, "baselines": kept}, "session.json")


# ---- origins


def test_an_origin_is_what_wall_time_and_each_system_depend_on() -> None:
    found = origin_of(FACTS, "session.json")
    assert found.machine["cpu_model"] == "cpu_model"
    assert found.machine["isolation"] == '{"a": "2", "b": "1"}'
    assert "memory_kib" not in found.machine
    assert (found.systems["linux"].qemu, found.systems["linux"].clock) == ("e" * 64, baselines.CLOCK)
    assert (found.systems["native"].qemu, found.systems["native"].clock) == ("", "")


@pytest.mark.parametrize(
    "change", [{"systems": {"linux": "version: 2\n"}}, {"settings": {"linux": {"sched": "wfq"}}}]
)
def test_a_changed_yaml_or_setting_is_another_definition(change: dict[str, Any]) -> None:
    one, other = (origin_of({**FACTS, **more}, "s").systems["linux"] for more in ({}, change))
    assert one.definition != other.definition


def test_the_place_of_a_file_plays_no_part_but_its_name_does() -> None:
    def of(path: str) -> str:
        facts = {**FACTS, "settings": {"linux": {"kernel": path}}}
        return origin_of(facts, "session.json").systems["linux"].definition

    assert of("/home/one/bzImage") == of("builds/bzImage")
    assert of("builds/bzImage") != of("builds/bzImage.new")


def test_a_session_without_these_facts_has_an_origin_that_promises_nothing() -> None:
    found = origin_of({"systems": {"linux": "x"}}, "session.json")
    assert set(found.machine.values()) == {"unavailable"}
    assert (found.systems["linux"].qemu, found.systems["linux"].clock) == ("", "")


def test_a_part_of_the_wrong_type_is_named() -> None:
    with pytest.raises(EvidenceError, match=r"session\.json: envelope is 3, not an object"):
        origin_of({"envelope": 3}, "session.json")
