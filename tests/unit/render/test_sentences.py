"""A gate's sentence is shown as it is; gates that one cause has left out share one, last."""

from __future__ import annotations

from benchgate.base.gates import Verdict, Word
from benchgate.judge.gates.wording import not_run, verdict
from benchgate.render import sentences
from tests.unit.factories import arm, cell, speedup


def left_out(cpus: int, why: str) -> Verdict:
    one = arm(cell(cpus), skipped=why)
    return verdict(speedup(cpus), Word.SKIP, not_run(one, f"primes-linux smp{cpus}/smp1: "), {})


def failed(cpus: int) -> Verdict:
    return verdict(speedup(cpus), Word.FAIL, f"FAIL: primes-linux smp{cpus}/smp1 = 1.2 < 1.6", {})


def test_gates_of_one_cause_share_a_sentence_behind_all_others() -> None:
    told = sentences.told([left_out(4, "why"), left_out(8, "why"), left_out(16, "why"), failed(2)])
    assert told == [
        (Word.FAIL, "primes-linux smp2/smp1 = 1.2 < 1.6"),
        (Word.SKIP, "3 gates: not run: why: primes-linux-smp4, primes-linux-smp8, primes-linux-smp16"),
    ]


def test_two_gates_of_one_cause_have_a_sentence_each() -> None:
    told = sentences.told([left_out(4, "why"), left_out(8, "why"), left_out(16, "another")])
    assert [text for _, text in told] == [
        "primes-linux-smp4: not run: why",
        "primes-linux-smp8: not run: why",
        "primes-linux-smp16: not run: another",
    ]


def test_a_skip_of_another_kind_keeps_its_sentence() -> None:
    """Only what was not run at all is gathered: a gate that saw too few runs has figures of its own."""
    few = verdict(speedup(2), Word.SKIP, "SKIP: primes-linux smp2/smp1: only 3 of 5 runs made", {})
    assert sentences.told([few] * 3) == [(Word.SKIP, "primes-linux smp2/smp1: only 3 of 5 runs made")] * 3
