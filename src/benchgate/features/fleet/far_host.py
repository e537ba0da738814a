"""A worker of a fleet as the host on which a session measures wall time: its CPUs, lock, probes and runs.

Takes an `Engine`; chooses one worker that says it is a measuring host, preferably one that nobody holds, and
keeps to it. Gives what session/measuring_host.py asks for. A run is lost with its worker, because another
host has other figures: then FleetError ends the session, which keeps what it has. Fails with LockError if the
worker stays held by somebody else, and with FleetError if no worker is a measuring host.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from benchgate.base.cells import Accel
from benchgate.base.errors import LockError
from benchgate.base.files import file_digest
from benchgate.base.runs import RawRun
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import one_line
from benchgate.build.cache_storage import Notice
from benchgate.features.fleet import host_json
from benchgate.features.fleet.engine import AnswerEvent, Engine, Event
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.host_json import HostQuestion, QuestionKind, Reply
from benchgate.features.fleet.packing import Vouch, packed
from benchgate.features.fleet.received import CheckedAnswer, kept, received
from benchgate.host import envelope
from benchgate.host.accel import AccelProbe, probe_from_json
from benchgate.host.capacity import CapacityPair
from benchgate.host.topology import HostTopology
from benchgate.insn.plugin import source_digest
from benchgate.run import record
from benchgate.run.attempt import RunRequest, explained, unfinished
from benchgate.run.guest import OnPhase
from benchgate.run.parallel import AttemptJob

PATIENCE_S = 60.0
"""How long to look for a measuring host."""
_LOOK_S = 0.5
_NOTICE_S = 10.0
_Value = TypeVar("_Value")


@dataclass
class Calls:
    """The calls of a worker, of which one at a time is waited for."""

    engine: Engine
    _ended: dict[int, Event] = field(default_factory=dict)
    _numbers: int = 0

    def begin(self, entry: str, data: bytes, address: str) -> int:
        self._numbers += 1
        self.engine.call(self._numbers, entry, data, address)
        return self._numbers

    def store(self, sha256: str, content: bytes, address: str) -> int:
        self._numbers += 1
        self.engine.store(self._numbers, sha256, content, address)
        return self._numbers

    def look(self) -> None:
        self._ended |= {event.number: event for event in self.engine.events(_LOOK_S)}

    def ended(self, number: int) -> Event | None:
        """Gives the event once."""
        return self._ended.pop(number, None)


@dataclass(frozen=True, slots=True)
class _WorkerFacts:
    address: str
    name: str
    host: str
    topology: HostTopology
    busy: str


class FarHost:
    looks_ahead = False

    def __init__(
        self,
        engine: Engine,
        note: Notice,
        *,
        vouch: Vouch = lambda _: "",
        patience_s: float = PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls, self._note, self._vouch = Calls(engine), note, vouch
        self._monotonic = monotonic
        self._digest = cache(file_digest)
        self._token = secrets.token_hex(16)
        self._hold = 0
        """The number of the call that holds the host; 0: none does."""
        self._made = 0
        self._worker = self._chosen(patience_s)

    # ---- the MeasuringHost

    @property
    def runner(self) -> FarHost:
        return self

    @property
    def topology(self) -> HostTopology:
        return self._worker.topology

    @contextmanager
    def held(self, wait_s: float, notice: Notice) -> Iterator[None]:
        words = f"{self._token} {wait_s:g}".encode()
        number = self._calls.begin("hold", words, self._worker.address)
        try:
            self._await_hold(number, notice)
            self._hold = number
            notice(f"{self._name} measures for this session, on host {self._worker.host}")
            yield
        finally:
            self._hold = 0
            self._calls.engine.cancel(number)

    def probe(self, qemu: Qemu, kind: Accel) -> AccelProbe:
        value = self._ask(QuestionKind.PROBE, qemu=qemu.digest, accel=kind)
        return self._read(probe_from_json, value, kind)

    def pairs(
        self, qemu: Qemu, probe: AccelProbe, pins: Sequence[int], first: int
    ) -> tuple[CapacityPair, ...]:
        if len(pins) == 1:
            return ()
        asked = {"qemu": qemu.digest, "accel": probe.accel, "pins": tuple(pins), "first": first}
        return self._read(host_json.pairs_of, self._ask(QuestionKind.PAIRS, **asked), len(pins))

    def envelope(
        self, qemu: Qemu | None, probes: Iterable[AccelProbe], pins: Iterable[int]
    ) -> dict[str, Any]:
        value = self._ask(QuestionKind.ENVELOPE, pins=tuple(pins))
        return self._read(host_json.envelope_of, value) | envelope.of_programs(qemu, probes)

    def close(self) -> None:
        self._calls.engine.close()

    # ---- the Runner

    def slots(self, here: int) -> int:
        del here
        return 1

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        """Does nothing: one run at a time is made, in the order of the plan."""

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        del at_once
        for index, job in enumerate(jobs):
            yield index, self._carried_out(job)

    def facts(self) -> Mapping[str, object]:
        made = [{"name": self._worker.name, "host": self._worker.host, "runs": self._made}]
        return {"fleet": {"workers": made, "dropped": []}}

    # ---- one run

    def _carried_out(self, job: AttemptJob) -> RawRun:
        request = job.request
        try:
            record.save(unfinished(request))
            raw = kept(self._answer(request, job.on_phase), request)
        except OSError as error:
            raise explained(error, request.folder) from error
        self._made += 1
        return raw

    def _answer(self, request: RunRequest, on_phase: OnPhase) -> CheckedAnswer:
        task = packed(request, self._digest, source_digest(), self._vouch, hold=self._token)
        while True:
            number = self._calls.begin("carry_out", task.sent, self._worker.address)
            checked_answer = received(self._wait(number, on_phase), task)
            given = checked_answer.answer
            if why := given.refused or given.trouble:
                raise FleetError(f"{self._name} makes no run of {request.cell.id}: {why}")
            if not given.missing:
                return checked_answer
            for sha256 in given.missing:
                if sha256 not in task.files:
                    name = one_line(sha256, 64)
                    raise FleetError(f"{self._name} asks for a file that is not of the run: {name}")
                self._store(sha256, task.files[sha256].read_bytes())

    def _store(self, sha256: str, content: bytes) -> None:
        why = self._wait(self._calls.store(sha256, content, self._worker.address))
        if why:
            raise FleetError(f"{self._name} cannot keep an input: {one_line(why.decode('utf-8', 'replace'))}")

    # ---- the worker

    @property
    def _name(self) -> str:
        return f"worker {self._worker.name}"

    def _ask(self, ask: QuestionKind, **more: Any) -> object:
        data = host_json.as_bytes(HostQuestion(ask, hold=self._token, **more))
        number = self._calls.begin("tell", data, self._worker.address)
        reply = self._read(host_json.replied, self._wait(number))
        if reply.error:
            raise FleetError(f"{self._name}: {reply.error}")
        return reply.value

    def _read(self, reader: Callable[..., _Value], *data: object) -> _Value:
        try:
            return reader(*data)
        except ValueError as error:
            raise FleetError(f"{self._name} gives an answer that cannot be used: {error}") from error

    def _wait(self, number: int, on_phase: OnPhase = lambda _: None) -> bytes:
        try:
            while (event := self._calls.ended(number)) is None:
                on_phase("running")
                self._calls.look()
                self._require_hold()
        except BaseException:
            self._calls.engine.cancel(number)  # a guest that it started ends
            raise
        if isinstance(event, AnswerEvent):
            return event.answer
        raise FleetError(f"{self._name}, which measures for this session, is lost: {event.why}")

    def _require_hold(self) -> None:
        """The call that holds the host has no answer as long as the session holds it."""
        if self._hold and (event := self._calls.ended(self._hold)) is not None:
            why = event.text if isinstance(event, AnswerEvent) else event.why
            raise FleetError(f"{self._name} does not measure for this session any more: {why or 'it let go'}")

    def _await_hold(self, number: int, notice: Notice) -> None:
        told = -_NOTICE_S
        while True:
            event = self._calls.ended(number)
            if isinstance(event, AnswerEvent):
                raise LockError(f"{self._name}: {event.text}")
            if event is not None:
                raise FleetError(f"{self._name} is lost: {event.why}")
            is_held, waits = self._read(_held_of, self._ask(QuestionKind.HELD))
            if is_held:
                return
            if waits and self._monotonic() - told >= _NOTICE_S:
                told = self._monotonic()
                notice(f"{self._name}: {waits}")
            self._calls.look()

    # ---- which worker

    def _chosen(self, patience_s: float) -> _WorkerFacts:
        """The first that is free; if there is none, the first that answers. Workers that make runs on the
        instruction clock may be busy, and answer late."""
        began, asked = self._monotonic(), dict[str, int]()
        known: list[_WorkerFacts] = []
        others: list[str] = []
        while True:
            for seat in self._calls.engine.seats():
                if seat.address not in asked:
                    data = host_json.as_bytes(HostQuestion(QuestionKind.ABOUT))
                    asked[seat.address] = self._calls.begin("tell", data, seat.address)
            self._calls.look()
            for address, number in asked.items():
                if (event := self._calls.ended(number)) is not None:
                    result = _about(address, event)
                    others += [result] if isinstance(result, str) else []
                    known += [] if isinstance(result, str) else [result]
            is_late = self._monotonic() - began > _NOTICE_S
            free = [worker for worker in known if not worker.busy]
            if free or (known and (is_late or len(others) + len(known) == len(asked))):
                for number in asked.values():
                    self._calls.engine.cancel(number)
                return (free or known)[0]
            if self._monotonic() - began >= patience_s:
                raise FleetError(_nobody(patience_s, others))


def _about(address: str, event: Event) -> _WorkerFacts | str:
    """Gives the facts, or why there are none."""
    if not isinstance(event, AnswerEvent):
        return f"{address}: {event.why}"
    try:
        told: Reply = host_json.replied(event.answer)
        if told.error:
            return f"{told.worker}: {told.error}"
        topology, busy = host_json.topology_of(told.value["topology"]), str(told.value["busy"])
        return _WorkerFacts(address, one_line(told.worker, 60), one_line(told.host, 60), topology, busy)
    except (ValueError, KeyError, TypeError) as error:
        return f"{address}: its answer cannot be used: {one_line(str(error), 200)}"


def _held_of(value: object) -> tuple[bool, str]:
    if type(value) is not dict or type(value.get("held")) is not bool or type(value.get("waits")) is not str:
        raise ValueError("it does not say whether it is held")
    return value["held"], one_line(value["waits"], 300)


def _nobody(patience_s: float, others: Iterable[str]) -> str:
    reasons = "".join(f"\n  {why}" for why in others)
    advice = (
        f"start one with `benchgate fleet worker --measuring` on a machine that does nothing else{reasons}"
    )
    return f"no worker of the fleet was a measuring host within {patience_s:.0f} s: {advice}"
