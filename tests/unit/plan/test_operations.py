"""`machine:` of a workload's YAML: how the machine itself measures its histograms."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.workload.operations import SpanRule, functions
from benchgate.base.yaml import yamlfile
from benchgate.plan.operations import read_operations
from benchgate.plan.workload_keys import WORKLOAD


def read(text: str) -> dict[str, SpanRule]:
    return dict(read_operations(yamlfile.parse(f"machine: {text}\n", Path("mine.yaml"), WORKLOAD)))


def test_spans_of_calls_and_of_wake_ups() -> None:
    calls = "{from: [syscalls.write, program.send], to: [program.take]}"
    found = read(f"{{a: {calls}, b: {{from: [wake], to: [program.take]}}}}")
    assert found == {
        "a": SpanRule(("syscalls.write", "program.send"), ("program.take",)),
        "b": SpanRule(("wake",), ("program.take",)),
    }
    assert not found["a"].is_wake
    assert found["b"].is_wake
    assert functions(found.values()) == ("send", "take")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{a: {from: [write], to: [syscalls.read]}}", r"`write` is neither"),
        ("{a: {from: [syscalls.write], to: [wake]}}", r"`wake` is neither"),
        ("{a: {from: [wake, syscalls.write], to: [syscalls.read]}}", r"`wake` stands alone"),
        ("{a: {from: [], to: [syscalls.read]}}", r"expected 1 to 32 calls"),
        ("{a: {from: [syscalls.write]}}", r"expected 1 to 32 calls|is missing"),
        (f"{{{'a' * 33}: {{from: [wake], to: [syscalls.read]}}}}", r"not the name of a histogram"),
        (
            "{" + ", ".join(f"h{n}: {{from: [wake], to: [syscalls.a]}}" for n in range(5)) + "}",
            r"more than 4",
        ),
    ],
)
def test_what_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        read(text)
