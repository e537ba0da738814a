"""The runs of a session on a fleet: sent in any order, taken in the plan's order, each answer checked.

Takes an `Engine`, and jobs as run/runner.py says; gives RawRuns whose folders have the files of a run on this
machine, and worker.json, which says who made it. What a worker does wrong costs time, never a result: the run
is made again by another one, and a sentence names the worker. Fails with FleetError if no worker is left, and
like run/attempt.py if the folder cannot be written. An interrupt passes through.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchgate.base.errors import FleetError
from benchgate.base.files import file_digest, read_json, write_json
from benchgate.base.process import base_environment
from benchgate.base.runs import Ending, RawRun
from benchgate.base.text import one_line
from benchgate.build.cache_storage import Notice
from benchgate.fleet import agreement, answer
from benchgate.fleet.answer import Answer
from benchgate.fleet.assignments import Assignment, Assignments
from benchgate.fleet.engine import Answered, Engine, Event, Lost
from benchgate.fleet.packing import Packed, Vouch, packed
from benchgate.run import record
from benchgate.run.attempt import RunRequest, explained, unfinished
from benchgate.run.guest import OnPhase
from benchgate.run.parallel import Job

WORKER = "worker.json"
"""In a run's folder: who made it, and the command line that was executed there."""
PATIENCE_S = 600.0
"""How long to wait for a worker, or for the scheduler, before the session gives up."""
_LOOK_S = 0.5
_AHEAD = 2
"""Runs under way or waiting to be taken, for each slot: no worker waits for the loop here."""
FIRST, SECOND, THIRD = range(3)
"""The copies of a run: the second one of a row's first seed is made on another worker, and a third one
decides if they differ."""


class FleetRunner:
    looks_ahead = True

    def __init__(
        self,
        engine: Engine,
        note: Notice,
        *,
        vouch: Vouch = lambda _: "",
        patience_s: float = PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine, self._note, self._vouch = engine, note, vouch
        self._patience_s, self._monotonic = patience_s, monotonic
        self._assignments = Assignments()
        self._numbers = 0
        self._stores: dict[int, tuple[str, str]] = {}
        """By number, the worker to which an input is being sent, and the input."""
        self._digests: dict[Path, str] = {}
        self._banned: dict[str, str] = {}
        """By address, why no more runs are given to a worker."""
        self._names: dict[str, str] = {}
        self._made: Counter[tuple[str, str]] = Counter()
        """Runs by worker and host."""
        self._packed: dict[tuple[str, int, str, str], Packed] = {}
        """Those that were asked for ahead."""
        self._pairs: dict[str, tuple[str, str]] = {}
        """By task, the workers that make both copies of it."""
        self._paired: Counter[str] = Counter()
        self._rows: set[str] = set()
        """Of which one run was made by two workers."""
        self._alone_since: float | None = None
        self._told_alone = False

    # ---- the Runner

    def slots(self, here: int) -> int:
        """At least two: a round is then one group, and goes out at once."""
        del here
        while not self._open_seats():
            self._look()
        return max(2, sum(self._open_seats().values()))

    def ahead(self, requests: Sequence[RunRequest]) -> None:
        rows, self._packed = set(self._rows), {}
        wanted = [assignment for request in requests for assignment in self._copies(request, rows)]
        for number in self._assignments.keep_only(one.want for one in wanted):
            self._engine.cancel(number)
        self._send()

    def execute_all(self, jobs: Iterable[Job], at_once: int) -> Generator[tuple[int, RawRun], None, None]:
        """One is waited for at a time, so which runs a session has does not depend on who is fast."""
        del at_once
        for index, job in enumerate(jobs):
            yield index, self._carried_out(job)

    def close(self) -> None:
        for number in self._assignments.keep_only(()):
            self._engine.cancel(number)
        self._engine.close()

    def facts(self) -> Mapping[str, object]:
        """Who made the session's runs, for session.json."""
        made = [{"name": name, "host": host, "runs": runs} for (name, host), runs in self._made.items()]
        refused = [{"name": self._name(one), "why": why} for one, why in self._banned.items()]
        return {"fleet": {"workers": made, "dropped": refused}}

    # ---- one run

    def _carried_out(self, job: Job) -> RawRun:
        request = job.request
        try:
            record.save(unfinished(request))
            mine, *others = self._copies(request, self._rows)
            self._wait((mine, *others), job.on_phase)
            for other in others:
                self._compare(mine, other, job.on_phase)
                if not request.warmup:
                    self._assignments.take(other)  # the session itself makes the run once
            given = self._assignments.take(mine)
            raw = _kept(given, request)
            self._made[given.worker, given.host] += 1
        except OSError as error:
            raise explained(error, request.folder) from error
        return raw

    def _copies(self, request: RunRequest, rows: set[str]) -> list[Assignment]:
        """The assignment for this run. With the first run of a row, which joins `rows`, comes one for another
        worker: that of its repetition, or if the session repeats no run of this row, one that is only
        compared."""
        found, row = self._pack(request), request.cell.row
        if not request.warmup and (row in rows or len(self._open_seats()) < 2):
            return [self._assignments.want(found, FIRST)]
        rows.add(row)
        second, first = self._assignments.want(found, SECOND), self._assignments.want(found, FIRST)
        return [second, first] if request.warmup else [first, second]

    def _pack(self, request: RunRequest) -> Packed:
        """Once for a run that was asked for ahead."""
        words = "\0".join(request.spec.argv).replace(f"{request.folder}/", "/")
        key = (request.cell.id, request.seed, request.guest_digest, words)
        if key not in self._packed:
            self._packed[key] = packed(request, self._digest, self._vouch)
        return self._packed[key]

    def _digest(self, path: Path) -> str:
        """An image is not changed during a session: each attempt checks it (build/images.py)."""
        if path not in self._digests:
            self._digests[path] = file_digest(path)
        return self._digests[path]

    def _compare(self, second: Assignment, first: Assignment, on_phase: OnPhase) -> None:
        """Before anything of a row is used, two workers have made its first seed. The one whose run differs
        from those of two others is dropped, and its run is made again."""
        row = second.packed.task.cell.row
        if first.address == second.address:
            if not self._told_alone:
                self._told_alone = True
                self._note(f"{row}: the fleet has one worker, so nobody else repeats the first seed of a row")
            return
        one, two = first.answer, second.answer
        assert one is not None
        assert two is not None
        difference = agreement.difference(one.files, two.files)
        if not difference:
            return
        names = f"{one.worker} and {two.worker}"
        third = self._assignments.want(second.packed, THIRD)
        third.avoid |= {first.address, second.address}
        if not set(self._open_seats()) - third.avoid:
            raise FleetError(
                f"{row}: {names} made different runs of seed {second.packed.task.seed} ({difference}), and "
                "there is no third worker to decide: measure here, without --fleet, or add a worker"
            )
        self._note(f"{row}: {names} made different runs of one seed ({difference}); a third worker decides")
        self._wait((third,), on_phase)
        judge = self._assignments.take(third)
        ruling = agreement.ruling(
            (first.address, one.files), (second.address, two.files), (third.address, judge.files)
        )
        if not ruling.odd:
            raise FleetError(
                f"{row}: {names} and {judge.worker} made three different runs of one seed ({difference}): it "
                "does not repeat, so measure here, without --fleet, and see docs/fleet.md"
            )
        self._ban(ruling.odd, f"its run of {row} is not that of two others: {difference}")
        self._drop_answers_of(ruling.odd)
        self._wait((first, second), on_phase)

    def _drop_answers_of(self, address: str) -> None:
        """Nothing that was not used yet comes from a worker that is not trusted any more."""
        for assignment in self._assignments:
            if assignment.answer is not None and assignment.address == address:
                assignment.answer = None
                self._assignments.again(assignment)
        self._send()

    # ---- the fleet

    def _wait(self, wanted: Sequence[Assignment], on_phase: OnPhase) -> None:
        """Until each of these has its answer. They are sent even if many others wait to be taken."""
        self._send(wanted)
        while any(one.answer is None for one in wanted):
            on_phase("running")
            self._look()
            self._send(wanted)

    def _look(self) -> None:
        for event in self._engine.events(_LOOK_S):
            self._hear(event)
        self._be_patient()

    def _be_patient(self) -> None:
        if self._open_seats():
            self._alone_since = None
            return
        now = self._monotonic()
        if self._alone_since is None:
            self._alone_since = now
            self._note(f"no worker of the fleet is there; waiting up to {self._patience_s:.0f} s for one")
        if now - self._alone_since >= self._patience_s:
            raise FleetError(self._nobody("no worker of the fleet was there"))

    def _nobody(self, what: str) -> str:
        reasons = "".join(f"\n  {self._name(one)}: {why}" for one, why in self._banned.items())
        return f"{what} for {self._patience_s:.0f} s: see that its scheduler and workers run{reasons}"

    def _open_seats(self) -> dict[str, int]:
        return {one.address: one.slots for one in self._engine.seats() if one.address not in self._banned}

    def _send(self, first: Sequence[Assignment] = ()) -> None:
        """Gives the engine these, and what else there is room for."""
        seats = self._open_seats()
        if not seats:
            return
        for assignment in first:
            if assignment.is_idle:
                self._give(assignment, seats)
        for assignment in self._assignments.sendable(_AHEAD * sum(seats.values()) + 2):
            self._give(assignment, seats)

    def _give(self, assignment: Assignment, seats: Mapping[str, int]) -> None:
        avoid = self._avoided(assignment, seats)
        self._numbers += 1
        self._assignments.sent(assignment, self._numbers)
        key, copy = assignment.want
        self._engine.run(
            self._numbers,
            assignment.packed.sent,
            key=f"{key[:16]}-{copy}",
            avoid=frozenset({*avoid, *self._banned}),
            rank=assignment.rank,
        )

    def _avoided(self, assignment: Assignment, seats: Mapping[str, int]) -> set[str]:
        """Each of the two copies of a first seed has one worker that may make it, so neither waits to see
        where the other went."""
        key, copy = assignment.want
        usable = set(seats) - assignment.avoid
        if not usable:
            reasons = "".join(f"\n  {self._name(one)}: {why}" for one, why in assignment.refusals.items())
            raise FleetError(f"no worker of the fleet makes {assignment.packed.task.cell.id}:{reasons}")
        is_paired = copy == SECOND or (copy == FIRST and self._assignments.has(key, SECOND))
        if not is_paired or len(usable) < 2:
            return set(assignment.avoid)
        return set(seats) - {self._pair(key, usable)[copy]}

    def _pair(self, key: str, usable: Collection[str]) -> tuple[str, str]:
        """The two workers that make a first seed: those that were compared least, so that each is compared
        after some rows."""
        known = self._pairs.get(key)
        if known is None or not set(known) <= set(usable):
            first, second, *_ = sorted(usable, key=lambda address: (self._paired[address], address))
            self._pairs[key] = known = first, second
            self._paired.update(known)
        return known

    def _hear(self, event: Event) -> None:
        if event.number in self._stores:
            self._hear_stored(event)
            return
        assignment = self._assignments.by_number(event.number)
        if assignment is None:
            return  # it was dropped meanwhile
        if isinstance(event, Lost):
            self._assignments.lost(assignment, event.why)
            self._assignments.again(assignment)
            return
        self._assignments.ended(assignment)
        self._hear_answer(assignment, event)

    def _hear_answer(self, assignment: Assignment, event: Answered) -> None:
        try:
            given = answer.read(event.answer)
            self._names[event.address] = given.worker
            if given.key != assignment.packed.key:
                raise FleetError("it answers for another run")  # noqa: TRY301 - one place names the worker
            if given.files:
                _check(given, assignment.packed)
        except FleetError as error:
            self._ban(event.address, f"its answer cannot be used: {error}")
            self._assignments.again(assignment)
            return
        if given.missing:
            self._supply(assignment, event.address, given.missing)
        elif given.refused:
            assignment.refusals[event.address] = given.refused
            assignment.avoid.add(event.address)
            self._assignments.again(assignment)
        elif given.trouble:
            self._ban(event.address, given.trouble)
            self._assignments.again(assignment)
        elif _is_doubtful(given) and not assignment.doubted and len(self._open_seats()) > 1:
            assignment.doubted = True
            assignment.avoid.add(event.address)
            self._note(
                f"{assignment.name}: QEMU ended on {given.worker} before its guest did; another worker makes "
                "this run again"
            )
            self._assignments.again(assignment)
        else:
            assignment.answer, assignment.address = given, event.address

    def _supply(self, assignment: Assignment, address: str, missing: Sequence[str]) -> None:
        """Sends a worker what it lacks, once."""
        if unknown := [one for one in missing if one not in assignment.packed.files]:
            self._ban(address, f"it asks for a file that is not of the run: {one_line(unknown[0], 64)}")
            self._assignments.again(assignment)
            return
        assignment.awaits = {f"{address} {one}" for one in missing}
        for one in missing:
            if (address, one) not in self._stores.values():
                self._numbers += 1
                self._stores[self._numbers] = (address, one)
                content = assignment.packed.files[one].read_bytes()
                self._engine.store(self._numbers, one, content, address)

    def _hear_stored(self, event: Event) -> None:
        address, sha256 = self._stores.pop(event.number)
        if isinstance(event, Answered) and event.answer:
            self._ban(
                address, f"it cannot keep an input: {one_line(event.answer.decode('utf-8', 'replace'))}"
            )
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


def _check(given: Answer, wanted: Packed) -> None:
    """FleetError if the folder is not that of this run."""
    if record.RUN not in given.files or "argv.json" not in given.files:
        raise FleetError("its folder has no run.json or no argv.json")
    try:
        raw = record.parsed(given.files[record.RUN], Path())
    except Exception as error:
        raise FleetError(str(error)) from error
    task = wanted.task
    for name in ("cell", "nonce", "seed"):
        if getattr(raw, name) != getattr(task, name):
            raise FleetError(
                f"its folder is of another run: {name} is {one_line(str(getattr(raw, name)), 80)}, and must "
                f"be {getattr(task, name)}"
            )


def _is_doubtful(given: Answer) -> bool:
    """Whether the run may have ended because of the worker's host, not because of the guest."""
    return record.parsed(given.files[record.RUN], Path()).ending in (Ending.EOF, Ending.NO_START)


def _kept(given: Answer, request: RunRequest) -> RawRun:
    """Writes the files as this machine would have: argv.json and environment.json with the paths here. What
    was executed there is in worker.json."""
    for name, content in given.files.items():
        (request.folder / name).write_bytes(content)
    argv, environment = (
        read_json(given.files.get(name, b"null")) for name in ("argv.json", "environment.json")
    )
    facts = {"worker": given.worker, "host": given.host, "argv": argv, "environment": environment}
    write_json(request.folder / WORKER, facts)
    write_json(request.folder / "argv.json", list(request.spec.argv))
    write_json(request.folder / "environment.json", base_environment(request.spec.environment))
    raw = record.load(request.folder)
    raw = replace(
        unfinished(request),
        ending=raw.ending,
        exit_status=raw.exit_status,
        host_span_ns=raw.host_span_ns,
        detail=raw.detail,
    )
    record.save(raw)
    return raw
