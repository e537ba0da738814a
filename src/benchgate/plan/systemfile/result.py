"""Reads `result`: in which form the guest prints its figures and answers.

Takes the top section, how the system is asked and ended, and what is typed; gives a `Result`. Fails with
CatalogError.
"""

from __future__ import annotations

from benchgate.base.metrics import WINDOWS
from benchgate.base.script import Script
from benchgate.base.systems import Ask, EndBy, Result, ResultFormat
from benchgate.base.yamlfile import NAME, Section
from benchgate.plan.systemfile import windows
from benchgate.plan.systemfile.console import check_watched, group_names


def read(top: Section, ask: Ask, end_by: EndBy, script: Script | None) -> Result:
    words = top.section("result")
    if words is None:
        if ask is Ask.SELFTEST:
            top.fail("is missing: a self-test needs patterns for its figures and its answers", "result")
        _check_nonce(top, script)
        return Result()
    form = ResultFormat(words.choice("format", tuple(ResultFormat), ResultFormat.BENCH))
    if form is not ResultFormat.BENCH and ask is Ask.CMDLINE:
        words.fail(
            f"`{form}` is only for `ask: prompt` and `ask: selftest`: a workload's oracle needs the answers of "
            "every worker, which it does not give. Print the wire format (docs/wire.md) and leave `format` "
            "out. Or, if the kernel runs a fixed test of its own, write `ask: selftest` and run the workload "
            "`selftest`",
            "format",
        )
    read_form = {ResultFormat.BENCH: _bench, ResultFormat.BENCH_LINES: _operations}.get(form)
    found = read_form(words, ask) if read_form else _patterns(words, ask, end_by, script)
    words.close()
    if form is ResultFormat.BENCH:
        _check_nonce(top, script)
    return found


def _check_nonce(top: Section, script: Script | None) -> None:
    if script is not None and "nonce" not in script.places:
        top.fail(
            "no step types {nonce}: the guest must print it in the begin line of the wire format. Or write "
            "`result: {format: patterns}`",
            "steps",
        )


def _bench(words: Section, ask: Ask) -> Result:
    if ask is Ask.SELFTEST:
        words.fail("a self-test needs `format: patterns` or `format: bench-lines`", "format")
    called, foreign = words.text("system", ""), words.choice("foreign", ("counted", "na"), "counted")
    return Result(ResultFormat.BENCH, called, foreign == "counted")


def _patterns(words: Section, ask: Ask, end_by: EndBy, script: Script | None) -> Result:
    answers = words.texts("answers")
    expect = words.plain("expect") if words.has("expect") else None
    groups = {name for pattern in answers for name in group_names(words, pattern, "answers")}
    captures = [pattern for step in script.steps for pattern in step.captures] if script else []
    groups.update(name for pattern in captures for name in group_names(words, pattern, "answers"))
    if (ask is Ask.SELFTEST or expect is not None) and not (expect and groups):
        words.fail("a figure without a known answer is not a result: add `answers` and `expect`", "expect")
    if not groups:
        words.fail(
            "a figure without an answer is not a result: add `answers`, or `capture` to a step, with groups "
            "(?P<NAME>...) that the workload's oracle checks",
            "answers",
        )
    if end_by is EndBy.KILL and answers:
        check_watched(words, "answers", answers[-1])
    if unmatched := sorted(set(expect or ()) - groups):
        words.fail(f"no pattern in `answers` has a group (?P<{unmatched[0]}>...)", "expect")
    work = windows.read(words, "work") or words.fail("is missing", "work")
    total = windows.read(words, "total")
    return Result(ResultFormat.PATTERNS, work=work, total=total, expect=expect, answers=answers)


def _operations(words: Section, _ask: Ask) -> Result:
    found = words.texts("operations")
    for number, name in enumerate(found):
        if not NAME.match(name) or name in WINDOWS or name in found[:number]:
            words.fail(
                f"`{name}` is duplicate, or no name of a metric: use lower-case letters, digits and _",
                "operations",
            )
    if not found:
        words.fail(
            "add the names of the operations: one that the program leaves out would not be missed",
            "operations",
        )
    return Result(ResultFormat.BENCH_LINES, operations=found)
