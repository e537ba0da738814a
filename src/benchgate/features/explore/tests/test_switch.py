from __future__ import annotations

from benchgate.features.explore.switch import (
    Segment,
    Switch,
    SwitchSide,
    around,
    during,
    executed,
    place,
    segments,
)
from benchgate.insn.explore_log import Delay
from benchgate.insn.symbols import sorted_symbols

KERNEL = sorted_symbols([(0x1000, 0x100, "park"), (0x2000, 0x100, "unpark")])
USER = sorted_symbols([(0x8000, 0x10, "main")])
TABLES = (KERNEL, USER)

STALL = Delay(1, 50, 300, 1000, 0x1010)
LOG = (
    Delay(0, 10, 0, 990, 0x2000),
    Delay(1, 49, 0, 999, 0x100C),
    STALL,
    Delay(0, 20, 0, 1100, 0x2010),
    Delay(0, 21, 0, 1101, 0x2014),
    Delay(1, 51, 0, 1301, 0x1014),
    Delay(0, 40, 0, 1200, 0x8004),
)
"""The delays in the order of execution: the last one of CPU 0 has an earlier time than the one before it."""


def test_an_address_has_the_first_table_that_knows_it() -> None:
    assert place(0x101C, TABLES) == "park+0x1c"
    assert place(0x8004, TABLES) == "main+0x4"
    assert place(0x9999, TABLES) == "0x9999"


def test_during_a_stall_is_what_the_log_has_up_to_the_next_entry_of_the_cpu() -> None:
    assert during(LOG, STALL) == (3, 5)


def test_of_a_cpu_that_never_goes_on_the_time_limits_it() -> None:
    log = (STALL, Delay(0, 20, 0, 1299, 0x2010), Delay(0, 21, 0, 1300, 0x2014))
    assert during(log, STALL) == (1, 2)


def test_what_another_cpu_executed_is_its_first_and_last_place() -> None:
    assert executed(LOG[3:5], 0, TABLES) == SwitchSide(0, "unpark+0x10", "unpark+0x14")
    assert executed(LOG[3:5], 2, TABLES) is None


def test_the_instructions_of_a_stall_lie_between_the_entries_around_it() -> None:
    assert around(LOG, 0, 3, 5, (0, 1000)) == (10, 40)
    assert around(LOG, 2, 3, 5, (0, 1000)) == (0, 1000)


def test_the_sentence_names_both_cpus_and_both_places() -> None:
    switch = Switch(
        SwitchSide(1, "park+0x1c", "park+0x20"), 300, (SwitchSide(0, "unpark+0x10", "unpark+0x44"),)
    )
    assert switch.sentence.startswith("CPU 1 stops after park+0x1c and before park+0x20 for 300 ns, ")
    assert switch.sentence.endswith("CPU 0 executes unpark+0x10 to unpark+0x44")
    alone = Switch(SwitchSide(0, "a+0x0", "a+0x4"), 5, (SwitchSide(2, "b+0x0", "b+0x0"),))
    assert alone.sentence.endswith("in which CPU 2 executes b+0x0")
    assert Switch(SwitchSide(0, "a", "b"), 5, ()).sentence.endswith("no other CPU executes anything")


def test_segments_follow_the_functions_and_leave_the_stall_free() -> None:
    log = (
        Delay(0, 1, 0, 100, 0x2000),
        Delay(0, 2, 0, 110, 0x2004),
        Delay(0, 3, 0, 120, 0x1000),
        Delay(1, 5, 0, 100, 0x1000),
        Delay(1, 7, 0, 160, 0x1008),
    )
    stall = Delay(1, 6, 50, 105, 0x1004)
    assert segments(log, [stall], 200, TABLES) == (
        Segment(0, 100, 120, "unpark"),
        Segment(0, 120, 121, "park"),
        Segment(1, 100, 105, "park"),
        Segment(1, 105, 155, ""),
        Segment(1, 155, 161, "park"),
    )
