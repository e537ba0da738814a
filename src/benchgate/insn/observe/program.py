"""Adds to what the plugin sees of a kernel what a workload asks for: functions of its program, operations.

Takes the text of the plugin's file (resolve.py), what is asked for, and the program; gives the text with it.
What the program or the system does not have is left out. Fails with VerifyError if the program is damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from benchgate.base.system import observe
from benchgate.base.workload.operations import PROGRAM, RECORDER, SLEEPER, SYSCALLS, WAKE, SpanRule
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, addresses_of, read_symbols

_START = ("s_start", "_start")
"""The event with which the program begins, and its function."""
_RESTART = "restart_syscall"
"""Linux's system call that goes on with one that a signal interrupted."""


def with_program(
    text: str, program: Path, functions: Iterable[tuple[str, str]], *, accesses: bool = False
) -> str:
    """The same text, with which these events at functions of the guest's program are counted, too, and with
    `accesses` how often programs read and write memory. One of a function that the program does not have is
    left out."""
    known = addresses_of(program)
    lines = text.splitlines()
    for event, name in (_START, *functions):
        places = [f"at {place:x}" for place in known.get(name, ())]
        lines[-1:-1] = [f"hook event {event}", *places] if places else []
    lines[-1:-1] = ["accesses 1"] if accesses else []
    return "\n".join([*lines, ""])


def with_operations(
    text: str,
    operations: Mapping[str, SpanRule],
    calls: Mapping[str, observe.SystemCall],
    program: Path | None,
) -> str:
    """The same text, with how the machine measures these histograms. Of the calls that begin or end a span,
    those count that the system names; if it names none, the functions of the program."""
    lines, own = text.splitlines(), _OwnCalls(calls, read_symbols(program) if program else NO_SYMBOLS)
    more = [f"restart {calls[_RESTART].number}"] if _RESTART in calls else []
    for name, operation in operations.items():
        begins, ends = own.lines(operation.begins), own.lines(operation.ends)
        records = own.records(operation.record)
        if records and not operation.is_wake:
            ends = begins  # each of the calls is a part of a value
        begins = (WAKE, *begins) if operation.is_wake else begins
        if begins and (ends or records):
            sides = (*(f"from {call}" for call in begins), *(f"to {call}" for call in ends), *records)
            more += [f"operation {name}", *sides, *(["until 1"] if operation.begins == (SLEEPER,) else [])]
    return "\n".join([*lines[:-1], *more, lines[-1], ""])


class _OwnCalls:
    def __init__(self, calls: Mapping[str, observe.SystemCall], program: Symbols) -> None:
        self._calls = {f"{SYSCALLS}{name}": call.number for name, call in calls.items()}
        places = zip(program.names, program.addresses, program.ends, strict=True)
        self._functions = {f"{PROGRAM}{name}": (begin, end) for name, begin, end in places}

    def records(self, number: int | None) -> tuple[str, ...]:
        place = self._functions.get(f"{PROGRAM}{RECORDER}")
        return () if number is None or place is None else (f"record {number} {place[0]:x}",)

    def lines(self, names: Iterable[str]) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(names))
        if known := [self._calls[name] for name in names if name in self._calls]:
            return tuple(f"call {number}" for number in known)
        places = [self._functions[name] for name in names if name in self._functions]
        return tuple(f"function {begin:x} {end:x}" for begin, end in places)
