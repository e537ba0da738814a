"""What a session records, and where."""

from __future__ import annotations

from pathlib import Path

from benchgate.session import keepers


def test_records_name_their_files_and_nothing_else() -> None:
    folder = Path("folder")
    assert keepers.records(folder).options() == {}
    wanted = keepers.records(folder, lines=True, profile=True).options()
    assert wanted == {"profile": folder / "profile.txt", "sharing": folder / "sharing.txt"}
