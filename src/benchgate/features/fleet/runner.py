"""The runs of a session on a fleet: sent in any order, taken in the plan's order, each answer checked.

Takes an `Engine`, and jobs as run/runner.py says; gives RawRuns whose folders have the files of a run on this
machine, and worker.json, which says who made it. What a worker does wrong costs time, never a result: the run
is made again by another one, and a sentence names the worker. Fails with FleetError if no worker is left, and
like run/attempt.py if the folder cannot be written. An interrupt passes through.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence

from benchgate.base.runs import RawRun
from benchgate.base.text import one_line
from benchgate.build.cache_storage import Notice
from benchgate.features.fleet.assignments import Assignment, Assignments
from benchgate.features.fleet.doubles import FIRST, SECOND, THIRD, Pairs, compare
from benchgate.features.fleet.engine import AnswerEvent, Engine, Event, LossEvent
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import Packs, Vouch
from benchgate.features.fleet.received import CheckedAnswer, kept, received
from benchgate.run import record
from benchgate.run.attempt import RunRequest, explained, unfinished
from benchgate.run.guest import OnPhase
from benchgate.run.parallel import AttemptJob

PATIENCE_S = 600.0
"""How long to wait for a worker, or for the scheduler, before the session gives up."""
_LOOK_S = 0.5
_AHEAD = 2
"""Runs under way or waiting to be taken, for each slot: no worker waits for the loop here."""


class FleetRunner:
    looks_ahead = True

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        engine: Engine,
        note: Notice,
        *,
        vouch: Vouch = lambda _: "",
        forks: bool = False,
        patience_s: float = PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine, self._note = engine, note
        self._patience_s, self._monotonic = patience_s, monotonic
        self._assignments = Assignments()
        self._numbers = 0
        self._stores: dict[int, tuple[str, str]] = {}
        """The worker to which an input is being sent, and the input, by the number of the call."""
        self._banned: dict[str, str] = {}
        """The reason why a worker gets no more runs, by its address."""
        self._names: dict[str, str] = {}
        self._made: Counter[tuple[str, str]] = Counter()
        """The number of runs by worker and host."""
        self._coming: Iterator[RunRequest] = iter(())
        """The runs that will be asked for next, as far as they were not wanted yet."""
        self._most = 0
        """The most that the fleet has ever had room for."""
        self._packs = Packs(vouch, forks=forks)
        self._taken: set[tuple[str, bool]] = set()
        """The runs that were asked for ahead, and are taken."""
        self._pairs = Pairs()
        self._rows: set[str] = set()
        """The rows with a run that two workers made."""
        self._rows_ahead: set[str] = set()
        """These rows, and those that will have such a run."""
        self._alone_since: float | None = None
        self._told_alone = False
        self._on_phase: OnPhase = lambda _: None

    # ---- the Runner

    def slots(self, here: int) -> int:
        """There are at least two: a round is then one group, and goes out at once."""
        del here
        while not self.open_seats():
            self._look()
        return max(2, sum(self.open_seats().values()))

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        """Reads requests as far as the fleet has room. What is under way and is named soon goes on."""
        self._coming, self._rows_ahead = iter(requests), set(self._rows)
        self._taken.clear()
        most = self._room(self.open_seats())
        self._packs.begin_round(4 * most)
        under_way = {assignment.want for assignment in self._assignments if not assignment.is_idle}
        wanted = set()
        for request in self._coming:
            wanted |= {copy.want for copy in self._copies(request, self._rows_ahead)}
            if len(wanted) >= most and (len(wanted) >= 2 * most or under_way <= wanted):
                break
        for number in self._assignments.keep_only(wanted):
            self._engine.cancel(number)
        self._send()

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        """Waits for one run at a time, so which runs a session has does not depend on who is fast."""
        del at_once
        for index, job in enumerate(jobs):
            yield index, self._carried_out(job)

    def close(self) -> None:
        self._coming = iter(())
        for number in self._assignments.keep_only(()):
            self._engine.cancel(number)
        self._engine.close()

    def facts(self) -> Mapping[str, object]:
        """Says who made the session's runs, for session.json."""
        made = [{"name": name, "host": host, "runs": runs} for (name, host), runs in self._made.items()]
        refused = [{"name": self._name(value), "why": why} for value, why in self._banned.items()]
        return {"fleet": {"workers": made, "dropped": refused}}

    # ---- one run

    def _carried_out(self, job: AttemptJob) -> RawRun:
        request, self._on_phase = job.request, job.on_phase
        try:
            record.save(unfinished(request))
            mine, *others = self._copies(request, self._rows)
            self._taken.add((self._packs.same(request), request.warmup))
            repeats = _is_repetition(request)
            self._wait((mine, *others))
            for other in others:
                self._compare(mine, other)
                if not repeats:
                    self._assignments.take(other)  # the session itself makes the run once
            given = self._assignments.take(mine)
            raw = kept(given, request)
            self._packs.taken(request)
            self._made[given.answer.worker, given.answer.host] += 1
        except OSError as error:
            raise explained(error, request.folder) from error
        return raw

    def _copies(self, request: RunRequest, rows: set[str]) -> list[Assignment]:
        """Gives this run's assignments. The first run of a row, which joins `rows`, has two, for two workers.
        The second is the row's repetition; if the session repeats no run of the row, it is only compared."""
        package, row, repeats = self._packs.of(request), request.cell.row, _is_repetition(request)
        if not repeats and (row in rows or len(self.open_seats()) < 2):
            return [self._assignments.want(package, FIRST)]
        rows.add(row)
        second, first = self._assignments.want(package, SECOND), self._assignments.want(package, FIRST)
        return [second, first] if repeats else [first, second]

    def _compare(self, assignment: Assignment, other: Assignment) -> None:
        """Compares the answers of both, and waits until both have one of a worker that may be trusted."""
        if assignment.address != other.address:
            compare(self, assignment, other)
            self._wait((assignment, other))
        elif not self._told_alone:
            self._told_alone = True
            alone = f"{assignment.packed.task.cell.row}: the fleet has one worker for it"
            self._note(f"{alone}, so nobody else repeats the first seed of a row")

    # ---- what a comparison needs (doubles.py)

    def open_seats(self) -> dict[str, int]:
        return {seat.address: seat.slots for seat in self._engine.seats() if seat.address not in self._banned}

    def third(self, of: Assignment, avoid: Collection[str]) -> tuple[str, CheckedAnswer]:
        third = self._assignments.want(of.packed, THIRD)
        third.avoid |= set(avoid)
        self._wait((third,))
        return third.address, self._assignments.take(third)

    def distrust(self, address: str, why: str) -> None:
        self._ban(address, why)
        for assignment in self._assignments:
            if assignment.answer is not None and assignment.address == address:
                assignment.answer = None
                self._assignments.again(assignment)
        self._send()

    def tell(self, text: str) -> None:
        self._note(text)

    # ---- the fleet

    def _wait(self, wanted: Sequence[Assignment]) -> None:
        """Waits until each of these has its answer. They are sent even if many others wait to be taken."""
        self._send(wanted)
        while any(assignment.answer is None for assignment in wanted):
            self._on_phase("running")
            self._look()
            self._send(wanted)

    def _look(self) -> None:
        for event in self._engine.events(_LOOK_S):
            self._hear(event)
        self._be_patient()

    def _be_patient(self) -> None:
        if self.open_seats():
            self._alone_since = None
            return
        now = self._monotonic()
        if self._alone_since is None:
            self._alone_since = now
            self._note(f"no worker of the fleet is there; waiting up to {self._patience_s:.0f} s for one")
        if now - self._alone_since >= self._patience_s:
            nobody = f"no worker of the fleet was there for {self._patience_s:.0f} s"
            advice = f"see that its scheduler and workers run{self._reasons(self._banned)}"
            raise FleetError(f"{nobody}: {advice}")

    def _send(self, first: Sequence[Assignment] = ()) -> None:
        """Gives the engine these, and what else there is room for."""
        seats = self.open_seats()
        if not seats:
            return
        for assignment in first:
            if assignment.is_idle:
                self._give(assignment, seats)
        room = self._room(seats)
        while len(self._assignments) < room and (request := next(self._coming, None)) is not None:
            if (self._packs.same(request), request.warmup) not in self._taken:
                self._copies(request, self._rows_ahead)
        for assignment in self._assignments.sendable(room):
            self._give(assignment, seats)

    def _room(self, seats: Mapping[str, int]) -> int:
        """It does not shrink with the fleet: what is under way there goes on."""
        self._most = max(self._most, _AHEAD * sum(seats.values()) + 2)
        return self._most

    def _give(self, assignment: Assignment, seats: Mapping[str, int]) -> None:
        avoid = self._avoided(assignment, seats)
        self._numbers += 1
        self._assignments.sent(assignment, self._numbers)
        key, copy = assignment.want
        name, avoided = f"{key[:16]}-{copy}", frozenset({*avoid, *self._banned})
        task = assignment.packed.sent
        self._engine.run(self._numbers, task, key=name, avoid=avoided, rank=assignment.rank)

    def _reasons(self, whys: Mapping[str, str]) -> str:
        return "".join(f"\n  {self._name(address)}: {why}" for address, why in whys.items())

    def _avoided(self, assignment: Assignment, seats: Mapping[str, int]) -> set[str]:
        """Each of the two copies of a first seed has one worker that may make it, so neither waits to see
        where the other went."""
        key, copy = assignment.want
        usable = set(seats) - assignment.avoid
        if not usable:
            reasons = self._reasons(assignment.refusals)
            raise FleetError(f"no worker of the fleet makes {assignment.packed.task.cell.id}:{reasons}")
        if copy == SECOND or (copy == FIRST and self._assignments.has(key, SECOND)):
            return set(seats) - {self._pairs.place(assignment.want, usable)}
        return set(assignment.avoid)

    def _hear(self, event: Event) -> None:
        if event.number in self._stores:
            self._hear_stored(event)
            return
        assignment = self._assignments.by_number(event.number)
        if assignment is None:
            return  # it was dropped meanwhile
        if isinstance(event, LossEvent):
            self._assignments.lost(assignment, event.why)
            self._assignments.again(assignment)
            return
        self._assignments.ended(assignment)
        self._hear_answer(assignment, event)

    def _hear_answer(self, assignment: Assignment, event: AnswerEvent) -> None:
        try:
            whole = received(event.answer, assignment.packed)
        except FleetError as error:
            self._ban(event.address, f"its answer cannot be used: {error}")
            self._assignments.again(assignment)
            return
        given = whole.answer
        self._names[event.address] = given.worker
        if given.missing:
            self._supply(assignment, event.address, given.missing)
        elif given.refused:
            assignment.refusals[event.address] = given.refused
            assignment.avoid.add(event.address)
            self._assignments.again(assignment)
        elif given.trouble:
            self._ban(event.address, given.trouble)
            self._assignments.again(assignment)
        elif whole.is_doubtful and not assignment.doubted and len(self.open_seats()) > 1:
            self._doubt(assignment, event.address)
        else:
            assignment.answer, assignment.address = whole, event.address

    def _doubt(self, assignment: Assignment, address: str) -> None:
        """Asks another worker for the run, or the same one if there is no other. The worker of the other copy
        is not asked: it would be compared with itself."""
        assignment.doubted = True
        taken = {address, self._pairs.of_other(assignment.want)} | assignment.avoid
        again = "the same worker"
        if set(self.open_seats()) - taken:
            assignment.avoid.add(address)
            again = "another worker"
        ended = f"QEMU ended on {self._name(address)} before its guest did"
        self._note(f"{assignment.name}: {ended}; {again} makes this run again")
        self._assignments.again(assignment)

    def _supply(self, assignment: Assignment, address: str, missing: Sequence[str]) -> None:
        """Sends a worker what it lacks, once."""
        if unknown := [text for text in missing if text not in assignment.packed.files]:
            self._ban(address, f"it asks for a file that is not of the run: {one_line(unknown[0], 64)}")
            self._assignments.again(assignment)
            return
        assignment.awaits = {f"{address} {text}" for text in missing}
        for text in missing:
            if (address, text) not in self._stores.values():
                self._numbers += 1
                self._stores[self._numbers] = (address, text)
                content = assignment.packed.files[text].read_bytes()
                self._engine.store(self._numbers, text, content, address)

    def _hear_stored(self, event: Event) -> None:
        address, sha256 = self._stores.pop(event.number)
        if isinstance(event, AnswerEvent) and event.answer:
            self._ban(address, f"it cannot keep an input: {event.text}")
        for assignment in self._assignments:
            if f"{address} {sha256}" in assignment.awaits:
                assignment.awaits.discard(f"{address} {sha256}")
                if assignment.is_idle:
                    self._assignments.again(assignment)

    def _ban(self, address: str, why: str) -> None:
        if address not in self._banned:
            self._banned[address] = why
            self._note(f"worker {self._name(address)} of the fleet gets no more runs: {why}")

    def _name(self, address: str) -> str:
        return one_line(self._names.get(address) or address, 60)


def _is_repetition(request: RunRequest) -> bool:
    """True if the session makes the same run once more. Smokes, which are never samples, are made once."""
    return request.warmup and not request.cell.is_smoke
