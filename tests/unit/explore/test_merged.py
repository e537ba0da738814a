from __future__ import annotations

from benchgate.base.exploration import MOST_NS, StallPoint
from benchgate.explore.merged import in_time, lengthened, listed, moved, probes


def test_stalls_at_one_instruction_are_one() -> None:
    pieces = [
        StallPoint(1, 50, 7),
        StallPoint(0, 9, 1),
        StallPoint(1, 50, 3),
        StallPoint(0, 4, 2),
        StallPoint(0, 5, 0),
    ]
    assert in_time(pieces) == (StallPoint(1, 50, 10), StallPoint(0, 9, 1), StallPoint(0, 4, 2))


def test_a_sum_is_no_longer_than_a_file_allows() -> None:
    assert in_time([StallPoint(0, 1, MOST_NS), StallPoint(0, 1, 1)]) == (StallPoint(0, 1, MOST_NS),)


def test_a_moved_stall_is_listed_in_its_new_place() -> None:
    points = (StallPoint(0, 10, 1), StallPoint(0, 20, 2), StallPoint(1, 5, 3))
    assert moved(points, 0, 15) == (StallPoint(0, 20, 2), StallPoint(0, 25, 1), StallPoint(1, 5, 3))
    assert moved(points, 2, -5) == (StallPoint(0, 10, 1), StallPoint(0, 20, 2), StallPoint(1, 0, 3))
    assert moved(points, 2, -6) is None
    assert lengthened(points, 1, 9) == (StallPoint(0, 10, 1), StallPoint(0, 20, 9), StallPoint(1, 5, 3))


def test_probes_are_spread_over_the_instructions() -> None:
    assert probes([2], 0, 10, 4) == (
        StallPoint(2, 0, 0),
        StallPoint(2, 3, 0),
        StallPoint(2, 6, 0),
        StallPoint(2, 9, 0),
    )
    assert len(probes([0, 1], 100, 104, 4)) == 8
    assert listed([StallPoint(1, 1, 0), StallPoint(0, 9, 0)]) == (StallPoint(0, 9, 0), StallPoint(1, 1, 0))
