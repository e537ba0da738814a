"""`ports`, `qemu.binary` and `boot.firmware` of a user's own system, with real guests."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from tests.kernelkit import answerer, talker
from tests.line.sessions import PATIENCE_S, Session, run_benchgate, run_pytest

ANSWERER = """\
version: 1
name: answerer
kind: qemu
qemu: {network: ne2k_pci}
boot: {kernel: answerer.elf, append: "at={port.web} and={port.other}"}
ports: {web: WEB, other: 7}
ask: selftest
console: {online: '^answerer: (?P<n>[0-9]+) CPUs$'}
result:
  format: patterns
  work: {begins: '^x', pattern: '^took (?P<value>[0-9]+)', unit: ns}
  expect: {a: 1}
  answers: ['^a=(?P<a>[0-9]+)']
"""
CONNECTS = """\
import socket

import pexpect
import pytest

pytestmark = [pytest.mark.system("answerer.yaml"), pytest.mark.workload("selftest")]


def said(port, text):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(text)
        answer = b""
        while part := connection.recv(4096):
            answer += part
    return answer


def test_answers(boot):
    guest = boot(cpus=1)
    ports = guest.ports
    guest.console.expect_exact(f"words=at={ports['web']} and={ports['other']}")
    guest.console.expect_exact("answerer: listens")
    assert said(ports["web"], b"hello") == b"port 80 got: hello"
    assert said(ports["other"], b"again") == b"port 7 got: again"
    assert said(ports["web"], b"halt") == b"port 80 got: halt"
    guest.console.expect_exact("answerer: halts")
    guest.console.expect(pexpect.EOF)
    assert guest.child.wait(PATIENCE)
    assert guest.exit_status == 33
"""
WALL = ("--clock=wall", "--accel=tcg")


def connects(where: Path, web: str) -> Session:
    answerer(where)
    (where / "answerer.yaml").write_text(ANSWERER.replace("WEB", web))
    (where / "test_own.py").write_text(CONNECTS.replace("PATIENCE", str(PATIENCE_S)))
    return run_pytest(where, *WALL)


def test_the_host_reaches_a_port_that_is_stated_and_one_that_is_found(tmp_path: Path) -> None:
    """`web` has a certain port of the host, `other` any."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    session = connects(tmp_path, f"{{guest: 80, host: {port}}}")
    assert session.code == 0, session.output
    assert "1 passed" in session.output


def test_the_program_that_has_the_port_is_named_and_left_alone(tmp_path: Path) -> None:
    with socket.socket() as foreign:
        foreign.bind(("127.0.0.1", 0))
        foreign.listen()
        port = foreign.getsockname()[1]
        session = connects(tmp_path, f"{{guest: 80, host: {port}}}")
        output = " ".join(session.output.split())
        assert session.code == 1, session.output
        who = rf"host port {port} \(`ports\.web`\) is used by \S+ \(process {os.getpid()}\); end that program"
        assert re.search(who, output), session.output
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S):  # it listens still
            foreign.accept()[0].close()


TALKER = """\
version: 1
name: talker
kind: qemu
qemu: {binary: tools/my-qemu, machine: "q35,sata=off,smbus=off"}
boot: {kernel: KERNEL}
MORE
ask: prompt
prompt: '\\$ '
steps: [{send: 'primes {workers} 100000', capture: 'count=(?P<count>[0-9]+)'}]
console: {online: '^talker: (?P<n>[0-9]+) CPUs up$'}
result:
  format: patterns
  work: {begins: '^primes: start$', pattern: '^primes: took (?P<value>[0-9]+) ns$', unit: ns}
  expect: {count: 9592}
end: {by: kill}
"""
CELL = """\
import pytest

pytestmark = pytest.mark.system("talker.yaml")


@pytest.mark.workload("selftest")
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def wrapper(path: Path) -> None:
    """A program that starts the pinned QEMU and writes down that it was called for a guest."""
    qemu = inputs.qemu()
    words = [f"export {key}={value!r}" for key, value in qemu.environment.items()]
    data = " ".join(f"-L {str(folder)!r}" for folder in qemu.data)
    words += [f'case "$*" in *{path.parent.parent.name}/talker*) echo called >> {str(path)!r}.log;; esac']
    path.parent.mkdir()
    path.write_text("\n".join(["#!/bin/sh", *words, f'exec {str(qemu.binary)!r} {data} "$@"\n']))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("clock", "more"),
    [pytest.param("wall", "ports: {web: 80}", marks=pytest.mark.alone), ("insn", "")],
    ids=["wall", "insn"],
)
def test_a_system_has_a_qemu_of_its_own(tmp_path: Path, clock: str, more: str) -> None:
    """A system with a port is measured, verified and judged again like others, also on wall time."""
    wrapper(tmp_path / "tools" / "my-qemu")
    kernel = talker(tmp_path)
    text = TALKER.replace("KERNEL", kernel.name).replace("MORE\n", f"{more}\n" if more else "")
    (tmp_path / "talker.yaml").write_text(text)
    (tmp_path / "test_own.py").write_text(CELL)
    session = run_pytest(
        tmp_path, f"--clock={clock}", "--accel=tcg", "--smp=2", "--runs=1", "--oversubscribe"
    )
    assert session.code in ({0} if clock == "insn" else {0, 75}), session.output  # 75: the host was busy
    assert {row["outcome"] for row in session.rows} <= {"warmup", "ok", "void"}
    assert "true" in {row["verified"] for row in session.rows}
    commands = [json.loads(path.read_text()) for path in session.folder.glob("runs/*/argv.json")]
    assert {argv[0] for argv in commands} == {str(tmp_path / "tools" / "my-qemu")}
    assert ["hostfwd=tcp:127.0.0.1:" in " ".join(argv) for argv in commands] == [clock == "wall"] * len(
        commands
    )
    called = (tmp_path / "tools" / "my-qemu.log").read_text().split()
    assert len(called) >= len(commands) == len(session.rows) > 0
    code, output = run_benchgate(tmp_path, "verify", session.folder)
    assert code == 0, output
