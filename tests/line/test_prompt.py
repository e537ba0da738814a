"""A kernel with a prompt, from its YAML to its figures: a workload without a program of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kernelkit import talker
from tests.line.sessions import Session, run_benchgate, run_on_wall_time, run_pytest

SYSTEM = """\
version: 1
name: {name}
kind: qemu
boot: {{kernel: {kernel}}}
qemu: {{machine: "q35,sata=off,smbus=off", memory: 64M}}
ask: prompt
prompt: '^\\$ $'
steps:
  - {{send: cpus, capture: '^cpus: (?P<up>\\d+) up$'}}
  - send: primes {{workers}} {{hi}}
    expect: '^primes: done$'
    capture: '^primes: hi=(?P<hi>\\d+) workers=(?P<workers>\\d+) count=(?P<count>\\d+) sum=(?P<sum>\\d+)$'
  - {{send: halt, expect: '^talker: halts$'}}
console: {{online: '^cpus: (?P<n>\\d+) up$'}}
result: {{format: patterns, work: {work}}}
"""
WINDOWS = {
    "printed": "{begins: '^primes: start$', pattern: '^primes: took (?P<value>\\d+) ns$', unit: ns}",
    "lined": "{from: '^primes: start$', to: '^primes: took'}",
    "typing": "{from: typed, to: '^primes: took'}",
    "marked": "marks",
}
WORKLOAD = """\
name: typed
source: none
oracle: oracle.py
params: {hi: {default: 20000, maximum: 1000000}}
metrics: {primes: {kind: rate, of: result.count}}
"""
ORACLE = """\
from benchgate import VerifyError


def check(params, reports, result, run):
    found = [n for n in range(2, params["hi"] + 1) if all(n % d for d in range(2, int(n**0.5) + 1))]
    right = {"up": run.cpus, "hi": params["hi"], "workers": run.cpus, "count": len(found), "sum": sum(found)}
    if reports or result != right:
        raise VerifyError(f"{result} is not {right}")
"""
TESTS = """\
import pytest


@pytest.mark.system("printed.yaml", "lined.yaml", "typing.yaml", "marked.yaml")
@pytest.mark.workload("typed.yaml", hi=20001)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompt")
    kernel = talker(folder).name
    shutil.copy(folder / kernel, folder / "symbols.elf")
    subprocess.run(["strip", folder / kernel], check=True)
    for name, work in WINDOWS.items():
        (folder / f"{name}.yaml").write_text(SYSTEM.format(name=name, work=work, kernel=kernel))
    (folder / "typed.yaml").write_text(WORKLOAD)
    (folder / "oracle.py").write_text(ORACLE)
    (folder / "test_typed.py").write_text(TESTS)
    return folder


def measured(place: Path) -> Session:
    """In its own folder, since `latest` is that of the next one as soon as it has begun."""
    session = run_pytest(place, "test_typed.py", "--clock=insn", "--smp=2", "--runs=1")
    assert session.code == 0, session.output
    return replace(session, folder=session.folder.resolve())


@pytest.fixture(scope="module")
def recorded(place: Path) -> Session:
    return measured(place)


def test_a_typed_workload_repeats_and_each_window_agrees(place: Path, recorded: Session) -> None:
    """Twice the same session: equal figures. The windows between lines and marks are around that printed."""
    first, second = recorded, measured(place)
    assert first.folder != second.folder
    figures = {name: first.work(2, name) for name in WINDOWS}
    assert figures == {name: second.work(2, name) for name in WINDOWS}
    printed, lined, marked = (figures[name][0] for name in ("printed", "lined", "marked"))
    assert lined == pytest.approx(printed, rel=0.01)
    assert marked == pytest.approx(printed, rel=0.01)
    assert figures["typing"][0] == pytest.approx(lined, rel=0.05)
    assert figures["typing"][0] > lined
    run = next((second.folder / "runs").glob("*-lined-smp2"))
    typed = json.loads((run / "conversation.json").read_text())["typed"]
    assert [one["text"] for one in typed] == ["cpus\n", "primes 2 20001\n", "halt\n"]
    code, output = run_benchgate(place, "verify", second.folder, "--workload", "typed.yaml")
    assert code == 0, output


@pytest.mark.alone
def test_in_wall_time_only_a_printed_figure_is_a_window(place: Path) -> None:
    session = run_on_wall_time(place, "test_typed.py", "--smp=1", "--runs=1", "-rs")
    assert session.outcomes(1, "printed"), session.output
    assert {row["verified"] for row in session.rows} == {"true"}
    assert {row["system"] for row in session.rows} == {"printed"}
    assert "only the instruction clock" in " ".join(session.output.split())


@pytest.mark.parametrize("name", WINDOWS)
def test_a_profile_is_of_the_window_wherever_it_lies(place: Path, recorded: Session, name: str) -> None:
    """Its kernel is stripped, as a distribution's Image is."""
    (work,) = recorded.work(2, name)
    run = next((recorded.folder / "runs").glob(f"*-{name}-smp2"))
    words = ("replay", run, "--profile", "--out")
    if name == "printed":
        code, plain = run_benchgate(place, *words, place / "plain")
        assert code == 0, plain
        assert "its functions have no names; next: --symbols FILE" in plain
    code, named = run_benchgate(place, *words, place / f"named-{name}", "--symbols", "symbols.elf")
    assert code == 0, named
    assert "have no names" not in named
    (window,) = re.findall(r"^window (\d+) ns$", named, re.MULTILINE)
    assert int(window) == pytest.approx(work, rel=0.01)
    shares = {
        name: float(share) for share, name in re.findall(r"(\d+\.\d+)%  \w+ (\S+)$", named, re.MULTILINE)
    }
    assert shares["every"] + shares["prime"] > 90, named


def test_symbols_that_name_nothing_are_refused(place: Path, recorded: Session) -> None:
    (place / "System.map").write_text("ffffffffffffffff B The real System.map is in another package\n")
    run = next((recorded.folder / "runs").glob("*-lined-smp2"))
    code, said = run_benchgate(place, "replay", run, "--symbols", "System.map")
    assert code == 4
    assert "--symbols System.map names no function; next: name the System.map of this kernel" in said
