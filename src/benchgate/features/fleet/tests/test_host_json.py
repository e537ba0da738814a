"""What a measuring worker says of its host is read as it was said, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchgate.base.cells import Accel
from benchgate.base.jsonfields import as_json
from benchgate.features.fleet import host_json
from benchgate.features.fleet.host_json import HostQuestion, QuestionKind, Reply
from benchgate.host import topology
from benchgate.host.accel import probe_from_json
from benchgate.host.capacity import CapacityPair
from tests.unit import hosts

Change = Callable[[dict[str, Any]], Any]


def again(value: object) -> Any:
    """The value after its way over the network."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("ask", QuestionKind)
def test_a_question_is_read_as_it_was_asked(ask: QuestionKind) -> None:
    question = HostQuestion(ask, "token", "a" * 64, Accel.KVM, (3, 1), 2)
    assert host_json.asked(host_json.as_bytes(question)) == question


def test_answers_are_read_as_they_were_given() -> None:
    seen, pairs = topology.read(), (CapacityPair(0.2, (0.25, 0.5)),)
    assert host_json.topology_of(again(as_json(seen))) == seen
    assert probe_from_json(again(as_json(hosts.KVM)), Accel.KVM) == hosts.KVM
    assert host_json.pairs_of(again(host_json.pairs_as_json(pairs)), 2) == pairs
    told = Reply("left", "host", {"a": [1]}, "")
    assert host_json.replied(host_json.as_bytes(told)) == told


TOPOLOGIES: tuple[tuple[Change, str], ...] = (
    (lambda v: v.update(extra=1), "unknown key 'extra'"),
    (lambda v: v.update(affinity=[]), "no CPU that may be used"),
    (lambda v: v.update(affinity=[-1]), r"affinity\[0\] -1"),
    (
        lambda v: v.update(affinity=[1 << 40]),
        "1099511627776 is not a whole number .* of at most 8191",
    ),
    (lambda v: v.update(affinity=[0] * 10_000), "affinity has 10000 values"),
    (lambda v: v.update(source="x\x1b[2J"), "a control character"),
    (lambda v: v["cpus"][0].update(siblings=[]), "siblings has 0 values"),
    (lambda v: v["cpus"][0].update(number="0"), "number '0'"),
    (lambda v: v["isolation"].pop("cpuset"), "has no cpuset"),
)


@pytest.mark.parametrize(("change", "why"), TOPOLOGIES, ids=[why for _, why in TOPOLOGIES])
def test_a_topology_that_none_has_is_refused(change: Change, why: str) -> None:
    value = again(as_json(topology.read()))
    change(value)
    with pytest.raises(ValueError, match=why):
        host_json.topology_of(value)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"accel": "tcg"}, "not one of kvm"),
        ({"figure": None}, "has no figure"),
        ({"cpu_model": "max,-x /etc"}, "cpu_model"),
        ({"figure": 1e300}, "figure"),
        ({"state": "fast"}, "fast"),
        ({"detail": "\x1b[2J"}, "a control character"),
        ({"boot_s": -1.0}, "has no figure"),
    ],
)
def test_a_probe_that_none_is_is_refused(changed: dict[str, object], why: str) -> None:
    value = again(as_json(hosts.KVM)) | changed
    with pytest.raises(ValueError, match=why):
        probe_from_json(value, Accel.KVM)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "{} has a wrong type"),
        ([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], "no list of one pair"),
        ([[0.1, 0.2]], "no list of one pair of 3 times"),
        ([[0.1, 0.2, "x"]], "'x' has a wrong type"),
        ([[0.1, 0.2, 0.0]], "need positive times"),
        ([[0.1, 0.2, float("nan")]], "nan is not a finite number"),
    ],
)
def test_pairs_that_were_not_measured_are_refused(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        host_json.pairs_of(value, 2)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"[" * 100_000, b'{"worker": "a b", "host": "", "error": ""}', "text"]
)
def test_bytes_that_are_no_answer_are_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        host_json.replied(data)
