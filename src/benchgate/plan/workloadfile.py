"""Reads a workload's YAML file, and fills in the workload's parameters.

Takes the file's path, gives a frozen `Workload`; takes the parameters that a test gives, gives all parameters
and the row's label. Fails with CatalogError, which names file, line and key, and with UsageError for an
unknown parameter or a value outside its range.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from benchgate.base.cells import Mode, Params, ParamValue
from benchgate.base.errors import UsageError
from benchgate.base.system.systems import not_a_service
from benchgate.base.text import suggestion
from benchgate.base.workload.workloads import GUEST_FILES, SERVICE, ParamSpec, Tool, Workload
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan import metricsfile, toolfile
from benchgate.plan.workload_keys import WORKLOAD

_PLAIN_PATH = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+-]*/)*[A-Za-z0-9_][A-Za-z0-9._+-]*\Z")
NO_SOURCE = "none"
"""This word, in place of a C file, means that the system has the program that is measured."""


def load(path: Path) -> Workload:
    top = yamlfile.load(path, WORKLOAD)
    params = _params(top)
    files = _files(top, params)
    tool = _tool(top, (*params, *([GUEST_FILES] if files else [])))
    found = Workload(
        name=top.text("name"),
        # One worker process waits for the program, which starts its own threads and processes.
        mode=Mode.PROCESS if tool else _mode(top),
        file=path,
        source=Path() if tool or _has_no_program(top) else _beside(top, "source"),
        oracle=Path() if tool and not top.has("oracle") else _beside(top, "oracle"),
        params=params,
        quick=_quick(top, params),
        about=top.text("about"),
        needs=(SERVICE,) if tool else _needs(top, files),
        own_workers=bool(tool) or top.choice("workers") == "own",
        metrics=metricsfile.read(top),
        tool=tool,
        files=files,
    )
    top.close()
    return found


def _has_no_program(top: Section) -> bool:
    """Whether a system has the program, and runs it when it is asked at its prompt."""
    return top.text("source") == NO_SOURCE


def _mode(top: Section) -> Mode:
    return Mode(top.choice("mode", default=Mode.PROCESS if _has_no_program(top) else None))


def _beside(top: Section, key: str) -> Path:
    """The path of a file beside the YAML file. It is checked now, before anything is built or booted."""
    path = top.path.parent / top.text(key)
    if not path.is_file():
        top.fail(f"there is no file {path}", key)
    return path


def _files(top: Section, params: Mapping[str, ParamSpec]) -> tuple[str, ...]:
    """Reads paths, which must be below the YAML file's folder because they keep their place in the guest."""
    found = top.texts("files")
    for number, name in enumerate(found):
        if not _PLAIN_PATH.match(name):
            top.fail(f"`{name}` is no path below this folder, of letters, digits and . _ + -", "files")
        if not (top.path.parent / name).is_file():
            top.fail(f"there is no file {top.path.parent / name}", "files")
        if name in found[:number]:
            top.fail(f"`{name}` is duplicate", "files")
    if found and GUEST_FILES in params:
        top.fail(f"a workload with files cannot have a parameter `{GUEST_FILES}`", "params")
    return found


def _tool(top: Section, names: Collection[str]) -> Tool | None:
    program = top.section("program")
    if program is None:
        return None
    found = toolfile.read(program, names)
    program.close()
    return found


def _needs(top: Section, files: tuple[str, ...]) -> tuple[str, ...]:
    found = _services(top, "needs")
    return (*found, GUEST_FILES) if files and GUEST_FILES not in found else found


def _services(words: Section, key: str) -> tuple[str, ...]:
    found = words.texts(key)
    for number, name in enumerate(found):
        if wrong := not_a_service(name):
            words.fail(wrong, key)
        if name in found[:number]:
            words.fail(f"`{name}` is duplicate", key)
    return found


def _params(top: Section) -> Mapping[str, ParamSpec]:
    with top.optional("params") as section:
        return {name: _param(name, section) for name in section.keys()}  # noqa: SIM118 - a Section


def _param(name: str, params: Section) -> ParamSpec:
    with params.optional(name) as words:
        choices = words.texts("choices")
        default: ParamValue
        if choices:
            default, low, high = words.choice("default", choices), 0, 0
        else:
            low = words.integer("minimum")
            high = words.integer("maximum", low=low)
            default = words.integer("default", low=low, high=high)
        unit, about = words.text("unit"), words.text("about")
        return ParamSpec(name, default, choices, low, high, unit, about, _choice_needs(words, choices))


def _choice_needs(param: Section, choices: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """The services of single choices; a system that lacks one skips only the cells of that choice."""
    with param.optional("needs") as words:
        for choice in words.keys():  # noqa: SIM118 - a Section, not a dict
            if choice not in choices:
                words.fail(f"`{choice}` is not one of the choices {', '.join(choices) or '(none)'}", choice)
        return {choice: _services(words, choice) for choice in words.keys()}  # noqa: SIM118


def _quick(top: Section, params: Mapping[str, ParamSpec]) -> Mapping[str, ParamValue]:
    found: dict[str, ParamValue] = {}
    for key, text in top.plain("quick").items():
        if key not in params:
            top.fail(f"`{key}` is not one of the parameters {', '.join(params)}", "quick")
        found[key] = convert(params[key], text)
    return found


def convert(spec: ParamSpec, value: object) -> ParamValue:
    """A parameter's value from user input; UsageError, which names the range, if it is invalid."""
    if spec.choices:
        if value not in spec.choices:
            raise UsageError(f"parameter {spec.name}: `{value}` is not one of {', '.join(spec.choices)}")
        return str(value)
    try:
        number = int(str(value).replace("_", ""))
    except ValueError:
        number = spec.minimum - 1
    if not spec.minimum <= number <= spec.maximum:
        span = f"{spec.minimum}..{spec.maximum}"
        raise UsageError(f"parameter {spec.name}: `{value}` is not a whole number in {span}")
    return number


def fill(workload: Workload, given: Mapping[str, object]) -> tuple[Params, str]:
    """All parameters, and the label: the name plus the parameters that differ from their defaults."""
    for key in given:
        if key not in workload.params:
            hint = suggestion(key, workload.params, f"it has {', '.join(workload.params) or 'none'}")
            raise UsageError(f"workload {workload.name} has no parameter `{key}`; {hint}")
    values = {
        name: convert(spec, given[name]) if name in given else spec.default
        for name, spec in workload.params.items()
    }
    changed = [
        f".{name}-{value}" for name, value in sorted(values.items()) if value != workload.params[name].default
    ]
    return tuple(sorted(values.items())), workload.name + "".join(changed)
