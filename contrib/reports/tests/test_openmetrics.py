"""openmetrics.txt: read by a strict reader of the specification, and by the official one where it is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.base.gates import Word
from contrib.reports import openmetrics
from tests import optional
from tests.unit.factories import TWO_NS, cell, failing, raw_run, rows, run_row, scaled_view, view

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_SAMPLE = re.compile(rf"({_NAME})\{{(.*)\}} (\S+)")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str) -> Samples:
    """Reads by the text of the OpenMetrics specification 1.0: families in one piece, each with a type before
    its samples, no sample twice, `# EOF` last."""
    *lines, eof, end = text.split("\n")
    assert (eof, end) == ("# EOF", "")
    types: dict[str, str] = {}
    result: Samples = {}
    family = ""
    for line in lines:
        if meta := re.fullmatch(rf"# TYPE ({_NAME}) (gauge|info|stateset)", line):
            family = meta[1]
            assert family not in types
            types[family] = meta[2]
        elif meta := re.fullmatch(rf"# HELP ({_NAME}) (\S.*)", line):
            assert meta[1] == family
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample is not None, line
            suffix = {"info": "_info"}.get(types[family], "")
            assert sample[1] == family + suffix
            labels = _LABEL.findall(sample[2])
            assert "".join(f'{name}="{value}",' for name, value in labels).rstrip(",") == sample[2]
            assert len(dict(labels)) == len(labels)
            if types[family] == "stateset":
                assert family in dict(labels)
                assert sample[3] in {"0", "1"}
            key = sample[1], frozenset(labels)
            assert key not in result
            result[key] = float(sample[3])
    return result


def values(text: str, name: str, **wanted: str) -> list[float]:
    return [
        value
        for (sample, labels), value in read(text).items()
        if sample == name and wanted.items() <= dict(labels).items()
    ]


def test_verdicts_and_figures_are_there() -> None:
    text = openmetrics.render(scaled_view())
    assert values(text, "benchgate_session_info", session="20260102T030405Z-abcdef") == [1]
    assert values(text, "benchgate_verdict", benchgate_verdict="PASS") == [1]
    assert values(text, "benchgate_verdict", benchgate_verdict="FAIL") == [0]
    assert values(text, "benchgate_metric_median", arm="smp2", metric="work") == [659_500_000]
    assert values(text, "benchgate_metric_runs", arm="smp2", metric="work") == [5]
    assert values(text, "benchgate_metric_max", arm="smp2", metric="work") == [max(TWO_NS)]
    (ratio,) = values(text, "benchgate_speedup", arm="smp2", window="work")
    (low,) = values(text, "benchgate_speedup_low", arm="smp2", window="work")
    (high,) = values(text, "benchgate_speedup_high", arm="smp2", window="work")
    assert ratio == pytest.approx(1.93357, abs=1e-5)
    assert low < ratio < high
    assert values(text, "benchgate_verdict_threshold", metric="work") == [1.6]


def test_every_outcome_has_one_state() -> None:
    for word in Word:
        text = openmetrics.render(failing(word))
        assert values(text, "benchgate_verdict") == [int(one is word) for one in Word]


def test_what_cannot_be_trusted_is_left_out() -> None:
    broken = run_row(raw_run(cell(2), attempt=20), None, "a wrong answer")
    text = openmetrics.render(view(*scaled_view().rows, broken))
    assert values(text, "benchgate_metric_median", arm="smp2") == []
    assert values(text, "benchgate_metric_median", arm="smp1", metric="work") != []
    unverified = openmetrics.render(scaled_view(is_verified=False))
    assert "benchgate_metric" not in unverified
    assert "benchgate_verdict" not in unverified
    invalid = openmetrics.render(failing(Word.INVALID))
    assert values(invalid, "benchgate_speedup", window="work") == []


HOSTILE = 'a"b\\c\nd{e="f"} 1\x1b[2J # EOF'


def test_hostile_text_stays_in_its_label() -> None:
    first = scaled_view()
    named = replace(first.verdicts[0], id=HOSTILE, system=HOSTILE)
    given = replace(first, verdicts=(named,), commit=HOSTILE)
    text = openmetrics.render(given)
    assert len(read(text)) > 5
    assert "\x1b" not in text


def test_two_rows_are_two_samples() -> None:
    many = view(*rows(cell(1), TWO_NS), *rows(cell(1, system="kernel"), TWO_NS, first=9))
    assert len(values(openmetrics.render(many), "benchgate_metric_median", metric="work")) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# EOF\n", ""),
        ("# EOF\n", "# EOF\n\n"),
        ('benchgate_verdict="PASS"} 1', 'benchgate_verdict="PASS"} 2'),
        ("# TYPE benchgate_speedup gauge\n", ""),
        ('arm="smp2"', 'arm="smp"2"'),
        ('benchgate_verdict="SKIP"', 'benchgate_verdict="PASS"'),
    ],
)
def test_the_reader_refuses_what_is_wrong(old: str, new: str) -> None:
    text = openmetrics.render(scaled_view())
    assert old in text
    with pytest.raises((AssertionError, ValueError)):
        read(text.replace(old, new))


def test_the_official_reader_agrees() -> None:
    parser = optional.module("prometheus_client.openmetrics.parser")
    for given in (scaled_view(), failing(Word.INVALID), view(), replace(scaled_view(), commit=HOSTILE)):
        text = openmetrics.render(given)
        families = list(parser.text_string_to_metric_families(text))
        samples = [sample for family in families for sample in family.samples]
        assert len(samples) == len(read(text))
        assert {sample.name for sample in samples} == {name for name, _ in read(text)}
    with pytest.raises(ValueError, match="EOF"):
        list(parser.text_string_to_metric_families(text.replace("# EOF\n", "")))
