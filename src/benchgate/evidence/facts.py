"""The parts of session.json that a later judge reads: plan, policy, capacity, symbols, options.

Takes our types and gives plain JSON; takes untrusted JSON and gives our types. Reading fails with
EvidenceError that names the file and the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchgate.base.cell_json import cell_as_json, cell_from_json
from benchgate.base.cells import Cell, Lane, Params
from benchgate.base.clocks import Clock, Clocks, policy_for
from benchgate.base.errors import CatalogError, EvidenceError
from benchgate.base.gates import MINUTES, CapacityBound, Gate, Policy
from benchgate.base.jsonfields import Fields
from benchgate.base.machines import IDEAL, Machine
from benchgate.base.metric_json import metric_as_json, metric_from_json
from benchgate.base.metrics import Metric, with_windows
from benchgate.base.text import one_line
from benchgate.base.void_rule import NO_RULE, VoidRule
from benchgate.insn.symbols import Symbols
from benchgate.plan import machinefile
from benchgate.plan.planned import SweepPlan


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A planned sweep: pairs of a cell and why it is skipped, and the gates."""

    row: str
    cells: tuple[tuple[Cell, str], ...]
    gates: tuple[Gate, ...]
    declared: Mapping[str, Metric] = field(default_factory=dict)
    """The metrics that the workload declared when the session measured it."""


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

    @property
    def words(self) -> tuple[str, str]:
        return self.option, self.path


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


def sweep_as_json(sweep: SweepPlan) -> dict[str, Any]:
    return {
        "row": sweep.row,
        "cells": [{"cell": cell_as_json(one.cell), "skip": one.skip} for one in sweep.cells],
        "gates": [_gate_as_json(one.gate) for one in sweep.gates],
        "metrics": [metric_as_json(one) for one in sweep.declared.values()],
    }


def _gate_as_json(gate: Gate) -> dict[str, Any]:
    base = None if gate.base is None else cell_as_json(gate.base)
    more = [cell_as_json(one) for one in gate.more]
    found = {**plain_json(asdict(gate)), "base": base, "cell": cell_as_json(gate.cell), "more": more}
    return {**found, "settings": dict(gate.settings)}


def read_plan(facts: Mapping[str, Any], where: str) -> tuple[StoredSweep, ...]:
    with _reading(where, "the plan"):
        return tuple(map(_sweep, facts["plan"]))


def _sweep(value: object) -> StoredSweep:
    fields = Fields(value, "a sweep")
    cells = tuple(map(_planned, fields.take("cells", list)))
    gates = tuple(map(_gate, fields.take("gates", list)))
    # absent in sessions of earlier versions
    metrics = map(metric_from_json, fields.take("metrics", list) if fields.has("metrics") else ())
    sweep = StoredSweep(fields.text("row"), cells, gates, {one.name: one for one in metrics})
    fields.done()
    known = with_windows(sweep.declared)
    for gate in gates:
        if gate.metric not in known:
            raise ValueError(f"gate {gate.id} is of {gate.metric}, which is not a metric of its workload")
    return sweep


def _planned(value: object) -> tuple[Cell, str]:
    fields = Fields(value, "a planned cell")
    found = cell_from_json(fields.take("cell", dict)), fields.text("skip")
    fields.done()
    return found


def _gate(value: object) -> Gate:
    fields = Fields(value, "a gate")
    gate = Gate(
        id=fields.text("id"),
        kind=fields.word("kind"),
        base=None if fields.is_null("base") else cell_from_json(fields.take("base", dict)),
        cell=cell_from_json(fields.take("cell", dict)),
        metric=fields.word("window" if fields.has("window") else "metric"),  # `window` in earlier versions
        at_least=fields.real_or_none("at_least"),
        at_most=fields.real_or_none("at_most"),
        insn=fields.real_or_none("insn"),
        file=fields.text("file", ""),
        # these are absent in sessions of earlier versions
        tests=fields.texts("tests", ()),
        more=tuple(map(cell_from_json, fields.take("more", list) if fields.has("more") else ())),
        settings=_settings(fields.take("settings", dict) if fields.has("settings") else {}),
        baseline=fields.text("baseline", ""),
    )
    fields.done()
    return gate


def _settings(value: object) -> Params:
    fields = Fields(value, "the settings of a gate")
    found = tuple((name, fields.word(name)) for name in fields.names())
    fields.done()
    return found


# ---- the policy and the options


def read_policy(facts: Mapping[str, Any], where: str) -> Policy:
    with _reading(where, "the policy"):
        fields = Fields(facts["policy"], "the policy")
        fields.drop("max_voided")  # in sessions of earlier versions
        fields.drop("shows")  # follows from the clocks
        superlinear = fields.real("superlinear")
        policy = Policy(
            name=fields.text("name"),
            looks=fields.numbers("looks"),
            alpha=fields.real("alpha"),
            overall_error=fields.real("overall_error"),
            first=fields.number("first"),
            max_runs=fields.number("max_runs"),
            minutes=fields.real("minutes", MINUTES),  # absent in sessions of earlier versions
            superlinear=superlinear,
            # absent in sessions of earlier versions, which had one factor for all
            superlinear_ideal=fields.real("superlinear_ideal", superlinear),
            capacity_reach=fields.real("capacity_reach"),
            warmups=fields.number("warmups"),
            void=_void_rule(fields.take("void", dict)) if fields.has("void") else NO_RULE,
            machine=fields.text("machine", IDEAL),  # absent in sessions of earlier versions
            informs=fields.text("informs"),
        )
        fields.done()
        return policy


def _void_rule(value: object) -> VoidRule:
    fields = Fields(value, "void")
    limits = {name: fields.real_or_none(name) for name in VoidRule().limits}
    rule = VoidRule(**limits, most=fields.number("most"), share=fields.real("share"))
    fields.done()
    return rule


def clocks_as_json(clocks: Clocks) -> dict[str, Any]:
    looks = {str(clock): list(of) for clock, of in clocks.looks.items()}
    return {"decides": str(clocks.decides), "because": clocks.because, "looks": looks}


def read_clocks(facts: Mapping[str, Any], where: str) -> Clocks | None:
    """Which clock decides; None in a session of one clock."""
    if "clocks" not in facts:
        return None
    with _reading(where, "the clocks"):
        fields = Fields(facts["clocks"], "clocks")
        looks = Fields(fields.take("looks", dict), "the looks")
        clocks = Clocks(
            fields.choice("decides", Clock),
            fields.text("because"),
            {clock: _first_and_last(looks.numbers(clock)) for clock in Clock},
        )
        looks.done()
        fields.done()
        return clocks


def _first_and_last(looks: tuple[int, ...]) -> tuple[int, int]:
    first, last = looks
    return first, last


def read_policy_of(facts: Mapping[str, Any], sweep: StoredSweep, where: str) -> Policy:
    """The policy for the gates of this sweep: those of one clock may only inform."""
    policy, clocks = read_policy(facts, where), read_clocks(facts, where)
    with _reading(where, f"the policy of {sweep.row}"):
        return policy_for(policy, clocks, sweep.cells[0][0])


def read_flag(facts: Mapping[str, Any], name: str, where: str) -> bool:
    """An option that a report depends on: `inconclusive_fails`, `measure`."""
    with _reading(where, f"options.{name}"):
        return Fields(facts["options"], "options").flag(name)


def read_letters(facts: Mapping[str, Any], where: str) -> dict[str, str]:
    """The names of the systems that marks call A, B ...; none in sessions of earlier versions."""
    with _reading(where, "the letters"):
        fields = Fields(facts.get("letters", {}), "the letters")
        return {letter: fields.word(letter) for letter in facts.get("letters", {})}


def read_machine(facts: Mapping[str, Any], name: str, where: str) -> Machine:
    """A machine of the session, by its name."""
    with _reading(where, f"machine {name}"):
        fields = Fields(facts["machines"][name], "a machine")
        text, digest = fields.text("text"), fields.text("digest")
        fields.done()
    try:
        machine = machinefile.parse(text, Path(where))
    except CatalogError as error:
        raise EvidenceError(f"{where}: machine {name}: {error}") from error
    if machine is None or (machine.name, machine.digest) != (name, digest):
        raise EvidenceError(f"{where}: the text of machine {name} is of another machine: its digest differs")
    return machine


def read_programs(facts: Mapping[str, Any], where: str) -> tuple[Program, ...]:
    """The user's programs that judged the session; none in sessions of earlier versions."""
    with _reading(where, "the programs"):
        return tuple(map(_program, facts.get("programs", ())))


def _program(value: object) -> Program:
    fields = Fields(value, "a program")
    program = Program(*(fields.text(name) for name in ("option", "name", "path", "sha256")))
    fields.done()
    if program.option not in PROGRAM_OPTIONS or not Path(program.path).is_absolute():
        raise ValueError(f"{program.option} {program.path} names no program of a user")
    return program


# ---- what was measured besides the runs


def symbols_of(known: Symbols, more: Symbols) -> list[tuple[int, int, str]]:
    """The union of both, in the form of session.json."""
    found = {*zip(known.addresses, known.ends, known.names, strict=True)}
    return sorted(found | {*zip(more.addresses, more.ends, more.names, strict=True)})


def stored_symbols(facts: Mapping[str, Any], where: str, *guests: str) -> Symbols:
    """The symbols that contain samples of the first of these guests that has any; empty without samples."""
    with _reading(where, f"the symbols of {guests[0]}"):
        known = facts.get("symbols", {})
        kept = next((known[guest] for guest in guests if guest in known), ())
        found = sorted((_address(start), _address(end), str(name)) for start, end, name in kept)
    addresses, ends, names = zip(*found, strict=True) if found else ((), (), ())
    return Symbols(addresses, ends, names)


def _address(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not an address")
    return value


def bounds_of(found: Mapping[int, CapacityBound]) -> dict[str, Any]:
    return {str(count): plain_json(asdict(bound)) for count, bound in found.items()}


def read_bounds(facts: Mapping[str, Any], row: str, where: str) -> dict[int, CapacityBound]:
    """One row's capacity bounds; empty if none were measured."""
    with _reading(where, "the capacity"):
        return {int(count): _bound(one) for count, one in facts["capacity"].get(row, {}).items()}


def _bound(value: object) -> CapacityBound:
    fields = Fields(value, "a capacity")
    bound = CapacityBound(
        lane=fields.choice("lane", Lane),
        cpus=fields.number("cpus", 1),
        ratio=fields.real("ratio"),
        low=fields.real("low"),
        high=fields.real("high"),
    )
    fields.done()
    return bound
