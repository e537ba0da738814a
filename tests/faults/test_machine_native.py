"""The native program as one process: a good run, and every way in which one can fail."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import BootError
from benchgate.base.runs import BootSpec, Deadlines, Ending, RawRun
from benchgate.run import native
from benchgate.run.attempt import execute
from benchgate.run.console import ConsoleLimits
from benchgate.run.record import load
from tests.machines import NONCE, PATIENCE_S, PATIENT, QUICK, open_files, processes_with, request

WIRE = "\\n".join(["@bench begin v=1 seq=0 crc=0", "@bench end lines=1 seq=1 crc=0", ""])
WORKERS = """
import os, sys, time
pids = []
recorded = {recorded!r}
for cpu in map(int, sys.argv[2].partition("=")[2].split(",")):
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {{cpu}})
        while not os.path.exists(recorded):
            time.sleep(0.01)
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
print("@bench begin v=1\\n@bench end lines=1", flush=True)
"""


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    before = open_files()
    yield
    assert list(folder.iterdir()) == []
    assert processes_with(f"bench.nonce={NONCE}") == []
    assert open_files() <= before


def run(
    tmp_path: Path,
    script: str,
    *,
    deadlines: Deadlines = PATIENT,
    limits: ConsoleLimits = QUICK,
    pins: tuple[int, ...] = (),
) -> RawRun:
    words = (f"bench.nonce={NONCE}", f"bench.pin={','.join(map(str, pins))}")
    argv = (sys.executable, "-I", "-S", "-c", script, *words)
    spec = BootSpec(argv, {}, Lane.NATIVE, max(1, len(pins)), pins, deadlines)
    asked = request(spec, tmp_path / "run", limits=limits)
    raw = execute(asked)
    assert load(asked.folder) == raw
    return raw


def test_a_good_run_is_kept_byte_for_byte(tmp_path: Path) -> None:
    raw = run(tmp_path, f"print('{WIRE}', end='')")
    assert (raw.ending, raw.exit_status, raw.detail) == (Ending.DONE, 0, "")
    assert (raw.folder / "serial.log").read_bytes() == WIRE.replace("\\n", "\n").encode()
    assert not (raw.folder / "qmp.log").exists()
    samples = json.loads((raw.folder / "threads.json").read_text())
    assert [sample["moment"] for sample in samples] == ["start", "ready", "result", "end", "exit"]
    assert raw.host_span_ns == samples[-1]["t_ns"] - samples[0]["t_ns"]


def test_a_program_has_a_temporary_folder_that_ends_with_the_run(tmp_path: Path) -> None:
    leave = "import os; os.makedirs(os.environ['TMPDIR'] + '/a/b'); print(os.environ['TMPDIR'])"
    raw = run(tmp_path, f"{leave}; print('{WIRE}', end='')")
    folder = (raw.folder / "serial.log").read_text().splitlines()[0]
    assert "benchgate-" in folder
    assert not Path(folder).exists()


def test_workers_are_recorded_on_their_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers live until they are recorded. The search goes on for as long as a busy host delays them."""
    monkeypatch.setattr(native, "_SEARCH_PAUSES_S", (0.01,) * 2000)
    pins = tuple(sorted(os.sched_getaffinity(0)))[:2]
    raw = run(tmp_path, WORKERS.format(recorded=str(tmp_path / "run" / "affinity.json")), pins=pins)
    assert raw.ending is Ending.DONE
    placed = json.loads((raw.folder / "affinity.json").read_text())
    assert {item["found"][0] for item in placed} == set(pins)


@pytest.mark.parametrize(
    ("script", "ending", "detail"),
    [
        (
            "print('benchfail: no memory', flush=True); raise SystemExit(35)",
            Ending.FAILED,
            "benchfail: no memory",
        ),
        ("raise SystemExit(7)", Ending.FAILED, "exited with status 7 while it ran"),
        ("import os; os.abort()", Ending.EOF, "killed by SIGABRT while it ran"),
        ("print('@bench begin v=1')", Ending.EOF, "before its end line"),
        ("raise ValueError('sad')", Ending.EOF, "status 1 while it ran: ValueError: sad"),
        ("n = 0\nwhile True: print(n := n + 1, 'x' * 999)", Ending.OUTPUT_LIMIT, "bytes of output"),
    ],
)
def test_a_failing_program_is_recorded_as_such(
    tmp_path: Path, script: str, ending: Ending, detail: str
) -> None:
    raw = run(tmp_path, script)
    assert raw.ending is ending
    assert detail in raw.detail


def test_a_hanging_program_and_its_child_end_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "_STOP_GRACE_S", PATIENCE_S)
    script = "import os, time; os.fork(); time.sleep(6000)"
    raw = run(tmp_path, script, deadlines=Deadlines(0.2, 0.3))
    assert raw.ending is Ending.RUN_DEADLINE
    assert raw.exit_status == -15


def test_a_pin_to_a_cpu_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(BootError, match=r"cannot place .*EINVAL"):
        run(tmp_path, "pass", pins=(4095,))


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    spec = BootSpec(("/no/program", f"bench.nonce={NONCE}"), {}, Lane.NATIVE, 1, (), PATIENT)
    with pytest.raises(BootError, match=r"cannot execute /no/program: .*ENOENT"):
        execute(request(spec, tmp_path / "run"))
