"""CPUs in groups: the arithmetic of cores, clusters, sockets and nodes. Pure; nothing fails, unless a pair
names a CPU of no group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Groups = tuple[tuple[int, ...], ...]


def group_of(groups: Iterable[tuple[int, ...]], cpu: int) -> tuple[int, ...]:
    return next((group for group in groups if cpu in group), (cpu,))


def joined(groups: Iterable[tuple[int, ...]], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The groups, those of a pair as one."""
    found = [set(group) for group in groups]
    for one, two in pairs:
        first = next(group for group in found if one in group)
        second = next(group for group in found if two in group)
        if first is not second:
            first |= second
            found.remove(second)
    return sorted(tuple(sorted(group)) for group in found)


def renamed(groups: Groups, order: Sequence[int]) -> Groups:
    return tuple(sorted(tuple(sorted(order.index(cpu) for cpu in group)) for group in groups))


def distance(pair: tuple[int, int], clusters: Groups, sockets: Groups) -> str:
    if group_of(clusters, pair[0]) == group_of(clusters, pair[1]):
        return "cluster_ns"
    same = group_of(sockets, pair[0]) == group_of(sockets, pair[1])
    return "across_ns" if same else "socket_ns"


def is_needed(key: str, clusters: Groups, sockets: Groups) -> bool:
    if key == "cluster_ns":
        return any(len(group) > 1 for group in clusters)
    if key == "socket_ns":
        return len(sockets) > 1
    return any(sum(set(one) <= set(socket) for one in clusters) > 1 for socket in sockets)
