"""`benchgate timeline` writes a trace of any run and replaces no file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.cli import main
from benchgate.judge.story.words import Arrow, Counter, Instant, Span, Story, Track
from benchgate.run.record import save
from benchgate.session import timeline
from benchgate.session.timeline import trace
from tests import traceformat
from tests.wirekit import primes_run, recorded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = primes_run(tmp_path / "0001-primes-linux-smp2", recorded("good-linux-primes-smp2"))
    save(replace(run, folder=run.folder))
    return run.folder


def test_a_trace_is_written_where_it_was_asked_for(folder: Path, tmp_path: Path) -> None:
    before = sorted(folder.iterdir())
    out = tmp_path / "trace.json"
    lines = timeline.write(folder, out)
    assert lines[0].startswith(f"{out}: 4 spans, 0 wake-ups, 0 samples; open it in")
    names = {one["name"] for one in traceformat.check(out.read_text()) if one["ph"] == "X"}
    assert {"total", "work"} < names
    assert sorted(folder.iterdir()) == before


def test_by_default_it_is_beside_the_user_and_has_a_free_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["timeline", str(folder)]) == 0
    assert main(["timeline", str(folder)]) == 0
    made = sorted(path.name for path in tmp_path.glob("timeline-*.json"))
    assert made == [f"timeline-{folder.name}-2.json", f"timeline-{folder.name}.json"]
    assert "another zero" in capsys.readouterr().out


def test_a_file_that_exists_is_not_changed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    out.write_text("mine")
    with pytest.raises(UsageError, match="already exists; it was not changed; name another file"):
        timeline.write(folder, out)
    assert out.read_text() == "mine"
    with pytest.raises(UsageError, match="cannot be written"):
        timeline.write(folder, tmp_path / "absent" / "x.json")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"run.json cannot be read"):
        timeline.write(tmp_path, tmp_path / "x.json")


ONE, TWO = Track("vCPUs", "vCPU 0"), Track("vCPUs", "vCPU 1")
STORY = Story(
    "primes-linux-smp2, run 0001",
    spans=(
        Span(ONE, "works", 1_000, 2_500, {"cpu": 0}),
        Span(TWO, "halted", 0, 2_001, {"woken by": "vCPU 0"}),
    ),
    instants=(Instant(ONE, "work begins", 1_001),),
    arrows=(Arrow("wakes", ONE, 2_001, TWO, 2_001),),
    counters=(Counter(Track("host", "vCPU 0"), 7, {"ran ms": 1.5}),),
    notes=("a note",),
)


def test_a_trace_keeps_the_rules_and_times_to_the_nanosecond() -> None:
    events = traceformat.check(trace(STORY))
    (works,) = (one for one in events if one["name"] == "works")
    assert (works["ts"], works["dur"], works["args"]) == (1, 1.5, {"cpu": 0})
    (begins,) = (one for one in events if one["name"] == "work begins")
    assert begins["ts"] == 1.001
    source, target = (next(one for one in events if one["ph"] == kind) for kind in "sf")
    assert (source["tid"], source["ts"]) == (works["tid"], 2.001)
    assert target["tid"] != source["tid"]
    assert json.loads(trace(STORY))["otherData"]["notes"] == ["a note"]


def test_the_same_story_gives_the_same_text() -> None:
    assert trace(STORY) == trace(STORY)


def test_an_empty_story_is_a_trace() -> None:
    assert traceformat.check(trace(Story())) == []


def test_untrusted_text_is_visible_and_short() -> None:
    text = trace(Story(instants=(Instant(ONE, "\x1b[2J" + "x" * 10_000, 0),)))
    assert len(text) < 2_000
    assert "\\\\x1b[2J" in text


@pytest.mark.parametrize(
    "broken",
    [
        Story(spans=(Span(ONE, "a", 0, 10), Span(ONE, "b", 5, 15))),
        Story(spans=(Span(ONE, "a", 10, 5),)),
        Story(instants=(Instant(ONE, "a", -1),)),
        Story(arrows=(Arrow("wakes", ONE, 9, TWO, 8),)),
        Story(instants=(Instant(ONE, "", 1),)),
    ],
)
def test_the_check_finds_what_a_viewer_would_misread(broken: Story) -> None:
    with pytest.raises(AssertionError):
        traceformat.check(trace(broken))
