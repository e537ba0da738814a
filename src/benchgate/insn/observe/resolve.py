"""Finds where a kernel's threads are, and what is counted, for the file that the plugin reads
(c/threads/threads_hooks.h).

Takes an `ObserveDefinition`, the kernel's symbols and its types; gives the text of the file: with threads, or
of what is counted only. Fails with VerifyError if the kernel does not have what the observation names; the
message names the nearest that it has.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.base.files import file_digest
from benchgate.base.system import observe
from benchgate.build.cache import entry
from benchgate.build.fetch.elf import DAMAGE
from benchgate.insn.observe.btf import read_btf
from benchgate.insn.observe.ctypes import UNTYPED, CKind, CType, Field, NoTypes, Types
from benchgate.insn.observe.dwarf import read_dwarf
from benchgate.insn.symbols import addresses_of, is_elf

FILE = "observe.txt"
"""The file in a run's folder that says what was observed."""

Addresses = Mapping[str, tuple[int, ...]]
"""Maps the name of a symbol to its addresses; several functions of a kernel may have one name."""
MOST_STEPS = 60
MOST_LINE = 480
"""The limits of the plugin (PROGRAM_STEPS, LINES_LENGTH)."""
_ORDER = (
    *("when", "thread", "from", "to", "blocked", "dead", "cpu", "queue", "mask"),
    *("number", "bytes", "adds", "object", "next", "which"),
)
"""The order in which the plugin expects the keys of a hook."""
_OF_WAITS = frozenset({observe.HookKind.ASK, observe.HookKind.MAY_WAIT})
_MOVES = frozenset({observe.HookKind.PUT, observe.HookKind.GET})
_NEAREST = 5
_OFFSETS = "__per_cpu_offset"
"""Linux's array of how far each CPU's copy of a per-CPU variable is from its symbol."""
_TRUTHS = frozenset("=<!")
"""The steps whose result is 0 or 1."""
_BINARY = {"+": "+", "-": "-", "*": "*", "&": "&", "|": "|", "==": "=", "<": "<", ">": "<", ">>": ">"}


@dataclass(frozen=True, slots=True)
class _Code:
    """Steps of the plugin (c/threads/threads_program.h) that give a value, or the address where it lies."""

    steps: tuple[str, ...]
    type: CType = UNTYPED
    is_place: bool = False
    bits: tuple[int, int] | None = None


class _Missing(VerifyError):
    """A name that this kernel does not have."""


def observed(
    observation: observe.ObserveDefinition, addresses: Addresses, types: Types, *, threads: bool = True
) -> str:
    """The text of the plugin's file. Without `threads` it is enough to count."""
    result = _Resolver(observation, addresses, types)
    return "\n".join([*(result.lines() if threads else result.counted()), ""])


class _Resolver:
    def __init__(self, observation: observe.ObserveDefinition, addresses: Addresses, types: Types) -> None:
        self._of, self._addresses, self._types = observation, addresses, types
        self._parameters: tuple[CType, ...] = ()
        self._thread = UNTYPED

    def lines(self) -> Iterator[str]:
        self._thread = self._pointer(self._of.type) if self._of.type else UNTYPED
        yield "insn-observe 1"
        begin, end = (self._address(name) if name else 0 for name in self._of.text)
        yield f"text {begin:x} {end:x}"
        yield from self._values("thread", self._of.values, ("id",))
        if "name" in self._of.values:
            place = self._first("thread.name", self._of.values["name"], self._whole)
            yield _line("name", (str(self._of.name_bytes), *place))
        yield from self._values("thread", self._of.values, ("allowed",))
        yield from self._if_known(lambda: self._values("thread", self._of.values, ("interrupt",)))
        for hook in self._of.hooks:
            if _may_lack(hook):
                yield from self._if_known(partial(self._hook, hook))
            else:
                yield from self._hook(hook)
        yield "end"

    def counted(self) -> Iterator[str]:
        with suppress(VerifyError):
            self._thread = self._pointer(self._of.type) if self._of.type else UNTYPED
        yield "insn-observe 1"
        yield "text 0 0"
        for key in ("id", "interrupt"):
            yield from self._if_known(partial(self._values, "thread", self._of.values, (key,)))
        for hook in (one for one in self._of.hooks if one.kind not in _OF_WAITS):
            if _may_lack(hook):
                yield from self._if_known(partial(self._hook, hook))
            elif hook.kind in observe.COUNTED:
                yield from self._hook(hook)
            else:  # the places of threads are not what this is about
                yield from self._followed(hook)
        yield "end"

    def _followed(self, hook: observe.Hook) -> list[str]:
        """What tells which thread it is; or only that it happens."""
        for wanted in (("when", "thread", "to"), ("when",)):
            only = {key: values for key, values in hook.values.items() if key in wanted}
            if lines := self._if_known(partial(self._hook, replace(hook, values=only))):
                return lines
        return []

    def _if_known(self, lines: Callable[[], Iterator[str]]) -> list[str]:
        """The lines, or none if this kernel does not have what they name."""
        try:
            return list(lines())
        except VerifyError:
            return []

    def _hook(self, hook: observe.Hook) -> Iterator[str]:
        found = {name: self._places(hook, name) for name in hook.at}
        if not any(found.values()):
            return  # all of them may be missing
        known = (self._types.parameters(name.rstrip("?")) for name, places in found.items() if places)
        self._parameters = max(known, key=len, default=())
        yield " ".join(filter(None, ("hook", hook.kind, hook.name)))
        for places in found.values():
            for place in places:
                yield f"at {place:x}"
        if hook.only_blocked:
            yield "only blocked"
        yield from self._values(hook.kind, hook.values, _ORDER)

    def _places(self, hook: observe.Hook, name: str) -> tuple[int, ...]:
        places = self._addresses.get(name.rstrip("?"), ())
        if not places and not name.endswith("?"):
            gone = "a function that the compiler inlined or renamed cannot be observed"
            advice = f"{gone}: name another one that it calls, or that calls it"
            lacks = f"this kernel has no symbol `{name}`{self._near(name)}"
            raise VerifyError(f"observe.{hook.kind}.at: {lacks}; {advice}")
        return places

    def _values(
        self, where: str, values: Mapping[str, tuple[observe.Formula, ...]], keys: Iterable[str]
    ) -> Iterator[str]:
        for key in keys:
            if key in values:
                yield _line(key, self._first(f"{where}.{key}", values[key], self._value))

    def _first(
        self, where: str, choices: tuple[observe.Formula, ...], of: Callable[[observe.Tree], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """The first expression whose names this kernel has."""
        why = ""
        for choice in choices:
            try:
                steps = of(choice.tree)
            except _Missing as error:
                why = why or f"observe.{where}: `{choice.text}`: {error}"
                continue
            if len(steps) > MOST_STEPS:
                raise VerifyError(f"observe.{where}: `{choice.text}` is too long for the plugin")
            return steps
        raise VerifyError(why)

    # ---- expressions

    def _value(self, tree: observe.Tree) -> tuple[str, ...]:
        """The steps that give its value. Of an array it is that of the first element."""
        return self._loaded(self._code(tree))

    def _whole(self, tree: observe.Tree) -> tuple[str, ...]:
        """The steps that give the address where it lies, or that it points to."""
        code = self._code(tree)
        return code.steps if code.is_place and code.type.c_kind is CKind.ARRAY else self._value(tree)

    def _code(self, tree: observe.Tree) -> _Code:  # noqa: PLR0911
        match tree:
            case observe.Constant(value):
                return _Code((f"#{value:x}",))
            case observe.Identifier(name):
                return self._word(name)
            case observe.Cast(name, of):
                return _Code(self._value(of), self._pointer(name))
            case observe.Member():
                return self._member(tree)
            case observe.Element(of, index):
                return self._element(of, index)
            case observe.Call(function, values):
                return self._call(function, values)
            case observe.Address(of):
                return _Code(self._code(of).steps)
            case observe.Combination(operator, values):
                return _Code(self._operation(operator, values))

    def _word(self, name: str) -> _Code:
        if name in ("thread", "from"):
            return _Code(("t",), self._thread)
        if name == "cpu":
            return _Code(("v",))
        if name[:3] == "arg" and name[3:] in ("0", "1", "2", "3"):
            number = int(name[3:])
            known = self._parameters[number] if number < len(self._parameters) else UNTYPED
            return _Code((f"a{number}",), known)
        variable = self._types.variable(name)
        return _Code((f"#{self._address(name):x}",), variable or UNTYPED, is_place=variable is not None)

    def _member(self, tree: observe.Member) -> _Code:
        of = self._code(tree.of)
        if tree.is_pointer and of.type.c_kind is CKind.POINTER:
            of = _Code(self._loaded(of), self._target(of.type), is_place=True)
        elif tree.is_pointer:
            advice = "cast it: (type *)"
            raise VerifyError(f"what is before `->{tree.name}` is no pointer of a known type; {advice}")
        if of.type.c_kind is not CKind.STRUCTURE or not of.is_place:
            advice = "cast it: (type *)"
            raise VerifyError(f"what is before `{tree.name}` is no structure of a known type; {advice}")
        field = self._field(of.type, tree.name)
        return _Code(_plus(of.steps, field.offset), field.type, is_place=True, bits=field.bits)

    def _element(self, tree: observe.Tree, index: observe.Tree) -> _Code:
        of = self._code(tree)
        if of.type.c_kind not in (CKind.ARRAY, CKind.POINTER):
            raise VerifyError("what is before `[` is no array of a known type")
        begin = of.steps if of.type.c_kind is CKind.ARRAY else self._loaded(of)
        element = self._target(of.type)
        steps = (*begin, *self._value(index), f"#{element.size:x}", "*", "+")
        return _Code(steps, element, is_place=True)

    def _call(self, function: str, values: tuple[observe.Tree, ...]) -> _Code:
        if function in observe.SIZES:
            return _Code((*self._value(values[0]), f"l{observe.SIZES[function]}"))
        if function == "percpu":
            of = self._code(values[0])
            offset = (f"#{self._address(_OFFSETS):x}", "v", "#8", "*", "+", "l8")
            return _Code((*of.steps, *offset, "+"), of.type, is_place=of.is_place)
        pointer, name, member = values
        if not isinstance(name, observe.Identifier) or not isinstance(member, observe.Identifier):
            raise VerifyError("`container` takes a pointer, the name of a structure and that of its field")
        field = self._field(self._structure(name.name), member.name)
        return _Code((*self._value(pointer), f"#{field.offset:x}", "-"), self._pointer(name.name))

    def _operation(self, operator: str, values: tuple[observe.Tree, ...]) -> tuple[str, ...]:
        sides = [self._value(value) for value in values]
        if operator == "!":
            return (*sides[0], "!")
        if operator in ("&&", "||"):
            truths = [side if side[-1] in _TRUTHS else (*side, "!", "!") for side in sides]
            return (*truths[0], *truths[1], "&" if operator == "&&" else "|")
        if operator == "!=":
            return (*sides[0], *sides[1], "=", "!")
        if operator in (">", "<="):
            sides.reverse()
        if operator in ("<=", ">="):
            return (*sides[0], *sides[1], "<", "!")
        return (*sides[0], *sides[1], _BINARY[operator])

    # ---- names

    def _address(self, name: str) -> int:
        if places := self._addresses.get(name, ()):
            return places[0]
        raise _Missing(f"this kernel has no symbol `{name}`{self._near(name)}")

    def _structure(self, name: str) -> CType:
        ctype = self._types.structure(name)
        if ctype is None:
            raise _Missing(f"this kernel describes no struct `{name}`: it needs BTF or DWARF that has it")
        return ctype

    def _field(self, of: CType, name: str) -> Field:
        field = self._types.field(of, name)
        if field is None:
            near = _nearest(name, self._types.fields(of))
            raise _Missing(f"struct {of.name} of this kernel has no field `{name}`{near}")
        return field

    def _pointer(self, name: str) -> CType:
        return CType(CKind.POINTER, name=self._structure(name).name)

    def _target(self, of: CType) -> CType:
        return self._structure(of.name) if of.name else self._types.target(of)

    def _loaded(self, code: _Code) -> tuple[str, ...]:
        """The steps that give the value of what lies at a place."""
        if not code.is_place:
            return code.steps
        kind = code.type
        while kind.c_kind is CKind.ARRAY:
            kind = self._target(kind)
        if kind.c_kind is CKind.STRUCTURE:
            raise VerifyError(f"struct {kind.name} is no number; name one of its fields")
        if code.bits:
            low, count = code.bits
            return (*code.steps, f"l{_power(low + count)}", f"#{low:x}", ">", f"#{(1 << count) - 1:x}", "&")
        if kind.size not in (1, 2, 4, 8):
            raise VerifyError("the type of a value is not known; say how many bytes it has: u32(address)")
        return (*code.steps, f"l{kind.size}")

    def _near(self, name: str) -> str:
        """The symbols that begin as this one does come first: a compiler adds `.isra.0` and the like."""
        same = [address for address in self._addresses if address.startswith(f"{name}.")]
        return _nearest(name, [*same, *self._addresses], first=same)


def _plus(steps: tuple[str, ...], offset: int) -> tuple[str, ...]:
    if steps[-1:] == ("+",) and steps[-2].startswith("#"):
        return (*steps[:-2], f"#{int(steps[-2][1:], 16) + offset:x}", "+")
    return (*steps, f"#{offset:x}", "+") if offset else steps


def _power(bits: int) -> int:
    return next(size for size in (1, 2, 4, 8) if bits <= 8 * size or size == 8)


def _nearest(name: str, known: Collection[str], first: Collection[str] = ()) -> str:
    near = list(dict.fromkeys([*first, *difflib.get_close_matches(name, known, n=_NEAREST)]))[:_NEAREST]
    return f"; it has {', '.join(f'`{text}`' for text in near)}" if near else ""


def _line(key: str, steps: tuple[str, ...]) -> str:
    line = " ".join((key, *steps))
    if len(line) > MOST_LINE:
        raise VerifyError(f"observe: what `{key}` says is too long for the plugin")
    return line


def _may_lack(hook: observe.Hook) -> bool:
    """Whether a kernel that lacks its functions, or what its expressions name, does without it."""
    is_optional = hook.kind is observe.HookKind.EVENT and all(name.endswith("?") for name in hook.at)
    return is_optional or hook.kind in _MOVES


def types_of(kernel: Path) -> Types:
    """What the kernel's own file says of its types: DWARF of an ELF file, or the BTF of a Linux image."""
    dwarf = read_dwarf(kernel) if is_elf(kernel) else None
    return dwarf or read_btf(kernel) or NoTypes()


def observe_file(
    observation: observe.ObserveDefinition, kernel: Path, symbols: Path, *, threads: bool = True
) -> str:
    """The text of the plugin's file for this kernel; `symbols` names its addresses."""
    own = "".join(map(file_digest, sorted(Path(__file__).parent.glob("*.py"))))
    key = {"observe": repr(observation), "kernel": file_digest(kernel), "of": file_digest(symbols)}
    key |= {"code": own, "threads": str(threads)}

    def make(files: Path) -> None:
        try:
            text = observed(observation, addresses_of(symbols), types_of(kernel), threads=threads)
        except DAMAGE as error:  # a type that is not where another one says
            raise VerifyError(f"{kernel} describes its types in a damaged way: {error}") from error
        (files / FILE).write_text(text, encoding="ascii")

    return (entry("insn-observe", key, make) / FILE).read_text(encoding="ascii")
