"""junit.xml: the fields of a verdict as properties, and what counts as a failure or a skip."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from benchgate.base.gates import Word
from benchgate.base.runs import Outcome
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.render.files import junit
from tests.unit.factories import failing, scaled_view


def test_junit_has_the_fields_as_properties() -> None:
    root = ET.fromstring(junit.render(scaled_view()))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert (case.get("name"), case.get("classname")) == ("primes-linux-smp2-work", "benchgate.speedup")
    result = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert result["benchgate.outcome"] == "PASS"
    assert result["benchgate.params"] == "hi=3000000 split=balanced"
    assert float(result["benchgate.ratio"] or "0") == pytest.approx(1_275_187_210 / 659_500_000)
    assert case.find("failure") is None


def test_each_run_is_in_the_time_of_one_case() -> None:
    """Five runs of 2 s at one CPU, whose cell has no verdict, five of 3 s at two, and a warm-up of 1 s."""
    given = scaled_view()
    of = {True: 1_000_000_000, False: 2_000_000_000}
    rows = tuple(
        replace(row, host_span_ns=3_000_000_000 if row.cell.cpus == 2 else of[row.outcome is Outcome.WARMUP])
        for row in given.rows
    )
    first = given.verdicts[0]
    both = (first, replace(first, gate="verified", id="primes-linux-smp2-verified"))
    for verdicts, times in (((first,), ["26.000"]), (both, ["26.000", "0.000"])):
        root = ET.fromstring(junit.render(replace(given, rows=rows, verdicts=verdicts)))
        assert [one.get("time") for one in root.iter("testcase")] == times
        assert [one.get("time") for one in root.iter("testsuite")] == ["26.000"]


def test_a_percentile_is_the_median_of_the_runs_and_that_of_all_together() -> None:
    p99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
    given = scaled_view()
    counted = tuple(replace(row, metrics=((p99, 4.0 + row.run),)) for row in given.rows)
    merged = {"primes-linux-smp2": {"wake_p99": 9.25}}
    result = {
        one.get("name"): one.get("value")
        for one in ET.fromstring(junit.render(replace(given, rows=counted, merged=merged))).iter("property")
    }
    of_two = sorted(4.0 + row.run for row in given.rows if row.cell.cpus == 2)
    assert result["benchgate.metric.wake_p99"] == f"{of_two[len(of_two) // 2]:g} ns"
    assert result["benchgate.metric.wake_p99.merged"] == "9.25 ns"


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
def test_junit_counts_failures_and_skips(word: Word, is_failure: bool, tag: str) -> None:
    root = ET.fromstring(junit.render(replace(failing(word), inconclusive_fails=is_failure)))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "1",
        "1" if tag == "failure" else "0",
        "1" if tag == "skipped" else "0",
    )
    result = suite.find(f"testcase/{tag}")
    assert result is not None
    assert (result.get("type"), result.get("message")) == (word, f"{word}: primes-linux smp2/smp1 ...")


def test_the_form_is_the_one_that_jenkins_and_gitlab_read() -> None:
    """The order and the attributes of Jenkins' schema; and what GitLab shows, which has no properties."""
    for word in Word:
        root = ET.fromstring(junit.render(failing(word)))
        (suite,) = root
        assert (root.tag, suite.tag) == ("testsuites", "testsuite")
        assert [one.tag for one in suite] == ["properties", "testcase", "system-out"]
        case = suite[1]
        assert {"classname", "name", "time"} == set(case.attrib)
        outcome = {"PASS": "system-out", "SKIP": "skipped"}.get(word, "failure")
        assert [one.tag for one in case] == ["properties", outcome]
        assert "primes-linux smp2/smp1 ..." in (case[1].text or case[1].get("message") or "")


def test_the_suite_says_which_session_and_machine_it_is_of() -> None:
    suite = ET.fromstring(junit.render(scaled_view()))[0]
    result = {one.get("name"): one.get("value") for one in suite.iterfind("properties/property")}
    assert result["benchgate.session"] == "20260102T030405Z-abcdef"
    assert result["benchgate.commit"] == "0123abc"
    assert result["benchgate.machine.cpu"] == "Example CPU, 2 sockets"
