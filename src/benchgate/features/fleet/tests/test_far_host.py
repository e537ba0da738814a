"""A session's wall time on one worker of a simulated fleet: chosen, held, asked; lost with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.base.errors import LockError
from benchgate.base.jsonfields import as_json
from benchgate.base.runs import Ending
from benchgate.base.system.qemu import Qemu
from benchgate.features.fleet import answer, host_json
from benchgate.features.fleet.engine import AnswerEvent, Event, FleetMember, LossEvent
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.far_host import FarHost
from benchgate.features.fleet.host_json import QuestionKind, Reply
from benchgate.features.fleet.task import Task, task_digest, task_of_bytes
from benchgate.features.fleet.tools.scale import answer_of, write_folder
from benchgate.host import topology
from benchgate.run import record
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import AttemptJob
from tests.standin import request_of
from tests.unit import hosts

QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "a" * 64)
Answer = bytes | LossEvent | None
"""None: not yet."""


class Worker:
    """A measuring host; `broken` has what it does wrong."""

    def __init__(self, name: str = "m1", **broken: Any) -> None:
        self.name, self.broken = name, broken
        self.calls: list[str] = []
        self.stored: list[str] = []

    def answers(self, number: int, entry: str, data: bytes) -> Answer:
        self.calls.append(entry)
        if entry in self.broken:
            result = self.broken[entry](number, data)
            return result if isinstance(result, LossEvent) else bytes(result)
        if entry == "hold":
            return None
        if entry == "carry_out":
            return answer_of(self.name, data, sizes={"serial.log": 10, "host.json": 20})
        return self.told(data)

    def told(self, data: bytes) -> bytes:
        asked = host_json.asked(data)
        values = {
            QuestionKind.ABOUT: {"topology": as_json(topology.read()), "busy": ""},
            QuestionKind.HELD: {"held": "hold" not in self.broken, "waits": ""},
            QuestionKind.PROBE: as_json(hosts.TCG),
            QuestionKind.PAIRS: [[0.2] * (1 + len(asked.pins))],
            QuestionKind.ENVELOPE: {"kernel": "theirs", "pins": list(asked.pins)},
        }
        value = self.broken.get("values", {}).get(asked.ask, values[asked.ask])
        return host_json.as_bytes(Reply(self.name, f"host of {self.name}", value))


class Simulated:
    """An Engine in which every call is answered at the next look."""

    def __init__(self, *workers: Worker) -> None:
        self.workers = {f"sim://{worker.name}": worker for worker in workers}
        self.coming: list[Event] = []
        self.cancelled: list[int] = []
        self.holds: list[int] = []
        self.now_s = 0.0
        self.closed = 0

    def seats(self) -> Sequence[FleetMember]:
        return [FleetMember(address, 1) for address in self.workers]

    def run(self, number: int, task: bytes, *, key: str, avoid: frozenset[str], rank: int) -> None:
        raise NotImplementedError

    def store(self, number: int, sha256: str, content: bytes, address: str) -> None:
        del content
        self.workers[address].stored.append(sha256)
        why = self.workers[address].broken.get("full", b"")
        self.coming.append(AnswerEvent(number, address, why))

    def call(self, number: int, entry: str, data: bytes, address: str) -> None:
        if entry == "hold":
            self.holds.append(number)
        result = self.workers[address].answers(number, entry, data)
        if isinstance(result, LossEvent):
            self.coming.append(result)
        elif result is not None:
            self.coming.append(AnswerEvent(number, address, result))

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)

    def events(self, seconds: float) -> Sequence[Event]:
        self.now_s += seconds
        result, self.coming = self.coming, []
        return result

    def close(self) -> None:
        self.closed += 1


def far(engine: Simulated, notes: list[str] | None = None) -> FarHost:
    say = (notes if notes is not None else []).append
    return FarHost(engine, say, patience_s=5.0, monotonic=lambda: engine.now_s)


def refuses(_: int, __: bytes) -> bytes:
    return host_json.as_bytes(Reply("other", "there", error="it is no measuring host (--measuring)"))


def no_one(number: int, _: bytes) -> LossEvent:
    return LossEvent(number, "it went away")


def test_it_keeps_to_the_worker_that_is_a_measuring_host() -> None:
    engine = Simulated(Worker("other", tell=refuses), Worker("gone", tell=no_one), Worker("m1"))
    host = far(engine)
    assert host.topology == topology.read()
    with host.held(0, lambda _: None):
        assert host.probe(QEMU, Accel.TCG) == hosts.TCG
        (pair,) = host.pairs(QEMU, hosts.TCG, (0, 1), 0)
        assert (pair.alone_s, pair.together_s) == (0.2, (0.2, 0.2))
        assert host.pairs(QEMU, hosts.TCG, (0,), 0) == ()
        seen = host.envelope(QEMU, (hosts.TCG,), (0, 1))
        assert (seen["kernel"], seen["pins"], seen["qemu_digest"]) == ("theirs", [0, 1], QEMU.digest)
    assert engine.holds[0] in engine.cancelled


def test_a_free_host_is_preferred_to_one_that_is_held() -> None:
    about = {"topology": as_json(topology.read()), "busy": "process 5"}
    notes: list[str] = []
    held = Worker("held", values={QuestionKind.ABOUT: about})
    with far(Simulated(held, Worker("free"))).held(0, notes.append):
        assert notes == ["worker free measures for this session, on host host of free"]
    with far(Simulated(held)).held(0, notes.append):
        assert notes[-1].startswith("worker held measures")


def test_a_fleet_without_a_measuring_host_says_what_each_worker_said() -> None:
    engine = Simulated(Worker("other", tell=refuses), Worker("odd", tell=lambda *_: b"[]"))
    with pytest.raises(FleetError) as error:
        far(engine)
    said = str(error.value)
    assert "start one with `benchgate fleet worker --measuring`" in said
    assert "other: it is no measuring host" in said
    assert "sim://odd: its answer cannot be used" in said


def test_a_host_that_stays_held_is_named() -> None:
    engine = Simulated(Worker(hold=lambda *_: b"process 7 measures there; waited 3 s"))
    with pytest.raises(LockError, match="worker m1: process 7 measures there"), far(engine).held(3, print):
        pytest.fail("held")


@pytest.mark.parametrize(
    ("ask", "value", "why"),
    [
        (QuestionKind.HELD, {"held": 1}, "does not say whether it is held"),
        (QuestionKind.PROBE, {}, "the probe has no accel"),
        (QuestionKind.PAIRS, [[1.0]], "no list of one pair of 3 times"),
        (QuestionKind.ENVELOPE, [], "not an object"),
    ],
)
def test_an_answer_that_cannot_be_used_names_the_worker(ask: QuestionKind, value: object, why: str) -> None:
    host = far(Simulated(Worker(values={ask: value})))
    with pytest.raises(FleetError, match=f"worker m1 gives an answer that cannot be used: .*{why}"):
        asked_everything(host)


def asked_everything(host: FarHost) -> None:
    with host.held(0, lambda _: None):
        host.probe(QEMU, Accel.TCG)
        host.pairs(QEMU, hosts.TCG, (0, 1), 0)
        host.envelope(QEMU, (), ())


# ---- runs


@pytest.fixture
def request_(tmp_path: Path) -> RunRequest:
    """A request in wall time, pinned."""
    (tmp_path / "kernel").write_bytes(b"kernel")
    (tmp_path / "run").mkdir()
    made = request_of(3, tmp_path / "run", tmp_path)
    assert made.spec.uses is not None
    words = [word for word in made.spec.argv if "clock.so" not in word and word != "-plugin"]
    uses = replace(made.spec.uses, plugin=None)
    return replace(made, spec=replace(made.spec, lane=Lane.TCG, pins=(1, 0), argv=tuple(words), uses=uses))


def made_by(host: FarHost, request: RunRequest) -> Ending:
    with host.held(0, lambda _: None):
        ((_, raw),) = host.execute_all([AttemptJob(request, lambda _: None)], 1)
    return raw.ending


def test_a_run_has_the_files_and_pins_of_the_worker(request_: RunRequest) -> None:
    asked: list[Task] = []

    def lacks(number: int, data: bytes) -> bytes:
        del number
        asked.append(task_of_bytes(data))
        missing = [] if worker.stored else [file.sha256 for file in asked[-1].files]
        if missing:
            return answer.WorkerAnswer(task_digest(asked[-1]), "m1", "there", missing=tuple(missing)).line
        return answer_of("m1", data, sizes={"serial.log": 10, "host.json": 20})

    worker = Worker(carry_out=lacks)
    host = far(Simulated(worker))
    assert made_by(host, request_) is Ending.DONE
    assert record.load(request_.folder).pins == (1, 0)
    assert (request_.folder / "host.json").is_file()
    assert json.loads((request_.folder / "worker.json").read_text())["worker"] == "m1"
    assert len(worker.stored) == 1
    assert {(task.lane, task.pins) for task in asked} == {(Lane.TCG, (1, 0))}
    assert len({task.hold for task in asked}) == 1
    assert host.facts()["fleet"] == {
        "workers": [{"name": "m1", "host": "host of m1", "runs": 1}],
        "dropped": [],
    }


def without(*, refused: str = "", trouble: str = "") -> Callable[[int, bytes], bytes]:
    def answered(_: int, data: bytes) -> bytes:
        key = task_digest(task_of_bytes(data))
        return answer.WorkerAnswer(key, "m1", "there", refused=refused, trouble=trouble).line

    return answered


def on_other_cpus(_: int, data: bytes) -> bytes:
    task = task_of_bytes(data)
    with TemporaryDirectory() as name:
        write_folder(Path(name), replace(task, pins=(0, 1)), {"serial.log": 10})
        return answer.made(task_digest(task), "m1", "there", Path(name))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"carry_out": no_one}, "worker m1, which measures for this session, is lost: it went away"),
        (
            {"carry_out": without(refused="not in the list")},
            "makes no run of primes-kernel-smp2: not in the list",
        ),
        ({"carry_out": without(trouble="no disk")}, "makes no run of primes-kernel-smp2: no disk"),
        ({"carry_out": on_other_cpus}, r"pins is \(0, 1\), and must be \(1, 0\)"),
        ({"carry_out": lambda *_: b"junk"}, "no worker of this version gives"),
    ],
)
def test_a_run_is_lost_with_its_worker(request_: RunRequest, broken: dict[str, Any], why: str) -> None:
    """Another host has other figures, so nobody else makes it. What is on disk says that it never ended."""
    with pytest.raises(FleetError, match=why):
        made_by(far(Simulated(Worker(**broken))), request_)
    assert record.load(request_.folder).ending is Ending.INTERRUPTED


def test_a_host_that_is_let_go_ends_the_session(request_: RunRequest) -> None:
    """Its worker was restarted, or the scheduler: somebody else may measure there now."""
    engine = Simulated(Worker())
    host = far(engine)
    with host.held(0, lambda _: None):
        engine.coming.append(AnswerEvent(engine.holds[0], "sim://m1", b"nobody waited for it any more"))
        with pytest.raises(FleetError, match="does not measure for this session any more: nobody waited"):
            list(host.execute_all([AttemptJob(request_, lambda _: None)], 1))


def test_an_interrupt_ends_the_guest_there(request_: RunRequest) -> None:
    class Silent(Worker):
        def answers(self, number: int, entry: str, data: bytes) -> Answer:
            return None if entry == "carry_out" else super().answers(number, entry, data)

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    engine = Simulated(Silent())
    host = far(engine)
    with pytest.raises(KeyboardInterrupt), host.held(0, lambda _: None):
        list(host.execute_all([AttemptJob(request_, interrupt)], 1))
    assert len(engine.cancelled) == 3  # the question about the host, the run, the hold
