"""Reads a system's YAML file.

Takes its path, or text and the path to name in messages, and the chosen settings; gives a frozen `System`.
Fails with CatalogError, which names file, line and key. Keys for features that do not exist yet (prompts,
host ports, disks, firmware) are refused with that reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchgate.base import yamlfile
from benchgate.base.cells import Mode
from benchgate.base.console_text import by_lines
from benchgate.base.errors import UsageError
from benchgate.base.metrics import WINDOWS
from benchgate.base.qemu import GOOD_EXIT
from benchgate.base.runs import Deadlines
from benchgate.base.systems import (
    DEADLINES,
    MAX_CPUS,
    WORKLOAD_INITRD,
    Ask,
    Build,
    EndBy,
    Kind,
    QemuWords,
    Result,
    ResultFormat,
    ResultPattern,
    Smoke,
    System,
    not_a_service,
)
from benchgate.base.text import filled
from benchgate.base.yamlfile import NAME, Section

SETTING = re.compile(r"(?!(?:out|n|source|workload)\Z)[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a setting. `{out}`, `{n}`, `{source}` and `{workload}` are reserved."""


def load(path: Path, chosen: Mapping[str, str] = MappingProxyType({})) -> System:
    """`chosen`: settings by name. Those that differ from the file's defaults become part of the name."""
    return _read(yamlfile.load(path), path, chosen)


def parse(text: str, path: Path, chosen: Mapping[str, str]) -> System:
    """As `load`, from a file's recorded text; messages name `path`."""
    return _read(yamlfile.parse(text, path), path, chosen)


def _read(top: Section, path: Path, chosen: Mapping[str, str]) -> System:
    if top.integer("version") != 1:
        top.fail("must be 1, the version that this benchgate reads", "version")
    name = top.name("name")
    kind = Kind(top.choice("kind", tuple(Kind)))
    settings, label = _settings(top, name, chosen)
    system = _native(top, path, label) if kind is Kind.NATIVE else _guest(top, path, label, settings)
    top.close()
    return system


def _settings(top: Section, name: str, chosen: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """All settings with defaults filled in, and the name with the settings that differ from a default."""
    found: dict[str, str] = {}
    with top.optional("settings") as words:
        for key in words.keys():  # noqa: SIM118 - a Section, not a dict
            if not SETTING.match(key):
                words.fail(f"`{key}` is not a name for a setting: use lower-case letters, digits and _", key)
            with words.optional(key) as one:
                choices = one.texts("choices")
                default = one.choice("default", choices)
            found[key] = chosen.get(key, default)
            if found[key] not in choices:
                raise UsageError(f"{name}: setting {key}: `{found[key]}` is not one of {', '.join(choices)}")
            if found[key] != default:
                name += f".{key}-{found[key]}"
    if unknown := sorted(set(chosen) - set(found)):
        raise UsageError(f"{name} has no setting `{unknown[0]}`; it has {', '.join(found) or 'none'}")
    return found, name


def _native(top: Section, path: Path, name: str) -> System:
    return System(
        name=name,
        kind=Kind.NATIVE,
        about=top.text("about", ""),
        file=path,
        result=Result(counts_foreign=False),  # other processes run on this host too
        exit_codes=(0,),
        deadlines=_deadlines(top),
        cpus=_cpus(top),
        services=_services(top),
    )


def _guest(top: Section, path: Path, name: str, settings: Mapping[str, str]) -> System:
    _refuse_future_keys(top)
    boot = top.section("boot") or top.fail("is missing", "boot")
    console = _console(top)
    end_by, codes, may_reset = _end(top)
    ask = _ask(top)
    result = _result(top, ask, end_by)
    system = System(
        name=name,
        kind=Kind.QEMU,
        about=top.text("about", ""),
        file=path,
        qemu=_qemu(top),
        kernel=boot.text("kernel"),
        initrd=boot.text("initrd", ""),
        append=filled(boot.text("append", ""), settings),
        symbols=boot.text("symbols", ""),
        build=_build(top, path.parent, settings),
        settings=settings,
        ask=ask,
        modes=_modes(top),
        smoke=_smoke(top, settings, end_by),
        ready=console[0],
        failures=console[1],
        online=console[2],
        result=result,
        end_by=end_by,
        exit_codes=codes,
        may_reset=may_reset,
        deadlines=_deadlines(top),
        cpus=_cpus(top),
        services=_services(top),
    )
    boot.close()
    if system.initrd == WORKLOAD_INITRD and system.ask is Ask.SELFTEST:
        top.fail("a self-test has its own program; `initrd: workload` needs `ask: cmdline`", "ask")
    if system.result.format is not ResultFormat.BENCH and not system.online:
        top.fail(
            "`online` is missing: add a pattern whose group (?P<n>...) is the number of online CPUs. "
            "Without it a figure of one CPU could pass as one of many",
            "console",
        )
    return system


def _refuse_future_keys(top: Section) -> None:
    future = {
        "ports": "host ports",
        "prompt": "send/expect steps at a prompt",
        "steps": "send/expect steps at a prompt",
        "input": "pacing, line ending and echo of input",
    }
    for key, what in future.items():
        if top.has(key):
            top.fail(f"{what} cannot be used yet; ask by `cmdline` or `selftest`", key)
    boot = top.section("boot")
    for key, what in {"disks": "booting from disks", "firmware": "booting by firmware"}.items():
        if boot is not None and boot.has(key):
            boot.fail(f"{what} cannot be used yet; boot by `kernel` and `initrd`", key)


def _qemu(top: Section) -> QemuWords:
    with top.optional("qemu") as words:
        if words.has("binary"):
            words.fail("a system cannot have its own QEMU yet; use --qemu PATH", "binary")
        smp = words.text("smp", "{n}")
        if "{n}" not in smp or "{" in smp.replace("{n}", ""):
            words.fail("must contain {n}, and no other braces", "smp")
        return QemuWords(
            machine=words.text("machine", "q35"),
            cpu=words.text("cpu", ""),
            memory=words.text("memory", "256M"),
            smp=smp,
            arguments=words.texts("arguments"),
        )


def _build(top: Section, folder: Path, settings: Mapping[str, str]) -> Build | None:
    words = top.section("build")
    if words is None:
        return None
    found = Build(
        commands=tuple(
            tuple(filled(word, settings) for word in command) for command in words.commands("commands")
        ),
        folder=folder / words.text("folder", "."),
        sources=tuple(folder / source for source in words.texts("sources", (".",))),
    )
    if not found.commands:
        words.fail("contains no command", "commands")
    words.close()
    return found


def _ask(top: Section) -> Ask:
    way = Ask(top.choice("ask", tuple(Ask), Ask.CMDLINE))
    if way is Ask.PROMPT:
        top.fail("send/expect steps at a prompt cannot be used yet; ask by `cmdline` or `selftest`", "ask")
    return way


def _modes(top: Section) -> tuple[Mode, ...]:
    words = top.texts("modes", tuple(Mode))
    unknown = [word for word in words if word not in tuple(Mode)]
    if unknown or not words:
        top.fail(f"expected {' or '.join(Mode)}, found {', '.join(unknown) or 'nothing'}", "modes")
    return tuple(Mode(word) for word in words)


def _console(top: Section) -> tuple[str, tuple[str, ...], str]:
    with top.optional("console") as words:
        failures = words.texts("failures")
        for pattern in failures:
            _check_watched(words, "failures", pattern)
        ready = words.text("ready", "")
        if ready:
            _check_watched(words, "ready", ready)
        return ready, failures, words.pattern("online", "", groups=("n",))


def _check_watched(words: Section, key: str, pattern: str) -> None:
    """Checks a pattern that is matched against bytes while the guest prints; not every text pattern is valid
    for bytes. A pattern that matches the empty string is refused, because it would match any console."""
    _groups(words, pattern, key)
    try:
        watched = yamlfile.regex(by_lines(pattern))
    except ValueError as error:
        words.fail(f"`{pattern}` cannot be matched against a console's bytes: it {error}", key)
    found = watched.search(b"\n\n")
    if found is not None and not found[0]:
        words.fail(f"`{pattern}` matches the empty string, so it would match any console", key)


def _result(top: Section, ask: Ask, end_by: EndBy) -> Result:
    words = top.section("result")
    if words is None:
        if ask is Ask.SELFTEST:
            top.fail("is missing: a self-test needs patterns for its figures and its answers", "result")
        return Result()
    form = ResultFormat(words.choice("format", tuple(ResultFormat), ResultFormat.BENCH))
    if form is ResultFormat.BENCH:
        if ask is Ask.SELFTEST:
            words.fail("a self-test needs `format: patterns` or `format: bench-lines`", "format")
        called, foreign = words.text("system", ""), words.choice("foreign", ("counted", "na"), "counted")
        words.close()
        return Result(form, called, foreign == "counted")
    if ask is not Ask.SELFTEST:
        words.fail(
            f"`{form}` is only for `ask: selftest`: a workload's oracle needs the answers of every worker, "
            "which it does not give. Print the wire format (docs/wire.md) and leave `format` out. Or, if "
            "the kernel runs a fixed test of its own, write `ask: selftest` and run the workload `selftest`",
            "format",
        )
    if form is ResultFormat.BENCH_LINES:
        return _operations(words)
    answers = words.texts("answers")
    expect = words.plain("expect")
    groups = {name for pattern in answers for name in _groups(words, pattern, "answers")}
    if not expect or not answers:
        words.fail("a figure without a known answer is not a result: add `answers` and `expect`", "expect")
    if end_by is EndBy.KILL:
        _check_watched(words, "answers", answers[-1])
    if unmatched := sorted(set(expect) - groups):
        words.fail(f"no pattern in `answers` has a group (?P<{unmatched[0]}>...)", "expect")
    work = _pattern(words, "work") or words.fail("is missing", "work")
    total = _pattern(words, "total")
    found = Result(form, work=work, total=total, expect=expect, answers=answers)
    words.close()
    return found


def _operations(words: Section) -> Result:
    found = words.texts("operations")
    for number, name in enumerate(found):
        if not NAME.match(name) or name in WINDOWS or name in found[:number]:
            words.fail(
                f"`{name}` is duplicate, or no name of a metric: use lower-case letters, digits and _",
                "operations",
            )
    if not found:
        words.fail(
            "add the names of the operations: one that the program leaves out would not be missed",
            "operations",
        )
    words.close()
    return Result(ResultFormat.BENCH_LINES, operations=found)


def _smoke(top: Section, settings: Mapping[str, str], end_by: EndBy) -> Smoke | None:
    words = top.section("smoke")
    if words is None:
        return None
    found = Smoke(filled(words.text("append", ""), settings), words.pattern("pass"))
    if re.search(found.passes, ""):
        words.fail("matches the empty string, so any console would pass", "pass")
    if end_by is EndBy.KILL:
        _check_watched(words, "pass", found.passes)
    words.close()
    return found


def _groups(words: Section, pattern: str, key: str) -> tuple[str, ...]:
    try:
        return tuple(yamlfile.regex(pattern).groupindex)
    except ValueError as error:
        words.fail(f"`{pattern}` {error}", key)


def _pattern(result: Section, key: str) -> ResultPattern | None:
    words = result.section(key)
    if words is None:
        return None
    if not words.has("begins"):
        words.fail(
            "`begins` is missing: add a pattern for the line that the kernel prints just before this time "
            "begins. Without it a figure that is too short could pass",
            "pattern",
        )
    found = ResultPattern(
        begins=_begins(words),
        regex=words.pattern("pattern", groups=("value",)),
        unit=words.choice("unit", ("ns", "us", "ms", "cycles")),
        shift=words.integer("shift", 0, high=40),
    )
    words.close()
    return found


def _begins(words: Section) -> str:
    pattern = words.pattern("begins")
    if re.search(pattern, ""):
        words.fail(f"`{pattern}` matches the empty string, so it names no line", "begins")
    return pattern


def _end(top: Section) -> tuple[EndBy, tuple[int, ...], bool]:
    with top.optional("end") as words:
        by = EndBy(words.choice("by", tuple(EndBy), EndBy.EXIT))
        may_reset = words.choice("reset", ("failure", "allowed"), "failure") == "allowed"
        return by, words.integers("exit_codes", (GOOD_EXIT,)), may_reset


def _deadlines(top: Section) -> Deadlines:
    with top.optional("deadlines") as words:
        return Deadlines(
            boot_s=words.number("boot_s", DEADLINES.boot_s, low=0.1, high=3600),
            run_s=words.number("run_s", DEADLINES.run_s, low=0.1, high=86400),
        )


def _cpus(top: Section) -> tuple[int, int]:
    with top.optional("cpus") as words:
        low = words.integer("minimum", 1, low=1, high=MAX_CPUS)
        return low, words.integer("maximum", MAX_CPUS, low=low, high=MAX_CPUS)


def _services(top: Section) -> Mapping[str, str]:
    found = top.plain("services")
    for name in found:
        if wrong := not_a_service(name):
            top.fail(wrong, "services")
    return found
