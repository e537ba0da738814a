"""Every format says the same, and another program reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.errors import EvidenceError
from benchgate.gates.base import CapacityBound
from benchgate.measure import outcome_of
from benchgate.model import Ending, Lane, Outcome, Placement, Word
from benchgate.render import (
    benchmark_json,
    bigger_is_better,
    github,
    junit,
    markdown,
    results_csv,
    speedup_svg,
    terminal,
    verdicts_json,
)
from benchgate.render.model import SessionView, headline, row_of
from tests.unit.factories import cell, raw_run, rows, scaled_view, verified, view

SVG = "{http://www.w3.org/2000/svg}"


def failing(word: Word, **changes: object) -> SessionView:
    first = scaled_view()
    told = replace(first.verdicts[0], outcome=word, reason=f"{word}: primes-linux smp2/smp1 ...")
    return replace(first, verdicts=(told,), **changes)  # type: ignore[arg-type]


# ---- the headline


def test_the_worst_word_leads() -> None:
    one = scaled_view().verdicts[0]
    words = [Word.PASS, Word.SKIP, Word.INCONCLUSIVE, Word.FAIL, Word.FAIL]
    seen = view(verdicts=[replace(one, outcome=word) for word in words])
    assert headline(seen) == "FAIL: 2 of 5 verdicts, 1 INCONCLUSIVE, 1 PASS, 1 SKIP"
    assert [told.outcome for told in seen.shown_verdicts][:3] == [Word.FAIL, Word.FAIL, Word.INCONCLUSIVE]


@pytest.mark.parametrize("words", [(), (Word.SKIP,)])
def test_nothing_decided_is_no_pass(words: tuple[Word, ...]) -> None:
    one = scaled_view().verdicts[0]
    seen = view(verdicts=[replace(one, outcome=word) for word in words])
    assert headline(seen) == "SKIP: nothing was decided"


def test_a_partial_session_says_so_first() -> None:
    seen = scaled_view(state="partial", state_reason="interrupted by Ctrl-C")
    assert headline(seen) == "PARTIAL: interrupted by Ctrl-C; until then PASS: 1 of 1 verdicts"


def test_a_lone_results_csv_is_shown_and_never_passes() -> None:
    full = scaled_view()
    read = results_csv.parse(results_csv.render(full.rows), "results.csv")
    seen = replace(full, rows=read, is_verified=False)
    for text in (markdown.render(seen), terminal.render(seen), junit.render(seen), github.step_summary(seen)):
        assert "PASS" not in text
        assert "UNVERIFIED" in text
    assert "1.93x [1.92, 1.96]" in markdown.render(seen)
    assert json.loads(bigger_is_better.render(seen)) == []


# ---- rows


@pytest.mark.parametrize(
    ("ending", "good", "more", "outcome"),
    [
        (Ending.DONE, True, {}, Outcome.OK),
        (Ending.DONE, True, {"warmup": True}, Outcome.WARMUP),
        (Ending.DONE, True, {"void_reason": "steal"}, Outcome.VOID),
        (Ending.DONE, False, {}, Outcome.INVALID),
        (Ending.FAILED, False, {"warmup": True}, Outcome.INVALID),
        (Ending.DONE, False, {"void_reason": "steal"}, Outcome.INVALID),
        (Ending.PANIC, False, {}, Outcome.CRASHED),
        (Ending.EOF, False, {}, Outcome.CRASHED),
        (Ending.RUN_DEADLINE, False, {}, Outcome.CRASHED),
    ],
)
def test_outcomes(ending: Ending, good: bool, more: dict[str, object], outcome: Outcome) -> None:
    raw = raw_run(cell(1), ending=ending, **more)  # type: ignore[arg-type]
    assert outcome_of(raw, verified(raw, 10) if good else None) is outcome


def test_results_csv_is_what_the_design_says() -> None:
    bad = row_of(raw_run(cell(4), attempt=2, ending=Ending.PANIC), None, "Kernel panic")
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
    given = (*rows(cell(1), [10, 20]), row_of(raw_run(odd, attempt=3), None, "no end line"))
    read = results_csv.parse(results_csv.render(given), "results.csv")
    assert [replace(one, label="", reason="") for one in given] == list(read)


def test_a_formula_stays_text_in_results_csv() -> None:
    line = results_csv.line(row_of(raw_run(replace(cell(1), system="=1+1")), None, "x"))
    assert line.startswith("%3D1+1,")
    line = results_csv.line(row_of(raw_run(replace(cell(1), system="@SUM(A1)")), None, "x"))
    assert line.startswith("'@SUM(A1),")


GOOD = results_csv.render(rows(cell(1), [100]))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("system,", "sistem,", "r.csv:1: this is not the header"),
        ("100,", "-100,", "r.csv:2: work: '-100' is no whole number"),
        ("100,", "0,", "r.csv:2: work: '0' is no whole number"),
        ("100,1100", "1101,1100", "r.csv:2: work 1101 is longer than total 1100"),
        ("100,1100,ns", ",,", "r.csv:2: a verified run has work, total and unit"),
        (",tcg,", ",warp,", "r.csv:2: 'warp' is no lane; there are kvm, tcg, native, insn"),
        (",ok,true", ",invalid,true", "r.csv:2: outcome invalid and verified=true differ"),
        (",ok,true,100,1100,ns", ",ok,false,,,", "r.csv:2: outcome ok and verified=false differ"),
        (",ns,", ",s,", "r.csv:2: unit: 's' is none of ns, cycles, insn"),
        (",process,1,", ",process,0,", "r.csv:2: cpus: '0' is no whole number of at least 1"),
        (",process,1,", ",process,\u0663,", "r.csv:2: cpus:"),
        ("linux,", "linux,linux,", "r.csv:2: 18 fields where 17 belong"),
        ("a\n", "a", "r.csv:2: the last line is torn"),
        ("hi=3000000", "hi", "r.csv:2: params are name=value"),
        ("linux,", "x" * 9000 + ",", "r.csv:2: "),
    ],
)
def test_a_results_csv_that_lies_is_refused_by_line(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(EvidenceError) as refused:
        results_csv.parse(GOOD.replace(old, new), "r.csv")
    assert str(refused.value).startswith(said)


def test_verdicts_json_round_trip_and_refusals() -> None:
    told = scaled_view().verdicts
    text = verdicts_json.render(told)
    assert verdicts_json.parse(text, "v.json") == told
    first = json.loads(text)[0]
    assert (first["params"], first["lane"]) == ({"hi": 3000000, "split": "balanced"}, "tcg")
    for bad in (
        "{}",
        "[1]",
        "[",
        "[" * 100_000,
        json.dumps([first | {"outcome": "MAYBE"}]),
        json.dumps([first | {"lane": "warp"}]),
        json.dumps([first | {"cpus": True}]),
        json.dumps([first | {"more": 1}]),
        json.dumps([{name: first[name] for name in list(first)[1:]}]),
    ):
        with pytest.raises(EvidenceError, match=r"v\.json"):
            verdicts_json.parse(bad, "v.json")


# ---- for people


def test_the_summary_tells_the_verdict_first_and_how_it_came_about() -> None:
    crash = row_of(raw_run(cell(2), attempt=12, ending=Ending.EOF), None, "QEMU was killed")
    seen = scaled_view(
        capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)}, labels=("unreviewed image",)
    )
    text = markdown.render(replace(seen, rows=(*seen.rows, crash)))
    lines = text.splitlines()
    assert lines[0] == "# PASS: 1 of 1 verdicts"
    assert lines[2].startswith("- **PASS** primes-linux smp2/smp1 = 1.93 [1.92, 1.96] > 1.6")
    assert "m = 1" in text
    assert "up to 0.05 wrong ones" in text
    row = next(line for line in lines if line.startswith("| smp2"))
    assert "| 5 | 659.5 ms | 655.0 .. 664.0 ms | 0.5% | 1.93x [1.92, 1.96] | INVALID |" in row
    assert "| 1.94x [1.90, 1.97] |" in row
    assert "12 attempts: 10 ok, 1 warmup, 1 crashed." in text
    assert "- run 12, primes-linux-smp2, **crashed**: QEMU was killed" in text
    assert "Pinning is not isolation" in text
    assert "- unreviewed image" in text
    assert "- cpu: Example CPU, 2 sockets" in text
    assert "./run gate" in text
    assert f"]({markdown.PICTURE})" in text


def test_a_series_without_a_second_arm_has_no_picture() -> None:
    text = markdown.render(view(*rows(cell(1), [100, 101])))
    assert markdown.PICTURE not in text
    assert "| smp1 | 2 | 100 ns | 100.0 .. 101.0 ns |" in text.replace("100.5", "100").replace(
        "100.0 ns", "100 ns"
    )


def test_no_speedup_from_oversubscribed_or_broken_arms() -> None:
    base, two = rows(cell(1), [200] * 5), rows(cell(2), [100] * 5, first=6)
    many = rows(cell(2), [100] * 5, first=6, placement=Placement.OVERSUBSCRIBED)
    bad = row_of(raw_run(cell(2), attempt=11), None, "a worker lies")
    assert "2.00x [2.00, 2.00]" in markdown.render(view(*base, *two))
    alone = rows(cell(1), [200] * 5, placement=Placement.OVERSUBSCRIBED)
    assert "2.00x" not in markdown.render(view(*base, *many))
    assert "2.00x" not in markdown.render(view(*alone, *many))
    assert "2.00x" not in markdown.render(view(*base, *two, bad))


@pytest.mark.parametrize(("runs", "said"), [(1, "2.00x (1 run)"), (4, "2.00x (4 runs)")])
def test_too_few_runs_have_a_ratio_and_no_interval(runs: int, said: str) -> None:
    seen = view(*rows(cell(1), [200] * runs), *rows(cell(2), [100] * runs, first=6))
    assert said in markdown.render(seen)
    assert said in terminal.render(seen, 120)
    assert "[2.00, 2.00]" not in markdown.render(seen)
    assert json.loads(bigger_is_better.render(seen))[0]["range"] == "unknown"
    two = json.loads(benchmark_json.render(seen))["benchmarks"][2]
    assert (two["name"], two["extra_info"]["low"]) == ("primes-linux-smp2[work]", None)


def test_skipped_gates_cannot_be_wrong_by_chance() -> None:
    one = replace(scaled_view().verdicts[0], outcome=Word.SKIP, ratio=None, low=None, high=None)
    assert "m = " not in markdown.render(view(verdicts=[one]))


def test_lanes_and_units_never_share_a_table_or_a_ratio() -> None:
    base, two = rows(cell(1), [200] * 5), rows(cell(2), [100] * 5, lane=Lane.KVM)
    text = markdown.render(view(*base, *two))
    assert "## primes-linux (hi=3000000, split=balanced, tcg), tcg" in text
    assert "2.00x" not in text
    cycles = rows(cell(2), [100] * 5, unit="cycles")
    assert "2.00x" not in markdown.render(view(*base, *cycles))


def test_a_verdict_of_an_early_look_says_how_many_runs_it_saw() -> None:
    full = scaled_view()
    more = rows(cell(2), [650_000_000] * 4, first=20)
    text = markdown.render(replace(full, rows=(*full.rows, *more)))
    assert "1.93x [1.92, 1.96] (first 5 runs)" in text


def test_a_smt_row_stands_beside_its_twin() -> None:
    smt = replace(cell(2), variant="smt")
    seen = view(*rows(cell(1), [200] * 5), *rows(cell(2), [100] * 5), *rows(smt, [150] * 5))
    text = markdown.render(seen)
    assert "| smp2 | 5 |" in text
    assert "| smp2-smt | 5 |" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_terminal_table_is_never_wider_than_the_terminal(width: int) -> None:
    text = terminal.render(scaled_view(labels=("a label that is rather long, " * 4,)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "1.93x [1.92, 1.96]" in text
    assert ("min .. max" in text) == (width >= 100)


def test_failures_come_whole_in_the_terminal_too() -> None:
    text = terminal.render(failing(Word.FAIL), 60)
    assert text.startswith("FAIL: 1 of 1 verdicts\n")
    assert "FAIL: primes-linux smp2/smp1 ..." in text


# ---- for other programs


def test_junit_is_read_with_its_properties() -> None:
    root = ET.fromstring(junit.render(scaled_view()))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert (case.get("name"), case.get("classname")) == ("primes-linux-smp2-work", "benchgate.speedup")
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert told["benchgate.outcome"] == "PASS"
    assert told["benchgate.params"] == "hi=3000000 split=balanced"
    assert float(told["benchgate.ratio"] or "0") == pytest.approx(1_275_187_210 / 659_500_000)
    assert case.find("failure") is None


@pytest.mark.parametrize(
    ("word", "is_failure", "tag"),
    [
        (Word.FAIL, True, "failure"),
        (Word.INVALID, False, "failure"),
        (Word.INCONCLUSIVE, True, "failure"),
        (Word.INCONCLUSIVE, False, "skipped"),
        (Word.SKIP, True, "skipped"),
    ],
)
def test_junit_counts_what_is_no_pass(word: Word, is_failure: bool, tag: str) -> None:
    root = ET.fromstring(junit.render(failing(word), is_inconclusive_failure=is_failure))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "1",
        "1" if tag == "failure" else "0",
        "1" if tag == "skipped" else "0",
    )
    told = suite.find(f"testcase/{tag}")
    assert told is not None
    assert (told.get("type"), told.get("message")) == (word, f"{word}: primes-linux smp2/smp1 ...")


def compare(path: Path, *, name: str = "pytest-benchmark") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / name), "compare", str(path)],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "default", "COLUMNS": "200"},
    )


def test_pytest_benchmark_compare_reads_benchmark_json(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(benchmark_json.render(scaled_view()))
    done = compare(path)
    assert done.returncode == 0, done.stderr
    assert "Failed to load" not in done.stdout + done.stderr
    assert "primes-linux-smp1[work]" in done.stdout
    assert "primes-linux-smp2[total]" in done.stdout
    path.write_text("{}")
    assert "primes" not in compare(path).stdout


def test_benchmark_json_has_every_field_and_seconds_only_in_stats() -> None:
    data = json.loads(benchmark_json.render(scaled_view()))
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} <= set(data)
    one = next(entry for entry in data["benchmarks"] if entry["name"] == "primes-linux-smp2[work]")
    wanted = "group name fullname params param extra_info options stats"
    assert set(one) == set(wanted.split())
    fields = (
        "min max mean stddev rounds median iqr q1 q3 iqr_outliers stddev_outliers outliers "
        "ld15iqr hd15iqr ops total data iterations"
    )
    assert set(one["stats"]) == set(fields.split())
    assert one["stats"]["median"] == pytest.approx(0.6595)
    assert one["stats"]["min"] == pytest.approx(0.655)
    assert one["stats"]["q1"] == pytest.approx(0.659218025)
    assert one["stats"]["mean"] == pytest.approx(0.659743605)
    # The fences are 1.5 x (661.0 - 659.218) ms beyond the quartiles: 655 and 664 ms lie outside.
    assert one["stats"]["ld15iqr"] == pytest.approx(0.659218025)
    assert one["stats"]["hd15iqr"] == pytest.approx(0.661)
    assert (one["stats"]["rounds"], one["stats"]["iqr_outliers"]) == (5, 2)
    assert one["extra_info"]["speedup"] == pytest.approx(1.93357, abs=1e-5)


def test_cycles_are_never_passed_off_as_seconds() -> None:
    seen = view(*rows(cell(1), [1639] * 5, unit="cycles"), *rows(cell(2), [875] * 5, unit="cycles"))
    data = json.loads(benchmark_json.render(seen))
    assert data["benchmarks"] == []
    other = data["benchgate"]["other_units"]
    assert [one["name"] for one in other][:2] == ["primes-linux-smp1[work]", "primes-linux-smp1[total]"]
    assert other[0]["extra_info"]["unit"] == "cycles"
    assert other[0]["extra_info"]["samples"] == [1639] * 5
    assert "stats" not in other[0]


def test_bigger_is_better_holds_ratios_only() -> None:
    data = json.loads(bigger_is_better.render(scaled_view()))
    assert {name for one in data for name in one} == {"name", "unit", "value", "range", "extra"}
    first = data[0]
    assert (first["name"], first["unit"]) == ("primes-linux smp2/smp1 work (tcg)", "x")
    assert first["value"] == pytest.approx(1.93357, abs=1e-5)
    assert first["extra"].startswith("PASS")
    one = scaled_view().verdicts[0]
    invalid = scaled_view(verdicts=(replace(one, outcome=Word.INVALID),))
    assert [told["name"] for told in json.loads(bigger_is_better.render(invalid))] == [
        "primes-linux smp2/smp1 total (tcg)"
    ]


def test_github_is_served_only_where_it_is() -> None:
    assert github.wanted({}) == github.Wanted(None, False)
    there = github.wanted({"GITHUB_STEP_SUMMARY": "/tmp/s", "GITHUB_ACTIONS": "true"})
    assert there == github.Wanted(Path("/tmp/s"), True)
    assert github.workflow_commands(scaled_view()) == ()
    assert github.workflow_commands(failing(Word.FAIL)) == (
        "::error title=benchgate primes-linux-smp2::FAIL: primes-linux smp2/smp1 ...",
    )
    assert github.workflow_commands(failing(Word.INCONCLUSIVE))[0].startswith("::warning ")
    assert markdown.PICTURE not in github.step_summary(scaled_view())


def test_a_summary_too_long_for_github_says_where_it_is() -> None:
    many = scaled_view(notes=tuple("n" * 1000 for _ in range(1100)))
    text = github.step_summary(many)
    assert len(text) < 1000
    assert "summary.md" in text


def test_the_picture_is_svg_with_the_ideal_the_points_and_the_host() -> None:
    seen = scaled_view(capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)})
    root = ET.fromstring(speedup_svg.render(seen))
    assert root.tag == f"{SVG}svg"
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "smp2 1.934x PASS" in titles
    assert "host capacity 1.94x" in titles
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("ideal") == 1
    allowed = {"svg", "title", "style", "path", "text", "circle", "rect"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed


def test_a_better_speedup_is_drawn_higher() -> None:
    def height(two: int) -> float:
        root = ET.fromstring(speedup_svg.render(view(*rows(cell(1), [200] * 5), *rows(cell(2), [two] * 5))))
        return float(next(root.iter(f"{SVG}circle")).get("cy") or "nan")

    assert height(100) < height(150) < height(300)
