"""The script for a guest's prompt: the prompt, and steps that send a line and expect an answer.

Takes the values of a system's YAML file, gives a frozen `Script`; with the values of a run, the same script
with its places filled in. Fails with UsageError if a place has no value, or if a value has a character that
would end the line or control the terminal. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchgate.base.cells import Cell
from benchgate.base.errors import UsageError
from benchgate.base.jsonfields import Seconds
from benchgate.base.text import one_line

PLACE = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)\}")
"""A place in a line, such as `{workers}`. Other braces are typed as they are."""
OF_THE_RUN = ("workload", "mode", "workers", "cpus", "nonce")
"""The places that every run has, beside its workload's parameters."""
PORT = "port"
"""`{port}` and `{port.NAME}` are ports of the host, which are chosen for each run."""
LONGEST_LINE = 1024


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One line that is typed, and what the guest prints then. Patterns are tried on single lines."""

    send: str | None
    """The line to type; None if nothing is typed and no prompt awaited."""
    prompt: str
    """A pattern for the whole incomplete line that must end the console before the line is typed."""
    expect: str = ""
    """The pattern of the answer; empty for the next prompt."""
    captures: tuple[str, ...] = ()
    echo: bool = True
    """Whether the guest prints what is typed."""
    deadline_s: Seconds = 0.0
    """The deadline from its first byte until the next step begins, or until it has its answer."""

    @property
    def wants(self) -> tuple[str, ...]:
        """The patterns of all that it must print; empty if the next prompt is all."""
        return tuple(capture for capture in (self.expect, *self.captures) if capture)

    @property
    def name(self) -> str:
        """The name of the step in messages."""
        return "(nothing is typed)" if self.send is None else f"`{one_line(self.send, 60)}`"


@dataclass(frozen=True, slots=True)
class Script:
    prompt: str
    """The last step without an answer of its own ends when this prompt is back."""
    steps: tuple[ScriptStep, ...]
    ready: str = ""
    """A line that must come before the first prompt; empty if there is none."""
    line_end: str = "\n"
    delay_ns: int = 1_000_000
    """How long a prompt must have been the last thing on the console before the first byte is typed."""
    byte_ns: int = 100_000
    """The time from one typed byte to the next."""

    @property
    def places(self) -> frozenset[str]:
        return frozenset(name for step in self.steps for name in PLACE.findall(step.send or ""))

    @property
    def captures(self) -> tuple[str, ...]:
        return tuple(pattern for step in self.steps for pattern in step.captures)

    def mismatch(self, params: Sequence[str], *, needs_all: bool) -> str:
        """Why these workload parameters do not match the script; empty if they do. With `needs_all`, all must
        be typed, because one that is not typed would only change the row's name."""
        unknown = sorted(self.places - {*OF_THE_RUN, *params})
        if result := [name for name in unknown if name.partition(".")[0] != PORT]:
            return f"a step types {{{result[0]}}}, and it has no such parameter"
        untyped = [name for name in params if name not in self.places]
        return f"no step types {{{untyped[0]}}}, its parameter" if needs_all and untyped else ""

    def shown(self, values: Mapping[str, object]) -> str:
        """The typed text for people to read; a place without a value stays as it is."""
        lines = [step.send for step in self.steps if step.send is not None]
        texts = (PLACE.sub(lambda match: str(values.get(match[1], match[0])), line) for line in lines)
        return "; ".join(f"`{one_line(text)}`" for text in texts)

    def filled(self, values: Mapping[str, object]) -> Script:
        """The script with each place replaced by its value."""
        steps = (replace(step, send=_line(number, step, values)) for number, step in enumerate(self.steps, 1))
        return replace(self, steps=tuple(steps))


def _line(number: int, step: ScriptStep, values: Mapping[str, object]) -> str | None:
    if step.send is None:
        return None

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            known = ", ".join(sorted(values))
            raise UsageError(f"step {number} types {match[0]}, which has no value; there are {known}")
        return str(values[match[1]])

    line = PLACE.sub(value, step.send)
    if wrong := not_typable(line):
        raise UsageError(f"step {number} cannot type `{one_line(line)}`: {wrong}")
    return line


def not_typable(line: str) -> str:
    """Why this line cannot be typed; empty if it can."""
    if not line.isprintable():
        return "it has a control character, which could end the line or control the terminal"
    if len(line.encode()) > LONGEST_LINE:
        return f"it has more than {LONGEST_LINE} bytes"
    return ""


def values_of(cell: Cell, nonce: str) -> dict[str, object]:
    """The values of the places in a run of this cell."""
    run = dict(zip(OF_THE_RUN, (cell.program, cell.mode, cell.cpus, cell.cpus, nonce), strict=True))
    return {**run, **dict(cell.params)}


def port_values(hosts: Mapping[str, int]) -> dict[str, int]:
    """The values of `{port.NAME}`, and of `{port}` if there is one port only."""
    named = {f"{PORT}.{name}": port for name, port in hosts.items()}
    if len(hosts) == 1:
        named[PORT] = next(iter(hosts.values()))
    return named
