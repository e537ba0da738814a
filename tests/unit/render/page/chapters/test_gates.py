"""What was asked comes first: a line for each gate with figure, threshold and verdict, worst first; no other
part of the page says a verdict."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from benchgate.base.gates import Gate, GateInput, Word
from benchgate.judge.gates import judge
from benchgate.judge.gates.wording import command, reason, verdict
from benchgate.render.page.chapters import gates
from benchgate.render.page.page import session_page
from benchgate.render.page.page_view import page_view
from benchgate.render.view import SessionView, headline
from tests import pagekit
from tests.pageviews import full_view, wide_view
from tests.unit.factories import POLICY, arm, cell, rows, scaled_view, speedup, view

HOME = "reports/runs/20260102T030405Z-abcdef"
WORD = re.compile("PASS|FAIL|INCONCLUSIVE|INVALID|SKIP")


def lines_of(html: str) -> list[list[str]]:
    """The cells of each line, as text."""
    found = re.findall(r'<tr class="item"[^>]*>(.*?)</tr>', html)
    return [
        [
            unescape(re.sub("<[^>]*>", " ", one)).strip()
            for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)
        ]
        for line in found
    ]


def asked(given: SessionView) -> str:
    return gates.body(page_view(given)) or ""


WIDE = lines_of(asked(wide_view(6, 2, 3)))


def test_each_gate_has_its_figure_its_threshold_and_its_verdict() -> None:
    primes = next(line for line in WIDE if line[0] == "primes-linux smp2/smp1")
    assert primes == [
        "primes-linux smp2/smp1", "PASS", "1.99 [1.98, 1.99]", "work > 1.8x",
        "(work, insn, 5 runs per arm); smallest effect 0.16%",
    ]  # fmt: skip
    failed = next(line for line in WIDE if line[0] == "pipe-linux smp4/smp1")
    assert failed[1:4] == ["FAIL", "2.46 [2.46, 2.47]", "work > 3.6x"]
    undecided = next(line for line in WIDE if line[0] == "mutex-linux smp4/smp1")
    assert undecided[1:4] == ["INCONCLUSIVE", "3.60001 [3.49413, 3.70910]", "work > 3.6x"]
    assert undecided[4].startswith("3.6 is inside the interval")


def test_the_worst_is_first_and_a_control_is_named() -> None:
    words = [line[1] for line in WIDE]
    assert words == ["FAIL"] * 2 + ["INVALID"] * 4 + ["INCONCLUSIVE"] * 2 + ["PASS"] * 14
    controls = [line[0].split()[0] for line in WIDE if "negative control" in line[0]]
    assert controls == ["primes.split-one-linux", "primes.split-one-kernel"] * 2


def test_the_cause_is_said_once_with_the_command_for_the_run_at_fault() -> None:
    cell_line, echo = WIDE[2], WIDE[4]
    assert cell_line[0] == "wake-linux-smp4"
    assert cell_line[4].count("Kernel panic") == 1
    runs = [row.run for row in wide_view(6, 2, 3).rows if row.cell.workload == "wake" and row.cell.cpus == 4]
    assert f"benchgate replay {HOME}/runs/{runs[4]:04}-wake-linux-smp4" in cell_line[4]
    assert echo == ["wake-linux smp4/smp1", "INVALID", "-", "work > 3.6x", "its runs are not verified"]


def test_the_command_repeats_the_run_that_the_reason_names() -> None:
    """A speedup is INVALID because of its base; the command was that of the other arm."""
    given = wide_view(6, 2, 3)
    bad = [row for row in given.rows if row.is_broken][-1]
    broken = next(one for one in given.verdicts if one.outcome is Word.INVALID and one.base_cpus)
    name = f"{bad.run:04d}-{bad.cell.id}"
    why = f"INVALID: wake-linux smp2/smp1: it is so; next: read runs/{name}/serial.log"
    line = lines_of(asked(replace(given, verdicts=(replace(broken, cpus=2, id="other", reason=why),))))[0]
    assert " ".join(line[4].split()).endswith(
        f"this command repeats the run benchgate replay {HOME}/runs/{name}"
    )


def test_advice_has_paths_from_the_folder_that_holds_reports() -> None:
    failed = next(line for line in WIDE if line[0] == "pipe-linux smp4/smp1")
    command = rf"benchgate replay {HOME}/runs/\d+-pipe-linux-smp4 --profile"
    assert re.search(rf"Next: this command shows where .*{command}", failed[4])
    assert not re.search(r"(?<!abcdef/)runs/\d{4}-", failed[4])


DIFF = command("benchgate", "baseline", "diff", "reports/b.json", "runs/0001-x-smp1", "--profile")
BOTH = [command("benchgate", "replay", f"runs/{run}", "--profile") for run in ("0001-x", "0002-x")]


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (DIFF, "this command"),
        (command("benchgate", "cache", "gc"), "this command"),
        (f"{BOTH[0]}: it says which threads waited", "this command: it says which threads waited"),
        (" and ".join(BOTH), "command 1 below and command 2 below"),
    ],
)
def test_the_commands_of_an_advice_are_those_to_paste(advice: str, said: str) -> None:
    """They were guessed from the words of the sentence, and another command stood in their place."""
    told = verdict(speedup(2), Word.FAIL, reason(Word.FAIL, "primes-linux smp2/smp1: it is so", advice), {})
    html = asked(scaled_view(verdicts=(told,)))
    assert f"Next: {said}</p><pre" in html
    pasted = [unescape(one) for one in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", html)]
    assert pasted == [one.replace(" runs/", f" {HOME}/runs/") for one in told.commands]
    assert "\x1f" not in told.reason
    shared = asked(scaled_view(verdicts=tuple(replace(told, id=str(n)) for n in range(3))))
    assert f"Next: {said}</p><pre" in shared


def test_skips_of_one_reason_say_it_once_and_have_a_line_each() -> None:
    """As after --quick, where each gate has seen one run: its figure is there, and decides nothing."""
    reason = "SKIP: primes-linux smp{}/smp1: --quick decides nothing"
    given = [verdict(speedup(cpus), Word.SKIP, reason.format(cpus), {}) for cpus in (2, 4, 8)]
    html = asked(scaled_view(verdicts=tuple(given)))
    assert "<caption>3 gates: --quick decides nothing</caption>" in html
    assert [line[:3] for line in lines_of(html)] == [
        ["primes-linux smp2/smp1", "SKIP", "1.93x"],
        ["primes-linux smp4/smp1", "SKIP", "-"],
        ["primes-linux smp8/smp1", "SKIP", "-"],
    ]


def test_verified_cells_of_a_session_that_decided_nothing_share_a_sentence() -> None:
    """As after --quick: there are several such cells, none of them a gate."""
    made = wide_view(2, 2, 2)
    right = [one for one in made.verdicts if (one.gate, one.outcome) == ("verified", Word.PASS)]
    asked_of = [verdict(speedup(2), Word.SKIP, "SKIP: primes-linux smp2/smp1: --quick decides nothing", {})]
    html = asked(replace(made, verdicts=(*right, *asked_of)))
    assert len(right) > 1
    assert len(lines_of(html)) == 1
    assert f"{len(right)} tests that a cell is right: " in html
    assert "which decides nothing" in html


def test_a_skipped_limit_has_the_unit_of_its_metric() -> None:
    of = cell(2)
    gate = Gate("x", "limit", None, of, "work", None, 120_000.0)
    decided = judge(gate, GateInput({of.id: arm(of, [100_000.0] * 5)}, POLICY, {})).verdict
    skipped = verdict(gate, Word.SKIP, "SKIP: primes-linux-smp2: not now", {"threshold": 120_000.0})
    for one, word in ((decided, "PASS"), (skipped, "SKIP")):
        (line,) = lines_of(asked(view(*rows(of, [100_000] * 5), verdicts=(one,))))
        assert (line[1], line[3]) == (word, "work <= 120.0 us")
        assert line[2].startswith("100.0")


def test_many_lines_that_hold_are_folded_and_those_that_do_not_never() -> None:
    html = asked(wide_view(10, 3, 4))
    assert re.search(r"<details><summary>Gates that hold: \d+</summary>", html)
    assert "<details" not in asked(wide_view(3, 2, 3))
    before = html[: html.index("<details")]
    assert [line[1] for line in lines_of(before) if line[1] not in ("INVALID", "FAIL", "INCONCLUSIVE")] == []


@pytest.mark.parametrize(
    "given", [scaled_view(), full_view(), wide_view(6, 2, 3)], ids=["one", "full", "wide"]
)
def test_no_other_part_of_the_page_says_a_verdict(given: SessionView) -> None:
    """The headline says the worst and how many of each, the first chapter each one, and nothing else any."""
    page = pagekit.read(session_page(given))
    text = page.text.replace(headline(given), "")
    said = WORD.findall(text)
    thresholds = [str(one.outcome) for one in given.verdicts if one.gate != "verified"]
    cells = [one for one in given.verdicts if one.gate == "verified"]
    bad = [str(one.outcome) for one in cells if one.outcome is not Word.PASS]
    passed = ["PASS"] if len(bad) < len(cells) else []  # one sentence for all cells whose runs are verified
    assert sorted(said) == sorted([*thresholds, *bad, *passed])


def test_a_page_that_says_a_verdict_twice_is_seen() -> None:
    given = scaled_view()
    text = session_page(given).replace("</main>", "<p>PASS</p></main>")
    said = WORD.findall(pagekit.read(text).text.replace(headline(given), ""))
    assert said == ["PASS", "PASS"]


def test_untrusted_text_stays_in_its_cell() -> None:
    odd = verdict(speedup(2), Word.FAIL, "FAIL: a = b = c: <i> [1, 2] = 3 (x", {})
    (line,) = lines_of(asked(scaled_view(verdicts=(odd,))))
    assert line[0] == "a"
    assert "<i> [1, 2] = 3 (x" in f"{line[2]} {line[4]}"


def test_a_session_without_a_gate_has_no_such_chapter() -> None:
    assert gates.body(page_view(replace(scaled_view(), verdicts=()))) is None
