"""Reads `result`: the form in which the guest prints figures and answers, and where windows come from.

Takes the top section, how the system is asked and ended, and what is typed; gives a `ResultDefinition`. A
window (`result.work`, `result.total`) is a figure that the guest prints, the guest time between two lines of
its console, or what lies between the marks that its programs execute. Fails with CatalogError.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from benchgate.base.system.boots import EndBy
from benchgate.base.system.results import (
    TYPED,
    LineWindow,
    MarkWindow,
    ResultDefinition,
    ResultFormat,
    ResultPattern,
    WindowSource,
)
from benchgate.base.system.script import Script
from benchgate.base.system.systems import AskMethod
from benchgate.base.workload.metrics import WINDOWS
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.system_keys import MARKS
from benchgate.plan.systemfile.console import check_watched, groups

_COUNTED = ("ticks", "cycles")
_NS = 1e9


def _window(result: Section, key: str) -> WindowSource | None:
    if result.is_text(key):
        if result.text(key) != MARKS:
            result.refuse(f"expected a mapping, or `{MARKS}`", key)
        return MarkWindow()
    words = result.section(key)
    if words is None:
        return None
    found = _line_window(words) if words.has("from") or words.has("to") else _figure_window(words)
    words.close()
    return found


def _line_window(words: Section) -> LineWindow:
    return LineWindow(_names_line(words, "from"), _names_line(words, "to"))


def _figure_window(words: Section) -> ResultPattern:
    if not words.has("begins"):
        words.refuse(
            "`begins` is missing: add a pattern for the line that the kernel prints just before this time "
            "begins. Without it a figure that is too short could pass",
            "pattern",
        )
    unit = words.choice("unit")
    return ResultPattern(
        begins=_names_line(words, "begins") if words.has("begins") else "",
        regex=words.pattern("pattern"),
        unit=unit,
        shift=words.integer("shift"),
        hz=_hz(words, unit),
        step=words.number("step"),
    )


def _hz(words: Section, unit: str) -> float:
    """How many ticks or cycles are one second: `hz`, or `scale`, the ns of one."""
    given = [key for key in ("hz", "scale") if words.has(key)]
    if given and unit not in _COUNTED:
        words.refuse(f"is only for a figure in {' or '.join(_COUNTED)}", given[0])
    if len(given) > 1:
        words.refuse("leave out `hz` or `scale`: one says what the other says", "scale")
    if unit == "ticks" and not given:
        words.refuse(
            "a figure in ticks needs `hz`, the ticks of a second, or `scale`, the ns of a tick", "unit"
        )
    if "scale" in given:
        return _NS / words.number("scale")
    return words.number("hz") if given else 0.0


def _names_line(words: Section, key: str) -> str:
    pattern = words.pattern(key)
    if re.search(pattern, ""):
        words.refuse(f"`{pattern}` matches the empty string, so it names no line", key)
    return pattern


def read(top: Section, ask: AskMethod, end_by: EndBy, script: Script | None) -> ResultDefinition:
    words = top.section("result")
    if words is None:
        if ask is AskMethod.SELFTEST:
            top.refuse("is missing: a self-test needs patterns for its figures and its answers", "result")
        _check_nonce(top, script)
        return ResultDefinition()
    form = ResultFormat(words.choice("format"))
    if form is not ResultFormat.BENCH and ask is AskMethod.CMDLINE and not top.refused("ask"):
        words.refuse(
            f"`{form}` is only for `ask: prompt` and `ask: selftest`: the oracle of a workload that is asked "
            "for on the command line needs the answers of every worker. Print the wire format "
            "(`benchgate docs wire`) and leave `format` out. Or, if the kernel runs a fixed test of its own, "
            "write `ask: selftest` and run the workload `selftest`",
            "format",
        )
    match form:
        case ResultFormat.BENCH:
            definition = _bench(words, ask)
            _check_nonce(top, script)
        case ResultFormat.BENCH_LINES:
            definition = _operations(words)
        case ResultFormat.PATTERNS:
            definition = _patterns(words, ask, end_by, script)
    words.close()
    return definition


def _check_nonce(top: Section, script: Script | None) -> None:
    """Requires that the nonce is typed: a guest at a prompt knows no other source of the nonce that the wire
    format's begin line needs."""
    if script is not None and "nonce" not in script.places and not top.refused("steps"):
        top.refuse(
            "no step types {nonce}, which the guest must print in the wire format's begin line; or write "
            "`result: {format: patterns}`",
            "steps",
        )


def _bench(words: Section, ask: AskMethod) -> ResultDefinition:
    if ask is AskMethod.SELFTEST:
        words.refuse("a self-test needs `format: patterns` or `format: bench-lines`", "format")
    called, foreign = words.text("system"), words.choice("foreign")
    return ResultDefinition(ResultFormat.BENCH, called, foreign == "counted")


def _patterns(words: Section, ask: AskMethod, end_by: EndBy, script: Script | None) -> ResultDefinition:
    answers = words.texts("answers")
    expect = words.plain("expect") if words.has("expect") or ask is AskMethod.SELFTEST else None
    names = {name for pattern in answers for name in groups(words, pattern, "answers")}
    if script is not None:
        names.update(name for pattern in script.captures for name in groups(words, pattern, "answers"))
    _check_answers(words, names, expect)
    if answers and end_by is EndBy.KILL:
        check_watched(words, "answers", answers[-1])
    work, total = _window(words, "work"), _window(words, "total")
    if work is None:
        words.refuse("is missing", "work")
    begins = {getattr(window, "begins", "") for window in (work, total)}
    if TYPED in begins and (script is None or not all(step.echo for step in script.steps)):
        words.refuse(
            f"a window can begin with `{TYPED}` only at a prompt (`ask: prompt`) that echoes every line",
            "work",
        )
    return ResultDefinition(ResultFormat.PATTERNS, work=work, total=total, expect=expect, answers=answers)


def _check_answers(words: Section, names: Collection[str], expect: Collection[str] | None) -> None:
    """Checks the answers' names. If `expect` is None, a workload's oracle judges the answers."""
    if expect is not None and not (expect and names):
        words.refuse("a figure without a known answer is not a result: add `answers` and `expect`", "expect")
    elif not names:
        words.refuse(
            "a figure without an answer is not a result: add `answers`, or `capture` to a step, with groups "
            "(?P<NAME>...) for the workload's oracle",
            "answers",
        )
    if unmatched := sorted(set(expect or ()) - set(names)):
        words.refuse(f"no pattern in `answers` has a group (?P<{unmatched[0]}>...)", "expect")


def _operations(words: Section) -> ResultDefinition:
    result = words.texts("operations")
    for number, name in enumerate(result):
        if not NAME.match(name) or name in WINDOWS or name in result[:number]:
            why = "is duplicate, or no name of a metric: use lower-case letters, digits and _"
            words.refuse(f"`{name}` {why}", "operations")
    if not result:
        why = "add the names of the operations: one that the program leaves out would not be missed"
        words.refuse(why, "operations")
    return ResultDefinition(ResultFormat.BENCH_LINES, operations=result)
