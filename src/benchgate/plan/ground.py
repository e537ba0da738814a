"""What planning knows of the host: the CPUs to pin to, and the lane of each kind of system.

Takes the host's topology and the options; gives a `Ground`. Fails with UsageError if --cpus names a CPU that
cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Lane
from benchgate.host import topology
from benchgate.host.topology import Topology
from benchgate.plan.lanes import expected
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground


def ground_of(
    seen: Topology,
    options: Options,
    lanes: Mapping[str, tuple[Lane, str]] | None = None,
    no_insn: str | None = None,
    no_machine: str = "",
) -> Ground:
    """The host's CPUs and the lanes; by default the lanes that are expected before a guest was booted.
    `no_insn`, `no_machine`: as in `Ground`."""
    if lanes is None and options.clock == "both":
        no_insn = ""
    pins = topology.choose_pins(seen, options.cpus)
    every = topology.choose_pins(seen, options.cpus, include_smt=True)
    placement = topology.placement(seen, pins, len(pins))
    usual = lanes or expected(options.clock, placement)
    return Ground(pins, every, usual, placement, no_insn, no_machine=no_machine)
