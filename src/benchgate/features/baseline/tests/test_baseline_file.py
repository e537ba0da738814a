"""The file of a baseline: what is written is read back, and everything else is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError, IncompleteError
from benchgate.base.gates import Gate
from benchgate.base.paths import data_root
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence import kept_files
from benchgate.evidence.kept_files import FileCopy
from benchgate.features.baseline import baseline_file
from benchgate.features.baseline.baseline_file import OTHERS
from benchgate.features.baseline.baselines import Baseline
from benchgate.features.baseline.origin import MACHINE, origin_of
from benchgate.features.baseline.regression import baselines_in
from benchgate.features.baseline.tests import baselines
from benchgate.features.baseline.tests.baselines import figures, forged, written
from tests.unit.factories import cell
from tests.unit.sessions import new_session

RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
CELL = cell(2)


def full() -> Baseline:
    rates = replace(figures(CELL, [1.5, 2, 3, 4, 5]), metric=RPS, unit="requests/s", blur=(0.25,), step=0.5)
    counts = {("user", "main"): 7, ("kernel", "schedule"): 90}
    arm = baselines.arm(CELL, [100, 101, 102, 103, 104], rates)
    other = baselines.arm(cell(4), [50] * 5, lane=Lane.INSN, unit="insn")
    return baselines.baseline(replace(arm, symbols=baselines.symbols(counts)), other)


def refused(text: str, said: str) -> None:
    with pytest.raises(EvidenceError, match=said) as result:
        baseline_file.parse(text, "main.json")
    assert str(result.value).startswith("main.json is not a baseline: ")
    assert "next: take the committed file" in str(result.value)
    assert "\n" not in str(result.value)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "new" / "main.json"
    baseline_file.write(file, full())
    baseline = baseline_file.read(file)
    assert baseline_file.render(baseline) == file.read_text()
    (one, two), (mine, other) = baseline.arms, full().arms
    assert (one.cell, one.guest, one.seeds, one.symbols) == (mine.cell, mine.guest, mine.seeds, mine.symbols)
    assert one.measurements["work"].samples == (100, 101, 102, 103, 104)
    rates = one.measurements["rps"]
    assert (rates.samples, rates.metric, rates.unit) == ((1.5, 2, 3, 4, 5), RPS, "requests/s")
    assert (rates.blur, rates.step) == ((0.25,), 0.5)
    assert (two.cell, two.lane) == (other.cell, Lane.INSN)
    assert replace(baseline, arms=()) == replace(full(), arms=())


def test_what_is_written_follows_the_published_schema() -> None:
    schema = json.loads((data_root() / "reports/schema/baseline-1.json").read_text())
    jsonschema.validate(json.loads(baseline_file.render(full())), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(written()) | {"version": 2}, schema)


def test_samples_are_on_one_line_for_the_reviewer() -> None:
    assert '"samples": [100, 101, 102, 103, 104]\n' in written(baselines.arm(CELL, range(100, 105)))


def test_symbols_beyond_the_largest_are_one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline_file, "MOST_SYMBOLS", 1)
    symbol_counts = baseline_file.parse(baseline_file.render(full()), "main.json").arms[0].symbols
    assert symbol_counts is not None
    assert dict(symbol_counts.counts) == {("kernel", "schedule"): 90, OTHERS: 7}
    again = baselines.baseline(replace(full().arms[0], symbols=symbol_counts))
    assert baseline_file.parse(baseline_file.render(again), "main.json").arms[0].symbols == symbol_counts


def test_a_digit_that_was_changed_by_hand_is_found() -> None:
    text = written()
    assert "[100, 100, 100, 100, 100]" in text
    refused(
        text.replace("[100, 100, 100, 100, 100]", "[110, 100, 100, 100, 100]", 1), "its digest does not fit"
    )


def test_another_layout_of_the_same_text_is_no_change() -> None:
    assert baseline_file.parse(json.dumps(json.loads(written())), "main.json").arms


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "the file is not an object"),
        ("{}", "the file has no format"),
        ('{"format": "benchgate-session", "version": 1}', "format is not benchgate-baseline; take"),
        ("[" * 100_000, "."),
        (written().replace("100, 100", "NaN, 100", 1), "NaN is not a JSON number"),
        (written().replace('"accepted"', '"accepted": 1, "accepted"', 1), "duplicate key"),
    ],
)
def test_what_is_not_a_baseline_is_refused(text: str, said: str) -> None:
    refused(text, said)


def first(found: dict[str, Any]) -> dict[str, Any]:
    cells: list[dict[str, Any]] = found["cells"]
    return cells[0]


def samples(found: dict[str, Any]) -> list[object]:
    values: list[object] = first(found)["metrics"][0]["samples"]
    return values


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda f: f.update(version=2), "version is not 1"),
        (lambda f: f.update(more=1), "unknown key 'more'"),
        (lambda f: f.update(cells=[]), "cells has 0 values; 1 to 2000"),
        (lambda f: f.update(cells=f["cells"] * 2), "primes-linux-smp2 is there twice"),
        (lambda f: f.update(accepted="today"), "is not a day"),
        (lambda f: f.update(manifest="0"), "manifest '0' is not a SHA-256"),
        (lambda f: f.update(machine={"cores": 2}), "machine: 'cores' 2 has a wrong type"),
        (lambda f: f["systems"]["linux"].pop("qemu"), "the file: systems: 'linux' has no qemu"),
        (lambda f: f["systems"]["linux"].update(definition="x"), "definition 'x' is not a SHA-256"),
        (lambda f: first(f).pop("guest"), r"cells\[0\] has no guest"),
        (lambda f: first(f).update(lane="fast"), "lane 'fast' is not one of kvm"),
        (lambda f: first(f)["cell"].update(cpus=0), "cpus 0 is not a whole number"),
        (lambda f: first(f)["metrics"].pop(), "must have each metric once, and work and total"),
        (lambda f: first(f)["metrics"].append(first(f)["metrics"][0]), "must have each metric once"),
        (lambda f: samples(f).pop(), r"metrics\[0\]: samples has 4 values; 5 to 199"),
        (lambda f: samples(f).append(1), "has 6 samples and 5 seeds"),
        (lambda f: samples(f).__setitem__(0, -1), r"samples\[0\] -1 is not a finite number of at least 0"),
        (lambda f: samples(f).__setitem__(0, 1e300), r"1e\+300 is not a finite number"),
        (lambda f: samples(f).__setitem__(0, "100"), "'100' has a wrong type"),
        (lambda f: samples(f).__setitem__(0, True), "True has a wrong type"),
        (lambda f: samples(f).__setitem__(0, None), "None has a wrong type"),
        (lambda f: first(f)["metrics"][0].update(late=-1), "late -1 is not a finite number of at least 0"),
        (
            lambda f: first(f)["metrics"][0].update(name="rps"),
            "rps of primes-linux-smp2 is declared as",
        ),
        (
            lambda f: first(f).update(symbols={"seed": 1, "window": 1, "others": 0, "counts": [["user", 1]]}),
            "does not have 3 values",
        ),
        (
            lambda f: first(f).update(
                symbols={"seed": 1, "window": 1, "others": 0, "counts": [["user", "a", 1]] * 2}
            ),
            "there twice",
        ),
    ],
)
def test_a_forged_baseline_with_a_digest_that_fits_is_read_strictly(
    edit: Callable[[dict[str, Any]], object], said: str
) -> None:
    refused(forged(written(), edit), said)


def test_a_seed_that_is_there_twice_is_refused_on_the_instruction_clock_only() -> None:
    def twice(found: dict[str, Any]) -> None:
        first(found)["seeds"] = [1, 1, 2, 3, 4]

    exact = written(baselines.arm(CELL, [100] * 5, lane=Lane.INSN))
    refused(forged(exact, twice), "has a seed twice")
    assert baseline_file.parse(forged(written(), twice), "main.json")


def test_hostile_text_is_made_visible() -> None:
    def hostile(found: dict[str, Any]) -> None:
        found["machine"]["cpu_model"] = "\x1b[2Jx"

    assert baseline_file.parse(forged(written(), hostile), "m").origin.machine["cpu_model"] == "\\x1b[2Jx"


def test_a_file_that_does_not_exist_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(IncompleteError, match=r"main\.json is missing"):
        baseline_file.read(tmp_path / "main.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(EvidenceError, match=r"cannot be written: .*choose another place with --out"):
        baseline_file.write(tmp_path / "file" / "main.json", full())


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "main.json"
    with pytest.raises(EvidenceError, match="is not a SHA-256"):
        baseline_file.write(file, replace(full(), manifest="none"))
    assert not file.exists()


def test_the_machine_of_a_system_is_written_and_read_back() -> None:
    of = replace(baselines.SYSTEM, machine="9" * 64)
    made = replace(full(), origin=replace(baselines.ORIGIN, systems={"linux": of}))
    text = baseline_file.render(made)
    assert baseline_file.parse(text, "main.json").origin.systems["linux"] == of
    schema = json.loads((data_root() / "reports/schema/baseline-1.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(text), schema)
    assert '"machine": "' not in baseline_file.render(full())


FACTS: dict[str, Any] = {
    "envelope": {name: name for name in MACHINE} | {"isolation": {"b": "1", "a": "2"}, "memory_kib": 5},
    "systems": {"linux": "version: 1\n", "native": "version: 1\n"},
    "settings": {"linux": {"sched": "rr"}, "native": {}},
    "emulators": {"linux": "qemu"},
    "inputs": {"qemu": {"digest": "e" * 64, "clock": baselines.CLOCK}},
}


def loaded(*files: Path) -> tuple[FileCopy, ...]:
    gate = Gate("g", "regression", None, cell(2), at_most=1.02)
    return kept_files.load([replace(gate, baseline=str(file)) for file in files])


def test_a_copy_is_kept_and_read_back(tmp_path: Path) -> None:
    file, session = tmp_path / "main.json", new_session(tmp_path / "reports")
    file.write_text(written())
    (copy,) = loaded(file, file, tmp_path / "none.json")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert copy.path == f"baselines/{digest}.json"
    session.keep({copy.path: copy.text})
    file.unlink()
    facts = {**FACTS, "baselines": {str(file): digest}}
    assert kept_files.facts_of([copy]) == {"baselines": {str(file): digest}}
    again = baselines_in(kept_files.read_back(session.folder, facts, "session.json"))
    assert again.baselines[str(file)].arms[0].cell == cell(2)
    assert again.origin == origin_of(FACTS, "session.json")


def test_a_session_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert kept_files.read_back(tmp_path, FACTS, "session.json") == {}


def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text("{}")
    with pytest.raises(EvidenceError, match=r"main\.json is not a baseline: the file has no format"):
        loaded(tmp_path / "main.json")


def test_another_file_in_the_place_of_a_copy_is_found(tmp_path: Path) -> None:
    first, second = (written(baselines.arm(cell(2), [n] * 5)) for n in (100, 200))
    digest = hashlib.sha256(first.encode()).hexdigest()
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / f"{digest}.json").write_text(second)
    with pytest.raises(EvidenceError, match="is not the baseline with which the session compared"):
        kept_files.read_back(tmp_path, {**FACTS, "baselines": {"main.json": digest}}, "session.json")


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
        kept_files.read_back(tmp_path, {**FACTS, "baselines": kept}, "session.json")


# ---- origins


def test_an_origin_is_what_wall_time_and_each_system_depend_on() -> None:
    origin = origin_of(FACTS, "session.json")
    assert origin.machine["cpu_model"] == "cpu_model"
    assert origin.machine["isolation"] == '{"a": "2", "b": "1"}'
    assert "memory_kib" not in origin.machine
    assert (origin.systems["linux"].qemu, origin.systems["linux"].clock) == ("e" * 64, baselines.CLOCK)
    assert (origin.systems["native"].qemu, origin.systems["native"].clock) == ("", "")


@pytest.mark.parametrize(
    "change", [{"systems": {"linux": "version: 2\n"}}, {"settings": {"linux": {"sched": "wfq"}}}]
)
def test_a_changed_yaml_or_setting_is_another_definition(change: dict[str, Any]) -> None:
    origin, other = (origin_of({**FACTS, **more}, "s").systems["linux"] for more in ({}, change))
    assert origin.definition != other.definition


def test_the_place_of_a_file_plays_no_part_but_its_name_does() -> None:
    def of(path: str) -> str:
        facts = {**FACTS, "settings": {"linux": {"kernel": path}}}
        return origin_of(facts, "session.json").systems["linux"].definition

    assert of("/home/one/bzImage") == of("builds/bzImage")
    assert of("builds/bzImage") != of("builds/bzImage.new")


def test_a_session_without_these_facts_has_an_origin_that_promises_nothing() -> None:
    origin = origin_of({"systems": {"linux": "x"}}, "session.json")
    assert set(origin.machine.values()) == {"unavailable"}
    assert (origin.systems["linux"].qemu, origin.systems["linux"].clock) == ("", "")


def test_a_part_of_the_wrong_type_is_named() -> None:
    with pytest.raises(EvidenceError, match=r"session\.json: envelope is 3, not an object"):
        origin_of({"envelope": 3}, "session.json")
