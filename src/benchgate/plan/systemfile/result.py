"""Reads `result`: in which form the guest prints its figures and answers.

Takes the top section and how the system is asked and ended; gives a `Result`. Fails with CatalogError.
"""

from __future__ import annotations

import re

from benchgate.base import yamlfile
from benchgate.base.metrics import WINDOWS
from benchgate.base.systems import Ask, EndBy, Result, ResultFormat, ResultPattern
from benchgate.base.yamlfile import NAME, Section
from benchgate.plan.systemfile.console import check_watched


def read(top: Section, ask: Ask, end_by: EndBy) -> Result:
    words = top.section("result")
    if words is None:
        if ask is Ask.SELFTEST:
            top.refuse("is missing: a self-test needs patterns for its figures and its answers", "result")
        return Result()
    form = ResultFormat(words.choice("format", tuple(ResultFormat), ResultFormat.BENCH))
    if form is ResultFormat.BENCH:
        if ask is Ask.SELFTEST:
            words.refuse("a self-test needs `format: patterns` or `format: bench-lines`", "format")
        called, foreign = words.text("system", ""), words.choice("foreign", ("counted", "na"), "counted")
        words.close()
        return Result(form, called, foreign == "counted")
    if ask is not Ask.SELFTEST and not top.refused("ask"):
        words.refuse(
            f"`{form}` is only for `ask: selftest`: a workload's oracle needs the answers of every worker, "
            "which it does not give. Print the wire format (docs/wire.md) and leave `format` out. Or, if "
            "the kernel runs a fixed test of its own, write `ask: selftest` and run the workload `selftest`",
            "format",
        )
    if form is ResultFormat.BENCH_LINES:
        return _operations(words)
    answers = words.texts("answers")
    expect = words.plain("expect")
    names = {name for pattern in answers for name in _groups(words, pattern)}
    if not expect or not answers:
        words.refuse("a figure without a known answer is not a result: add `answers` and `expect`", "expect")
    elif end_by is EndBy.KILL:
        check_watched(words, "answers", answers[-1])
    if unmatched := sorted(set(expect) - names):
        words.refuse(f"no pattern in `answers` has a group (?P<{unmatched[0]}>...)", "expect")
    work = _pattern(words, "work")
    if work is None:
        words.refuse("is missing", "work")
    total = _pattern(words, "total")
    found = Result(form, work=work, total=total, expect=expect, answers=answers)
    words.close()
    return found


def _groups(words: Section, pattern: str) -> tuple[str, ...]:
    try:
        return tuple(yamlfile.regex(pattern).groupindex)
    except ValueError as error:
        words.refuse(f"`{pattern}` {error}", "answers")
        return ()


def _operations(words: Section) -> Result:
    found = words.texts("operations")
    for number, name in enumerate(found):
        if not NAME.match(name) or name in WINDOWS or name in found[:number]:
            words.refuse(
                f"`{name}` is duplicate, or no name of a metric: use lower-case letters, digits and _",
                "operations",
            )
    if not found:
        words.refuse(
            "add the names of the operations: one that the program leaves out would not be missed",
            "operations",
        )
    words.close()
    return Result(ResultFormat.BENCH_LINES, operations=found)


def _pattern(result: Section, key: str) -> ResultPattern | None:
    words = result.section(key)
    if words is None:
        return None
    if not words.has("begins"):
        words.refuse(
            "`begins` is missing: add a pattern for the line that the kernel prints just before this time "
            "begins. Without it a figure that is too short could pass",
            "pattern",
        )
    found = ResultPattern(
        begins=_begins(words) if words.has("begins") else "",
        regex=words.pattern("pattern", groups=("value",)),
        unit=words.choice("unit", ("ns", "us", "ms", "cycles")),
        shift=words.integer("shift", 0, high=40),
    )
    words.close()
    return found


def _begins(words: Section) -> str:
    pattern = words.pattern("begins")
    if re.search(pattern, ""):
        words.refuse(f"`{pattern}` matches the empty string, so it names no line", "begins")
    return pattern
