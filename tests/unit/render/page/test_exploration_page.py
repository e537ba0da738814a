from __future__ import annotations

from dataclasses import replace

from benchgate.explore.exploration_result import FOUND, ExplorationResult
from benchgate.render.page import exploration_page
from tests import pagekit
from tests.unit.explore.test_exploration_result import FIND, LINE

GOOD = tuple(replace(LINE, number=n, seed=n, work_ns=1000 + n) for n in range(1, 6))
BAD = replace(LINE, number=6, seed=6, work_ns=None, outcome=FOUND, find="find-1")
STATE = ExplorationResult((*GOOD, BAD), (FIND,), expected=6)
COMMANDS = {"find-1": "benchgate explore replay x/finds/find-1"}


def test_a_find_is_shown_with_its_command_its_sentence_and_its_lanes() -> None:
    page = pagekit.read(exploration_page.page(STATE, COMMANDS))
    assert page.parts == ["group-1", "runs", "finds"]
    assert "FAIL: 1 find in 1 group: 6 runs" in page.text
    assert "benchgate explore replay x/finds/find-1" in page.text
    assert "CPU 1 stops after park+0x1c and before park+0x20 for 300 ns" in page.text
    assert "1 of 7 stalls left, after 42 runs" in page.text
    labels = [one.get("aria-label") for one in page.attributes("svg")]
    assert "the interleaving that is left: what each CPU executed around the stall" in labels
    assert "row-smp2: timed window of each run; a cross is a find" in labels


def test_what_a_guest_printed_is_only_text() -> None:
    find = replace(FIND, what="<script>x</script>", last_lines=("<b>", "a"), group="<i>")
    text = exploration_page.page(replace(STATE, finds=(find,)), COMMANDS)
    pagekit.read(text)
    assert "&lt;script&gt;" in text


def test_nothing_found_is_a_pass_only_if_all_was_made() -> None:
    assert "PASS: nothing found: 5 runs" in exploration_page.page(ExplorationResult(GOOD, (), expected=5), {})
    assert "PARTIAL: nothing found so far: 5 runs" in exploration_page.page(
        ExplorationResult(GOOD, (), expected=9), {}
    )


def test_an_exploration_without_any_run_has_a_page() -> None:
    pagekit.read(exploration_page.page(ExplorationResult(expected=3, notes=("x: it has one CPU",)), {}))
