"""Reads what the machine itself measured of each thread at work (c/operations/operations.c).

`OperationsReader` takes one line of the clock's log after the other, in words; `operations` gives, by the
name of the guest's histogram, the threads with what was measured of each. The lines are untrusted: a line
outside the format, and a histogram that contradicts itself, is a ValueError.

A span is from the entry of a call to the exit of one, in ns: `inner`. `outer` is from what the guest read
last from its clock before it to what it read first afterwards, where it read both: no honest guest measures
more. Of a value that is the sum of several, `inner` and `outer` include what its clock's ticks make of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchgate.base.statistics.histogram import BUCKETS, Histogram, bounds
from benchgate.insn.log_text import number

MOST_THREADS = 256
"""Threads at work whose operations are recorded, of one run."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_KINDS = ("inner", "outer")
_WORD = 2**64


@dataclass(frozen=True, slots=True)
class AskedTimes:
    """Calls of one thread that say until when they last, as sums."""

    count: int = 0
    until: int = 0
    """What they said, in the program's time."""
    since: int = 0
    """When the thread had read its clock before, by the machine, in ns."""


@dataclass(frozen=True, slots=True)
class Children:
    """Threads and processes that one thread made in its work."""

    made: int
    alive: int
    """So many of them lived at once, at most."""
    calls: int
    """The system calls of that one that made the fewest, of those that have ended."""
    products: int | None = None
    """The same of multiplications; None: an earlier version did not count them."""
    own: int | None = None
    """Those of the thread itself in its work, and of all of these that ended meanwhile; None as above."""


@dataclass(frozen=True, slots=True)
class ThreadOperations:
    """What the machine measured of one thread between its own marks of the work."""

    thread: int
    """The kernel's id of it."""
    worker: int | None
    """The number of the worker; None: only its marks tell."""
    inner: Histogram
    outer: Histogram
    """As many spans as `inner`; each is at least as long."""
    begin: int = 0
    """The time of its first mark, and on which vCPU that was."""
    vcpu: int = 0
    end: int | None = None
    """The time of its last mark; None if it ended without one."""
    started: int | None = None
    """What its program read first from its clock after its first mark, and after its last one: the harness
    reports these as the worker's start and end, in the guest's unit. None if it read nothing."""
    ended: int | None = None
    asked: AskedTimes | None = None
    """None if its calls do not say until when they last."""


@dataclass(frozen=True, slots=True)
class _Thread:
    id: int
    vcpu: int
    begin: int
    end: int | None
    started: int | None
    ended: int | None


@dataclass
class _Spans:
    count: int
    sum: int
    min: int
    max: int
    buckets: dict[int, int] = field(default_factory=dict)

    def histogram(self) -> Histogram:
        buckets = MappingProxyType(dict(sorted(self.buckets.items())))
        _check(self, buckets)
        return Histogram(self.count, self.sum, self.min, self.max, buckets)


def _check(spans: _Spans, buckets: Mapping[int, int]) -> None:
    if sum(buckets.values()) != spans.count:
        raise ValueError("the spans by bucket are not as many as all of them")
    if not buckets:
        if spans.sum or spans.min or spans.max:
            raise ValueError("there is no span, but a sum, a shortest or a longest one")
        return
    first, last = bounds(next(iter(buckets))), bounds(next(reversed(buckets)))
    least, most = (sum(bounds(bucket)[side] * n for bucket, n in buckets.items()) for side in (0, 1))
    is_right = first[0] <= spans.min <= first[1] and last[0] <= spans.max <= last[1]
    if not (is_right and least <= spans.sum <= most):
        raise ValueError("the spans' sum, shortest or longest one does not fit their buckets")


class OperationsReader:
    def __init__(self) -> None:
        self._measured: list[str] = []
        self._threads: list[_Thread] = []
        self._spans: dict[tuple[str, int, str], _Spans] = {}
        self._asked: dict[tuple[str, int], AskedTimes] = {}
        self.children: list[Children] = []
        """By thread at work."""
        self.unmeasured: dict[str, str] = {}
        """Maps the names of histograms that the machine could not measure to the reason."""
        self.words: Mapping[str, Callable[[list[str], int], None]] = {
            "measured": self._name,
            "unmeasured": self._unmeasured,
            "thread": self._thread,
            "spans": self._of_thread,
            "buckets": self._buckets,
            "asked": self._asked_of,
            "children": self._children,
        }
        """Maps a line's first word to its reader, which also takes the number of vCPUs."""

    def _name(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 2 or not _NAME.fullmatch(words[1]) or self._is_known(words[1]) or self._threads:
            raise ValueError("expected `measured NAME`, each once, before all threads")
        self._measured.append(words[1])

    def _is_known(self, name: str) -> bool:
        return name in self._measured or name in self.unmeasured

    def _unmeasured(self, words: list[str], _vcpus: int) -> None:
        reason = " ".join(words[2:])
        is_name = len(words) > 2 and _NAME.fullmatch(words[1]) and not self._is_known(words[1])
        if not is_name or not reason.isprintable() or len(reason) > 200:
            raise ValueError("expected `unmeasured NAME REASON`, of a name that is not measured")
        self.unmeasured[words[1]] = reason

    def _thread(self, words: list[str], vcpus: int) -> None:
        is_next = len(words) == 8 and words[1] == str(len(self._threads))
        if not is_next or not self._measured or len(self._threads) >= MOST_THREADS:
            raise ValueError(
                f"expected `thread N ID VCPU BEGIN END STARTED ENDED`, in order, at most {MOST_THREADS}"
            )
        times = (None if word == "-" else number(word) for word in words[5:])
        self._threads.append(
            _Thread(number(words[2], 2**32), number(words[3], vcpus), number(words[4]), *times)
        )

    def _place(self, words: list[str]) -> tuple[str, int, str]:
        if len(words) < 5 or words[1] not in self._measured or words[3] not in _KINDS:
            raise ValueError(f"expected `{words[0]} NAME N inner|outer ...`, of a name that is measured")
        return words[1], number(words[2], len(self._threads)), words[3]

    def _of_thread(self, words: list[str], _vcpus: int) -> None:
        place = self._place(words)
        if len(words) != 8 or place in self._spans:
            raise ValueError("expected `spans NAME N inner|outer COUNT SUM MIN MAX`, once")
        count, total, least, most = (number(word, _WORD) for word in words[4:])
        self._spans[place] = _Spans(count, total, least, most)

    def _buckets(self, words: list[str], _vcpus: int) -> None:
        spans = self._spans.get(self._place(words))
        if spans is None:
            raise ValueError("buckets without a line `spans` before them")
        for word in words[4:]:
            bucket, _, count = word.partition(":")
            at, times = number(bucket, BUCKETS), number(count)
            if not times or at <= max(spans.buckets, default=-1):
                raise ValueError("a bucket is empty, or does not come in ascending order")
            spans.buckets[at] = times

    def _asked_of(self, words: list[str], _vcpus: int) -> None:
        place = (words[1], number(words[2], len(self._threads))) if len(words) == 6 else ("", 0)
        if (*place, "outer") not in self._spans or place in self._asked:
            raise ValueError(
                "expected `asked NAME N COUNT UNTIL SINCE`, once, after the spans of this thread"
            )
        self._asked[place] = AskedTimes(*(number(word, _WORD) for word in words[3:]))

    def _children(self, words: list[str], _vcpus: int) -> None:
        is_next = len(words) in (5, 6, 7) and words[1] == str(len(self.children))
        if not is_next or len(self.children) >= MOST_THREADS:
            raise ValueError(
                f"expected `children N MADE MOST CALLS PRODUCTS OWN`, in order, at most {MOST_THREADS}"
            )
        made, alive, calls, *products = map(number, words[2:])
        if alive > made or ((calls or any(products[:1])) and not made):
            raise ValueError("more threads lived at once, or did something, than were made")
        self.children.append(Children(made, alive, calls, *products))

    def operations(self, *, closed: bool) -> Mapping[str, tuple[ThreadOperations, ...]]:
        """Gives what was read, by the name of the guest's histogram. It is known only of a whole log."""
        if not closed:
            return MappingProxyType({})
        result = {name: self._of(name) for name in self._measured if name not in self.unmeasured}
        return MappingProxyType(result)

    def _of(self, name: str) -> tuple[ThreadOperations, ...]:
        return tuple(self._made(name, place, thread) for place, thread in enumerate(self._threads))

    def _made(self, name: str, place: int, thread: _Thread) -> ThreadOperations:
        found = [self._spans.get((name, place, kind)) for kind in _KINDS]
        if any(spans is None for spans in found):
            raise ValueError(f"{name} of a thread has no line `spans`")
        inner, outer = (spans.histogram() for spans in found if spans is not None)
        if inner.count != outer.count or inner.sum > outer.sum:
            raise ValueError(f"{name} of a thread has other spans between its reads of the clock than calls")
        times = thread.begin, thread.vcpu, thread.end, thread.started, thread.ended
        return ThreadOperations(thread.id, None, inner, outer, *times, self._asked.get((name, place)))
