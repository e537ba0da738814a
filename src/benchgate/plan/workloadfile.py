"""Reads a workload's YAML file with its `metrics` and `program`, and fills in the workload's parameters.

Takes the file's path, gives a frozen `Workload`; takes the parameters that a test gives, gives all parameters
and the row's label. Fails with CatalogError, which names file, line and key, and with UsageError for an
unknown parameter or a value outside its range. A metric has only the keys of its kind; whether the workload
reports what the metric is `of` shows in the first run (judge/metrics.py). A program that claims to verify its
own work must say how that shows.
promisefile.py reads its promises.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from benchgate.base.cells import Mode, Params, ParamValue, Window
from benchgate.base.errors import UsageError
from benchgate.base.system.systems import not_a_service
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import (
    NS,
    OF_THREADS,
    WINDOWS,
    Metric,
    MetricDirection,
    MetricKind,
)
from benchgate.base.workload.workloads import GUEST_FILES, SERVICE, Capture, ParamSpec, Take, Tool, Workload
from benchgate.base.yaml import yaml_nodes, yamlfile
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.choices import listed
from benchgate.plan.operations import read_operations
from benchgate.plan.promisefile import read_promises
from benchgate.plan.workload_keys import BY_TOOL, DECIMALS, OF_WORKERS, WORKLOAD

_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_STEP = re.compile(r"[A-Za-z0-9_-]+|\*")
_MOST_WORDS = 48
_PLAIN_PATH = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+-]*/)*[A-Za-z0-9_][A-Za-z0-9._+-]*\Z")
NO_SOURCE = "none"
"""This word, in place of a C file, means that the system has the program that is measured."""


def load(path: Path) -> Workload:
    top = yamlfile.load(path, WORKLOAD)
    params = _params(top)
    files = _files(top, params)
    tool = _tool(top, (*params, *([GUEST_FILES] if files else [])))
    metrics = read_metrics(top)
    workload = Workload(
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
        lasts=_lasts(top, params),
        metrics=metrics,
        tool=tool,
        files=files,
        machine=read_operations(top, params),
        promises=read_promises(top, params, metrics),
        trusts=top.texts("trusts"),
        roles=top.texts("roles"),
    )
    top.close()
    return workload


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
    result = top.texts("files")
    for number, name in enumerate(result):
        if not _PLAIN_PATH.match(name):
            top.fail(f"`{name}` is no path below this folder, of letters, digits and . _ + -", "files")
        if not (top.path.parent / name).is_file():
            top.fail(f"there is no file {top.path.parent / name}", "files")
        if name in result[:number]:
            top.fail(f"`{name}` is duplicate", "files")
    if result and GUEST_FILES in params:
        top.fail(f"a workload with files cannot have a parameter `{GUEST_FILES}`", "params")
    return result


def _tool(top: Section, names: Collection[str]) -> Tool | None:
    program = top.section("program")
    if program is None:
        return None
    tool = read_tool(program, names)
    program.close()
    return tool


def _needs(top: Section, files: tuple[str, ...]) -> tuple[str, ...]:
    result = _services(top, "needs")
    return (*result, GUEST_FILES) if files and GUEST_FILES not in result else result


def _services(words: Section, key: str) -> tuple[str, ...]:
    result = words.texts(key)
    for number, name in enumerate(result):
        if wrong := not_a_service(name):
            words.fail(wrong, key)
        if name in result[:number]:
            words.fail(f"`{name}` is duplicate", key)
    return result


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


def _lasts(top: Section, params: Mapping[str, ParamSpec]) -> str:
    if not top.has("lasts"):
        return ""
    found = top.text("lasts")
    if found not in params:
        top.fail(f"`{found}` is no parameter; {suggestion(found, params, listed(params))}", "lasts")
    return found


def _quick(top: Section, params: Mapping[str, ParamSpec]) -> Mapping[str, ParamValue]:
    result: dict[str, ParamValue] = {}
    for key, text in top.plain("quick").items():
        if key not in params:
            top.fail(f"`{key}` is not one of the parameters {', '.join(params)}", "quick")
        result[key] = convert(params[key], text)
    return result


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


def read_metrics(top: Section) -> Mapping[str, Metric]:
    metrics = {}
    with top.optional("metrics") as section:
        for name in section.keys():  # noqa: SIM118 - a Section, not a dict
            if not NAME.match(name):
                section.fail(f"`{name}` is not a name: use lower-case letters, digits and _", name)
            if name in WINDOWS or name in OF_THREADS:
                section.fail(f"`{name}` is a metric of every workload; choose another name", name)
            with section.optional(name) as words:
                metrics[name] = _metric(name, words)
    return metrics


def _metric(name: str, words: Section) -> Metric:
    """Reads only the keys that the kind has, so that closing the section refuses the others."""
    kind = MetricKind(words.choice("kind"))
    of, per, unit = (words.text(key) if words.knows(key) else "" for key in ("of", "per", "unit"))
    if kind is MetricKind.SHARE and not per and not re.match(OF_WORKERS.form, of):
        words.fail(f"`{of}` {OF_WORKERS.wrong}", "of")
    has_window = (kind is MetricKind.TIME and not of) or (kind is MetricKind.RATE and not per)
    return Metric(
        name,
        kind,
        MetricDirection(words.choice("better")),
        {MetricKind.TIME: NS, MetricKind.RATE: f"{unit}/s"}.get(kind, unit),
        of,
        per,
        at=words.number("at") if words.knows("at") else 0.0,
        window=Window(words.choice("window")) if has_window else Window.WORK,
        about=words.text("about"),
    )


def read_tool(program: Section, names: Collection[str]) -> Tool:
    """Reads the section. `names` are the parameters, and `files` if the workload has some."""
    command = program.texts("run")
    if not command or not _PROGRAM.match(command[0]):
        program.fail("expected the program's file name and its arguments: `[hackbench, -l, 100]`", "run")
    if len(command) > _MOST_WORDS:
        program.fail(f"has more than {_MOST_WORDS} words", "run")
    for name in (found for word in command[1:] for found in _PLACEHOLDER.findall(word)):
        if name not in (*names, "cpus"):
            program.fail(f"`{{{name}}}` is none of {', '.join((*names, 'cpus'))}", "run")
    verifies = program.choice("verified") == BY_TOOL
    with program.optional("worked") as section:
        status = section.integer("exit")
        worked = section.texts("output")
        for pattern in worked:
            _compiled(section, "output", pattern)
    if verifies and not worked:
        program.fail("`by-tool` needs `worked.output`: what the program prints when it found its work right")
    return Tool(
        package=program.text("package"),
        program=command[0],
        arguments=command[1:],
        captures=_captures(program),
        exit=status,
        worked=worked,
        verifies=verifies,
    )


def _captures(program: Section) -> tuple[Capture, ...]:
    with program.optional("result") as results:
        return tuple(_capture(name, results) for name in results.keys())  # noqa: SIM118 - a Section


def _capture(name: str, results: Section) -> Capture:
    if not NAME.match(name):
        results.fail("is not a name: lower-case letters, digits and _, beginning with a letter", name)
    with results.optional(name) as words:
        pattern, path = words.text("regex", ""), words.text("json", "")
        if bool(pattern) == bool(path):
            words.fail("needs either `regex` or `json`")
        if pattern and _compiled(words, "regex", pattern).groups != 1:
            words.fail("needs one group, the number: `^Time: ([0-9.]+)$`", "regex")
        if path and not all(map(_STEP.fullmatch, path.split("."))):
            words.fail("expected keys and indexes between dots: `threads.0.max`", "json")
        if words.has("unit") and words.has("decimals"):
            words.fail("`unit` and `decimals` both say what the whole number counts: leave out one", "unit")
        decimals = words.integer("decimals")
        if words.has("unit"):
            decimals = DECIMALS[words.choice("unit")]
        return Capture(name, pattern, path, decimals, Take(words.choice("take")))


def _compiled(section: Section, key: str, pattern: str) -> re.Pattern[str]:
    try:
        return yaml_nodes.regex(pattern)
    except ValueError as error:
        section.fail(str(error), key)
