"""A measuring session: the Lab that carries out the attempts of its sweeps.

Takes options; gives judged runs and a session folder, from which everything can be judged again. It holds the
measuring lock, QEMU, the images and the folder. Opening fails with HostError, LockError, FetchError or
BuildError before anything is measured. Each result is on disk as soon as it exists.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from benchgate import hooks
from benchgate.base.cells import Lane
from benchgate.base.clocks import Clocks, policy_for
from benchgate.base.errors import HostError
from benchgate.base.gates import CapacityBound, Policy
from benchgate.base.identity import nonce_of_attempt, nonce_of_seed
from benchgate.base.interrupts import held
from benchgate.base.runs import RawRun
from benchgate.base.system.systems import SystemKind
from benchgate.base.workload.metrics import Metric
from benchgate.build import cache_storage
from benchgate.evidence import kept_files, provenance, session_folder
from benchgate.evidence.facts import bounds_of
from benchgate.evidence.files import SESSION, read_object
from benchgate.evidence.rows import row_of
from benchgate.insn.arguments import NO_RECORDS, Records
from benchgate.judge import verify
from benchgate.judge.checks import binding, smoke_check
from benchgate.judge.judged_run import JudgedRun, judge_to_end
from benchgate.judge.oracles.oracle import ORACLES
from benchgate.plan import catalog, choice
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, SweepPlan, expected_runs
from benchgate.render.view import SessionView
from benchgate.run import perf
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import AttemptJob
from benchgate.run.record import save_unanswered, smoke_folder
from benchgate.run.runner import LocalRunner, Runner
from benchgate.run.watch import watch_for
from benchgate.session import makers, publish
from benchgate.session.conclusion import view_of
from benchgate.session.forecast import earlier_runs
from benchgate.session.keepers import RecordKeeper, SymbolKeeper
from benchgate.session.measuring_host import MeasuringHost
from benchgate.session.progress import Progress, figure
from benchgate.session.rejudging import remembered
from benchgate.session.rejudging.trust import TrustedPrograms
from benchgate.session.remarks import guest_notes, idle_cpus_notes, machine_notes
from benchgate.session.resume import ResumingRunner
from benchgate.session.sweep import PlannedRun, ends_group, first_runs
from benchgate.session.workbench import Workbench


class MeasuringSession:
    """Call `open` and `begin` before the first attempt, and `close` once."""

    def __init__(self, options: Options, progress: Progress, host: MeasuringHost) -> None:
        self.options, self.progress = options, progress
        policy = catalog.load_policy(options.policy).with_runs(options.runs, options.max_runs)
        self.policy = replace(policy, informs=options.why_no_gates)
        self._stack = ExitStack()
        self._stack.callback(ORACLES.close)
        self._stack.enter_context(cache_storage.notices_to(progress.note))
        self._lock = self._stack.enter_context(ExitStack())
        self._expected: dict[str, int] = {}
        self._host = host
        self.bench = Workbench(options, host, progress.note)
        self._records = RecordKeeper(self.bench, self.note)
        self._symbols = SymbolKeeper(self.bench)
        self._emulators: dict[str, str] = {}
        """The emulator of each row."""
        self._session: session_folder.SessionFolder | None = None
        self._judged: list[JudgedRun] = []
        self._facts: dict[str, Any] = {}
        self._trusted = TrustedPrograms()
        self._runner: Runner = LocalRunner()
        self._sweeps: tuple[SweepPlan, ...] = ()
        self._ahead: dict[tuple[str, int, bool], RunRequest] = {}
        self.against: Mapping[str, object] = {}

    # ---- opening

    def open(self, sweeps: Sequence[SweepPlan], images: Sequence[PlannedCell] = ()) -> None:
        """Fetches and builds before it takes the lock, so that other sessions do not wait for a compiler.
        `images`: those that a user's own tests need."""
        self._runner = makers.runner_of(self.options, self.progress.note, self._host)
        self._stack.callback(self._runner.close)
        cells = [*(cell for sweep in sweeps for cell in sweep.runnable), *images]
        self.progress.stage("building the guests")
        self.bench.prepare(cells)
        self._lock.enter_context(self._host.held(self.options.lock_wait_s, self.progress.note))
        self.progress.stage("looking at this host")
        self.bench.choose()
        if self.bench.emulators.lane is Lane.INSN:  # its samples are seeds
            self.policy = self.policy.with_runs(self.options.seeds, self.options.max_seeds)
        if self.bench.emulators.only_exact and all(cell.system.kind is SystemKind.QEMU for cell in cells):
            self._lock.close()  # parallel sessions cannot change a result from here on

    @property
    def clocks(self) -> Clocks | None:
        return self.bench.emulators.clocks

    def policy_of(self, sweep: SweepPlan) -> Policy:
        return policy_for(self.policy, self.clocks, sweep.first)

    def begin(self, sweeps: Sequence[SweepPlan]) -> None:
        """Makes the session's folder, with everything that is needed to judge it again."""
        self._sweeps = tuple(sweeps)
        self._records.needs_threads = frozenset().union(*(sweep.needs_threads for sweep in sweeps))
        self._records.needs_events = frozenset().union(*(sweep.needs_events for sweep in sweeps))
        self._records.needs_look = frozenset().union(*(sweep.needs_look for sweep in sweeps))
        makers.require_makeable(self.options, (cell for sweep in self._sweeps for cell in sweep.runnable))
        emulators, earlier = self.bench.emulators, earlier_runs(self.options.reports)
        seen = self._host.envelope(emulators.main, emulators.probes, self.bench.ground.pins)
        kinds = (one.gate for sweep in sweeps for one in sweep.gates if one.gate.file)
        cells = [cell for sweep in sweeps for cell in sweep.cells]
        used = [cell.workload for cell in cells]
        self._trusted = TrustedPrograms(
            workloads={one.name: one for one in used if catalog.word_of(one) != one.name},
            gates={gate.kind: Path(gate.file) for gate in kinds},
            reports=self.options.extra_reports,
        )
        letters = {letter: system.name for letter, system in choice.letters(self.options).items()}
        inputs = self._inputs(sweeps)
        if isinstance(self._runner, ResumingRunner):
            self._runner.require_inputs(inputs)
        self._facts = provenance.planned(sweeps, self.policy, inputs, self.clocks, letters)
        self._facts["programs"] = self._trusted.as_json()
        self._facts |= provenance.features(self.options)
        self._emulators = {row: sweep.cells[0].system.emulator for sweep in sweeps for row in sweep.rows}
        self._session = session_folder.SessionFolder.create(
            self.options.reports,
            provenance.described(self.options, seen),
            started=datetime.now(UTC),
            short_id=secrets.token_hex(3),
        )
        self._keep_files(sweeps)
        self._session.update(**self._facts, **{binding.FACT: binding.RULES})
        remembered.keep(self._session.folder, cells, self._trusted)
        for line in (*choice.told(self.options), *machine_notes(sweeps), *guest_notes(sweeps)):
            self.note(line)
        for line in idle_cpus_notes(sweeps):  # they were shown at collection
            self.keep(line)
        if any(cell.seats.host_cpus for sweep in sweeps for cell in sweep.runnable):
            kept = ",".join(map(str, self.options.cpus or ()))
            meaning = "on lane insn guests are kept to these host CPUs; no vCPU has one of its own"
            self.note(f"--cpus {kept}: {meaning}")
        self.progress.forecast.earlier = earlier
        for sweep in sweeps:
            runs = expected_runs(sweep, self.options, self.policy)
            self._expected[sweep.row] = runs.total()
            for cell, count in runs.items():
                self.progress.expect(count, cell)

    def _keep_files(self, sweeps: Sequence[SweepPlan]) -> None:
        """The files that gates name, as they are now: verdicts are decided again from these copies."""
        copies = kept_files.load(planned.gate for sweep in sweeps for planned in sweep.gates)
        if copies:
            self._facts |= kept_files.facts_of(copies)
            self._open_session.keep({copy.path: copy.text for copy in copies})
        facts = {**self._open_session.facts, **self._facts}
        self.against = kept_files.for_gates(copies, facts, str(self._open_session.folder))

    def _inputs(self, sweeps: Sequence[SweepPlan]) -> dict[str, Any]:
        """The digests of QEMU and of every image; `labels`: what every report must state about them."""
        emulators = self.bench.emulators
        images = {cell.guest: self.bench.image(cell) for sweep in sweeps for cell in sweep.runnable}
        labels = {label for image in images.values() for label in image.labels}
        result: dict[str, Any] = {guest: dict(image.digests) for guest, image in images.items()}
        labels |= emulators.labels()
        return {**result, **emulators.described(), "labels": sorted(labels)}

    # ---- the Lab

    def now_s(self) -> float:
        return time.monotonic()

    def at_once(self, planned: PlannedCell) -> int:
        """Exact runs do not influence each other, so the host's memory and CPUs are the only limit."""
        exact = self.bench.emulators.is_exact and planned.seats.lane is Lane.INSN
        return self._runner.slots(self.bench.at_once(planned)) if exact else 1

    def judged(self) -> Sequence[JudgedRun]:
        return self._judged

    def attempts(self, group: Sequence[PlannedRun]) -> Iterator[JudgedRun]:
        unjudged: list[BaseException] = []
        judged: list[JudgedRun] = []

        def jobs() -> Iterator[AttemptJob]:
            for attempt in group:
                if unjudged or ends_group(judged):
                    return
                yield self._job(attempt)

        at_once = min(self.at_once(attempt.planned) for attempt in group)
        try:
            self._look_ahead(group)
            with closing(self._runner.execute_all(jobs(), at_once)) as results:
                for place, raw in results:
                    judged.append(self._judged_run(group[place], raw, unjudged))
                    yield judged[-1]
        except BaseException:
            self._runner.ahead(())  # its guests on other machines end now, not with the session
            raise
        if unjudged:
            raise unjudged[0]

    def _look_ahead(self, group: Sequence[PlannedRun]) -> None:
        """The runs that come next for sure: those of this round, and the first round of each later row."""
        if not self._runner.looks_ahead:
            return
        rows = [sweep.row for sweep in self._sweeps]
        later = self._sweeps[rows.index(group[0].sweep) + 1 :]
        seed = self.options.order_seed
        more = (first_runs(plan, self.options, self.policy_of(plan), self, seed) for plan in later)
        self._runner.ahead(map(self._request_ahead, chain(group, chain.from_iterable(more))))

    def _request_ahead(self, run: PlannedRun) -> RunRequest:
        """Makes the request once for each run: every round names those of all later rows again."""
        key = run.planned.cell.id, run.seed, run.warmup
        if key not in self._ahead:
            nowhere = session_folder.RunFolder(0, self._open_session.folder / "ahead")
            self._ahead[key] = self._request(run, nowhere)
        return self._ahead[key]

    def _request(
        self, attempt: PlannedRun, place: session_folder.RunFolder, records: Records = NO_RECORDS
    ) -> RunRequest:
        cell = attempt.planned.cell
        if attempt.planned.seats.lane is Lane.INSN:  # the nonce is as judge/checks/binding.py expects it
            nonce = nonce_of_seed(self.options.order_seed, cell, attempt.seed)
        else:
            nonce = nonce_of_attempt(self._open_session.folder.name, place.run)
        boot = BootOptions(nonce, seed=attempt.seed, measure=self.options.measure, records=records)
        boot = replace(boot, keeps_memory=self._is_repeated(attempt))
        planned, order, warmup = attempt.planned, attempt.order, attempt.warmup
        return self.bench.request(planned, boot, place.folder, attempt=place.run, order=order, warmup=warmup)

    def _is_repeated(self, attempt: PlannedRun) -> bool:
        """Whether this run and another one must end with equal memory. Runs made elsewhere keep none."""
        repeated = next(sweep.repeated for sweep in self._sweeps if sweep.row == attempt.sweep)
        return attempt.seed == 1 and attempt.planned in repeated and self.options.maker is None

    def settled(self, sweep: SweepPlan) -> None:
        """No more runs of this sweep are to come, even if it ended early."""
        self.progress.forget([cell.cell.id for cell in sweep.runnable])

    def _expect(self, attempt: PlannedRun) -> None:
        """Gates may need more runs than were expected before the first one."""
        self.progress.expect(attempt.sweep_runs - self._expected[attempt.sweep])
        self._expected[attempt.sweep] = attempt.sweep_runs

    def _job(self, attempt: PlannedRun) -> AttemptJob:
        cell = attempt.planned.cell
        self.bench.check(attempt.planned)
        self._smoke(attempt.planned)
        self._expect(attempt)
        self._ahead.pop((cell.id, attempt.seed, attempt.warmup), None)
        place = self._open_session.begin(cell.id)
        records = self._records.records(attempt.planned, place.folder)
        request = self._request(attempt, place, records)
        return AttemptJob(request, partial(self.progress.phase, cell.id, attempt.label))

    def _judged_run(self, attempt: PlannedRun, raw: RawRun, unjudged: list[BaseException]) -> JudgedRun:
        """Records every attempt. What `judge_to_end` keeps is raised after the round."""
        judged = judge_to_end(raw, partial(self._verify, attempt.planned), unjudged)
        with held():  # a record has two lines in two files
            self._records.keep(attempt.planned, raw)
            if judged.unanswered:
                save_unanswered(raw.folder, judged.reason)
            self._judged.append(judged)
            self._open_session.record(row_of(judged, self._declared(attempt)))
        if self._symbols.keep(attempt.planned, judged):
            self._open_session.update(symbols=self._symbols.kept)
        self.progress.ended(attempt.planned.cell.id, attempt.label, figure(judged))
        return judged

    def _declared(self, attempt: PlannedRun) -> Mapping[str, Metric]:
        return next(sweep.declared for sweep in self._sweeps if sweep.row == attempt.sweep)

    def _smoke(self, planned: PlannedCell) -> None:
        """Runs a system's smokes before the first attempt at a CPU count; `_verify` checks their result."""
        cell = planned.cell
        folder = smoke_folder(self._open_session.folder, cell.system, cell.cpus, cell.clock)
        if planned.system.smoke is None or folder.exists():
            return
        self.progress.stage(f"{cell.id} smokes: running")
        request = self.bench.smoke_request(planned, BootOptions(secrets.token_hex(8)), folder)
        folder.mkdir(parents=True)
        list((self._host.runner or LocalRunner()).execute_all([AttemptJob(request, lambda _: None)], 1))

    def _verify(self, planned: PlannedCell, raw: RawRun) -> Any:
        smoke_check.require_smokes(self._open_session.folder, planned.system, raw)
        return verify.verify_on(raw, planned.workload, planned.system, self.policy.void)

    def capacity(self, row: str, counts: tuple[int, ...]) -> Mapping[int, CapacityBound]:
        """Samples one more pair at each count; the bounds come from all pairs of this row."""
        pins = self.bench.ground.pins
        bounds = self.bench.emulators.sample_capacity(row, self._emulators[row], pins, counts)
        if not bounds:
            return {}
        self._facts["capacity"][row] = bounds_of(bounds)
        self._open_session.update(capacity=self._facts["capacity"])
        return bounds

    def profile(self, sweep: SweepPlan) -> None:
        """--profile-host: boots the row's largest guest once more, under perf. The boot is not a sample."""
        guests = [
            cell
            for cell in sweep.runnable
            if cell.system.kind is SystemKind.QEMU and cell.system.script is None and not cell.cell.variant
        ]
        if not guests:
            why = "only guests that are not asked at a prompt can be profiled"
            return self.note(f"profile of {sweep.row}: unavailable: {why}")
        planned, name = guests[-1], f"profile/{sweep.row}"
        self.progress.stage(f"{planned.cell.id} profile: running")
        mark, folder = secrets.token_hex(8), self._open_session.folder / name
        made = self.bench.request(planned, BootOptions(mark, measure=self.options.measure), folder)
        recording = perf.record(made.spec, folder, mark=mark, watch=watch_for(planned.system))
        where = f"{name}/{perf.DATA} (perf report -i)"
        told = where if recording.file else f"unavailable: {recording.reason}"
        return self.note(f"profile of {planned.cell.id}: {told}")

    def note(self, text: str) -> None:
        """Shows a sentence now, and keeps it in session.json for the reports."""
        self.progress.note(text)
        self.keep(text)

    def keep(self, text: str) -> None:
        self._facts["notes"] = [*self._facts.get("notes", ()), text]
        self._open_session.update(notes=self._facts["notes"])

    # ---- the end

    @property
    def folder(self) -> Path | None:
        """The session's folder; None as long as there is none."""
        return None if self._session is None else self._session.folder

    @property
    def _open_session(self) -> session_folder.SessionFolder:
        if self._session is None:
            raise HostError("measuring starts after the session's folder is made")
        return self._session

    def close(self, *, missing: str) -> SessionView | None:
        """Writes the reports and releases the lock. None if there is no session folder."""
        with self._stack:
            if self._session is None:
                return None
            self._session.update(**self._runner.facts())
            self._session.close(datetime.now(UTC), missing=missing)
            facts = read_object(self._session.folder, SESSION)
            view = view_of(facts, self._judged, str(self._session.folder), self._trusted, self.against)
            publish.write(self._session, view, self.options, self.progress.note)
            return view

    def tell(self, name: str) -> None:
        """Gives the closed session to the features that its options ask for."""
        folder = self.options.reports / "runs" / name
        for end in hooks.endings(self.options.of_features):
            self.progress.note(end(folder, self.options, self._trusted))
