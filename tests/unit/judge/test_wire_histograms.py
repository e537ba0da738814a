"""A histogram that contradicts itself is refused, before anything is computed from it."""

from __future__ import annotations

import pytest

from benchgate.judge import wire
from benchgate.judge.wire_lines import WireError
from tests.wirekit import NONCE, console

BEGIN = (
    f"begin v=2 nonce={NONCE} system=linux workload=w mode=thread workers=2 online=2 unit=ns hz=1000000000"
)
WORKERS = tuple(f"worker id={n} cpu={n} cpu_end={n} start=10 end=20 done=4" for n in range(2))
# Four values: 3, 3, 130 and 2000. 130 is in b130 (width 1 << 0), 2000 in b634: (10 - 6) * 128 + 122.
GOOD = (
    "hist worker=0 name=wakeup count=4 sum=2136 min=3 max=2000 places=770 squares=418874 lines=2",
    "bucket worker=0 name=wakeup b3=2 b130=1",
    "bucket worker=0 name=wakeup b634=1",
)
EMPTY = "hist worker=1 name=wakeup count=0 sum=0 min=0 max=0 places=0 squares=0 lines=0"
REST = ("window work_start=10 work_end=20 total_start=5 total_end=25", "result done=8", "foreign time=3")


def read(*lines: str) -> wire.Transcript:
    return wire.parse(console(BEGIN, *WORKERS, *lines, *REST), nonce=NONCE)


def test_each_workers_histogram_is_read() -> None:
    (seen, empty) = read(*GOOD, EMPTY).histograms["wakeup"]
    assert (seen.count, seen.sum, seen.min, seen.max) == (4, 2136, 3, 2000)
    assert dict(seen.buckets) == {3: 2, 130: 1, 634: 1}
    assert (empty.count, dict(empty.buckets)) == (0, {})


def test_two_names_for_each_worker() -> None:
    transcript = read(
        *GOOD,
        EMPTY.replace("worker=1 name=wakeup", "worker=0 name=request"),
        EMPTY,
        EMPTY.replace("wakeup", "request"),
    )
    assert [
        (name, [histogram.count for histogram in each]) for name, each in transcript.histograms.items()
    ] == [
        ("wakeup", [4, 0]),
        ("request", [0, 0]),
    ]


def without(line: int) -> list[str]:
    return [text for number, text in enumerate((*GOOD, EMPTY)) if number != line]


def changed(line: int, old: str, new: str) -> list[str]:
    assert old in GOOD[line]
    return [text.replace(old, new) if at == line else text for at, text in enumerate(GOOD)] + [EMPTY]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param(changed(1, "b130=1", "b131=1"), "places=770, but its buckets have 771", id="moved"),
        pytest.param(
            [text.replace("b3=2 b130=1", "b3=1 b4=1 b129=1") for text in changed(0, "", "")],
            "squares=418874, but its buckets have 418622",
            id="two moved in opposite directions",
        ),
        pytest.param(without(1), "lines=2, but 1 bucket lines follow", id="bucket line missing"),
        pytest.param(without(0), "out of order|must begin with", id="hist line missing"),
        pytest.param(without(3), "have 2, not 1", id="worker missing"),
        pytest.param(changed(1, "b130=1", "b130=1 b130=1"), "duplicate key", id="bucket twice in a line"),
        pytest.param(changed(2, "b634", "b130"), "duplicate or out of order", id="bucket twice"),
        pytest.param(changed(2, "b634", "b7"), "duplicate or out of order", id="not ascending"),
        pytest.param(changed(0, "count=4", "count=5"), "count=5, but its buckets have 4", id="count"),
        pytest.param(changed(1, "b3=2", "b3=3"), "count=4, but its buckets have 5", id="one more"),
        pytest.param(changed(0, "sum=2136", "sum=2135"), "by its buckets it is 2136 to 2136", id="sum"),
        pytest.param(changed(0, "min=3", "min=2"), "min=2 is not in 3..3, the first", id="min"),
        pytest.param(
            changed(0, "max=2000", "max=2008"), r"max=2008 is not in 2000..2007, the last", id="max"
        ),
        pytest.param(changed(1, "b3=2", "b3=2 b4=0"), "an empty bucket is not printed", id="zero"),
        pytest.param(changed(2, "b634", "b7424"), "b7424 is not a bucket", id="beyond the last"),
        pytest.param(changed(2, "b634", "c634"), "c634 is not a bucket", id="no bucket"),
        pytest.param(changed(2, "b634", "b0634"), "b0634 is not a bucket", id="leading zero"),
        pytest.param(changed(2, "worker=0", "worker=1"), "of another histogram", id="another's bucket"),
        pytest.param([*GOOD, *GOOD, EMPTY], "is duplicate", id="histogram twice"),
        pytest.param([EMPTY, *GOOD], "expected histogram", id="workers swapped"),
        pytest.param([*GOOD, EMPTY, EMPTY], "have 2, not 3", id="one too many"),
        pytest.param([*GOOD, EMPTY.replace("wakeup", "Odd")], "expected histogram wakeup of", id="other"),
        pytest.param([*GOOD, EMPTY.replace("sum=0", "sum=1")], "its figures are not 0", id="empty, but"),
        pytest.param([*GOOD, EMPTY + " more=1"], "more fields", id="extra field"),
        pytest.param(
            [EMPTY.replace("worker=1 name=wakeup", f"worker=0 name=h{n}") for n in range(5)],
            "at most 4 histograms",
            id="five",
        ),
    ],
)
def test_an_impossible_histogram_is_refused(lines: list[str], reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        read(*lines)


@pytest.mark.parametrize(
    ("total", "is_possible"),
    # b634 is 2000..2007, b635 is 2008..2015: with min=2001 and max=2009 the third value is 2001..2007.
    [(6010, False), (6011, True), (6017, True), (6018, False)],
)
def test_the_sum_must_fit_into_the_buckets(total: int, *, is_possible: bool) -> None:
    lines = (
        f"hist worker=0 name=wakeup count=3 sum={total} min=2001 max=2009 "
        "places=1903 squares=1207137 lines=1",
        "bucket worker=0 name=wakeup b634=2 b635=1",
        EMPTY,
    )
    if is_possible:
        assert read(*lines).histograms["wakeup"][0].sum == total
        return
    with pytest.raises(WireError, match="by its buckets it is 6011 to 6017"):
        read(*lines)
