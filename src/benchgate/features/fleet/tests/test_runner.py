"""A session's runs on a simulated fleet: whatever workers do, each run is used once, in the plan's order."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.base.files import file_digest
from benchgate.base.runs import Ending, RawRun
from benchgate.features.fleet import answer
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.runner import FleetRunner
from benchgate.features.fleet.task import task_digest, task_of_bytes
from benchgate.features.fleet.tools.scale import Make, SimulatedFleet, answer_of, write_folder
from benchgate.run import record
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import AttemptJob
from benchgate.run.runner import execute_ahead
from tests.standin import request_of

SIZES = {"serial.log": 40, "clock.log": 40}


def honest(address: str, sent: bytes) -> bytes:
    return answer_of(address, sent, sizes=SIZES)


class Rig:
    """A session's side: requests of consecutive seeds, and what was said."""

    def __init__(self, folder: Path, make: Make = honest, *, workers: int = 3, dying: float = 0.0) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        (self.files / "kernel").write_bytes(b"kernel")
        self.folder = folder
        self.notes: list[str] = []
        self.fleet = SimulatedFleet(make, workers, dying=dying, lossy=0.5)
        self.runner = FleetRunner(self.fleet, self.notes.append, monotonic=lambda: self.fleet.now_s)

    def request(self, number: int, seed: int, *, warmup: bool = False) -> RunRequest:
        folder = self.folder / f"{number:04}"
        folder.mkdir(exist_ok=True)
        return request_of(seed, folder, self.files, warmup=warmup, attempt=number)

    def row(self, seeds: int) -> list[RunRequest]:
        """The runs that a session asks for in a row: the first seed, to be repeated, then all."""
        more = [self.request(seed + 1, seed) for seed in range(1, seeds + 1)]
        return [self.request(1, 1, warmup=True), *more]

    def made(self, requests: list[RunRequest]) -> list[RawRun]:
        self.runner.ahead(requests)
        jobs = [AttemptJob(request, lambda _: None) for request in requests]
        return [raw for _, raw in self.runner.execute_all(jobs, 1)]


def test_runs_come_in_the_plans_order_with_the_sessions_numbers(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    requests = rig.row(8)
    runs = rig.made(requests)
    assert [raw.attempt for raw in runs] == list(range(1, 10))
    assert [raw.seed for raw in runs] == [1, *range(1, 9)]
    assert [raw.warmup for raw in runs] == [True, *[False] * 8]
    for request, raw in zip(requests, runs, strict=True):
        assert record.load(request.folder) == raw
        assert json.loads((request.folder / "argv.json").read_text()) == list(request.spec.argv)
        assert json.loads((request.folder / "worker.json").read_text())["worker"].startswith("sim://")
    assert rig.notes == []


def test_an_input_is_sent_to_each_worker_once(tmp_path: Path) -> None:
    kept: set[tuple[str, str]] = set()

    def forgetful(address: str, sent: bytes) -> bytes:
        task = task_of_bytes(sent)
        missing = [file.sha256 for file in task.files if (address, file.sha256) not in kept]
        if missing:
            kept.update((address, text) for text in missing)
            return answer.WorkerAnswer(task_digest(task), address, address, missing=tuple(missing)).line
        return honest(address, sent)

    rig = Rig(tmp_path, forgetful)
    assert len(rig.made(rig.row(12))) == 13
    kernel = file_digest(rig.files / "kernel")
    assert dict(rig.fleet.stored) == {(f"sim://{n}", kernel): 1 for n in range(3)}


def test_the_first_seed_of_a_row_is_made_by_two_workers(tmp_path: Path) -> None:
    for number in range(6):
        place = tmp_path / str(number)
        place.mkdir()
        rig = Rig(place, workers=2)
        requests = rig.row(2)
        rig.made(requests)
        first, second = (json.loads((requests[n].folder / "worker.json").read_text()) for n in (1, 0))
        assert first["worker"] != second["worker"]


def changed(name: str, who: str) -> Make:
    """One worker whose file of that name is another one."""

    def make(address: str, sent: bytes) -> bytes:
        if address != who:
            return honest(address, sent)
        task = task_of_bytes(sent)
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), task, SIZES)
            (Path(folder) / name).write_bytes(b"something else\n")
            return answer.made(task_digest(task), address, address, Path(folder))

    return make


def test_a_third_worker_decides_who_is_wrong(tmp_path: Path) -> None:
    """Two workers make the first seed of a row. At least one of three liars is found; nobody honest is
    dropped, and nothing that was compared is the liar's."""
    result = []
    for number in range(3):
        place, liar = tmp_path / str(number), f"sim://{number}"
        place.mkdir()
        rig = Rig(place, changed("clock.log", liar))
        requests = rig.row(4)
        rig.made(requests)
        result += [(liar, one["name"]) for one in dropped(rig)]
        if dropped(rig):
            assert any("made different runs of one seed (clock.log" in note for note in rig.notes)
            assert any(f"worker {liar} of the fleet gets no more runs" in note for note in rig.notes)
        for request in requests[:2]:
            assert (request.folder / "clock.log").read_bytes() != b"something else\n"
            assert json.loads((request.folder / "worker.json").read_text())["worker"] != liar
    assert len(result) == 2  # the third liar made neither of the two
    assert all(liar == name for liar, name in result)


def test_a_row_of_which_the_session_repeats_nothing_is_compared_too(tmp_path: Path) -> None:
    """A session repeats a seed in the first row of a system and workload only."""
    result = []
    for number in range(3):
        place, liar = tmp_path / str(number), f"sim://{number}"
        place.mkdir()
        rig = Rig(place, changed("clock.log", liar))
        made = rig.made([rig.request(seed, seed) for seed in range(1, 5)])
        assert [raw.seed for raw in made] == [1, 2, 3, 4]
        result += [(liar, one["name"]) for one in dropped(rig)]
        first = json.loads((made[0].folder / "worker.json").read_text())
        assert first["worker"] != liar or not dropped(rig)
    assert len(result) == 2  # the third liar was not one of the two
    assert all(liar == name for liar, name in result)


def test_each_worker_is_compared_after_some_rows(tmp_path: Path) -> None:
    """Five workers, three rows: a liar among them is found, wherever it is."""
    rig = Rig(tmp_path, changed("clock.log", "sim://4"), workers=5)
    rig.made([rig.request(number, number, warmup=True) for number in range(1, 4)])
    assert [one["name"] for one in dropped(rig)] == ["sim://4"]


def dropped(rig: Rig) -> list[dict[str, str]]:
    facts = rig.runner.facts()["fleet"]
    assert isinstance(facts, dict)
    return list(facts["dropped"])


def test_two_workers_that_differ_need_a_third(tmp_path: Path) -> None:
    rig = Rig(tmp_path, changed("clock.log", "sim://0"), workers=2)
    with pytest.raises(FleetError, match=r"sim://\d and sim://\d made different runs of seed 1.*no third"):
        rig.made(rig.row(2))


def test_one_worker_alone_is_said_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, workers=1)
    rig.made(rig.row(2))
    rig.made([rig.request(9, 7, warmup=True)])
    assert [note for note in rig.notes if "has one worker for it" in note] == rig.notes
    assert len(rig.notes) == 1


def another_run(address: str, sent: bytes) -> bytes:
    """The folder of another seed, under this task's name."""
    task = task_of_bytes(sent)
    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), task_of_bytes(sent.replace(b'"seed": 2', b'"seed": 3')), SIZES)
        return answer.made(task_digest(task), address, address, Path(folder))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (another_run, "its folder is of another run: seed is 3, and must be 2"),
        (lambda *_: b"nonsense", "an answer that no worker of this version gives"),
        (lambda who, _: answer.WorkerAnswer("another", who, who).line, "it answers for another run"),
        (lambda who, sent: answer.WorkerAnswer(key_of(sent), who, who, trouble="no disk").line, "no disk"),
        (
            lambda who, sent: answer.WorkerAnswer(key_of(sent), who, who, missing=("f" * 64,)).line,
            "it asks for a file that is not of the run",
        ),
    ],
)
def test_a_worker_that_cannot_be_used_is_named_and_dropped(
    tmp_path: Path, wrong: Callable[[str, bytes], bytes], why: str
) -> None:
    def make(address: str, sent: bytes) -> bytes:
        return wrong(address, sent) if address == "sim://1" else honest(address, sent)

    rig = Rig(tmp_path, make)
    requests = [rig.request(number, 2) for number in range(1, 2)]
    rig.fleet.go(["sim://0"])
    rig.fleet.come(["sim://2"])
    rig.fleet._random.seed(0)
    made = rig.made(requests)
    assert [raw.seed for raw in made] == [2]
    assert json.loads((requests[0].folder / "worker.json").read_text())["worker"] == "sim://2"
    assert [note for note in rig.notes if why in note and "gets no more runs" in note]


def key_of(sent: bytes) -> str:
    return task_digest(task_of_bytes(sent))


def test_a_run_that_every_worker_refuses_says_what_each_said(tmp_path: Path) -> None:
    def refuses(address: str, sent: bytes) -> bytes:
        return answer.WorkerAnswer(key_of(sent), address, address, refused=f"not on {address}").line

    rig = Rig(tmp_path, refuses, workers=2)
    with pytest.raises(FleetError, match=r"no worker .* makes kernel|no worker of the fleet makes") as caught:
        rig.made([rig.request(1, 1)])
    assert "not on sim://0" in str(caught.value)
    assert "not on sim://1" in str(caught.value)


def ends_early(who: Callable[[str], bool]) -> Make:
    """Some workers answer that QEMU ended before its guest."""

    def make(address: str, sent: bytes) -> bytes:
        if not who(address):
            return honest(address, sent)
        task = task_of_bytes(sent)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_folder(folder, task, SIZES)
            raw = json.loads((folder / "run.json").read_text())
            (folder / "run.json").write_text(json.dumps({**raw, "ending": Ending.EOF.value}))
            return answer.made(task_digest(task), address, address, folder)

    return make


def test_a_qemu_that_ended_too_early_is_tried_on_another_worker_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ends_early(lambda _: True))
    (made,) = rig.made([rig.request(1, 1)])
    assert made.ending is Ending.EOF
    assert [note for note in rig.notes if "QEMU ended on sim://" in note] == rig.notes
    assert len(rig.notes) == 2  # the first run of a row has two copies


def once(early: list[str], who: str) -> bool:
    """The first time only."""
    if who not in early:
        return False
    early.remove(who)
    return True


@pytest.mark.parametrize("workers", [2, 3])
def test_after_a_qemu_that_ended_too_early_both_copies_still_have_two_workers(
    tmp_path: Path, workers: int
) -> None:
    """Each worker in turn ends its first run early."""
    for number in range(workers):
        place, early = tmp_path / str(number), [f"sim://{number}"]
        place.mkdir()
        rig = Rig(place, ends_early(partial(once, early)), workers=workers)
        requests = rig.row(2)
        made = rig.made(requests)
        assert {raw.ending for raw in made} == {Ending.DONE}
        who = [json.loads((request.folder / "worker.json").read_text())["worker"] for request in requests[:2]]
        assert who[0] != who[1]
        assert not [note for note in rig.notes if "has one worker" in note]
        again = "the same worker" if workers == 2 else "another worker"
        assert early or any(again in note for note in rig.notes)


def test_workers_that_die_cost_time_only(tmp_path: Path) -> None:
    rig = Rig(tmp_path, workers=8, dying=0.4)
    runs = rig.made(rig.row(20))
    assert [raw.seed for raw in runs] == [1, *range(1, 21)]
    assert rig.fleet.deaths > 5


def test_a_fleet_without_workers_is_waited_for_and_then_given_up(tmp_path: Path) -> None:
    rig = Rig(tmp_path, workers=0)
    with pytest.raises(FleetError, match="no worker of the fleet was there for 600 s"):
        rig.made([rig.request(1, 1)])
    assert rig.fleet.now_s >= 600
    assert rig.notes == ["no worker of the fleet is there; waiting up to 600 s for one"]


def test_a_long_plan_is_read_as_far_as_there_is_room_and_each_run_is_made_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    asked, requests = [], [rig.request(number, number) for number in range(1, 61)]

    def told() -> Iterator[RunRequest]:
        for request in requests:
            asked.append(request.seed)
            yield request

    rig.runner.ahead(told())
    assert len(asked) < 20  # three workers
    jobs = [AttemptJob(request, lambda _: None) for request in requests]
    seeds = [raw.seed for _, raw in rig.runner.execute_all(jobs, 1)]
    assert seeds == list(range(1, 61))
    assert asked == seeds
    assert rig.fleet.answers == 61  # the first run of the row has two copies


def test_jobs_that_nobody_has_a_list_of_are_under_way_together(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    drawn: list[int] = []

    def jobs() -> Iterator[AttemptJob]:
        for number in range(1, 31):
            drawn.append(number)
            yield AttemptJob(rig.request(number, number), lambda _: None)
        raise FleetError("no more of them")

    result: list[int] = []

    def take_all() -> None:
        for _, raw in execute_ahead(rig.runner, jobs(), 1):
            result.append(raw.seed)
            assert len(drawn) > len(result) or len(result) == 30

    with pytest.raises(FleetError, match="no more of them"):
        take_all()
    assert result == list(range(1, 31))


def test_smokes_are_no_repetitions(tmp_path: Path) -> None:
    """Each is recorded as a warm-up, and none is made again."""
    rig = Rig(tmp_path)
    requests = [rig.request(number, number, warmup=True) for number in range(1, 9)]
    smokes = [replace(request, cell=replace(request.cell, workload="smoke")) for request in requests]
    assert [raw.seed for raw in rig.made(smokes)] == list(range(1, 9))
    assert rig.fleet.answers == 9


def test_what_is_not_asked_for_any_more_ends(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.runner.ahead([rig.request(number, number) for number in range(1, 9)])
    rig.runner.ahead([rig.request(2, 2)])
    assert len(rig.fleet.cancelled) == 7
    rig.runner.close()
    assert len(rig.fleet.cancelled) == 9  # the first run of a row has two copies


def test_an_interrupt_leaves_the_record_of_the_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    request = rig.request(1, 1)

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(rig.runner.execute_all([AttemptJob(request, interrupt)], 1))
    assert record.load(request.folder).ending is Ending.INTERRUPTED


def test_a_full_disk_here_is_a_sentence(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    request = rig.request(1, 1)
    request.folder.rmdir()
    with pytest.raises(EvidenceError, match="cannot write the files of a run"):
        rig.made([request])
