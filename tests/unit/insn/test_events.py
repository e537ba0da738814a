"""The events of a replay: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.events import Halt, Kick, Turn, read_events

FILE = """insn-events 1
vcpus 2
open 100
work 0 100 180
halt 1 90 150 0
kick 0 200 -
spin 0 180 250
rest 1 220 300
close 300
end 300
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.txt"


def test_events_are_read(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    seen = read_events(path)
    assert seen.turns == (Turn(0, 100, 180, works=True), Turn(0, 180, 250, works=False))
    assert seen.halts == (Halt(1, 90, 150, 0), Halt(1, 220, 300, None, is_woken=False))
    assert seen.kicks == (Kick(0, 200, None),)
    assert (seen.vcpus, seen.full, seen.is_closed) == (2, None, True)


def test_a_full_file_and_one_of_a_killed_qemu_are_read(path: Path) -> None:
    path.write_text(FILE.replace("close 300", "full 260\nclose 300"), encoding="ascii")
    assert read_events(path).full == 260
    path.write_text(FILE[: FILE.index("spin") + 8], encoding="ascii")
    assert (len(read_events(path).turns), read_events(path).is_closed) == (1, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("insn-events 1", "insn-events 2"),
        ("vcpus 2", "vcpus 257"),
        ("vcpus 2\n", ""),
        ("work 0 100 180", "work 2 100 180"),
        ("work 0 100 180", "work 0 180 180"),
        ("work 0 100 180", "work 0 0100 180"),
        ("halt 1 90 150 0", "halt 1 90 150 2"),
        ("halt 1 90 150 0", "halt 1 150 90 0"),
        ("rest 1 220 300", "rest 2 220 300"),
        ("rest 1 220 300", "rest 1 300 300"),
        ("kick 0 200 -", "kick 0 200"),
        ("spin 0 180 250", "spun 0 180 250"),
        ("end 300", "end 300\nkick 0 200 -"),
        ("close 300", "close 300\nclose 300"),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str) -> None:
    assert old in FILE
    path.write_text(FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=f"{path}"):
        read_events(path)


def test_a_missing_and_a_huge_file_are_refused(path: Path) -> None:
    with pytest.raises(VerifyError, match="cannot read the events"):
        read_events(path)
    with path.open("wb") as stream:
        stream.truncate((24 << 20) + 1)
    with pytest.raises(VerifyError, match="at most"):
        read_events(path)
