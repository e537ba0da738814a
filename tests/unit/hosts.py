"""A good host, its probes and its capacities."""

from __future__ import annotations

from benchgate.base.cells import Accel
from benchgate.host import topology
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.capacity import Capacity
from benchgate.host.fitness import Host
from tests.unit.conftest import Tree, host_files

TCG = AccelProbe(Accel.TCG, ProbeState.USABLE, 5000.0, 0.1, "max", "5,000 million instructions per second")
KVM = AccelProbe(Accel.KVM, ProbeState.USABLE, 9000.0, 0.1, "host", "9,000 million instructions per second")
BAD = AccelProbe(Accel.KVM, ProbeState.PRESENT_UNUSABLE, 1.6, 1.2, "host", "3,125 times slower than tcg")


def capacity(accel: Accel, cpus: int, ratio: float, low: float) -> Capacity:
    return Capacity(cpus, ratio, low, ratio + 0.05, accel, tuple(range(cpus)), ())


def good_host(tree: Tree) -> Host:
    """Two whole cores on bare metal, and KVM that works."""
    host_topology = topology.read(
        tree(host_files("0-3", {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})), affinity=range(4)
    )
    sizes = {(accel, 2): capacity(accel, 2, 1.97, 1.93) for accel in Accel}
    return Host(host_topology, (0, 1), {Accel.KVM: KVM, Accel.TCG: TCG}, sizes)
