"""The formats that hold rows and verdicts: what they are by the design, and what they refuse to read."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.base.runs import Ending, Outcome
from benchgate.evidence import results_csv
from benchgate.judge.judged_run import JudgedRun
from benchgate.render.files import verdicts_json
from tests.unit.factories import cell, raw_run, rows, run_row, scaled_view, verified


@pytest.mark.parametrize(
    ("ending", "good", "more", "outcome"),
    [
        (Ending.DONE, True, {}, Outcome.OK),
        (Ending.DONE, True, {"warmup": True}, Outcome.WARMUP),
        (Ending.DONE, False, {}, Outcome.INVALID),
        (Ending.FAILED, False, {"warmup": True}, Outcome.INVALID),
        (Ending.PANIC, False, {}, Outcome.CRASHED),
        (Ending.EOF, False, {}, Outcome.CRASHED),
        (Ending.RUN_DEADLINE, False, {}, Outcome.CRASHED),
    ],
)
def test_outcomes(ending: Ending, good: bool, more: dict[str, object], outcome: Outcome) -> None:
    raw = raw_run(cell(1), ending=ending, **more)  # type: ignore[arg-type]
    assert JudgedRun(raw, verified(raw, 10) if good else None).outcome is outcome


def test_results_csv_is_what_the_design_says() -> None:
    bad = run_row(raw_run(cell(4), attempt=2, ending=Ending.PANIC), None, "Kernel panic")
    text = results_csv.render([*rows(cell(1), [1_275_187_210]), bad])
    assert text.splitlines() == [
        "system,workload,params,mode,cpus,lane,placement,pins,run,order,seed,outcome,verified,"
        "work,total,unit,guest_digest",
        "linux,primes,hi=3000000;split=balanced,process,1,tcg,physical,0,1,0,7,ok,true,"
        f"1275187210,1275188210,ns,{'a' * 64}",
        "linux,primes,hi=3000000;split=balanced,process,4,tcg,physical,0;1;2;3,2,1,7,crashed,false,"
        f",,,{'a' * 64}",
    ]


def test_results_csv_is_read_as_it_was_written() -> None:
    odd = replace(cell(1), system="=cmd|'x'!A1", params=(("a,b", "1;2"), ("c", '3="4%"')))
    given = (*rows(cell(1), [10, 20]), run_row(raw_run(odd, attempt=3), None, "no end line"))
    read = results_csv.parse(results_csv.render(given), "results.csv")
    assert [replace(one, label="", reason="") for one in given] == list(read)


def test_a_formula_stays_text_in_results_csv() -> None:
    line = results_csv.line(run_row(raw_run(replace(cell(1), system="=1+1")), None, "x"))
    assert line.startswith("%3D1+1,")
    line = results_csv.line(run_row(raw_run(replace(cell(1), system="@SUM(A1)")), None, "x"))
    assert line.startswith("'@SUM(A1),")


GOOD = results_csv.render(rows(cell(1), [100]))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("system,", "sistem,", "r.csv:1: this is not the header"),
        ("100,", "-100,", "r.csv:2: work: '-100' is not a whole number"),
        ("100,", "0,", "r.csv:2: work: '0' is not a whole number"),
        ("100,1100", "1101,1100", "r.csv:2: work 1101 is longer than total 1100"),
        ("100,1100,ns", ",,", "r.csv:2: a verified run has work, total and unit"),
        (",tcg,", ",warp,", "r.csv:2: lane: 'warp' is not one of kvm, tcg, native, insn"),
        (",ok,true", ",invalid,true", "r.csv:2: outcome invalid contradicts verified=true"),
        (",ok,true,100,1100,ns", ",ok,false,,,", "r.csv:2: outcome ok contradicts verified=false"),
        (",ns,", ",s,", "r.csv:2: unit: 's' is not one of ns, cycles, insn"),
        (",process,1,", ",process,0,", "r.csv:2: cpus: '0' is not a whole number of at least 1"),
        (",process,1,", ",process,\u0663,", "r.csv:2: cpus:"),
        ("linux,", "linux,linux,", "r.csv:2: 18 fields, expected 17"),
        ("a\n", "a", "r.csv:2: the last line has no line end"),
        ("hi=3000000", "hi", "r.csv:2: params must be name=value"),
        ("linux,", "x" * 9000 + ",", "r.csv:2: "),
    ],
)
def test_a_results_csv_that_lies_is_refused_by_line(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(EvidenceError) as refused:
        results_csv.parse(GOOD.replace(old, new), "r.csv")
    assert str(refused.value).startswith(said)


def test_verdicts_json_has_every_field_of_a_verdict() -> None:
    shown = scaled_view()
    (stored,), (verdict,) = json.loads(verdicts_json.render(shown)), shown.verdicts
    assert (stored["params"], stored["lane"], stored["outcome"]) == (
        {"hi": 3000000, "split": "balanced"},
        "tcg",
        "PASS",
    )
    assert stored | {"params": verdict.params} == asdict(verdict)
