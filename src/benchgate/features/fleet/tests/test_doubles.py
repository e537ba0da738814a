"""Both copies of a run are never one worker's while there is another one; the odd one of three is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchgate.features.fleet.doubles import FIRST, SECOND, Pairs, first_difference, ruling_of

CLOCK = b"""insn-clock 1
level full
mode serial
seed 1
beat 0
mark 01 0 1000
mark 02 0 2000
vcpu 0 time 3000 executed 2500 paused 0 skipped 0 halted 500 stalled 0
check lost 0
host waits 17
host grants 201
end 3000
closed
"""
RECORD = {
    "schema": 1,
    "cell": {"system": "kernel", "workload": "primes", "cpus": 2},
    "attempt": 1,
    "order": 1,
    "nonce": "aa11",
    "seed": 1,
    "warmup": True,
    "ending": "done",
    "exit_status": 33,
    "host_span_ns": 1_800_000_000,
    "detail": "",
}


def test_the_copies_have_two_workers_in_each_order() -> None:
    for order in ((FIRST, SECOND), (SECOND, FIRST)):
        pairs = Pairs()
        places = [pairs.place(("key", copy), {"a", "b", "c"}) for copy in order]
        assert len(set(places)) == 2


def test_a_copy_whose_worker_is_gone_never_goes_to_that_of_the_other_copy() -> None:
    pairs = Pairs()
    first = pairs.place(("key", FIRST), {"a", "b", "c"})
    second = pairs.place(("key", SECOND), {"a", "b", "c"})
    (other,) = {"a", "b", "c"} - {first, second}
    assert pairs.place(("key", FIRST), {second, other}) == other
    assert pairs.place(("key", SECOND), {first, second, other}) == second
    assert pairs.of_other(("key", SECOND)) == other


def test_one_worker_alone_makes_both() -> None:
    pairs = Pairs()
    assert [pairs.place(("key", copy), {"a"}) for copy in (FIRST, SECOND)] == ["a", "a"]


def test_each_worker_is_compared_after_some_rows() -> None:
    pairs, seen = Pairs(), set()
    for row in range(3):
        seen |= {pairs.place((f"{row}", copy), set("abcde")) for copy in (FIRST, SECOND)}
    assert seen == set("abcde")


def run(
    clock: bytes = CLOCK, console: bytes = b"tern: up\n@bench end crc=1\n", **changed: Any
) -> dict[str, bytes]:
    return {
        "run.json": json.dumps(RECORD | changed).encode(),
        "clock.log": clock,
        "serial.log": console,
        "argv.json": b'["/worker/a/qemu"]',
        "threads.json": b"[1]",
    }


def elsewhere(
    clock: bytes = CLOCK, console: bytes = b"tern: up\n@bench end crc=1\n", **changed: Any
) -> dict[str, bytes]:
    """The same run on another machine, as another attempt."""
    facts = {"attempt": 9, "order": 4, "warmup": False, "host_span_ns": 9_000_000_000}
    other = clock.replace(b"host waits 17", b"host waits 3").replace(b"host grants 201", b"host grants 9")
    return run(other, console, **facts | changed) | {"argv.json": b'["/b/qemu"]', "threads.json": b"[2, 3]"}


def test_what_the_host_decides_is_no_difference() -> None:
    assert first_difference(run(), elsewhere()) == ""


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (
            elsewhere(CLOCK.replace(b"02 0 2000", b"02 0 2001")),
            "clock.log:7 is `mark 02 0 2000`, and `mark 02 0 2001`",
        ),
        (elsewhere(CLOCK.replace(b"executed 2500", b"executed 2501")), "clock.log:8"),
        (elsewhere(CLOCK.replace(b"beat 0\n", b"")), "clock.log:5 is `beat 0`, and `mark 01 0 1000`"),
        (elsewhere(console=b"tern: up\n@bench end crc=2\n"), "serial.log:2"),
        (elsewhere(console=b"tern: up\n@bench end crc=1\n\n"), "serial.log has 3 lines, and 4"),
        (elsewhere(nonce="bb22"), "run.json says nonce 'aa11', and 'bb22'"),
        (elsewhere(ending="panic"), "run.json says ending 'done', and 'panic'"),
        (elsewhere() | {"events.txt": b""}, "only one of them has events.txt"),
        (
            elsewhere() | {"run.json": b"[]"},
            "run.json of one of them is not a record of a run: it is not an object",
        ),
        (elsewhere() | {"run.json": b"{"}, "run.json of one of them is not a record of a run"),
    ],
)
def test_what_the_guest_decides_is_one(other: dict[str, bytes], found: str) -> None:
    assert first_difference(run(), other).startswith(found)


def test_a_file_that_nobody_knows_is_compared() -> None:
    assert first_difference(run() | {"new": b"1"}, elsewhere() | {"new": b"2"}) == "new:1 is `1`, and `2`"


def test_guests_that_the_host_killed_agree_as_far_as_both_went() -> None:
    later = CLOCK.replace(b"mark 02 0 2000\n", b"mark 02 0 2000\nbeat 2500\nbeat 2600\n")
    more = elsewhere(later, b"tern: up\n@bench end crc=1\nidle\n", exit_status=None)
    assert first_difference(run(exit_status=None), more) == ""
    other = CLOCK.replace(b"02 0 2000", b"02 0 2001")
    assert first_difference(run(exit_status=None), elsewhere(other, exit_status=None)).startswith(
        "clock.log:"
    )


WRONG = elsewhere(CLOCK.replace(b"02 0 2000", b"02 0 2001"))


@pytest.mark.parametrize(
    ("first", "second", "odd"),
    [(run(), WRONG, "second"), (WRONG, run(), "first")],
)
def test_the_third_takes_the_odd_one_out(first: dict[str, bytes], second: dict[str, bytes], odd: str) -> None:
    majority = ruling_of(("first", first), ("second", second), ("third", elsewhere()))
    assert majority.odd == odd
    right = {"first": "second", "second": "first"}[odd]
    assert majority.why.startswith(
        f"{odd} made another run than {right} and third of the same task: clock.log:7"
    )


def test_three_different_runs_name_nobody() -> None:
    third = elsewhere(CLOCK.replace(b"02 0 2000", b"02 0 2002"))
    majority = ruling_of(("first", run()), ("second", WRONG), ("third", third))
    assert majority.odd == ""
    assert majority.why.startswith("first, second, third made three different runs of one task")


def test_there_is_no_ruling_on_equal_runs() -> None:
    with pytest.raises(ValueError, match="nothing to rule on"):
        ruling_of(("first", run()), ("second", elsewhere()), ("third", WRONG))
