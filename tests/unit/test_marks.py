"""The marks: what they ask for, and what is refused by name."""

import pytest

from benchgate import marks
from benchgate.errors import UsageError
from benchgate.marks import Mark
from benchgate.model import Window
from benchgate.plan import Threshold

PRIMES = Mark(("primes",), {"hi": 3_000_000})


def speedup(**given: object) -> Mark:
    return Mark((), given)


def test_marks_become_a_request() -> None:
    request = marks.read(PRIMES, [speedup(cpus=4, at_least=3), speedup(cpus=2, at_least=1.6, insn=1.9)])
    assert (request.workload, request.given) == ("primes", {"hi": 3_000_000})
    assert request.thresholds == (
        Threshold(2, 1, Window.WORK, 1.6, None, 1.9),
        Threshold(4, 1, Window.WORK, 3.0, None, None),
    )


def test_systems_can_be_named_by_the_test_itself() -> None:
    assert marks.read(PRIMES, [], [Mark(("linux", "x.yaml"), {})]).systems == ("linux", "x.yaml")


@pytest.mark.parametrize(
    ("mark", "complaint"),
    [
        (speedup(cpu=2, at_least=1.6), r"mark speedup: no argument `cpu`; did you mean `cpus`\?"),
        (speedup(at_least=1.6), r"mark speedup: the argument `cpus` is missing"),
        (speedup(cpus=2), r"needs either `at_least` or `at_most`"),
        (speedup(cpus=2, at_least=1.6, at_most=1.1), r"needs either `at_least` or `at_most`"),
        (speedup(cpus=1, at_least=1.6), r"cpus=1 is not above base=1"),
        (speedup(cpus="2", at_least=1.6), r"cpus='2' is not a CPU count"),
        (speedup(cpus=True, at_least=1.6), r"cpus=True is not a CPU count"),
        (speedup(cpus=2, at_least="1.6"), r"at_least='1\.6' is not a ratio"),
        (speedup(cpus=2, at_least=-1), r"at_least=-1 is not a ratio"),
        (speedup(cpus=2, at_least=1.6, window="wrk"), r"window='wrk' is not work or total"),
        (Mark((2, 1.6), {}), r"arguments have names"),
    ],
)
def test_a_speedup_mark_that_cannot_be_meant_is_refused(mark: Mark, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        marks.read(PRIMES, [mark])


@pytest.mark.parametrize(
    ("mark", "complaint"),
    [
        (None, r"needs @pytest\.mark\.workload"),
        (Mark((), {}), r"mark workload: expected one name"),
        (Mark(("primes", 3), {}), r"mark workload: expected one name"),
        (Mark(("primes",), {"high": 3}), r"workload primes has no parameter `high`; did you mean `hi`\?"),
    ],
)
def test_a_workload_mark_that_cannot_be_meant_is_refused(mark: Mark | None, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        marks.read(mark, [speedup(cpus=2, at_least=1.6)])


def test_two_gates_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two marks of one test"):
        marks.read(PRIMES, [speedup(cpus=2, at_least=1.6), speedup(cpus=2, at_least=1.7)])


def test_a_systems_mark_takes_words() -> None:
    with pytest.raises(UsageError, match="mark system: expected names"):
        marks.read(PRIMES, [], [Mark((), {"name": "linux"})])
