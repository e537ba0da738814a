"""Finds what is in a claim and decides nothing, so that a promise which no guest could break is refused.

Takes a claim and the values of its parameters; gives the first name of the guest or of the machine whose
value never matters. It is searched for, not proved: a name decides if there are values of all other names and
two of its own, of which the claim holds with one and not with the other. So it does not matter how a name is
made to vanish (a factor of 0, a difference with itself, the smaller one of it and 0). The values are from
nothing to more than a machine does, and agree with each other: a part is never larger than its whole, and
what has one unit, of a window, of a length in it or of the instructions that it took, is not more than a
thousand times as large as another. So a bound that is so far away that no run comes near is found, too. No
length and no size is nothing, because a claim that only 0 breaks says nothing of any length; and what is
executed is never less than a thousand instructions. Nothing fails, and two calls give the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product

from benchgate.base.workload.witness import COUNT, OUTSIDE, RUN, TIME, Claim, ClaimTerm, Unit, of_machine

_SOME = (10**6, 0, 10**12, 1, 10**3, 10**9, 10**15, 2, 16, 10**4, 10**5, 3, 100, 7, 10**7)
"""What counts may be, the most telling values first; the largest one in ns is eleven days."""
_LENGTHS = (10**6, 10**12, 10**3, 10**9, 10**15, 10, 10**4, 10**5, 2 * 10**6, 10**7, 100)
"""What ns and bytes may be."""
_LONGEST = 10**12
"""No length is longer, in ns: no window lasts for a quarter of an hour of the guest's time."""
_EXECUTED = ("instructions", "worked", "programs", OUTSIDE)
_LEAST_EXECUTED, _MOST_OUTSIDE, _APART = 1000, 10**9, 1000
_RATES = tuple(Fraction(value, 10**9) for value in _SOME[3:])
_CPUS = (2, 1, 8, 100)
_EXECUTED_PARTS = ("spun", "products", "divisions")
_WHOLES = {"work": "total", "worked": "instructions", **dict.fromkeys(_EXECUTED_PARTS, "programs")}
_FAMILY_OF = {
    "least": "most.",
    "most": "printed.",
    "done": "syscalls.",
    "exchanged": "moved.",
}
_STEPS = 3
"""So many times something is a part of a part: a minimum, a maximum, a sum."""
_MOST_WORLDS = 400
"""So many choices of the other names are tried."""


def undecided_by(claim: Claim, params: Mapping[str, Sequence[Fraction]]) -> str:
    """The name that decides nothing, whatever the parameters are; empty: each one can decide. `params` has
    the values to try of each parameter."""
    units = {name: unit for side in claim.sides for name, unit in _names(side)}
    given = {**params, **{name: tuple(map(Fraction, _CPUS)) for name in RUN}}
    values = {name: given[name] if name in given else _values(unit) for name, unit in units.items()}
    asked = [name for name in units if name not in given]
    lengths = [name for name in asked if units[name] == TIME]
    return next((name for name in asked if not _decides(claim, name, values, lengths)), "")


def _names(term: ClaimTerm) -> Iterator[tuple[str, Unit]]:
    for part in term.parts:
        yield from _names(part)
    if not term.parts and term.number is None:
        yield term.word, term.unit


def _values(unit: Unit) -> tuple[Fraction, ...]:
    if unit.ns < 0:
        return _RATES
    return tuple(map(Fraction, _SOME if unit == COUNT else _LENGTHS))


def _decides(
    claim: Claim, name: str, values: Mapping[str, Sequence[Fraction]], lengths: Sequence[str]
) -> bool:
    others, parts = [other for other in values if other != name], tuple(_parts(values))
    few = next(n for n in range(len(_SOME), 0, -1) if n ** len(others) <= _MOST_WORLDS or n == 1)
    for chosen in product(*(values[other][:few] for other in others)):
        world = dict(zip(others, chosen, strict=True))
        own = (*values[name], *_edges(claim, name, world))
        worlds = ({**world, name: value} for value in own)
        likely = (world for world in worlds if _is_likely(world, lengths))
        if len(set(_outcomes(claim, likely, parts))) > 1:
            return True
    return False


def _is_likely(world: Mapping[str, Fraction], lengths: Sequence[str]) -> bool:
    known = [world[name] for name in lengths]
    executed = [world[name] for name in _EXECUTED if name in world and name != OUTSIDE]
    outside = world.get(OUTSIDE, Fraction(0))
    if max(known, default=0) > min(_LONGEST, _APART * min(known, default=_LONGEST)):
        return False
    if min(executed, default=_LEAST_EXECUTED) < _LEAST_EXECUTED or outside > _MOST_OUTSIDE:
        return False
    named = sum(value for name, value in world.items() if name.startswith("syscalls."))
    return outside <= _APART * min(executed, default=_MOST_OUTSIDE) and named <= world.get("syscalls", named)


def _edges(claim: Claim, name: str, world: Mapping[str, Fraction]) -> Iterator[Fraction]:
    """Where two sides are equal if they grow evenly with the name, and beside it: an equality holds with no
    other value."""
    try:
        one, other = (claim.values({**world, name: Fraction(value)}) for value in (1, 2))
    except ValueError:
        return
    for left, right in pairwise(range(len(one))):
        rest, more = one[left] - one[right], other[left] - other[right]
        if rest != more:
            edge = 1 + rest / (rest - more)
            yield from (value for value in (edge, edge + 1, edge - 1) if 0 <= value <= max(_SOME))


def _outcomes(
    claim: Claim, worlds: Iterable[Mapping[str, Fraction]], parts: Sequence[tuple[str, str]]
) -> Iterator[bool]:
    for world in worlds:
        if all(world[part] <= world[whole] for part, whole in parts):
            with contextlib.suppress(ValueError):  # a division by zero
                yield claim.holds(world)


def _parts(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Pairs of these names of which the first is never larger than the second."""
    for name in names:
        found = {name}
        for _ in range(_STEPS):
            found |= {whole for part in found for whole in _wholes(part)}
        yield from ((name, whole) for whole in found - {name} if whole in names)


def _wholes(name: str) -> Iterator[str]:
    head, _, rest = name.partition(".")
    before, _, figure = name.rpartition(".")
    if name in _WHOLES:
        yield _WHOLES[name]
    if of_machine(f"total.{name}"):
        yield f"total.{name}"
    if before and figure in ("min", "max"):
        yield f"{before}.{'max' if figure == 'min' else 'sum'}"
    if rest and head in _FAMILY_OF:
        yield f"{_FAMILY_OF[head]}{rest}"
    if rest and head == "syscalls":
        yield head
