"""Reads how the machine itself measures a workload's histograms: `machine:` of its YAML file.

Takes the file's section, gives `SpanRule`s by the name of the histogram. Fails with CatalogError, which
names file, line and key.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.workload.operations import (
    CALL,
    LONGEST_NAME,
    MOST_OF_OPERATION,
    MOST_OPERATIONS,
    RECORD,
    WAKE,
    SpanRule,
)
from benchgate.base.workload.workloads import ParamSpec
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.choices import read_when


def read_operations(top: Section, params: Mapping[str, ParamSpec]) -> Mapping[str, SpanRule]:
    with top.optional("machine") as section:
        names = section.keys()
        if len(names) > MOST_OPERATIONS:
            top.fail(f"has more than {MOST_OPERATIONS} histograms", "machine")
        return {name: _operation(section, name, params) for name in names}


def _operation(section: Section, name: str, params: Mapping[str, ParamSpec]) -> SpanRule:
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        section.fail("is not the name of a histogram", name)
    with section.optional(name) as words:
        begins, ends = _calls(words, "from"), _calls(words, "to")
        rule = SpanRule(begins, ends, read_when(words, params))
        if rule.is_wake and len(begins) > 1 and rule.record is None:
            words.fail(f"`{WAKE}` stands alone, unless the values are `record.NUMBER`", "from")
        if rule.record is not None and len(ends) > 1:
            words.fail("`record.NUMBER` stands alone", "to")
        return rule


def _calls(words: Section, key: str) -> tuple[str, ...]:
    names = words.texts(key)
    if not 1 <= len(names) <= MOST_OF_OPERATION:
        words.fail(f"expected 1 to {MOST_OF_OPERATION} calls", key)
    for name in names:
        is_other = name == WAKE if key == "from" else RECORD.fullmatch(name)
        if not CALL.fullmatch(name) and not is_other:
            words.fail(f"`{name}` is neither `syscalls.NAME` nor `program.FUNCTION`", key)
    return names
