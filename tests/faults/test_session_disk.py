"""A disk that fills during a session: an error message, exit status 4, and the written files are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.session_rig import SessionRig, benchgate, make

# A limit on the size of any file simulates a full disk. It needs no root and leaves nothing mounted.
SHRINKS = """
import resource
from benchgate.session.measuring import MeasuringSession

def shrink(wrapped):
    def shrunk(self, *words, **more):
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
        return wrapped(self, *words, **more)
    return shrunk

MeasuringSession.{where} = shrink(MeasuringSession.{where})
"""


@pytest.fixture
def session(pytester: pytest.Pytester, tmp_path: Path) -> SessionRig:
    return make(pytester, tmp_path)


def rows(session: SessionRig) -> list[str]:
    return (session.latest / "results.csv").read_text().splitlines()[1:]


def assert_refused(code: int, said: str, named: str) -> None:
    assert code == 4, said
    assert named in said
    assert "File too large" in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


def test_no_room_for_session_json(session: SessionRig) -> None:
    session.conftest(SHRINKS.format(limit=2048, where="begin"))
    code, said = session.run()
    assert_refused(code, said, "session.json cannot be written")


def test_no_room_for_a_console(session: SessionRig) -> None:
    session.play_at(4, "endless", SHRINKS.format(limit=65_536, where="begin"))
    code, said = session.run()
    assert_refused(code, said, "cannot write the files of a run to")
    assert "--reports" in said
    assert len(rows(session)) == 3
    assert session.facts["state"] == "partial"
    assert benchgate("verify", session.latest)[0] == 11
    code, text = benchgate("rejudge", session.latest)
    assert code == 5
    assert "PASS" not in text


def test_no_room_for_the_reports_of_a_session_with_all_its_runs(session: SessionRig) -> None:
    session.conftest(SHRINKS.format(limit=4096, where="close"))
    code, said = session.run()
    assert_refused(code, said, "session.json cannot be written")
    assert len(rows(session)) == 12
    assert session.facts["state"] == "partial"
    assert benchgate("verify", session.latest)[0] == 11
    assert [path.name for path in session.latest.glob("*.new")] == []
