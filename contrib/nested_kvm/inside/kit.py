"""What the checks inside the nested machine share (contrib/nested_kvm/machine.py boots it)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.line.sessions import CELLS, PATIENCE_S, REPO, Session, linux_with, run_pytest, write_test
from tests.machines import wait_until

KVM = Path("/dev/kvm")
ON_KVM = ("--accel=kvm", "--clock=wall")
WORK = '"primes", hi=1_000_000'
"""Long enough for a host that reads a line 0.1 s after the guest printed it."""
GATE = """

@pytest.mark.workload({workload})
@pytest.mark.speedup(cpus=2, at_least=1.1)
def test_scales(verdict):
    verdict.require_pass()
"""


def rows(where: Path, workload: str = WORK, more: str = "") -> Path:
    return write_test(where, CELLS + more.format(workload=workload), workload)


def linux(where: Path, words: str = "") -> Path:
    """Our Linux guest, whose PID 1 turns the machine off. Under KVM nested in TCG (QEMU 10.0) ioperm() works
    and the first access to the port still faults. With `lockdown` PID 1 is refused at once."""
    path = linux_with(where, "linuxoff", f"lockdown=integrity {words}".strip())
    text = path.read_text()
    assert "end:\n  by: exit " in text
    path.write_text(text.replace("end:\n  by: exit ", "end:\n  exit_codes: [0]\n  by: exit "))
    return path


def measured(where: Path, *words: str | Path) -> Session:
    """A session on the lane kvm alone."""
    return on_kvm(where, "--clock=wall", *words)


def on_kvm(where: Path, *words: str | Path) -> Session:
    """A session with KVM. Its vCPUs may wait long for a CPU: the machine's own CPUs are threads of a
    busy host, and with as many vCPUs as CPUs QEMU's other threads have none of their own."""
    text = (REPO / "fixtures/gates/default.yaml").read_text()
    assert "run_delay: 0.02" in text
    text = text.replace("run_delay: 0.02", "run_delay: 0.5").replace("name: default", "name: patient")
    policy = where / "patient.yaml"
    policy.write_text(text)
    return run_pytest(where, "--accel=kvm", f"--policy={policy}", *words)


def runs_of(session: Session) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """QEMU's command line and the threads' places of each run."""
    for folder in sorted(session.folder.glob("runs/*")):
        argv = json.loads((folder / "argv.json").read_text())
        yield argv, json.loads((folder / "affinity.json").read_text())


def guests() -> list[psutil.Process]:
    """The QEMUs that run."""
    result = []
    for process in psutil.process_iter(["name", "status"]):
        if process.info["name"].startswith("qemu-system") and process.info["status"] != psutil.STATUS_ZOMBIE:
            result.append(process)
    return result


@contextmanager
def begun(where: Path, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A session in the background, of which a guest runs."""
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ON_KVM, f"--reports={where}/reports"]
    with subprocess.Popen(
        [*argv, *map(str, words)],
        cwd=where,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            wait_until(lambda: bool(list(where.glob("reports/runs/*/runs/*/serial.log"))) and bool(guests()))
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output


def session_in(where: Path, code: int, output: str) -> Session:
    return Session(code, output, where / "reports" / "latest")


def user_environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "BENCHGATE_CACHE": f"{home}/cache",
    }
