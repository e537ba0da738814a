"""What failed comes first and worst first, a card for each row and word; what was skipped is folded."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

from benchgate.base.gates import Word
from benchgate.judge.gates.wording import verdict
from benchgate.render.page.chapters import problems
from benchgate.render.page.page_view import page_view
from tests.pageviews import wide_view
from tests.unit.factories import scaled_view, speedup

HOME = "reports/runs/20260102T030405Z-abcdef"


def cards(html: str) -> list[str]:
    return [unescape(re.sub("<[^>]*>", "", one)) for one in re.findall(r"<article.*?</article>", html)]


def test_a_row_has_one_card_a_word_and_the_worst_is_first() -> None:
    result = cards(problems.body(page_view(wide_view(6, 2, 3))) or "")
    assert [text.split(" ")[0] for text in result] == ["FAIL", "INVALID", "INCONCLUSIVE"]
    assert result[0].startswith("FAIL pipe smp4 on linux, kernel: speedup")
    assert "pipe-linux smp4/smp1 = 2.46 [2.46, 2.47] < 3.6" in result[0]
    assert "1 more of this row" in result[0]


def test_the_cause_is_said_once_with_the_command_for_the_run_at_fault() -> None:
    broken = cards(problems.body(page_view(wide_view(6, 2, 3))) or "")[1]
    assert broken.count("Kernel panic") == 2  # once for each system; their thresholds are not said again
    runs = [row.run for row in wide_view(6, 2, 3).rows if row.cell.workload == "wake" and row.cell.cpus == 4]
    assert f"benchgate replay {HOME}/runs/{runs[4]:04}-wake-linux-smp4" in broken


def test_advice_has_paths_from_the_folder_that_holds_reports() -> None:
    failed = cards(problems.body(page_view(wide_view(6, 2, 3))) or "")[0]
    assert re.search(
        rf"Next: this command shows where .*benchgate replay {HOME}/runs/\d+-pipe-linux-smp4 --profile",
        failed,
    )
    assert not re.search(r"(?<!abcdef/)runs/\d{4}-", failed)


def test_many_skips_of_one_reason_are_one_line() -> None:
    """As after --quick, where each gate has seen one run."""
    reason = (
        "SKIP: primes-linux smp{}/smp1: 1 run per arm decides nothing; at least 5 are needed; next: --runs 5"
    )
    given = [verdict(speedup(cpus), Word.SKIP, reason.format(cpus), {}) for cpus in (2, 4, 8, 16, 32, 64)]
    html = problems.body(page_view(scaled_view(verdicts=tuple(given)))) or ""
    assert "<summary>6 gates skipped, 1 reason</summary>" in html
    assert html.count("<li>") == 1
    assert '<details open="">' in html  # nothing else is there to see


def test_skips_are_folded_where_something_failed() -> None:
    ran = wide_view(3, 1, 3)
    skipped = verdict(speedup(2), Word.SKIP, "SKIP: primes-linux smp2/smp1: not now", {})
    html = problems.body(page_view(replace(ran, verdicts=(*ran.verdicts, skipped)))) or ""
    assert "<details><summary>1 gate skipped, 1 reason</summary>" in html


def test_all_passed_is_no_problem() -> None:
    assert problems.body(page_view(scaled_view())) is None
