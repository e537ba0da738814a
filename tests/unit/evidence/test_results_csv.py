"""results.csv: its columns, and that invalid files are refused with the line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.base.runs import Ending
from benchgate.evidence import results_csv
from tests.unit.factories import cell, raw_run, rows, run_row


def test_the_columns_and_values_of_results_csv() -> None:
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


def test_results_csv_is_read_back_unchanged() -> None:
    odd = replace(cell(1), system="=cmd|'x'!A1", params=(("a,b", "1;2"), ("c", '3="4%"')))
    given = (*rows(cell(1), [10, 20]), run_row(raw_run(odd, attempt=3), None, "no end line"))
    read = results_csv.parse(results_csv.render(given), "results.csv")
    assert [
        replace(row, cell=replace(row.cell, label=""), reason="", steps=None, seen_by=()) for row in given
    ] == list(read)


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
def test_an_invalid_results_csv_is_refused_with_the_line(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(EvidenceError) as refused:
        results_csv.parse(GOOD.replace(old, new), "r.csv")
    assert str(refused.value).startswith(said)
