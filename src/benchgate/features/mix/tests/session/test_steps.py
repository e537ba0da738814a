"""A whole study on a simulated system: planned, measured, interrupted, resumed, reported."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.mix.measurement import MixMeasurement
from benchgate.features.mix.outcome import StudyOutcome
from benchgate.features.mix.session import conclude, steps
from benchgate.features.mix.session.folder import StudyFolder
from benchgate.features.mix.session.measure import MixAnswer, MixAttemptJob, MixJob, MixRunner, VoidMixRun
from benchgate.features.mix.session.steps import MixRequest, OpenRunner
from benchgate.features.mix.study import Antagonists, Study
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated, Truth
from benchgate.session.progress import Progress

SMALL = replace(
    mixsim.study(),
    seeds=2,
    limit_seeds=2,
    levels=(50,),
    resources=("cpu", "disk"),
    calibrate={"disk": "writer.large"},
)
LOSER = {"writer.large": Fraction(1, 10)}


@dataclass
class Other(Simulated):
    """An input needs something else in one of its runs."""

    key: str = ""
    truth_then: Truth | None = None

    def measured(self, job: MixJob) -> MixMeasurement | str:
        if job.order.key == self.key and self.truth_then is not None:
            usual = self.truth
            self.truth = {**usual, job.order.parts[0].input: self.truth_then}
            try:
                return super().measured(job)
            finally:
                self.truth = usual
        return super().measured(job)


def opener(system: MixRunner) -> OpenRunner:
    @contextmanager
    def opened(_: Study) -> Iterator[MixRunner]:
        yield system

    def call(study: Study) -> AbstractContextManager[MixRunner]:
        return opened(study)

    return call


def measure(out: Path, system: MixRunner, study: Study = SMALL) -> tuple[StudyOutcome, str]:
    said = io.StringIO()
    return steps.measure_vectors(study, out, opener(system), Progress(said, live=False)), said.getvalue()


def run(out: Path, system: Simulated, wanted: MixRequest = MixRequest()) -> tuple[StudyOutcome, str]:  # noqa: B008 - frozen
    said = io.StringIO()
    return steps.run_mixes(out, wanted, opener(system), Progress(said, live=False)), said.getvalue()


def files_of(folder: Path) -> dict[str, str]:
    names = [
        path for path in folder.rglob("*") if path.is_file() and path.name not in ("seconds.txt", "lock")
    ]
    return {str(name.relative_to(folder)): name.read_text() for name in names}


def test_a_study_from_its_plan_to_its_report(tmp_path: Path) -> None:
    system = Simulated(TRUTH, starves=LOSER)
    _, said = measure(tmp_path, system)
    # 4 inputs alone; prime, writer and walker limited in cpu, and the writer in disk; 2 seeds each.
    assert len(system.ran) == 2 * 4 + 2 * 4
    assert "[16/16] simulated" in said
    assert "left)" in said
    outcome, _ = run(tmp_path, system)
    best = outcome.best
    assert best is not None
    assert best.planned.counts == {"prime.small": 3, "writer.large": 1}  # 3 x 0.25 + 0.1 x 0.1 + 1 x 0.8
    assert best.isolation.worst.part == "writer.large#1"
    assert best.isolation.value == pytest.approx(0.9)
    assert {"vectors.csv", "sensitivity.csv", "isolation.csv", "report.html", "plan.json", "study.yaml"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert {order.key for order in StudyFolder(tmp_path).orders()} >= set(system.ran)


def test_the_report_is_a_function_of_the_folder(tmp_path: Path) -> None:
    system = Simulated(TRUTH, starves=LOSER, noise=Fraction(1, 50))
    measure(tmp_path, system)
    run(tmp_path, system)
    before = files_of(tmp_path)
    for name in ("vectors.csv", "sensitivity.csv", "isolation.csv", "report.html", "sensitivity-levels.csv"):
        (tmp_path / name).unlink()
    conclude.report(StudyFolder(tmp_path))
    assert files_of(tmp_path) == before


def test_two_equal_studies_have_equal_folders(tmp_path: Path) -> None:
    for name in ("one", "two"):
        measure(tmp_path / name, Simulated(TRUTH, noise=Fraction(1, 50)))
        run(tmp_path / name, Simulated(TRUTH, noise=Fraction(1, 50)))
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_mixes_of_an_interrupted_study_wait_for_its_inputs(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path, Simulated(TRUTH, stop_after=6))
    with pytest.raises(UsageError, match="not every input was measured yet; next: benchgate mix vectors"):
        run(tmp_path, Simulated(TRUTH))


def test_an_interrupted_study_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path, Simulated(TRUTH, stop_after=6))
    assert len(StudyFolder(tmp_path).runs()) == 6
    rest = Simulated(TRUTH)
    measure(tmp_path, rest)
    assert len(rest.ran) == 10
    # The run that was stopped left its folder, which is kept as evidence.
    assert (tmp_path / "runs" / rest.ran[0] / "2" / "serial.log").is_file()
    again = Simulated(TRUTH)
    measure(tmp_path, again)
    assert again.ran == []


def test_a_run_without_a_result_is_kept_and_made_again(tmp_path: Path) -> None:
    key = "alone-walker.small-s1"
    outcome, said = measure(tmp_path, Simulated(TRUTH, fails={key: "part walker.small#1 ended early"}))
    assert f"{key}: INVALID: part walker.small#1 ended early" in said
    assert outcome.invalid == (f"{key}: part walker.small#1 ended early (runs/{key}/1)",)
    fixed = Simulated(TRUTH)
    outcome, _ = measure(tmp_path, fixed)
    assert key in fixed.ran
    assert outcome.invalid == ()
    assert (tmp_path / "runs" / key / "1" / "serial.log").is_file()


@dataclass
class Noisy:
    """A host that disturbs the first attempts of each run."""

    system: Simulated
    voids: int
    ways: int = mixsim.WAYS

    def run_all(self, attempts: Iterable[MixAttemptJob]) -> Generator[tuple[MixAttemptJob, MixAnswer]]:
        for attempt in attempts:
            (attempt.folder / "serial.log").write_text(f"{attempt.job.order.key}\n")
            is_void = int(attempt.folder.name) <= self.voids
            yield attempt, VoidMixRun("run delay 4.1%") if is_void else self.system.measured(attempt.job)


def test_a_void_run_is_made_again(tmp_path: Path) -> None:
    outcome, said = measure(tmp_path, Noisy(Simulated(TRUTH), 1))
    assert outcome.invalid == ()
    assert said.count("void, so it is made again: run delay 4.1%") == 16
    assert {study_run.folder.rpartition("/")[2] for study_run in StudyFolder(tmp_path).runs().values()} == {
        "2"
    }


def test_a_run_that_is_always_void_has_no_result(tmp_path: Path) -> None:
    outcome, _ = measure(tmp_path, Noisy(Simulated(TRUTH), 99))
    assert len(outcome.invalid) == 8  # each input alone, and nothing to limit
    assert "the host disturbed 4 attempts, the last one by run delay 4.1% (runs/" in outcome.invalid[0]


def test_nothing_measured_is_lost_if_no_mix_fits(tmp_path: Path) -> None:
    study = replace(SMALL, capacity={"cpu": Fraction("0.01")})
    measure(tmp_path, Simulated(TRUTH), study)
    with pytest.raises(UsageError, match="each input exceeds a capacity alone"):
        run(tmp_path, Simulated(TRUTH))
    assert len(StudyFolder(tmp_path).runs()) == 16


def test_a_mix_by_hand(tmp_path: Path) -> None:
    measure(tmp_path, Simulated(TRUTH))
    system = Simulated(TRUTH)
    outcome, _ = run(tmp_path, system, MixRequest(by_hand=("walker.small=2,prime.small=1",)))
    assert system.ran == [f"mix-prime.small=1,walker.small=2-s{seed}" for seed in (1, 2)]
    assert [mix.planned.roles for mix in outcome.mixes] == [("chosen by hand",)]
    outcome, _ = run(tmp_path, Simulated(TRUTH), MixRequest(best=2))
    assert [mix.planned.roles for mix in outcome.mixes][1:] == [("best",), ("number 2",)]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("walkr.small=1", "`walkr.small` is no input of the study"),
        ("walker.small=0", "`walker.small=0` is not such as walker.small=2"),
        ("walker.small=1,walker.small=1", "is there twice"),
        ("walker.small", "is not such as"),
        ("walker.small=00019999", "`walker.small=00019999` is not such as walker.small=2"),
        ("walker.small=101", "is not such as"),
        pytest.param("walker.small=0001" + "0" * 5000, "is not such as", id="zeros"),
    ],
)
def test_a_wrong_mix_by_hand(tmp_path: Path, word: str, said: str) -> None:
    measure(tmp_path, Simulated(TRUTH))
    with pytest.raises(UsageError, match="--mix") as refused:
        run(tmp_path, Simulated(TRUTH), MixRequest(by_hand=(word,)))
    assert said in str(refused.value)


def test_the_plan_says_what_it_costs(tmp_path: Path) -> None:
    text = steps.plan_text(SMALL, None)
    assert "     8 runs alone" in text
    assert "    12 runs with limits at most: 50% of each" in text
    assert "15 s each (an estimate)" in text
    measure(tmp_path, Simulated(TRUTH))
    text = steps.plan_text(SMALL, StudyFolder(tmp_path))
    assert "16 of them made; 0 s each (as measured in this folder)" in text


def test_antagonists_come_after_the_runs_alone_and_replace_the_limits_of_their_resource(
    tmp_path: Path,
) -> None:
    takes = {"prime.small": Fraction(1, 64), "walker.small": Fraction(3, 4)}
    study = replace(SMALL, resources=("cpu", "cache"), antagonists={"cache": Antagonists(Fraction(1), takes)})
    assert "    16 runs beside antagonists" in steps.plan_text(study, None)
    unread = ("cache",)
    stopped = Simulated(TRUTH, stop_after=12, unread=unread)
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path, stopped, study)
    system = Simulated(TRUTH, unread=unread)
    outcome, _ = measure(tmp_path, system, study)
    kinds = [key.partition("-")[0] for key in (*stopped.ran, *system.ran)]
    assert kinds == ["alone"] * 8 + ["press"] * 16 + ["limit"] * 6
    assert not [key for key in system.ran if "-cache50-" in key]
    walker = next(vector for vector in outcome.vectors if vector.input.name == "walker.small")
    assert [estimate.value for estimate in walker.use.values() if estimate] == [Fraction(1, 5), Fraction(1)]


def test_limits_are_those_of_all_runs_alone_also_if_one_was_made_later(tmp_path: Path) -> None:
    """The limit follows from the runs alone. With another one of these it is another limit, so its run is
    made again; with the old one `mix check` says that the folder is of another mix."""
    key, needs = "alone-writer.large-s2", TRUTH["writer.large"].needs
    more = replace(TRUTH["writer.large"], needs={**needs, "cpu": needs["cpu"] * Fraction(4, 3)})
    measure(tmp_path / "one", Other(TRUTH, key=key, truth_then=more))
    hung = Other(TRUTH, key=key, truth_then=more)
    hung.fails = {key: "it hung"}
    measure(tmp_path / "two", hung)
    measure(tmp_path / "two", Other(TRUTH, key=key, truth_then=more))
    one, two = (StudyFolder(tmp_path / name).runs() for name in ("one", "two"))
    limited = [name for name in one if name.startswith("limit-writer.large-cpu")]
    assert limited
    assert [one[name].fraction for name in limited] == [two[name].fraction for name in limited]
    assert [one[name].measured for name in limited] == [two[name].measured for name in limited]


def test_the_report_does_not_depend_on_the_place_of_its_folder(tmp_path: Path) -> None:
    """Else `mix same one two` finds a difference as soon as something is odd."""
    for name in ("one", "two"):
        measure(tmp_path / name, Simulated(TRUTH, unread=("disk",)))
    one, two = ((tmp_path / name / "report.html").read_text() for name in ("one", "two"))
    assert "vectors.csv:1: disk is unavailable" in one
    assert one == two
