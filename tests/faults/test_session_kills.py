"""However a session ends, no guest outlives it, and its runs are kept in a session marked as partial."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from benchgate.run.stale import runtime_folder
from tests.faults.session_rig import SessionRig, benchgate, make
from tests.machines import PATIENCE_S, wait_until
from tests.plugin.conftest import TEST_FILE

SECOND_ROW = """
@pytest.mark.workload("primes", hi=10_000, wait="spin")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_spins(verdict):
    verdict.require_pass()
"""
HANGING = 4
MEASURED = HANGING - 1


@pytest.fixture
def session(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionRig:
    """A session whose fourth attempt hangs, after two warm-ups and one run."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    made = make(pytester, tmp_path)
    made.hang_at(HANGING)
    return made


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_the_guest_and_keeps_the_completed_runs(
    session: SessionRig, number: signal.Signals
) -> None:
    with session.started() as process:
        hanging = session.await_hanging(HANGING)
        assert len(session.guests()) == 1
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (-number if number == signal.SIGKILL else pytest.ExitCode.INTERRUPTED)
    assert "Traceback" not in said
    assert wait_until(lambda: session.guests() == [])

    assert session.facts["state"] == "partial"
    why = "killed" if number == signal.SIGKILL else "interrupted before primes.hi-10000-fake"
    assert why in session.facts["state_reason"]
    rows = (session.latest / "results.csv").read_text().splitlines()[1:]
    assert len(rows) == MEASURED
    assert json.loads((hanging / "run.json").read_text())["ending"] == "interrupted"

    code, text = benchgate("verify", session.latest)
    assert code == 11
    assert "the session is partial" in text
    assert f"{hanging.name} was started, but never recorded" in text
    code, text = benchgate("rejudge", session.latest)
    assert code == 5
    assert "\nPARTIAL: " in text
    assert "; until then SKIP: nothing was decided" in " ".join(text.split())
    assert "PASS" not in text


SIDE_BY_SIDE = """
from benchgate.session.measuring import MeasuringSession

MeasuringSession.at_once = lambda self, planned: 2
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_guests_side_by_side_are_ended_together(session: SessionRig, number: signal.Signals) -> None:
    """The fourth attempt hangs, those beside it go on. What was recorded is kept, and no guest is left."""
    session.play_at(HANGING, "hang-run", SIDE_BY_SIDE)
    with session.started() as process:
        hanging = session.await_hanging(HANGING)
        assert wait_until(lambda: len(recorded(session)) >= MEASURED)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: session.guests() == [])
    assert json.loads((hanging / "run.json").read_text())["ending"] == "interrupted"
    assert len(recorded(session)) >= MEASURED
    assert str(HANGING) not in recorded(session)


def recorded(session: SessionRig) -> list[str]:
    """The numbers of the runs whose results were recorded."""
    with (session.latest / "results.csv").open(newline="") as file:
        return [row["run"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_reports_of_an_interrupted_session_say_what_rejudge_says(
    session: SessionRig, number: signal.Signals
) -> None:
    with session.started() as process:
        session.await_hanging(HANGING)
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE_S)
    assert "\nPARTIAL: interrupted before " in said
    assert f"\nnext:   the same command with --resume={session.latest.parent / 'runs'}" in said
    assert (session.latest / "summary.md").read_text().startswith("# PARTIAL: interrupted before ")
    verdicts = json.loads((session.latest / "verdicts.json").read_text())
    _, again = benchgate("rejudge", session.latest)
    assert [verdict["outcome"] for verdict in verdicts] == ["SKIP"] * 3
    for verdict in verdicts:
        assert verdict["reason"] in " ".join(again.split())


SLOW_CLOSE = """
import time
from pathlib import Path
from benchgate.evidence.session_folder import SessionFolder

close = SessionFolder.close

def slow(self, finished, *, missing=""):
    Path({sign!r}).touch()
    while not Path({go_on!r}).exists():
        time.sleep(0.01)
    close(self, finished, missing=missing)

SessionFolder.close = slow
"""


@pytest.mark.parametrize("more", [1, 6])
def test_more_signals_while_the_session_closes_do_not_stop_the_closing(
    session: SessionRig, tmp_path: Path, more: int
) -> None:
    sign, go_on = tmp_path / "closing", tmp_path / "go-on"
    session.play_at(HANGING, "hang-run", SLOW_CLOSE.format(sign=str(sign), go_on=str(go_on)))
    with session.started() as process:
        session.await_hanging(HANGING)
        process.send_signal(signal.SIGINT)
        assert wait_until(sign.exists)
        for number in range(more):
            process.send_signal(signal.SIGTERM if number % 3 else signal.SIGINT)
            time.sleep(0.01)  # so that it handles each
        go_on.touch()
        said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert "keeping the results; another signal ends it at once" in said
    assert "Traceback" not in said
    assert session.guests() == []
    assert "interrupted before" in session.facts["state_reason"]
    assert (session.latest / "manifest.sha256").exists()


def test_closing_the_terminal_interrupts_the_session(session: SessionRig) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        session.argv(),
        cwd=session.rig.pytester.path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )
    try:
        os.close(theirs)
        session.await_hanging(HANGING)
        os.close(ours)
        process.wait(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_S)
    assert session.guests() == []
    assert "interrupted before" in session.facts["state_reason"]
    assert (session.latest / "manifest.sha256").exists()
    assert benchgate("verify", session.latest)[0] == 11


def test_a_verdict_of_an_interrupted_session_is_shown_but_is_not_a_success(session: SessionRig) -> None:
    """The first of two rows is complete. A session without the second must not exit as if all gates had
    passed."""
    session.rig.pytester.makepyfile(test_scaling=TEST_FILE + SECOND_ROW)
    session.hang_at(13)
    with session.started() as process:
        session.await_hanging(13)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    code, text = benchgate("rejudge", session.latest)
    assert code == 5
    assert "\nPARTIAL: interrupted before primes.hi-10000.wait-spin-fake" in text
    assert "; until then PASS: 3 of 4 verdicts" in " ".join(text.split())


def test_the_next_session_removes_the_guest_record_of_a_killed_one(session: SessionRig) -> None:
    with session.started() as process:
        session.await_hanging(HANGING)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    assert [path.name.startswith("guest-") for path in runtime_folder().iterdir()] == [True]
    session.conftest()
    code, said = session.run()
    assert code == 0, said
    assert list(Path(os.environ["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_a_second_session_names_the_lock_holder_and_gives_up_in_time(session: SessionRig) -> None:
    with session.started() as first:
        session.await_hanging(HANGING)
        before = len(list((session.reports / "runs").iterdir()))
        code, said = session.run("--lock-wait=3")
        assert code == 4, said
        assert f"another session is measuring on this host: process {first.pid} of user " in said
        # A busy host can delay the message, which then shows less time.
        assert re.search(rf"waiting up to [0-3] s for process {first.pid}\b", said), said
        assert "waited 3 s" in said
        assert "Traceback" not in said
        assert len(list((session.reports / "runs").iterdir())) == before
        assert first.poll() is None


def test_a_second_session_waits_and_then_measures(session: SessionRig) -> None:
    with session.started() as first:
        session.await_hanging(HANGING)
        session.conftest()
        with session.started() as second:
            assert second.stdout is not None
            # A busy host can delay the message, which then shows less time than 600 s.
            assert any(re.search(r"waiting up to \d+ s for process", line) for line in second.stdout)
            first.send_signal(signal.SIGINT)
            said, _ = second.communicate(timeout=PATIENCE_S)
            first.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, said
    assert session.facts["state"] == "complete"
