"""The figures of a run's threads: the metrics that every observed run has, and the histogram of waits. Pure.

Takes `ThreadBooks`; gives the metrics by name (base/workload/metrics.OF_THREADS) and a histogram in ns. If no
thread waited, the waits are 0. Nothing fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import MappingProxyType

from benchgate.base.statistics.histogram import Histogram, bucket_of
from benchgate.base.workload.metrics import OF_THREADS, SCHED_WAIT, WASTED, WASTED_LONGEST
from benchgate.judge.accounts.threads.books import ThreadBooks


def thread_metrics(books: ThreadBooks) -> dict[str, float]:
    span = (books.end - books.begin) * books.vcpus
    waits = histogram_of(books.wait_lengths)
    own = {
        WASTED: sum(one.wasted for one in books.cpus) / span if span else 0.0,
        WASTED_LONGEST: float(max((one.longest_wasted for one in books.cpus), default=0)),
    }
    of_waits = {name: one.at for name, one in OF_THREADS.items() if one.of == SCHED_WAIT}
    return {**own, **{name: waits.percentile(at) if waits.count else 0.0 for name, at in of_waits.items()}}


def histogram_of(values: Iterable[int]) -> Histogram:
    found = sorted(values)
    buckets = Counter(map(bucket_of, found))
    low, high = (found[0], found[-1]) if found else (0, 0)
    return Histogram(len(found), sum(found), low, high, MappingProxyType(dict(sorted(buckets.items()))))
