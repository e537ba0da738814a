"""The part with the moved lines of each recorded cell."""

from __future__ import annotations

from dataclasses import replace

from benchgate.judge.accounts.sharing import Recording
from benchgate.render.page.details import shared_lines
from benchgate.render.page.page_view import page_view
from tests import pagekit
from tests.unit.factories import view
from tests.unit.moved_lines import sharing


def recording(number: int, vcpus: int = 4) -> Recording:
    return Recording(f"counters-linux-smp{number}", number, f"runs/000{number}-counters", sharing(vcpus))


def text_of(html: str | None) -> str:
    page = pagekit.Page()
    page.feed(html or "")
    assert page.problems == []
    return page.text


def test_a_session_without_recordings_has_no_part() -> None:
    assert shared_lines.body(page_view(view())) is None


def test_each_recording_has_its_picture_sentences_table_and_command() -> None:
    seen = shared_lines.body(page_view(view(moved_lines=(recording(1), recording(2)))))
    text = text_of(seen)
    assert text.count("of one line of `counters`: false sharing") >= 2
    assert "benchgate replay reports/runs/20260102T030405Z-abcdef/runs/0002-counters --lines" in text
    assert "8 lines of 64 bytes moved" in text


def test_a_recording_without_moves_says_so_and_what_does_not_fit_is_named() -> None:
    still = replace(recording(1), sharing=replace(sharing(), lines=(), known=0))
    assert "No line of memory moved" in text_of(shared_lines.body(page_view(view(moved_lines=(still,)))))
    many = tuple(recording(n, 256) for n in range(1, 9))
    assert "Not drawn, because the page would be too large: runs/000" in text_of(
        shared_lines.body(page_view(view(moved_lines=many)))
    )
