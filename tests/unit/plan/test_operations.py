"""`machine:` of a workload's YAML: how the machine itself measures its histograms."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.workload.operations import SpanRule
from benchgate.base.workload.workloads import ParamSpec
from benchgate.base.yaml import yamlfile
from benchgate.plan.operations import read_operations
from benchgate.plan.workload_keys import WORKLOAD


def read(text: str) -> dict[str, SpanRule]:
    section = yamlfile.parse(f"machine: {text}\n", Path("mine.yaml"), WORKLOAD)
    return dict(read_operations(section, {"rps": ParamSpec("rps", 0)}))


def test_spans_of_calls_and_of_wake_ups() -> None:
    calls = "{from: [syscalls.write, program.send], to: [program.take]}"
    found = read(f"{{a: {calls}, b: {{from: [wake], to: [program.take]}}}}")
    assert found == {
        "a": SpanRule(("syscalls.write", "program.send"), ("program.take",)),
        "b": SpanRule(("wake",), ("program.take",)),
    }
    assert not found["a"].is_wake
    assert found["b"].is_wake
    assert found["a"].record is found["b"].record is None


def test_values_that_the_program_records() -> None:
    wake = '{from: [wake, program.post], to: [record.1], when: {rps: "0"}}'
    found = read(f"{{a: {wake}, b: {{from: [program.run], to: [record.0]}}}}")
    assert found["a"] == SpanRule(("wake", "program.post"), ("record.1",), {"rps": ("0",)})
    assert (found["a"].record, found["b"].record) == (1, 0)
    assert found["a"].is_made({"rps": 0})
    assert not found["a"].is_made({"rps": 3})
    assert found["b"].is_made({"rps": 3})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{a: {from: [write], to: [syscalls.read]}}", r"`write` is neither"),
        ("{a: {from: [syscalls.write], to: [wake]}}", r"`wake` is neither"),
        ("{a: {from: [wake, syscalls.write], to: [syscalls.read]}}", r"`wake` stands alone"),
        ("{a: {from: [wake], to: [record.4]}}", r"`record.4` is neither"),
        ("{a: {from: [record.0], to: [syscalls.read]}}", r"`record.0` is neither"),
        ("{a: {from: [wake], to: [syscalls.read, record.0]}}", r"`record.NUMBER` stands alone"),
        ('{a: {from: [wake], to: [record.0], when: {rpm: "0"}}}', r"rpm"),
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
