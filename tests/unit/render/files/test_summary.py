"""summary.md: verdicts, figures and conditions; no speedup from arms that do not allow one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.gates import CapacityBound, Word
from benchgate.base.runs import Ending
from benchgate.evidence import results_csv
from benchgate.render.files import benchmark_json, junit, report_html, speedups_json, summary
from benchgate.render.tables import terminal
from benchgate.session import publish
from tests.unit.factories import cell, raw_run, rows, run_row, scaled_view, view


def test_a_results_csv_without_its_session_never_passes() -> None:
    full = scaled_view()
    read = results_csv.parse(results_csv.render(full.rows), "results.csv")
    seen = replace(full, rows=read, is_verified=False)
    for text in (summary.render(seen), terminal.render(seen), junit.render(seen), publish.step_summary(seen)):
        assert "PASS" not in text
        assert "UNVERIFIED" in text
    assert "1.93x [1.92, 1.96]" in summary.render(seen)
    assert json.loads(speedups_json.render(seen)) == []


def test_the_summary_has_verdicts_figures_and_conditions() -> None:
    crash = run_row(raw_run(cell(2), attempt=12, ending=Ending.EOF), None, "QEMU was killed")
    seen = scaled_view(
        capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)}, labels=("unreviewed image",)
    )
    text = summary.render(replace(seen, rows=(*seen.rows, crash)))
    lines = text.splitlines()
    assert lines[0] == "# PASS: 1 of 1 verdicts"
    assert lines[2].startswith("- **PASS** primes-linux smp2/smp1 = 1.93 [1.92, 1.96] > 1.6")
    assert "m = 1" in text
    assert "up to 0.05 wrong verdicts" in text
    row = next(line for line in lines if line.startswith("| smp2"))
    assert "| 5 | 659.5 ms | 655.0 .. 664.0 ms | 0.5% | 1.93x [1.92, 1.96] | INVALID |" in row
    assert "| 1.94x [1.90, 1.97] |" in row
    assert "12 attempts: 10 ok, 1 warmup, 1 crashed." in text
    assert "- run 12, primes-linux-smp2, **crashed**: QEMU was killed" in text
    assert "Pinning is not isolation" in text
    assert "- unreviewed image" in text
    assert "- cpu: Example CPU, 2 sockets" in text
    assert "./run gate" in text
    assert f"]({summary.PICTURE})" in text


def test_a_series_without_a_second_arm_has_no_picture() -> None:
    text = summary.render(view(*rows(cell(1), [100, 101])))
    assert summary.PICTURE not in text
    assert "| smp1 | 2 | 100.5 ns | 100.0 .. 101.0 ns |" in text


def test_no_speedup_from_oversubscribed_or_broken_arms() -> None:
    base, two = rows(cell(1), [200] * 5), rows(cell(2), [100] * 5, first=6)
    many = rows(cell(2), [100] * 5, first=6, placement=Placement.OVERSUBSCRIBED)
    bad = run_row(raw_run(cell(2), attempt=11), None, "a worker lies")
    assert "2.00x [2.00, 2.00]" in summary.render(view(*base, *two))
    alone = rows(cell(1), [200] * 5, placement=Placement.OVERSUBSCRIBED)
    assert "2.00x" not in summary.render(view(*base, *many))
    assert "2.00x" not in summary.render(view(*alone, *many))
    assert "2.00x" not in summary.render(view(*base, *two, bad))


@pytest.mark.parametrize(("runs", "said"), [(1, "2.00x (1 run)"), (4, "2.00x (4 runs)")])
def test_too_few_runs_have_a_ratio_without_interval(runs: int, said: str) -> None:
    seen = view(*rows(cell(1), [200] * runs), *rows(cell(2), [100] * runs, first=6))
    assert said in summary.render(seen)
    assert said in terminal.render(seen, 120)
    assert "[2.00, 2.00]" not in summary.render(seen)
    assert json.loads(speedups_json.render(seen))[0]["range"] == "unknown"
    two = json.loads(benchmark_json.render(seen))["benchmarks"][2]
    assert (two["name"], two["extra_info"]["low"]) == ("primes-linux-smp2-tcg[work]", None)


def test_skipped_gates_cannot_be_wrong_by_chance() -> None:
    verdict = replace(scaled_view().verdicts[0], outcome=Word.SKIP, ratio=None, low=None, high=None)
    assert "m = " not in summary.render(view(verdicts=[verdict]))


def test_lanes_and_units_are_never_mixed() -> None:
    base, two = rows(cell(1), [200] * 5), rows(cell(2), [100] * 5, lane=Lane.KVM)
    text = summary.render(view(*base, *two))
    assert "## primes-linux (hi=3000000, split=balanced, tcg), tcg" in text
    assert "2.00x" not in text
    cycles = rows(cell(2), [100] * 5, unit="cycles")
    assert "2.00x" not in summary.render(view(*base, *cycles))


def test_a_verdict_at_an_early_look_has_its_number_of_runs() -> None:
    full = scaled_view()
    more = rows(cell(2), [650_000_000] * 4, first=20)
    text = summary.render(replace(full, rows=(*full.rows, *more)))
    assert "1.93x [1.92, 1.96] (first 5 runs)" in text


def test_an_smt_variant_has_its_own_row() -> None:
    smt = replace(cell(2), variant="smt")
    seen = view(*rows(cell(1), [200] * 5), *rows(cell(2), [100] * 5), *rows(smt, [150] * 5))
    text = summary.render(seen)
    assert "| smp2 | 5 |" in text
    assert "| smp2-smt | 5 |" in text


def test_a_column_without_a_value_is_left_out() -> None:
    alone = view(*rows(cell(1), [100, 101]))
    assert "| arm | runs | work, median | min .. max | CV | total, median | CPUs |" in summary.render(alone)
    heading = next(line for line in terminal.render(alone, 120).splitlines() if line.startswith("arm"))
    assert heading.split() == ["arm", "runs", "median", "min", "..", "max", "CV"]
    seen = scaled_view(capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)})
    assert "| gate | host capacity | total, median |" in summary.render(seen)
    heading = next(line for line in terminal.render(seen, 120).splitlines() if line.startswith("arm"))
    assert heading.split()[-3:] == ["speedup", "host", "gate"]


def test_what_a_lane_does_not_show_is_said_once() -> None:
    first, second = cell(1), cell(1, workload="checksum")
    text = summary.render(view(*rows(first, [9] * 5, lane=Lane.INSN), *rows(second, [9] * 5, lane=Lane.INSN)))
    assert text.count("## ") >= 2
    assert text.count("caches, memory bandwidth or frequency") == 1


def test_the_conditions_say_which_rows_show_caches() -> None:
    ideal = rows(cell(1), [100], lane=Lane.INSN, unit="insn")
    duo = rows(cell(1, system="linux-duo"), [130], first=2, lane=Lane.INSN, unit="insn")
    blind, seeing = "shows scheduling, but not caches", "shows scheduling, and on duo caches and memory"
    assert [word in summary.render(view(*ideal)) for word in (blind, seeing)] == [True, False]
    assert [word in summary.render(view(*duo)) for word in (blind, seeing)] == [False, True]
    assert [word in summary.render(view(*ideal, *duo)) for word in (blind, seeing)] == [True, True]


def test_figures_of_two_machines_have_no_ratio_in_the_page() -> None:
    """The page's column `faster` compares the systems of one lane."""
    ideal = rows(cell(1), [100] * 5, lane=Lane.INSN, unit="insn")
    duo = rows(cell(1, system="kernel-duo"), [130] * 5, first=6, lane=Lane.INSN, unit="insn")
    same = rows(cell(1, system="kernel"), [130] * 5, first=6, lane=Lane.INSN, unit="insn")
    assert "0.769x" in report_html.render(view(*ideal, *same))
    assert "0.769x" not in report_html.render(view(*ideal, *duo))
