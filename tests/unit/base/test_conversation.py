"""Conversations at a prompt: what is typed when, and what is no answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise

import pytest

from benchgate.base.conversation import (
    Conversation,
    NextLine,
    TypedLine,
    TypedRecord,
    record_from_json,
)
from benchgate.base.system.script import Script, ScriptStep

PROMPT = r"^\$ $"
PRIMES = ScriptStep("primes 2 100", PROMPT, expect="^done$", captures=(r"^sum=(?P<sum>\d+)$",), deadline_s=60)
STATS = ScriptStep("stats", PROMPT, captures=(r"^ticks=(?P<ticks>\d+)$",), deadline_s=5)


def conversation(*steps: ScriptStep, ready: str = "") -> Conversation:
    return Conversation(Script(PROMPT, steps, ready))


def at_prompt(*steps: ScriptStep) -> Conversation:
    """A conversation whose first line was just typed."""
    result = conversation(*steps)
    result.feed(b"boot\r\n$ ")
    result.typed(None)
    return result


def fed(found: Conversation, *pieces: bytes) -> Conversation:
    for piece in pieces:
        found.feed(piece)
    return found


# ---- the prompt


def test_a_line_is_typed_while_the_prompt_is_the_last_thing_on_the_console() -> None:
    result = fed(conversation(PRIMES), b"boot\r\n")
    assert result.pending is None
    assert fed(result, b"$ ").pending == NextLine(0, b"primes 2 100\n")


@pytest.mark.parametrize("console", [b"price: $ ", b"$ 5", b"$ \n", b"$", b"x$ "])
def test_no_prompt(console: bytes) -> None:
    assert fed(conversation(PRIMES), console).pending is None


@pytest.mark.parametrize("console", [b"price: $ ", b"$ 5 ", b"a$ b"])
def test_a_prompt_is_all_of_its_line_even_if_its_pattern_has_no_anchors(console: bytes) -> None:
    result = Conversation(Script(r"\$ ", (ScriptStep("go", r"\$ "),)))
    assert fed(result, console).pending is None
    assert fed(result, b"\n$ ").pending is not None


@pytest.mark.parametrize(("length", "counts"), [(1000, True), (1001, False)])
def test_a_line_that_is_too_long_is_no_prompt(length: int, counts: bool) -> None:
    result = Conversation(Script(".*", (ScriptStep("go", ".*"),)))
    assert (fed(result, b"x" * length).pending is not None) is counts


def test_a_prompt_of_the_boot_log_counts_only_after_the_ready_line() -> None:
    result = fed(conversation(PRIMES, ready="^init: up$"), b"$ ")
    assert result.pending is None
    assert fed(result, b"\ninit: up\n$ ").pending is not None


def test_a_prompt_that_is_followed_by_more_is_none_and_the_line_is_named() -> None:
    result = fed(conversation(PRIMES), b"$ [   1.5] random: ready\n")
    assert result.pending is None
    assert "is not the last thing on the console" in result.waits_for
    assert "`$ [ 1.5] random: ready`" in result.waits_for


def test_escapes_and_carriage_returns_are_not_part_of_a_prompt() -> None:
    assert fed(conversation(PRIMES), b"boot\r\n\x1b[1m$ \x1b[0m\x1b[6n").pending is not None


def test_nothing_can_be_typed_without_a_prompt() -> None:
    with pytest.raises(ValueError, match="nothing was to be typed"):
        conversation(PRIMES).typed(None)


# ---- the echo


@pytest.mark.parametrize(
    ("echo", "shown"),
    [
        (b"prmes 2 100\n", "prmes 2 100"),
        (b"\n", ""),
        (b"primes 2 1000\n", "primes 2 1000"),
        (b"[1.5] x\n", "[1.5] x"),
    ],
)
def test_an_echo_that_differs_is_lost_input(echo: bytes, shown: str) -> None:
    result = fed(at_prompt(PRIMES), echo)
    assert result.failure.startswith("step 1, `primes 2 100`: the guest echoed")
    assert f"echoed `{shown}`: input was lost or changed" in result.failure
    assert not result.is_over
    assert result.pending is None


def test_an_echo_without_its_end_is_named_as_lost_input() -> None:
    result = fed(at_prompt(PRIMES), b"prim")
    assert not result.failure
    assert result.waits_for == "step 1, `primes 2 100`: input was lost: the guest echoed only `prim`"


def test_the_echo_is_no_answer() -> None:
    step = ScriptStep("echo done", PROMPT, expect="done")
    assert not fed(at_prompt(step), b"echo done\r\n").is_over
    assert fed(at_prompt(step), b"echo done\r\ndone\r\n").is_over


def test_a_guest_that_echoes_against_its_description_is_refused() -> None:
    step = ScriptStep("done", PROMPT, expect="done", echo=False)
    result = fed(at_prompt(step), b"done\n")
    assert "the guest echoes its input" in result.failure


def test_output_behind_the_prompt_is_an_answer_if_nothing_is_echoed() -> None:
    step = ScriptStep("primes", PROMPT, expect="^done$", echo=False)
    assert fed(at_prompt(step), b"done\n").is_over


# ---- the answer


def test_a_step_ends_with_all_that_it_must_print() -> None:
    result = fed(at_prompt(PRIMES), b"primes 2 100\n", b"done\n")
    assert not result.is_over
    assert r"matches `^sum=(?P<sum>\d+)$`" in result.waits_for
    assert fed(result, b"sum=1060\n").is_over


def test_an_answer_counts_when_its_line_is_complete() -> None:
    step = ScriptStep("go", PROMPT, expect="^done")
    assert not fed(at_prompt(step), b"go\ndone").is_over
    assert fed(at_prompt(step), b"go\ndone 1\n").is_over


def test_the_next_line_is_typed_at_the_prompt_after_the_answer() -> None:
    result = fed(at_prompt(PRIMES, STATS), b"primes 2 100\n$ \nsum=1\n$ ")
    assert result.pending is None, "a prompt before the answer is none"
    assert fed(result, b"\ndone\n$ ").pending == NextLine(1, b"stats\n")


def test_a_step_without_an_answer_of_its_own_ends_with_the_prompt() -> None:
    result = fed(at_prompt(STATS), b"stats\nticks=7\n")
    assert not result.is_over
    assert fed(result, b"$ ").pending == NextLine(1, b"")
    result.typed(None)
    assert result.is_over
    assert [typed.text for typed in result.record] == [b"stats\n", b""]


def test_only_the_last_step_is_answered_and_only_by_all_that_it_wants() -> None:
    result = fed(at_prompt(PRIMES, STATS), b"primes 2 100\nsum=1060\ndone\n$ ")
    assert not result.is_answered, "another step follows"
    result.typed(None)
    assert not fed(result, b"stats\n").is_answered
    assert fed(result, b"ticks=7\n").is_answered
    silent = fed(at_prompt(ScriptStep("dump", PROMPT)), b"dump\n1\n2\n")
    assert not silent.is_answered, "all that it prints may be its answer"


def test_a_prompt_that_comes_back_without_the_capture_is_a_failure() -> None:
    result = fed(at_prompt(STATS, PRIMES), b"stats\nno such command\n$ ")
    result.typed(None)
    assert "step 1, `stats`: it prompts again, and nothing before that matches" in result.failure


def test_a_step_may_have_a_prompt_of_its_own_and_one_may_only_wait() -> None:
    wait = ScriptStep(None, PROMPT, expect="^init")
    login = ScriptStep("root", "login: ", echo=False)
    result = fed(conversation(wait, login, STATS), b"init: up\nlogin: ")
    assert result.pending == NextLine(1, b"root\n")
    result.typed(None)
    assert fed(result, b"\n$ ").pending == NextLine(2, b"stats\n")


def test_each_step_has_its_deadline() -> None:
    result = conversation(PRIMES, STATS)
    assert (result.step, result.deadline_s) == (-1, 0)
    fed(result, b"$ ").typed(None)
    assert (result.step, result.deadline_s) == (0, 60)
    fed(result, b"primes 2 100\ndone\nsum=1\n$ ").typed(None)
    assert (result.step, result.deadline_s) == (1, 5)


# ---- pieces


CONSOLE = b"boot\r\n$ primes 2 100\r\nsum=1060\r\ndone\r\n$ stats\r\nticks=7\r\n$ "
PLACES = (8, 40)
"""The places behind the prompts where the two lines were typed."""


def replayed(cuts: Iterable[int]) -> Conversation:
    result = conversation(PRIMES, STATS)
    for begin, end in pairwise(sorted({0, *PLACES, len(CONSOLE), *cuts})):
        result.feed(CONSOLE[begin:end])
        if result.pending and end in (*PLACES, len(CONSOLE)):
            result.typed(end)
    return result


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_the_pieces_in_which_a_console_is_read_change_nothing(step: int) -> None:
    result = replayed(range(0, len(CONSOLE), step))
    assert result.is_over
    assert [(typed.at, typed.text) for typed in result.record] == [
        (8, b"primes 2 100\n"),
        (40, b"stats\n"),
        (58, b""),
    ]
    assert result.cuts == {1: "$ primes 2 100", 4: "$ stats", 6: "$ "}


RECORD = TypedRecord(
    (
        TypedLine(0, 8, b"primes 2 100\n", None),
        TypedLine(1, 40, b"\xc3\xa9\r", 26_484_567),
        TypedLine(2, 58, b"", 9),
    )
)


def test_a_record_is_read_back() -> None:
    assert record_from_json(json.loads(json.dumps(RECORD.as_json()))) == RECORD.typed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "schema is not 1; use the benchgate that wrote it"),
        ({"typed": None}, "typed None has a wrong type"),
        ({"more": 1}, "unknown key 'more'"),
        ({"typed": [1]}, r"typed\[0\] is not an object"),
        ({"typed": [{"step": 0, "at": -1, "text": "", "time": None}]}, "at -1 is not a whole number"),
        ({"typed": [{"step": 0, "at": 1, "text": "", "time": 1.5}]}, "time 1.5 has a wrong type"),
        ({"typed": [{"step": 0, "at": 1, "text": "\ud800", "time": 1}]}, r"typed\[0\]: text: .*surrogates"),
        ({"typed": [{"step": 0, "at": 1, "text": ""}]}, "has no time"),
    ],
)
def test_another_file_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        record_from_json({**RECORD.as_json(), **change})
