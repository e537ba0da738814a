"""The text of a machine file from a draft, with a comment above each key that says how it is known.

Takes a `Draft`, a name and what the file says of its origin; gives YAML that plan/machinefile.py reads. Pure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from benchgate.base.text import visible
from benchgate.host.procfs import as_list
from contrib.calibration.draft import Draft
from contrib.calibration.known import DraftCache, DraftFigure

WIDTH = 110


def text(draft: Draft, name: str, source: str, remarks: Sequence[str]) -> str:
    """`source`: the value of the key; `remarks`: more than the draft's own, printed before them."""
    cpus = f"the host's CPUs {as_list(draft.hosts)}, in this order: {' '.join(map(str, draft.hosts))}"
    parts = [
        *_comment(
            "Written by `python -m contrib.calibration`; `benchgate docs calibrate` explains it. A comment "
            "says how the figure below it is known: measured (with the range of what was seen), told by the "
            "host, or assumed."
        ),
        *(line for remark in (*remarks, *draft.remarks) for line in _comment(f"- {remark}")),
        f"name: {name}",
        f"source: {_quoted(source)}",
        *_comment(cpus),
        f"cpus: {len(draft.hosts)}",
        *_said("line", draft.line),
        f"line: {round(draft.line.value)}",
        *(line for cache in draft.caches for line in _cache(cache)),
        *_groups("clusters", draft.clusters, draft.clusters_why),
        *_groups("sockets", draft.sockets, draft.sockets_why),
        *_nodes(draft),
        *_memory(draft),
        *_transfers(draft),
        *_said("atomic_ns", draft.atomic),
        f"atomic_ns: {round(draft.atomic.value)}",
        *_said("interrupt_ns", draft.interrupt),
        f"interrupt_ns: {round(draft.interrupt.value)}",
        *_comment(
            "tlb: left out. A machine has one TLB and a fixed cost of a page walk; hosts have two levels of "
            "them, and walks that may hit any cache. The chase over pages in the CSV file shows this host's."
        ),
    ]
    return "\n".join(parts) + "\n"


def _said(key: str, known: DraftFigure) -> list[str]:
    return _comment(f"{key}: {known.basis}" + (f": {known.why}" if known.why else ""))


def _cache(cache: DraftCache) -> Iterator[str]:
    yield from _said(f"{cache.name}.size", cache.size)
    yield from _said(f"{cache.name}.ways", cache.ways)
    latency = ""
    if cache.latency is not None:
        yield from _said(f"{cache.name}.latency_ns", cache.latency)
        latency = f", latency_ns: {cache.latency.ns}"
    size, ways = _size(round(cache.size.value)), round(cache.ways.value)
    yield f"{cache.name}: {{size: {size}, ways: {ways}{latency}}}"


def _groups(key: str, groups: Sequence[Sequence[int]], why: str) -> Iterator[str]:
    yield from _comment(f"{key}: {why}")
    yield f"{key}: [{', '.join(_list(group) for group in groups)}]"


def _nodes(draft: Draft) -> Iterator[str]:
    yield from _comment(f"nodes: {draft.nodes_why}")
    yield "nodes:"
    count = len(draft.nodes)
    for number, node in enumerate(draft.nodes):
        share = 100 // count + (100 % count if number == 0 else 0)
        yield f"  - {{cpus: {_list(node)}, memory: {share}}}"


def _memory(draft: Draft) -> Iterator[str]:
    yield "memory:"
    yield from _inner(_said("local_ns", draft.local))
    yield f"  local_ns: {draft.local.ns}"
    if draft.remote is not None:
        yield from _inner(_said("remote_ns", draft.remote))
        yield f"  remote_ns: {draft.remote.ns}"
    if draft.bandwidth is not None:
        yield from _inner(_said("bandwidth_gb_s", draft.bandwidth))
        yield f"  bandwidth_gb_s: {_gb_s(draft.bandwidth.value)}"


def _transfers(draft: Draft) -> Iterator[str]:
    if draft.transfers:
        yield "transfer:"
    for key, known in draft.transfers.items():
        yield from _inner(_said(key, known))
        yield f"  {key}: {known.ns}"


def _gb_s(value: float) -> str:
    """Never 0, which is no limit."""
    return f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def _inner(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _comment(words: str) -> list[str]:
    return textwrap.TextWrapper(WIDTH, "# ", "#   ", break_long_words=False).wrap(visible(words))


def _quoted(words: str) -> str:
    """The words as a YAML scalar in single quotes."""
    return "'" + visible(words).replace("'", "''") + "'"


def _list(cpus: Sequence[int]) -> str:
    return f'"{as_list(cpus)}"'


def _size(size: int) -> str:
    return f"{size >> 20}M" if size % (1 << 20) == 0 else f"{size >> 10}K" if size % 1024 == 0 else str(size)
