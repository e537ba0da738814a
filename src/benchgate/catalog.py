"""What can be measured: the workloads and systems that stand in fixtures/, and a user's own YAML files.

Takes names or paths, gives `Workload` and `System`. Fails with CatalogError: for a file, with its line
and key; for a name, with the names there are.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from benchgate import policies, systemfile, yamlfile
from benchgate.data import data_root
from benchgate.errors import CatalogError, UsageError
from benchgate.gates.base import Policy
from benchgate.model import Mode, Params, ParamSpec, ParamValue, Workload
from benchgate.systems import NAME, SELFTEST, System
from benchgate.yamlfile import Section

SELFTEST_WORKLOAD = Workload(
    name=SELFTEST,
    mode=Mode.PROCESS,
    source=Path(),
    oracle=SELFTEST,
    params={},
    about="whatever a system with a fixed self-test runs; its YAML file holds the answers",
)


def _shelf(kind: str) -> Path:
    return data_root() / "fixtures" / kind


def names(kind: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _shelf(kind).glob("*.yaml")))


def _find(kind: str, word: str) -> Path:
    if word.endswith((".yaml", ".yml")) or "/" in word:
        return Path(word).absolute()
    path = _shelf(kind) / f"{word}.yaml"
    if not NAME.match(word) or not path.is_file():
        raise CatalogError(f"{unknown(kind, word, names(kind))}, or give the path of a YAML file")
    return path


def unknown(kind: str, word: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"{kind[:-1]} `{word}` is not known; {hint}there are {', '.join(sorted(known))}"


@cache
def load_system(word: str) -> System:
    """A name or a path, with settings if they are to differ: `kernel:sched=rr:profile=debug`."""
    name, *pairs = word.split(":")
    chosen: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise UsageError(f"system {word}: `{pair}` is not a setting such as sched=rr")
        chosen[key] = value
    return systemfile.load(_find("systems", name), chosen)


@cache
def load_policy(word: str) -> Policy:
    return policies.load(_find("gates", word))


@cache
def load_workload(word: str) -> Workload:
    if word == SELFTEST:
        return SELFTEST_WORKLOAD
    path = _find("workloads", word)
    top = yamlfile.load(path)
    name = top.text("name")
    if not NAME.match(name):
        top.fail(f"`{name}` is not a name: lower-case letters, digits and _, a letter first", "name")
    params = _params(top)
    found = Workload(
        name=name,
        mode=Mode(top.choice("mode", tuple(Mode))),
        source=_source(top, path),
        oracle=_oracle(top, path),
        params=params,
        quick=_quick(top, params),
        about=top.text("about", ""),
        file="" if path.parent == _shelf("workloads") else str(path),
    )
    top.close()
    return found


def _source(top: Section, path: Path) -> Path:
    """Our own stand under the data root; a user's beside their YAML file."""
    ours = path.parent == _shelf("workloads")
    source = (data_root() if ours else path.parent) / top.text("source")
    if not source.is_file():
        top.fail(f"there is no file {source}", "source")
    return source


def _oracle(top: Section, path: Path) -> str:
    """Looked for before anything is built and booted for it."""
    word = top.text("oracle")
    if word.endswith(".py") and not (path.parent / word).is_file():
        top.fail(f"there is no file {path.parent / word}", "oracle")
    return word


def _params(top: Section) -> Mapping[str, ParamSpec]:
    section = top.section("params")
    if section is None:
        return {}
    return {name: _param(name, section) for name in section.keys()}  # noqa: SIM118 - a Section


def _param(name: str, params: Section) -> ParamSpec:
    words = params.section(name)
    assert words is not None
    choices = words.texts("choices")
    default: ParamValue
    if choices:
        default, low, high = words.choice("default", choices), 0, 0
    else:
        low = words.integer("minimum", 0)
        high = words.integer("maximum", low=low)
        default = words.integer("default", low=low, high=high)
    spec = ParamSpec(name, default, choices, low, high, words.text("unit", ""), words.text("about", ""))
    words.close()
    return spec


def _quick(top: Section, params: Mapping[str, ParamSpec]) -> Mapping[str, ParamValue]:
    found: dict[str, ParamValue] = {}
    for key, text in top.plain("quick").items():
        if key not in params:
            top.fail(f"`{key}` is not one of the parameters {', '.join(params)}", "quick")
        found[key] = convert(params[key], text)
    return found


def convert(spec: ParamSpec, value: object) -> ParamValue:
    """A parameter's value from what a person wrote, or a UsageError that names the range."""
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
        raise UsageError(f"parameter {spec.name}: `{value}` is not a whole number {span}")
    return number


def fill(workload: Workload, given: Mapping[str, object]) -> tuple[Params, str]:
    """All parameters with defaults filled in, and the label: the name plus what differs from a default."""
    for key in given:
        if key not in workload.params:
            near = difflib.get_close_matches(key, list(workload.params), n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(workload.params) or 'none'}"
            raise UsageError(f"workload {workload.name} has no parameter `{key}`; {hint}")
    values = {
        name: convert(spec, given[name]) if name in given else spec.default
        for name, spec in workload.params.items()
    }
    odd = [
        f".{name}-{value}" for name, value in sorted(values.items()) if value != workload.params[name].default
    ]
    return tuple(sorted(values.items())), workload.name + "".join(odd)
