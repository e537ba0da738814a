"""Measures the overhead of benchgate: the time of a gate, compared with the sum of its bare QEMU runs.

`python -m tools.overhead COMMAND...` (for example `./run gate`) runs the command, which must leave a session
in reports/latest. Then it runs each guest of that session again, one after the other, without benchgate: the
same argv without QMP, and the console is discarded. It prints both times and their ratio. Run nothing else on
the host at the same time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchgate.base.system.qemu import CONTROLLED

LATEST = Path("reports") / "latest"
BOOT_S = 600
_QMP = CONTROLLED[-4:]
_KEPT = re.compile(r"memory-backend-file(,.*),mem-path=/proc/self/fd/\d+,share=on\Z", re.ASCII)
"""Memory that is there after the run (run/end_memory.py)."""


def forgotten(argv: Sequence[str]) -> list[str]:
    """The same command line with memory that is gone at the end, for whoever has no descriptors for it."""
    return [_KEPT.sub(r"memory-backend-ram\1", word) for word in argv]


def bare(argv: list[str], clock_log: Path) -> list[str]:
    """The argv of the same guest, without QMP and without waiting for `cont`."""
    at = argv.index(_QMP[1]) - 1
    assert tuple(argv[at : at + len(_QMP)]) == _QMP, argv
    words = forgotten(argv[:at] + argv[at + len(_QMP) :])
    return [_with_log(word, clock_log) for word in words if word != "-S"]


def _with_log(word: str, clock_log: Path) -> str:
    """The argument with the clock's log moved to `clock_log`."""
    parts = word.split(",")
    return ",".join(f"out={clock_log}" if part.startswith("out=") else part for part in parts)


def seconds_of(argv: list[str], environment: dict[str, str]) -> tuple[float, int]:
    begin = time.monotonic()
    done = subprocess.run(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=BOOT_S,
        check=False,
    )
    return time.monotonic() - begin, done.returncode


def main(command: list[str]) -> int:
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    whole = time.monotonic() - begin
    runs = sorted((LATEST / "runs").glob("*/argv.json"))
    total = 0.0
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        for path in runs:
            argv = bare(json.loads(path.read_text()), Path(folder) / "clock.log")
            environment = json.loads((path.parent / "environment.json").read_text())
            took, ended = seconds_of(argv, {**os.environ, **environment})
            total += took
            print(f"{path.parent.name}: {took:.2f} s, status {ended}", flush=True)
    print(f"{' '.join(command)}: exit {status}, {whole:.1f} s")
    print(f"its {len(runs)} guests without benchgate, in sequence: {total:.1f} s; ratio {whole / total:.2f}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
