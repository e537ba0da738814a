"""What a guest printed by itself, and conversations that were not as recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.conversation import TypedLine
from benchgate.base.errors import VerifyError
from benchgate.base.system.script import Script, ScriptStep
from benchgate.judge.console.output import of_console, of_conversation

PROMPT = r"^\$ $"
SCRIPT = Script(
    PROMPT,
    (
        ScriptStep("cpus", PROMPT, captures=(r"^cpus: (?P<up>\d+)$",)),
        ScriptStep("primes 2", PROMPT, expect="^done$"),
    ),
)
CONSOLE = b"boot\r\n$ cpus\r\ncpus: 2\r\n$ primes 2\r\nsum=10\r\ndone\r\n$ "
TYPED = (TypedLine(0, 8, b"cpus\n", None), TypedLine(1, 25, b"primes 2\n", None))


def test_prompts_and_echoes_are_no_output_and_lines_keep_their_numbers() -> None:
    output = of_conversation(CONSOLE, SCRIPT, TYPED)
    assert output.text.split("\n") == ["boot", "", "cpus: 2", "", "sum=10", "done", "$ "]
    assert output.steps == ("\ncpus: 2", "\nsum=10\ndone\n$ ")


def test_without_a_conversation_all_is_output() -> None:
    assert of_console(b"a\r\n\x1b[1mb\x1b[0m").text == "a\nb"


def test_output_behind_a_prompt_is_kept_if_nothing_is_echoed() -> None:
    silent = replace(SCRIPT, steps=(ScriptStep("x", PROMPT, expect="^done$", echo=False),))
    output = of_conversation(b"$ done\n", silent, (TypedLine(0, 2, b"x\n", None),))
    assert output.text == "done\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            b"$ primes 2\r\n",
            b"$ prmes 2\r\n",
            "step 2, `primes 2`: the guest echoed `prmes 2`: input was lost",
        ),
        (b"$ cpus\r\n", b"$ late\r\n", "step 1, `cpus`: the guest echoed `late`"),
        (b"boot\r\n$ cpus", b"boot\r\n# cpus", "typed after 8 bytes of the console, where it was not due"),
        (b"cpus: 2\r\n", b"cpus: ?\r\n", "step 1, `cpus`: it prompts again, and nothing before that matches"),
        (b"done\r\n", b"dont\r\n", "step 2, `primes 2`: nothing that it printed matches `\\^done\\$`"),
    ],
)
def test_a_conversation_that_failed_is_refused(old: bytes, new: bytes, said: str) -> None:
    assert CONSOLE.count(old) == 1
    with pytest.raises(VerifyError, match=said):
        of_conversation(CONSOLE.replace(old, new), SCRIPT, TYPED)


@pytest.mark.parametrize(
    "typed",
    [
        (),
        TYPED[:1],
        (TYPED[0], replace(TYPED[1], text=b"primes 1\n")),
        (TYPED[0], replace(TYPED[1], at=27)),
        (replace(TYPED[0], at=7), TYPED[1]),
        (replace(TYPED[0], step=1), TYPED[1]),
        (TYPED[1], TYPED[0]),
        (*TYPED, replace(TYPED[1], at=len(CONSOLE))),
    ],
)
def test_a_record_of_another_conversation_is_refused(typed: tuple[TypedLine, ...]) -> None:
    with pytest.raises(VerifyError):
        of_conversation(CONSOLE, SCRIPT, typed)


def test_a_prompt_that_moves_the_cursor_is_refused() -> None:
    silent = replace(SCRIPT, steps=(ScriptStep("x", PROMPT, expect="^done$", echo=False),))
    console = b"x\x1b[2D$ done\n"
    with pytest.raises(VerifyError):
        of_conversation(console, silent, (TypedLine(0, 7, b"x\n", None),))
