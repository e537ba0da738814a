from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.features.mix.session import isolation_mark
from benchgate.features.mix.session.isolation_mark import IsolationRequest, IsolationResult
from benchgate.features.mix.session.measure import MixRunner
from benchgate.features.mix.study import Study
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated
from benchgate.plan.options import Options
from benchgate.session.progress import Progress

GOOD = Simulated(TRUTH)
BAD = Simulated(TRUTH, starves={"walker.small": Fraction(1, 5)})
"""A scheduler that isolates badly."""
SMALL = mixsim.STUDY.replace("seeds: 3", "seeds: 2").replace(
    "near: 3", "resources: [cpu, cache]\nsensitivity: {levels: [50]}"
)
SMALL = SMALL.replace("calibrate: {disk: writer.large, network: writer.large}\n", "")


class Item:
    """The fields of a test that the mark needs."""

    def __init__(self, *marks: pytest.Mark) -> None:
        self._marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


def judged(tmp_path: Path, asked: IsolationRequest, **systems: Simulated) -> IsolationResult:
    """The first system is the session's."""

    def opened(study: Study) -> AbstractContextManager[MixRunner]:
        return nullcontext(systems[study.system])

    (tmp_path / "small.yaml").write_text(SMALL)
    options = replace(Options(), systems=tuple(systems)[:1], reports=tmp_path)
    asked = replace(asked, study=str(tmp_path / "small.yaml"))
    verdict = isolation_mark.measure(asked, options, opened, Progress(StringIO(), live=False))
    return IsolationResult(verdict, options.inconclusive_fails)


def test_a_system_that_isolates_badly_fails(tmp_path: Path) -> None:
    result = judged(tmp_path, IsolationRequest("", 0.9, ""), linux=BAD)
    assert result.verdict.outcome is Word.FAIL
    assert "is 0.800 [0.800, 0.800], by walker.small#1; required >= 0.9" in result.verdict.reason
    with pytest.raises(pytest.fail.Exception, match=r"required >= 0\.9"):
        result.require_pass()


def test_a_system_that_isolates_well_passes(tmp_path: Path) -> None:
    result = judged(tmp_path, IsolationRequest("", 0.9, ""), linux=GOOD)
    assert result.verdict.outcome is Word.PASS
    result.require_pass()


def test_a_system_that_is_worse_than_another_one_fails(tmp_path: Path) -> None:
    result = judged(tmp_path, IsolationRequest("", None, "linux"), kernel=BAD, linux=GOOD)
    assert result.verdict.outcome is Word.FAIL
    assert "linux has 1.000, and no less is required" in result.verdict.reason
    other = tmp_path / "other"
    other.mkdir()
    better = judged(other, IsolationRequest("", None, "kernel"), linux=GOOD, kernel=BAD)
    assert better.verdict.outcome is Word.PASS


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (pytest.mark.isolation(), "expected @pytest.mark.isolation"),
        (pytest.mark.isolation("s.yaml"), "give at_least or against"),
        (pytest.mark.isolation("s.yaml", at_least=0.9, against="linux"), "and not both"),
        (pytest.mark.isolation("s.yaml", at_least=2), "is not a number above 0 and at most 1"),
        (pytest.mark.isolation("s.yaml", at_most=0.9), "expected @pytest.mark.isolation"),
    ],
)
def test_a_wrong_mark_fails_its_test(mark: pytest.MarkDecorator, said: str) -> None:
    with pytest.raises(pytest.fail.Exception) as refused:
        isolation_mark.asked(Item(mark.mark))  # type: ignore[arg-type]
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (pytest.mark.system("linux", "kernel"), "measures one system"),
        (pytest.mark.system(), "measures one system"),
        (pytest.mark.machine("desktop8"), "so this mark has no effect here"),
    ],
)
def test_a_mark_beside_it_that_would_be_ignored_fails_its_test(mark: pytest.MarkDecorator, said: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=said):
        isolation_mark.asked(Item(pytest.mark.isolation("s.yaml", at_least=0.9).mark, mark.mark))  # type: ignore[arg-type]


def test_no_mark_at_all() -> None:
    with pytest.raises(pytest.fail.Exception, match="needs a mark"):
        isolation_mark.asked(Item())  # type: ignore[arg-type]


def test_the_mark_system_names_the_system() -> None:
    marks = (pytest.mark.isolation("pair", at_least=0.9).mark, pytest.mark.system("kernel").mark)
    assert isolation_mark.asked(Item(*marks)) == IsolationRequest("pair", 0.9, "", "kernel")  # type: ignore[arg-type]
