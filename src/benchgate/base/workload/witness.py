"""Promises of a workload as data: a claim is an inequality between what it says and what the machine saw.

Takes the text of a claim, such as `syscalls.write >= rounds * workers`; gives a frozen `Claim`, and later
the value of each of its sides from the values of its names. Arithmetic only: + - * / //, parentheses, min,
max, numbers with units. Fails with ValueError, which says what is wrong, for a text that is no claim, for
units that do not fit, and for a value that is too large or a division by zero. Nothing is evaluated but by
this file.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

LONGEST, DEEPEST, LARGEST = 300, 24, 2**200
"""The most characters of a claim, how deep its parentheses go, and the largest number that comes of it."""
SIGNS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]{1,18}(?:\.[0-9]{1,9})?)(?P<unit>[A-Za-z]*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)|(?P<sign><=|>=|==|//|[-+*/(),<>]))"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """Powers of ns and of bytes; a count has neither."""

    ns: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        powers = (("ns", self.ns), ("bytes", self.bytes))
        words = (name if power == 1 else f"{name}^{power}" for name, power in powers if power)
        return " ".join(words) or "a count"

    def times(self, other: Unit, sign: int = 1) -> Unit:
        return Unit(self.ns + sign * other.ns, self.bytes + sign * other.bytes)


COUNT, TIME, SIZE = Unit(), Unit(ns=1), Unit(bytes=1)
UNITS: Mapping[str, tuple[Unit, int]] = {
    "": (COUNT, 1),
    "ns": (TIME, 1),
    "us": (TIME, 1_000),
    "ms": (TIME, 1_000_000),
    "s": (TIME, 1_000_000_000),
    "bytes": (SIZE, 1),
    "KiB": (SIZE, 1 << 10),
    "MiB": (SIZE, 1 << 20),
    "GiB": (SIZE, 1 << 30),
}
"""What a number's unit is, and how many of it the number is."""


@dataclass(frozen=True, slots=True)
class ClaimTerm:
    """A number, a name, or an operation on terms."""

    word: str
    """The number's text, the name, or the operation."""
    unit: Unit
    number: Fraction | None = None
    parts: tuple[ClaimTerm, ...] = ()

    def value(self, values: Mapping[str, Fraction]) -> Fraction:
        if self.number is not None:
            return self.number
        if not self.parts:
            return _bounded(values[self.word])
        return _bounded(_DO[self.word](*(part.value(values) for part in self.parts)))

    def names(self) -> tuple[str, ...]:
        if self.parts:
            return tuple(dict.fromkeys(name for part in self.parts for name in part.names()))
        return () if self.number is not None else (self.word,)


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    sides: tuple[ClaimTerm, ...]
    """Two, or three: `low <= what <= high`."""
    signs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for side in self.sides for name in side.names()))

    def values(self, values: Mapping[str, Fraction]) -> tuple[Fraction, ...]:
        return tuple(side.value(values) for side in self.sides)

    def holds(self, values: Mapping[str, Fraction]) -> bool:
        result = pairwise(self.values(values))
        return all(SIGNS[sign](*pair) for sign, pair in zip(self.signs, result, strict=True))


class Sees(StrEnum):
    """The lengths that a histogram of the guest must contain, as the thread view has them."""

    WAKES = "wakes"
    """From each wake-up of a worker to when it runs."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of `witness:`: a claim, or a histogram that contains what the machine saw."""

    because: str
    when: Mapping[str, tuple[str, ...]]
    """Maps parameters to the choices with which it is made; empty: always."""
    claims: tuple[Claim, ...] = ()
    """The first one counts whose names the system's counts have. Empty: a histogram is compared."""
    histogram: str = ""
    sees: Sees = Sees.WAKES
    since: ClaimTerm | None = None
    """From this time after the first worker began; None: from the begin."""
    until: ClaimTerm | None = None
    """Until this time after the total window began; None: to the end."""

    @property
    def text(self) -> str:
        if self.claims:
            return " or ".join(claim.text for claim in self.claims)
        return f"{self.histogram} contains the {self.sees} that the machine saw"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for claim in self.claims for name in claim.names))

    @property
    def needs_threads(self) -> bool:
        """Whether only a record of the guest's threads shows it."""
        return bool(self.histogram) or any(name.startswith("away.") for name in self.names)

    def is_made(self, params: Mapping[str, object]) -> bool:
        return is_chosen(self.when, params)


@dataclass(frozen=True, slots=True)
class WitnessedPromise:
    """What became of one promise in one run. One that the machine contradicts makes the run invalid."""

    promise: str
    because: str
    seen: str = ""
    """Both sides with their values; empty if it is not witnessed."""
    why: str = ""
    """Why it is not witnessed."""
    figures: tuple[str, ...] = ()
    """What the guest reported that it is about: `wakeup`, `result.calls` ..."""
    exact: tuple[str, ...] = ()
    """Those of them that the promise says are equal to what the machine measured."""
    of_threads: bool = False
    """Whether only a record of threads shows it, which one run of a cell has."""


# ---- the names

MACHINE: Mapping[str, tuple[Unit, str]] = {
    "syscalls": (COUNT, "system calls of user programs"),
    "atomics": (COUNT, "atomic instructions of user programs"),
    "instructions": (COUNT, "instructions of all CPUs"),
    "worked": (COUNT, "instructions of all CPUs outside of loops that only wait"),
    "programs": (COUNT, "instructions of user programs"),
    "spun": (COUNT, "instructions of user programs in loops that only wait, and each of their `pause`s"),
    "spaces": (COUNT, "how often a CPU got another address space"),
    "faults": (COUNT, "page faults"),
    "switches": (COUNT, "how often a CPU went from one thread to another"),
    "wakes": (COUNT, "how often a thread was woken"),
    "forks": (COUNT, "threads and processes that were made"),
    "exits": (COUNT, "threads and processes that ended"),
    "halts": (COUNT, "how often a CPU halted"),
    "ipis": (COUNT, "interrupts between CPUs"),
    "products": (COUNT, "multiplications of two numbers of 64 bits by user programs"),
    "divisions": (COUNT, "divisions of whole numbers by user programs, and those for their remainder"),
    "reads": (COUNT, "reads of memory by user programs"),
    "writes": (COUNT, "writes to memory by user programs"),
    "lines": (COUNT, "accesses that memory had to serve and no cache could, on a machine with memory"),
    "touched": (SIZE, "different memory that was read or written, in whole lines, on a machine with memory"),
    "line": (SIZE, "the length of a line, on a machine with memory"),
}
"""What the machine counts in the work window, of all CPUs together: its unit and what it is. With `total.`
before it, in the total window."""
FAMILIES: Mapping[str, tuple[Unit, str]] = {
    "syscalls.": (COUNT, "system calls of one name"),
    "bytes.": (SIZE, "the bytes that system calls of one name asked for"),
    "done.": (COUNT, "how often system calls of one name succeeded"),
    "moved.": (SIZE, "the bytes that system calls of one name returned"),
    "exchanged.": (SIZE, "of the bytes that they read, those that another thread had written"),
    "events.": (COUNT, "what the system's `observe.events` names"),
    "program.": (COUNT, "how often a function of the workload's own program was called"),
    "different.": (COUNT, "with how many first arguments it was called"),
    "third.": (COUNT, "the sum of the third arguments with which it was called"),
    "between.": (COUNT, "`between.F.G`: instructions of a CPU from a call of one of its functions to G"),
}
WINDOWS: Mapping[str, tuple[Unit, str]] = {
    "outside": (
        COUNT,
        "instructions of user programs before and after the work, from the guest's start to its end",
    ),
    "work": (TIME, "the work window by the clock"),
    "total": (TIME, "the total window by the clock"),
}
SPANS = "spans."
"""`spans.NAME.FIGURE`: of what the machine measured for a histogram of the guest, or beside all of them
(`machine:`). `each.spans.NAME.FIGURE`: of each thread at work."""
ASKED, PERCENTILE = "asked", re.compile(r"p([0-9]{2})")
"""More figures of spans: how long calls that say until when they last were to last, together; and the length
that so many percent of them do not reach."""
AWAY: Mapping[str, tuple[Unit, str]] = {
    "count": (COUNT, "how often the workers that report this histogram slept in their work"),
    "sum": (TIME, "for how long they slept, together"),
    "max": (TIME, "the longest such sleep"),
}
"""`away.HISTOGRAM.NAME`, of the thread view."""
OUTSIDE = "outside"
"""What user programs executed in the whole run and not in the work window, beyond what the harness and the
guest's first program need: to see what else runs on each CPU, for each byte of the console, to look twice at
each bucket of a histogram that it prints, and to boot."""
HARNESS, HARNESS_CPU, HARNESS_BYTE, HARNESS_HISTOGRAM = 400_000, 200_000, 350, 50_000
HARNESS_BOOT, HARNESS_BOOT_CPU = 800_000, 600_000
"""Where the count begins at the machine's reset. Measured on Linux: 0.3 million, and 0.5 million for each
CPU, which the guest's first program brings up and looks at."""
SPENT = "spent."
"""`spent.HISTOGRAM`: for how long the workers that report it were at work, together. The clock compares the
begin of the first worker and the end of the last one."""
RUN: Mapping[str, str] = {
    "cpus": "the CPUs of the row",
    "workers": "the workers that report",
    "turn": "the instructions of a turn of `bench_turns` on the guest's processor, at least",
}
"""What is known of a row without its guest."""
FIGURES = ("count", "sum", "min", "max")
"""What a histogram has."""
EACH = "each"
OF_WORKERS = ("printed", "most", "least", EACH)
"""`printed.VALUE` is what all workers report together, `most.VALUE` and `least.VALUE` what one of them
does. VALUE may also be `HISTOGRAM.FIGURE`. A claim of `each.VALUE` holds for the worker with the most of it,
and so on to the one with the least: which thread a worker is need not be known."""
CHILDREN: Mapping[str, tuple[Unit, str]] = {
    "made": (COUNT, "threads and processes that a worker made in its work"),
    "alive": (COUNT, "how many of them lived at once, at most"),
    "calls": (COUNT, "the system calls of that one of them that made the fewest"),
    "products": (COUNT, "the multiplications of that one of them that made the fewest"),
    "own": (COUNT, "the multiplications of a worker in its work, and of those of them that ended meanwhile"),
}
"""`each.children.NAME`: of each thread at work, by the machine."""


PROGRAM, EVENTS, LINE = "program.", "events.", "line"
_AT_FUNCTIONS = {"program": ("p",), "different": ("d",), "third": ("t",), "between": ("b", "e")}
"""What begins the names of the events that are counted at the functions of a name (c/record/counts.c); the
last event is the count."""
RETURNED = ("done.", "moved.", "exchanged.")
"""Of system calls by name, from their exits; those of threads that the machine knows."""
ACCESSES = ("reads", "writes")
"""Counted where a promise names them."""
_HOOKS = ("faults", "switches", "wakes", "forks", "exits", "ipis")


def needs_events(names: Iterable[str]) -> bool:
    """Whether only functions of the kernel, or of the program, show some of these."""
    plain, known = [name.removeprefix("total.") for name in names], (*_HOOKS, *ACCESSES)
    begins = (EVENTS, *RETURNED, f"{EACH}.children.")
    return any(name in known or name.startswith(begins) or of_program(name) for name in plain)


def of_program(name: str) -> tuple[tuple[str, str], ...]:
    """What must be counted at functions of the workload's program for this name: events, each with its
    function. The last one is what the name stands for."""
    kind, _, rest = name.removeprefix("total.").partition(".")
    known = rest.split(".")
    letters = _AT_FUNCTIONS.get(kind, ())
    return tuple((f"{letter}_{known[0]}", at) for letter, at in zip(letters, known, strict=False))


def of_machine(name: str) -> Unit | None:
    """The unit of what the machine saw; None for another name."""
    if name.startswith(SPENT) and name.count(".") == 1:
        return TIME
    if name.startswith((SPANS, f"{EACH}.{SPANS}")):
        return _unit_of_spans(name.removeprefix(f"{EACH}."))
    if name.startswith(("away.", f"{EACH}.children.")):
        parts, known = name.split("."), AWAY if name.startswith("away.") else CHILDREN
        return known[parts[2]][0] if len(parts) == 3 and parts[2] in known else None
    plain = name.removeprefix("total.")
    if plain in MACHINE:
        return MACHINE[plain][0]
    family = next((text for text in FAMILIES if plain.startswith(text)), "")
    if family and plain != family:
        return FAMILIES[family][0]
    return WINDOWS[name][0] if name in WINDOWS else None


def _unit_of_spans(name: str) -> Unit | None:
    figure = name.rpartition(".")[2]
    if name.count(".") != 2 or not (figure in (*FIGURES, ASKED) or PERCENTILE.fullmatch(figure)):
        return None
    return COUNT if figure == "count" else TIME


def parse(text: str, unit_of: Callable[[str], Unit]) -> Claim:
    """`unit_of` gives the unit of a name, or fails with ValueError for one that does not exist."""
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, more than {LONGEST}")
    return _ClaimParser(text, unit_of).claim()


def parse_length(text: str, unit_of: Callable[[str], Unit]) -> ClaimTerm:
    """A length of time: ValueError for anything else."""
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, more than {LONGEST}")
    return _ClaimParser(text, unit_of).length()


def _bounded(value: Fraction) -> Fraction:
    if abs(value.numerator) > LARGEST or value.denominator > LARGEST:
        raise ValueError("a number in it is too large")
    return value


def _divided(fraction: Fraction, other: Fraction) -> Fraction:
    if not other:
        raise ValueError("it divides by 0")
    return fraction / other


_DO: Mapping[str, Callable[..., Fraction]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _divided,
    "//": lambda one, other: Fraction(_divided(one, other).__floor__()),
    "min": min,
    "max": max,
    "negative": lambda one: -one,
}
_FUNCTIONS = ("min", "max")


class _ClaimParser:
    def __init__(self, text: str, unit_of: Callable[[str], Unit]) -> None:
        self._text = text
        self._unit_of = unit_of
        self._at = 0
        self._deep = 0
        self._match = self._next()

    def claim(self) -> Claim:
        sides, signs = [self._sum()], []
        while (sign := self._take(*SIGNS)) and len(sides) < 3:
            signs.append(sign)
            sides.append(self._sum())
            self._same(sign, sides[-2], sides[-1])
        if not signs or sign or self._match is not None:
            raise self._wrong("expected a comparison: one of " + " ".join(SIGNS) + ", at most two of them")
        return Claim(self._text, tuple(sides), tuple(signs))

    def length(self) -> ClaimTerm:
        term = self._sum()
        if self._match is not None or term.unit != TIME:
            raise self._wrong("expected a length of time")
        return term

    def _sum(self) -> ClaimTerm:
        term = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            self._same(sign, term, other)
            term = ClaimTerm(sign, term.unit, parts=(term, other))
        return term

    def _product(self) -> ClaimTerm:
        term = self._factor()
        while sign := self._take("*", "//", "/"):
            other = self._factor()
            unit = term.unit.times(other.unit, 1 if sign == "*" else -1)
            if sign == "//" and unit != COUNT:
                raise self._wrong(f"`//` rounds {unit}; only a count can be rounded")
            term = ClaimTerm(sign, unit, parts=(term, other))
        return term

    def _factor(self) -> ClaimTerm:
        if self._take("-"):
            term = self._deeper(self._factor)
            return ClaimTerm("negative", term.unit, parts=(term,))
        match = self._match
        if match is None:
            raise self._wrong("it ends too early")
        if match["number"]:
            self._match = self._next()
            return self._number(match["number"], match["unit"])
        if match["name"]:
            self._match = self._next()
            name = str(match["name"])
            return self._call(name) if name in _FUNCTIONS else ClaimTerm(name, self._unit_of(name))
        if not self._take("("):
            raise self._wrong(f"`{match['sign']}` is not expected here")
        term = self._deeper(self._sum)
        self._need(")")
        return term

    def _number(self, digits: str, word: str) -> ClaimTerm:
        if word not in UNITS:
            raise self._wrong(f"`{word}` is no unit; there are {', '.join(filter(None, UNITS))}")
        unit, size = UNITS[word]
        return ClaimTerm(digits + word, unit, number=Fraction(digits) * size)

    def _call(self, name: str) -> ClaimTerm:
        self._need("(")
        parts = [self._deeper(self._sum)]
        while self._take(","):
            parts.append(self._deeper(self._sum))
            self._same(name, parts[0], parts[-1])
        self._need(")")
        if len(parts) < 2:
            raise self._wrong(f"`{name}` needs two values")
        return ClaimTerm(name, parts[0].unit, parts=tuple(parts))

    def _deeper(self, read: Callable[[], ClaimTerm]) -> ClaimTerm:
        self._deep += 1
        if self._deep > DEEPEST:
            raise self._wrong(f"it is nested more than {DEEPEST} deep")
        term = read()
        self._deep -= 1
        return term

    def _same(self, sign: str, term: ClaimTerm, other: ClaimTerm) -> None:
        if term.unit != other.unit:
            raise self._wrong(f"`{sign}` is between {term.unit} and {other.unit}")

    def _take(self, *signs: str) -> str:
        """The next sign, if it is one of these; else nothing."""
        result = self._match["sign"] if self._match is not None else None
        if result not in signs or result is None:
            return ""
        self._match = self._next()
        return str(result)

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise self._wrong(f"`{sign}` is missing")

    def _next(self) -> re.Match[str] | None:
        """The next token; None at the end."""
        if not self._text[self._at :].strip():
            return None
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self._wrong(f"`{self._text[self._at :].strip()[:1]}` is no part of a claim")
        self._at = match.end()
        return match

    def _wrong(self, why: str) -> ValueError:
        return ValueError(f"{why} (near character {self._at} of `{self._text}`)")


def is_chosen(when: Mapping[str, tuple[str, ...]], params: Mapping[str, object]) -> bool:
    """Whether the parameters have these choices."""
    return all(str(params.get(name)) in words for name, words in when.items())
