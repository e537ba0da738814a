"""sharing.c: which lines moved, who touched which of their bytes, and what is dropped without room."""

from __future__ import annotations

import ctypes
from pathlib import Path

from benchgate.insn.sharing import LineCpu, MovedLine, Sharing, Touch, read_sharing
from tests.unit.insn.c.native import load

READS, WRITES = 1, 2
CLUSTER, ACROSS, SOCKET = range(3)
WORK_BEGIN, WORK_END, TOTAL_BEGIN, TOTAL_END = 1, 2, 3, 4
U64 = ctypes.c_uint64


class Recorder:
    def __init__(
        self, folder: Path, vcpus: int = 2, *, whole: bool = False, change: tuple[str, str] | None = None
    ) -> None:
        self.library = load(folder, "sharing", beside=("places",), change=change)
        self.path = folder / "sharing.txt"
        setup = self.library.sharing_setup
        setup.restype = ctypes.c_char_p
        assert setup(bytes(self.path), ctypes.c_uint(vcpus), ctypes.c_uint(64), ctypes.c_bool(whole)) is None

    def moved(self, physical: int, taker: int, giver: int, way: int = CLUSTER) -> None:
        self.library.sharing_moved(U64(physical), taker, giver, way)

    def access(self, cpu: int, does: int, physical: int, address: int, size: int = 8) -> None:
        self.library.sharing_access(cpu, does, U64(physical), U64(address), size)

    def mark(self, kind: int, time: int) -> None:
        self.library.sharing_mark(kind, U64(time))

    def is_on(self) -> bool:
        return ctypes.c_bool.in_dll(self.library, "sharing_on").value


def test_a_line_is_counted_from_its_first_move_on(tmp_path: Path) -> None:
    seen = Recorder(tmp_path)
    assert not seen.is_on()
    seen.mark(TOTAL_BEGIN, 1000)
    assert seen.is_on()
    seen.access(0, WRITES, 0x1000, 0x400000)  # it has not moved yet
    seen.moved(0x1000, 1, 0, ACROSS)
    for _ in range(3):
        seen.access(1, READS | WRITES, 0x1008, 0x400008)
    seen.moved(0x1000, 0, 1, SOCKET)
    seen.access(0, WRITES, 0x1000, 0xFFFF888000001000, 4)
    seen.access(0, READS, 0x1000, 0xFFFF888000001000, 8)
    seen.access(0, READS, 0x2000, 0x402000)  # another line
    seen.moved(0x1000, 0, 1, SOCKET)
    seen.access(1, READS, 0x1010, 0x7F0000000010)  # by another address: the first one stays
    seen.mark(TOTAL_END, 5000)
    assert not seen.is_on()
    first = LineCpu(0, (0, 0, 2), 1, (Touch(0, 4, 0, 1), Touch(0, 8, 1, 0)))
    second = LineCpu(1, (0, 1, 0), 2, (Touch(8, 8, 3, 3), Touch(16, 8, 1, 0)))
    line = MovedLine(0x1000, 0xFFFF888000001000, 0x400000, 3, (first, second))
    assert read_sharing(seen.path) == Sharing(64, 2, 4000, 0, 0, 1, (line,))


def test_more_offsets_than_there_is_room_for_are_counted_together(tmp_path: Path) -> None:
    seen = Recorder(tmp_path)
    seen.mark(WORK_BEGIN, 0)
    seen.moved(0x1000, 1, 0)
    for offset in range(10):
        seen.access(1, WRITES, 0x1000 + offset, 0x400000 + offset, 1)
    seen.access(1, READS, 0x1009, 0x400009, 1)
    seen.mark(WORK_END, 9)
    (line,) = read_sharing(seen.path).lines
    (taker,) = (line_cpu for line_cpu in line.cpus if line_cpu.cpu == 1)
    assert [touch.offset for touch in taker.touches] == list(range(8))
    assert (taker.more_reads, taker.more_writes) == (1, 2)


def test_lines_are_written_most_moved_first(tmp_path: Path) -> None:
    seen = Recorder(tmp_path)
    seen.mark(TOTAL_BEGIN, 0)
    for number, times in enumerate((2, 5, 1, 5)):
        for _ in range(times):
            seen.moved(0x1000 + 64 * number, 0, 1)
    seen.mark(TOTAL_END, 1)
    sharing = read_sharing(seen.path)
    assert [(line.physical, line.moves) for line in sharing.lines] == [
        (0x1040, 5),
        (0x10C0, 5),
        (0x1000, 2),
        (0x1080, 1),
    ]


def test_the_window_of_marks_and_a_guest_without_any(tmp_path: Path) -> None:
    seen = Recorder(tmp_path)
    seen.mark(WORK_BEGIN, 100)  # without a total window each end of work may be the last
    seen.moved(0, 0, 1)
    seen.mark(WORK_END, 200)
    assert read_sharing(seen.path).window == 100
    seen.moved(0, 1, 0)
    seen.mark(WORK_END, 300)
    assert (read_sharing(seen.path).window, read_sharing(seen.path).lines[0].moves) == (200, 2)
    folder = tmp_path / "whole"
    folder.mkdir()
    seen = Recorder(folder, whole=True)
    assert seen.is_on()
    seen.moved(0, 0, 1)
    seen.library.sharing_report(U64(700))
    assert read_sharing(seen.path).window == 700


SMALL = ("#define SHARING_LINES 65536", "#define SHARING_LINES 16")


def test_when_it_is_full_the_lines_that_moved_least_go_and_it_says_so(tmp_path: Path) -> None:
    seen = Recorder(tmp_path, change=SMALL)
    seen.mark(TOTAL_BEGIN, 0)
    for _ in range(100):
        seen.moved(0, 0, 1)  # hot
    for number in range(1, 200):
        seen.moved(64 * number, 0, 1)  # each once
        seen.access(0, READS, 64 * number, 64 * number)
    seen.access(0, READS, 0, 0x400000)
    seen.mark(TOTAL_END, 1)
    sharing = read_sharing(seen.path)
    assert sharing.lines[0].moves == 100
    assert sharing.lines[0].cpus[0].touches == (Touch(0, 8, 1, 0),)
    assert sharing.known <= 16
    assert sharing.known + sharing.dropped == 200
    assert sharing.dropped_moves >= 1


def test_no_line_that_is_missing_moved_more_often_than_the_file_says(tmp_path: Path) -> None:
    """Lines that move again after they were dropped: their counts are low by at most `dropped_moves`."""
    seen = Recorder(tmp_path, change=SMALL)
    seen.mark(TOTAL_BEGIN, 0)
    truth: dict[int, int] = {}
    for turn in range(2000):
        number = (turn * turn * 7 + turn) % 61 if turn % 3 else turn % 5
        truth[64 * number] = truth.get(64 * number, 0) + 1
        seen.moved(64 * number, turn % 2, 1 - turn % 2)
    seen.mark(TOTAL_END, 1)
    sharing = read_sharing(seen.path)
    kept = {moved_line.physical: moved_line.moves for moved_line in sharing.lines}
    assert sharing.dropped > 0
    for line, moves in truth.items():
        assert moves - sharing.dropped_moves <= kept.get(line, 0) <= moves
