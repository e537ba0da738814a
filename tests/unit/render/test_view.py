"""The view of a session: its headline, its facts, and `unavailable` for missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Verdict, Word
from benchgate.base.workload.metrics import SeenBy
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.evidence import results_csv
from benchgate.judge.gates.wording import not_run, verdict
from benchgate.render.files import junit
from benchgate.render.files import summary as summary_md
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView, headline, sentences_of, session_view, unwitnessed
from tests.unit.factories import (
    POLICY,
    arm,
    cell,
    raw_run,
    right,
    run_row,
    scaled_view,
    speedup,
    verified,
    view,
)


def test_missing_facts_are_unavailable() -> None:
    shown = session_view(facts={}, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.id, shown.version, shown.commit) == ("unavailable",) * 3
    machine = dict(shown.machine)
    assert machine["processor"] == (
        "unavailable; sockets unavailable, cores unavailable, threads unavailable"
    )
    assert machine["qemu"] == machine["accelerators"] == "unavailable"
    assert shown.isolation == "none seen"
    assert shown.notes == ()


def test_the_view_has_the_facts_of_session_json() -> None:
    facts = {
        "id": "20260102T030405Z-abcdef",
        "state": "partial",
        "state_reason": "interrupted",
        "command": "pytest -m smp",
        "notes": ["profile of x: unavailable: no perf"],
        "inputs": {"labels": ["user QEMU"], "qemu": {"version": "10.0.2", "origin": "user"}},
        "envelope": {"isolation": {"isolcpus": "1", "cpuset": "none"}, "cpu_model": "Example"},
    }
    shown = session_view(facts=facts, rows=[], verdicts=[], capacity={}, policy=POLICY)
    assert (shown.state, shown.state_reason) == ("partial", "interrupted")
    assert shown.notes == ("profile of x: unavailable: no perf",)
    assert shown.labels == ("user QEMU",)
    assert shown.isolation == "isolcpus 1"
    assert dict(shown.machine)["qemu"] == "10.0.2 user"
    assert shown.repeat == ("pytest -m smp", "benchgate rejudge reports/runs/20260102T030405Z-abcdef")


def test_the_headline_begins_with_the_worst_word() -> None:
    one = scaled_view().verdicts[0]
    words = [Word.PASS, Word.SKIP, Word.INCONCLUSIVE, Word.FAIL, Word.FAIL]
    seen = view(verdicts=[replace(one, outcome=word) for word in words])
    assert headline(seen) == "FAIL: 2 of 5 verdicts, 1 INCONCLUSIVE, 1 PASS, 1 SKIP"
    assert [shown_verdict.outcome for shown_verdict in seen.shown_verdicts][:3] == [
        Word.FAIL,
        Word.FAIL,
        Word.INCONCLUSIVE,
    ]


@pytest.mark.parametrize("words", [(), (Word.SKIP,)])
def test_without_a_decision_the_headline_is_skip(words: tuple[Word, ...]) -> None:
    one = scaled_view().verdicts[0]
    seen = view(verdicts=[replace(one, outcome=word) for word in words])
    assert headline(seen) == "SKIP: nothing was decided"


def test_verified_cells_beside_skipped_thresholds_decide_nothing() -> None:
    one = scaled_view().verdicts[0]
    skipped, cell = replace(one, outcome=Word.SKIP), replace(one, gate="verified", base_cpus=None)
    assert headline(view(verdicts=[skipped, cell])) == "SKIP: nothing was decided"
    assert headline(view(verdicts=[cell])) == "PASS: 1 of 1 verdicts"
    assert headline(view(verdicts=[one, replace(cell, outcome=Word.INVALID)])) == (
        "INVALID: 1 of 2 verdicts, 1 PASS"
    )


def test_a_partial_session_says_so_first() -> None:
    seen = scaled_view(state="partial", state_reason="interrupted by Ctrl-C")
    assert headline(seen) == "PARTIAL: interrupted by Ctrl-C; until then PASS: 1 of 1 verdicts"


def test_void_runs_are_counted_and_named_in_every_report() -> None:
    raw = raw_run(cell(1), attempt=7)
    void = run_row(raw, replace(verified(raw, 9_000_000_000), void="noise"), "run delay 50% (limit 2%)")
    seen = scaled_view(rows=(*scaled_view().rows, void), void_rule="a run is void above 2%")
    said = "1 of 12 runs void: run 0007, primes-linux-smp1: run delay 50%"
    for text in (terminal.render(seen, 200), junit.render(seen)):
        assert said in text
    summary = summary_md.render(seen)
    assert "run 7, primes-linux-smp1, **void**: run delay 50%" in summary
    assert "| smp1 | 5 (+1 void) |" in summary
    assert "- noise: a run is void above 2%" in summary
    assert "9.000 s" not in summary
    assert results_csv.parse(results_csv.render([void]), "x") == (
        replace(void, cell=replace(void.cell, label=""), reason="", steps=None, seen_by=()),
    )


def left_out(cpus: int, why: str) -> Verdict:
    one = arm(cell(cpus), skipped=why)
    return verdict(speedup(cpus), Word.SKIP, f"SKIP: primes-linux smp{cpus}/smp1: {not_run(one)}", {})


def failed(cpus: int) -> Verdict:
    return verdict(speedup(cpus), Word.FAIL, f"FAIL: primes-linux smp{cpus}/smp1 = 1.2 < 1.6", {})


def test_gates_of_one_cause_share_a_sentence_behind_all_others() -> None:
    told = sentences_of([left_out(4, "why"), left_out(8, "why"), left_out(16, "why"), failed(2)])
    assert told == [
        (Word.FAIL, "primes-linux smp2/smp1 = 1.2 < 1.6"),
        (Word.SKIP, "3 gates: not run: why: primes-linux-smp4, primes-linux-smp8, primes-linux-smp16"),
    ]


def test_two_gates_of_one_cause_have_a_sentence_each() -> None:
    told = sentences_of([left_out(4, "why"), left_out(8, "why"), left_out(16, "another")])
    assert [text for _, text in told] == [
        "primes-linux-smp4: not run: why",
        "primes-linux-smp8: not run: why",
        "primes-linux-smp16: not run: another",
    ]


def too_few(cpus: int, runs: int = 1) -> Verdict:
    why = f"SKIP: primes-linux smp{cpus}/smp1: {runs} of 5 runs made; next: --runs 5"
    return verdict(speedup(cpus), Word.SKIP, why, {})


def test_equal_reasons_of_any_kind_share_a_sentence() -> None:
    told = sentences_of([too_few(2), too_few(4), too_few(8), too_few(16, runs=3)])
    names = "primes-linux-smp2, primes-linux-smp4, primes-linux-smp8"
    assert told == [
        (Word.SKIP, f"3 gates: 1 of 5 runs made: {names}; next: --runs 5"),
        (Word.SKIP, "primes-linux smp16/smp1: 3 of 5 runs made; next: --runs 5"),
    ]


def test_figures_keep_their_sentences_and_so_do_other_words() -> None:
    assert len(sentences_of([failed(2), failed(4), failed(8)])) == 3
    other = replace(too_few(4), outcome=Word.INVALID, reason=too_few(4).reason.replace("SKIP", "INVALID"))
    assert len(sentences_of([other, too_few(2), too_few(8)])) == 3


def test_figures_of_several_tests_are_those_of_each_cell_and_runs_those_of_all() -> None:
    """A session with four such tests said "4 runs, all verified; all 2 figures measured by the machine"."""
    how = "all verified; all 2 figures measured by the machine, 2 promises seen kept"

    def tested(cpus: int) -> Verdict:
        given = verdict(right(cpus), Word.PASS, f"PASS: primes-linux-smp{cpus}: 1 run, {how}", {})
        return replace(given, runs=1)

    (one,), (all_of_them,) = sentences_of([tested(2)]), sentences_of([tested(1), tested(2), tested(4)])
    assert one == (Word.PASS, f"1 test that a cell is right: 1 run, {how}")
    figures = "of each cell all 2 figures measured by the machine, 2 promises seen kept"
    assert all_of_them[1] == f"3 tests that a cell is right: 3 runs, all verified; {figures}"


# ---- witnesses


UNSEEN = WitnessedPromise("a >= b", "x", why="the system names no `a`")


def measured_view(*who: Mapping[str, SeenBy], lane: Lane = Lane.INSN) -> SessionView:
    """A session with a cell for each, whose figures these say."""
    cells = [cell(2 * (n + 1)) for n in range(len(who))]
    runs = [raw_run(one, lane=lane, attempt=n + 1) for n, one in enumerate(cells)]
    rows = [run_row(run, verified(run, 1000)) for run in runs]
    return replace(
        view(*rows, verdicts=scaled_view().verdicts),
        promises={one.id: (UNSEEN,) for one in cells},
        who_says={one.id: some for one, some in zip(cells, who, strict=True)},
    )


_OWN = {"work": SeenBy.MACHINE, "total": SeenBy.MACHINE}
_MIXED = {**_OWN, "p50": SeenBy.MACHINE, "p99": SeenBy.BOTH, "rps": SeenBy.GUEST}


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ([_OWN, _OWN], "; 2 cells verified, all 4 figures measured by the machine"),
        ([_OWN, _MIXED], "; 2 cells verified, 5 of 7 figures measured by the machine"),
        ([{}], ""),
    ],
)
def test_the_headline_counts_cells_once_and_the_figures_that_the_machine_measured(
    who: list[dict[str, SeenBy]], said: str
) -> None:
    seen = measured_view(*who)
    plain = headline(replace(seen, who_says={}))
    assert headline(seen) == f"{plain}{said}"
    assert summary_md.render(seen).startswith(f"# {plain}{said}\n")
    assert headline(measured_view(*who, lane=Lane.TCG)) == plain


def test_a_broken_cell_is_not_verified() -> None:
    seen = measured_view(_OWN, _OWN)
    bad = run_row(raw_run(cell(4), attempt=3, lane=Lane.INSN), None, "wrong answer")
    seen = replace(seen, rows=(*seen.rows, bad))
    assert headline(seen).endswith("; 1 cell verified, all 2 figures measured by the machine")


def test_where_nothing_is_decided_the_cells_are_counted_once() -> None:
    seen = replace(measured_view(_OWN, _MIXED), verdicts=())
    assert headline(seen) == (
        "SKIP: nothing was decided; 2 cells verified, 5 of 7 figures measured by the machine"
    )
    assert headline(replace(measured_view(_OWN, lane=Lane.TCG), verdicts=())).endswith("; 1 cell verified")


def test_what_only_the_guest_says_is_derived_from_the_same_data_as_metrics_csv() -> None:
    said = summary_md.render(measured_view(_MIXED))
    assert "Claimed by the guest alone: rps (primes-linux, insn)." in said
    assert "Claimed by the guest, within what the promises allow: p99 (primes-linux, insn)." in said
    assert "Claimed" not in summary_md.render(measured_view(_OWN))
    assert "Claimed" not in summary_md.render(measured_view(_MIXED, lane=Lane.TCG))


def test_what_wall_time_cannot_witness_is_said_once() -> None:
    seen = measured_view({}, {}, lane=Lane.TCG)
    (said,) = unwitnessed(seen)
    assert said == "not witnessed on lane tcg: only the instruction clock sees what 2 cells promised"
    assert summary_md.render(seen).count("not witnessed") == 1
    assert terminal.render(seen, 120).count("not witnessed") == 1
    assert unwitnessed(measured_view({})) == ()
    assert unwitnessed(replace(seen, promises={})) == ()
