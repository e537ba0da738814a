"""Both copies of a run are never one worker's while there is another one; the odd one of three is named."""

from __future__ import annotations

from benchgate.fleet.doubles import FIRST, SECOND, Pairs


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
