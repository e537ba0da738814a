"""`twosessions` finds a file that differs, and passes over what may differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate.features.fleet.tests.twosessions import differences

RUN = "runs/0001-x-smp1"


def session(folder: Path, worker: str, span: int) -> Path:
    run = folder / RUN
    run.mkdir(parents=True)
    options = {"seeds": 5, "fleet": worker, "reports": str(folder)}
    facts = {"id": folder.name, "state": "complete", "options": options, "command": f"pytest {worker}"}
    (folder / "session.json").write_text(json.dumps(facts))
    (folder / "attempts.jsonl").write_text(
        json.dumps({"run": 1, "folder": RUN, "outcome": "ok", "digest": worker, "chain": worker}) + "\n"
    )
    (folder / "results.csv").write_text("a,b\n1,2\n")
    (folder / "summary.md").write_text(f"session {folder.name}: 2026-11-23T01:02:03Z\n")
    (run / "run.json").write_text(json.dumps({"seed": 1, "host_span_ns": span}))
    (run / "serial.log").write_text("hello\n")
    (run / "clock.log").write_text(f"mark 1\nhost polls {span}\n")
    (run / "threads.json").write_text(str(span))
    if worker:
        (run / "worker.json").write_text("{}")
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return session(tmp_path / "A", "", 5), session(tmp_path / "B", "tcp://x:1", 6)


def test_times_folders_and_hosts_are_no_difference(pair: tuple[Path, Path]) -> None:
    assert differences(*pair) == []


def changed_json(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("results.csv", lambda path: path.write_text("a,b\n1,3\n")),
        ("summary.md", lambda path: path.write_text("session B: another\n")),
        ("session.json", lambda path: changed_json(path, state="partial")),
        ("attempts.jsonl", lambda path: path.write_text(path.read_text().replace('"ok"', '"void"'))),
        (f"{RUN}/run.json", lambda path: changed_json(path, seed=2)),
        (f"{RUN}/serial.log", lambda path: path.write_text("hallo\n")),
        (f"{RUN}/clock.log", lambda path: path.write_text("mark 2\nhost polls 6\n")),
    ],
)
def test_a_difference_is_found(pair: tuple[Path, Path], name: str, change: Callable[[Path], None]) -> None:
    change(pair[1] / name)
    assert differences(*pair) == [name]


def test_a_file_too_many_is_found(pair: tuple[Path, Path]) -> None:
    (pair[1] / RUN / "more.txt").touch()
    assert differences(*pair) == [f"only one has {RUN}/more.txt"]
