"""run.json: a record that was written is read back, and anything else is refused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base import exploration
from benchgate.base.cells import Cell, Lane, Mode, Placement
from benchgate.base.errors import EvidenceError
from benchgate.base.exploration import Strategy, usual
from benchgate.base.runs import Ending, RawRun
from benchgate.run.record import load, save

CELL = Cell("linux", "primes", Mode.PROCESS, (("cut", "cost"), ("hi", 3_000_000)), 2, "primes-x", "smt")


@pytest.fixture
def raw(tmp_path: Path) -> RawRun:
    return RawRun(
        cell=CELL,
        folder=tmp_path,
        attempt=3,
        order=5,
        nonce="00ff",
        seed=9,
        lane=Lane.INSN,
        placement=Placement.SMT,
        pins=(1, 0),
        warmup=True,
        ending=Ending.PANIC,
        exit_status=-9,
        guest_digest="ab",
        clock_log=tmp_path / "clock.log",
        host_span_ns=7_000_000_000,
        detail='a "quoted" \\ detail, ä',
    )


def test_a_saved_run_is_loaded_unchanged(raw: RawRun) -> None:
    save(raw)
    assert load(raw.folder) == raw
    assert load(raw.folder).cell.id == "primes-x-linux-smp2-smt"
    plain = replace(raw, exit_status=None, clock_log=None, pins=(), warmup=False)
    save(plain)
    assert load(raw.folder) == plain
    assert sorted(path.name for path in raw.folder.iterdir()) == ["run.json"]


def test_an_exploration_is_a_file_beside_the_record(raw: RawRun) -> None:
    explored = replace(raw, exploration=usual(Strategy.SYNC, 7))
    save(explored)
    file = raw.folder / exploration.FILE
    with pytest.raises(EvidenceError, match=r"exploration\.txt beside it cannot be read: No such file"):
        load(raw.folder)
    file.write_text(usual(Strategy.SYNC, 7).text)
    assert load(raw.folder) == explored
    file.write_text(usual(Strategy.SYNC, 8).text)
    with pytest.raises(EvidenceError, match=r"exploration\.txt beside it is not the one that it names"):
        load(raw.folder)
    file.write_text("benchgate-exploration 9\n")
    with pytest.raises(EvidenceError, match=r"exploration\.txt beside it: line 1: the version"):
        load(raw.folder)


def test_a_folder_can_be_moved(raw: RawRun, tmp_path: Path) -> None:
    save(raw)
    moved = tmp_path.parent / (tmp_path.name + "-moved")
    tmp_path.rename(moved)
    assert load(moved) == replace(raw, folder=moved, clock_log=moved / "clock.log")


def change(raw: RawRun, edit: Callable[[dict[str, Any]], object]) -> Path:
    save(raw)
    path = raw.folder / "run.json"
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda v: v.pop("nonce"), "the run has no nonce"),
        (lambda v: v.update(more=1), "unknown key 'more'"),
        (lambda v: v["cell"].update(more=1), "unknown key 'more'"),
        (lambda v: v.update(schema=2), "schema is not 1"),
        (lambda v: v.update(schema=True), "schema True has a wrong type"),
        (lambda v: v.update(attempt=0), "attempt 0 is not a whole number of at least 1"),
        (lambda v: v.update(attempt=1.0), "attempt 1.0 has a wrong type"),
        (lambda v: v.update(seed=2**64), "seed .* is not a whole number"),
        (lambda v: v.update(nonce="a b"), "nonce 'a b' is not a plain word"),
        (lambda v: v.update(nonce=""), "nonce '' is not a plain word"),
        (lambda v: v.update(lane="warp"), "lane 'warp' is not one of kvm, tcg, native, insn"),
        (lambda v: v.update(ending="fine"), "ending 'fine' is not one of done"),
        (lambda v: v.update(pins=[0, "1"]), r"pins\[1\] '1' has a wrong type"),
        (lambda v: v.update(pins=[-1]), r"pins\[0\] -1 is not a whole number"),
        (lambda v: v.update(warmup=0), "warmup 0 has a wrong type"),
        (lambda v: v.update(exit_status=True), "exit_status True has a wrong type"),
        (lambda v: v.update(clock_log="../x"), "outside the run's folder"),
        (lambda v: v.update(clock_log="/etc/passwd"), "outside the run's folder"),
        (lambda v: v.update(clock_log=""), "outside the run's folder"),
        (lambda v: v.update(cell=[]), "cell is not an object"),
        (lambda v: v["cell"].update(cpus=0), "cpus 0 is not a whole number"),
        (lambda v: v["cell"].update(system="../x"), "system '../x' is not a plain word"),
        (lambda v: v["cell"].update(variant="a b"), "variant 'a b' is not a plain word"),
        (lambda v: v["cell"].pop("variant"), "cell has no variant"),
        (lambda v: v.update(host_span_ns=-1), "host_span_ns -1 is not a whole number"),
        (lambda v: v.pop("host_span_ns"), "has no host_span_ns"),
        (lambda v: v["cell"]["params"].update(hi=1.5), "params: 'hi' 1.5 has a wrong type"),
        (lambda v: v["cell"]["params"].update(hi=True), "params: 'hi' True has a wrong type"),
    ],
)
def test_a_changed_record_is_refused(raw: RawRun, edit: Callable[[dict[str, Any]], object], why: str) -> None:
    path = change(raw, edit)
    with pytest.raises(EvidenceError, match=why) as caught:
        load(raw.folder)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"schema": 1, "schema": 1}',
        b'{"schema": NaN}',
        b"[" * 60_000,
        b'{"schema": 1}',
        b" " * 70_000,
    ],
)
def test_a_file_that_is_not_a_record_is_refused(raw: RawRun, text: bytes) -> None:
    (raw.folder / "run.json").write_bytes(text)
    with pytest.raises(EvidenceError, match=r"run\.json"):
        load(raw.folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"run\.json cannot be read: No such file"):
        load(tmp_path)


def test_a_session_in_place_of_a_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text("{}")
    with pytest.raises(EvidenceError, match=r"This is a session; next: name one of its runs, below .*/runs"):
        load(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *("schema", "cell", "attempt", "order", "nonce", "seed", "lane", "placement", "pins", "warmup"),
    *("ending", "exit_status", "guest_digest", "clock_log", "detail"),
    "host_span_ns",
]


@given(key=st.sampled_from(KEYS), value=JSON)
def test_any_changed_value_is_loaded_or_refused_without_a_crash(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: Any
) -> None:
    folder = tmp_path_factory.mktemp("run")
    made = RawRun(CELL, folder, 1, 0, "n", 0, Lane.TCG, Placement.VIRTUAL, (), False, Ending.DONE, 33, "d")
    change(made, lambda v: v.update({key: value}))
    with contextlib.suppress(EvidenceError):
        assert load(folder).cell == CELL
