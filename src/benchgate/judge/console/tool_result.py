"""Reads an existing program's result from what it printed, and whether it did its work. Pure.

Takes a `Tool` and a transcript; gives the numbers that the workload's YAML names. Fails with VerifyError if
the program failed, left a process behind, did not print what shows that it worked, or printed no such number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, NoReturn

from benchgate.base.errors import VerifyError
from benchgate.base.text import one_line
from benchgate.base.workload.workloads import Capture, Take, Tool
from benchgate.judge.wire import Transcript

_NUMBER = re.compile(r"[+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_LARGEST = 2**63
_SIGNAL = 128
_PICK: Mapping[Take, Callable[[Sequence[int]], int]] = {Take.SUM: sum, Take.MOST: max, Take.LEAST: min}


def with_result(tool: Tool, transcript: Transcript) -> Transcript:
    """The transcript whose result has the program's numbers, too."""
    return replace(transcript, result=MappingProxyType({**transcript.result, **read(tool, transcript)}))


def read(tool: Tool, transcript: Transcript) -> Mapping[str, int]:
    text = transcript.output.decode("utf-8", "replace")
    _check_ending(tool, transcript, text)
    for pattern in tool.worked:
        if not re.search(pattern, text, re.MULTILINE):
            raise VerifyError(
                f"{tool.program} printed nothing that matches `{pattern}`, which shows that it did its work; "
                f"{_last(text)}"
            )
    return {capture.name: _value(tool, capture, text) for capture in tool.captures}


def _check_ending(tool: Tool, transcript: Transcript, text: str) -> None:
    if len(transcript.reports) != 1 or not {"exit", "left"} <= set(transcript.reports[0].values):
        raise VerifyError(f"the run is not one of {tool.program}: it needs one worker with its exit status")
    if transcript.result.get("printed") != len(transcript.output):
        raise VerifyError(f"output lines of {tool.program} are missing")
    values = transcript.reports[0].values
    status = values["exit"]
    if status != tool.exit:
        how = f"signal {status - _SIGNAL}" if status > _SIGNAL else f"status {status}"
        raise VerifyError(f"{tool.program} ended with {how}, not with status {tool.exit}; {_last(text)}")
    if values["left"]:
        raise VerifyError(f"{tool.program} ended while a process that it had started was still running")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f"its last line: `{one_line(lines[-1])}`" if lines else "it printed nothing"


def _value(tool: Tool, capture: Capture, text: str) -> int:
    try:
        values = [_whole(one, capture.decimals) for one in _printed(capture, text)]
    except ValueError as error:
        raise VerifyError(f"{capture.name} of {tool.program}: {error}") from None
    only = capture.take is Take.ONLY
    if not values or (only and len(values) != 1):
        raise VerifyError(
            f"{tool.program} printed {len(values)} values of {capture.name} "
            f"(`{capture.path or capture.regex}`), expected {'one' if only else 'some'}; {_last(text)}"
        )
    value = values[0] if only else _PICK[capture.take](values)
    if value >= _LARGEST:
        raise VerifyError(f"{capture.name} of {tool.program} is too large")
    return value


def _printed(capture: Capture, text: str) -> Sequence[object]:
    if capture.path:
        return _by_path(capture.path, text)
    return re.findall(capture.regex, text, re.MULTILINE)


def _whole(found: object, decimals: int) -> int:
    """The number times 10**decimals, exactly."""
    if not _NUMBER.fullmatch(str(found)):
        raise ValueError(f"`{one_line(str(found), 40)}` is not a number from 0")
    try:
        scaled = Decimal(str(found)).scaleb(decimals)
        if scaled != scaled.to_integral_value():
            raise ValueError(f"{found} has more than {decimals} decimals")
    except InvalidOperation:
        raise ValueError(f"{found} is too long a number") from None
    return int(scaled)


# ---- JSON


def _by_path(path: str, text: str) -> list[Any]:
    """All values at this path of the document, which is from the first `{` to the last `}`."""
    document = text[text.find("{") : text.rfind("}") + 1]
    try:
        top = json.loads(document, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"what it printed is not JSON: {error}") from None
    return list(_at(top, path.split(".")))


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _at(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    if not steps:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError("a value at its path is not a number")
        yield value
        return
    inner = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(inner, dict):
        for key, below in inner.items():
            if steps[0] in ("*", str(key)):
                yield from _at(below, steps[1:])
