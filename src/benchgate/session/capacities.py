"""The host's own speedup beside each row: probe guests, sampled again with every round of its runs.

Takes the session's QEMUs and a row with its CPU counts; gives the bounds from all pairs of samples so far, by
CPU count. A row without QEMU has none. Fails with HostError if the probe guests do not run.
"""

from __future__ import annotations

from benchgate.base.cells import Accel, Lane
from benchgate.base.gates import CapacityBound
from benchgate.host import capacity
from benchgate.host.capacity import CapacityPair
from benchgate.session.machines import Machines


class Capacities:
    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._pairs: dict[tuple[str, int], list[CapacityPair]] = {}

    def sample(
        self, row: str, emulator: str, pins: tuple[int, ...], counts: tuple[int, ...]
    ) -> dict[int, CapacityBound]:
        """Samples one more pair of the row at each count."""
        if emulator not in self._machines.qemus:
            return {}
        probe = self._machines.probe(emulator)
        lane = Lane.KVM if probe.accel is Accel.KVM else Lane.TCG
        bounds = {}
        for count in counts:
            used = pins[:count]
            pairs = self._pairs.setdefault((row, count), [])
            pairs += self._machines.capacity_pair(emulator, used, len(pairs))
            found = capacity.estimate(probe.accel, used, pairs)
            bounds[count] = CapacityBound(lane, count, found.ratio, found.low, found.high)
        return bounds
