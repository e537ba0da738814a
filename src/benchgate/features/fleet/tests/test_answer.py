"""An answer gives the files that were packed, and nothing that a worker could have invented on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate.features.fleet import answer
from benchgate.features.fleet.errors import FleetError

FILES = {"run.json": b"{}", "serial.log": b"hello\n" * 100, "stderr.log": b""}


@pytest.fixture
def sent(tmp_path: Path) -> bytes:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return answer.made("key", "left", "host", tmp_path)


def test_the_files_come_back(sent: bytes) -> None:
    worker_answer = answer.read(sent)
    assert (worker_answer.key, worker_answer.worker, worker_answer.host) == ("key", "left", "host")
    assert dict(worker_answer.files) == FILES
    assert (worker_answer.missing, worker_answer.refused, worker_answer.trouble) == ((), "", "")


def test_an_answer_without_a_run_says_why() -> None:
    worker_answer = answer.read(
        answer.WorkerAnswer("key", "left", "host", missing=("a", "b"), trouble="no disk").line
    )
    assert (worker_answer.missing, worker_answer.trouble, dict(worker_answer.files)) == (
        ("a", "b"),
        "no disk",
        {},
    )


def headed(sent: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    head, _, packed = sent.partition(b"\n")
    value = json.loads(head)
    change(value)
    return json.dumps(value).encode() + b"\n" + packed


def renamed(name: str) -> Callable[[dict[str, Any]], None]:
    def change(head: dict[str, Any]) -> None:
        head["listed"][0][0] = name

    return change


def sized(size: int) -> Callable[[dict[str, Any]], None]:
    def change(head: dict[str, Any]) -> None:
        head["listed"][1][2] = size

    return change


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "", "/etc/x"])
def test_a_name_outside_the_folder_is_refused(sent: bytes, name: str) -> None:
    with pytest.raises(FleetError, match="is not a file of a run's folder"):
        answer.read(headed(sent, renamed(name)))


def test_two_files_of_one_name_are_refused(sent: bytes) -> None:
    with pytest.raises(FleetError, match=r"two files serial\.log"):
        answer.read(headed(sent, renamed("serial.log")))


@pytest.mark.parametrize(
    ("size", "why"), [(599, "cut off, or longer"), (2**40, "more than 1073741824 bytes")]
)
def test_a_file_of_another_size_is_refused(sent: bytes, size: int, why: str) -> None:
    with pytest.raises(FleetError, match=why):
        answer.read(headed(sent, sized(size)))


def test_a_changed_byte_is_found(sent: bytes, tmp_path: Path) -> None:
    (tmp_path / "serial.log").write_bytes(b"hallo\n" * 100)
    other = answer.made("key", "left", "host", tmp_path)
    head, _, packed = sent.partition(b"\n")[0], *other.partition(b"\n")[1:]
    with pytest.raises(FleetError, match=r"another digest|cut off"):
        answer.read(head + b"\n" + packed)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]\n", b"\xff\n", None, "text", b'{"key": 1}\n'])
def test_what_is_no_answer_is_refused(data: object) -> None:
    with pytest.raises(FleetError):
        answer.read(data)


def test_bytes_behind_the_files_are_refused(sent: bytes) -> None:
    with pytest.raises(FleetError, match="bytes behind"):
        answer.read(sent + b"x")
