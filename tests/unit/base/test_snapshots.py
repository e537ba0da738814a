"""Records of snapshots: what is written is read back, and nothing else is. Memory is kept with holes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.files import PAGE
from benchgate.base.snapshots import (
    CONSOLE,
    FILE,
    STATE,
    GuestSnapshot,
    SnapshotRecord,
    keep_pages,
    read_record,
)
from benchgate.judge.run_files import RunFiles
from tests.unit.factories import cell, raw_run

RECORD = SnapshotRecord(
    1_500_000_000, 70, 3, {"ram": "a" * 64, "state": "b" * 64}, {"qemu": "d", "boot": "3"}, (1,)
)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    RECORD.save(tmp_path)
    assert read_record(tmp_path) == RECORD
    assert json.loads((tmp_path / "start.json").read_text()) == {
        "schema": 1,
        "time_ns": 1_500_000_000,
        "console": 70,
        "boot": 3,
        "digests": {"ram": "a" * 64, "state": "b" * 64},
        "inputs": {"qemu": "d", "boot": "3"},
        "unstarted": [1],
    }


def test_an_earlier_version_did_not_say_which_cpus_had_not_begun(tmp_path: Path) -> None:
    RECORD.save(tmp_path)
    without("unstarted")(record := json.loads((tmp_path / FILE).read_text()))
    (tmp_path / FILE).write_text(json.dumps(record))
    assert read_record(tmp_path) == replace(RECORD, unstarted=())


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.pop(key)


def having(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update(values)


MALFORMED = [
    *(
        (without(key), f"has no {key}")
        for key in ("schema", "time_ns", "console", "boot", "digests", "inputs")
    ),
    (having(schema=2), "schema is not 1; use the benchgate that wrote it"),
    (having(schema=True), "schema True has a wrong type"),
    (having(schema="1"), "schema '1' has a wrong type"),
    (having(time_ns=0), "time_ns 0 is not a whole number of at least 1"),
    (having(time_ns=-5), "time_ns -5 is not a whole number"),
    (having(time_ns=2**63), "time_ns 9223372036854775808 is not a whole number"),
    (having(time_ns=1.5), "time_ns 1.5 has a wrong type"),
    (having(console=0), "console 0 is not a whole number of at least 1"),
    (having(console=-1), "console -1 is not a whole number"),
    (having(boot=-1), "boot -1 is not a whole number"),
    (having(boot=True), "boot True has a wrong type"),
    (having(boot=None), "boot None has a wrong type"),
    (having(digests=[]), "digests is not an object"),
    (having(digests={"ram": 5}), "digests: 'ram' 5 has a wrong type"),
    (having(inputs=[]), "inputs is not an object"),
    (having(inputs={"qemu": None}), "inputs: 'qemu' None has a wrong type"),
    (having(more=1), "an unknown key 'more'"),
]


@pytest.mark.parametrize(("change", "said"), MALFORMED, ids=[said for _, said in MALFORMED])
def test_a_record_of_another_form_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    RECORD.save(tmp_path)
    record = json.loads((tmp_path / FILE).read_text())
    change(record)
    (tmp_path / FILE).write_text(json.dumps(record))
    refused(tmp_path, said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"[]", "the start is not an object"),
        (b"null", "the start is not an object"),
        (b"\xff\xfe{", "decode|Expecting"),
        (b'{"schema": 1, "schema": 1}', "duplicate key"),
        (b'{"schema": NaN}', "NaN is not a JSON number"),
        (b" " * (1 << 16) + b"{}", "it has more than 65536 bytes"),
    ],
)
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / FILE).write_bytes(content)
    refused(tmp_path, said)


def refused(folder: Path, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_record(folder)
    with pytest.raises(VerifyError, match=f"start.json: .*({said})"):
        _ = RunFiles(replace(raw_run(cell()), folder=folder)).start


def test_the_files_of_a_run_refuse_what_is_no_file_and_what_is_too_deep(tmp_path: Path) -> None:
    def files() -> RunFiles:
        return RunFiles(replace(raw_run(cell()), folder=tmp_path))

    assert files().start is None
    (tmp_path / FILE).write_text("[" * 60_000)
    with pytest.raises(VerifyError, match=r"start\.json: "):
        _ = files().start
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).symlink_to("nowhere")
    with pytest.raises(VerifyError, match=r"start\.json cannot be read"):
        _ = files().start
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(VerifyError, match=r"start\.json cannot be read: Is a directory"):
        _ = files().start


def test_a_snapshot_knows_its_files(tmp_path: Path) -> None:
    (tmp_path / CONSOLE).write_bytes(b"booted\n")
    snapshot = GuestSnapshot(tmp_path, RECORD)
    assert (snapshot.printed, snapshot.state) == (b"booted\n", tmp_path / STATE)


@pytest.mark.parametrize("tail", [b"", b"end", bytes(5)])
def test_kept_memory_has_exactly_the_pages_that_are_not_zero(tmp_path: Path, tail: bytes) -> None:
    """Of 1,000 pages four are kept, the others are holes."""
    memory = bytearray(1000 * PAGE)
    for number, text in {1: b"one", 2: b"two", 500: b"five", 999: b"last"}.items():
        memory[(number + 1) * PAGE - len(text) : (number + 1) * PAGE] = text
    (tmp_path / "memory").write_bytes(memory + tail)
    keep_pages(tmp_path / "memory", tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == memory + tail
    assert (tmp_path / "kept").stat().st_blocks * 512 <= (5 + 1) * PAGE
    with pytest.raises(FileExistsError):
        keep_pages(tmp_path / "memory", tmp_path / "kept")
