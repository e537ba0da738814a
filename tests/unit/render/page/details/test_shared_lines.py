"""The part with the moved lines of each recorded cell."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from benchgate.insn.sharing import Sharing
from benchgate.judge.judged_run import Recording
from benchgate.render.page.details import shared_lines
from benchgate.render.page.page_view import page_view
from tests import pagekit
from tests.unit.factories import view
from tests.unit.moved_lines import sharing


def recording(number: int, vcpus: int = 4) -> Recording[Sharing]:
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
    still = replace(recording(1), content=replace(sharing(), lines=(), known=0))
    assert "No line of memory moved" in text_of(shared_lines.body(page_view(view(moved_lines=(still,)))))
    many = tuple(recording(n, 256) for n in range(1, 9))
    assert "Not drawn, because the page would be too large: runs/000" in text_of(
        shared_lines.body(page_view(view(moved_lines=many)))
    )


SVG = "{http://www.w3.org/2000/svg}"


def drawn(vcpus: int) -> ET.Element:
    return ET.fromstring(shared_lines.standalone(sharing(vcpus), "moved lines"))


def texts(picture: ET.Element) -> list[str]:
    return [one.text or "" for one in picture.iter(f"{SVG}text")]


def test_nothing_is_told_by_colour_alone() -> None:
    picture = drawn(4)
    said = texts(picture)
    assert {"counters", "big_lock", "0xffff888000003000 (kernel)", "5,000", "1,100", "1,400"} <= set(said)
    # Only the line of counters is shared falsely: one word, one dashed frame.
    assert (said.count("false"), said.count("true")) == (1, 2)
    frames = [one for one in picture.iter(f"{SVG}rect") if one.get("stroke-dasharray")]
    assert len(frames) == 1
    # Nine CPUs of the three lines write, so nine corners.
    assert len([one for one in picture.iter(f"{SVG}path") if "l-6 6z" in (one.get("d") or "")]) == 9


def test_a_screen_reader_has_the_sentences() -> None:
    label = drawn(4).get("aria-label") or ""
    assert "CPU 1 writes bytes 8-15" in label
    assert label.count("false sharing") == 1
    titles = [one.text or "" for one in drawn(4).iter(f"{SVG}title")]
    assert "counters: CPU 3 took it 1,400 times; 5,000 reads, 5,000 writes" in titles


def test_who_took_a_line_more_often_is_darker() -> None:
    shades = [
        float(one.get("fill-opacity") or 0)
        for one in drawn(4).iter(f"{SVG}rect")
        if one.get("fill") == "currentColor"
    ]
    assert shades[:4] == sorted(shades[:4])
    assert shades[0] < shades[3]


@pytest.mark.parametrize("vcpus", [1, 2, 8, 32, 64, 256])
def test_every_box_is_inside_the_picture(vcpus: int) -> None:
    picture = drawn(vcpus)
    width = float(picture.get("width") or 0)
    assert picture.get("viewBox") == f"0 0 {width:g} {float(picture.get('height') or 0):g}"
    for box in picture.iter(f"{SVG}rect"):
        assert float(box.get("x") or 0) + float(box.get("width") or 0) <= width
