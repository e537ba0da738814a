"""The values of the names in promises: what one run's machine saw, and what its guest says.

Takes a verified run, its files, its workload and its system; gives the value of a name as a fraction, in ns,
bytes or a count. Raises `UnseenError`, which says why, for what the machine did not see, and VerifyError for
what the guest did not report.

Where a length of the guest is compared with one that the clock saw, the clock's own resolution is in the
guest's favour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.statistics.histogram import Histogram, merged
from benchgate.base.system.systems import System, plain_name
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import SECOND_NS, MetricKind, is_length
from benchgate.base.workload.witness import (
    ACCESSES,
    EACH,
    EVENTS,
    FIGURES,
    HARNESS,
    HARNESS_BOOT,
    HARNESS_BOOT_CPU,
    HARNESS_BYTE,
    HARNESS_CPU,
    HARNESS_HISTOGRAM,
    LINE,
    OF_WORKERS,
    OUTSIDE,
    RETURNED,
    RUN,
    SPANS,
    UNITS,
    Promise,
    of_machine,
    of_program,
)
from benchgate.base.workload.workloads import Workload
from benchgate.insn.counts import PROGRAMS, RETURNS, TOTAL, WHOLE, WORK, CountedSpan
from benchgate.insn.counts import witnessed as counts_by_name
from benchgate.insn.memory_log import TOUCHED, WINDOW
from benchgate.judge.accounts.threads.worker_sleeps import WorkerSleeps, worker_sleeps
from benchgate.judge.checks.witness_threads import SeenThreads, UnseenError
from benchgate.judge.run_files import RunFiles

_Value = TypeVar("_Value")
_MEMORY = {"reads": ("reads",), "writes": ("writes",), "lines": ("local", "remote"), TOUCHED: (TOUCHED,)}
"""Maps a name to what it is the sum of."""


class RunNames:
    def __init__(
        self, verified_run: VerifiedRun, files: RunFiles, workload: Workload, system: System
    ) -> None:
        self.found, self.files, self.workload, self.system = verified_run, files, workload, system
        self._params = dict(verified_run.run.cell.params)
        self._by_window: dict[str, Mapping[str, int]] = {}
        self._by_worker: dict[str, list[Fraction]] = {}
        """What `each.` stands for; a claim asks for it once for each worker."""

    @property
    def places(self) -> int:
        """How many workers `each.` stands for."""
        return len(self.found.workers)

    def value(self, name: str, place: int = 0) -> Fraction:
        """`place`: of `each.NAME`, whose it is: 0 is the worker, or thread, that has most of it."""
        if name.startswith(f"{EACH}."):
            if name not in self._by_worker:
                self._by_worker[name] = self._of_each(name.removeprefix(f"{EACH}."))
            return self._by_worker[name][place]
        if name in self._params:
            _, size = UNITS.get(self.workload.params[name].unit, UNITS[""])
            return Fraction(int(self._params[name])) * size
        if name in RUN:
            return Fraction(self._of_row()[name])
        if of_machine(name):
            self.require_clock()
            return self._seen(name)
        if name in self.workload.metrics:
            return self._metric(name)
        return self._reported(name)

    def _of_each(self, name: str) -> list[Fraction]:
        """As many as there are workers, from the most to the least."""
        if not self.places:
            raise UnseenError("its guest reports no workers")
        first, _, rest = name.partition(".")
        if name.startswith((SPANS, "children.")):
            self.require_clock()
            threads = self._threads
            found = threads.children(rest) if first == "children" else threads.of_each(*rest.split("."))
        else:
            reports = self.found.workers
            found = [Fraction(self._known(name, one.values, f"value of worker {one.id}")) for one in reports]
        return sorted([*found, *[Fraction(0)] * self.places], reverse=True)[: self.places]

    @cached_property
    def _threads(self) -> SeenThreads:
        if self.found.hz is None:
            raise UnseenError("its guest does not say its hz (wire format version 2)")
        return SeenThreads(self.files.clock, self.found.workers, self.found.hz)

    def _of_row(self) -> Mapping[str, int]:
        cpus, workers = self.found.run.cell.cpus, len(self.found.workers)
        return {"cpus": cpus, "workers": workers, "turn": self.system.arch.turn}

    # what the machine saw

    @property
    def tells_results(self) -> bool:
        """Whether its clock is of a version that tells what became of calls."""
        if self.found.run.lane is not Lane.INSN:
            return False
        log, counts = self.files.clock, self.files.clock.counts
        return bool(log.operations or log.unmeasured or (counts and RETURNS in counts.names))

    def require_clock(self) -> None:
        lane = self.found.run.lane
        if lane is not Lane.INSN:
            raise UnseenError(f"only the instruction clock sees that, and this is lane {lane}")

    def _seen(self, name: str) -> Fraction:
        if name in ("work", "total"):
            return Fraction(getattr(self.found, name))
        if name == OUTSIDE:
            return Fraction(self._outside())
        first, _, rest = name.partition(".")
        of_histogram: Mapping[str, Callable[..., Fraction]]
        of_histogram = {"away": self._of_sleeps, "spent": self._spent, "spans": self._of_spans}
        if first in of_histogram:
            return of_histogram[first](*rest.split("."))
        plain = name.removeprefix(f"{TOTAL}.")
        if plain == LINE or (plain in _MEMORY and not self._counts_accesses(plain)):
            return Fraction(self._of_memory(plain))
        window = WORK if plain == name else TOTAL
        return Fraction(self._counted(window, plain))

    def _of_sleeps(self, histogram: str, what: str) -> Fraction:
        reporters, sleeps = self.reporters(histogram), self.sleeps
        look = {"count": sleeps.count, "sum": sleeps.sum, "max": sleeps.longest}
        return Fraction(look[what](reporters))

    def _spent(self, histogram: str) -> Fraction:
        reporters = self.reporters(histogram)
        ticks = sum(worker.end - worker.start for worker in self.found.workers if worker.id in reporters)
        return ticks * self.ns_of_tick

    def _outside(self) -> int:
        if self.system.boot.scheduler:
            raise UnseenError("the program that loads the scheduler (scx=) executes instructions, too")
        more = self._counted(WHOLE, PROGRAMS) - self._counted(WORK, PROGRAMS)
        cpus, printed = self.found.run.cell.cpus, len(self.files.console)
        counts = self.files.clock.counts
        own = HARNESS + HARNESS_CPU * cpus + HARNESS_BYTE * printed
        own += HARNESS_HISTOGRAM * len(self.found.histograms) * len(self.found.workers)
        if counts and counts.whole and counts.whole.begin == 0 and self.files.start is None:
            own += HARNESS_BOOT + HARNESS_BOOT_CPU * cpus
        return max(0, more - own)

    def _of_spans(self, histogram: str, figure: str) -> Fraction:
        if histogram not in self.files.transcript.histograms:
            return self._threads.of_spans(histogram, figure)
        if histogram not in self.found.measured:
            log = self.files.clock
            why = "the guest has more values" if histogram in log.operations else "an earlier version"
            why = log.unmeasured.get(histogram, why)
            raise UnseenError(f"the machine did not measure {histogram} ({why})")
        return Fraction(int(getattr(self.found.histograms[histogram], figure)))

    def _counts_accesses(self, name: str) -> bool:
        """Whether the clock counted those of programs; a machine with memory counts those of all."""
        counts = self.files.clock.counts
        return counts is not None and name in counts.names

    def is_of_all(self, name: str) -> bool:
        """Whether what it stands for was counted of the kernel, too: so it is at most that."""
        plain = name.removeprefix(f"{TOTAL}.")
        return plain in ACCESSES and not self._counts_accesses(plain)

    def _of_memory(self, name: str) -> int:
        """Of the total window, which a machine with memory books."""
        books, machine = self.files.clock.memory, self.system.memory_machine
        if books is None or machine is None:
            raise UnseenError("only a machine with memory (--machine) counts it")
        if name == LINE:
            return machine.line
        cpus, summed = [cpu.counts for cpu in books.phases[WINDOW]], _MEMORY[name]
        if any(what not in counts for counts in cpus for what in summed):
            raise UnseenError(f"its clock's log has no `{name}` (an earlier version)")
        return sum(counts[what] for counts in cpus for what in summed)

    def _counted(self, window: str, name: str) -> int:
        counts = self.files.clock.counts
        if counts is None:
            raise UnseenError(
                "its clock's log counts no such thing (an earlier version, QEMU before 9.1, or killed)"
            )
        span = {TOTAL: counts.total, WORK: counts.work, WHOLE: counts.whole}[window]
        if span is None and window == WHOLE:
            raise UnseenError("its clock's log does not count the whole run (an earlier version)")
        if span is None:
            raise UnseenError(f"its guest marks no {window} window")
        known = self._counts(window, span)
        if counted := of_program(name):
            name = f"{EVENTS}{counted[-1][0]}"
        if name not in known:
            place = "`observe.calls`" if name.startswith(("syscalls.", "bytes.", *RETURNED)) else "`observe`"
            raise UnseenError(
                f"system {plain_name(self.system.name)} names no `{name}` ({place} in its YAML)"
            )
        return known[name]

    def _counts(self, window: str, span: CountedSpan) -> Mapping[str, int]:
        if window not in self._by_window:
            self._by_window[window] = counts_by_name(span.vcpus, self._calls)
        return self._by_window[window]

    @cached_property
    def _calls(self) -> Mapping[str, int]:
        observe = self.system.observe
        return {name: call.number for name, call in observe.calls.items()} if observe else {}

    @cached_property
    def sleeps(self) -> WorkerSleeps:
        schedule = self.files.schedule
        if schedule is None:
            raise UnseenError(self.files.unobserved or "its threads were not recorded (--threads)")
        slept = worker_sleeps(schedule, self.files.clock, self.found)
        if slept is None:
            raise UnseenError("the record of its threads was full before the window closed")
        return slept

    def waits(self, promise: Promise) -> list[list[int]]:
        """By thread: how long it took until it ran, after each wake-up by another worker in the promise's
        time; the shortest first."""
        names = {name for term in (promise.since, promise.until) if term for name in term.names()}
        marked, values = self.files.marked, {name: self.value(name) for name in names}
        since = marked.work_begin + (promise.since.value(values) if promise.since else 0)
        until = marked.total_begin + promise.until.value(values) if promise.until else marked.work_end
        waits = self.sleeps.waits
        if waits is None:
            raise UnseenError("its record of threads does not say what the guest read (an earlier version)")
        return [sorted(wait.length for wait in some if since <= wait.time < until) for some in waits]

    # what the guest says

    def _metric(self, name: str) -> Fraction:
        if name not in self.found.metrics:
            raise UnseenError(f"its metric {name} has no value")
        value = Fraction(self.found.metrics[name])
        return value / SECOND_NS if self.workload.metrics[name].kind is MetricKind.RATE else value

    def _reported(self, name: str) -> Fraction:
        first, _, rest = name.partition(".")
        what = rest if first in OF_WORKERS else name
        is_time = is_length(what, self.workload.metrics) and not what.endswith(".count")
        length = self.ns_of_tick if is_time else 1
        return self._plain(first, what) * length

    def _plain(self, first: str, what: str) -> Fraction:
        if first == "result":
            return Fraction(self._known(what.partition(".")[2], self.found.result, "result"))
        pick: Callable[[Sequence[int]], int] = {"most": max, "least": min}.get(first, sum)
        histogram, dot, figure = what.rpartition(".")
        if not dot:
            reports = self.found.workers
            values = [self._known(what, report.values, f"value of worker {report.id}") for report in reports]
            if not values:
                raise UnseenError("its guest reports no workers")
            return Fraction(pick(values))
        if figure not in FIGURES:
            raise VerifyError(f"a promise names `{what}`; a histogram has {', '.join(FIGURES)}")
        if first not in OF_WORKERS:
            return Fraction(int(getattr(self.histogram(histogram), figure)))
        return Fraction(pick([int(getattr(one, figure)) for one in self.by_worker(histogram)]))

    def histogram(self, name: str) -> Histogram:
        return merged(self.by_worker(name))

    def reporters(self, histogram: str) -> frozenset[int]:
        """The workers that have values in it."""
        return frozenset(worker for worker, one in enumerate(self.by_worker(histogram)) if one.count)

    def by_worker(self, name: str) -> tuple[Histogram, ...]:
        return self._known(name, self.files.transcript.histograms, "histogram")

    def _known(self, name: str, known: Mapping[str, _Value], what: str) -> _Value:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there is none"
            raise VerifyError(
                f"a promise of {self.workload.name} is of a {what} `{name}`, which the guest did not report; "
                f"{suggestion(name, known, there)}"
            )
        return known[name]

    @property
    def ns_of_tick(self) -> Fraction:
        if self.found.hz is None:
            raise UnseenError("its guest does not say its hz (wire format version 2)")
        return Fraction(SECOND_NS, self.found.hz)
