"""Small session folders for tests of evidence: three attempts, one of them invalid."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchgate.base.runs import Ending
from benchgate.evidence.session_folder import SessionFolder, SessionInfo
from benchgate.judge.decide import decide
from benchgate.render.files import verdicts_json
from tests.unit.factories import POLICY, arm, cell, raw_run, run_row, speedup, verified, view

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
END = datetime(2026, 1, 2, 3, 6, 0, tzinfo=UTC)
INFO = SessionInfo(
    options={"cpus": "0,1", "inconclusive_fails": True, "measure": False},
    commit="0123abc",
    diff_digest="",
    versions={"benchgate": "0.1.0"},
    envelope={"cpu_model": "Example", "memory_kib": "unavailable"},
)
VERDICTS = decide(
    [speedup(2)],
    {one.cell.id: one for one in (arm(cell(1), [192] * 5), arm(cell(2), [100] * 5))},
    POLICY,
).verdicts


def new_session(reports: Path, short_id: str = "abcdef") -> SessionFolder:
    return SessionFolder.create(reports, INFO, started=START, short_id=short_id)


def finished_session(reports: Path, *, missing: str = "") -> SessionFolder:
    session = new_session(reports)
    for number, ending in enumerate((Ending.DONE, Ending.DONE, Ending.FAILED), start=1):
        attempt = session.begin("primes-linux-smp1")
        (attempt.folder / "serial.log").write_text(f"console of run {number}\n")
        (attempt.folder / "run.json").write_text("{}\n")
        raw = raw_run(cell(1), attempt=number, warmup=number == 1, ending=ending)
        good = verified(raw, 1000 + number) if ending is Ending.DONE else None
        session.record(run_row(raw, good, "" if good else "worker 0 reports a wrong checksum"))
    session.write("verdicts.json", verdicts_json.render(view(verdicts=VERDICTS)))
    session.write("summary.md", "# PASS\n")
    session.close(END, missing=missing)
    session.seal()
    return session


def recomputed(folder: Path) -> Mapping[str, str]:
    assert folder.is_dir()
    return {"verdicts.json": verdicts_json.render(view(verdicts=VERDICTS)), "summary.md": "# PASS\n"}
