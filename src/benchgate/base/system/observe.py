"""What the instruction clock observes of a kernel: `observe:` of a system's YAML as types.

Takes the expressions of the file as text; gives frozen types. `formula` parses one expression, in C's
notation, and fails with ValueError that says what is wrong where. What its names mean is found in the
kernel's image (insn/observe/); here nothing is known of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from benchgate.base.yaml.keys import Integer

MOST_CALLS = 1023
"""Numbers of system calls are below this; the clock counts all higher ones as one (insn/counts.OTHERS)."""
LONGEST = 240
"""The most characters of an expression."""
_DEEPEST = 12
"""The most brackets inside each other."""
_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*|->|>>|\|\||&&|[=!<>]=|[-+*&|<>!().,\[\]])"
)
_NAME = re.compile(r"[A-Za-z_]")
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    (">>",),
    ("+", "-"),
    ("*",),
)
"""C's binary operators, from the loosest to the tightest."""
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
"""The functions that read that many bytes at an address, for kernels without type information."""
_FUNCTIONS = {"percpu": 1, "container": 3, **dict.fromkeys(SIZES, 1)}


@dataclass(frozen=True, slots=True)
class Constant:
    value: int


@dataclass(frozen=True, slots=True)
class Identifier:
    """An argument (arg0 ...), `thread`, `from`, `to`, `cpu`, or a symbol of the kernel."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    values: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A field. `is_pointer`: of what a pointer points to."""

    of: Tree
    name: str
    is_pointer: bool


@dataclass(frozen=True, slots=True)
class Element:
    of: Tree
    index: Tree


@dataclass(frozen=True, slots=True)
class Cast:
    """A pointer to a structure of this name."""

    type: str
    of: Tree


@dataclass(frozen=True, slots=True)
class Address:
    """Where something lies."""

    of: Tree


@dataclass(frozen=True, slots=True)
class Combination:
    """One of C's operators; `!` has one value."""

    operator: str
    values: tuple[Tree, ...]


Tree = Constant | Identifier | Call | Member | Element | Cast | Address | Combination


@dataclass(frozen=True, slots=True)
class Formula:
    """One expression."""

    text: str
    tree: Tree


class HookKind(StrEnum):
    """What a thread does at a place in the kernel; from SYSCALL on, what is only counted."""

    FORK = "fork"
    SWITCH = "switch"
    WAKE = "wake"
    SEND = "send"
    """It asks another CPU to do a wake-up."""
    ASK = "ask"
    """The kernel is told to wake a thread."""
    MIGRATE = "migrate"
    ALLOW = "allow"
    EXIT = "exit"
    TICK = "tick"
    """The scheduler looks at the running thread, in a timer interrupt."""
    YIELD = "yield"
    """The running thread gives way."""
    MAY_WAIT = "may_wait"
    """The running thread asks for something that it may have to wait for."""
    SYSCALL = "syscall"
    """A system call, of a kernel whose calls are no instruction that the clock knows."""
    FAULT = "fault"
    """An access of a program, or of the kernel, that the page tables do not allow."""
    IPI = "ipi"
    """An interrupt is sent to another CPU, by a store to a device."""
    EVENT = "event"
    """Something that only the system has a name for."""
    PUT = "put"
    """The running thread's system call writes bytes to an object that another thread reads them from."""
    GET = "get"
    """It reads bytes from such an object."""


COUNTED = frozenset(
    {HookKind.SYSCALL, HookKind.FAULT, HookKind.IPI, HookKind.EVENT, HookKind.PUT, HookKind.GET}
)
"""The kinds that are counted, and tell nothing of threads."""


@dataclass(frozen=True, slots=True)
class Hook:
    """The functions at whose first instruction this happens."""

    kind: HookKind
    at: tuple[str, ...]
    """Their symbols. One that ends with `?` may be missing."""
    values: Mapping[str, tuple[Formula, ...]] = field(default_factory=dict)
    """Maps a key to its expression, or to several, of which the first is used whose names this kernel has."""
    only_blocked: bool = False
    """It happens to a thread only that has blocked or is new; the place is reached for others, too."""
    name: str = ""
    """That of an event."""


@dataclass(frozen=True, slots=True)
class SystemCall:
    """One system call of a kernel."""

    number: Annotated[int, Integer("its number", high=MOST_CALLS - 1)]
    length: Annotated[
        int | None,
        Integer("which argument, from 0 on, says how many bytes it shall move", high=2, otherwise="none"),
    ] = None


@dataclass(frozen=True, slots=True)
class ObserveDefinition:
    """How a kernel's threads are seen, and what is counted of it."""

    type: str
    """The structure of a thread; empty: the kernel has no type information."""
    values: Mapping[str, tuple[Formula, ...]]
    """`id`, `name`, `allowed` and `interrupt`, as in a hook."""
    name_bytes: int
    hooks: tuple[Hook, ...]
    text: tuple[str, str]
    """The symbols at the begin and end of the kernel's code; empty: wake-ups get no trail."""
    calls: Mapping[str, SystemCall] = field(default_factory=dict)
    """The system calls by name."""

    @property
    def lengths(self) -> Mapping[int, int]:
        """By number of a system call: the argument that says how many bytes it shall move."""
        return {call.number: call.length for call in self.calls.values() if call.length is not None}

    @property
    def sees_threads(self) -> bool:
        return any(hook.kind is HookKind.SWITCH for hook in self.hooks)

    def without_queues(self) -> ObserveDefinition:
        """The same, but what the guest counts on its queues is not compared."""
        kept = (
            replace(hook, values={key: of for key, of in hook.values.items() if key != "queue"})
            for hook in self.hooks
        )
        return replace(self, hooks=tuple(kept))


def formula(text: str) -> Formula:
    """Parses an expression."""
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    return Formula(text, _FormulaParser(text).whole())


class _FormulaParser:
    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"has `{text[at:].strip()[:20]}`, where no part of an expression begins")
            self.words.append(match[1])
            at = match.end()
        self.at = self.depth = 0

    def whole(self) -> Tree:
        result = self._level(0)
        if self.at < len(self.words):
            raise ValueError(f"has `{self.words[self.at]}` behind what is already a whole expression")
        return result

    def _inner(self) -> Tree:
        """What is inside of brackets."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"has more than {_DEEPEST} brackets inside each other")
        result = self._level(0)
        self.depth -= 1
        return result

    def _next(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _take(self, *expected: str) -> str:
        word = self._next()
        if not word or (expected and word not in expected):
            wanted = " or ".join(f"`{text}`" for text in expected) or "a value"
            raise ValueError(f"has {f'`{word}`' if word else 'its end'} where {wanted} is expected")
        self.at += 1
        return word

    def _level(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        result = self._level(level + 1)
        while self._next() in _LEVELS[level]:
            result = Combination(self._take(), (result, self._level(level + 1)))
        return result

    def _unary(self) -> Tree:
        if self._next() == "!":
            self._take()
            return Combination("!", (self._unary(),))
        if self._next() == "&":
            self._take()
            return Address(self._unary())
        cast = self.words[self.at : self.at + 5]
        cast = [word for word in cast if word != "struct"]
        if len(cast) > 3 and cast[0] == "(" and _NAME.match(cast[1]) and cast[2:4] == ["*", ")"]:
            self.at += 4 + (self.words[self.at + 1] == "struct")
            return Cast(cast[1], self._unary())
        return self._postfix()

    def _postfix(self) -> Tree:
        result = self._primary()
        while (word := self._next()) in {".", "->", "["}:
            self._take()
            if word == "[":
                result = Element(result, self._inner())
                self._take("]")
            else:
                result = Member(result, self._name(), word == "->")
        return result

    def _name(self) -> str:
        word = self._take()
        if not _NAME.match(word):
            raise ValueError(f"has `{word}` where a name is expected")
        return word

    def _primary(self) -> Tree:
        word = self._take()
        if word == "(":
            result = self._inner()
            self._take(")")
            return result
        if word[0].isdigit():
            if (value := int(word, 0) if word[:2].lower() == "0x" else int(word)) >= 1 << 64:
                raise ValueError(f"has {word}, which does not fit in 64 bits")
            return Constant(value)
        if not _NAME.match(word):
            raise ValueError(f"has `{word}` where a value is expected")
        return self._call(word) if self._next() == "(" else Identifier(word)

    def _call(self, function: str) -> Tree:
        if function not in _FUNCTIONS:
            raise ValueError(f"calls `{function}`; there are {', '.join(_FUNCTIONS)}")
        self._take("(")
        values = [self._inner()]
        while self._next() == ",":
            self._take()
            values.append(self._inner())
        self._take(")")
        if len(values) != _FUNCTIONS[function]:
            raise ValueError(f"gives `{function}` {len(values)} values, and it takes {_FUNCTIONS[function]}")
        return Call(function, tuple(values))
