"""The fixture `boot` on both clocks: a test of the user's own talks to a real guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernelkit import talker
from tests.line.sessions import run_pytest

YAML = """\
version: 1
name: talker
kind: qemu
boot: {kernel: KERNEL}
qemu: {machine: "q35,sata=off,smbus=off"}
ask: prompt
prompt: '\\$ '
steps: [{send: 'primes {workers} 100', capture: 'count=(?P<count>[0-9]+)'}]
console: {online: '^talker: (?P<n>[0-9]+) CPUs up$'}
result:
  format: patterns
  work: {begins: '^primes: start$', pattern: '^primes: took (?P<value>[0-9]+) ns$', unit: ns}
  expect: {count: 25}
end: {by: kill}
"""
TALKS = """\
import pexpect
import pytest

pytestmark = [pytest.mark.system("talker.yaml"), pytest.mark.workload("selftest")]


def talk(guest):
    console = guest.console
    console.expect_exact("\\n$ ")
    console.sendline("primes 2 20000")
    console.expect(r"count=(\\d+) ")
    assert console.match[1] == b"2262"
    console.expect_exact("$ ")
    console.sendline("halt")
    console.expect(pexpect.EOF)
    assert guest.child.wait(60)
    assert guest.exit_status == 33


def files(guest):
    log = (guest.folder / "clock.log").read_text().splitlines()
    kept = [line for line in log if not line.startswith(("host ", "beat "))]
    return (guest.folder / "serial.log").read_bytes(), kept


def test_on_the_instruction_clock_it_repeats(boot):
    guests = [boot(cpus=2, clock="insn"), boot(cpus=2)]
    for guest in guests:
        talk(guest)
    assert guests[0].spec.lane == guests[1].spec.lane == "insn"
    assert files(guests[0]) == files(guests[1])


def test_on_wall_time_it_works_too(boot):
    guest = boot(cpus=2, clock="wall")
    assert guest.spec.lane == "tcg"
    talk(guest)
"""
WRONG = """\
import pytest


@pytest.mark.system("talker.yaml")
@pytest.mark.workload("selftest")
@pytest.mark.parametrize("clock", ["insn", "sun"])
def test_boots(boot, clock):
    boot(clock=clock)
"""


@pytest.fixture
def where(tmp_path: Path) -> Path:
    kernel = talker(tmp_path)
    (tmp_path / "talker.yaml").write_text(YAML.replace("KERNEL", kernel.name))
    return tmp_path


def test_a_users_test_talks_on_either_clock(where: Path) -> None:
    (where / "test_own.py").write_text(TALKS)
    session = run_pytest(where, "--clock=insn", "--accel=tcg")
    assert session.code == 0, session.output
    assert "2 passed" in session.output


def test_a_session_that_cannot_says_so(where: Path) -> None:
    (where / "test_own.py").write_text(WRONG)
    session = run_pytest(where, "--clock=wall", "--accel=tcg")
    output = " ".join(session.output.split())
    assert session.code == 1, session.output
    assert 'boot(clock="insn"): this session does not use the instruction clock; add --clock insn' in output
    assert 'boot(clock=\'sun\'): give "wall" or "insn"' in output
