"""One number has one form: in the sentence, the tables, the terminal, the page and on progress lines."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate, GateInput, Word, sign_of
from benchgate.base.statistics.stats import Interval
from benchgate.base.system.machines import unit_on
from benchgate.judge.gates import judge
from benchgate.judge.gates.looks import rule_of
from benchgate.judge.judged_run import JudgedRun
from benchgate.render.files import summary
from benchgate.render.page.page import session_page
from benchgate.render.tables import terminal, units
from benchgate.render.view import SessionView
from benchgate.session.progress import figure
from tests.unit.factories import POLICY, arm, cell, raw_run, rows, scaled_view, verified, view

MACHINE = "linux-desktop8"


def page_text(given: SessionView) -> str:
    return unescape(re.sub("<[^>]*>", " ", session_page(given).partition("</style>")[2]))


def limited(samples: list[float], at_most: float) -> SessionView:
    of = cell(2)
    one = arm(of, samples)
    gate = Gate("primes-linux-smp2", "limit", None, of, "work", None, at_most)
    verdict = judge(gate, GateInput({of.id: one}, POLICY, {})).verdict
    return view(*rows(of, [int(sample) for sample in samples]), verdicts=(verdict,))


def test_a_time_is_rounded_alike_in_the_sentence_and_in_the_tables() -> None:
    given = limited([4527.6] * 5, 5000.0)
    (verdict,) = given.verdicts
    assert "work = 4.528 [4.528, 4.528] us <= 5 us (" in verdict.reason
    assert units.figure(verdict) == "4.528 us"
    assert "4528" not in page_text(given)
    assert "4527" not in verdict.reason


def test_a_time_shows_on_which_side_of_its_threshold_it_is() -> None:
    (verdict,) = limited([5000.04] * 5, 5000.0).verdicts
    assert "work = 5.00004 [5.00004, 5.00004] us > 5 us" in verdict.reason


@pytest.mark.parametrize(
    ("kind", "bound", "sign"),
    [
        ("speedup", "least", ">"), ("control", "most", "<"), ("limit", "most", "<="),
        ("limit", "least", ">="), ("efficiency", "least", ">="), ("ratio", "least", ">="),
        ("regression", "most", "<="),
    ],
)  # fmt: skip
def test_a_gate_passes_by_the_sign_that_is_shown(kind: str, bound: str, sign: str) -> None:
    least, most = (1.5, None) if bound == "least" else (None, 1.5)
    rule = rule_of(Gate("x", kind, None, cell(2), "work", least, most), "")
    assert sign_of(kind, bound) == rule.sign == sign
    assert (rule.settle(Interval(1.5, 1.5), 1.5) is Word.PASS) == sign.endswith("=")


def test_the_sign_is_the_same_in_every_report() -> None:
    given = scaled_view()
    assert "> 1.6 (work" in given.verdicts[0].reason
    for text in (terminal.render(given, 200), unescape(summary.render(given)), page_text(given)):
        shown = set(re.findall(r"([<>]=?) *1\.6x", text.replace("\\", "")))
        assert shown == {">"}


def test_an_instruction_on_a_machine_with_memory_is_a_nanosecond() -> None:
    assert unit_on(MACHINE, "insn") == unit_on(f"{MACHINE}.sched-rr", "insn") == "ns"
    assert unit_on("linux", "insn") == unit_on("linux.sched-rr", "insn") == "insn"
    of = replace(cell(1), system=MACHINE)
    given = view(*rows(of, [62_900_000], lane=Lane.INSN, unit="insn"))
    for text in (terminal.render(given, 200), summary.render(given), page_text(given)):
        assert "62.90 ms" in text
        assert not re.search(r"\d insn", text)
    raw = raw_run(of, lane=Lane.INSN)
    assert figure(JudgedRun(raw, verified(raw, 62_900_000, unit="insn"))) == "62.90 ms, verified"


def test_the_sentence_of_a_limit_on_such_a_machine_has_ns_and_the_verdict_keeps_its_unit() -> None:
    of = replace(cell(1), system=MACHINE)
    one = arm(of, [62_900_000.0] * 5, lane=Lane.INSN, unit="insn")
    gate = Gate("x", "limit", None, of, "work", None, 70_000_000.0)
    verdict = judge(gate, GateInput({of.id: one}, POLICY, {})).verdict
    assert "work = 62.90 [62.90, 62.90] ms <= 70 ms" in verdict.reason
    assert (verdict.unit, units.limit(verdict)) == ("insn", "<= 70.00 ms")
