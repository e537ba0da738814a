"""The table of the keys of a machine's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. machinefile.py reads a file by it, and checks what
concerns several keys.
"""

from __future__ import annotations

from benchgate.base.system.machines import FASTEST_GB_S, FULL_CAPACITY, LONGEST_NS
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    Integer,
    Number,
    Table,
    Text,
    Texts,
    YamlFile,
    name,
)

NO_MEMORY = "none"
"""The value of `memory` for a machine without a memory system."""
ORDERS = ("watch", "strict")
HIT_NS = 1
"""The latency of the first level, which is the instruction's own time."""
_LISTS = ': CPU lists such as ["0-3", "4-7"]'

_FIRST: Table = {
    "size": Text("bytes, such as 32K or 1M", form=r"[0-9]{1,9}[KM]?\Z"),
    "ways": Integer("the lines of a set", low=1, high=128),
    "sets": Integer("the sets; it must agree: sets x ways x line = size", low=1, otherwise="not checked"),
    "latency_ns": Integer("1: a hit costs only its instruction", default=HIT_NS, low=1, high=LONGEST_NS),
}
_OUTER: Table = {
    **_FIRST,
    "latency_ns": Integer("from a load to the use of its value", low=1, high=LONGEST_NS),
}
_MEMORY: Table = {
    "local_ns": Integer("the latency of a node's own memory", low=1, high=LONGEST_NS),
    "remote_ns": Integer(
        "the latency of another node's memory", low=1, high=LONGEST_NS, otherwise="`local_ns`, with one node"
    ),
    "bandwidth_gb_s": Number(
        "of each node, 10^9 bytes a second; 0: no limit", default=0.0, high=FASTEST_GB_S
    ),
}
_FAR = "no two CPUs are that far apart"
_TRANSFER: Table = {
    "cluster_ns": Integer("from another CPU of the cluster", low=1, high=LONGEST_NS, otherwise=_FAR),
    "across_ns": Integer("from another cluster of the socket", low=1, high=LONGEST_NS, otherwise=_FAR),
    "socket_ns": Integer("from another socket", low=1, high=LONGEST_NS, otherwise=_FAR),
}
_NODE: Table = {
    "cpus": Text('its CPUs, such as "0-7"'),
    "memory": Integer("its share of the guest's memory, in percent", low=1, high=100),
}
_TLB: Table = {
    "entries": Integer("the entries of each", low=1, high=1 << 16),
    "ways": Integer("the entries of a set", low=1, high=1 << 16),
    "walk_ns": Integer("the cost of a miss", high=LONGEST_NS),
}
_NAMED: Table = {
    "name": name("part of the rows' names"),
    "source": Text("which machine the figures are of, for the reports"),
}
_CORES: Table = {
    "cpus": Text('the CPUs that are equal, such as "0-3" or "0,2"'),
    "capacity": Integer(
        "how fast they are, on Linux's scale: an instruction takes 1024 / capacity ns",
        low=1,
        high=FULL_CAPACITY,
    ),
}
_EQUAL = Block("equal CPUs", forms=(_CORES,))
_SPEEDS = "its CPUs by their speed; CPU 0 has 1024"
_WITH_MEMORY: Table = {
    **_NAMED,
    "cpus": Integer("how many", low=1, high=MAX_CPUS),
    "line": Integer("bytes of a cache line, a power of two", low=16, high=256),
    "l1d": Block("each CPU's own cache for data", forms=(_FIRST,)),
    "l1i": Block("each CPU's own cache for instructions", forms=(_FIRST,)),
    "l2": Block("each CPU's second level", forms=(_OUTER,)),
    "l3": Block("the last level, one for each cluster", forms=(_OUTER,), otherwise="there is none"),
    "sockets": Texts(f"the CPUs of each socket{_LISTS}", default=None),
    "clusters": Texts(f"the CPUs that share an L3, or are near to each other{_LISTS}", default=None),
    "nodes": Blocks("the nodes; a cluster is in one", Block("a node", forms=(_NODE,))),
    "memory": Block("the memory", forms=(_MEMORY,)),
    "distances": Texts(
        "what the guest is told of the nodes, if not all are one hop apart: from each node to each, with 10 "
        'to itself, such as ["10 16", "16 10"]',
        default=(),
    ),
    "transfer": Block("how long a line takes from another CPU", forms=(_TRANSFER,), otherwise=_FAR),
    "atomic_ns": Integer("what an atomic instruction costs beyond its accesses", high=LONGEST_NS),
    "interrupt_ns": Integer("what an interrupt between CPUs costs its receiver", high=LONGEST_NS),
    "tlb": Block("each CPU's two TLBs, for data and for instructions", forms=(_TLB,), otherwise="none"),
    "order": Choice("how the order of accesses is kept", ORDERS, default=ORDERS[0]),
    "cores": Blocks(_SPEEDS, _EQUAL, otherwise="1 ns for every instruction"),
}
_WITHOUT: Table = {
    **_NAMED,
    "memory": Choice("no memory system at all", (NO_MEMORY,)),
    "cores": Blocks(_SPEEDS, _EQUAL, otherwise="any number of CPUs, and 1 ns for every instruction"),
}

MACHINE = YamlFile(
    "What the instruction clock simulates: memory, CPUs of different speed, or both. Latencies are whole ns.",
    forms=(_WITH_MEMORY, _WITHOUT),
    name="machine",
    title="A machine",
    places=("fixtures/machines/*.yaml",),
)
