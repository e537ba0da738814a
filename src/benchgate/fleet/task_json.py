"""A task as JSON, which is all that a worker is ever sent; it never unpickles what describes a run.

Takes a Task and gives bytes; takes untrusted bytes and gives a Task. Fails with FleetError that says what is
wrong: an unknown key, a wrong type, a text that is too long or not printable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from benchgate.base.cell_json import cell_as_json, cell_from_json
from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import FleetError
from benchgate.base.exploring import exploration_of
from benchgate.base.files import read_json
from benchgate.base.jsonfields import Fields
from benchgate.base.runs import Deadlines
from benchgate.base.script import Script, Step
from benchgate.fleet.task import (
    MADE,
    OWN,
    ROLES,
    SHA256,
    Input,
    Item,
    Made,
    Own,
    Part,
    Task,
    Word,
    sha256_of,
)
from benchgate.run.console import Limits
from benchgate.run.watch import Watch

SCHEMA = 3
LARGEST = 4 << 20
_MOST_WORDS = 1000
_LONGEST_WORD = 1 << 16
_BYTES = "latin-1"
"""Patterns are bytes; this keeps each of them."""


def digest(task: Task) -> str:
    """Two tasks with the same digest are the same run, whoever vouches for them."""
    return sha256_of(as_bytes(replace(task, vouched="")))


def as_bytes(task: Task) -> bytes:
    value = {
        "schema": SCHEMA,
        "cell": cell_as_json(task.cell),
        "nonce": task.nonce,
        "seed": task.seed,
        "placement": task.placement.value,
        "guest_digest": task.guest_digest,
        "items": [[one.role, one.sha256] for one in task.items],
        "argv": [[_part(part) for part in word] for word in task.argv],
        "boot_s": task.deadlines.boot_s,
        "run_s": task.deadlines.run_s,
        "cpus": task.cpus,
        "watch": _watch(task.watch),
        "limits": _limits(task.limits),
        "script": None if task.script is None else _script(task.script),
        "talks": task.talks,
        "shape": task.shape,
        "exploration": task.exploration,
        "lane": task.lane.value,
        "pins": list(task.pins),
        "hold": task.hold,
        "vouched": task.vouched,
    }
    return json.dumps(value, sort_keys=True).encode()


def from_bytes(data: bytes) -> Task:
    if type(data) is not bytes or len(data) > LARGEST:
        raise FleetError(f"a task is JSON of at most {LARGEST} bytes")
    try:
        return _task(Fields(read_json(data), "the task"))
    except (ValueError, RecursionError) as error:
        raise FleetError(f"this is not a task that this version of benchgate sends: {error}") from error


def _task(fields: Fields) -> Task:
    if fields.number("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}; use the same version of benchgate on both sides")
    found = Task(
        cell=cell_from_json(fields.take("cell", dict)),
        nonce=fields.word("nonce"),
        seed=fields.number("seed"),
        placement=fields.choice("placement", Placement),
        guest_digest=fields.word("guest_digest"),
        items=tuple(_item(one) for one in fields.take("items", list)),
        argv=tuple(_word(one) for one in _at_most(fields.take("argv", list), _MOST_WORDS)),
        deadlines=Deadlines(_seconds(fields, "boot_s"), _seconds(fields, "run_s")),
        cpus=fields.number("cpus", 1),
        watch=_read_watch(Fields(fields.take("watch", dict), "its watch")),
        limits=_read_limits(Fields(fields.take("limits", dict), "its limits")),
        script=None
        if fields.is_null("script")
        else _read_script(Fields(fields.take("script", dict), "its script")),
        talks=fields.flag("talks"),
        shape=_text(fields.text("shape"), lines=True),
        exploration=_exploration(fields.text("exploration")),
        lane=fields.choice("lane", Lane),
        pins=tuple(_at_most(list(fields.numbers("pins")), _MOST_WORDS)),
        hold=fields.word("hold", empty=True),
        vouched=_text(fields.text("vouched"), lines=True),
    )
    fields.done()
    _require_clock(found)
    return found


def _require_clock(task: Task) -> None:
    """On the instruction clock any worker makes it; in wall time one that is held, on CPUs that it names."""
    if task.lane is Lane.NATIVE:
        raise ValueError("a worker starts guests only, so its lane cannot be native")
    if task.lane is Lane.INSN and (task.pins or task.hold):
        raise ValueError("a run on the instruction clock has no CPUs of its own, and holds no host")
    if task.lane is not Lane.INSN and not (task.pins and task.hold):
        raise ValueError("a run in wall time names its CPUs, and the session that holds the host")


# ---- words of a command line


def _part(part: Part) -> object:
    match part:
        case str():
            return part
        case Own(name):
            return {"own": name}
        case Input(sha256):
            return {"input": sha256}
        case Made(name):
            return {"run": name}


def _word(value: object) -> Word:
    if type(value) is not list or len(value) > 20:
        raise ValueError("a word of its argv is not a short list of parts")
    return tuple(_read_part(one) for one in value)


def _read_part(value: object) -> Part:
    if type(value) is str:
        return _text(value)
    fields = Fields(value, "a part of a word")
    part: Part
    if fields.has("own"):
        name = fields.text("own")
        if not OWN.fullmatch(name):
            raise ValueError(f"a worker has no {name!r:.80} of its own")
        part = Own(name)
    elif fields.has("input"):
        part = Input(_sha256(fields.text("input")))
    else:
        name = fields.text("run")
        if name not in MADE:
            raise ValueError(f"QEMU has no file {name!r:.80} in a run's folder; it has {', '.join(MADE)}")
        part = Made(name)
    fields.done()
    return part


def _item(value: object) -> Item:
    if type(value) is not list or len(value) != 2 or value[0] not in ROLES:
        raise ValueError(f"an item is not one of {', '.join(ROLES)} with its SHA-256: {value!r:.80}")
    return Item(value[0], _sha256(value[1]))


def _sha256(value: object) -> str:
    if type(value) is not str or not SHA256.fullmatch(value):
        raise ValueError(f"{value!r:.80} is not a SHA-256 in lower-case hex digits")
    return value


def _text(value: str, *, lines: bool = False) -> str:
    shown = value.replace("\n", " ") if lines else value
    if len(value) > _LONGEST_WORD or not shown.isprintable():
        raise ValueError(f"a text is too long, or has a control character: {value!r:.80}")
    return value


def _exploration(text: str) -> str:
    """It is in the one form in which benchgate writes it, so it is the same file on each machine."""
    if text:
        exploration_of(text)
    return text


def _at_most(values: list[Any], most: int) -> list[Any]:
    if len(values) > most:
        raise ValueError(f"it has more than {most} words")
    return values


def _seconds(fields: Fields, key: str) -> float:
    value = fields.real(key)
    if not 0 <= value <= 1e6:
        raise ValueError(f"its {key} {value} is not a number of seconds")
    return value


# ---- what is watched, and what is typed


def _watch(watch: Watch) -> dict[str, object]:
    return {
        "ready": _or_none(watch.ready),
        "result": _or_none(watch.result),
        **{name: _texts(getattr(watch, name)) for name in ("ends", "panics", "failures", "harmless")},
        "success": sorted(watch.success),
        "kill_after_end": watch.kill_after_end,
        "may_reset": watch.may_reset,
        "repeat_bytes": watch.repeat_bytes,
    }


def _read_watch(fields: Fields) -> Watch:
    found = Watch(
        ready=_pattern_or_none(fields, "ready"),
        result=_pattern_or_none(fields, "result"),
        ends=_patterns(fields, "ends"),
        panics=_patterns(fields, "panics"),
        failures=_patterns(fields, "failures"),
        success=frozenset(fields.numbers("success")),
        kill_after_end=fields.flag("kill_after_end"),
        may_reset=fields.flag("may_reset"),
        harmless=_patterns(fields, "harmless"),
        repeat_bytes=fields.number("repeat_bytes"),
    )
    fields.done()
    return found


def _or_none(pattern: bytes | None) -> str | None:
    return None if pattern is None else pattern.decode(_BYTES)


def _texts(patterns: Iterable[bytes]) -> list[str]:
    return [pattern.decode(_BYTES) for pattern in patterns]


def _pattern_or_none(fields: Fields, key: str) -> bytes | None:
    return None if fields.is_null(key) else fields.text(key).encode(_BYTES)


def _patterns(fields: Fields, key: str) -> tuple[bytes, ...]:
    return tuple(text.encode(_BYTES) for text in fields.texts(key))


def _limits(limits: Limits) -> dict[str, object]:
    return {
        "console_bytes": limits.console_bytes,
        "stderr_bytes": limits.stderr_bytes,
        "rest_bytes": limits.rest_bytes,
        "leave_s": limits.leave_s,
        "exit_s": limits.exit_s,
        "linger_s": limits.linger_s,
        "hush_s": limits.hush_s,
        "halted_s": limits.halted_s,
    }


def _read_limits(fields: Fields) -> Limits:
    most = Limits()
    found = Limits(
        console_bytes=min(fields.number("console_bytes"), 16 * most.console_bytes),
        stderr_bytes=min(fields.number("stderr_bytes"), 16 * most.stderr_bytes),
        rest_bytes=min(fields.number("rest_bytes"), 16 * most.rest_bytes),
        leave_s=_seconds(fields, "leave_s"),
        exit_s=_seconds(fields, "exit_s"),
        linger_s=_seconds(fields, "linger_s"),
        hush_s=_seconds(fields, "hush_s"),
        halted_s=None if fields.is_null("halted_s") else _seconds(fields, "halted_s"),
    )
    fields.done()
    return found


def _script(script: Script) -> dict[str, object]:
    return {
        "prompt": script.prompt,
        "ready": script.ready,
        "line_end": script.line_end,
        "delay_ns": script.delay_ns,
        "byte_ns": script.byte_ns,
        "steps": [
            {
                "send": step.send,
                "prompt": step.prompt,
                "expect": step.expect,
                "captures": list(step.captures),
                "echo": step.echo,
                "deadline_s": step.deadline_s,
            }
            for step in script.steps
        ],
    }


def _read_script(fields: Fields) -> Script:
    found = Script(
        prompt=fields.text("prompt"),
        steps=tuple(_step(Fields(one, "a step")) for one in fields.take("steps", list)),
        ready=fields.text("ready"),
        line_end=fields.text("line_end"),
        delay_ns=fields.number("delay_ns"),
        byte_ns=fields.number("byte_ns"),
    )
    fields.done()
    return found


def _step(fields: Fields) -> Step:
    found = Step(
        send=None if fields.is_null("send") else fields.text("send"),
        prompt=fields.text("prompt"),
        expect=fields.text("expect"),
        captures=fields.texts("captures"),
        echo=fields.flag("echo"),
        deadline_s=_seconds(fields, "deadline_s"),
    )
    fields.done()
    return found
