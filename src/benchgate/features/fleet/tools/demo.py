"""Shows a fleet on this machine: a scheduler, two workers, and a session whose runs they make.

Takes words for pytest, or measures tests/smp on tern at 1 and 2 CPUs; prints the session, and who made each
run (docs/how-to/fleet.md). Everything has embedded defaults: TCP on loopback, a free port, folders that are
deleted at the end. Exits with pytest's status. `--idle [SECONDS]` measures nothing, and prints what idle
programs cost.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from benchgate.base.paths import data_root

HERE = data_root()
TESTS = ("tests/smp", "-m", "(smp or threads) and not history", "-q", "--system", "kernel", "--smp", "1,2")
_ADDRESS = re.compile(r"scheduler at (tcp://\S+);")
_READY = re.compile(r"worker \S+: at ")
_END_S = 60.0
_SETTLE_S, _IDLE_S = 10.0, 60.0
_MOST_IDLE = 0.005


def main(words: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if words is None else words)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchgate-fleet-")))
        programs, address = _fleet(stack, place)
        if given[:1] == ["--idle"]:
            return _idle(programs, float(given[1]) if given[1:] else _IDLE_S)
        reports = place / "reports"
        command = [sys.executable, "-m", "pytest", *(given or TESTS), f"--fleet={address}"]
        status = subprocess.call([*command, f"--reports={reports}"], cwd=HERE)
        print(made_by(reports / "latest"))
    return status


def _fleet(stack: ExitStack, place: Path) -> tuple[dict[str, subprocess.Popen[str]], str]:
    """The programs by name, and the scheduler's address."""
    scheduler, match = _started(stack, ("scheduler", "--listen", "tcp://127.0.0.1:0"), _ADDRESS)
    programs, address = {"scheduler": scheduler}, match[1]
    for name in ("left", "right"):
        own = ("--dir", str(place / name), "--name", name, "--slots", "1", "--any-guest")
        programs[f"worker {name}"], _ = _started(stack, ("worker", address, *own), _READY)
    return programs, address


def _idle(programs: Mapping[str, subprocess.Popen[str]], seconds: float) -> int:
    """What each program costs while nobody measures. 1 if a worker costs more than it may."""
    time.sleep(_SETTLE_S)
    before = {name: _cpu_s(value.pid) for name, value in programs.items()}
    time.sleep(seconds)
    shares = {name: (_cpu_s(value.pid) - before[name]) / seconds for name, value in programs.items()}
    for name, share in shares.items():
        print(f"{name}: {share:.2%} of a core over {seconds:.0f} s")
    return 0 if max(shares.values()) < _MOST_IDLE else 1


def _cpu_s(pid: int) -> float:
    used = psutil.Process(pid).cpu_times()
    return used.user + used.system


def _started(
    stack: ExitStack, words: Sequence[str], ready: re.Pattern[str]
) -> tuple[subprocess.Popen[str], re.Match[str]]:
    """Starts a program of the fleet, which ends with the stack, and waits for its line. Its other lines are
    shown."""
    command = [sys.executable, "-u", "-m", "benchgate.cli", "fleet", *words]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
    stack.callback(_end, program)
    assert program.stderr is not None
    for line in program.stderr:
        print(line, end="", flush=True)
        if match := ready.search(line):
            return program, match
    raise SystemExit(f"`benchgate fleet {words[0]}` ended with status {program.wait()}")


def _end(program: subprocess.Popen[str]) -> None:
    program.terminate()
    try:
        program.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()


def made_by(session: Path) -> str:
    """A line for each run of a session: who made it."""
    lines = ["run                                           worker   ending   host's time"]
    for folder in sorted((session / "runs").iterdir()):
        run = json.loads((folder / "run.json").read_text())
        made = folder / "worker.json"  # an interrupted run has none
        who = json.loads(made.read_text())["worker"] if made.exists() else "nobody"
        seconds = (run["host_span_ns"] or 0) / 1e9
        lines.append(f"{folder.name:45} {who:8} {run['ending']:8} {seconds:8.1f} s")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
