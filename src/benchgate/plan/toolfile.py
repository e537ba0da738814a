"""Reads the `program:` section of a workload's YAML.

Takes the section and the names that its placeholders may use, gives a `Tool`. Fails with CatalogError, which
names file, line and key, if a placeholder, a pattern or a path is invalid, or if the section claims that the
program verifies its work without saying how that shows.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from benchgate.base.workload.workloads import Capture, Take, Tool
from benchgate.base.yaml import yaml_values
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.workload_keys import BY_TOOL, DECIMALS

_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_STEP = re.compile(r"[A-Za-z0-9_-]+|\*")
_MOST_WORDS = 48


def read(program: Section, names: Collection[str]) -> Tool:
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
    if not yaml_values.NAME.match(name):
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
        return yaml_values.regex(pattern)
    except ValueError as error:
        section.fail(str(error), key)
