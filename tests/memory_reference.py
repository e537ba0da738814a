"""The memory system of docs/explanation/memory-model.md, slow and obvious, with which the C is compared.

Written from the document, not from the C: dictionaries and lists, one function per rule, and nothing is kept
that can be looked up. A set is a list of lines, the most recently used one first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

READ, FETCH, WRITE, ATOMIC = range(4)
KINDS = ("read", "fetch", "write", "atomic")
SLOTS = 1 << 17
"""What is older than so many slots of a node's bandwidth is forgotten."""


@dataclass(frozen=True)
class Level:
    sets: int
    ways: int
    latency: int


@dataclass(frozen=True)
class Place:
    cluster: int
    socket: int
    node: int


@dataclass(frozen=True)
class Range:
    first: int
    bytes: int
    node: int


@dataclass(frozen=True)
class Shape:
    l1d: Level
    l1i: Level
    l2: Level
    l3: Level | None
    cpus: tuple[Place, ...]
    ranges: tuple[Range, ...]
    line: int = 64
    local: int = 80
    remote: int = 140
    cluster: int = 30
    across: int = 50
    socket: int = 120
    atomic: int = 5
    interrupt: int = 500
    bandwidth: int = 0
    """ps that one line occupies its node's memory; 0: no limit."""
    tlb: tuple[int, int, int] | None = None
    """Entries, ways, ns of a walk."""

    def text(self, order: str = "watch") -> str:
        """The file that the C reads."""
        none = Level(0, 0, 0)
        levels = {"l1d": self.l1d, "l1i": self.l1i, "l2": self.l2, "l3": self.l3 or none}
        lines = ["benchgate-machine 1", "name fuzz", f"cpus {len(self.cpus)}", f"line {self.line}"]
        lines += [f"{name} {level.sets} {level.ways} {level.latency}" for name, level in levels.items()]
        lines += [f"cpu {n} {p.cluster} {p.socket} {p.node}" for n, p in enumerate(self.cpus)]
        lines += [f"memory {r.first} {r.bytes} {r.node}" for r in self.ranges]
        lines += [f"local_ns {self.local}", f"remote_ns {self.remote}"]
        lines += [f"transfer_cluster_ns {self.cluster}", f"transfer_across_ns {self.across}"]
        lines += [f"transfer_socket_ns {self.socket}", f"atomic_ns {self.atomic}"]
        lines += [f"interrupt_ns {self.interrupt}", f"bandwidth {self.bandwidth}"]
        lines += ["tlb {} {} {}".format(*(self.tlb or (0, 0, 0))), f"order {order}", "end"]
        return "\n".join(lines) + "\n"


class Cache:
    """Lines (or pages) by set; true least recently used."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[list[int]] = [[] for _ in range(sets)]

    def _set(self, line: int) -> list[int]:
        return self.sets[line % len(self.sets)]

    def __contains__(self, line: int) -> bool:
        return line in self._set(line)

    def use(self, line: int) -> None:
        self._set(line).remove(line)
        self._set(line).insert(0, line)

    def put(self, line: int) -> int | None:
        """Makes it the most recently used; gives the line that had to leave."""
        one = self._set(line)
        if line in one:
            self.use(line)
            return None
        one.insert(0, line)
        return one.pop() if len(one) > self.ways else None

    def drop(self, line: int) -> None:
        if line in self._set(line):
            self._set(line).remove(line)

    def clear(self) -> None:
        for one in self.sets:
            one.clear()


@dataclass
class Books:
    accesses: Counter[str] = field(default_factory=Counter)
    count: Counter[str] = field(default_factory=Counter)
    stall_ns: Counter[str] = field(default_factory=Counter)
    invalidations: int = 0
    written_back: int = 0
    outside: int = 0
    touched: int = 0


@dataclass
class Order:
    count: int = 0
    worst_ns: int = 0
    worst_line: int = 0
    total_ns: int = 0
    crossed: int = 0


class Cpu:
    """One CPU's private caches. `held` is the state of each line in its L2: S, E or M."""

    def __init__(self, shape: Shape, place: Place) -> None:
        self.place = place
        self.l1d = Cache(shape.l1d.sets, shape.l1d.ways)
        self.l1i = Cache(shape.l1i.sets, shape.l1i.ways)
        self.l2 = Cache(shape.l2.sets, shape.l2.ways)
        self.held: dict[int, str] = {}
        entries, ways, _ = shape.tlb or (1, 1, 0)
        self.tlbs = [Cache(entries // ways, ways) for _ in range(2)]

    def lose(self, line: int) -> None:
        for cache in (self.l1d, self.l1i, self.l2):
            cache.drop(line)
        del self.held[line]


Move = tuple[str, int, int, int]
"""What moves, the line, the CPU that gets it, and the CPU (from an L3: the cluster) that gives it."""


class Reference:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.cpus = [Cpu(shape, place) for place in shape.cpus]
        self.l3: dict[int, Cache] = {}
        if shape.l3:
            self.l3 = {p.cluster: Cache(shape.l3.sets, shape.l3.ways) for p in shape.cpus}
        self.modified: set[tuple[int, int]] = set()
        """Clusters and lines whose copy in the L3 is newer than memory."""
        self.busy: dict[int, tuple[int, int]] = {}
        """The time from when to when each line is being served."""
        self.read_at: dict[int, dict[int, int]] = defaultdict(dict)
        """The time when each CPU last read a line."""
        self.written_at: dict[int, tuple[int, int]] = {}
        """The CPU that wrote a line last, and when."""
        self.taken: dict[int, set[int]] = defaultdict(set)
        """The taken slots of each node's bandwidth."""
        self.slots_end: Counter[int] = Counter()
        self.books = {(phase, n): Books() for phase in range(2) for n in range(len(shape.cpus))}
        self.order = [Order(), Order()]
        self.phase = 0
        self.touched: set[int] = set()
        """Lines whose data some CPU has used in phase 1."""
        self.late = 0
        self.moves: list[Move] = []

    # ---- one access

    def access(self, a: int, kind: int, line: int, now: int) -> int:
        """The stall."""
        books = self.books[self.phase, a]
        self.late = 0
        if self.node_of(line) is None:
            books.outside += 1
            return 0
        books.accesses[KINDS[kind]] += 1
        if self.phase and kind != FETCH and line not in self.touched:
            self.touched.add(line)
            books.touched += 1
        self.check_order(a, kind, line, now)
        before = books.stall_ns.total()
        if kind in (READ, FETCH):
            self.read(a, line, now, self.cpus[a].l1i if kind == FETCH else self.cpus[a].l1d)
        else:
            self.write(a, line, now)
        if kind == ATOMIC:
            self.charge(a, "atomic", self.shape.atomic)
        return books.stall_ns.total() - before

    def read(self, a: int, line: int, now: int, first: Cache) -> None:
        cpu = self.cpus[a]
        if line in cpu.held:
            self.serve_private(a, line, first)
            return
        owner, own = self.owner(line), cpu.place.cluster
        state = "E" if self.alone(a, line) else "S"
        waited = self.wait_for_line(a, line, now)
        served_at = now + waited
        service, place = self.serve_from_outside(a, line, served_at)
        self.keep_busy(line, now, waited, service)
        if owner is not None:
            self.share_owner(a, owner, line, served_at)
        self.share_l3s(a, line, served_at)
        if place == "l3":
            self.l3[own].use(line)
        elif own in self.l3 and line not in self.l3[own]:
            self.into_l3(a, own, line, served_at, modified=False)
        self.fill(a, line, state, first, served_at)

    def write(self, a: int, line: int, now: int) -> None:
        cpu = self.cpus[a]
        farthest = self.farthest(a, line)
        if line in cpu.held:
            place = self.serve_private(a, line, cpu.l1d)
            if cpu.held[line] == "S":
                self.upgrade(a, line, now, max(0, farthest - self.latency(place)), place)
            self.take_away(a, line)
            cpu.held[line] = "M"
            return
        waited = self.wait_for_line(a, line, now)
        served_at = now + waited
        service, place = self.serve_from_outside(a, line, served_at)
        more = max(0, farthest - self.latency(place))
        self.books[self.phase, a].stall_ns["upgrade"] += more
        self.keep_busy(line, now, waited, service + more)
        if place == "l3":
            self.l3[cpu.place.cluster].use(line)
        self.take_away(a, line)
        self.fill(a, line, "M", cpu.l1d, served_at)

    def upgrade(self, a: int, line: int, now: int, more: int, place: str) -> None:
        waited = self.wait_for_line(a, line, now)
        self.charge(a, "upgrade", more)
        if more:
            self.keep_busy(line, now, waited, self.latency(place) + more)

    # ---- where a line is

    def node_of(self, line: int) -> int | None:
        address = line * self.shape.line
        result = [r.node for r in self.shape.ranges if r.first <= address < r.first + r.bytes]
        return result[0] if result else None

    def holders(self, line: int) -> list[int]:
        return [n for n, cpu in enumerate(self.cpus) if line in cpu.held]

    def owner(self, line: int) -> int | None:
        result = [n for n in self.holders(line) if self.cpus[n].held[line] in ("E", "M")]
        return result[0] if result else None

    def l3s(self, line: int) -> list[int]:
        return [cluster for cluster, cache in self.l3.items() if line in cache]

    def modified_l3(self, line: int) -> int | None:
        result = [cluster for cluster in self.l3s(line) if (cluster, line) in self.modified]
        return result[0] if result else None

    def alone(self, a: int, line: int) -> bool:
        """Neither another L2 nor the L3 of another cluster has it."""
        return not self.holders(line) and not set(self.l3s(line)) - {self.cpus[a].place.cluster}

    # ---- how far it is

    def distance(self, a: int, cluster: int) -> str:
        here = self.cpus[a].place
        if here.cluster == cluster:
            return "transfer_cluster"
        there = next(place.socket for place in self.shape.cpus if place.cluster == cluster)
        return "transfer_across" if here.socket == there else "transfer_socket"

    def latency(self, place: str) -> int:
        shape = self.shape
        return {
            "l1": 1,
            "l2": shape.l2.latency,
            "l3": shape.l3.latency if shape.l3 else 0,
            "local": shape.local,
            "remote": shape.remote,
            "transfer_cluster": shape.cluster,
            "transfer_across": shape.across,
            "transfer_socket": shape.socket,
        }[place]

    def farthest(self, a: int, line: int) -> int:
        """The latency of the farthest cache that a write takes the line from; 0: there is none."""
        own = self.cpus[a].place.cluster
        clusters = [self.cpus[n].place.cluster for n in self.holders(line) if n != a]
        clusters += [cluster for cluster in self.l3s(line) if cluster != own]
        return max((self.latency(self.distance(a, cluster)) for cluster in clusters), default=0)

    def source(self, a: int, line: int) -> tuple[str, Move]:
        """Gives the place of a line's data that this CPU does not hold."""
        here, owner, giver = self.cpus[a].place, self.owner(line), self.modified_l3(line)
        if owner is not None:
            return self.distance(a, self.cpus[owner].place.cluster), ("transfer", line, a, owner)
        if here.cluster in self.l3s(line):
            return "l3", ("l3", line, a, a)
        if giver is not None:
            return self.distance(a, giver), ("l3_out", line, a, giver)
        return "local" if self.node_of(line) == here.node else "remote", ("fill", line, a, a)

    # ---- what an access costs

    def charge(self, a: int, what: str, ns: int) -> None:
        books = self.books[self.phase, a]
        books.count[what] += 1
        books.stall_ns[what] += ns

    def serve_private(self, a: int, line: int, first: Cache) -> str:
        if line in first:
            first.use(line)
            self.charge(a, "l1", 0)
            return "l1"
        self.cpus[a].l2.use(line)
        self.charge(a, "l2", self.latency("l2") - 1)
        first.put(line)
        return "l2"

    def serve_from_outside(self, a: int, line: int, now: int) -> tuple[int, str]:
        """Says how long the line is being served, and from where."""
        place, move = self.source(a, line)
        self.moves.append(move)
        self.charge(a, place, self.latency(place) - 1)
        wait = self.move_a_line(line, now) if place in ("local", "remote") else 0
        if wait > 0:
            self.charge(a, "queue", wait)
        return self.latency(place) + wait, place

    def wait_for_line(self, a: int, line: int, now: int) -> int:
        begin, end = self.busy.get(line, (0, 0))
        if not begin <= now < end:
            return 0
        self.charge(a, "busy", end - now)
        return end - now

    def keep_busy(self, line: int, now: int, waited: int, service: int) -> None:
        """Behind what was waited for, else from now on. An access from before does not matter: it is late."""
        begin, end = self.busy.get(line, (0, 0))
        if waited:
            self.busy[line] = (begin, end + service)
        elif now >= begin:
            self.busy[line] = (now, now + service)

    def move_a_line(self, line: int, now: int) -> int:
        """Takes the first free slot of the node's bandwidth; gives how many ns after now it begins."""
        node, length = self.node_of(line), self.shape.bandwidth
        assert node is not None
        if length == 0:
            return 0
        slot = now * 1000 // length
        if slot + SLOTS < self.slots_end[node]:
            return 0  # too long ago
        while slot in self.taken[node]:
            slot += 1
        self.taken[node].add(slot)
        self.slots_end[node] = max(SLOTS, self.slots_end[node], (slot // 64 + 1) * 64)
        return max(0, -(-(slot * length - now * 1000) // 1000))

    # ---- what an access changes

    def share_owner(self, a: int, owner: int, line: int, now: int) -> None:
        """A read takes the line from its owner, who keeps it for reading."""
        if self.cpus[owner].held[line] == "M":
            self.leave_l2(a, owner, line, now)
        self.cpus[owner].held[line] = "S"

    def share_l3s(self, a: int, line: int, now: int) -> None:
        """What a cluster reads that another one's L3 has modified goes to memory."""
        giver = self.modified_l3(line)
        if giver not in (None, self.cpus[a].place.cluster):
            self.modified.remove((giver, line))
            self.moves.append(("l3_back", line, giver, giver))
            self.to_memory(a, line, now)

    def take_away(self, a: int, line: int) -> None:
        """A write takes the line from every other L2 and the L3s of other clusters. The own L3's copy stays
        behind as if it were clean; nobody uses it before this CPU's data comes back to it."""
        for other in self.holders(line):
            if other != a:
                self.moves.append(("invalidate", line, a, other))
                self.cpus[other].lose(line)
                self.books[self.phase, a].invalidations += 1
        for cluster in self.l3s(line):
            self.modified.discard((cluster, line))
            if cluster != self.cpus[a].place.cluster:
                self.l3[cluster].drop(line)

    def fill(self, a: int, line: int, state: str, first: Cache, now: int) -> None:
        """Into the L2 and the L1."""
        cpu = self.cpus[a]
        victim = cpu.l2.put(line)
        cpu.held[line] = state
        if victim is not None:
            if cpu.held[victim] == "M":
                self.leave_l2(a, a, victim, now)
            cpu.lose(victim)
        first.put(line)

    def leave_l2(self, a: int, owner: int, line: int, now: int) -> None:
        """Modified data leaves an L2: for its L3 or, without one, for memory."""
        cluster = self.cpus[owner].place.cluster
        if cluster in self.l3:
            self.books[self.phase, a].written_back += 1
            self.moves.append(("back_l3", line, owner, owner))
            self.into_l3(a, cluster, line, now, modified=True)
        else:
            self.moves.append(("back", line, owner, owner))
            self.to_memory(a, line, now)

    def into_l3(self, a: int, cluster: int, line: int, now: int, *, modified: bool) -> None:
        victim = self.l3[cluster].put(line)
        if modified:
            self.modified.add((cluster, line))
        if victim is not None and (cluster, victim) in self.modified:
            self.modified.remove((cluster, victim))
            self.moves.append(("l3_back", victim, cluster, cluster))
            self.to_memory(a, victim, now)

    def to_memory(self, a: int, line: int, now: int) -> None:
        self.books[self.phase, a].written_back += 1
        self.move_a_line(line, now)  # nobody waits

    # ---- order

    def check_order(self, a: int, kind: int, line: int, now: int) -> None:
        """Late: the value is from a later time, or another CPU has already read or written at a later time
        what this access writes."""
        writer, written = self.written_at.get(line, (a, 0))
        reads = self.read_at[line]
        after_write = written - now if writer != a else 0
        after_read = max((t - now for b, t in reads.items() if b != a), default=0)
        is_write = kind in (WRITE, ATOMIC)
        self.late = max(0, after_write, after_read if is_write else 0)
        if self.late > 0:
            order = self.order[self.phase]
            order.count += 1
            order.total_ns += self.late
            order.crossed += kind == WRITE and after_read <= 0
            if self.late > order.worst_ns:
                order.worst_ns, order.worst_line = self.late, line
        if kind != WRITE:
            reads[a] = now
        if is_write:
            self.written_at[line] = a, now

    # ---- beside accesses

    def walk(self, a: int, code: bool, page: int) -> int:
        if self.shape.tlb is None:
            return 0
        tlb = self.cpus[a].tlbs[code]
        known = page in tlb
        tlb.put(page)
        if known:
            return 0
        self.charge(a, "walk", self.shape.tlb[2])
        return self.shape.tlb[2]

    def flush(self, a: int) -> None:
        for tlb in self.cpus[a].tlbs:
            tlb.clear()

    def interrupt(self, a: int) -> int:
        self.charge(a, "interrupt", self.shape.interrupt)
        return self.shape.interrupt
