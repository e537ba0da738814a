"""Guesses what the YAML of a kernel says: its prompt, its CPUs, its figures and answers. Pure.

Takes boots of the same kernel at different CPU counts; gives `Guesses`. A guess is only what holds in every
boot; what nothing was found for is empty. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from benchgate.base.system.results import TYPED
from benchgate.base.text import counted
from benchgate.features.new_system.listening import BootObservation

_NUMBER = re.compile(r"[0-9]+")
_ADDRESS = re.compile(r"\b0x[0-9a-f]", re.IGNORECASE)
_OF_FIRMWARE = re.compile(r"^(?:Platform|Domain[0-9]+|Boot) HART")
"""OpenSBI counts the machine's harts, and not those that the kernel has started."""
_UNDECODED = "\N{REPLACEMENT CHARACTER}"
_SPECIAL = re.compile(rf"[.^$*+?{{}}\[\]\\|()]|{_UNDECODED}+")
_UNITS = {
    "ns": r"ns|nsec|nanoseconds?",
    "us": r"us|usec|µs|microseconds?",
    "ms": r"ms|msec|milliseconds?",
    "s": r"s|sec|secs|seconds?",
    "cycles": r"cycles?",
    "ticks": r"ticks?",
}
_ANY_UNIT = "|".join(f"(?P<{name}>{words})" for name, words in _UNITS.items())
_BEFORE = re.compile(rf"\b(?:\w*_)?(?:{_ANY_UNIT})\s*[=:]\s*(?P<value>[0-9][0-9,.]*)", re.IGNORECASE)
_AFTER = re.compile(rf"(?P<value>[0-9][0-9,]*(?:\.[0-9]+)?)\s*(?:{_ANY_UNIT})\b", re.IGNORECASE)
_PLURAL = re.compile(r"^(\ [A-Za-z]*[A-Za-rt-z])s?(?=\W|$)")
"""The word after a number, such as `CPU` or `CPUs`."""
_SETS_UP = re.compile(
    r"^\W*(?:set|sett?ing|us(?:e|ing)|creat\w+|start\w*|spawn\w*|launch\w*|alloc\w+|init\w*|config\w*|running)\b"
    r"|\b(?:priority|policy|version|stack|baud|[pt]id)\b",
    re.IGNORECASE,
)
"""A line that says how the work was set up. Its numbers are equal at each CPU count, too."""
_MOST_LINES = 4000
"""A console is searched up to here."""


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A line that states a time."""

    line: str
    pattern: str
    unit: str
    begins: str
    """The pattern of the last line before it that has no number, and so is no answer; empty if a typed line
    printed none."""
    ends: str
    """The pattern of the line itself."""
    places: range
    """Which of the line's numbers are the time's."""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line that states the same numbers at every CPU count."""

    line: str
    pattern: str
    expect: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Guesses:
    prompt: str = ""
    ready: str = ""
    """The pattern of a line that every boot has once, the last one before the prompt."""
    online: str = ""
    online_lines: str = ""
    figures: tuple[TimeLine, ...] = ()
    answers: tuple[AnswerLine, ...] = ()
    doubtful: tuple[str, ...] = ()
    """Lines with such numbers that were printed before most of the work, or say how it was set up."""
    lines: tuple[str, ...] = ()
    """The patterns of the first and the last line each boot has once. At a prompt the first is `typed`."""
    exit_status: int | None = None
    resets: bool = False
    counts: tuple[int, ...] = (1,)
    """The CPU counts at which it came as far as at 1, also with each typed line."""
    up: tuple[int, ...] = (1,)
    """The CPU counts at which it came up; a typed line may have ended otherwise."""
    endings: tuple[str, ...] = ()
    """How each typed line ended, with the CPU counts."""
    answered: bool = True
    """True if the prompt came back after each typed line."""


def guesses(boots: Mapping[int, BootObservation]) -> Guesses:
    """`boots` by CPU count; the one with 1 CPU came up."""
    first = boots[1]
    up = {count: boot for count, boot in boots.items() if boot.stop is first.stop}
    good = {count: boot for count, boot in up.items() if _ends(boot) == _ends(first)}
    consoles = {count: _lines(boot.text, boot.prompt) for count, boot in up.items()}
    said, early = consoles, set[str]()
    if first.prompt:  # then the boot log has no answers
        said = {count: _answered(boot) for count, boot in good.items()}
        steps = [step for boot in good.values() for step in boot.steps]
        early = {_shape(line) for step in steps for line in step.early.split("\n")}
    stable = _once_in_all(consoles)
    figures = _figures(said, typed=bool(first.prompt))
    answers = _answers(said, figures)
    late = [answer for answer in answers if _shape(answer.line) not in early]
    taken = [answer for answer in late if not _SETS_UP.search(answer.line)]
    statuses = {boot.status for boot in good.values()}
    return Guesses(
        prompt=f"^{literal(first.prompt)}$" if first.prompt else "",
        ready=_in_all(stable[-1 if first.prompt else 0], consoles) if stable else "",
        online=_online(consoles),
        online_lines=_online_lines(consoles, stable),
        figures=figures,
        answers=tuple(taken),
        doubtful=tuple(answer.line for answer in answers if answer not in taken),
        lines=_window(said, typed=bool(first.prompt)),
        exit_status=statuses.pop() if first.ended and len(statuses) == 1 else None,
        resets=any("guest-reset" in boot.ends for boot in good.values()),
        counts=tuple(sorted(good)),
        up=tuple(sorted(up)),
        endings=_endings(up),
        answered=all(step.is_answered for step in first.steps),
    )


def _ends(boot: BootObservation) -> tuple[str, ...]:
    return tuple(step.stop for step in boot.steps)


def _answered(boot: BootObservation) -> list[str]:
    """The lines that were printed for typed lines whose prompt came back: a panic is no answer."""
    return _lines("\n".join((*(step.output for step in boot.steps if step.is_answered), "")), boot.prompt)


def _endings(boots: Mapping[int, BootObservation]) -> tuple[str, ...]:
    """`at 1 CPU its prompt came back; at 2, 4 CPUs it ended QEMU`."""
    result: list[str] = []
    for number in range(max(len(boot.steps) for boot in boots.values())):
        by_words = dict[str, list[int]]()
        for count, boot in sorted(boots.items()):
            how = boot.steps[number].how if number < len(boot.steps) else "it was not typed"
            by_words.setdefault(how, []).append(count)
        result.append("; ".join(f"at {_cpus(counts)} {how}" for how, counts in by_words.items()))
    return tuple(result)


def _cpus(counts: Sequence[int]) -> str:
    return ", ".join([*map(str, counts[:-1]), counted(counts[-1], "CPU")])


def literal(text: str) -> str:
    """A pattern that matches this text, and whatever bytes are no UTF-8 in it: the console is searched as
    bytes, too."""
    return _SPECIAL.sub(lambda match: ".+" if match[0][0] == _UNDECODED else f"\\{match[0]}", text)


def _any_numbers(line: str) -> str:
    return "[0-9]+".join(literal(part) for part in _NUMBER.split(line))


def _shape(line: str) -> str:
    return _NUMBER.sub("\0", line)


def _lines(text: str, prompt: str) -> list[str]:
    """Leaves out empty lines, those of the prompt, the incomplete one, and those with a backspace, which a
    terminal shows differently: no answer is read from them."""
    kept = (line for line in text.split("\n")[:-1] if line.strip() and line != prompt and "\b" not in line)
    return list(islice(kept, _MOST_LINES))


def _in_all(line: str, consoles: Mapping[int, Sequence[str]]) -> str:
    """A pattern for a line that every console has; its numbers may change if they do."""
    same = all(line in lines for lines in consoles.values())
    return f"^{literal(line) if same else _any_numbers(line)}$"


def _window(consoles: Mapping[int, Sequence[str]], *, typed: bool) -> tuple[str, ...]:
    stable = [_in_all(line, consoles) for line in _once_in_all(consoles)]
    result = ([TYPED] if typed else stable[:1]) + stable[-1:]
    return tuple(result) if len(stable) + typed > 1 else ()


def _once_in_all(consoles: Mapping[int, Sequence[str]]) -> list[str]:
    """The lines of the first console whose shape each console has once."""
    shapes = {count: [_shape(line) for line in lines] for count, lines in consoles.items()}
    first = consoles[min(consoles)]
    return [line for line in first if all(shape.count(_shape(line)) == 1 for shape in shapes.values())]


def _online(consoles: Mapping[int, Sequence[str]]) -> str:
    """A line whose number is the CPU count in every console. One count proves nothing."""
    if len(consoles) < 2:
        return ""
    few, *more = sorted(consoles)
    for line in consoles[few]:
        for number in () if _OF_FIRMWARE.search(line) else _NUMBER.finditer(line):
            after = _PLURAL.sub(r"\1s?", _any_numbers(line[number.end() :]))
            pattern = f"^{_any_numbers(line[: number.start()])}(?P<n>[0-9]+){after}$"
            if all(_counts(pattern, consoles[count]) == [count] for count in (few, *more)):
                return pattern
    return ""


def _counts(pattern: str, lines: Sequence[str]) -> list[int]:
    """The numbers that the pattern finds, as the verifier reads them."""
    return [int(match["n"]) for line in lines if (match := re.search(pattern, line)) and len(match["n"]) < 9]


def _online_lines(consoles: Mapping[int, Sequence[str]], stable: Sequence[str]) -> str:
    """A kind of line that is printed once for each CPU; or for each but the first, and then the last line
    that is printed once stands for that: it is the kernel's, and not the firmware's."""
    if len(consoles) < 2:
        return ""
    most = max(consoles)
    for line in dict.fromkeys(map(_shape, consoles[most])):
        seen = {count: sum(_shape(text) == line for text in lines) for count, lines in consoles.items()}
        pattern = "[0-9]+".join(literal(part) for part in line.split("\0"))
        if all(times == count for count, times in seen.items()):
            return f"^{pattern}$"
        if stable and len(seen) > 2 and all(times == count - 1 for count, times in seen.items()):
            once = next((text for text in reversed(stable) if not _NUMBER.search(text)), stable[-1])
            return f"^(?:{_in_all(once, consoles)[1:-1]}|{pattern})$"
    return ""


def _figures(consoles: Mapping[int, Sequence[str]], *, typed: bool) -> tuple[TimeLine, ...]:
    lines = []
    stable = _once_in_all(consoles)
    for number, line in enumerate(stable):
        match = _BEFORE.search(line) or _AFTER.search(line)
        if match is None or (number == 0 and not typed):
            continue
        plain = [text for text in stable[:number] if not _NUMBER.search(text)]
        first = "" if typed else stable[0]
        before = plain[-1] if plain else first
        unit = next(name for name in _UNITS if match[name])
        start, end = match.span("value")
        pattern = f"^{_any_numbers(line[:start])}(?P<value>[0-9.,]+){_any_numbers(line[end:])}$"
        places = range(*(len(_NUMBER.findall(line[:at])) for at in (start, end)))
        begins = before and _in_all(before, consoles)
        lines.append(TimeLine(line, pattern, unit, begins, _in_all(line, consoles), places))
    return tuple(lines)


def _answers(consoles: Mapping[int, Sequence[str]], figures: Sequence[TimeLine]) -> tuple[AnswerLine, ...]:
    """Lines with decimal numbers that are equal at every CPU count; times are none, and addresses neither.
    First those that state a time, too, then the last ones: a boot log comes before the result."""
    timed = {figure.line: figure.places for figure in figures}
    lines = [line for line in reversed(_once_in_all(consoles)) if not _ADDRESS.search(line)]
    lines.sort(key=lambda line: line not in timed)
    result = (_answer(line, consoles, timed.get(line, range(0))) for line in lines)
    return tuple(answer_line for answer_line in result if answer_line is not None)


def _answer(line: str, consoles: Mapping[int, Sequence[str]], time: range) -> AnswerLine | None:
    """Takes the numbers that are equal everywhere and no time; the word before each names it."""
    like = [text for lines in consoles.values() for text in lines if _shape(text) == _shape(line)]
    values = [set(of_one) for of_one in zip(*map(_NUMBER.findall, like), strict=True)]
    parts, pattern, expect = _NUMBER.split(line), "^", dict[str, str]()
    for place, (before, seen) in enumerate(zip(parts, values, strict=False)):
        words = re.findall(r"[a-z][a-z0-9]{0,30}", before.lower())
        name = words[-1] if words else "answer"
        name = name if name not in expect else f"{name}{len(expect) + 1}"
        counts = len(seen) == 1 and place not in time
        pattern += f"{literal(before)}(?P<{name}>[0-9]+)" if counts else f"{literal(before)}[0-9]+"
        if counts:
            expect[name] = min(seen)
    return AnswerLine(line, f"{pattern}{literal(parts[-1])}$", expect) if expect else None
