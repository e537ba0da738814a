"""The data of a session's reports, frozen, so that all formats show the same.

Takes the facts of session.json, which are untrusted, rows and verdicts; gives a SessionView. A missing value
is None or "". Fails with EvidenceError if a fact has the wrong type.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from benchgate.base import grouped
from benchgate.base.cells import Lane
from benchgate.base.clocks import Clocks
from benchgate.base.errors import EvidenceError
from benchgate.base.gates import VERIFIED, CapacityBound, Policy, Verdict, Word
from benchgate.base.runs import Outcome, Resolution
from benchgate.base.text import NEXT, UNAVAILABLE, counted, gathered, one_line
from benchgate.base.workload.metrics import SeenBy
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.evidence.files import SESSION
from benchgate.evidence.rows import RunRow
from benchgate.evidence.session_folder import DEFAULT_REPORTS
from benchgate.insn.profile import Stacks
from benchgate.insn.sharing import Sharing
from benchgate.judge.accounts.attribution import Table
from benchgate.judge.accounts.distributions import Distribution
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.judge.accounts.sensitivity import NoiseFloor, UngatedRow
from benchgate.judge.accounts.thread_timeline import ThreadTimeline
from benchgate.judge.accounts.timeline import Timeline
from benchgate.judge.checks.witness_summary import measured_by_machine
from benchgate.judge.fits import Fit
from benchgate.judge.gates.wording import NOT_RUN
from benchgate.judge.judged_run import Recording
from benchgate.judge.noise import RunNoise

WORST_FIRST = (Word.FAIL, Word.INVALID, Word.INCONCLUSIVE, Word.PASS, Word.SKIP)


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session, as the reports show it."""

    id: str
    state: str
    """`complete` if everything that was planned is done, otherwise `partial`."""
    rows: tuple[RunRow, ...]
    verdicts: tuple[Verdict, ...]
    alpha: float
    overall_error: float
    superlinear: float
    """The policy's limit: a speedup above this times the ratio of the CPU counts is impossible."""
    state_reason: str = ""
    reports_folder: str = DEFAULT_REPORTS
    """The name of the folder of --reports."""
    started: str = ""
    finished: str = ""
    version: str = ""
    commit: str = ""
    capacity: Mapping[int, CapacityBound] = field(default_factory=dict)
    machine: tuple[tuple[str, str], ...] = ()
    """The facts of the envelope, most important first: (name, text)."""
    clocks: Clocks | None = None
    """Which clock decides; None in a session of one clock."""
    informs: str = ""
    """Why no gate uses this session's figures; empty if gates do."""
    isolation: str = "none seen"
    labels: tuple[str, ...] = ()
    """What every report must state, for example `unreviewed image`."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader, for example why this lane was chosen."""
    void_rule: str = ""
    """The rule by which the host's counters void a run; empty if nothing was measured on wall time."""
    outliers: tuple[str, ...] = ()
    """Runs that are far from their arm's median, and what sets them apart."""
    repeats: tuple[str, ...] = ()
    """What the runs of one seed on the instruction clock have in common."""
    resolutions: Mapping[str, Resolution] = field(default_factory=dict)
    """What the instruction clock could not resolve, by cell id."""
    timelines: tuple[Timeline, ...] = ()
    """The timelines of the median and the slowest run of each cell, one cell after the other."""
    flames: tuple[Recording[Stacks], ...] = ()
    """The call stacks that were recorded."""
    threads: tuple[ThreadTimeline, ...] = ()
    """The median and the slowest of the runs of each cell whose threads were recorded, one cell after the
    other."""
    books: tuple[RunBooks, ...] = ()
    """The books of each counted run on a machine with memory."""
    moved_lines: tuple[Recording[Sharing], ...] = ()
    """The lines that moved between CPUs, of the runs in which they were recorded."""
    merged: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Percentiles of all counted runs of a cell together, by cell id and metric."""
    distributions: Mapping[str, tuple[Distribution, ...]] = field(default_factory=dict)
    """The histograms of all counted runs of a cell together, by cell id."""
    promises: Mapping[str, tuple[WitnessedPromise, ...]] = field(default_factory=dict)
    """What the machine saw of each promise of a cell's workload, by cell id."""
    who_says: Mapping[str, Mapping[str, SeenBy]] = field(default_factory=dict)
    """Who says what each metric of a cell is, by cell id."""
    envelope: tuple[tuple[str, str], ...] = ()
    """All that session.json says of the host and the inputs: (name, text)."""
    repeat: tuple[str, ...] = ()
    """Commands that repeat and check this session."""
    attributions: tuple[Table, ...] | None = None
    """One table per cell; None without --measure."""
    inconclusive_fails: bool = True
    """True if INCONCLUSIVE is a failure in reports that have only success and failure."""
    fits: tuple[Fit, ...] = ()
    """The scaling laws of rows with enough CPU counts, over all counted runs."""
    noise: Mapping[int, RunNoise] = field(default_factory=dict)
    """The host's counters by the number of each run that has any."""
    floors: tuple[NoiseFloor, ...] = ()
    """The noise floor of each arm with enough runs."""
    ungated: tuple[UngatedRow, ...] = ()
    """The CPU counts that no gate with a threshold uses."""
    is_verified: bool = True
    """False for a results.csv without its session: its figures are shown, but nothing is decided."""

    def __post_init__(self) -> None:
        for name in ("capacity", "resolutions", "merged", "distributions", "noise"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def home(self) -> str:
        """The session's folder, relative to the folder that holds the folder of --reports."""
        return home_of(self.reports_folder, self.id)

    @property
    def shown_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, worst first; none if the session is not verified. That runs are verified is no PASS
        where nothing was decided: in a session, or in a row, of which every threshold was skipped."""
        if not self.is_verified:
            return ()
        rows = grouped(self.verdicts, key=_row_of)
        empty = {row for row, of in rows.items() if not decided(of)} if decided(self.verdicts) else {*rows}
        shown = (_undecided(of) if _row_of(of) in empty else of for of in self.verdicts)
        return tuple(sorted(shown, key=lambda verdict: WORST_FIRST.index(verdict.outcome)))

    @property
    def decided(self) -> tuple[Verdict, ...]:
        """The verdicts that decide something; none if the session is not verified."""
        return decided(self.verdicts) if self.is_verified else ()

    @property
    def compared(self) -> int:
        """m: the number of verdicts that compare noisy figures, and so can be wrong by chance."""
        return sum(
            verdict.figure is not None and verdict.outcome is not Word.SKIP for verdict in self.verdicts
        )


def decided(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Those that decide something. That runs are verified is a decision only if there is no threshold;
    otherwise a session whose thresholds were all skipped would be a success."""
    thresholds = tuple(verdict for verdict in verdicts if verdict.gate != VERIFIED)
    return tuple(verdict for verdict in thresholds or verdicts if verdict.outcome is not Word.SKIP)


DECIDES_NOTHING = ", which decides nothing"


def _row_of(verdict: Verdict) -> tuple[object, ...]:
    return verdict.workload, verdict.params, verdict.mode


def _undecided(verdict: Verdict) -> Verdict:
    if (verdict.gate, verdict.outcome) != (VERIFIED, Word.PASS):
        return verdict
    what = verdict.reason.removeprefix(f"{Word.PASS}: ")
    return replace(verdict, outcome=Word.SKIP, reason=f"{Word.SKIP}: {what}{DECIDES_NOTHING}")


def headline(view: SessionView) -> str:
    """The first line of every report, on a terminal the last one. It begins with PASS only if the session is
    complete and every verdict is PASS or SKIP, with at least one PASS that decides."""
    if not view.is_verified:
        return "UNVERIFIED: figures from results.csv alone; without the logs of the runs nothing is decided"
    words = [verdict.outcome for verdict in view.verdicts]
    worst = min(words, key=WORST_FIRST.index, default=Word.SKIP)
    if worst in (Word.PASS, Word.SKIP) and not view.decided:
        head = "SKIP: nothing was decided"
    else:
        others = ", ".join(
            f"{words.count(word)} {word}" for word in WORST_FIRST if word is not worst and word in words
        )
        head = f"{worst}: {words.count(worst)} of {len(words)} verdicts" + (f", {others}" if others else "")
    head += _verified(view, is_decided=bool(view.decided))
    if view.state != "complete":
        head = f"PARTIAL: {view.state_reason or 'the session did not finish'}; until then {head}"
    return head


def _verified(view: SessionView, *, is_decided: bool) -> str:
    """How many cells have only verified runs, and on the instruction clock how many of their figures the
    machine measured itself. Of wall time it is said only where nothing else is."""
    broken = {row.cell.id for row in view.rows if row.is_broken}
    good = {row.cell.id: row.lane for row in view.rows if row.verified and row.cell.id not in broken}
    exact = [view.who_says.get(cell_id, {}) for cell_id, lane in good.items() if lane is Lane.INSN]
    figures = [who for of_cell in exact for who in of_cell.values()]
    if not good or (is_decided and not figures):
        return ""
    measured = f", {measured_by_machine(figures)}" if figures else ""
    return f"; {counted(len(good), 'cell')} verified{measured}"


def unwitnessed(view: SessionView) -> tuple[str, ...]:
    """The sentence about promises that no machine could see, once for all of a session's verdicts."""
    rows = [row for row in view.rows if row.lane is not Lane.INSN and view.promises.get(row.cell.id)]
    if not rows:
        return ()
    lanes = ", ".join(sorted({row.lane for row in rows}))
    cells = counted(len({row.cell.id for row in rows}), "cell")
    return (f"not witnessed on lane {lanes}: only the instruction clock sees what {cells} promised",)


def home_of(reports_folder: str, session_id: str) -> str:
    return f"{reports_folder}/runs/{session_id}"


MOST_NAMED = 3


def void_runs(view: SessionView) -> tuple[str, ...]:
    """The sentence about void runs, which were made again; none without any."""
    void = [row for row in view.rows if row.outcome is Outcome.VOID]
    if not void:
        return ()
    named = [
        f"run {row.run:04}, {row.cell.id}: {row.reason or 'see its folder'}" for row in void[:MOST_NAMED]
    ]
    more = [f"and {len(void) - MOST_NAMED} more, see results.csv"] if len(void) > MOST_NAMED else []
    head = f"{len(void)} of {counted(len(view.rows), 'run')} void: "
    return (head + "; ".join([*named, *more]),)


def _void_rule(policy: Policy, rows: Sequence[RunRow]) -> str:
    """The sentence is the same for every arm."""
    if all(row.lane is Lane.INSN for row in rows):
        return ""
    rule = policy.void
    if rule.is_off:
        return "no run is void (the policy's `void` is off)"
    return (
        f"a run on wall time is void, and made again, above one of: {rule}; more than {rule.most} void runs "
        f"and {rule.share:.0%} end a sweep"
    )


def session_view(
    *,
    facts: Mapping[str, Any],
    rows: Sequence[RunRow],
    verdicts: Sequence[Verdict],
    capacity: Mapping[int, CapacityBound],
    policy: Policy,
) -> SessionView:
    """Makes the view of session.json, its rows and its verdicts. `dataclasses.replace` adds what else was
    found in the runs. `facts` is the untrusted object in session.json."""
    envelope, inputs = object_in(facts, "envelope"), object_in(facts, "inputs")
    session_id = str(facts.get("id", UNAVAILABLE))
    reports_folder = str(facts.get("reports_folder", DEFAULT_REPORTS))
    home = shlex.quote(home_of(reports_folder, session_id))
    every = {**envelope, "inputs": inputs, "versions": object_in(facts, "versions")}
    return SessionView(
        id=session_id,
        reports_folder=reports_folder,
        state=str(facts.get("state")),
        state_reason=str(facts.get("state_reason") or ""),
        rows=tuple(rows),
        verdicts=tuple(verdicts),
        alpha=policy.alpha,
        overall_error=policy.overall_error,
        superlinear=policy.superlinear,
        started=str(facts.get("started", "")),
        finished=str(facts.get("finished") or ""),
        version=str(object_in(facts, "versions").get("pytest-benchgate", UNAVAILABLE)),
        commit=str(facts.get("commit", UNAVAILABLE)),
        capacity=capacity,
        informs=policy.informs,
        machine=machine_of(envelope, inputs),
        isolation=isolation(envelope),
        labels=_texts(inputs, "labels"),
        notes=_texts(facts, "notes"),
        envelope=tuple(itertools.islice(_flattened(every), MOST_FACTS)),  # the file is untrusted
        void_rule=_void_rule(policy, rows),
        repeat=(str(facts.get("command", "pytest")), f"benchgate rejudge {home}"),
    )


def _texts(facts: Mapping[str, Any], name: str) -> tuple[str, ...]:
    result = facts.get(name, ())
    if not isinstance(result, list | tuple):
        raise EvidenceError(f"{SESSION}: {name} is {result!r:.40}, not a list")
    return tuple(map(str, result))


# ---- the machine and the inputs


NOTHING = ("none", UNAVAILABLE)
MOST_FACTS, LONGEST_FACT, DEEPEST = 300, 400, 4


def object_in(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    result = facts.get(name, {})
    if not isinstance(result, Mapping):
        raise EvidenceError(f"{SESSION}: {name} is {result!r:.40}, not an object")
    return result


def _flattened(value: object, name: str = "", deep: int = DEEPEST) -> Iterator[tuple[str, str]]:
    """Every value of nested objects, with the path of its names."""
    if isinstance(value, Mapping) and deep:
        for key, inner in value.items():
            yield from _flattened(inner, f"{name} {key}".strip().replace("_", " "), deep - 1)
    else:
        listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield one_line(name), one_line(listed or "none", LONGEST_FACT)


def isolation(envelope: Mapping[str, Any]) -> str:
    seen = {name: text for name, text in object_in(envelope, "isolation").items() if text not in NOTHING}
    return ", ".join(f"{name} {text}" for name, text in seen.items()) or "none seen"


def machine_of(envelope: Mapping[str, Any], inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The most important facts of the envelope; session.json has all of them."""

    def say(*names: str) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {envelope.get(name, UNAVAILABLE)}" for name in names)

    probes = object_in(envelope, "accelerators")
    reasons = [str(object_in(probes, name).get("reason")) for name in probes]
    qemu = object_in(inputs, "qemu")
    return (
        ("processor", f"{envelope.get('cpu_model', UNAVAILABLE)}; {say('sockets', 'cores', 'threads')}"),
        ("topology", say("topology_source", "topology_hidden", "online", "affinity")),
        ("accelerators", "; ".join(reasons) or UNAVAILABLE),
        ("qemu", " ".join(str(qemu.get(key, "")) for key in ("version", "origin")).strip() or UNAVAILABLE),
        ("host", say("kernel", "timer_source", "frequency_policy", "provider", "instance")),
    )


# ---- the sentences of verdicts

FEW = 3
"""From so many on, verdicts with one reason share a sentence."""


@dataclass(frozen=True, slots=True)
class ToldVerdicts:
    """One sentence about one verdict, or about several of one word and reason."""

    word: Word
    text: str
    of: tuple[Verdict, ...]
    shared: str = ""
    """The reason that they share, without their names; empty of a sentence about one verdict, and of cells
    whose runs are all verified."""


def is_counted(verdict: Verdict) -> bool:
    """How many cells have verified runs only is one sentence, with no reason and no threshold."""
    is_right = verdict.outcome is Word.PASS or verdict.reason.endswith(DECIDES_NOTHING)
    return verdict.gate == VERIFIED and is_right


def told_of(verdicts: Iterable[Verdict]) -> tuple[ToldVerdicts, ...]:
    """In the given order; then gates whose cells were not run, and cells whose runs are all verified."""
    reasons: dict[tuple[Word, bool, str], list[Verdict]] = {}
    right: dict[tuple[Word, str], list[Verdict]] = {}
    for verdict in verdicts:
        if is_counted(verdict):
            how = verdict.reason.partition(": ")[2].partition(", ")[2]
            right.setdefault((verdict.outcome, how), []).append(verdict)
            continue
        cause, not_run = _cause(verdict)
        reasons.setdefault((verdict.outcome, not_run, cause or verdict.sentence), []).append(verdict)
    ordered = sorted(reasons.items(), key=lambda item: item[0][1])
    told = [
        told for (word, not_run, cause), same in ordered for told in _told(word, cause, same, not_run=not_run)
    ]
    for (word, how), same in right.items():
        runs = counted(sum(one.runs for one in same), "run")
        verified, sign, figures = how.partition("; ")
        each = "of each cell " if sign and len(same) > 1 else ""
        text = f"{counted(len(same), 'test')} that a cell is right: {runs}, {verified}{sign}{each}{figures}"
        told.append(ToldVerdicts(word, text, tuple(same)))
    return tuple(told)


def _told(word: Word, cause: str, same: Sequence[Verdict], *, not_run: bool) -> list[ToldVerdicts]:
    why = f"not run: {cause}" if not_run else cause
    if len(same) >= FEW:
        what, sign, then = why.partition(NEXT)
        (text,) = gathered(((verdict.id, what) for verdict in same), "gate")
        return [ToldVerdicts(word, f"{text}{sign}{then}", tuple(same), why)]
    texts = [
        f"{verdict.id}: {why}" if not_run else verdict.sentence.removeprefix(f"{word}: ") for verdict in same
    ]
    return [ToldVerdicts(word, text, (verdict,)) for text, verdict in zip(texts, same, strict=True)]


def sentences_of(verdicts: Iterable[Verdict]) -> list[tuple[Word, str]]:
    return [(told_verdicts.word, told_verdicts.text) for told_verdicts in told_of(verdicts)]


def _cause(verdict: Verdict) -> tuple[str, bool]:
    """The reason without what it is about, and whether the cell was not run; empty if it has figures, which
    no other verdict shares."""
    if verdict.outcome is Word.SKIP and NOT_RUN in verdict.reason:
        return verdict.reason.partition(NOT_RUN)[2], True
    subject, _, cause = verdict.sentence.removeprefix(f"{verdict.outcome}: ").partition(": ")
    return ("" if " = " in subject else cause), False
