"""Gates of metrics through pytest: a limit, two systems compared, and mistakes in their marks."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from benchgate.evidence.check import verify_session
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.trust import trusted
from tests.plugin.conftest import Rig

MARKED = """
import pytest

pytestmark = pytest.mark.smp

@pytest.mark.workload({workload}, hi=10_000)
@pytest.mark.{mark}
def test_it(verdict):
    verdict.require_pass()
"""


def marked(rig: Rig, mark: str, workload: str = '"primes"') -> None:
    rig.pytester.makepyfile(test_scaling=MARKED.format(mark=mark, workload=workload))


def other_system(rig: Rig, work: int) -> str:
    """A second system, whose consoles have another work window."""
    folder = rig.folder / "other"
    folder.mkdir()
    (folder / "kernel").write_bytes(b"kernel")
    other = Rig(rig.pytester, folder)
    other.consoles((work, work))
    for path in folder.glob("smp?.log"):
        path.write_text(path.read_text().replace("system=fake", "system=other"))
    path = Path(other.system()).rename(folder / "other.yaml")
    path.write_text(path.read_text().replace("name: fake", "name: other"))
    return str(path)


def declaring(rig: Rig) -> Path:
    """primes with two metrics; a copy, because a workload's files are in one folder."""
    folder = rig.folder / "mine"
    folder.mkdir()
    for path in (data_root() / "guest/workloads/primes").glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    file = folder / "workload.yaml"
    file.write_text(
        file.read_text()
        + "metrics:\n  divisions: {kind: count, of: result.divs, better: less}\n"
        + "  evenness: {kind: share, of: divs, better: more}\n"
    )
    return file


def verdicts(rig: Rig) -> list[dict[str, object]]:
    result: list[dict[str, object]] = json.loads((rig.latest / "verdicts.json").read_text())
    return result


def test_a_comparison_measures_the_other_system_interleaved_and_its_evidence_is_intact(rig: Rig) -> None:
    other = other_system(rig, 15_000_000)
    marked(rig, f"ratio(to={other!r}, cpus=2, at_least=1.4)")
    result = rig.run("-v")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PASS: primes.hi-10000 smp2 fake/other = 1.50 ?1.50, 1.50? >= 1.4 (work, *"])
    (verdict,) = verdicts(rig)
    assert (verdict["gate"], verdict["base_system"], verdict["base_cpus"], verdict["cpus"]) == (
        "ratio", "other", 2, 2,
    )  # fmt: skip
    with (rig.latest / "results.csv").open() as stream:
        order = [row["system"] for row in csv.DictReader(stream) if row["outcome"] == "ok"]
    assert sorted(order) == ["fake"] * 5 + ["other"] * 5
    assert all({one, two} == {"fake", "other"} for one, two in zip(order[::2], order[1::2], strict=True))
    assert verify_session(rig.latest, rejudge.recompute).exit_code == 0
    assert rejudge.show(rig.latest)[1] == 0


def test_a_comparison_that_is_lost_fails(rig: Rig) -> None:
    marked(rig, f"ratio(to={other_system(rig, 5_000_000)!r}, cpus=2, at_least=1.0)")
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL: primes.hi-10000 smp2 fake/other = 0.50 ?0.50, 0.50? < 1 (work, *"])


def test_an_invalid_run_of_one_system_makes_the_comparison_invalid(rig: Rig) -> None:
    other = other_system(rig, 15_000_000)
    path = rig.folder / "other" / "smp2.log"
    path.write_text(path.read_text().replace("count=", "count=9", 1))
    marked(rig, f"ratio(to={other!r}, cpus=2, at_least=1.4)")
    assert rig.run().ret == 1
    assert [verdict["outcome"] for verdict in verdicts(rig)] == ["INVALID"]


def test_a_system_on_another_lane_is_not_compared(rig: Rig) -> None:
    marked(rig, 'ratio(to="native", cpus=2, at_least=1.0)')
    result = rig.run()
    assert result.ret == 5
    result.assert_outcomes(skipped=1)
    assert "are measured on different lanes" in str(verdicts(rig)[0]["reason"])


def test_a_limit_on_a_declared_metric_is_gated_shown_and_verified(rig: Rig) -> None:
    file = declaring(rig)
    marked(rig, 'limit(cpus=2, metric="divisions", at_most=200_000)', repr(str(file)))
    result = rig.run()
    result.assert_outcomes(passed=1)
    (verdict,) = verdicts(rig)
    assert (verdict["metric"], verdict["ratio"], verdict["unit"]) == ("divisions", None, "")
    with (rig.latest / "metrics.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["metric"] for row in rows} == {"work", "total", "divisions", "evenness"}
    assert {float(row["value"]) for row in rows if row["metric"] == "divisions"} == {verdict["value"]}
    summary = (rig.latest / "summary.md").read_text()
    assert "| divisions | smp2 |" in summary
    assert "<= 200,000 PASS" in summary.replace("\\", "")
    assert "(metrics.svg)" not in summary  # at one CPU count there is nothing to compare
    benchmark = json.loads((rig.latest / "benchmark.json").read_text())
    assert {one["param"] for one in benchmark["benchgate"]["other_units"]} == {"divisions", "evenness"}
    assert 'name="benchgate.metric.evenness"' in (rig.latest / "junit.xml").read_text()
    (sweep,) = json.loads((rig.latest / "session.json").read_text())["plan"]
    assert [one["name"] for one in sweep["metrics"]] == ["divisions", "evenness"]
    known = trusted([str(file)], [], [])
    assert verify_session(rig.latest, lambda at: rejudge.recompute(at, known)).exit_code == 0


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('speedup(cpus=2, at_least=1.6, window="total")', "*`window` is now `metric`: write metric='total'*"),
        (
            'limit(cpus=2, metric="rps", at_most=1)',
            "*not one of the metrics of workload primes: work, *",
        ),
        (
            'limit(cpus=2, metric="total")',
            "test_it: mark limit: needs one of `at_least` and `at_most`, not both*",
        ),
        ('ratio(to="linx", cpus=2, at_least=1)', "*linx*"),
        ("ratio(cpus=2, at_least=1)", "*mark ratio: the argument `to` is missing*"),
    ],
)
def test_a_mistake_in_a_mark_is_a_collection_error(rig: Rig, mark: str, said: str) -> None:
    marked(rig, mark)
    result = rig.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines([said])
    assert not rig.latest.exists()


def test_an_unknown_metric_names_those_that_the_workload_declares(rig: Rig) -> None:
    file = declaring(rig)
    marked(rig, 'speedup(cpus=2, at_least=1.6, metric="evennes")', repr(str(file)))
    rig.run().stdout.fnmatch_lines(
        ["*work, total, *sched_wait_max, divisions, evenness; did you mean `evenness`*"]
    )
