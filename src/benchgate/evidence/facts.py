"""The parts of session.json that a later judge reads: plan, policy, capacity, symbols, options; and the
origin of the session's figures, as far as another session must share it.

Takes our types and gives plain JSON; takes untrusted JSON and gives our types. Reading fails with
EvidenceError that names the file and the part; a fact of the origin that is not there is "unavailable".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from benchgate.base.cells import Cell
from benchgate.base.clocks import Clocks, policy_for
from benchgate.base.errors import CatalogError, EvidenceError
from benchgate.base.gates import BOOTS, MINUTES, CapacityBound, Gate, Policy
from benchgate.base.jsonfields import As, Between, PlainWord, Presence, as_json, read, read_key
from benchgate.base.system.machines import IDEAL, AnyMachine
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.base.void_rule import NO_RULE
from benchgate.base.workload.metrics import WINDOWS, Metric, with_windows
from benchgate.insn.symbols import Symbols
from benchgate.plan import machinefile
from benchgate.plan.planned import SweepPlan


@dataclass(frozen=True, slots=True)
class _StoredCell:
    cell: Cell
    skip: str


def _pairs(cells: Iterable[_StoredCell]) -> tuple[tuple[Cell, str], ...]:
    return tuple((stored.cell, stored.skip) for stored in cells)


def _stored_cells(pairs: Iterable[tuple[Cell, str]]) -> list[_StoredCell]:
    return [_StoredCell(*pair) for pair in pairs]


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A planned sweep: pairs of a cell and why it is skipped, and the gates."""

    row: str
    cells: Annotated[tuple[tuple[Cell, str], ...], As(tuple[_StoredCell, ...], _pairs, _stored_cells)]
    gates: tuple[Gate, ...]
    metrics: Annotated[tuple[Metric, ...], Presence.LATER] = ()
    """Those that the workload declared when the session measured it."""
    declared: Mapping[str, Metric] = field(init=False)
    """The same, by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", {metric.name: metric for metric in self.metrics})
        if window := WINDOWS.keys() & self.declared.keys():
            raise ValueError(f"{min(window)} is a window, so no workload declares it")
        known = with_windows(self.declared)
        for gate in self.gates:
            if gate.metric not in known:
                raise ValueError(f"gate {gate.id} is of {gate.metric}, which is not a metric of its workload")


PROGRAM_OPTIONS = ("--workload", "--gate", "--extra-report")


@dataclass(frozen=True, slots=True)
class Program:
    """A user's program that took part in judging: an oracle, a kind of gate, a report."""

    option: str
    """The option of `verify` and `rejudge` that names it."""
    name: str
    path: str
    """What the option is given."""
    sha256: str
    """The digest of the Python file."""

    def __post_init__(self) -> None:
        if self.option not in PROGRAM_OPTIONS or not Path(self.path).is_absolute():
            raise ValueError(f"{self.option} {self.path} names no program of a user")

    @property
    def words(self) -> tuple[str, str]:
        return self.option, self.path


@dataclass(frozen=True, slots=True)
class AskedFeature:
    """A feature of an installed distribution, for which the session had an option. It judges nothing."""

    name: str
    distribution: str
    version: str
    sha256: str
    """The digest of its package."""
    makes_runs: bool
    """Whether it chose who made the session's runs."""


def plain_json(value: Any) -> Any:
    """The value, converted to the types of JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return str(value) if isinstance(value, Path) else value


@contextmanager
def _reading(where: str, what: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        why = one_line(f"{type(error).__name__} {error}")
        raise EvidenceError(f"{where}: {what} cannot be read: {why}") from error


# ---- the plan


def sweep_as_json(sweep: SweepPlan) -> Any:
    gates = tuple(gate.gate for gate in sweep.gates)
    return as_json(StoredSweep(sweep.row, tuple(sweep.pairs), gates, tuple(sweep.declared.values())))


def read_plan(facts: Mapping[str, Any], where: str) -> tuple[StoredSweep, ...]:
    with _reading(where, "the plan"):
        plan = [{**sweep, "gates": [*map(_of_today, sweep["gates"])]} for sweep in facts["plan"]]
        return read(tuple[StoredSweep, ...], plan, "plan")


def _of_today(gate: Any) -> Any:
    """Sessions of earlier versions have `window` in place of `metric`."""
    if "window" not in gate or "metric" in gate:
        return gate
    return {"metric" if name == "window" else name: value for name, value in gate.items()}


# ---- the policy and the options


def read_policy(facts: Mapping[str, Any], where: str) -> Policy:
    with _reading(where, "the policy"):
        result = {
            name: value for name, value in facts["policy"].items() if name not in ("max_voided", "shows")
        }
        # sessions of earlier versions have no such keys, and had one factor for all machines
        earlier = {"minutes": MINUTES, "superlinear_ideal": result.get("superlinear")}
        earlier |= {"void": as_json(NO_RULE), "machine": IDEAL, "boots": BOOTS, "apart": 0.0}
        return read(Policy, earlier | result, "the policy")


def read_clocks(facts: Mapping[str, Any], where: str) -> Clocks | None:
    """Which clock decides; None in a session of one clock."""
    if "clocks" not in facts:
        return None
    with _reading(where, "the clocks"):
        return read(Clocks, facts["clocks"], "clocks")


def read_policy_of(facts: Mapping[str, Any], sweep: StoredSweep, where: str) -> Policy:
    """The policy for the gates of this sweep: those of one clock may only inform."""
    policy, clocks = read_policy(facts, where), read_clocks(facts, where)
    with _reading(where, f"the policy of {sweep.row}"):
        return policy_for(policy, clocks, sweep.cells[0][0])


def read_flag(facts: Mapping[str, Any], name: str, where: str) -> bool:
    """An option that a report depends on: `inconclusive_fails`, `measure`."""
    with _reading(where, f"options.{name}"):
        return bool(read_key(bool, facts["options"], name, "options"))


def read_letters(facts: Mapping[str, Any], where: str) -> dict[str, str]:
    """The names of the systems that marks call A, B ...; none in sessions of earlier versions."""
    with _reading(where, "the letters"):
        return read(dict[str, PlainWord], facts.get("letters", {}), "the letters")


@dataclass(frozen=True, slots=True)
class _StoredMachine:
    text: str
    digest: str


def read_machine(facts: Mapping[str, Any], name: str, where: str) -> AnyMachine:
    """A machine of the session, by its name."""
    with _reading(where, f"machine {name}"):
        stored = read(_StoredMachine, facts["machines"][name], "a machine")
    try:
        machine = machinefile.read(stored.text, Path(where))
    except CatalogError as error:
        raise EvidenceError(f"{where}: machine {name}: {error}") from error
    if machine is None or (machine.name, machine.digest) != (name, stored.digest):
        raise EvidenceError(f"{where}: the text of machine {name} is of another machine: its digest differs")
    return machine


def read_programs(facts: Mapping[str, Any], where: str) -> tuple[Program, ...]:
    """The user's programs that judged the session; none in sessions of earlier versions."""
    with _reading(where, "the programs"):
        return read(tuple[Program, ...], facts.get("programs", []), "programs")


def read_features(facts: Mapping[str, Any], where: str) -> tuple[AskedFeature, ...]:
    """None if the session had only what is part of benchgate."""
    with _reading(where, "the features"):
        return read(tuple[AskedFeature, ...], facts.get("features", []), "features")


# ---- what was measured besides the runs


def symbols_of(known: Symbols, more: Symbols) -> list[list[int | str]]:
    """The union of both, in the form of session.json, which `stored_symbols` reads."""
    result = {*zip(known.addresses, known.ends, known.names, strict=True)}
    return [[*one] for one in sorted(result | {*zip(more.addresses, more.ends, more.names, strict=True)})]


_Address = Annotated[int, Between(0, 2**64 - 1)]


def stored_symbols(facts: Mapping[str, Any], where: str, *guests: str) -> Symbols:
    """The symbols that contain samples of the first of these guests that has any; empty without samples."""
    with _reading(where, f"the symbols of {guests[0]}"):
        known = facts.get("symbols", {})
        kept: object = next((known[guest] for guest in guests if guest in known), [])
        found = sorted(read(tuple[tuple[_Address, _Address, str], ...], kept, "its symbols"))
    addresses, ends, names = zip(*found, strict=True) if found else ((), (), ())
    return Symbols(addresses, ends, names)


def bounds_of(bounds: Mapping[int, CapacityBound]) -> dict[str, Any]:
    return {str(count): as_json(bound) for count, bound in bounds.items()}


def read_bounds(facts: Mapping[str, Any], row: str, where: str) -> dict[int, CapacityBound]:
    """One row's capacity bounds; empty if none were measured."""
    with _reading(where, "the capacity"):
        return read(dict[int, CapacityBound], facts["capacity"].get(row, {}), "capacity")


# ---- the machines


def machine_digests(facts: Mapping[str, Any], where: str) -> dict[str, str]:
    """The digests of the machines with a memory system, by name."""
    machines = part_of(facts, "machines", where)
    return {str(name): one_line(str(part_of(machines, name, where).get("digest")), 64) for name in machines}


def part_of(facts: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    """Absent in sessions of earlier versions."""
    part = facts.get(name, {})
    if not isinstance(part, Mapping):
        raise EvidenceError(f"{where}: {name} is {part!r:.40}, not an object")
    return part


# ---- the machine as one line


ONE_LINE = ("cpu_model", "sockets", "cores", "threads", "hypervisor", "provider", "instance")
LONGEST_LINE = 300


def machine_of(facts: Mapping[str, Any]) -> str:
    """Two sessions on wall time are comparable if it is equal. The host's kernel, load and free memory
    change from day to day, so they are no part of it."""
    envelope = facts.get("envelope")
    seen = envelope if isinstance(envelope, Mapping) else {}
    return one_line(
        ", ".join(f"{name} {_word(seen.get(name, UNAVAILABLE))}" for name in ONE_LINE), LONGEST_LINE
    )


def _word(value: object) -> str:
    """A fact is a short text, a number or a flag; anything else was not written by benchgate."""
    return one_line(str(value)) if isinstance(value, str | int | bool) else UNAVAILABLE
