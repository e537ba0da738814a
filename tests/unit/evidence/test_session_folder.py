"""The contents of a session folder at each moment; an unchanged folder verifies."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

from benchgate.base.errors import EvidenceError
from benchgate.base.runs import Outcome
from benchgate.evidence import metrics_csv, results_csv
from benchgate.evidence.check import Check, verify_session
from benchgate.evidence.session_folder import SessionFolder
from tests.machines import PATIENCE_S
from tests.unit.factories import cell, raw_run, run_row, verified
from tests.unit.sessions import INFO, START, finished_session, new_session, recomputed

SCHEMAS = Path(__file__).parents[3] / "reports/schema"
VERSIONS = {"metrics": 3, "verdicts": 2}
LATER = ("parameter", "smallest_effect", "baseline")
"""Fields of a verdict that earlier versions did not write."""


def schema(name: str) -> dict[str, object]:
    data: dict[str, object] = json.loads((SCHEMAS / f"{name}-{VERSIONS.get(name, 1)}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(data)
    return data


def test_a_finished_session_is_intact(tmp_path: Path) -> None:
    session = finished_session(tmp_path)
    check = verify_session(session.folder, recomputed)
    assert check == Check(0, (f"{session.folder}: intact (hashes, chain and every verdict agree)",))
    assert verify_session(tmp_path / "latest").exit_code == 0


def test_another_program_can_check_the_manifest(tmp_path: Path) -> None:
    session = finished_session(tmp_path)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "manifest.sha256"],
        cwd=session.folder,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert b"runs/0001-primes-linux-smp1/serial.log: OK" in done.stdout


def test_real_output_matches_its_schemas(tmp_path: Path) -> None:
    session = finished_session(tmp_path)
    jsonschema.validate(json.loads((session.folder / "session.json").read_text()), schema("session"))
    jsonschema.validate(json.loads((session.folder / "verdicts.json").read_text()), schema("verdicts"))
    rows = list(csv.DictReader(io.StringIO((session.folder / "results.csv").read_text())))
    assert len(rows) == 3
    jsonschema.validate(rows, schema("results"))
    metrics = list(csv.DictReader(io.StringIO((session.folder / "metrics.csv").read_text())))
    jsonschema.validate(metrics, schema("metrics"))
    assert {metric["metric"] for metric in metrics} == {"work", "total"}
    assert tuple(schema("metrics")["items"]["required"]) == tuple(metrics_csv.COLUMNS)  # type: ignore[index]
    assert tuple(schema("results")["items"]["required"]) == tuple(results_csv.COLUMNS)  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("results", {"verified": "true", "work": ""}),
        ("results", {"verified": "false"}),
        ("results", {"lane": "warp"}),
        ("results", {"cpus": "0"}),
        ("verdicts", {"outcome": "MAYBE"}),
        ("verdicts", {"ratio": None}),
        ("verdicts", {"reason": "it was fine"}),
        ("verdicts", {"more": 1}),
        ("verdicts", {"smallest_effect": -0.1}),
        ("verdicts", {"gate": "scaling", "parameter": None}),
        ("verdicts", {"gate": "efficiency", "ratio": None, "value": None}),
        ("session", {"version": 2}),
        ("session", {"state": "complete", "finished": None}),
        ("session", {"state": "partial", "state_reason": ""}),
    ],
)
def test_the_schemas_refuse_invalid_data(tmp_path: Path, name: str, change: dict[str, object]) -> None:
    folder = finished_session(tmp_path).folder
    data: object
    if name == "session":
        data = json.loads((folder / "session.json").read_text()) | change
    elif name == "verdicts":
        data = [json.loads((folder / "verdicts.json").read_text())[0] | change]
    else:
        data = [next(csv.DictReader(io.StringIO((folder / "results.csv").read_text()))) | change]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema(name))


def test_a_verdict_of_an_earlier_version_and_one_without_a_ratio_match_the_schema(tmp_path: Path) -> None:
    folder = finished_session(tmp_path).folder
    (verdict,) = json.loads((folder / "verdicts.json").read_text())
    older = {name: value for name, value in verdict.items() if name not in LATER}
    assert len(older) == len(verdict) - len(LATER)
    efficiency = verdict | {"gate": "efficiency", "ratio": None, "value": 0.96, "unit": ""}
    peak = verdict | {"gate": "scaling", "ratio": None, "high": None, "parameter": "peak"}
    jsonschema.validate([older, efficiency, peak], schema("verdicts"))


def test_a_new_session_is_partial(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    facts = json.loads((session.folder / "session.json").read_text())
    assert facts["state"] == "partial"
    assert "still running, or it was killed" in facts["state_reason"]
    jsonschema.validate(facts, schema("session"))
    assert (tmp_path / "latest").resolve() == session.folder.resolve()
    assert (session.folder / "results.csv").read_text() == results_csv.HEADER
    check = verify_session(session.folder)
    assert check.exit_code == 11
    assert "there is no manifest.sha256" in check.text
    assert "the session is partial" in check.text


def test_every_run_is_on_disk_as_soon_as_it_is_recorded(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    for number in (1, 2):
        attempt = session.begin("primes-linux-smp1")
        (attempt.folder / "serial.log").write_text(f"run {number}\n")
        session.record(run_row(raw_run(cell(1), attempt=number), verified(raw_run(cell(1)), 100)))
        rows = results_csv.parse((session.folder / "results.csv").read_text(), "results.csv")
        assert [row.run for row in rows] == list(range(1, number + 1))
    assert sorted(path.name for path in (session.folder / "runs").iterdir()) == [
        "0001-primes-linux-smp1",
        "0002-primes-linux-smp1",
    ]


def test_an_interrupted_session_has_its_runs_and_the_reason(tmp_path: Path) -> None:
    session = finished_session(tmp_path, missing="interrupted by Ctrl-C")
    facts = json.loads((session.folder / "session.json").read_text())
    assert (facts["state"], facts["state_reason"]) == ("partial", "interrupted by Ctrl-C")
    check = verify_session(session.folder, recomputed)
    assert check.exit_code == 11
    assert check.text == (
        f"{session.folder}: incomplete\nincomplete: the session is partial: 'interrupted by Ctrl-C'"
    )


def with_a_gap(reports: Path, *, missing: str) -> SessionFolder:
    """Two parallel attempts: the first was interrupted, the second has ended."""
    session = new_session(reports)
    for number in (1, 2):
        (session.begin("primes-linux-smp1").folder / "serial.log").write_text(f"run {number}\n")
    session.record(run_row(raw_run(cell(1), attempt=2), verified(raw_run(cell(1)), 100)))
    session.close(START, missing=missing)
    session.seal()
    return session


def test_an_interrupted_parallel_attempt_is_incomplete_and_not_tampered(tmp_path: Path) -> None:
    check = verify_session(with_a_gap(tmp_path, missing="interrupted").folder)
    assert check.exit_code == 11
    assert "runs/0001-primes-linux-smp1 was started, but never recorded" in check.text


def test_a_complete_session_has_recorded_every_attempt(tmp_path: Path) -> None:
    check = verify_session(with_a_gap(tmp_path, missing="").folder)
    assert check.exit_code == 11
    assert "has only 1 of 2 attempts" in check.text


def test_warm_up_and_invalid_attempts_are_kept_and_counted(tmp_path: Path) -> None:
    session = finished_session(tmp_path)
    rows = results_csv.parse((session.folder / "results.csv").read_text(), "results.csv")
    assert [row.outcome for row in rows] == [Outcome.WARMUP, Outcome.OK, Outcome.INVALID]
    links = [json.loads(line) for line in (session.folder / "attempts.jsonl").read_text().splitlines()]
    assert [link["outcome"] for link in links] == ["warmup", "ok", "invalid"]


def test_later_facts_are_added(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.update(gates=["primes-linux-smp2"], order_seed=7)
    facts = json.loads((session.folder / "session.json").read_text())
    assert (facts["gates"], facts["order_seed"], facts["commit"]) == (["primes-linux-smp2"], 7, INFO.commit)


def test_latest_points_to_the_newest_session(tmp_path: Path) -> None:
    first = new_session(tmp_path, "aaaaaa")
    second = new_session(tmp_path, "bbbbbb")
    assert first.folder != second.folder
    assert (tmp_path / "latest").readlink() == Path("runs") / second.id
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".latest")] == []


def test_an_invalid_short_id_is_refused(tmp_path: Path) -> None:
    for bad in ("", "abc", "../../x", "ABCDEF", "a" * 17):
        with pytest.raises(ValueError, match="short id"):
            SessionFolder.create(tmp_path, INFO, started=START, short_id=bad)


def test_unsafe_names_are_refused(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    for bad in ("../x", "/etc/x", ".hidden", "a\nb", "a/../b", ""):
        with pytest.raises(EvidenceError):
            session.write(bad, "")
        with pytest.raises(EvidenceError):
            session.begin(f"{bad}\n")


def test_a_row_of_an_unknown_attempt_is_refused(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    with pytest.raises(KeyError):
        session.record(run_row(raw_run(cell(1), attempt=4), None, "never begun"))
