"""What the machine measured of the threads at work, for promises: of all together, or of each.

Takes a clock's log and the reports of a guest's workers; gives figures in ns or as counts. Fails with
`UnseenError`, which says why the machine does not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from benchgate.base.runs import WorkerReport
from benchgate.base.statistics.histogram import Histogram, merged
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.witness import ASKED, PERCENTILE
from benchgate.insn.log import ClockLog
from benchgate.insn.operations import ThreadOperations
from benchgate.judge.checks.measured import clock_ahead

_EARLIER = "an earlier version, or threads that it does not know"


class UnseenError(Exception):
    """Why the machine did not see what a name stands for."""


class SeenThreads:
    """`hz`: of the clock that the guest's workers report."""

    def __init__(self, log: ClockLog, reports: Sequence[WorkerReport], hz: int) -> None:
        self._log, self._reports, self._hz = log, reports, hz

    def of_spans(self, name: str, figure: str) -> Fraction:
        """Of the spans of all threads together."""
        if figure == ASKED:
            return sum(self._asked(name), Fraction(0))
        return _figure(merged(one.inner for one in self._threads(name)), figure)

    def of_each(self, name: str, figure: str) -> list[Fraction]:
        if figure == ASKED:
            return self._asked(name)
        return [_figure(one.inner, figure) for one in self._threads(name)]

    def children(self, what: str) -> list[Fraction]:
        if not self._log.children:
            raise UnseenError(f"its clock's log says nothing of the threads that workers made ({_EARLIER})")
        found = [getattr(one, what) for one in self._log.children]
        if None in found:
            raise UnseenError(
                f"its clock's log does not say {what} of the threads that workers made ({_EARLIER})"
            )
        return [Fraction(int(one)) for one in found]

    def _threads(self, name: str) -> tuple[ThreadOperations, ...]:
        if not self._log.operations.get(name):
            raise UnseenError(
                f"the machine did not measure {name} ({self._log.unmeasured.get(name, _EARLIER)})"
            )
        return self._log.operations[name]

    def _asked(self, name: str) -> list[Fraction]:
        """By thread. The program's clock is ahead of the machine's by the same time for all workers."""
        threads = self._threads(name)
        asked = [one.asked for one in threads if one.asked is not None]
        ahead = clock_ahead(threads, self._reports, self._hz)
        if len(asked) < len(threads) or ahead is None:
            raise UnseenError(f"until when the calls of {name} were to last is not known ({_EARLIER})")
        return [Fraction(of.until * SECOND_NS, self._hz) - of.since - of.count * ahead for of in asked]


def _figure(spans: Histogram, figure: str) -> Fraction:
    percentile = PERCENTILE.fullmatch(figure)
    if percentile is None:
        return Fraction(int(getattr(spans, figure)))
    return Fraction(spans.percentile(int(percentile[1]))) if spans.count else Fraction(0)
