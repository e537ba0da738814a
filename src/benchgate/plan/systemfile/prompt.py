"""Reads how a system is asked for a workload: `ask`, `modes`, and what is typed: `prompt`, `steps`, `input`.

Takes the top section; gives the way it is asked and the kinds of workers. Takes the way, the ready line and
the deadlines too; gives the `Script`, with its places unfilled, or None for a system that is asked in another
way. Fails with CatalogError.
"""

from __future__ import annotations

import re

from benchgate.base.cells import Mode
from benchgate.base.runs import Deadlines
from benchgate.base.system.script import Script, ScriptStep, not_typable
from benchgate.base.system.systems import AskMethod
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.systemfile.console import groups

_OF_A_PROMPT = ("prompt", "steps", "input")
_LINE_ENDS = ("\n", "\r", "\r\n")


def read_way(top: Section) -> AskMethod:
    way = AskMethod(top.choice("ask"))
    given = [key for key in _OF_A_PROMPT if top.has(key)]
    if given and way is not AskMethod.PROMPT:
        top.refuse("is only for `ask: prompt`: write that, or leave this key out", given[0])
    return way


def modes(top: Section) -> tuple[Mode, ...]:
    words = top.texts("modes")
    unknown = [word for word in words if word not in tuple(Mode)]
    if unknown or not words:
        top.refuse(f"expected {' or '.join(Mode)}, found {', '.join(unknown) or 'nothing'}", "modes")
    return tuple(Mode(word) for word in words if word not in unknown)


def read(top: Section, ask: AskMethod, ready: str, deadlines: Deadlines) -> Script | None:
    if ask is not AskMethod.PROMPT:
        return None
    prompt = _prompt(top, None)
    with top.optional("input") as words:
        echo = _echo(words)
        line_end = words.text("line_end")
        if line_end not in _LINE_ENDS:
            words.refuse(r'must be "\n", "\r" or "\r\n", in double quotes', "line_end")
        delay_us = words.integer("delay_us")
        byte_us = words.integer("byte_us")
    steps = tuple(_step(section, prompt, deadlines, echo=echo) for section in top.sections("steps"))
    if not any(step.send is not None for step in steps):
        top.refuse("must have at least one step with `send`, the line to type", "steps")
    return Script(prompt, steps, ready, line_end, delay_us * 1000, byte_us * 1000)


def _step(words: Section, prompt: str, deadlines: Deadlines, *, echo: bool) -> ScriptStep:
    step = ScriptStep(
        send=words.text("send", "") if words.has("send") else None,
        prompt=_prompt(words, prompt),
        expect=_line(words, "expect", words.text("expect")),
        captures=tuple(_line(words, "capture", text) for text in words.one_or_more("capture")),
        echo=_echo(words, "true" if echo else "false"),
        deadline_s=words.number("deadline_s", deadlines.run_s),
    )
    words.close()
    if wrong := not_typable(step.send or ""):
        words.refuse(f"cannot be typed: {wrong}", "send")
    if step.send is None and not step.expect:
        words.refuse("types nothing and expects nothing: add `send` or `expect`", "send")
    return step


def _prompt(words: Section, default: str | None) -> str:
    """A pattern that all of an incomplete line must match."""
    result = words.pattern("prompt", default)
    if not words.refused("prompt") and re.fullmatch(result, ""):
        words.refuse("matches an empty line, so each new line would be a prompt", "prompt")
    return result


def _line(words: Section, key: str, pattern: str) -> str:
    """A pattern that is tried on single lines of a step's output."""
    groups(words, pattern, key)
    if pattern and not words.refused(key) and re.search(pattern, ""):
        words.refuse(f"`{pattern}` matches the empty string, so it would match any line", key)
    return pattern


def _echo(words: Section, usual: str | None = None) -> bool:
    return words.choice("echo", default=usual) == "true"
