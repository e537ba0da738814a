"""Judging session folders again: the same figures, and errors for invalid folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate import cli
from benchgate.base.cells import Placement
from benchgate.base.errors import EvidenceError
from benchgate.base.gates import Word
from benchgate.base.runs import Outcome, RawRun
from benchgate.evidence import provenance
from benchgate.evidence.chain import manifest_text
from benchgate.evidence.check import INCOMPLETE, INTACT, MISMATCH, TAMPERED, UNKNOWN_VERSION, verify_session
from benchgate.evidence.facts import symbols_of
from benchgate.evidence.files import MANIFEST, SESSION, digest_of, files_below
from benchgate.evidence.rows import row_of
from benchgate.evidence.session_folder import SessionFolder
from benchgate.insn.symbols import NO_SYMBOLS, Symbols
from benchgate.judge.oracles import oracle_process
from benchgate.judge.oracles.oracle import ORACLES
from benchgate.plan.options import Options
from benchgate.run.record import UNANSWERED, save, save_unanswered
from benchgate.run.thread_use import UseSample, keep_samples
from benchgate.session import publish
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.trust import TrustedPrograms
from tests import pagekit
from tests.answerkit import kept_oracle
from tests.machines import PATIENCE_S
from tests.unit.factories import POLICY
from tests.unit.noise import counters
from tests.unit.plans import sweep
from tests.unit.sessions import END, INFO, new_session
from tests.wirekit import (
    NONCE,
    altered,
    console,
    field,
    guest_argv,
    primes_run,
    recorded,
    unframed,
    write_argv,
)

GOOD = recorded("good-linux-primes-smp2")
PLAN = sweep(2, hi=100_000)
CELL = next(planned.cell for planned in PLAN.cells if planned.cell.cpus == 2)
WORK = field(GOOD, "window", "work_end") - field(GOOD, "window", "work_start")


@pytest.fixture(scope="module", autouse=True)
def one_oracle() -> Iterator[None]:
    with kept_oracle(rejudge):
        yield


def attempt(
    session: SessionFolder, text: bytes = GOOD, noise: Sequence[UseSample] = (), **changes: Any
) -> RawRun:
    """One recorded run with two CPUs, as in a real session, where each has a nonce of its own."""
    place = session.begin(CELL.id)
    nonce = NONCE if place.run == 1 else f"{place.run:010x}"
    text = text if place.run == 1 else altered(text, "begin", nonce=nonce)
    raw = replace(primes_run(place.folder, text), cell=CELL, attempt=place.run, nonce=nonce, **changes)
    write_argv(place.folder, guest_argv(2, measure=b"@bench measure" in text, nonce=nonce))
    save(raw)
    keep_samples(place.folder, noise)
    facts = provenance.planned([PLAN], POLICY, {})
    judged = rejudge._judge(place.folder, facts, "session.json", TrustedPrograms(), POLICY.void)
    session.record(row_of(judged))
    return raw


def close(session: SessionFolder) -> Path:
    session.close(END)
    return session.folder


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    made = new_session(tmp_path / "reports")
    made.update(**provenance.planned([PLAN], POLICY, {}))
    return made


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / SESSION
    facts = json.loads(path.read_text())
    edit(facts)
    path.write_text(json.dumps(facts))


def test_a_verified_run_has_its_figure(session: SessionFolder) -> None:
    attempt(session)
    view = rejudge.judge_session(close(session))
    (row,) = view.rows
    assert (row.verified, row.work, row.outcome) == (True, WORK, Outcome.OK)
    (verdict,) = view.verdicts
    assert verdict.outcome is Word.SKIP  # one CPU was planned and never tried
    assert (view.alpha, view.superlinear) == (POLICY.alpha, POLICY.superlinear)


def test_a_void_run_is_found_again(session: SessionFolder) -> None:
    """It is found from the counters in its folder and the rule in session.json alone."""
    attempt(session, noise=counters(delays=(0, 60_000_000)))
    attempt(session, altered(GOOD, "result", count=1), noise=counters(delays=(0, 60_000_000)))
    folder = close(session)
    void, wrong = rejudge.judge_session(folder).rows
    assert (void.outcome, void.verified, void.work) == (Outcome.VOID, True, WORK)
    assert void.reason == "run delay 6% (limit 2%)"
    assert wrong.outcome is Outcome.INVALID
    change(folder, lambda facts: facts["policy"]["void"].update(run_delay=0.1))
    assert rejudge.judge_session(folder).rows[0].outcome is Outcome.OK
    change(folder, lambda facts: facts["policy"].pop("void"))  # an earlier version
    assert rejudge.judge_session(folder).rows[0].outcome is Outcome.OK


def test_a_wrong_answer_is_found_again(session: SessionFolder) -> None:
    attempt(session, altered(GOOD, "result", count=1))
    (row,) = rejudge.judge_session(close(session)).rows
    assert (row.outcome, row.verified) == (Outcome.INVALID, False)
    assert "the result reported count=1" in row.reason


def test_a_window_longer_than_the_run_by_the_hosts_clock_is_found_again(session: SessionFolder) -> None:
    text = altered(GOOD, "window", total_end=field(GOOD, "window", "total_start") + 5_000_000_001)
    attempt(session, text, host_span_ns=10**9 * 8 // 3)
    (row,) = rejudge.judge_session(close(session)).rows
    assert row.outcome is Outcome.INVALID
    assert "by the host's clock the whole run took only 2666666666 ns" in row.reason


def test_a_results_csv_without_its_session_never_passes(session: SessionFolder) -> None:
    attempt(session)
    text, code = rejudge.show(close(session) / "results.csv")
    assert text.splitlines()[-1].startswith("UNVERIFIED")
    assert code == 5


def test_the_recomputed_reports_equal_the_written_ones(session: SessionFolder) -> None:
    attempt(session)
    folder = close(session)
    again = rejudge.recompute(folder)
    assert again["results.csv"] == (folder / "results.csv").read_text()
    assert json.loads(again["verdicts.json"])[0]["outcome"] == "SKIP"


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bool], None]]:
    """Whether each process of an oracle is killed, as by a host without memory."""
    program, true = tmp_path / "killed.py", oracle_process.PROGRAM
    program.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")

    def set_to(value: bool) -> None:
        ORACLES.close()
        monkeypatch.setattr(oracle_process, "PROGRAM", program if value else true)

    yield set_to
    ORACLES.close()


def test_a_run_whose_oracle_was_killed_stays_invalid(
    session: SessionFolder, killed: Callable[[bool], None]
) -> None:
    """Its folder says so: an oracle that answers later would contradict what was recorded."""
    raw = attempt(session)
    save_unanswered(raw.folder, "the oracle oracle.py gave no answer: its process ended (signal SIGKILL)")
    (row,) = rejudge.judge_session(close(session)).rows
    assert (row.outcome, row.verified) == (Outcome.INVALID, False)
    assert row.reason == "the oracle oracle.py gave no answer: its process ended (signal SIGKILL)"


def test_an_oracle_that_fails_later_is_no_contradiction(
    session: SessionFolder, killed: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    attempt(session)
    folder = close(session)
    view = rejudge.judge_session(folder)
    publish.write(session, view, Options(reports=folder.parent, keep=0), print)
    killed(True)
    for command in ("verify", "rejudge"):
        assert cli.main([command, str(folder)]) == 4
        said = capsys.readouterr().err
        assert "cannot be judged on this machine: the oracle oracle.py gave no answer: " in said
        assert "(signal SIGKILL), in each of 3 tries" in said
    killed(False)
    assert cli.main(["verify", str(folder)]) == 0


def test_a_refusal_of_an_earlier_version_for_its_oracle_is_judged_as_before(
    session: SessionFolder, killed: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(True)
    with monkeypatch.context() as earlier:
        earlier.setattr(rejudge, "_was_refused", lambda *_: True)
        attempt(session)
    (row,) = rejudge.judge_session(close(session)).rows
    assert row.outcome is Outcome.INVALID
    assert "gave no answer" in row.reason


@pytest.mark.parametrize("text", ["", "[]", '{"failed": 1}', '{"failed": "x", "more": 1}'])
def test_a_record_of_a_failed_oracle_that_nobody_wrote_is_refused(session: SessionFolder, text: str) -> None:
    raw = attempt(session)
    (raw.folder / UNANSWERED).write_text(text)
    with pytest.raises(EvidenceError, match=r"oracle\.json is not a file that benchgate wrote"):
        rejudge.judge_session(close(session))


REPORTS = ("verdicts.json", "benchmark.json", "speedups.json", "speedup.svg", "summary.md", "junit.xml")


def published(session: SessionFolder, text: bytes = GOOD) -> Path:
    """A session with all reports, sealed."""
    attempt(session, text)
    folder = close(session)
    shown = rejudge.judge_session(folder)
    publish.write(session, shown, Options(reports=folder.parents[1], inconclusive_fails=True), print)
    return folder


def reseal(folder: Path) -> None:
    """Writes a new manifest, as a forger would."""
    names = [name for name in files_below(folder) if name != MANIFEST]
    digests = {name: digest_of(folder, name) for name in names}
    (folder / MANIFEST).write_text(manifest_text(digests))


def test_a_published_session_is_intact(session: SessionFolder) -> None:
    check = verify_session(published(session), rejudge.recompute)
    assert (check.exit_code, check.text) == (INTACT, check.messages[0])


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_was_edited_and_sealed_again_is_a_mismatch(session: SessionFolder, name: str) -> None:
    folder = published(session)
    text = (folder / name).read_text()
    forged = (
        '[{"outcome": "PASS"}]' if name.endswith(".json") else text.replace("1", "2").replace("SKIP", "PASS")
    )
    assert forged != text
    (folder / name).write_text(forged)
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    assert f"{name} does not follow from the runs" in check.text


def by_another_version(folder: Path) -> None:
    facts = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps({**facts, "source": "0" * 64}))


def test_a_report_that_another_version_worded_is_no_mismatch_and_not_intact(session: SessionFolder) -> None:
    folder = published(session)
    by_another_version(folder)
    reseal(folder)
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT
    (folder / "summary.md").write_text("worded differently\n")
    verdicts = json.loads((folder / "verdicts.json").read_text())
    for verdict in verdicts:
        verdict["reason"] = f"{verdict['outcome']}: worded differently"
        del verdict["smallest_effect"]
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == UNKNOWN_VERSION
    assert "another version of benchgate wrote" in check.text
    assert "summary.md" in check.text


def test_a_report_that_another_version_wrote_and_this_one_does_not_is_no_mismatch(
    session: SessionFolder,
) -> None:
    folder = published(session)
    facts = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps({**facts, "reports": [*facts["reports"], "bmf.json"]}))
    (folder / "bmf.json").write_text("{}\n")
    reseal(folder)
    assert verify_session(folder, rejudge.recompute).exit_code == MISMATCH
    by_another_version(folder)
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert (check.exit_code, "wrote bmf.json, which this one" in check.text) == (UNKNOWN_VERSION, True)
    (folder / "other.json").write_text("{}\n")
    reseal(folder)
    assert verify_session(folder, rejudge.recompute).exit_code == MISMATCH


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("verdicts.json", '"outcome": "SKIP"', '"outcome": "PASS"'),
        ("verdicts.json", '"runs": ', '"runs": 1'),
        ("verdicts.json", "[", "{"),
        ("verdicts.json", "]", ",{}]"),
        ("results.csv", ",true,", ",false,"),
    ],
)
def test_another_version_explains_no_other_figure(
    session: SessionFolder, name: str, old: str, new: str
) -> None:
    folder = published(session)
    by_another_version(folder)
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code in (TAMPERED, MISMATCH)


@pytest.fixture
def measured(session: SessionFolder) -> Path:
    """A session with --measure: one sample inside a function, one outside."""
    samples = [f"measure phase=work cpu=0 name=sample_pc value={value}" for value in (4100, 9000)]
    session.update(
        options={**INFO.options, "measure": True},
        symbols={CELL.row: symbols_of(Symbols((4096,), (4196,), ("count_range",)), NO_SYMBOLS)},
    )
    return published(session, console(*unframed(GOOD), *samples))


def test_the_attribution_is_rendered_again(measured: Path) -> None:
    assert "| count_range | 1 | 50% |" in (measured / "attribution.md").read_text()
    assert verify_session(measured, rejudge.recompute).exit_code == INTACT


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: forge(folder / "attribution.md", "count_range", "kernel_lock"),
        lambda folder: forge(folder / "attribution.md", "| 1 | 50% |", "| 9 | 50% |"),
        lambda folder: forge(folder / "session.json", '"count_range"', '"kernel_lock"'),
        lambda folder: change(folder, lambda facts: facts.pop("symbols")),
        lambda folder: change(folder, lambda facts: facts.update(symbols={CELL.row: [[4096, "x", 3]]})),
        lambda folder: change(folder, lambda facts: facts["options"].update(measure=False)),
    ],
    ids=["name", "count", "other-symbols", "no-symbols", "bad-symbols", "not-measured"],
)
def test_an_attribution_that_does_not_follow_is_a_mismatch(
    measured: Path, edit: Callable[[Path], object]
) -> None:
    edit(measured)
    reseal(measured)
    check = verify_session(measured, rejudge.recompute)
    assert check.exit_code == MISMATCH, check.text


def forge(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_reason_has_relative_paths_so_that_a_copy_has_the_same_reason(session: SessionFolder) -> None:
    raw = attempt(session)
    (raw.folder / "serial.log").unlink()
    (row,) = rejudge.judge_session(close(session)).rows
    assert f"the console runs/{raw.folder.name}/serial.log cannot be read" in row.reason


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (None, "options is not an object"),
        ([], "options is not an object"),
        ({}, "options has no inconclusive_fails"),
        ({"inconclusive_fails": 1}, "options: inconclusive_fails 1 has a wrong type"),
    ],
)
def test_invalid_options_are_refused(session: SessionFolder, options: object, said: str) -> None:
    folder = published(session)
    change(folder, lambda facts: facts.update(options=options))
    with pytest.raises(EvidenceError, match=said):
        rejudge.recompute(folder)


def test_a_cell_that_is_not_planned_is_refused(session: SessionFolder) -> None:
    raw = attempt(session)
    stranger = replace(raw, cell=replace(CELL, cpus=7), folder=raw.folder.with_name(f"0001-{CELL.row}-smp7"))
    raw.folder.rename(stranger.folder)
    save(stranger)
    with pytest.raises(EvidenceError, match=r"runs/0001-.*: its cell is not in the session's plan"):
        rejudge.judge_session(close(session))


def test_a_cell_with_the_id_of_another_planned_cell_is_refused(session: SessionFolder) -> None:
    attempt(session)
    folder = close(session)
    change(folder, lambda facts: [c["cell"].update(workload="x") for c in facts["plan"][0]["cells"]])
    with pytest.raises(EvidenceError, match=r"runs/0001-.*: its cell is not in the session's plan"):
        rejudge.show(folder)


def test_exchanged_run_folders_are_refused(session: SessionFolder) -> None:
    first, second = attempt(session), attempt(session)
    folder = close(session)
    first.folder.rename(folder / "aside")
    second.folder.rename(first.folder)
    with pytest.raises(EvidenceError, match=r"runs/0001-.*/run\.json is of attempt 2, .*: a run was moved"):
        rejudge.judge_session(folder)


def test_a_run_whose_record_is_missing_is_named(session: SessionFolder) -> None:
    raw = attempt(session)
    folder = close(session)
    (raw.folder / "run.json").unlink()
    with pytest.raises(EvidenceError, match=r"run\.json cannot be read: No such file"):
        rejudge.judge_session(folder)


def test_a_run_without_its_console_is_not_verified(session: SessionFolder) -> None:
    raw = attempt(session)
    (raw.folder / "serial.log").unlink()
    (row,) = rejudge.judge_session(close(session)).rows
    assert not row.verified
    assert "serial.log cannot be read" in row.reason


@pytest.mark.parametrize("name", ["serial.log", "run.json"])
def test_a_pipe_instead_of_a_file_does_not_block(session: SessionFolder, name: str) -> None:
    raw = attempt(session)
    folder = close(session)
    (raw.folder / name).unlink()
    os.mkfifo(raw.folder / name)
    command = [sys.executable, "-m", "benchgate.cli", "rejudge", str(folder)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 4
    assert b"is not a plain file" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_session_without_its_runs_folder_is_refused(session: SessionFolder) -> None:
    folder = close(session)
    (folder / "runs").rmdir()
    with pytest.raises(EvidenceError, match="runs cannot be read: No such file"):
        rejudge.judge_session(folder)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda f: f["workloads"].update(primes="moon"), "workload `moon` is not known|not built in"),
        (lambda f: f["workloads"].update(primes="/nowhere/moon.yaml"), "name its YAML file with --workload"),
        (lambda f: f.update(workloads={}), "does not describe primes.hi-100000-linux-smp2"),
        (lambda f: f.update(systems={}), "does not describe primes.hi-100000-linux-smp2"),
        (lambda f: f["systems"].update(linux="name: ["), "cannot be judged here"),
        (lambda f: f["systems"].update(linux="unavailable"), "cannot be judged here"),
        (lambda f: f.pop("policy"), "the policy cannot be read"),
        (lambda f: f.pop("plan"), "the plan cannot be read"),
        (lambda f: gate(f)["cell"].update(params=None), "the plan cannot be read"),
        (lambda f: f.update(capacity=[]), "the capacity cannot be read"),
        (lambda f: gate(f).update(at_least=float("inf")), "Infinity is not a JSON number"),
        (lambda f: gate(f).update(at_least=float("nan")), "NaN is not a JSON number"),
        (
            lambda f: gate(f).update(at_least=10**400),
            "the plan cannot be read: .*at_least 1000.* is not a finite",
        ),
        (lambda f: gate(f).update(at_least="2"), "the plan cannot be read: .*at_least '2' has a wrong type"),
        (
            lambda f: gate(f).update(at_least=True),
            "the plan cannot be read: .*at_least True has a wrong type",
        ),
        (lambda f: gate(f).update(kind=[]), r"the plan cannot be read: .*kind \[\] has a wrong type"),
        (lambda f: f["policy"].update(superlinear=10**400), "the policy cannot be read: .*superlinear"),
        (lambda f: f["policy"].update(first=5.5), "the policy cannot be read: .*first 5.5 has a wrong type"),
        (lambda f: f["policy"].update(informs=5), "the policy cannot be read: .*informs 5 has a wrong type"),
        (lambda f: f.update(clocks=3), "the clocks cannot be read: .*clocks is not an object"),
        (lambda f: f.update(clocks=clocks(decides="moon")), "the clocks cannot be read: .*'moon' is not"),
        (
            lambda f: f.update(clocks=clocks(looks={"wall": [5, 5]})),
            "the clocks cannot be read: .*looks must be those of",
        ),
        (
            lambda f: f.update(clocks=clocks(looks={"wall": [5], "insn": [5, 5]})),
            "the clocks cannot be read: .*does not have 2 values",
        ),
        (lambda f: f.update(clocks=clocks()), "the policy of .* cannot be read: .*'' is not a valid Clock"),
        (
            lambda f: f["plan"][0]["cells"][0]["cell"].update(clock="wall"),
            "the policy of .* cannot be read: .*names a clock, but the session has only one",
        ),
        (
            lambda f: gate(f)["cell"].update(clock="moon"),
            "the plan cannot be read: .*cell: clock 'moon' is not one of wall, insn",
        ),
        (lambda f: f.update(programs=3), "the programs cannot be read"),
        (lambda f: f.update(programs=[{}]), r"the programs cannot be read: .*programs\[0\] has no option"),
        (
            lambda f: f.update(programs=[program(option="--x")]),
            "the programs cannot be read: .*--x /a.py names",
        ),
        (
            lambda f: f.update(programs=[program(path="--gate")]),
            "the programs cannot be read: .*names no program",
        ),
    ],
)
def test_invalid_facts_are_refused(
    session: SessionFolder, edit: Callable[[dict[str, Any]], object], said: str
) -> None:
    attempt(session)
    folder = close(session)
    change(folder, edit)
    with pytest.raises(EvidenceError, match=said) as caught:
        rejudge.judge_session(folder)
    assert str(folder / SESSION) in str(caught.value)


def program(**changes: str) -> dict[str, str]:
    return {"option": "--gate", "name": "steady", "path": "/a.py", "sha256": "0" * 64, **changes}


def clocks(**changes: object) -> dict[str, object]:
    looks = {"wall": [5, 25], "insn": [5, 5]}
    return {"decides": "insn", "because": "this test says so", "looks": looks, **changes}


def test_a_run_on_another_lane_than_its_clock_is_refused(session: SessionFolder) -> None:
    """A run of the clock that informs could otherwise stand for one of the clock that decides."""
    raw = attempt(session)
    folder = close(session)
    change(folder, lambda facts: facts.update(clocks=clocks()))
    forge(raw.folder / "run.json", '"variant": ""', '"variant": "", "clock": "insn"')
    raw.folder.rename(raw.folder.with_name("0001-primes.hi-100000-linux-insn-smp2"))
    with pytest.raises(EvidenceError, match="its lane tcg is not one of its clock"):
        rejudge.judge_session(folder)


def gate(facts: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = facts["plan"][0]["gates"][0]
    return result


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda f: f.update(envelope=[1]), r"envelope is \[1\], not an object"),
        (lambda f: f["envelope"].update(isolation=1), "isolation is 1, not an object"),
        (lambda f: f["envelope"].update(accelerators={"kvm": 1}), "kvm is 1, not an object"),
        (lambda f: f.update(versions=3), "versions is 3, not an object"),
        (lambda f: f.update(inputs=None), "inputs is None, not an object"),
        (lambda f: f["inputs"].update(labels=5), "labels is 5, not a list"),
        (lambda f: f["inputs"].update(qemu="x"), "qemu is 'x', not an object"),
        (lambda f: f.update(notes="x"), "notes is 'x', not a list"),
    ],
)
def test_invalid_facts_of_the_view_are_refused(
    session: SessionFolder, edit: Callable[[dict[str, Any]], object], said: str
) -> None:
    attempt(session)
    folder = close(session)
    change(folder, edit)
    with pytest.raises(EvidenceError, match=said):
        rejudge.show(folder)


@pytest.mark.parametrize(
    "edit",
    [
        lambda f: f["systems"].update(linux='version: 1\nname: "\\e[2Jintact"\n'),
        lambda f: f["policy"].update({"\x1b[2J": 1}),
        lambda f: f["plan"][0]["gates"][0]["cell"].update(label="\x1b[2J"),
    ],
)
def test_untrusted_text_is_escaped_for_the_terminal(
    session: SessionFolder, capsys: pytest.CaptureFixture[str], edit: Callable[[dict[str, Any]], object]
) -> None:
    """An escape sequence could delete the findings and print `intact`."""
    folder = published(session)
    change(folder, edit)
    reseal(folder)
    assert [cli.main([word, str(folder)]) for word in ("verify", "rejudge")] == [12, 4]
    said = capsys.readouterr()
    assert "\\x1b[2J" in said.out
    assert "\\x1b[2J" in said.err
    assert "\x1b" not in said.out + said.err


def test_a_folder_that_is_not_a_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"session\.json"):
        rejudge.judge_session(tmp_path)


def test_an_oracle_named_in_a_session_folder_is_never_executed(
    session: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An oracle is a program; `verify` must not run one that the session folder brings along."""
    raw = attempt(session)
    folder = close(session)
    ran = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w')\ndef check(*_): pass\n")
    (folder / "evil.c").write_text("")
    (folder / "evil.yaml").write_text("name: primes\nmode: process\nsource: evil.c\noracle: evil.py\n")
    change(folder, lambda facts: facts["workloads"].update(primes=str(folder / "evil.yaml")))
    with pytest.raises(EvidenceError, match="if you trust it"):
        rejudge.judge_session(folder)
    monkeypatch.chdir(folder)  # from within, a name alone is enough of a path
    for path in (folder / SESSION, raw.folder / "run.json"):
        forge(path, '"workload": "primes"', '"workload": "evil.yaml"')
    change(folder, lambda facts: facts.update(workloads={"evil.yaml": "evil.yaml"}))
    with pytest.raises(EvidenceError, match="if you trust it"):
        rejudge.judge_session(Path())
    assert not ran.exists()


@pytest.mark.parametrize(
    "name", ["serial.log", "run.json", "argv.json", "affinity.json", "", "../../session.json"]
)
def test_a_link_is_refused_as_verify_refuses_it(session: SessionFolder, name: str, tmp_path: Path) -> None:
    """The link leads to the very content, out of the session's folder."""
    raw = attempt(session)
    folder = close(session)
    path = (raw.folder / name).resolve()
    outside = tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    with pytest.raises(
        EvidenceError, match=r"is not a (plain|regular) file|Too many levels of symbolic links"
    ):
        rejudge.judge_session(folder)
    assert verify_session(folder, rejudge.recompute).exit_code == 10


def test_the_link_latest_is_followed(session: SessionFolder, tmp_path: Path) -> None:
    folder = published(session)
    assert rejudge.judge_session(tmp_path / "reports" / "latest").rows == rejudge.judge_session(folder).rows


@pytest.mark.parametrize(
    ("hidden", "placement", "refused"),
    [
        (True, "physical", True),
        (False, "virtual", True),
        (True, "virtual", False),
        (False, "physical", False),
    ],
)
def test_a_placement_that_the_envelope_contradicts_is_refused(
    session: SessionFolder, hidden: bool, placement: str, refused: bool
) -> None:
    attempt(session, placement=Placement(placement))
    folder = close(session)
    change(folder, lambda facts: facts["envelope"].update(topology_hidden=hidden))
    if not refused:
        assert rejudge.judge_session(folder).rows[0].verified
        return
    with pytest.raises(EvidenceError, match=f"says placement {placement}, but by the envelope"):
        rejudge.judge_session(folder)


__all__ = ["session"]  # a fixture


@pytest.fixture
def folder(session: SessionFolder) -> Path:
    return published(session)


def test_the_page_is_that_of_the_session(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", str(folder)]) == 0
    name = capsys.readouterr().out.strip()
    assert name == f"report-{folder.name}.html"
    text = (tmp_path / name).read_text()
    assert text == (folder / "report.html").read_text()
    assert folder.name in pagekit.read(text).text
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_results_csv_alone_has_a_page_that_decides_nothing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert cli.main(["report", str(folder / "results.csv"), "--out", str(out)]) == 0
    page = pagekit.read(out.read_text())
    assert "UNVERIFIED" in page.text
    assert "verdicts" not in page.parts


def test_a_page_inside_a_sealed_session_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (folder / "mine.html", folder / "runs" / "mine.html"):
        assert cli.main(["report", str(folder), "--out", str(place)]) == 4
        assert "name a file outside with --out" in capsys.readouterr().err
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_place_that_cannot_be_written_is_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "no" / "page.html")]) == 4
    assert "cannot be written" in capsys.readouterr().err


def without_page(folder: Path, *, said: bool) -> None:
    (folder / "report.html").unlink()
    facts = json.loads((folder / SESSION).read_text())
    if not said:
        del facts["reports"]
    (folder / SESSION).write_text(json.dumps(facts))
    reseal(folder)


def test_a_session_of_an_earlier_version_has_no_page_and_is_intact(folder: Path) -> None:
    without_page(folder, said=False)
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_page_that_the_session_made_must_be_there(folder: Path) -> None:
    without_page(folder, said=True)
    assert verify_session(folder, rejudge.recompute).exit_code == INCOMPLETE


def test_a_first_report_must_be_there_whatever_the_session_says(folder: Path) -> None:
    (folder / "summary.md").unlink()
    without_page(folder, said=False)
    assert verify_session(folder, rejudge.recompute).exit_code == INCOMPLETE


def test_an_edited_page_is_a_mismatch(folder: Path) -> None:
    path = folder / "report.html"
    path.write_text(path.read_text().replace("SKIP", "PASS"))
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    assert "report.html does not follow from the runs" in check.text
