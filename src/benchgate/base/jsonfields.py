"""Reads untrusted JSON strictly by the types of a frozen dataclass, and writes it by the same types.

`read` takes a type, parsed JSON and its name; gives a value of the type, or fails with ValueError that names
the place: every key must be known and present, and have the right type and range. `as_json` takes such a
value and gives plain JSON. A type is built of str, int, float, bool, None, enums, literals, paths,
dataclasses, and of tuples, mappings and unions. Rules stand beside it, as in `Annotated[int, Between(1)]`;
without one, a whole number is from 0 to 2**63 and another number finite. tools/schemas.py makes JSON schemas
of the same types.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

MOST = 1e12
"""No valid threshold, ratio or figure is larger."""
LIMITS = {int: (0, 2**63 - 1), float: (-MOST, MOST)}
PLAIN = (str, bool, int, float, NoneType)
_T = TypeVar("_T")


# ---- rules beside a type


@dataclass(frozen=True)
class Between:
    """The range of a number."""

    least: float = 0
    most: float | None = None


@dataclass(frozen=True)
class Matches:
    """The form of a text. `what` completes `it is not ...`."""

    pattern: str
    what: str


@dataclass(frozen=True)
class Printable:
    """The form of a text that may be shown. `lines` says whether it may have several lines."""

    longest: int
    lines: bool = True


@dataclass(frozen=True)
class Size:
    """The range of the number of values in a list."""

    least: int
    most: int


@dataclass(frozen=True)
class As:
    """The value is stored as another type. `read` may fail with ValueError."""

    stored: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


@dataclass(frozen=True)
class OrWord:
    """None is stored as this word."""

    word: str


class Presence(Enum):
    """Says how the JSON has a field that is not a required key of its own."""

    LATER = "absent in files of an earlier version; the field has its default then"
    SPARSE = "written only if it differs from the default"
    APART = "never in the JSON; `read` is given it, or it has its default"
    INLINE = "a dataclass whose keys stand beside the others"


PlainWord = Annotated[str, Matches("[A-Za-z0-9_.:+-]{1,128}", "a plain word")]
PlainWordOrEmpty = Annotated[str, Matches("([A-Za-z0-9_.:+-]{1,128})?", "a plain word")]
Seconds = Annotated[float, Between(0, 1e6)]
Sha256 = Annotated[str, Matches("[0-9a-f]{64}", "a SHA-256")]
Sha256OrEmpty = Annotated[str, Matches("([0-9a-f]{64})?", "a SHA-256")]


def read(kind: type[_T], value: object, where: str, /, **apart: object) -> _T:
    """Reads a value of this type. `apart` has the fields of a dataclass that are not in its JSON."""
    form = form_of(cast("Any", kind))
    result: _T = form.read(value, where, **apart) if isinstance(form, ObjectForm) else form.read(value, where)
    return result


def read_key(kind: Any, value: object, key: str, where: str) -> Any:
    """Reads one value of an object and ignores the rest of it."""
    return form_of(kind).read(_taken(dict(_typed(value, dict, where)), key, where), f"{where}: {key}")


def as_json(value: Any) -> Any:
    """Gives the plain JSON of a value; a dataclass becomes an object."""
    return form_of(value.__class__).write(value)


def without_head(value: object, where: str, advice: str, **head: int | str) -> dict[str, Any]:
    """The object without the keys that state its format, which must have the given values."""
    rest = dict(_typed(value, dict, where))
    for key, due in head.items():
        found = _typed(_taken(rest, key, where), type(due), f"{where}: {key}")
        if found != due:
            raise ValueError(f"{where}: {key} is not {due}; {advice}")
    return rest


def _taken(rest: dict[str, Any], key: str, where: str) -> Any:
    if key not in rest:
        raise ValueError(f"{where} has no {key}")
    return rest.pop(key)


def _typed(value: object, kind: type, where: str) -> Any:
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    why = "is not an object" if kind is dict else f"{value!r:.40} has a wrong type"
    raise ValueError(f"{where} {why}")


def _made(make: Callable[..., Any], where: str, /, *values: object, **named: object) -> Any:
    try:
        return make(*values, **named)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


# ---- the form that is made of a type


@dataclass(frozen=True)
class Form:
    """A plain value. A type that JSON does not have accepts any value."""

    kind: type

    def read(self, value: Any, where: str, /) -> Any:
        return _typed(value, self.kind, where) if self.kind in PLAIN else value

    def write(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class NumberForm(Form):
    least: float
    most: float

    def read(self, value: Any, where: str, /) -> Any:
        """Python reads 1e999, which is valid JSON, as infinity."""
        if self.least <= _typed(value, self.kind, where) <= self.most:
            return self.kind(value)
        name = "whole" if self.kind is int else "finite"
        lower = "" if self.least == -MOST else f" of at least {self.least:.15g}"
        upper = "" if self.most == LIMITS[self.kind][1] else f" of at most {self.most:.15g}"
        raise ValueError(f"{where} {value!r:.40} is not a {name} number{lower}{upper}")


@dataclass(frozen=True)
class ChoiceForm(Form):
    """An enum, or literals."""

    values: Mapping[Any, Any]
    """Maps what is stored to the value that it means."""

    def read(self, value: Any, where: str, /) -> Any:
        for stored, one in self.values.items():
            if type(value) is type(stored) and value == stored:
                return one
        raise ValueError(f"{where} {value!r:.40} is not one of {', '.join(map(str, self.values))}")

    def write(self, value: Any) -> Any:
        return value.value if isinstance(value, Enum) else value


@dataclass(frozen=True)
class UnionForm(Form):
    """The type of the JSON value tells which member it is. At most one member is more than a plain value."""

    plain: Mapping[type, Form]
    other: Form

    def read(self, value: Any, where: str, /) -> Any:
        return self.plain.get(type(value), self.other).read(value, where)

    def write(self, value: Any) -> Any:
        return value if type(value) in self.plain else self.other.write(value)


@dataclass(frozen=True)
class ListForm(Form):
    item: Form

    def read(self, value: Any, where: str, /) -> Any:
        result = _typed(value, list, where)
        return self.kind(self.item.read(one, f"{where}[{n}]") for n, one in enumerate(result))

    def write(self, value: Any) -> Any:
        return [self.item.write(one) for one in (value if self.kind is tuple else sorted(value))]


@dataclass(frozen=True)
class RowForm(Form):
    """A list in which each position has its own type."""

    items: tuple[Form, ...]

    def read(self, value: Any, where: str, /) -> Any:
        if len(_typed(value, list, where)) != len(self.items):
            raise ValueError(f"{where} {value!r:.40} does not have {len(self.items)} values")
        return tuple(form.read(value[n], f"{where}[{n}]") for n, form in enumerate(self.items))

    def write(self, value: Any) -> Any:
        return [form.write(one) for form, one in zip(self.items, value, strict=True)]


@dataclass(frozen=True)
class MapForm(Form):
    key: Form
    item: Form

    def read(self, value: Any, where: str, /) -> Any:
        result = _typed(value, dict, where).items()
        return {self._key(key, where): self.item.read(one, f"{where}: {key!r:.80}") for key, one in result}

    def _key(self, key: str, where: str) -> Any:
        is_number = self.key.kind is int and re.fullmatch("0|[1-9][0-9]{0,17}", key)
        return self.key.read(int(key) if is_number else key, f"{where}: key")

    def write(self, value: Any) -> Any:
        return {str(key): self.item.write(one) for key, one in value.items()}


@dataclass(frozen=True)
class RuledForm(Form):
    """Another form, with rules."""

    form: Form
    rules: tuple[Any, ...]

    def read(self, value: Any, where: str, /) -> Any:
        if any(isinstance(rule, OrWord) and rule.word == value for rule in self.rules):
            return None
        result = self.form.read(value, where)
        for rule in self.rules:
            match rule:
                case Matches(pattern, what) if not re.fullmatch(pattern, result):
                    raise ValueError(f"{where} {value!r:.40} is not {what}")
                case Printable(longest, lines) if (
                    len(result) > longest
                    or not (result.replace("\n", " ") if lines else result).isprintable()
                ):
                    raise ValueError(f"{where} {value!r:.40} is too long, or has a control character")
                case Size(least, most) if not least <= len(result) <= most:
                    raise ValueError(f"{where} has {len(result)} values; {least} to {most} are possible")
                case As():
                    result = _made(rule.read, where, result)
        return result

    def write(self, value: Any) -> Any:
        for rule in self.rules:
            if isinstance(rule, OrWord) and value is None:
                return rule.word
            value = rule.write(value) if isinstance(rule, As) else value
        return self.form.write(value)


class ObjectForm(Form):
    """The form of a dataclass."""

    @functools.cached_property
    def fields(self) -> Mapping[str, tuple[Form, Presence | None]]:
        """The fields that are in the JSON."""
        hints = get_type_hints(self.kind, include_extras=True)
        names = [field.name for field in dataclasses.fields(self.kind) if field.init]
        rules = {name: _rule(Presence, hints[name]) for name in names}
        kept = {name: rule for name, rule in rules.items() if rule is not Presence.APART}
        return {name: (form_of(hints[name]), rule) for name, rule in kept.items()}

    def read(self, value: Any, where: str, /, **apart: object) -> Any:
        rest, result = dict(_typed(value, dict, where)), apart
        for name, (form, presence) in self.fields.items():
            if presence is Presence.INLINE:
                inner = cast("ObjectForm", form_of(form.kind))  # kept: to look up its hints takes 1 ms
                keys = inner.fields.keys() & rest.keys()
                result[name] = form.read({key: rest.pop(key) for key in keys}, where)
            elif presence is None or name in rest:
                result[name] = form.read(_taken(rest, name, where), f"{where}: {name}")
        if rest:
            raise ValueError(f"{where} has an unknown key {min(rest)!r:.80}")
        return _made(self.kind, where, **result)

    def write(self, value: Any) -> Any:
        usual = {field.name: field.default for field in dataclasses.fields(self.kind)}
        written: dict[str, Any] = {}
        for name, (form, presence) in self.fields.items():
            found = getattr(value, name)
            if presence is Presence.INLINE:
                written |= form.write(found)
            elif presence is not Presence.SPARSE or found != usual[name]:
                written[name] = form.write(found)
        return written


def _rule(kind: type[_T], hint: Any) -> _T | None:
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, kind)), None)


@functools.cache
def form_of(hint: Any) -> Form:
    kind: Any = get_origin(hint) or hint
    if kind is Annotated:
        return _ruled(hint.__origin__, hint)
    if kind in (Union, UnionType):
        return _union({form.kind: form for form in map(form_of, get_args(hint))})
    if dataclasses.is_dataclass(kind):
        return ObjectForm(hint)
    if kind is Path:
        return RuledForm(kind, Form(str), (As(str, Path, str),))
    if kind in LIMITS:
        return NumberForm(kind, *LIMITS[kind])
    return _compound(kind, get_args(hint))


def _compound(kind: Any, inner: tuple[Any, ...]) -> Form:
    if kind is Literal or issubclass(kind, Enum):
        return ChoiceForm(kind, {getattr(one, "value", one): one for one in inner or kind})
    if issubclass(kind, Mapping):
        return MapForm(kind, *map(form_of, inner))
    if kind is tuple and inner[-1] is not Ellipsis:
        return RowForm(kind, tuple(map(form_of, inner)))
    return ListForm(kind, form_of(inner[0])) if kind in (tuple, frozenset) else Form(kind)


def _union(forms: Mapping[type, Form]) -> Form:
    plain = {kind: form for kind, form in forms.items() if kind in PLAIN}
    others = [form for kind, form in forms.items() if kind not in PLAIN]
    return UnionForm(
        object, plain, (*others, *(form for kind, form in plain.items() if kind is not NoneType))[0]
    )


def _ruled(hint: Any, with_rules: Any) -> Form:
    other, between = _rule(As, with_rules), _rule(Between, with_rules)
    form = form_of(other.stored if other else hint)
    if between:
        most = LIMITS[form.kind][1] if between.most is None else between.most
        form = NumberForm(form.kind, between.least, most)
    return RuledForm(get_origin(hint) or hint, form, with_rules.__metadata__)
