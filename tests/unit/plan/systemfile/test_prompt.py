"""A system that is asked at a prompt: its YAML, and which workloads it can be asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Cell, Lane, Mode, Placement
from benchgate.base.errors import CatalogError
from benchgate.base.system.results import LineWindow, MarkWindow, ResultDefinition, ResultPattern
from benchgate.base.system.script import Script, ScriptStep
from benchgate.base.system.systems import AskMethod, System
from benchgate.base.workload.workloads import Workload
from benchgate.plan import systemfile, workloadfile
from benchgate.plan.catalog import SELFTEST_WORKLOAD
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground
from benchgate.plan.seats import seat
from tests.wirekit import PRIMES

MINE = r"""
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
ask: prompt
prompt: '^\$ $'
input: {line_end: "\r", byte_us: 200, delay_us: 3000}
steps:
  - {prompt: 'login: ', send: root, echo: false}
  - send: primes {workers} {hi}
    expect: '^done$'
    capture: ['^count=(?P<count>\d+)$', '^sum=(?P<sum>\d+)$']
    deadline_s: 7
  - {send: stats, capture: '^ticks=(?P<ticks>\d+)$'}
console: {ready: '^init: up$', online: '^(?P<n>\d+) CPUs$'}
result:
  format: patterns
  work: {begins: '^start$', pattern: '^took (?P<value>\d+)', unit: ticks, hz: 100}
deadlines: {run_s: 50}
"""
SILENT = "name: count\nsource: none\noracle: oracle.py\nparams: {hi: {default: 100, maximum: 1000}}\n"


def load(folder: Path, text: str = MINE) -> System:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return systemfile.load(path)


def asked(folder: Path, text: str = SILENT) -> Workload:
    (folder / "oracle.py").touch()
    path = folder / "workload.yaml"
    path.write_text(text, encoding="utf-8")
    return workloadfile.load(path)


def test_a_script_has_its_steps_and_their_defaults(tmp_path: Path) -> None:
    system = load(tmp_path)
    prompt = r"^\$ $"
    assert system.ask is AskMethod.PROMPT
    assert system.script == Script(
        prompt,
        (
            ScriptStep("root", "login: ", echo=False, deadline_s=50),
            ScriptStep(
                "primes {workers} {hi}",
                prompt,
                "^done$",
                (r"^count=(?P<count>\d+)$", r"^sum=(?P<sum>\d+)$"),
                deadline_s=7,
            ),
            ScriptStep("stats", prompt, captures=(r"^ticks=(?P<ticks>\d+)$",), deadline_s=50),
        ),
        ready="^init: up$",
        line_end="\r",
        delay_ns=3_000_000,
        byte_ns=200_000,
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"prompt: '^\$ $'", "prompt: '.*'", "prompt: matches an empty line"),
        (r"prompt: '^\$ $'", "prompt: '('", "prompt: is not a regular expression"),
        ('line_end: "\\r"', "line_end: ';'", r'input\.line_end: must be "\\n"'),
        ("byte_us: 200", "byte_us: 0", r"input\.byte_us: is 0, not between 1 and"),
        ("send: stats", 'send: "a\\nb"', r"steps\.2\.send: cannot be typed: it has a control character"),
        ("send: stats, ", "", r"steps\.2\.send: types nothing and expects nothing"),
        ("expect: '^done$'", "expect: 'x*'", r"steps\.1\.expect: `x\*` matches the empty string"),
        ("expect: '^done$'", "expects: '^done$'", r"steps\.1\.expects: unknown key"),
        ("{send: stats, capture", "[{send: stats}, {capture", "is not YAML"),
        ("deadline_s: 7", "deadline_s: 0", r"steps\.1\.deadline_s: is 0, not between 0\.1"),
        ("echo: false", "echo: maybe", r"steps\.0\.echo: is `maybe`, not one of true, false"),
        ("ask: prompt", "ask: cmdline", "prompt: is only for `ask: prompt`"),
        ("unit: ticks, hz: 100", "unit: ticks", r"result\.work\.unit: a figure in ticks needs `hz`"),
        ("unit: ticks, hz: 100", "unit: ms, hz: 100", r"result\.work\.hz: is only for a figure in ticks"),
        ("hz: 100", "hz: 100, scale: 10", r"result\.work\.scale: leave out `hz` or `scale`"),
        ("online: '^(?P<n>\\d+) CPUs$'", "failures: [x]", "console: `online` is missing"),
        ("online:", "online_lines: x, online:", r"console\.online_lines: leave out `online` or"),
        ("  format: patterns\n", "", "steps: no step types {nonce}"),
    ],
)
def test_an_invalid_prompt_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert MINE.count(old) == 1
    with pytest.raises(CatalogError, match=said):
        load(tmp_path, MINE.replace(old, new))


def test_without_a_result_the_wire_format_needs_the_nonce(tmp_path: Path) -> None:
    text = MINE.partition("result:")[0]
    with pytest.raises(CatalogError, match=r"steps: no step types \{nonce\}"):
        load(tmp_path, text)
    typed = load(tmp_path, text.replace("{workers} {hi}", "{workers} {hi} {nonce}"))
    assert typed.result == ResultDefinition()


def test_a_prompt_without_answers_is_refused(tmp_path: Path) -> None:
    text = "\n".join(line for line in MINE.split("\n") if "capture" not in line)
    with pytest.raises(CatalogError, match=r"result\.answers: a figure without an answer is not a result"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("work", "window"),
    [
        ("{begins: ^a, pattern: '(?P<value>x)', unit: ms}", ResultPattern("^a", "(?P<value>x)", "ms")),
        (
            "{begins: ^a, pattern: '(?P<value>x)', unit: ticks, scale: 1e7}",
            ResultPattern("^a", "(?P<value>x)", "ticks", hz=100),
        ),
        ("{from: ^a, to: ^b}", LineWindow("^a", "^b")),
        ("marks", MarkWindow()),
    ],
)
def test_where_a_window_may_come_from(tmp_path: Path, work: str, window: object) -> None:
    lines = [f"  work: {work}" if line.startswith("  work:") else line for line in MINE.split("\n")]
    assert load(tmp_path, "\n".join(lines)).result.work == window


@pytest.mark.parametrize(
    "window", ["{from: typed, to: ^b}", "{begins: typed, pattern: '(?P<value>x)', unit: ms}"]
)
def test_a_window_that_begins_with_a_typed_line_needs_its_echo(tmp_path: Path, window: str) -> None:
    lines = [f"  work: {window}" if line.startswith("  work:") else line for line in MINE.split("\n")]
    text = "\n".join(lines)
    with pytest.raises(CatalogError, match=r"result\.work: a window can begin with `typed` only at a prompt"):
        load(tmp_path, text)
    assert load(tmp_path, text.replace(", echo: false", "")).script is not None


# ---- workloads


def test_a_workload_without_a_program_is_asked_at_a_prompt(tmp_path: Path) -> None:
    workload = asked(tmp_path)
    assert (workload.has_program, workload.has_oracle, workload.mode) == (False, True, Mode.PROCESS)
    assert load(tmp_path).refuses(workload, 2, (("hi", 100),)) == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("primes {workers}", "no step types {hi}, its parameter"),
        ("primes {high} {hi}", "a step types {high}, and it has no such parameter"),
    ],
)
def test_each_parameter_is_typed_and_each_place_is_a_parameter(tmp_path: Path, line: str, said: str) -> None:
    system = load(tmp_path, MINE.replace("primes {workers} {hi}", line))
    refused = system.refuses(asked(tmp_path), 2, (("hi", 100),))
    assert refused == f"count cannot be typed at the prompt of mine: {said}"


def test_a_workload_with_a_program_needs_a_system_that_runs_it(tmp_path: Path) -> None:
    system = load(tmp_path)
    assert "prints no answers of primes's workers" in system.refuses(PRIMES, 2)
    assert system.refuses(SELFTEST_WORKLOAD, 2) == "mine runs no self-test"
    told = replace(system, ask=AskMethod.CMDLINE, script=None, result=type(system.result)())
    assert "needs a system with `ask: prompt`" in told.refuses(asked(tmp_path), 2)


def test_a_prompt_with_expected_answers_is_a_self_test(tmp_path: Path) -> None:
    system = load(tmp_path, MINE.replace("  work:", "  expect: {count: 25}\n  work:").replace(" {hi}", ""))
    assert system.refuses(SELFTEST_WORKLOAD, 2) == ""
    assert system.refuses(asked(tmp_path), 2) == "mine runs only its own self-test"


def test_windows_between_lines_are_not_measured_in_wall_time(tmp_path: Path) -> None:
    lines = ["  work: marks" if line.startswith("  work:") else line for line in MINE.split("\n")]
    system, workload = load(tmp_path, "\n".join(lines)), asked(tmp_path)
    cell = Cell("mine", "count", Mode.PROCESS, (("hi", 100),), 1)
    for lane, refused in ((Lane.TCG, "only the instruction clock times"), (Lane.INSN, "")):
        ground = Ground((0,), (0,), {"qemu": (lane, "")}, Placement.PHYSICAL)
        assert refused in seat(system, workload, cell, ground, Options()).skip
        assert bool(refused) == bool(seat(system, workload, cell, ground, Options()).skip)
