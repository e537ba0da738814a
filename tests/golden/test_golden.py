"""What is judged and drawn from recorded sessions of shipped families is, byte for byte, what it was.

Each archive is a session's folder as it was recorded, beside the text that `rejudge` and `threads` print.
`python -m tools.golden` writes the texts again, and git shows what differs. `verify` compares with the
reports in the archive: if one is meant to change, the session is recorded again.
"""

from __future__ import annotations

import pytest

from tools import golden

NAMES = golden.names()


@pytest.fixture(scope="module", params=NAMES)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> golden.Recorded:
    return golden.unpacked(request.param, tmp_path_factory.mktemp("golden"))


def test_every_report_is_what_it_was(recorded: golden.Recorded) -> None:
    assert "intact (hashes, chain and every verdict agree)" in golden.said("verify", recorded.folder)


def test_commands_say_what_they_said(recorded: golden.Recorded) -> None:
    for command in golden.commands(recorded.folder):
        assert golden.said(command, recorded.folder) == recorded.text(command)
