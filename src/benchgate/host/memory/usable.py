"""Drops the measurements that no machine file can hold: what a busy host showed instead of its memory.

Takes `SurveyResult`; gives it without them, and with a reason for each in `missing`, so that the rest is
drafted as on a host where they could not be measured. Pure; nothing fails. The points of curves are left out
by survey.py, which needs good ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from benchgate.base.system.machines import FASTEST_GB_S, LONGEST_NS, SLOWEST_GB_S
from benchgate.host.memory.survey import PassSpread, SurveyResult
from benchgate.host.procfs import as_list

Key = TypeVar("Key", str, tuple[int, int], tuple[int, ...])


def usable(seen: SurveyResult) -> SurveyResult:
    missing = list(seen.missing)
    longest = float(LONGEST_NS)
    return replace(
        seen,
        # A cycle is only said; an atomic operation is longer by the instruction's own ns.
        single=_kept("of CPU 0, ns:", seen.single, 1, (0, longest + 1), missing),
        transfers=_kept("transfer, ns, CPUs", seen.transfers, 1, (0, longest), missing),
        handovers=_kept("handover, ns, CPUs", seen.handovers, 1, (0, longest), missing),
        # There and back, of which the file has one half.
        interrupts=_kept("interrupt_ns, CPUs", seen.interrupts, 2, (0, longest), missing),
        streams=_kept("bandwidth_gb_s, CPUs", seen.streams, 1e9, (SLOWEST_GB_S, FASTEST_GB_S), missing),
        remote=_kept("remote_ns, nodes", seen.remote, 1, (0, longest), missing),
        missing=tuple(missing),
    )


def _kept(
    what: str, found: Mapping[Key, PassSpread], unit: float, limits: tuple[float, float], missing: list[str]
) -> dict[Key, PassSpread]:
    """`unit`: so much of a measurement is one of the file's."""
    low, high = limits
    good = {}
    for key, one in found.items():
        if low <= one.value / unit <= high:
            good[key] = one
            continue
        place = key if isinstance(key, str) else as_list(key)
        missing.append(
            f"{what} {place}: {one.value / unit:,.0f} was measured, which is not usable: a machine file "
            f"takes {low:,g} to {high:,g}"
        )
    return good
